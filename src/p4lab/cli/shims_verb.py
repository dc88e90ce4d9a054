"""`p4lab shims` and `p4lab shell`: p4c's and bmv2's names for our compiler and switch."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail, fail_at
from p4lab.cli.verbs import registered
from p4lab.shims.folder import ShimsError, make_shims, on_path

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder for them, empty or new.")]
Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[COMMAND]...", help="Run this with them, instead of a shell."),
]
Compat = Annotated[
    bool,
    typer.Option(
        "--bmv2-compat/--as-specified",
        help="Switches do as bmv2 does where P4 says otherwise (docs/bmv2.md), or as P4 says.",
    ),
]
RC = """[ -r ~/.bashrc ] && . ~/.bashrc
PATH={path}
PS1="(p4lab) $PS1"
"""


def shims(folder: Folder, bmv2_compat: Compat = True) -> None:
    """Put p4c, p4c-bm2-ss, simple_switch and simple_switch_grpc into DIR: our compiler and switch
    under the names that scripts for bmv2 call (docs/tutorials.md)."""
    names = _made(folder, bmv2_compat)
    typer.echo(f"{folder} has {', '.join(names)}.")
    typer.echo(f"export PATH={shlex.quote(str(folder.resolve()))}:$PATH")


# What follows is the command's, not ours to parse.
@registered(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def shell(words: Words = None, bmv2_compat: Compat = True) -> None:
    """Open a shell in which `make run` of p4lang/tutorials works: our compiler and switch are found
    under the names of p4c's and bmv2's (docs/tutorials.md). Ends as the shell or COMMAND ends."""
    with tempfile.TemporaryDirectory(prefix="p4lab-shims-") as name:
        folder = Path(name) / "bin"
        _made(folder, bmv2_compat)
        environment = on_path(folder, os.environ)
        command = list(words) if words else _shell(Path(name), environment["PATH"])
        # Ctrl-C is the command's: in Mininet it ends a ping, not the network.
        signal.signal(signal.SIGINT, lambda *_: None)
        try:
            status = subprocess.run(command, env=environment, check=False).returncode
        except OSError as error:
            fail_at(error, command[0])
    raise typer.Exit(status if status >= 0 else 128 - status)


def _made(folder: Path, bmv2_compat: bool) -> list[str]:
    try:
        return make_shims(folder, bmv2_compat=bmv2_compat)
    except ShimsError as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, folder)


def _shell(folder: Path, path: str) -> list[str]:
    """The user's shell; what bash reads at its start may not put other programs in front again."""
    wanted = os.environ.get("SHELL") or "/bin/sh"
    if Path(wanted).name != "bash":
        return [wanted]
    rc = folder / "bashrc"
    rc.write_text(RC.format(path=shlex.quote(path)), encoding="utf-8")
    return [wanted, "--rcfile", str(rc), "-i"]
