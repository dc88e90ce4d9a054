"""Whether a command line can be read. `./lab` asks before it builds, for minutes, what the verb
needs: then a mistake is refused, and --help is answered, at once."""

from __future__ import annotations

from typing import Any, NoReturn

import typer

from p4lab.cli import app
from p4lab.cli.errors import run_guarded
from p4lab.cli.verbs import Later
from p4lab.command import program

TO_BE_RUN = 78
"""The exit status of a command line without a mistake; for the `lab` script, all but 0 and 2 are"""


def main() -> None:
    """Does all with a command line in `sys.argv` but run the verb."""
    Later.callback_instead = _to_be_run
    run_guarded(lambda: app(prog_name=program()))


def _to_be_run(**_: Any) -> NoReturn:
    raise typer.Exit(TO_BE_RUN)
