"""`p4lab run`: a lab from beginning to end, and the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import BAD_INPUT, VERDICT_NO, fail
from p4lab.cli.options import Json

Lab = Annotated[str, typer.Argument(metavar="LAB", help="The lab, such as 01-bier.")]
NetworkName = Annotated[
    str,
    typer.Option("--net", metavar="virtual|mininet", help="In virtual time, or on Linux hosts."),
]
TopologyName = Annotated[
    str | None,
    typer.Option("--topology", metavar="NAME", help="A topology of topologies/, or a .toml file."),
]
Bsl = Annotated[
    int | None, typer.Option("--bsl", metavar="64|128|256", help="Bits of a BitString.")
]
Packets = Annotated[int | None, typer.Option("--packets", help="Packets of each stream.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=(1 << 32) - 1, help="For all that is drawn.")
]
Pcap = Annotated[
    Path | None, typer.Option("--pcap", metavar="DIR", help="Write one pcapng file per link here.")
]


def run(
    lab: Lab,
    net: NetworkName = "virtual",
    topology: TopologyName = None,
    bsl: Bsl = None,
    packets: Packets = None,
    seed: Seed = 1,
    pcap: Pcap = None,
    as_json: Json = False,
) -> None:
    """Run a lab and print who got what; exits 0 only if all is right.

    The JSON object has ok, lab, topology, network, bsl, seed, hosts (host, group, subscribed, sent,
    received, duplicates, missing, unwanted, ok), links (source, target, copies, ideal, ok) and
    problems.
    """
    from rich.console import Console

    from p4lab.control.bier import BierNumberError
    from p4lab.engine import ProgramError
    from p4lab.lab.plan import LabError, load_plan
    from p4lab.lab.report import render
    from p4lab.lab.runner import run as run_plan
    from p4lab.network import NetworkError
    from p4lab.topology import TopologyError

    try:
        plan = load_plan(lab, topology=topology, bsl=bsl, packets=packets, seed=seed)
        with Console(stderr=True).status("starting") as status:
            report = run_plan(plan, net, pcap=pcap, say=lambda what: status.update(f"{what} ..."))
    except (LabError, NetworkError, BierNumberError) as error:
        fail(str(error))
    except (TopologyError, ProgramError) as error:  # these name files and lines themselves
        typer.echo(str(error).rstrip(), err=True)
        raise typer.Exit(BAD_INPUT) from error
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=2))
    else:
        Console().print(render(report))
    if not report.ok:
        raise typer.Exit(VERDICT_NO)
