"""What the kernel lets this user do, tried in a network namespace that goes at once."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
from pathlib import Path

from p4lab.doctor.finding import Finding

AF_XDP = 44
ROOT_FIX = "Only for --net linux: start with sudo."
SLOWER = "Nothing to do: p4lab falls back to packet sockets, which are slower."
SYSTEM_FOLDERS = ":/usr/sbin:/sbin"  # of ip, tc and ethtool; users' PATHs often lack them
INTERFACES = Path("/sys/class/net")
# What merges or splits frames on their way, by the names that ethtool prints and takes.
MERGING = {
    "tcp-segmentation-offload": "tso",
    "generic-segmentation-offload": "gso",
    "generic-receive-offload": "gro",
    "large-receive-offload": "lro",
}


def veth() -> Finding:
    """veth."""
    said = in_namespace("true")
    if said is None:
        return Finding("veth", "ok", "pairs can be made")
    return Finding("veth", "missing", said, ROOT_FIX)


def offloads() -> Finding:
    """offloads."""
    if _ethtool() is None:
        return Finding("offloads", "missing", "no ethtool", "sudo apt-get install ethtool")
    said = in_namespace("ethtool -K p4lab0 tx off rx off sg off tso off gso off gro off")
    if said is None:
        return Finding("offloads", "ok", "can be switched off on veth (p4lab does so by itself)")
    return Finding("offloads", "missing", said, ROOT_FIX)


def interfaces() -> Finding:
    """interfaces."""
    name = "interfaces"
    ethtool = _ethtool()
    if ethtool is None:
        return Finding(name, "missing", "no ethtool", "sudo apt-get install ethtool")
    merging = {each: _merging(ethtool, each) for each in _interfaces_that_are_up()}
    merging = {each: features for each, features in merging.items() if features}
    if not merging:
        return Finding(name, "ok", "none of them merges frames")
    detail = "; ".join(f"{each} has {' '.join(on)} on" for each, on in merging.items())
    first, on = next(iter(merging.items()))
    switch_off = " ".join(f"{feature} off" for feature in on)
    fix = f"Only where a switch or a capture uses one of them: sudo ethtool -K {first} {switch_off}"
    return Finding(name, "missing", detail, fix)


def _interfaces_that_are_up() -> list[str]:
    if not INTERFACES.is_dir():
        return []
    return sorted(
        each.name
        for each in INTERFACES.iterdir()
        if each.name != "lo" and _read(each / "operstate") == "up"
    )


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # an interface may go while we look
        return ""


def _merging(ethtool: str, interface: str) -> list[str]:
    """The features of an interface that make several frames one, where they are on."""
    try:
        done = subprocess.run(
            [ethtool, "--show-features", interface], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = (line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    return [
        MERGING[feature.strip()]
        for feature, value in rows
        if feature.strip() in MERGING and value.split()[:1] == ["on"]
    ]


def netem() -> Finding:
    """netem."""
    said = in_namespace("tc qdisc add dev p4lab0 root netem delay 1ms")
    if said is None:
        return Finding("netem", "ok", "there (p4lab's own links do not need it)")
    fix = "Nothing to do: p4lab's links make delay and loss themselves."
    return Finding("netem", "missing", said, fix)


def af_xdp() -> Finding:
    """AF_XDP."""
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW, 0).close()
    except PermissionError:
        return Finding("AF_XDP", "missing", "not for this user", SLOWER)
    except OSError as error:
        return Finding("AF_XDP", "missing", error.strerror or str(error), SLOWER)
    return Finding("AF_XDP", "ok", "sockets can be opened")


def _path() -> str:
    return os.environ.get("PATH", os.defpath) + SYSTEM_FOLDERS


def _ethtool() -> str | None:
    return shutil.which("ethtool", path=_path())


def in_namespace(command: str) -> str | None:
    """Runs a command beside a veth pair p4lab0, p4lab1; None, or the first line of what failed.

    The pair is in a namespace that ends with the command, and the kernel takes it away with that.
    """
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    script = f"ip link add p4lab0 type veth peer name p4lab1 && {command}"
    try:
        done = subprocess.run(
            [*unshare, "sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=10,
            env={**os.environ, "PATH": _path(), "LC_ALL": "C"},
        )
    except FileNotFoundError:
        return "no unshare (package util-linux)"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{shlex.join(unshare)}: {error}"
    if done.returncode == 0:
        return None
    return (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[0]


PROBES = (veth, offloads, interfaces, netem, af_xdp)
