"""`p4lab trace`: the way of one packet."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated

import typer

from p4lab import registry
from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.cli.options import Bmv2Compat, Json, Lab, Undefined, labs_only
from p4lab.cli.run_verb import Down, Folder, Seed, TopologyName
from p4lab.cli.running import plan_or_fail, reporting, tell_of_given
from p4lab.cli.settings import SystemOptions
from p4lab.cli.verbs import registered
from p4lab.cli.why import Asked, chosen, fields, told
from p4lab.engine import load_program
from p4lab.plurals import count_of
from p4lab.steps import short
from p4lab.tracing import Hop, Writer
from p4lab.tracing import trace as follow

StreamNumber = Annotated[
    int, typer.Option("--stream", min=1, help="Follow the first packet of this stream.")
]
Routers = Annotated[
    list[str] | None,
    typer.Option("--router", metavar="NAME", help="Only this router; several times for more."),
]
FieldName = Annotated[
    str,
    typer.Option("--field", metavar="FIELD", help="Only steps about this, such as bier.ttl."),
]
Why = Annotated[
    str,
    typer.Option(
        "--why",
        metavar="FIELD[:BIT]",
        help="What set this value: its changes from the last one back, through passes and "
        "hops; up to a --router if there is one. Bit 1 is the lowest.",
    ),
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
    router: Routers = None,
    field: FieldName = "",
    why: Why = "",
    as_json: Json = False,
) -> None:
    """Follow one packet through every switch: states, tables, changed fields, copies, drops. Exits
    1 if it runs in a loop: of that there are only the first passes.

    A lab's system has its own options: p4lab trace LAB --help lists them below these.

    The JSON object is the first hop: router, port, source, time (ns), data (hexadecimal), packets
    (the packet and all the switch made of it), next (the hop that each sent packet became, by
    packet id) and delivered (the hosts reached, by packet id); of a loop, problem (a sentence) and,
    at the hop where it was stopped, left_out (how many packets more it made).
    """
    from rich.console import Console  # heavy: rich

    labs_only(lab)
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
        fail(
            f"stream {stream} does not exist: the lab has {count_of(len(plan.streams), 'stream')}."
        )
    for name in router or ():
        if name not in {one.name for one in plan.topology.routers}:
            known = ", ".join(one.name for one in plan.topology.routers)
            fail(f"{plan.topology.name} has no router {name}; it has {known}.")
    asked = Asked.of(why) if why else None
    if why and asked is None:
        fail(f"--why {why}: write a field, such as bier.bit_string, or one bit: bier.bit_string:3.")
    with reporting() as say:
        say(f"compiling {plan.program.name}")
        program = load_program(
            plan.program, plan.defines, bmv2_compat=plan.bmv2_compat, undefined=plan.undefined
        )
        first = follow(plan, stream, say, program)
    if as_json:
        typer.echo(json.dumps(first.to_json(), indent=2))
    else:
        if first.problem:
            typer.echo(first.problem)
        notation = registry.find(plan.system).notation_for(plan)
        field = field and _occurring(field, first)
        asked = asked and replace(asked, name=_occurring(asked.name, first))
        writer = Writer(notation, program.summary, router or (), field)
        if asked is None:
            Console(emoji=False).print(writer.tree(first))
        elif way := chosen(first, router[0] if router else None, asked):
            headers = {short(header["name"]) for header in program.summary["headers"]}
            typer.echo("\n".join(told(way, asked, writer, headers)))
        else:
            fail(f"the packet did not reach {router[0] if router else 'any router'}.")
    tell_of_given(lab, folder)
    if first.problem:
        raise typer.Exit(VERDICT_NO)


def _occurring(name: str, first: Hop) -> str:
    """The field of a name; without the parameter in front, if it is as the source has it. Ends the
    verb with what there is if a trace has no such field, or several."""
    known = fields(first)
    meant = [one for one in known if one == name or one.endswith(f".{name}")]
    if len(meant) == 1:
        return name
    if not meant and (within := [one for one in known if name.endswith(f".{one}")]):
        return within[0]
    if meant:
        fail(f"{name} may be {' or '.join(meant)}: write one of them.")
    near = [one for one in known if one.rpartition(".")[2] == name.rpartition(".")[2]]
    fail(f"nothing on the packet's path is called {name}; choose from {', '.join(near or known)}.")
