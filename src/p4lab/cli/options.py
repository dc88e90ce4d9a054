"""Options that several verbs share. Those of a lab's system are in `settings.py`."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail, fail_at, no_file
from p4lab.command import command

Program = Annotated[Path, typer.Argument(metavar="PROG.p4", help="The P4 program.")]
IncludeDirs = Annotated[
    list[Path] | None,
    typer.Option("-I", metavar="DIR", help="Also look for #include files here; may be repeated."),
]
Defines = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="NAME[=VALUE]", help="Define a macro; may be repeated."),
]
Lab = Annotated[str, typer.Argument(metavar="LAB", help="The lab, such as 01-bier.")]
NetworkName = Annotated[
    str,
    typer.Option("--net", metavar="virtual|linux", help="In virtual time, or on Linux hosts."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")]

Undefined = Annotated[
    int | None,
    typer.Option(
        "--undefined",
        metavar="SEED",
        min=0,
        max=(1 << 32) - 1,
        help="Fill what P4 leaves undefined with noise instead of zero, and mark it in traces.",
    ),
]

Bmv2Compat = Annotated[
    bool,
    typer.Option("--bmv2-compat", help="Do what bmv2 does where it departs from P4: docs/bmv2.md."),
]

_MACRO = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def labs_only(lab: str) -> None:
    """Ends the verb for an exercise folder, which only `run` takes."""
    from p4lab.course.home import names  # heavy: topologies, and with them pydantic
    from p4lab.exercise.folders import is_exercise

    if lab and lab not in names() and is_exercise(Path(lab)):
        runs = f"{command()} run {shlex.quote(lab)}"
        fail(f"{lab} is an exercise's folder, and this verb is for labs. To run it: {runs}")


def tell_undefined(seed: int | None) -> None:
    """Says which seed the noise comes from, so that a run can be repeated."""
    if seed is not None:
        typer.echo(f"undefined values are noise from seed {seed}", err=True)


def split_defines(defines: list[str] | None) -> list[tuple[str, str]]:
    """`NAME=VALUE` and `NAME` (which means 1, as in a C preprocessor) as pairs."""
    pairs = []
    for define in defines or []:
        name, equals, value = define.partition("=")
        if not _MACRO.fullmatch(name):
            fail(f"-D {define}: {name!r} is not a macro name; write -D NAME=VALUE.")
        pairs.append((name, value if equals else "1"))
    return pairs


def existing_file(path: Path, what: str) -> Path:
    """The path, or status 2 if it is not a regular file."""
    if not path.is_file():
        no_file(path, what)
    return path


def existing_dirs(paths: list[Path] | None) -> list[str]:
    """The include directories as the engine wants them, or status 2 if one is missing."""
    for path in paths or []:
        if not path.is_dir():
            no_file(path, "directory")
    return [str(path) for path in paths or []]


def output_folder(path: Path) -> Path:
    """The folder, made if there is none; status 2 if it cannot be written to. To be asked before
    the work is done whose results go there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"{error.filename or path}: {error.strerror}; give another folder.")
    if not os.access(path, os.W_OK | os.X_OK):
        fail(f"{path}: you may not write there; give another folder.")
    return path


def write_text(path: Path, text: str) -> None:
    """Writes a file of text; status 2 if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        fail_at(error, path)
