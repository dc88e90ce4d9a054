"""`p4lab plan-ports`: how many recirculation ports a switch needs for a mix of traffic."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from p4lab.cli.errors import fail
from p4lab.cli.options import Json
from p4lab.plurals import count_of
from p4lab.systems.bier_tna.recirculation.mixes import Calculation, Mix, calculate

MixText = Annotated[
    str,
    typer.Option(
        "--mix",
        metavar="HOPS:SHARE,...",
        help="Shares of all packets by number of next hops; the rest is unicast.",
    ),
]
Utilisation = Annotated[
    float,
    typer.Option(
        "--utilisation",
        metavar="U",
        help="How many times as much a recirculation port may be used as another one.",
    ),
]
Bfir = Annotated[float, typer.Option("--bfir", help="Share that gets its BIER header here.")]
Bfer = Annotated[
    float, typer.Option("--bfer", help="Share that is recirculated when it loses its header here.")
]
Ports = Annotated[int, typer.Option("--ports", min=1, max=4096, help="Ports at the front.")]
Internal = Annotated[
    int, typer.Option("--internal", min=0, max=64, help="Recirculation ports inside the switch.")
]
Loopback = Annotated[
    int | None,
    typer.Option("--loopback", metavar="N", help="What is lost with N ports in loopback mode?"),
]


def plan_ports(
    mix: MixText,
    utilisation: Utilisation = 4.0,
    bfir: Bfir = 0.0,
    bfer: Bfer = 0.0,
    ports: Ports = 32,
    internal: Internal = 1,
    loopback: Loopback = None,
    as_json: Json = False,
) -> None:
    """Compute how many ports must recirculate, and what fewer of them would lose (equation 3).

    For example: p4lab plan-ports --mix 1:0.7,4:0.2,16:0.1 --utilisation 4 --bfir 0.1 --loopback 3

    Losses are for ports as full as the rule allows: recirculation ports at their rate, others at
    1/U of theirs, and equal chances for all packets (equation 1).
    """
    try:
        found = calculate(Mix.parse(mix, bfir, bfer), utilisation, ports, internal, loopback)
    except ValueError as error:
        fail(str(error))
    typer.echo(json.dumps(record(found), indent=2) if as_json else text(found))


def record(found: Calculation) -> dict[str, object]:
    """What was found as plain data."""
    data: dict[str, object] = {
        "R": found.mix.factor,
        "R_of_the_paper": found.mix.factor_of_the_paper,
        "U": found.utilisation,
        "ports": found.ports,
        "internal": found.internal,
        "needed": asdict(found.needed),
    }
    if found.with_fewer is not None:
        data["with_fewer"] = asdict(found.with_fewer)
    return data


def text(found: Calculation) -> str:
    """What was found in words."""
    mix, needed = found.mix, found.needed
    lines = [
        f"R = {mix.factor:g} recirculations per packet"
        + (
            f" ({mix.factor_of_the_paper:g} to replicate, {mix.factor - mix.factor_of_the_paper:g} "
            "for headers put on and taken off)"
            if mix.bfir or mix.bfer
            else ""
        )
        + f", U = {found.utilisation:g}",
        f"{count_of(needed.traffic, 'port')} with traffic need "
        f"{count_of(needed.loops, 'recirculation port')}: "
        f"{min(found.internal, needed.loops)} internal and {needed.physical} of the "
        f"{found.ports} at the front in loopback mode.",
    ]
    if needed.unused:
        lines.append(
            f"{count_of(needed.unused, 'port')} at the front must stay unused: with traffic on one "
            "more, the recirculation ports would not suffice."
        )
    fewer = found.with_fewer
    if fewer is not None:
        loopback = fewer.loops - found.internal
        lines.append(
            f"With {loopback} loopback ports and traffic on the other {found.ports - loopback}, "
            f"{1 / found.utilisation:.0%} of their rate:"
        )
        lines.append(f"  each recirculation loses {fewer.drop_probability:.2%} of its packets,")
        for part, lost in fewer.lost:
            lines.append(f"  {part.next_hops} next hops: {lost:.2%} never reach the last one,")
        missing = f"{fewer.lost_of_copies:.2%}"
        lines.append(f"  of all copies that the mix asks for, {missing} are missing.")
    return "\n".join(lines)
