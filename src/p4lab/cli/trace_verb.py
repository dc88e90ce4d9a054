"""`p4lab trace`: the way of one packet."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from p4lab import registry
from p4lab.cli.errors import fail
from p4lab.cli.options import Bmv2Compat, Json, Undefined
from p4lab.cli.run_verb import Down, Folder, Lab, Seed, TopologyName
from p4lab.cli.running import plan_or_fail, reporting, tell_of_given
from p4lab.cli.settings import SystemOptions
from p4lab.cli.verbs import registered
from p4lab.engine import load_program
from p4lab.tracing import Writer
from p4lab.tracing import trace as follow

StreamNumber = Annotated[
    int, typer.Option("--stream", min=1, help="Follow the first packet of this stream.")
]


@registered(cls=SystemOptions)
def trace(
    ctx: typer.Context,
    lab: Lab,
    folder: Folder = None,
    topology: TopologyName = None,
    stream: StreamNumber = 1,
    seed: Seed = 1,
    down: Down = None,
    bmv2_compat: Bmv2Compat = False,
    undefined: Undefined = None,
    as_json: Json = False,
) -> None:
    """Follow one packet through every switch: states, tables, changed fields, copies, drops.

    A lab's system has options of its own: p4lab trace LAB --help lists them below these.

    The JSON object is the first hop: router, port, source, time (ns), data (hexadecimal), packets
    (the packet and all the switch made of it), next (the hop that each sent packet became, by
    packet id) and delivered (the hosts reached, by packet id).
    """
    from rich.console import Console  # heavy: rich

    plan = plan_or_fail(
        ctx,
        lab,
        folder,
        topology=topology,
        packets=1,
        seed=seed,
        bmv2_compat=bmv2_compat,
        undefined=undefined,
        down=down,
    )
    if stream > len(plan.streams):
        fail(f"the lab has {len(plan.streams)} streams, so there is no stream {stream}.")
    with reporting() as say:
        say(f"compiling {plan.program.name}")
        program = load_program(
            plan.program, plan.defines, bmv2_compat=plan.bmv2_compat, undefined=plan.undefined
        )
        first = follow(plan, stream, say, program)
    if as_json:
        typer.echo(json.dumps(first.to_json(), indent=2))
    else:
        notation = registry.find(plan.system).notation_for(plan)
        Console(emoji=False).print(Writer(notation, program.summary).tree(first))
    tell_of_given(lab, folder)
