"""An exercise folder in the form of p4-utils, which nsg-ethz/p4-learning uses.

`p4app.json` has the program (`p4_src`) and a topology: hosts, switches (`cli_input`, `cpu_port`,
`p4_src`) and links ([node, node, {bw, delay, weight, port1, port2}], bw in Mbit/s, delay in ms).
Addresses follow from its `assignment_strategy`:

- l2: host hN has 10.0.0.N/16, all hosts in one network;
- mixed: 10.S.S.N/24 as 10.<high byte>.<low byte>.N of its switch's number S, gateway .254;
- l3: 10.S.N.2/24 at switch number S, gateway 10.S.N.1.

Ports of switches count from 1 in the natural order of the links as they are written.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

from p4lab.exercise.files import (
    Cable,
    End,
    Exercise,
    ExerciseError,
    Host,
    Switch,
    natural,
    read_json,
)
from p4lab.topology.units import delay_nanoseconds

FILES = "p4app*.json"
GRAPH = "topology.json"
"""What controllers load"""
FIRST_THRIFT_PORT = 9090
FIRST_P4RUNTIME_PORT = 9559
STRATEGIES = ("l2", "mixed", "l3")
MOST_HOSTS = 253
CPU = "sw-cpu"
"""The far end of CPU ports, as p4-utils sorts it among the links"""


@dataclass(frozen=True)
class _Link:
    """Two nodes as they are written, their ports (0 at hosts), and what the file says of it."""

    a: str
    b: str
    ports: tuple[int, int]
    said: Mapping[str, Any]


@dataclass(frozen=True)
class _Address:
    """Of a host, with prefix length, and its gateway with the MAC that answers for it."""

    ip: str
    gateway: str | None

    @property
    def bare(self) -> str:
        return self.ip.split("/")[0]


def files_of(folder: Path) -> list[Path]:
    """The files of a folder that describe a network in this form."""
    return sorted(folder.glob(FILES))


def read_p4app(file: Path, program: Path | None = None) -> Exercise:
    """Reads a file; its switches run `program` if there is one. Raises ExerciseError."""
    folder = file.parent
    data = read_json(file)
    topology = data.get("topology")
    if not isinstance(topology, dict):
        raise ExerciseError(f"{file}: there is no topology.")
    hosts, switches = (_nodes(file, topology, name) for name in ("hosts", "switches"))
    links = _links(file, topology, set(hosts), switches)
    strategy = topology.get("assignment_strategy")
    if strategy not in STRATEGIES:
        raise ExerciseError(
            f"{file}: assignment_strategy is one of {', '.join(STRATEGIES)}, not {strategy!r}."
        )
    numbers = {name: number for number, name in enumerate(sorted(switches, key=natural), 1)}
    addresses = _addresses(file, strategy, links, set(hosts), numbers)
    arps = bool(topology.get("default", {}).get("auto_arp_tables", True))
    made = tuple(
        _switch(folder, file, data, name, item, numbers[name], _cpu_port(links, name), program)
        for name, item in sorted(switches.items(), key=lambda each: natural(each[0]))
    )
    return Exercise(
        folder,
        file,
        tuple(_host(name, addresses, arps) for name in sorted(hosts, key=natural)),
        made,
        tuple(_cable(file, link, set(hosts)) for link in links if CPU not in (link.a, link.b)),
        inside=True,
        graph=_graph(folder, data, made, links, addresses, numbers),
    )


def _nodes(file: Path, topology: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    part = topology.get(name)
    if not isinstance(part, dict) or not all(isinstance(item, dict) for item in part.values()):
        raise ExerciseError(f"{file}: topology.{name} must be an object of objects.")
    return part


def _links(
    file: Path, topology: Mapping[str, Any], hosts: set[str], switches: Mapping[str, Any]
) -> list[_Link]:
    """In natural order, with ports."""
    default = topology.get("default", {})
    written = topology.get("links")
    if not isinstance(written, list) or not isinstance(default, dict):
        raise ExerciseError(f"{file}: topology.links must be a list of [node, node].")
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    for item in written:
        if not isinstance(item, list) or not 2 <= len(item) <= 3:
            raise ExerciseError(f"{file}: a link is [node, node, {{...}}], not {item}.")
        first, second = str(item[0]), str(item[1])
        if unknown := {first, second} - hosts - set(switches):
            raise ExerciseError(f"{file}: there is no node {sorted(unknown)[0]}.")
        if {first, second} <= hosts or first == second:
            raise ExerciseError(f"{file}: the link {item[:2]} does not join two devices.")
        said = {**default, **(item[2] if len(item) > 2 else {})}
        if {(first, second), (second, first)} & set(pairs):
            raise ExerciseError(f"{file}: {first} and {second} are joined twice.")
        pairs[first, second] = said
    for name, item in switches.items():
        if item.get("cpu_port"):
            pairs[name, CPU] = {}
    return _numbered(pairs, hosts)


def _numbered(pairs: Mapping[tuple[str, str], dict[str, Any]], hosts: set[str]) -> list[_Link]:
    """Gives each end of a switch the lowest port that is free."""
    taken: dict[str, set[int]] = defaultdict(set)
    for pair, said in pairs.items():
        for node, key in zip(pair, ("port1", "port2"), strict=True):
            if key in said:
                taken[node].add(int(said[key]))

    def port(node: str, said: Mapping[str, Any], key: str) -> int:
        if node in hosts or node == CPU:
            return 0
        if key in said:
            return int(said[key])
        free = next(number for number in range(1, 512) if number not in taken[node])
        taken[node].add(free)
        return free

    ordered = sorted(pairs.items(), key=lambda each: [natural(name) for name in each[0]])
    return [
        _Link(a, b, (port(a, said, "port1"), port(b, said, "port2")), said)
        for (a, b), said in ordered
    ]


def _addresses(
    file: Path, strategy: str, links: list[_Link], hosts: set[str], numbers: Mapping[str, int]
) -> dict[str, _Address]:
    found: dict[str, _Address] = {}
    for link in links:
        if not {link.a, link.b} & hosts:
            continue
        host, switch = (link.a, link.b) if link.a in hosts else (link.b, link.a)
        digits = host[1:]
        if host[:1] != "h" or not digits.isdigit() or not 0 < int(digits) <= MOST_HOSTS:
            raise ExerciseError(f"{file}: {host}: hosts are called h1 to h{MOST_HOSTS} here.")
        if host in found:
            raise ExerciseError(f"{file}: {host} has two links.")
        own, near = int(digits), numbers[switch]
        found[host] = {
            "l2": _Address(f"10.0.0.{own}/16", None),
            "mixed": _Address(f"10.0.{near}.{own}/24", f"10.0.{near}.254"),
            "l3": _Address(f"10.{near}.{own}.2/24", f"10.{near}.{own}.1"),
        }[strategy]
    if lonely := sorted(hosts - set(found)):
        raise ExerciseError(f"{file}: {lonely[0]} has no link.")
    return found


def _mac(address: str, *, switch: bool = False) -> str:
    """The host's MAC, or that of the switch's port next to it."""
    return f"00:{int(switch):02x}:" + ":".join(f"{int(part):02x}" for part in address.split("."))


def _between(near: int, far: int) -> str:
    """The MAC of a switch's port towards another switch; p4-utils rolls dice."""
    return f"02:00:00:00:{near:02x}:{far:02x}"


def _host(name: str, addresses: Mapping[str, _Address], arps: bool) -> Host:
    own = addresses[name]
    interface = f"{name}-eth0"
    commands = []
    if own.gateway is not None:
        gateway_mac = _mac(own.bare, switch=True)
        commands.append(f"ip neigh replace {own.gateway} lladdr {gateway_mac} dev {interface}")
        commands.append(f"ip route add default via {own.gateway}")
    network = ip_interface(own.ip).network
    for other, address in addresses.items():
        if arps and other != name and ip_interface(address.ip).network == network:
            mac = _mac(address.bare)
            commands.append(f"ip neigh replace {address.bare} lladdr {mac} dev {interface}")
    return Host(name, own.ip, _mac(own.bare), tuple(commands), interface)


def _cpu_port(links: list[_Link], switch: str) -> int | None:
    return next((link.ports[0] for link in links if (link.a, link.b) == (switch, CPU)), None)


def _switch(
    folder: Path,
    file: Path,
    data: Mapping[str, Any],
    name: str,
    item: Mapping[str, Any],
    number: int,
    cpu: int | None,
    program: Path | None,
) -> Switch:
    written = item.get("p4_src", data.get("p4_src"))
    if program is None and not isinstance(written, str):
        raise ExerciseError(f"{file}: switches.{name} has no p4_src.")
    source = program or folder / str(written)
    commands = folder / str(item["cli_input"]) if "cli_input" in item else None
    for needed in (source, commands):
        if needed is not None and not needed.is_file():
            raise ExerciseError(f"{file}: switches.{name}: there is no {needed}.")
    return Switch(
        name,
        source,
        None,
        device=number,
        commands=commands,
        thrift_port=FIRST_THRIFT_PORT + number - 1,
        p4runtime_port=FIRST_P4RUNTIME_PORT + number - 1,
        cpu_interface=cpu,
    )


def _cable(file: Path, link: _Link, hosts: set[str]) -> Cable:
    ends = [End(link.a, link.ports[0]), End(link.b, link.ports[1])]
    if link.b in hosts:
        ends.reverse()
    rate, delay = link.said.get("bw"), link.said.get("delay", 0)
    try:
        nanoseconds = delay_nanoseconds(delay if isinstance(delay, str) else f"{delay} ms")
        bits = None if rate is None else int(float(rate) * 1_000_000)
    except (TypeError, ValueError) as error:
        raise ExerciseError(f"{file}: the link {link.a} {link.b}: {error}") from error
    return Cable(ends[0], ends[1], nanoseconds, bits)


def _graph(
    folder: Path,
    data: Mapping[str, Any],
    switches: tuple[Switch, ...],
    links: list[_Link],
    addresses: Mapping[str, _Address],
    numbers: Mapping[str, int],
) -> str:
    """The `topology.json` that controllers load: nodes and links as networkx writes a graph."""
    nodes: list[dict[str, Any]] = [
        {
            "id": name,
            "isHost": True,
            "ip": address.ip,
            "mac": _mac(address.bare),
            **({"defaultRoute": f"via {address.gateway}"} if address.gateway else {}),
        }
        for name, address in addresses.items()
    ]
    with_p4runtime = "P4RuntimeSwitch" in str(data.get("switch_node", ""))
    for switch in switches:
        built = switch.program.with_suffix("")
        nodes.append(
            {
                "id": switch.name,
                "isSwitch": True,
                "isP4Switch": True,
                "device_id": switch.device,
                "thrift_ip": "127.0.0.1",
                "thrift_port": switch.thrift_port,
                "cpu_port": switch.cpu_interface is not None,
                "p4_src": str(switch.program),
                "json_path": f"{built}.json",
            }
        )
        if with_p4runtime:
            nodes[-1] |= {
                "isP4RuntimeSwitch": True,
                "grpc_ip": "127.0.0.1",
                "grpc_port": switch.p4runtime_port,
                "p4rt_path": f"{built}_p4rt.txt",
            }
        if switch.cpu_interface is not None:
            nodes[-1] |= {
                "cpu_port_num": switch.cpu_interface,
                "cpu_intf": f"{switch.name}-cpu-eth0",
                "cpu_ctl_intf": f"{switch.name}-cpu-eth1",
            }
    edges = [_edge(link, addresses, numbers) for link in links if link.b != CPU]
    graph = {"directed": False, "multigraph": False, "graph": {}, "nodes": nodes}
    return json.dumps({**graph, "links": edges, "edges": edges}, indent=1)


def _edge(
    link: _Link, addresses: Mapping[str, _Address], numbers: Mapping[str, int]
) -> dict[str, Any]:
    edge: dict[str, Any] = {
        "source": link.a,
        "target": link.b,
        "node1": link.a,
        "node2": link.b,
        "weight": link.said.get("weight", 1),
        **{key: link.said[key] for key in ("bw", "delay") if key in link.said},
    }
    for end, (node, far) in enumerate(((link.a, link.b), (link.b, link.a)), 1):
        edge[f"port{end}"] = link.ports[end - 1]
        edge[f"intfName{end}"] = f"{node}-eth{link.ports[end - 1]}"
        if node in addresses:
            edge[f"ip{end}"] = addresses[node].ip
            edge[f"addr{end}"] = _mac(addresses[node].bare)
        elif far in addresses:
            edge[f"addr{end}"] = _mac(addresses[far].bare, switch=True)
            if addresses[far].gateway:
                edge[f"ip{end}"] = f"{addresses[far].gateway}/24"
        else:
            edge[f"addr{end}"] = _between(numbers[node], numbers[far])
            edge[f"ip{end}"] = f"20.{numbers[link.a]}.{numbers[link.b]}.{end}/24"
    return edge
