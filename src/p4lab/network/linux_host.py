"""What makes a namespace of Mininet a host of a topology: addresses, routes, and what the kernel is
not to do by itself.

Nobody here answers ARP or neighbour solicitations: whom a host may want to send to is behind its
router. IPv6 is off unless it is asked for, since a kernel speaks it unasked: of routers, of
addresses that may be taken, of groups of its own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from p4lab.model.attachment import Program
from p4lab.model.run import Address
from p4lab.network.base import NetworkError
from p4lab.topology import Host

Command = Sequence[str]
"""A program with its arguments"""

PATIENCE = 20  # seconds for one command

# What is said in all of /proc/sys/net/ipv6/conf before there is an interface: nothing is asked of
# routers, and addresses are used at once, the one on the link being made of the MAC address.
_KNOBS = {
    "disable_ipv6": 0,
    "accept_ra": 0,
    "accept_dad": 0,
    "addr_gen_mode": 0,
}


@dataclass(frozen=True)
class LinuxHosts:
    """What the hosts of a plan need where they are real ones."""

    ipv6: bool = False
    """Whether they speak IPv6"""
    commands: Mapping[str, Sequence[Command]] = field(default_factory=dict)
    """What is carried out in a host, by its name, once it has its addresses"""
    programs: Mapping[str, Program] = field(default_factory=dict)
    """What attaches hosts that have no address by themselves"""
    takes_all: bool = False
    """Whether probes to any MAC address count as received"""


def prepare(host: Host, shell: Any, linux: LinuxHosts) -> None:
    """Before the host has its interface. Raises NetworkError."""
    if not linux.ipv6:
        return
    knobs = {**_KNOBS, "force_mld_version": 1 if host.number % 2 == 0 else 0}
    settings = (
        f"echo {value} > /proc/sys/net/ipv6/conf/{scope}/{name}"
        for scope in ("default", "all")
        for name, value in knobs.items()
    )
    carry_out(host, shell, ["sh", "-c", " && ".join(settings)])


def configure(host: Host, shell: Any, peers: Sequence[Host], linux: LinuxHosts) -> None:
    """Once it has it; `peers` are the hosts of its router. Raises NetworkError."""
    interface = host.interface
    if host.name in linux.programs:  # its addresses come with its session
        shell.cmd(f"echo 1 > /proc/sys/net/ipv6/conf/{interface}/disable_ipv6")
        return
    version = 2 if host.number % 2 == 0 else 0  # 0 is the kernel's choice: version 3
    others = [peer for peer in peers if peer != host]
    shell.cmd(
        f"ip addr add {host.ip}/24 dev {interface}; ip route add default via {host.gateway}; "
        f"echo {version} > /proc/sys/net/ipv4/conf/{interface}/force_igmp_version"
    )
    neighbours: list[Address] = [host.gateway, *(peer.ip for peer in others)]
    if linux.ipv6:
        carry_out(host, shell, ["ip", "addr", "add", f"{host.ip6}/64", "dev", interface, "nodad"])
        route = ["ip", "-6", "route", "add", "default", "via", str(host.gateway6)]
        carry_out(host, shell, [*route, "dev", interface])
        neighbours += [host.gateway6, *(peer.ip6 for peer in others)]
    else:
        shell.cmd("echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6")
    mac = f"{host.gateway_mac:012x}"
    lladdr = ":".join(mac[at : at + 2] for at in range(0, 12, 2))
    for address in neighbours:
        shell.cmd(f"ip neigh replace {address} lladdr {lladdr} nud permanent dev {interface}")
    for command in linux.commands.get(host.name, ()):
        carry_out(host, shell, command)


def carry_out(host: Host, shell: Any, command: Command) -> None:
    """Carries out a command in a host. Raises NetworkError with what it says if it fails."""
    shown = " ".join(command)
    process = shell.popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, error = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise NetworkError(
            f"host {host.name}: `{shown}` did not end within {PATIENCE} s."
        ) from None
    if process.returncode != 0:
        words = " ".join(error.split()) or f"status {process.returncode}"
        raise NetworkError(f"host {host.name}: `{shown}` fails: {words}")
