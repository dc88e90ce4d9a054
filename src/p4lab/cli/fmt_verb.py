"""`p4lab fmt`: P4 programs in the style of this lab."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from p4lab import _engine
from p4lab.cli.errors import BAD_INPUT, VERDICT_NO, fail, fail_at
from p4lab.cli.options import existing_file
from p4lab.errors import foreign_line

Programs = Annotated[list[Path], typer.Argument(metavar="PROG.p4...", help="The P4 programs.")]
Check = Annotated[
    bool, typer.Option("--check", help="Change nothing; exit 1 if a file is not formatted.")
]
ToStdout = Annotated[
    bool, typer.Option("--stdout", help="Print the one formatted program; leave the file alone.")
]


def fmt(programs: Programs, check: Check = False, stdout: ToStdout = False) -> None:
    """Format P4 programs in place: indentation and spaces; line breaks stay the author's.

    A file that cannot be read, such as one with an open comment, is left alone; the exit status is
    then 2.
    """
    if check and stdout:
        fail("--check prints no program and --stdout checks none; give one of them.")
    if stdout and len(programs) > 1:
        fail("--stdout prints one program; give one file.")

    unreadable = unformatted = 0
    for program in programs:
        existing_file(program, "P4 program")
        try:
            text = program.read_bytes().decode()
            formatted = _engine.format_text(text)
        except (OSError, ValueError) as error:
            typer.echo(f"p4lab: {program}:{_reason(error)}", err=True)
            unreadable += 1
            continue
        if stdout:
            typer.echo(formatted.encode(), nl=False)  # P4 is UTF-8, whatever the terminal is
        elif formatted != text:
            unformatted += 1
            typer.echo(f"{program}: {'not formatted' if check else 'formatted'}")
            if not check:
                _replace(program, formatted)
    if unreadable:
        raise typer.Exit(BAD_INPUT)
    if check and unformatted:
        raise typer.Exit(VERDICT_NO)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f" line {foreign_line(error)} is not UTF-8; the file is left alone."
    if isinstance(error, OSError):
        return f" {error.strerror}."
    return f"{error}; the file is left alone."


def _replace(program: Path, text: str) -> None:
    """Writes the file anew. It is overwritten, not replaced, so that links and modes stay."""
    try:
        program.write_bytes(text.encode())
    except OSError as error:
        fail_at(error, program)
