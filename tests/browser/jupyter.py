"""A JupyterLab of its own for a test: a folder, a port and a token that nobody else uses."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from p4lab.lab.plan import ROOT

START_SECONDS = 90  # a cold disk and a busy machine
EXTENSIONS = ROOT / "editors" / "jupyterlab" / "data" / "share" / "jupyter" / "labextensions"


@dataclass(frozen=True)
class Server:
    """A running JupyterLab."""

    url: str
    token: str
    folder: Path

    def page(self, notebook: str) -> str:
        """The address of a notebook; `reset` gives every visit a layout of its own."""
        return f"{self.url}/lab/tree/{notebook}?reset&token={self.token}"


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def jupyter(folder: Path, home: Path, env: Mapping[str, str]) -> Iterator[Server]:
    """JupyterLab on the files in `folder`, with settings, data and logs in `home`."""
    port, token = free_port(), secrets.token_urlsafe(16)
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}"),
        *(
            f"--ServerApp.root_dir={folder}",
            "--ServerApp.ip=127.0.0.1",
            "--ServerApp.port_retries=0",
        ),
        f"--LabApp.extra_labextensions_path={ROOT}/editors/jupyterlab/data/share/jupyter/labextensions",
        *(["--allow-root"] if os.geteuid() == 0 else []),
    ]
    places = {
        name: str(home / name.lower())
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    own = {**os.environ, **places, "JUPYTER_TOKEN": token, "PYTHONPATH": str(ROOT / "src"), **env}
    with (home / "jupyter.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=own, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            server = Server(f"http://127.0.0.1:{port}", token, folder)
            _await(server, process, home / "jupyter.log")
            yield server
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _await(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{server.url}/api?token={server.token}", timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-3000:]}")
