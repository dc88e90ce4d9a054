"""A JupyterLab of its own for a test, started as `./lab notebook` starts it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from p4lab.notebook.folder import Folder
from p4lab.notebook.server import Server
from p4lab.paths import ROOT


def any_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def jupyter(
    notebook: Path, home: Path, folder: Folder | None = None, **environment: str
) -> Iterator[Server]:
    """JupyterLab on the folder of `notebook`, with settings, data and its log in `home`; with a
    student's folder it opens the living network."""
    server = Server(notebook.parent, notebook, any_port(), folder=folder)
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    own = {name: str(home / name.lower()) for name in names}
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    log = home / "jupyter.log"
    process = server.start(log, PYTHONPATH=os.pathsep.join(paths), **own, **environment)
    try:
        assert server.await_ready(process), log.read_text(errors="replace")[-3000:]
        yield server
    finally:
        process.terminate()
        process.wait()
