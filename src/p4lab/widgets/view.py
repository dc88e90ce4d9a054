"""What all views share: their script and style, and what is shown where scripts do not run."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from p4lab.widgets.known import known_router
from p4lab.widgets.lab import Lab
from p4lab.widgets.sent import Sent

_JS = Path(__file__).parent / "js"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(?P<file>[a-z]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=function|const)", re.MULTILINE)


@lru_cache
def script(name: str, folder: Path = _JS) -> str:
    """The module `name` of a folder with all modules that it needs put in front of it: a notebook
    loads one text, which cannot import others. What is imported is one of ours."""
    text = (folder / name).read_text(encoding="utf-8")
    parts: dict[str, str] = {}
    _gather(text, parts)
    return "".join([*parts.values(), _IMPORT.sub("", text)])


def _gather(text: str, parts: dict[str, str]) -> None:
    """Adds what a module imports to `parts`, each once and after what it imports itself."""
    for found in _IMPORT.finditer(text):
        if found["file"] not in parts:
            own = (_JS / found["file"]).read_text(encoding="utf-8")
            _gather(own, parts)
            parts[found["file"]] = _EXPORT.sub("", _IMPORT.sub("", own))


@lru_cache
def style(*more: Path) -> str:
    """The style sheet of all views, and those of a view's own."""
    return "".join(path.read_text(encoding="utf-8") for path in (_JS / "views.css", *more))


class View(anywidget.AnyWidget):
    """A view of a lab. Subclasses set `_esm`, fill `data` and make the static picture."""

    _css = style()
    data = traitlets.Dict().tag(sync=True)

    def picture(self) -> str:
        """The view as HTML without scripts."""
        raise NotImplementedError

    def summary(self) -> str:
        """The view in plain text, for terminals and screen readers."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The live view, and for those who cannot show it the picture and the text."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if bundle is not None else ({}, {})
        picture = f'<div class="p4v"><style>{self._css}</style>{self.picture()}</div>'
        return {**data, "text/html": picture, "text/plain": self.summary()}, metadata


OLD = "This is from before your last change to the program. Send it again."
BROKEN = "Your program does not compile any more."


class SentView(View):
    """A view of what was sent. Subclasses fill `data` in `draw`, and make what is seen without
    scripts in `drawn` and `told`. Their scripts show `old` (`ageing` in common.js)."""

    label: ClassVar[str] = ""
    """What it shows, where it is one of several"""
    old = traitlets.Unicode().tag(sync=True)
    """Says that the program is not any more what the packets ran through; empty if it is"""
    broken = traitlets.Bool().tag(sync=True)
    """Whether `old` holds the errors of a program that does not compile, in place of the picture"""

    def __init__(self, lab: Lab, sent: Sent | None) -> None:
        super().__init__()
        self._lab = lab
        self.show(sent)
        lab.watch(self._look_at_age)

    @property
    def sent(self) -> Sent:
        """What it shows."""
        return self._sent

    def show(self, sent: Sent | None) -> None:
        """Shows something that was sent; without that, the last. Raises ValueError for packets of
        another lab."""
        self._sent = self._lab.to_show(sent)
        self.draw(self._sent)
        self._look_at_age()

    def _look_at_age(self) -> None:
        old = self._lab.is_old(self._sent)
        errors = self._lab.errors() if old else ""
        self.broken = bool(errors)
        self.old = f"{BROKEN}\n\n{errors}" if errors else OLD if old else ""

    def draw(self, sent: Sent) -> None:
        """Fills `data` with what was sent."""
        raise NotImplementedError

    def drawn(self) -> str:
        """What was sent as HTML without scripts."""
        raise NotImplementedError

    def told(self) -> str:
        """What was sent in plain text."""
        raise NotImplementedError

    def picture(self) -> str:
        tag = "pre" if self.broken else "p"
        old = f'<{tag} class="p4v-old">{escape(self.old)}</{tag}>' if self.old else ""
        return old if self.broken else f"{old}{self.drawn()}"

    def summary(self) -> str:
        return self.old if self.broken else "\n".join(filter(None, [self.old, self.told()]))


class RouterView(SentView):
    """A view of what one router did with the first packet of what was sent, else of the last.

    Raises ValueError if there is no such router."""

    def __init__(self, lab: Lab, router: str, sent: Sent | None = None) -> None:
        self._router = known_router(lab.topology, router)
        super().__init__(lab, sent)

    def look_at(self, router: str) -> None:
        """Shows another router. Raises ValueError."""
        self._router = known_router(self._lab.topology, router)
        self.show(self._sent)
