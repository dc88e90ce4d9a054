"""Networks by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from p4lab import _engine
from p4lab.model.attachment import Attachment
from p4lab.model.layout import CPU_PORT
from p4lab.network.base import ENGINES, NAMES, Network, NetworkError
from p4lab.network.linux_host import LinuxHosts
from p4lab.network.mininet import MininetNetwork
from p4lab.network.switches import EngineSwitches
from p4lab.network.virtual import VirtualNetwork
from p4lab.topology import Topology


def open_network(
    name: str,
    topology: Topology,
    program: _engine.Program,
    *,
    cpu_port: int = CPU_PORT,
    seed: int = 0,
    pcap: Path | None = None,
    engine: str = "interpreter",
    hosts: LinuxHosts | None = None,
    attachments: Mapping[str, Attachment] | None = None,
    takes_all: bool = False,
) -> Network:
    """The network called `name` with the engine's switches. With `pcap`, each link's frames go to
    a file in that folder; `hosts` says what real hosts need, `attachments` how simulated
    ones dial in and `takes_all` whether those take frames to any MAC address.

    Raises NetworkError, ValueError if there is no native code for the program.
    """
    if engine not in ENGINES:
        raise NetworkError(f"there is no engine {engine!r}; choose from {', '.join(ENGINES)}.")
    runs = ENGINES[engine]
    if name == "virtual":
        return VirtualNetwork(
            topology,
            program,
            cpu_port=cpu_port,
            seed=seed,
            pcap=pcap,
            engine=runs,
            attachments=attachments,
            takes_all=takes_all,
        )
    if name == "linux":
        # Faster ways pass the captures by.
        backend = "socket" if pcap else None
        switches = EngineSwitches(
            program, cpu_port=cpu_port, seed=seed, backend=backend, engine=runs
        )
        return MininetNetwork(topology, switches, pcap=pcap, hosts=hosts)
    raise NetworkError(f"there is no network called {name!r}; choose from {' and '.join(NAMES)}.")
