"""What Python in a page does: verdicts, films and hints, by the functions of the command line, and
the living network of notebooks.

It runs in a worker that the page ends when it takes too long, which is its sandbox: nothing else is
in there, and nothing that it could reach."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.course.material import student
from p4lab.grading import asked
from p4lab.notebook.checks import Checked
from p4lab.notebook.checks import check as judged
from p4lab.notebook.folder import Folder
from p4lab.website import views

if TYPE_CHECKING:
    from p4lab.notebook.live import Live

WORK = Path("/work")


class Desk:
    """A student's files of one lab, the last verdict on them, and the network that they make."""

    def __init__(self) -> None:
        self._checked: Checked | None = None
        self._live: tuple[str, Live] | None = None
        self._said: list[str] = []
        views.install(self._hear)

    def check(self, lab: str, files: Mapping[str, str]) -> str:
        """As JSON: `html`, `failed` as a view takes it, `verdict` as `p4lab check --json` has it,
        and `kept`, files that are to be there the next time. Raises LabError."""
        folder = _begun(lab, files)
        self._checked = judged(folder)
        html, _, failed, *_ = self._checked.shown()
        told = {
            "html": html,
            "failed": failed,
            "verdict": self._checked.verdict.to_json(),
            "kept": _kept(folder),
        }
        return json.dumps(told)

    def answer(self, what: str, check: str) -> str:
        """The film of a check (`watch`) or one step more of its hints (`hint`), as JSON."""
        assert self._checked is not None, "a check comes first"
        *_, films, hints = self._checked.shown()
        made = films if what == "watch" else hints
        return json.dumps({what: made(check), "kept": _kept(self._checked.folder)})

    def live(self, lab: str, files: Mapping[str, str], editing: str, anew: bool) -> str:
        """The living network of the files, one of which is being edited, as JSON: `view`, the
        number of what is to be drawn, and what has changed, which is all of it if it is to be drawn
        anew. Raises LabError."""
        from p4lab.notebook.live import Live  # heavy: views

        folder = _begun(lab, files)
        if anew or self._live is None or self._live[0] != lab:
            views.forget()
            self._live = lab, Live(lab, folder.path, checks=False)
        live = self._live[1]
        live.look()
        views.told(live.view.model_id, {}, {"editing": f"{lab}/{editing}"})
        return self._changed(view=live.view.model_id)

    def view(self, number: str, values: Mapping[str, Any], message: Mapping[str, Any]) -> str:
        """What the script of a view has set, and sent if it has: what changes by that, as JSON."""
        views.told(number, dict(values), dict(message) or None)
        return self._changed()

    def _hear(self, thing: object) -> None:
        """Keeps what a cell would say, but for where a file is: it is in the editor."""
        if getattr(thing, "file", None) is None:
            self._said.append(repr(thing))

    def _changed(self, **more: str) -> str:
        said, self._said = self._said, []
        return json.dumps({**more, **views.changed(), "said": said})


def _begun(lab: str, files: Mapping[str, str]) -> Folder:
    """A folder with these files and nothing else."""
    path, own = WORK / lab, student(lab)
    for name in _memory(own.progress):
        (path / name).unlink(missing_ok=True)
    for name, text in files.items():
        place = path / name
        if not place.is_file() or place.read_text("utf-8") != text:  # else it is as old as it was
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
    edit = tuple(path / name for name in own.edit)
    given = tuple(path / name for name in own.files)
    return Folder(lab, path, path / own.program, edit, (*edit, *given))


def _memory(progress: str | None) -> list[str]:
    """The files in which a folder remembers what was done."""
    return [asked.FILE, *([progress] if progress else [])]


def _kept(folder: Folder) -> dict[str, str]:
    places = {name: folder.path / name for name in _memory(student(folder.lab).progress)}
    return {name: place.read_text("utf-8") for name, place in places.items() if place.is_file()}
