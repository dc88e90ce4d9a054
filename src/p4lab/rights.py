"""Who may make Linux hosts: root, and every other user in a user namespace, where the kernel lets
users make one (user_namespaces(7)).

A process in a user namespace is root of the networks it makes and of nothing else; its files are
its user's. A user's process gets there by executing itself again through util-linux's `unshare`,
since the kernel lets in only who has a single thread, and lets nobody out. It stays the same
process, so that Ctrl-C and a kill end what they always end, and what it has made goes with it. It
stays in the machine's network, too: what listens there is found from other terminals.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Rung = Literal["root", "user namespace"]
"""By what right a process makes networks"""

TOLD: dict[Rung, str] = {
    "root": "Linux hosts, made as root",
    "user namespace": "Linux hosts in a user namespace, without root",
}

CAP_NET_ADMIN, CAP_SYS_ADMIN = 12, 21
STATUS, MAP = Path("/proc/self/status"), Path("/proc/self/uid_map")
EVERYBODY = ["0", "0", "4294967295"]  # the map of a machine's first user namespace
ENTER = ("unshare", "--user", "--map-root-user")
# What a network needs of its namespaces. The mount is Mininet's, for the interfaces of a host.
NEEDED = "mount -t sysfs none /sys && ip link add p4lab0 type veth peer name p4lab1"
PATIENCE = 60  # seconds for that; the kernel takes its time where networks are just being ended
SYSTEM_FOLDERS = ":/usr/sbin:/sbin"  # of ip; users' PATHs often lack them


class RightsError(Exception):
    """This process may make no Linux hosts; the message says why and what to do."""


@dataclass(frozen=True)
class Refusal:
    """Why a user gets no user namespace with all rights, and what to do about it."""

    reason: str
    remedy: str


@dataclass(frozen=True)
class Knob:
    """A setting of the kernel by which an administrator keeps users from making namespaces."""

    name: str
    refuses: str
    """Its value where it does"""
    allows: str

    def refusal(self) -> Refusal | None:
        """What it does here, if anything."""
        file = Path("/proc/sys", *self.name.split("."))
        if not file.is_file() or file.read_text().strip() != self.refuses:
            return None
        reason = f"sysctl {self.name} is {self.refuses}"
        return Refusal(reason, f"allow it with `sudo sysctl {self.name}={self.allows}`")


KNOBS = (
    Knob("user.max_user_namespaces", "0", "10000"),
    Knob("kernel.unprivileged_userns_clone", "0", "1"),  # Debian's, and others' after it
    Knob("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),  # Ubuntu's
)
CONTAINER = "start the container with --privileged"


def held() -> Rung | None:
    """What this process has; None if it may make no networks."""
    status = STATUS.read_text()
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    capabilities = int(found[1], 16) if found else 0
    if not (capabilities >> CAP_SYS_ADMIN & 1 and capabilities >> CAP_NET_ADMIN & 1):
        return None
    return "root" if MAP.read_text().split() == EVERYBODY else "user namespace"


def refusal() -> Refusal | None:
    """Why no user namespace would do, which is tried; None if one does. Nothing of it stays."""
    command = [*ENTER, "--net", "--mount", "sh", "-c", NEEDED]
    path = os.environ.get("PATH", os.defpath) + SYSTEM_FOLDERS
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, "PATH": path, "LC_ALL": "C"},
            check=False,
        )
    except FileNotFoundError:
        return Refusal("there is no program unshare", "install the package util-linux")
    except (OSError, subprocess.TimeoutExpired) as error:
        return Refusal(str(error), "start it with sudo")
    if done.returncode == 0:
        return None
    return _explained((done.stderr.strip() or f"exit status {done.returncode}").splitlines()[0])


def _explained(said: str) -> Refusal:
    """What stands behind the complaint of a program."""
    if "ip: not found" in said:
        return Refusal("there is no program ip", "install the package iproute2")
    if (found := forbidden()) is not None:
        return found
    if "unshare failed: Operation not permitted" in said and _is_filtered():
        return Refusal("a filter of system calls refuses it, as in a container", CONTAINER)
    if "/sys" in said:
        return Refusal(f"{said.rstrip('.')}, as in a container", CONTAINER)
    return Refusal(said.rstrip("."), "start it with sudo")


def forbidden() -> Refusal | None:
    """What an administrator has set against users' namespaces. Root is refused none by it."""
    return next(filter(None, (knob.refusal() for knob in KNOBS)), None)


def _is_filtered() -> bool:
    """Whether this process has a filter of system calls (seccomp(2))."""
    return re.search(r"^Seccomp:\s*2$", STATUS.read_text(), re.MULTILINE) is not None


def enter() -> Rung:
    """What this process has. A process without rights does not return if it can be given some: its
    program begins again, in a user namespace. Raises RightsError."""
    rung = held()
    if rung is not None:
        return rung
    if (refused := refusal()) is not None:
        raise RightsError(needed(refused))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp(ENTER[0], [*ENTER, "--", sys.executable, *sys.orig_argv[1:]])


def needed(refused: Refusal) -> str:
    """What a user is told who may make no Linux hosts."""
    remedies = dict.fromkeys([*(["start it with sudo"] if os.geteuid() else []), refused.remedy])
    return (
        "Linux hosts need root or a user namespace, and users get none here "
        f"({refused.reason}): {', or '.join(remedies)}."
    )


def shell(process: int) -> str:
    """What opens a shell in another terminal beside a process in a host."""
    if held() == "root":
        return f"sudo mnexec -a {process} bash"
    return f"nsenter --target {process} --user --preserve-credentials --net --mount bash"
