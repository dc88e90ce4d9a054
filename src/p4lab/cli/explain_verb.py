"""`p4lab explain`: what a code of the compiler means, with a wrong and a right program."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from p4lab import _engine
from p4lab.cli.errors import fail
from p4lab.cli.options import Json
from p4lab.command import command
from p4lab.course.home import own_folder
from p4lab.course.teaches import Lesson, lesson

Codes = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CODE]...", help="Codes from messages, such as E0305; default: list all."
    ),
]

_LIKE_A_CODE = re.compile("[EW][0-9]", re.IGNORECASE)

_PARTS = (("Wrong", "wrong"), ("Why", "why"), ("Right", "right"), ("See", "see"))


def explain(codes: Codes = None, as_json: Json = False) -> None:
    """Explain error and warning codes, or list all of them.

    The JSON object of a code has `code`, `title`, `group`, `wrong`, `why`, `right` and `see`, all
    text in Markdown, and `taught`: lab, part, number and title of where it is taught, or null. Of
    several codes it is a list of these objects, without a code that of all.
    """
    if not codes:
        pages = _engine.explanations()
        typer.echo(json.dumps(pages, indent=2) if as_json else _listing(pages), nl=as_json)
        return
    found = [(page := _page(code), lesson(page["code"])) for code in codes]
    if as_json:
        told = [{**page, "taught": asdict(level) if level else None} for page, level in found]
        typer.echo(json.dumps(told[0] if len(told) == 1 else told, indent=2))
        return
    for number, (page, level) in enumerate(found):
        if number:
            typer.echo("\n")
        if sys.stdout.isatty():
            _print_page(page)
        else:
            typer.echo(_markdown(page), nl=False)
        if level is not None:
            typer.echo(f"\n{_to_practise(level)}")


def _page(code: str) -> dict[str, Any]:
    """What is said of a code; ends the verb if there is none."""
    padded = _padded(code)
    page = _engine.explain(code) or _engine.explain(padded)
    if page is not None:
        return page
    if not _LIKE_A_CODE.match(padded):
        fail(
            f"{code!r} is not a code: write one as E0305 or W0602 ({command()} explain lists all)."
        )
    nearest = ", ".join(_engine.nearest_codes(padded))
    fail(f"there is no code {code!r}; the nearest are {nearest} ({command()} explain lists all).")


def _padded(code: str) -> str:
    """A code with all of its four digits, though zeros in front were left out: E305 is E0305."""
    found = re.fullmatch(r"([A-Za-z])(\d{1,3})", code)
    return f"{found[1]}{found[2]:0>4}" if found else code


def _to_practise(level: Lesson) -> str:
    """Where the mistake is taught, and how to get there."""
    return (
        f"To practise it: part {level.number} of {level.lab}, {level.title}. "
        f"Begin with: {command()} start {level.lab} {own_folder(level.lab)}"
    )


def pointer(diagnostics: list[dict[str, Any]]) -> str:
    """One line that says where a newcomer reads on, for all diagnostics of a run; empty if there
    are none."""
    codes = list(dict.fromkeys(diagnostic["code"] for diagnostic in diagnostics))
    if not codes:
        return ""
    others = f" (also: {', '.join(codes[1:])})" if len(codes) > 1 else ""
    return f"What it means, with an example: {command()} explain {codes[0]}{others}\n"


def _listing(pages: list[dict[str, Any]]) -> str:
    lines: list[str] = []
    group = None
    for page in pages:
        if page["group"] != group:
            group = page["group"]
            lines += ["", group] if lines else [group]
        lines.append(f"  {page['code']}  {page['title']}")
    return "".join(f"{line}\n" for line in lines)


def _markdown(page: dict[str, Any]) -> str:
    """The page as it stands in docs/errors."""
    parts = [f"# {page['code']}: {page['title']}"]
    parts += [f"## {heading}\n\n{page[key]}" for heading, key in _PARTS]
    return "\n\n".join(parts) + "\n"


def _print_page(page: dict[str, Any]) -> None:
    from rich.console import Console  # heavy: rich
    from rich.markdown import Markdown

    # rich has no P4; C is near enough to tell words, numbers and comments apart.
    Console(emoji=False).print(
        Markdown(_markdown(page).replace("```p4", "```c"), code_theme="ansi_dark")
    )
