"""The class's processes: proxy and hub, here or as units of systemd."""

from __future__ import annotations

import errno
import os
import pwd
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from p4lab.classroom.place import PLACE, SERVICE, ClassError, Place
from p4lab.classroom.proxy import NODE_PATH, proxy_command

CONFIG = Path(__file__).parent / "jupyterhub_config.py"


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


def check_ports(place: Place) -> None:
    """Raises ClassError for a port that a process of the class could not have: the proxy would end,
    and the hub go on without it."""
    settings = place.settings()
    for name in ("port", "proxy_port", "hub_port", "dashboard_port"):
        port = getattr(settings, name)
        host = settings.listen if name == "port" else "127.0.0.1"
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            socket.create_server((host, port), family=family).close()
        except OSError as error:
            told = f"{host}: {error.strerror}; give another {name} in {place.settings_file}."
            if error.errno == errno.EADDRINUSE:
                told = (
                    f"port {port} is in use; end what listens there (ss -ltnp shows it), or give "
                    f"another {name} in {place.settings_file}."
                )
            raise ClassError(told) from None


def serve(place: Place) -> int:
    """Proxy and hub until one of them ends, or this process is told to: the status of the first
    that did. Students' servers stay; the next hub finds them. Raises ClassError, OSError."""
    check_ports(place)
    started = [start_proxy(place), start_hub(place)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        pid, status = os.wait()
        while pid not in [one.pid for one in started]:
            pid, status = os.wait()
        return os.waitstatus_to_exitcode(status)
    except KeyboardInterrupt:
        return 0
    finally:
        for one in started:
            one.terminate()
        for one in started:
            one.wait()
