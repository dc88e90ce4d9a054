"""`p4lab gateway`: the broadband gateway's control plane as a process of its own."""

from __future__ import annotations

from enum import Enum
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail, fail_in_file
from p4lab.cli.options import existing_file
from p4lab.model.control import NumberError
from p4lab.systems.bng.api import bandwidth
from p4lab.systems.bng.entries import Bandwidth
from p4lab.systems.bng.options import Options
from p4lab.systems.bng.provision import only_router
from p4lab.systems.bng.settings import GatewaySettings
from p4lab.systems.bng.store import StoreError
from p4lab.topology import Topology, TopologyError
from p4lab.topology.units import rate_bits_per_second

Where = Annotated[str, typer.Argument(metavar="TOPOLOGY", help="A topology with one router.")]
Switch = Annotated[
    str, typer.Option("--switch", metavar="HOST:PORT", help="Where the switch's P4Runtime is.")
]
Device = Annotated[int, typer.Option("--device-id", min=0, help="Its device id.")]
Config = Annotated[
    Path | None,
    typer.Option(
        "--program",
        metavar="JSON",
        help="p4c's JSON for a switch without a program; its P4Info is JSON's name with "
        ".p4info.txtpb.",
    ),
]
Radius = Annotated[
    str,
    typer.Option(
        "--radius", metavar="HOST[:PORT[:PORT]]", help="The RADIUS server: access, accounting."
    ),
]
Secret = Annotated[
    Path, typer.Option("--secret", metavar="FILE", help="Holds what is shared with the server.")
]
Changes = Annotated[
    str, typer.Option("--coa", metavar="HOST:PORT", help="Where CoA and Disconnect come in.")
]
State = Annotated[
    Path, typer.Option("--state", metavar="FILE", help="Sessions and accounting, on disk.")
]
Pool = Annotated[
    str | None,
    typer.Option("--pool", metavar="PREFIX", help="IPv4 for whom the server names no address."),
]
Classes = Annotated[
    list[str] | None,
    typer.Option(
        "--class",
        metavar="NAME:DOWN:UP",
        help='A class that Filter-Id may name: "gold:100 Mbit/s:20 Mbit/s".',
    ),
]
Core = Annotated[str, typer.Option("--core", help='Hosts that are servers: "web tv".')]
Kinds = Enum("Kinds", {"mixed": "mixed", "labels": "labels", "tags": "tags"})
MIXED = Kinds("mixed")
Access = Annotated[
    Kinds, typer.Option("--access", help="In front of frames: two labels, or two VLAN tags.")
]


def gateway(
    topology: Where,
    secret: Secret,
    switch: Switch = "127.0.0.1:9559",
    device_id: Device = 0,
    program: Config = None,
    radius: Radius = "127.0.0.1",
    coa: Changes = "127.0.0.1:3799",
    state: State = Path("gateway.db"),
    pool: Pool = None,
    classes: Classes = None,
    core: Core = "web",
    access: Access = MIXED,
) -> None:
    """Run the broadband gateway's control plane beside a switch with p4/bng (docs/gateway.md).

    Lines, ports and servers are those of TOPOLOGY. Sessions outlive the process: the next one with
    the same state goes on with them, after a kill -9, too. Ctrl-C or SIGTERM ends it.
    """
    words = existing_file(secret, "file with a secret").read_bytes().strip()
    if not words:
        fail(f"{secret}: there is no secret in it.")
    try:
        shape = Topology.load(topology)
    except TopologyError as error:
        fail_in_file(error)
    try:
        server = _radius(radius)
        coa_at = _host_port(coa, "--coa")
        options = Options(address=only_router(shape).address, hosts=_pool(pool))
        settings = _settings(shape, core, access)
        sold = [_class(text) for text in classes or ()]
    except (NumberError, ValueError) as error:
        fail(str(error))

    from p4lab.systems.bng.serve import Setup, serve  # heavy: finsy and grpc

    setup = Setup(
        topology=shape,
        settings=settings,
        options=options,
        classes=sold,
        state=state,
        switch=switch,
        device_id=device_id,
        program=program,
        radius=server,
        secret=words,
        coa=coa_at,
    )
    try:
        serve(setup, typer.echo)
    except (ValueError, StoreError, OSError) as error:
        fail(str(error))


def _settings(topology: Topology, core: str, access: Kinds) -> GatewaySettings:
    settings = GatewaySettings(core=core, access=access.value)
    names = {host.name for host in topology.hosts}
    for name in settings.core_hosts:
        if name not in names:
            raise ValueError(f"--core {name}: there is no such host in {topology.name}.")
    return settings


def _pool(text: str | None) -> IPv4Network | None:
    try:
        return None if text is None else IPv4Network(text)
    except ValueError as error:
        raise ValueError(f"--pool: {error}; write a prefix such as 100.64.0.0/16.") from None


def _host_port(text: str, option: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError(f"{option} {text}: write HOST:PORT.")
    return host, int(port)


def _radius(text: str) -> tuple[str, int, int]:
    """Host, and the ports for access and accounting (RFC 2865, RFC 2866)."""
    host, *ports = text.split(":")
    if len(ports) > 2 or not all(port.isdecimal() for port in ports):
        raise ValueError(f"--radius {text}: write HOST, HOST:PORT or HOST:PORT:PORT.")
    first = int(ports[0]) if ports else 1812
    return host, first, int(ports[1]) if len(ports) > 1 else first + 1


def _class(text: str) -> Bandwidth:
    name, *rates = text.split(":")
    if len(rates) != 2:
        raise ValueError(f"--class {text}: write NAME:DOWN:UP, such as gold:100 Mbit/s:20 Mbit/s.")
    down, up = map(rate_bits_per_second, rates)
    return bandwidth(name, down, up)
