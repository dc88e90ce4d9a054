"""Options of a lab's system: `p4lab run 01-bier --bsl 128`.

A verb that takes them has a lab as its first argument, `ctx: typer.Context` as a parameter, and

    @registered(cls=SystemOptions)
    def run(ctx: typer.Context, lab: Lab, ...) -> None:
        plan = load_plan(lab, ..., **settings_of(ctx, lab))

`p4lab run LAB --help` lists them below the verb's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import typer
from pydantic import ValidationError
from typer.core import TyperCommand

from p4lab.cli.errors import fail
from p4lab.course.home import names
from p4lab.course.labs import system_of
from p4lab.model.system import Settings, System


class Given(NamedTuple):
    """An option that the verb itself does not have, as it was written: `--name`, and what follows,
    or None where nothing does."""

    option: str
    value: str | None


class SystemOptions(TyperCommand):
    """A verb that leaves the options that it does not have to the system of a lab."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        takes_value = {
            option: not getattr(parameter, "is_flag", False)
            for parameter in self.get_params(ctx)
            if parameter.param_type_name == "option"
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        own, ctx.meta[_GIVEN], ctx.meta[_LAB] = split(args, takes_value)
        if ctx.meta[_GIVEN] and ctx.meta[_LAB] is None and "--help" not in own:
            fail(_no_option(ctx, ctx.meta[_GIVEN][0].option, None))
        return super().parse_args(ctx, own)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        lab = ctx.meta[_LAB]
        if lab in names() and (system := system_of(lab)).settings.model_fields:
            formatter.write(f"\nOptions of {lab}, for its system {system.name}:\n")
            formatter.write("".join(f"  {line}\n" for line in _described(system)))


_GIVEN = "p4lab.cli.settings.given"
_LAB = "p4lab.cli.settings.lab"


def split(
    arguments: Sequence[str], takes_value: Mapping[str, bool]
) -> tuple[list[str], list[Given], str | None]:
    """The arguments that a verb itself has, its `takes_value` being its options; those that it has
    not; and its first argument that is not an option."""
    own: list[str] = []
    given: list[Given] = []
    first: str | None = None
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*own, word, *rest], given, first or next(iter(rest), None)
        option, equals, value = word.partition("=")
        if not option.startswith("--"):
            own.append(word)
            first = first or word
        elif option in takes_value:
            own.append(word)
            if takes_value[option] and not equals and rest:
                own.append(rest.pop(0))
        elif equals:
            given.append(Given(option, value))
        else:
            follows = bool(rest) and not rest[0].startswith("--")
            given.append(Given(option, rest.pop(0) if follows else None))
    return own, given, first


def settings_of(ctx: typer.Context, lab: str) -> dict[str, Any]:
    """What the options that the verb does not have set of the lab's system. Ends the verb with
    status 2 and a sentence for one that the system does not have either. Raises LabError."""
    given: list[Given] = ctx.meta[_GIVEN]
    if not given:
        return {}
    system = system_of(lab)
    found = {}
    for option, value in given:
        name = option[2:].replace("-", "_")
        if name not in system.settings.model_fields:
            fail(_no_option(ctx, option, system))
        if value is None:
            fail(f"{option} needs a value; {lab} has {', '.join(_described(system))}.")
        found[name] = _read(system.settings, name, value)
    return found


def no_settings(ctx: typer.Context) -> None:
    """Ends the verb with status 2 and a sentence if there are options that it does not have: for
    what is not a lab, and so has no system."""
    for option, _ in ctx.meta[_GIVEN]:
        fail(_no_option(ctx, option, None))


def _read(settings: type[Settings], name: str, text: str) -> Any:
    """A value from the command line: the number, where only that fits."""
    if not _fits(settings, name, text) and text.isascii() and text.isdigit():
        return int(text)
    return text


def _fits(settings: type[Settings], name: str, value: Any) -> bool:
    try:
        settings.model_validate({name: value})
    except ValidationError as error:
        return all(each["loc"][:1] != (name,) for each in error.errors())
    return True


def _no_option(ctx: Any, option: str, system: System | None) -> str:
    """What to say of an option that neither the verb nor the system has, if there is one."""
    verb = [found for parameter in ctx.command.get_params(ctx) for found in parameter.opts]
    general = [found for found in verb if found.startswith("--") and found != "--help"]
    own = [] if system is None else [_option(name) for name in system.settings.model_fields]
    near = get_close_matches(option, [*general, *own], 1, cutoff=0.7)
    meant = f"; did you mean {near[0]}?" if near else "."
    parts = [f"p4lab {ctx.info_name} has {', '.join(general)}"]
    if system is not None:
        described = ", ".join(_described(system)) or "no option"
        parts.append(f"the lab's system, {system.name}, has {described}")
    elif ctx.meta[_LAB] is None:
        example = f"p4lab {ctx.info_name} LAB {option} VALUE"
        parts.append(f"an option of a lab's system follows the lab, as in: {example}")
    return f"there is no option {option}{meant} {'; '.join(parts)}."


def _described(system: System) -> list[str]:
    """The options of a system, each with its values and what it is."""
    lines = []
    for name, field in system.settings.model_fields.items():
        choices = getattr(field.annotation, "__args__", ())
        values = (
            "|".join(map(str, choices)) or getattr(field.annotation, "__name__", "value").upper()
        )
        what = f" ({field.description})" if field.description else ""
        lines.append(f"{_option(name)} {values}{what}")
    return lines


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
