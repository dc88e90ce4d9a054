"""A process that has imported what verbs need and is forked for each command (cli_runner.py).

To start Python and import takes longer than most verbs do. A command is a process of its own all
the same, with its own arguments, environment, folder and output, and ends as any Python does.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys

IMPORTED = ("typer.rich_utils", "rich.markdown", "rich.table", "p4lab.session.opening")
WHOLE = ("p4lab.cli", "p4lab.systems")
"""Packages of which everything is imported: all verbs and systems"""


def main(control: socket.socket) -> None:
    """Carries out requests until nobody can make one any more; in a command's process, returns to
    be that command."""
    for name in (*IMPORTED, *(one for package in WHOLE for one in _inside(package))):
        with contextlib.suppress(ImportError):  # its own command will say so
            importlib.import_module(name)
    gc.freeze()  # what is there now stays, and is shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are of no interest
    while True:
        text, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 3)
        if not text:
            os._exit(0)
        if os.fork() == 0:
            control.close()
            *outputs, answer = descriptors
            if not _kept(answer):
                return _begin(json.loads(text), outputs)
        for descriptor in descriptors:
            os.close(descriptor)


def _inside(package: str) -> list[str]:
    path = importlib.import_module(package).__path__
    return [f"{package}.{module.name}" for module in pkgutil.iter_modules(path)]


def _kept(answer: int) -> bool:
    """Forks the command and tells its process and its status; False in the command itself."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = os.fork()
    if command == 0:
        os.close(answer)
        return False
    os.write(answer, f"{command}\n".encode())
    _, status = os.waitpid(command, 0)
    with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(answer, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _begin(request: dict, outputs: list[int]) -> None:
    """Makes this process the one that `python -m p4lab` would be."""
    for number, descriptor in enumerate(outputs, 1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    paths = request["env"]["PYTHONPATH"].split(os.pathsep)
    sys.path[:] = [os.getcwd(), *paths, *(one for one in sys.path[1:] if one not in paths)]
    sys.orig_argv = [sys.executable, "-m", "p4lab", *request["arguments"]]
    sys.argv = ["p4lab", *request["arguments"]]


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("p4lab", run_name="__main__", alter_sys=True)
