"""Where verbs come from: a table of our own, and the systems. Each is imported when it runs.

`p4lab --help` says of every verb what it is for and imports none of them: that is read from the
text of its module.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from pkgutil import resolve_name
from typing import Any, ClassVar, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from p4lab.cli.errors import fail
from p4lab.command import everywhere

Verb = TypeVar("Verb", bound=Callable[..., None])


_type_of = TyperOption.display_type_rich


def _type_in_help(self: TyperOption, ctx: Any) -> str | None:
    """A flag takes no <bool>."""
    return None if self.is_flag else _type_of(self, ctx=ctx)


# Typer makes its options itself, that of --help among them.
TyperOption.display_type_rich = _type_in_help  # type: ignore[method-assign]


def registered(**settings: Any) -> Callable[[Verb], Verb]:
    """Says how Typer is to register a verb, beyond its name: `cls`, `context_settings`."""

    def note(verb: Verb) -> Verb:
        verb.typer_settings = settings  # type: ignore[attr-defined]
        return verb

    return note


class Later(TyperCommand):
    """A verb that is imported when it runs; `place` is "module:function"."""

    callback_instead: ClassVar[Callable[..., None] | None] = None
    """What is called in the place of any verb, where verbs are only to be read"""

    def __init__(self, name: str, place: str, panel: str | None = None) -> None:
        super().__init__(name, rich_help_panel=panel)
        self.place = place

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """The context of the verb itself: what is invoked is the command that it names."""
        return self._verb().make_context(info_name, args, parent, **extra)

    def _verb(self) -> Any:
        try:
            verb = resolve_name(self.place)
        except (ImportError, AttributeError) as error:
            fail(f"{self.name} is in {self.place} and cannot be used: {error}.")
        own = typer.Typer(add_completion=False)
        own.command(self.name, **getattr(verb, "typer_settings", {}))(verb)
        command = _as_typed(typer.main.get_command(own))
        if Later.callback_instead is not None:
            command.callback = Later.callback_instead
        return command


def _as_typed(verb: Any) -> Any:
    """The command with its help as this user types commands."""
    from p4lab.cli import PANELS

    known = [name for verbs in PANELS.values() for name in verbs]
    for one in (verb, *verb.params):
        if getattr(one, "help", None):
            one.help = everywhere(_unwrapped(one.help), known)
    return verb


def _unwrapped(text: str) -> str:
    """Paragraphs as one line each, for a terminal to wrap them; lists stay."""
    found = []
    for paragraph in text.split("\n\n"):
        lines = paragraph.splitlines()
        listed = any(line.startswith((" ", "- ", "* ")) for line in lines)
        found.append(paragraph if listed else " ".join(line.strip() for line in lines))
    return "\n\n".join(found)


def summary(place: str) -> str:
    """The first paragraph of a function's docstring; nothing if it cannot be read."""
    module, _, name = place.partition(":")
    try:
        spec = importlib.util.find_spec(module)
        text = spec.loader.get_source(module) if spec and spec.loader else None  # type: ignore[attr-defined]
    except (AttributeError, ImportError):  # it runs, or `p4lab VERB` says what is wrong
        return ""
    for node in ast.parse(text or "").body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
    return ""


class Verbs(TyperGroup):
    """Verbs, and those that systems bring, which are looked for when help is asked for, or a verb
    that is none of ours."""

    brought: ClassVar[str]
    """The attribute of a system that names them"""
    panel: ClassVar[str | None] = None
    """Under which heading the help lists them"""

    def list_commands(self, ctx: Any) -> list[str]:
        self._ask_systems()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._ask_systems()
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._ask_systems()
        for command in self.commands.values():
            if isinstance(command, Later):
                command.short_help = summary(command.place)
        super().format_help(ctx, formatter)

    def _ask_systems(self) -> None:
        for system, name, place in _brought(self.brought):
            here = self.commands.get(name)
            if here is None:
                self.add_command(Later(name, place, self.panel))
            elif getattr(here, "place", None) != place:
                fail(f"the system {system} has a verb {name}, and there is another one already.")


def _brought(attribute: str) -> Iterator[tuple[str, str, str]]:
    """System, name and place of each verb in an attribute of the systems."""
    from p4lab import registry  # heavy: pydantic, which no verb of ours needs to be listed
    from p4lab.course import labs
    from p4lab.course.home import names

    try:
        for lab in names():
            registry.load_folder(labs.home(lab).labs / lab)
        for system in registry.all_systems():
            verbs: Mapping[str, str] = getattr(system, attribute)
            yield from ((system.name, name, place) for name, place in verbs.items())
    except registry.UnusableSystemError as error:
        fail(str(error))
