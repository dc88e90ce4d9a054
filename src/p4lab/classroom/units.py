"""Proxy and hub as units of systemd. Servers of students are units of their own, which the spawner
makes, so that stopping the hub stops none of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from p4lab.classroom.place import PLACE, SERVICE, ClassError, Place, Settings
from p4lab.classroom.proxy import NODE_PATH, proxy_command
from p4lab.classroom.serve import hub_command

FOLDER = Path("/etc/systemd/system")
HUB, PROXY = "p4lab-class.service", "p4lab-class-proxy.service"


def units(place: Place, settings: Settings) -> dict[str, str]:
    """The text of each unit by its name. Raises ClassError if there is no proxy."""
    return {PROXY: _proxy(place, settings), HUB: _hub(place)}


def install(place: Place, settings: Settings, folder: Path = FOLDER) -> None:
    """Writes the units, and starts them with the machine and now. The proxy goes on if nothing of
    it has changed. Raises ClassError, OSError."""
    changed = False
    for name, text in units(place, settings).items():
        file = folder / name
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        changed |= name == PROXY and before != text
        file.write_text(text, encoding="utf-8")
    _systemctl("daemon-reload")
    _systemctl("enable", "--quiet", PROXY, HUB)
    _systemctl("restart" if changed else "start", PROXY)
    _systemctl("restart", HUB)


def _proxy(place: Place, settings: Settings) -> str:
    command = proxy_command(settings)
    loads = []
    for option, path in (("cert", settings.tls_cert), ("key", settings.tls_key)):
        if path:  # root reads it, and the proxy gets a copy
            loads.append(f"LoadCredential={option}:{path}")
            command[command.index(path)] = f"${{CREDENTIALS_DIRECTORY}}/{option}"
    return f"""[Unit]
Description=Proxy of p4lab's class
After=network-online.target
Wants=network-online.target

[Service]
User={SERVICE}
EnvironmentFile={place.hub}/proxy.env
Environment=NODE_PATH={NODE_PATH}
{"".join(f"{line}{chr(10)}" for line in loads)}ExecStart={_words(command)}
Restart=always
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
PrivateTmp=yes
ProtectHome=yes
ProtectSystem=strict

[Install]
WantedBy=multi-user.target
"""


def _hub(place: Place) -> str:
    path = f"{Path(sys.executable).parent}:{os.defpath}:/usr/sbin:/sbin"
    return f"""[Unit]
Description=JupyterHub of p4lab's class
After=network-online.target {PROXY}
Wants=network-online.target {PROXY}

[Service]
WorkingDirectory={place.hub}
EnvironmentFile={place.hub}/proxy.env
Environment={PLACE}={place.path} PATH={path}
ExecStart={_words(hub_command())}
Restart=always

[Install]
WantedBy=multi-user.target
"""


def _words(command: Iterable[str]) -> str:
    """A command line as systemd reads it."""
    return " ".join(f'"{word}"' if " " in word else word for word in command)


def _systemctl(*words: str) -> None:
    done = subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClassError(f"systemctl {' '.join(words)}: {done.stderr.strip()}")
