"""What the kernel lets this user do, tried in a network namespace that goes at once."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess

from p4lab.doctor import Finding

AF_XDP = 44
ROOT_FIX = "Only for --net mininet: start with sudo."


def privileges() -> Finding:
    """Privileges."""
    if os.geteuid() == 0:
        return Finding("privileges", "ok", "root: real Linux hosts can be made")
    return Finding("privileges", "missing", "no root: virtual time only", ROOT_FIX)


def veth() -> Finding:
    """Virtual Ethernet."""
    said = _in_namespace("true")
    if said is None:
        return Finding("veth", "ok", "pairs can be made")
    return Finding("veth", "missing", said, ROOT_FIX)


def offloads() -> Finding:
    """Offload settings."""
    if shutil.which("ethtool") is None:
        return Finding("offloads", "missing", "no ethtool", "sudo apt-get install ethtool")
    said = _in_namespace("ethtool -K p4lab0 tx off rx off sg off tso off gso off gro off")
    if said is None:
        return Finding("offloads", "ok", "can be switched off on veth (p4lab does so by itself)")
    return Finding("offloads", "missing", said, ROOT_FIX)


def netem() -> Finding:
    """netem."""
    said = _in_namespace("tc qdisc add dev p4lab0 root netem delay 1ms")
    if said is None:
        return Finding("netem", "ok", "there (p4lab's own links do not need it)")
    fix = "Nothing to do: p4lab's links make delay and loss themselves."
    return Finding("netem", "missing", said, fix)


def af_xdp() -> Finding:
    """AF_XDP."""
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW, 0).close()
    except PermissionError:
        return Finding("AF_XDP", "missing", "not for this user", ROOT_FIX)
    except OSError as error:
        fix = "Nothing to do: p4lab falls back to packet sockets, which are slower."
        return Finding("AF_XDP", "missing", error.strerror or str(error), fix)
    return Finding("AF_XDP", "ok", "sockets can be opened")


def _in_namespace(command: str) -> str | None:
    """Runs a command beside a veth pair p4lab0, p4lab1; None, or the first line of what failed."""
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    script = f"ip link add p4lab0 type veth peer name p4lab1 && {command}"
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    try:
        done = subprocess.run(
            [*unshare, "sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=10,
            env={**os.environ, "PATH": path},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    return (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[0]


PROBES = (privileges, veth, offloads, netem, af_xdp)
