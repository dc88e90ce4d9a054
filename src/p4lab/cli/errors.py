"""How a verb ends: exit status 0 all right, 1 the verdict is no, 2 it could not be judged."""

from __future__ import annotations

from typing import NoReturn

import typer

VERDICT_NO = 1
BAD_INPUT = 2


def fail(message: str) -> NoReturn:
    """Ends the verb with status 2 and one sentence on standard error."""
    typer.echo(f"p4lab: {message}", err=True)
    raise typer.Exit(BAD_INPUT)


def no_file(path: object, what: str) -> NoReturn:
    """Ends the verb because a file named on the command line is not there."""
    fail(f"{path}: no such {what}; give the path from the folder you are in.")
