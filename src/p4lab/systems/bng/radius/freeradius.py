"""FreeRADIUS for a lab: in a folder of its own, on ports of its own, without root or /etc.

    with FreeRadius(folder, users) as server:
        server.access_port, server.accounting_port, server.secret, server.detail

It starts in half a second. `stop` and `start` again keep ports and files.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from p4lab.systems.bng.radius.users import User, users_file
from p4lab.systems.bng.radius.wire import Code, signed_request

PROGRAMS = ("freeradius", "radiusd")
SHARED = Path("/usr/share/freeradius")
LIBRARIES = "/usr/lib/freeradius"
MISSING = (
    "FreeRADIUS is not installed, so local users answer instead; "
    "`sudo apt install freeradius freeradius-utils` brings it."
)
PATIENCE_SECONDS, WAIT_SECONDS = 10.0, 0.05


class FreeRadiusError(RuntimeError):
    """FreeRADIUS is missing or does not start; the message says what to do."""


def program() -> str | None:
    """The server's program; None without the package."""
    for name in PROGRAMS:
        for folder in (None, "/usr/sbin"):
            found = shutil.which(name, path=folder)
            if found and SHARED.is_dir():
                return found
    return None


class FreeRadius:
    """See above."""

    def __init__(
        self, folder: Path, users: Iterable[User], secret: str = "testing123", slots: int = 2
    ) -> None:
        """`slots` are the server's threads. Raises FreeRadiusError without the package, ValueError
        for users that its file cannot hold."""
        found = program()
        if found is None:
            raise FreeRadiusError(MISSING)
        self.folder = folder.resolve()
        self.secret = secret.encode()
        self.access_port, self.accounting_port = _free_ports()
        self.detail = self.folder / "detail"
        self._program = found
        self._process: subprocess.Popen[bytes] | None = None
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write(list(users), slots)

    def __enter__(self) -> FreeRadius:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until it listens. Raises FreeRadiusError with its log."""
        command = [self._program, "-f", "-d", str(self.folder), "-D", str(SHARED)]
        command += ["-n", "radiusd", "-l", str(self.folder / "radius.log")]
        with (self.folder / "output").open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            if all(self._answers(port) for port in (self.access_port, self.accounting_port)):
                return
        self.stop()
        raise FreeRadiusError(f"FreeRADIUS did not start:\n{self._last_words()}")

    def stop(self) -> None:
        """End the server, at once; no error if it is not there."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def memory(self) -> int:
        """Bytes that the server holds in memory now."""
        assert self._process is not None
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _answers(self, port: int) -> bool:
        """Whether the server says on a port that it lives (RFC 5997)."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(WAIT_SECONDS)
            one.connect(("127.0.0.1", port))
            try:
                one.send(signed_request(Code.STATUS_SERVER, 0, os.urandom(16), b"", self.secret))
                return bool(one.recv(4096))
            except TimeoutError:
                return False
            except ConnectionRefusedError:
                time.sleep(WAIT_SECONDS)
                return False

    def _last_words(self) -> str:
        log = self.folder / "radius.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        return "\n".join((text + (self.folder / "output").read_text()).splitlines()[-5:])

    def _write(self, users: list[User], slots: int) -> None:
        (self.folder / "users").write_text(users_file(users), encoding="utf-8")
        (self.folder / "dictionary").write_text(f"$INCLUDE {SHARED}/dictionary\n")
        secret = self.secret.decode()
        text = _CONFIGURATION.format(
            folder=self.folder,
            libraries=LIBRARIES,
            secret=secret,
            access=self.access_port,
            accounting=self.accounting_port,
            slots=slots,
            most=2 * slots,
        )
        (self.folder / "radiusd.conf").write_text(text, encoding="utf-8")


def _free_ports() -> tuple[int, int]:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


# `reject_delay` is a second by default, so that no one can guess passwords quickly; here it would
# be what tests measure. Until 3.2.5 the server signs no answer of its own accord: `update reply`
# makes it.
_CONFIGURATION = """\
prefix = {folder}
localstatedir = {folder}
logdir = {folder}
raddbdir = {folder}
confdir = {folder}
run_dir = {folder}
name = freeradius
libdir = {libraries}
pidfile = {folder}/radiusd.pid
max_requests = 16384
log {{
    destination = files
    file = {folder}/radius.log
}}
security {{
    max_attributes = 200
    reject_delay = 0
    status_server = yes
}}
client localhost {{
    ipaddr = 127.0.0.1
    secret = {secret}
    require_message_authenticator = yes
}}
thread pool {{
    start_servers = {slots}
    max_servers = {most}
    min_spare_servers = 1
    max_spare_servers = {slots}
}}
modules {{
    files {{
        filename = {folder}/users
    }}
    pap {{
    }}
    chap {{
    }}
    detail {{
        filename = {folder}/detail
    }}
}}
server default {{
    listen {{
        type = auth
        ipaddr = 127.0.0.1
        port = {access}
    }}
    listen {{
        type = acct
        ipaddr = 127.0.0.1
        port = {accounting}
    }}
    authorize {{
        chap
        files
        pap
        Autz-Type Status-Server {{
            update reply {{
                &Message-Authenticator := 0x00
            }}
        }}
    }}
    authenticate {{
        Auth-Type PAP {{
            pap
        }}
        Auth-Type CHAP {{
            chap
        }}
    }}
    post-auth {{
        update reply {{
            &Message-Authenticator := 0x00
        }}
        Post-Auth-Type REJECT {{
            update reply {{
                &Message-Authenticator := 0x00
            }}
        }}
    }}
    accounting {{
        detail
    }}
}}
"""
