"""`p4lab trace`: the way of one packet."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from p4lab.cli.options import Bmv2Compat, Json, Undefined
from p4lab.cli.run_verb import Bsl, Down, Folder, Lab, Seed, TopologyName, plan_or_fail, reporting

StreamNumber = Annotated[
    int, typer.Option("--stream", min=1, help="Follow the first packet of this stream.")
]


def trace(
    lab: Lab,
    folder: Folder = None,
    topology: TopologyName = None,
    bsl: Bsl = None,
    stream: StreamNumber = 1,
    seed: Seed = 1,
    down: Down = None,
    bmv2_compat: Bmv2Compat = False,
    undefined: Undefined = None,
    as_json: Json = False,
) -> None:
    """Follow one packet through every switch: states, tables, changed fields, copies, drops.

    The JSON object is the first hop: router, port, source, time (ns), data (hexadecimal), packets
    (the packet and all the switch made of it), next (the hop that each sent packet became, by
    packet id) and delivered (the hosts reached, by packet id).
    """
    from rich.console import Console

    from p4lab.cli.errors import fail
    from p4lab.tracing import render
    from p4lab.tracing import trace as follow

    plan = plan_or_fail(lab, folder, topology, bsl, 1, seed, bmv2_compat, undefined, down)
    if stream > len(plan.streams):
        fail(f"the lab has {len(plan.streams)} streams, so there is no stream {stream}.")
    with reporting() as say:
        first = follow(plan, stream, say)
    if as_json:
        typer.echo(json.dumps(first.to_json(), indent=2))
    else:
        Console().print(render(first))
