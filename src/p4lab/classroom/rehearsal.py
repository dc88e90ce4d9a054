"""A class in a machine apart: users, homes and processes that are gone with it, for load and tests.

It is a mount and a process namespace with a copy of /etc, so that `useradd` makes users that only
exist there. The network is this machine's: a browser reaches the class by the loopback. Needs root.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from p4lab.classroom.making import CLOSED
from p4lab.classroom.place import ClassError, Place
from p4lab.paths import PACKAGE, ROOT

HELD = Path("/mnt")  # where folders are kept for a moment
NEEDED = (ROOT, Path(sys.prefix), Path(sys.base_prefix))
"""What every user must be able to read, so that Python runs"""
SOURCES = PACKAGE.parent
START_SECONDS = 120.0
UIDS = 300_000
"""The first number of a user there: nobody's on this machine"""

# The first process of the machine apart: it waits for orphans, as init does.
_INIT = """import signal, os
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
print("ready", flush=True)
while True:
    signal.sigwait([signal.SIGCHLD])
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
"""


def missing() -> str:
    """What this machine lacks for a rehearsal; empty if nothing."""
    if os.geteuid() != 0:
        return "users are made, which takes root"
    for program in ("configurable-http-proxy", "useradd", "unshare", "nsenter"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    try:
        import jupyterhub  # noqa: F401  # heavy: only servers of classes have it
    except ImportError:
        return "JupyterHub is not installed (requirements-class.lock)"
    tried = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"]
    if subprocess.run(tried, capture_output=True, check=False).returncode:
        return "this machine allows no mount and process namespaces"
    return ""


class Machine:
    """The machine apart, with its folders below `scratch`. Raises ClassError, OSError."""

    def __init__(self, scratch: Path) -> None:
        self.etc, self.home, self.srv = (scratch / name for name in ("etc", "home", "srv"))
        subprocess.run(["cp", "-a", "/etc", str(self.etc)], check=True)
        self.home.mkdir()
        self.srv.mkdir()
        _number_users_from(self.etc / "login.defs", UIDS)
        script = [
            "set -e",
            *opened(NEEDED),
            *apart(CLOSED),
            *(
                f"mount --bind {shlex.quote(str(folder))} /{folder.name}"
                for folder in (self.etc, self.home, self.srv)
            ),
            'exec "$@"',
        ]
        self._first = subprocess.Popen(
            [
                *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
                *("sh", "-c", "\n".join(script), "sh", sys.executable, "-c", _INIT),
            ],
            stdout=subprocess.PIPE,
        )
        assert self._first.stdout is not None
        if self._first.stdout.readline() != b"ready\n":
            raise ClassError("the machine apart did not start.")
        self.place = Place(self.srv / "p4lab-class")
        """The class's folder, as it is seen from outside"""
        self.namespace = os.readlink(f"/proc/{_child_of(self._first)}/ns/pid")

    def start(self, *words: object, **more: Any) -> subprocess.Popen[bytes]:
        """Starts a program of that machine as its root."""
        inside = _child_of(self._first)
        command = ["nsenter", "--mount", "--pid", f"--target={inside}", "--wd=/", "--"]
        environment = {
            **os.environ,
            "PYTHONPATH": str(SOURCES),
            "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}:/usr/sbin:/sbin",
            "NO_COLOR": "1",
        }
        return subprocess.Popen([*command, *map(str, words)], env=environment, **more)

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        """Runs `p4lab` with these words there."""
        process = self.start(
            *(sys.executable, "-m", "p4lab", *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        said, complaints = process.communicate()
        return subprocess.CompletedProcess([], process.returncode, str(said), str(complaints))

    def end(self, process: subprocess.Popen[Any]) -> int:
        """Ends a program of that machine as Ctrl-C would; its exit status."""
        os.kill(_child_of(process), signal.SIGINT)
        return process.wait()

    def free_settings(self, **more: object) -> str:
        """A class.toml with ports that are free now."""
        return "".join(f"{name} = {value}\n" for name, value in {**free_ports(), **more}.items())

    def close(self) -> None:
        """Ends it, and with it every process in it."""
        self._first.send_signal(signal.SIGKILL)
        self._first.wait()


def _child_of(process: subprocess.Popen[Any]) -> int:
    """The one process that another has begun."""
    file = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(file.read_text().split()[0])


def await_class(address: str, process: subprocess.Popen[Any]) -> None:
    """Waits until proxy, hub and dashboard answer. Raises ClassError if they do not."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            direct.open(f"{address}/services/dashboard/static/class.css", timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise ClassError(f"the class does not answer at {address}.")


def opened(folders: Sequence[Path]) -> Iterator[str]:
    """Commands for a mount namespace that leave of closed folders, which root alone may enter, what
    is asked for."""
    closed: dict[Path, list[Path]] = {}
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        chain = [folder, *folder.parents]
        shut = [each for each in chain if not each.stat().st_mode & 0o001]
        if shut:
            closed.setdefault(shut[-1], []).append(folder)
    if closed:
        yield f"mount -t tmpfs none {HELD}"
    for place, inner in closed.items():
        for number, folder in enumerate(inner):
            hold = HELD / f"{number}"
            yield f"mkdir -p {hold}; mount --rbind {shlex.quote(str(folder))} {hold}"
        yield f"mount -t tmpfs -o mode=755 none {shlex.quote(str(place))}"
        for number, folder in enumerate(inner):
            name = shlex.quote(str(folder))
            yield f"mkdir -p {name}; mount --rbind {HELD / str(number)} {name}"
            yield f"umount -l {HELD / str(number)}"


def apart(names: Sequence[str]) -> Iterator[str]:
    """Commands that lay an open folder over each of these in p4lab's: who makes a class closes them
    to students, and those of this machine shall stay as they are."""
    for name in names:
        if (ROOT / name).is_dir():
            yield f"mount -t tmpfs -o mode=755 none {shlex.quote(str(ROOT / name))}"


def _number_users_from(file: Path, first: int) -> None:
    """Sets the numbers of new users in a login.defs; the last word of a name counts."""
    lines = [
        line for line in file.read_text().splitlines() if not line.startswith(("UID_", "GID_"))
    ]
    for kind in ("UID", "GID"):
        lines += [f"{kind}_MIN {first}", f"{kind}_MAX {first + 9999}"]
    file.write_text("\n".join(lines) + "\n")


def free_ports() -> dict[str, int]:
    """Settings of a class with ports of the loopback that nothing listens at now."""
    names = ("port", "hub_port", "proxy_port", "dashboard_port")
    probes = [socket.socket() for _ in names]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return dict(zip(names, ports, strict=True))
