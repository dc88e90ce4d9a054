"""Runs `python -m p4lab` as a user does: a process of its own.

It is forked from one that has imported everything before (cli_server.py), which saves half of what
most commands take. Two of those take turns: each has its own seed for hashes, as two processes of a
user have, so that what two commands write alike does not depend on it.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
SEEDS = itertools.cycle(("1", "2"))
READ_AT_START = ("PYTHON", "LC_", "LANG", "NO_COLOR", "COLUMNS", "GLIBC")
"""How names of variables begin that Python, or what is imported, reads only once"""


def p4lab(
    *arguments: object, timeout: float = 300, path: Path | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The finished process, begun in `cwd`; it finds packages in the folder `path`, too. A
    traceback on standard error is always a failure."""
    found = os.pathsep.join(map(str, filter(None, [ROOT / "src", path])))
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    first = {name: env[name] for name in env if name.startswith(READ_AT_START)}
    request = {
        "arguments": [str(one) for one in arguments],
        "env": {**env, "PYTHONPATH": found},
        "cwd": str(cwd or Path.cwd()),
    }
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        server = _server(next(SEEDS), tuple(first.items()))
        status = _carried_out(server, request, [out.fileno(), err.fileno()], timeout)
        output, errors = _text(out), _text(err)
    assert "Traceback" not in errors, errors
    return subprocess.CompletedProcess(["p4lab", *request["arguments"]], status, output, errors)


@cache
def _server(seed: str, first: tuple[tuple[str, str], ...]) -> socket.socket:
    """Where one takes requests, begun with these variables. It ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    settings = {**dict(first), "PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": seed}
    with theirs:
        subprocess.Popen(
            [sys.executable, Path(__file__).with_name("cli_server.py"), str(theirs.fileno())],
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    return ours


def _carried_out(
    server: socket.socket, request: dict[str, object], outputs: list[int], timeout: float
) -> int:
    """The status in which the command ends. Raises TimeoutExpired when it has been killed."""
    reader, answer = os.pipe()
    with open(reader, "rb", buffering=0) as replies:
        socket.send_fds(server, [json.dumps(request).encode()], [*outputs, answer])
        os.close(answer)
        process = int(replies.readline())
        if not select.select([replies], [], [], timeout)[0]:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired("p4lab", timeout)
        return int(replies.readline())


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8").replace("\r\n", "\n")
