"""The ports of a switch as the Tofino model gets them: a ports.json, and the veth pairs that it
means."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from p4lab.p4runtime.command_line import MAX_PORT

MTU = 10240
"""As the SDE's veth_setup.sh sets it"""
_LISTS = ("PortToVeth", "PortToIf")
_WITHOUT = {
    "PortConn": "connect the ports' interfaces with a bridge instead",
    "PortToNM": "give the ports interfaces, with PortToVeth or PortToIf, instead",
}


class PortsError(Exception):
    """What is wrong with a ports.json, in one sentence."""


@dataclass(frozen=True)
class Port:
    """A port, the switch's interface, and the other end of the pair, if it is one of veths."""

    number: int
    near: str
    far: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """All that the file says of the port"""


USUAL = (
    *(Port(number, f"veth{2 * number}", f"veth{2 * number + 1}") for number in range(17)),
    Port(64, "veth250", "veth251"),
)
"""The ports that run_tofino_model.sh and run_p4_tests.sh have without a file"""


def read_ports(path: Path) -> tuple[Port, ...]:
    """The ports of a file as run_tofino_model.sh takes it with -f. Raises PortsError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PortsError(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(data, dict):
        raise PortsError(f'{path}: it is to be an object, {{"PortToVeth": [...]}}.')
    for name, remedy in _WITHOUT.items():
        if data.get(name):
            raise PortsError(f"{path}: this switch has no {name}; {remedy}.")
    entries = [(name, entry) for name in _LISTS for entry in _list(path, data, name)]
    ports = tuple(
        _port(f"{path}: {name}[{number}]", name, entry)
        for number, (name, entry) in enumerate(entries)
    )
    if not ports:
        raise PortsError(f"{path}: PortToVeth lists no port.")
    for what in ("number", "near"):
        seen = [getattr(port, what) for port in ports]
        if twice := [one for one in seen if seen.count(one) > 1]:
            raise PortsError(f"{path}: {twice[0]} is there twice.")
    return ports


def _list(path: Path, data: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = data.get(name, [])
    if not isinstance(found, list):
        raise PortsError(f"{path}: {name} is to be a list.")
    return found


def _port(place: str, kind: str, entry: Any) -> Port:
    if not isinstance(entry, dict):
        raise PortsError(f"{place} is to be an object.")
    number = _number(place, entry, "device_port", MAX_PORT + 1)
    if kind == "PortToIf":
        name = entry.get("if")
        if not isinstance(name, str) or not name:
            raise PortsError(f'{place}: "if" is to be the name of an interface.')
        return Port(number, name, settings=entry)
    near, far = (_number(place, entry, key, 10**6) for key in ("veth1", "veth2"))
    return Port(number, f"veth{near}", f"veth{far}", entry)


def _number(place: str, entry: Mapping[str, Any], key: str, below: int) -> int:
    found = entry.get(key)
    if type(found) is not int or not 0 <= found < below:
        raise PortsError(f'{place}: "{key}" is to be a number from 0 to {below - 1}.')
    return found


@contextmanager
def veths(ports: Sequence[Port]) -> Iterator[None]:
    """Makes the pairs that are not there yet, up and silent, and takes these away again. Raises
    PortsError if the system makes none."""
    pairs = [(port.near, port.far) for port in ports if port.far and not _exists(port.near)]
    # The kernel's own IPv6 would send packets into every port.
    _ip([f"link add {near} mtu {MTU} type veth peer name {far} mtu {MTU}" for near, far in pairs])
    try:
        _ip(f"link set {name} addrgenmode none up" for pair in pairs for name in pair)
        yield
    finally:
        _ip(f"link delete {near}" for near, _ in pairs if _exists(near))


def _exists(interface: str) -> bool:
    try:
        socket.if_nametoindex(interface)
    except OSError:
        return False
    return True


def _ip(lines: Iterable[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        ["ip", "-batch", "-"], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        told = done.stderr.strip().splitlines()
        raise PortsError(f"the system makes no veths: {told[0] if told else 'ip failed'}.")
