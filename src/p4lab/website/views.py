"""The views of notebooks in a page: what of anywidget, ipywidgets and IPython they use, without a
kernel. Each view is a state by name, for the script that draws it; the page's script is in
web/src/views.js."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import traitlets

Handler = Callable[[object, dict[str, Any], object], None]

_REFERENCE = "IPY_MODEL_"  # before a view's number, where a state has a view


class AnyWidget(traitlets.HasTraits):
    """A view with a number, whose traits that are tagged `sync` are its state."""

    _open: list[AnyWidget] = []  # noqa: RUF012 - of all views
    _numbers = 0

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        AnyWidget._numbers += 1
        self.model_id = str(AnyWidget._numbers)
        self._page_handlers: list[Handler] = []
        self._page_messages: list[dict[str, Any]] = []
        self._page_state: dict[str, str] = {}
        self._open.append(self)

    def on_msg(self, handler: Handler) -> None:
        """Calls `handler` with each message that the script sends."""
        self._page_handlers.append(handler)

    def send(self, content: dict[str, Any]) -> None:
        """Sends a message to the script."""
        self._page_messages.append(content)

    def close(self) -> None:
        """Ends the view."""
        self._open.remove(self)

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Nothing is sent between two answers anyway."""
        yield

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {}

    def state(self) -> dict[str, Any]:
        """All that the script draws, its text and its style among it."""
        names = self.traits(sync=True)
        fixed = {name: getattr(self, name) for name in ("_esm", "_css")}
        return {**fixed, **{name: _plain(getattr(self, name)) for name in names}}

    def changes(self) -> dict[str, Any]:
        """What of the state has changed since the last call."""
        found = {}
        for name, value in self.state().items():
            text = json.dumps(value)
            if self._page_state.get(name) != text:
                self._page_state[name], found[name] = text, value
        return found


def changed() -> dict[str, Any]:
    """What has changed since the last call: `models`, states by number, and `messages`, each with
    the number of its view."""
    models = {view.model_id: view.changes() for view in AnyWidget._open}
    messages = [[view.model_id, one] for view in AnyWidget._open for one in view._page_messages]
    for view in AnyWidget._open:
        view._page_messages.clear()
    return {"models": {one: fresh for one, fresh in models.items() if fresh}, "messages": messages}


def forget() -> None:
    """Ends all views."""
    AnyWidget._open.clear()


def told(number: str, values: dict[str, Any], message: dict[str, Any] | None) -> None:
    """What the script of a view has set and sent; nothing if that view has been closed."""
    for view in [one for one in AnyWidget._open if one.model_id == number]:
        for name, value in values.items():
            setattr(view, name, value)
        for handler in view._page_handlers if message is not None else ():
            handler(view, message or {}, [])


def _plain(value: Any) -> Any:
    """A value with references in place of views."""
    if isinstance(value, AnyWidget):
        return f"{_REFERENCE}{value.model_id}"
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def install(show: Callable[[object], None]) -> None:
    """Lets p4lab's views import this. `show` is called with what a cell would show."""
    for name, has in (
        ("anywidget", {"AnyWidget": AnyWidget}),
        ("ipywidgets", {"VBox": AnyWidget, "Widget": AnyWidget, "widget_serialization": {}}),
        ("IPython", {}),
        ("IPython.display", {"display": show}),
    ):
        module = ModuleType(name)
        vars(module).update(has)
        sys.modules[name] = module
