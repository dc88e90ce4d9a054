"""How a verb ends: exit status 0 all right, 1 the verdict is no, 2 it could not be judged."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from p4lab.topology.tomls import FileError

VERDICT_NO = 1
BAD_INPUT = 2


def fail(message: str) -> NoReturn:
    """Ends the verb with status 2 and one sentence on standard error."""
    typer.echo(f"p4lab: {message}", err=True)
    raise typer.Exit(BAD_INPUT)


def fail_in_file(error: FileError) -> NoReturn:
    """Ends the verb with status 2 and an error that names file and line of every mistake itself;
    for a file that does not exist, that is one sentence."""
    if not error.problems[0].line:
        fail(f"{error}.")
    typer.echo(str(error), err=True)
    raise typer.Exit(BAD_INPUT) from error


def fail_at(error: OSError, path: object = None) -> NoReturn:
    """Ends the verb because of a file: the one the error names, else `path`."""
    fail(_sentence(error, path))


def _sentence(error: OSError, path: object = None) -> str:
    return f"{error.filename or path or 'the output'}: {error.strerror or error}."


def no_file(path: object, what: str) -> NoReturn:
    """Ends the verb because a file named on the command line is not there."""
    fail(f"{path}: no such {what}; give the path from the folder you are in.")


def run_guarded(command: Callable[[], object]) -> None:
    """Runs a command line in `sys.argv` so that nothing the system refuses ends in a traceback,
    such as output to a full disk, and no locale in one either."""
    if sys.stdout is None:  # closed by who started it; a file that is opened must not be it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the end
    for word in sys.argv[1:]:
        if not word.isascii() and not _is_text(word):
            encoding = sys.getfilesystemencoding()
            _end(f"the argument {word!a} is not text in {encoding}, which this locale uses.")
    # A terminal shows ? for what it lacks; files of ours are UTF-8.
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        try:
            command()
        finally:
            sys.stdout.flush()
    except OSError as error:
        # What cannot be written must not be tried once more when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        _end(_sentence(error))


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:  # bytes that did not decode
        return False
    return True


def _end(message: str) -> NoReturn:
    print(f"p4lab: {message}", file=sys.stderr)
    sys.exit(BAD_INPUT)
