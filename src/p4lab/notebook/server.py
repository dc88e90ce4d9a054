"""JupyterLab for a student: its own copy of the notebook, a token, no network needed."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from p4lab.command import ENVIRONMENT as COMMAND
from p4lab.command import program
from p4lab.course.home import notebooks, work_folder
from p4lab.course.labs import LabError
from p4lab.notebook.copies import own
from p4lab.notebook.folder import Folder, lab_folder
from p4lab.paths import ROOT

EDITOR = ROOT / "editors" / "jupyterlab"  # all of it goes into a wheel, by the names of its folders
CONFIG = ROOT / "editors" / "jupyterlab-config"

LAYOUT = "P4LAB_LAYOUT"  # names the environment variable that jupyter_server_config.py reads

# Runs a module as `python -m` does, without a library whose import takes seconds of a processor: it
# makes a parser for internationalised web addresses in JSON schemas, and Jupyter's have none.
# jsonschema does without where it is not installed.
_RUN = """import runpy, sys
sys.path[:1] == [""] and sys.path.pop(0)
sys.modules["rfc3987_syntax"] = None
runpy.run_module("{module}", run_name="__main__", alter_sys=True)"""

KERNEL = "python3"  # the one of the Python that JupyterLab runs in

FIRST_PORT, PORTS = 8888, 50
START_SECONDS = 120  # a cold disk, a busy machine
END_SECONDS = 15  # it ends its kernels first


def quick(module: str) -> list[str]:
    """The command that runs a module of Jupyter, which is ready seconds earlier than by `-m`."""
    return [sys.executable, "-c", _RUN.format(module=module)]


def free_port() -> int:
    """The first free port from 8888 on. Raises LabError if fifty of them are taken."""
    for port in range(FIRST_PORT, FIRST_PORT + PORTS):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    last = FIRST_PORT + PORTS - 1
    raise LabError(f"ports {FIRST_PORT} to {last} are all taken; choose one with --port.")


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a JupyterLab, by force if it does not end when asked. Its kernels end with it."""
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def own_notebook(lab: str) -> tuple[Path, str]:
    """The student's copy of a lab's notebook, and what is to be said of it, as `copies.own` gives
    them. Raises LabError, OSError."""
    known = notebooks()
    if lab not in known:
        raise LabError(f"there is no notebook of a lab {lab!r}; choose from {', '.join(known)}.")
    return own(known[lab], work_folder())


@dataclass(frozen=True)
class Server:
    """A JupyterLab that shows the files below `root` and opens `file`; `news` is what to say of it
    first. With a student's folder of a lab it opens the P4 file beside the living network, and the
    notebook in a tab."""

    root: Path
    file: Path
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    listen: str = "127.0.0.1"
    news: str = ""
    folder: Folder | None = None

    @property
    def origin(self) -> str:
        """Where a browser on this machine finds it."""
        return f"http://{'127.0.0.1' if self.listen == '0.0.0.0' else self.listen}:{self.port}"

    @property
    def path(self) -> str:
        """What it opens: the notebook, or a lab's workspace, which JupyterLab keeps as the student
        leaves it."""
        if self.folder:
            return f"/lab/workspaces/p4lab-{self.folder.lab}"
        return f"/lab/tree/{self._named(self.file)}"

    @property
    def layout(self) -> Mapping[str, Any] | None:
        """What stands where (`arrange` in editors/jupyterlab's live.js)."""
        if self.folder is None:
            return None
        edit = self.folder.edit[0]
        return {
            "lab": self.folder.lab,
            "title": f"{'network' if self.folder.is_p4 else 'checks'} of {self.folder.lab}",
            "session": self._named(self.file.parent / f"network-of-{self.folder.lab}"),
            "edit": self._named(edit) if edit.is_relative_to(self.root) else None,
            "beside": [self._named(self.file)],
        }

    def _named(self, path: Path) -> str:
        """A file or folder as JupyterLab names it."""
        return path.relative_to(self.root).as_posix()

    @property
    def url(self) -> str:
        """What to open in a browser."""
        return f"{self.origin}{self.path}?token={self.token}"

    def start(self, log: Path, **environment: str) -> subprocess.Popen[bytes]:
        """Starts it; what it says goes to `log`. Raises OSError."""
        with log.open("wb") as file:
            return subprocess.Popen(
                self._command(),
                env={**self._environment(), **environment},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def await_ready(self, process: subprocess.Popen[bytes]) -> bool:
        """Waits until it answers; False if it ended or took longer than two minutes."""
        deadline = time.monotonic() + START_SECONDS
        address = f"{self.origin}/api?token={self.token}"
        while time.monotonic() < deadline and process.poll() is None:
            try:
                self._direct().open(address, timeout=5).close()
                return True
            except OSError:
                time.sleep(0.2)
        return False

    def warm(self) -> None:
        """Starts the kernel of the living network, while the browser still loads the page, which
        would start it otherwise. Raises OSError."""
        if self.layout is None:
            return
        path = self.layout["session"]
        kernel = {"name": KERNEL}
        session = {"path": path, "name": Path(path).name, "type": "p4lab", "kernel": kernel}
        address = f"{self.origin}/api/sessions?token={self.token}"
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(address, json.dumps(session).encode(), kind)
        self._direct().open(request, timeout=START_SECONDS).close()

    def _direct(self) -> urllib.request.OpenerDirector:
        """Asks this machine, whatever proxy there is for others."""
        return urllib.request.build_opener(urllib.request.ProxyHandler({}))

    @property
    def settings(self) -> list[str]:
        """What a JupyterLab is told, whoever starts it."""
        extensions = EDITOR / "data" / "share" / "jupyter" / "labextensions"
        return [
            *("--log-level=WARN", "--ServerApp.answer_yes=True"),
            "--LabApp.check_for_updates_class="
            "jupyterlab.handlers.announcements.NeverCheckForUpdate",
            f"--LabApp.extra_labextensions_path={extensions}",
        ]

    def _command(self) -> list[str]:
        """In the foreground; Ctrl-C ends it without a question."""
        return [
            *(*quick("jupyterlab"), f"--port={self.port}"),
            *(f"--ServerApp.ip={self.listen}", "--ServerApp.port_retries=0"),
            *(f"--ServerApp.root_dir={self.root}", f"--LabApp.default_url={self.path}"),
            *self.settings,
            "--no-browser",
            *(["--allow-root"] if os.geteuid() == 0 else []),
        ]

    @property
    def shown(self) -> Mapping[str, str]:
        """What JupyterLab finds in its environment of the lab that it shows."""
        paths = [str(CONFIG), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
        return {
            "JUPYTER_CONFIG_PATH": os.pathsep.join(paths),
            LAYOUT: json.dumps(self.layout),
        }

    def _environment(self) -> Mapping[str, str]:
        """The process's environment. The token is not on the command line, where others see it."""
        return {
            **os.environ,
            # A kernel works in another folder than the one where this was typed.
            **({COMMAND: os.path.abspath(program())} if os.sep in program() else {}),
            "JUPYTER_TOKEN": self.token,
            **self.shown,
        }


def student_server(
    lab: str, port: int | None, listen: str = "127.0.0.1", token_file: Path | None = None
) -> Server:
    """The server for a lab's notebook; without a token's file it gets a new token. Raises LabError,
    and OSError where the student's folder cannot be written or the token's file not be read."""
    token = secrets.token_urlsafe(18)
    if token_file is not None:
        token = token_file.read_text(encoding="utf-8", errors="replace").strip()
        if not (token.isascii() and token.isprintable()):
            raise LabError(f"{token_file} is not a token; that is one line of letters and digits.")
        if not token:
            raise LabError(f"{token_file} is empty; a JupyterLab without a token is open to all.")
    if misfit := address_misfit(listen):  # JupyterLab would end in the middle of its start
        raise LabError(f"--listen {misfit}")
    notebook, news = own_notebook(lab)
    root = ROOT if notebook.is_relative_to(ROOT) else notebook.parent
    folder = lab_folder(lab)
    return Server(root, notebook, port or free_port(), token, listen, news, folder)


def address_misfit(listen: str) -> str:
    """Why a server cannot listen there: it is not an address of this machine. Empty if it can."""
    if listen in ("", "*"):  # every network, too
        return ""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(listen, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(place)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no name of a machine"
        return f"{listen}: {reason}; give an address of this machine, or 0.0.0.0 for all."
    return ""


def has_desktop() -> bool:
    """Whether a browser can be opened here."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
