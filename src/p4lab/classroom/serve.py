"""The class's processes: proxy and hub, here or as units of systemd."""

from __future__ import annotations

import errno
import os
import pwd
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from p4lab.classroom.place import PLACE, SERVICE, ClassError, Place, Settings
from p4lab.classroom.proxy import NODE_PATH, proxy_command
from p4lab.command import command
from p4lab.grading.roster import read as read_roster

CONFIG = Path(__file__).parent / "jupyterhub_config.py"
PATIENCE = 30  # seconds in which proxy and hub end by themselves


def hub_environment(place: Place) -> dict[str, str]:
    """What the hub finds in its environment. Raises OSError."""
    token = (place.hub / "proxy.env").read_text(encoding="utf-8").strip().partition("=")[2]
    return {**os.environ, PLACE: str(place.path), "CONFIGPROXY_AUTH_TOKEN": token}


def hub_command() -> list[str]:
    """How the hub is started."""
    return [sys.executable, "-m", "jupyterhub", "-f", str(CONFIG)]


def start_hub(place: Place, **more: Any) -> subprocess.Popen[bytes]:
    """The hub alone. Raises OSError."""
    return subprocess.Popen(hub_command(), cwd=place.hub, env=hub_environment(place), **more)


def start_proxy(place: Place, **more: Any) -> subprocess.Popen[bytes]:
    """The proxy alone, as the class's user. Raises ClassError, OSError."""
    user = pwd.getpwnam(SERVICE)
    environment = {**hub_environment(place), "NODE_PATH": NODE_PATH}
    return subprocess.Popen(
        proxy_command(place.settings()),
        cwd="/",
        env=environment,
        user=user.pw_uid,
        group=user.pw_gid,
        extra_groups=[],
        **more,
    )


def check(place: Place) -> None:
    """Raises ClassError and GradingError for what would end the proxy or the hub with a page of
    their own about it, or the proxy alone, without which the hub goes on."""
    settings = place.settings()
    proxy_command(settings)
    read_roster(place.roster)
    again = f"{command()} class make ROSTER.csv makes it."
    try:
        user = pwd.getpwnam(SERVICE)
        hub_environment(place)
    except KeyError:
        raise ClassError(f"there is no user {SERVICE}; {again}") from None
    except FileNotFoundError as error:
        raise ClassError(f"{error.filename}: {error.strerror}; {again}") from None
    if settings.tls_cert:
        _check_certificate(settings, user)
    _check_ports(place, settings)


def _check_certificate(settings: Settings, user: pwd.struct_passwd) -> None:
    files = settings.tls_cert, settings.tls_key
    for file in files:
        reads = ["test", "-r", file]
        if subprocess.run(reads, user=user.pw_uid, group=user.pw_gid, extra_groups=[]).returncode:
            raise ClassError(
                f"the proxy cannot read {file}; give --tls-cert and --tls-key files that the user "
                f"{SERVICE} can read."
            )
    try:
        # An empty password, or OpenSSL would ask for that of a key which has one.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files, password="")
    except OSError:
        told = "are not a certificate and its key, without a password"
        raise ClassError(f"{files[0]} and {files[1]} {told}.") from None


def _check_ports(place: Place, settings: Settings) -> None:
    for name in ("port", "proxy_port", "hub_port", "dashboard_port"):
        port = getattr(settings, name)
        host = settings.listen if name == "port" else "127.0.0.1"
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            socket.create_server((host, port), family=family).close()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                told = f"port {port} is in use; end what listens there (ss -ltnp shows it), or"
            else:
                told = f"cannot listen on {host}, port {port} ({_reason(error)});"
                name = "listen" if host == settings.listen else name
            raise ClassError(f"{told} give another {name} in {place.settings_file}.") from None


def _reason(error: OSError) -> str:
    """Without what Python adds to the system's words."""
    return (error.strerror or str(error)).partition(" (while ")[0]


def serve(place: Place) -> None:
    """Runs the proxy and the hub until a signal ends this process. Students' servers keep running,
    and the next hub takes them over. What both report goes to `Place.log`. Raises ClassError if
    one of the two ends, OSError."""
    with place.log.open("ab") as log:
        # Ctrl-C is for this process, which ends each of them once.
        more = {
            "stdin": subprocess.DEVNULL,
            "stdout": log,
            "stderr": log,
            "start_new_session": True,
        }
        started: dict[str, subprocess.Popen[bytes]] = {}
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
        try:
            started["proxy"] = start_proxy(place, **more)
            started["hub"] = start_hub(place, **more)
            ended = _first_to_end(started)
            raise ClassError(f"the {ended} has ended; {place.log} ends with the reason.")
        except KeyboardInterrupt:
            pass
        finally:
            _end(list(started.values()))


def _first_to_end(started: Mapping[str, subprocess.Popen[bytes]]) -> str:
    pids = {process.pid: name for name, process in started.items()}
    pid = 0
    while pid not in pids:
        pid, _ = os.wait()
    return pids[pid]


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Stops them all; a second Ctrl-C does not cut that short."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for one in processes:
        one.terminate()
    for one in processes:
        try:
            one.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()
