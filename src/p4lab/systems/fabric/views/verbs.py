"""`p4lab fabric-view`: a leaf that runs, or the rack with its loads, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail
from p4lab.cli.results import carefully
from p4lab.systems.fabric.ports import LEAVES

RACK = "rack"

Name = Annotated[str, typer.Argument(metavar="SCENE", help="Such as ahead, thrash or rack.")]
Html = Annotated[Path, typer.Option("--html", metavar="FILE", help="The page to write.")]
Leaf = Annotated[int, typer.Option("--leaf", min=0, max=LEAVES - 1, help="The leaf to be filmed.")]
Start = Annotated[
    float | None,
    typer.Option("--start", min=0, max=100_000, help="Begin of the film in us, not the scene's."),
]
Slots = Annotated[
    int, typer.Option("--slots", min=1, max=5000, help="Slots of the film, of 17.6 ns each.")
]
Leaves = Annotated[int, typer.Option("--leaves", min=2, max=LEAVES, help="Leaves of the rack.")]
Micros = Annotated[
    float, typer.Option("--micros", min=1, max=1000, help="Length of the rack's run in us.")
]
Every = Annotated[
    float, typer.Option("--every", min=0.1, max=1000, help="Between two steps of the rack, in us.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of the run.")]


def fabric_view(
    scene: Name = "ahead",
    html: Html = Path("fabric.html"),
    leaf: Leaf = 0,
    start: Start = None,
    slots: Slots = 400,
    leaves: Leaves = LEAVES,
    micros: Micros = 20,
    every: Every = 0.5,
    seed: Seed = 1,
) -> None:
    """A leaf of the fabric that runs, slot by slot, or the rack with its loads (docs/fabric.md).

    Scenes are ahead, thrash, slow-a to slow-e (figure 6), and rack (the broadcast of figure 14).
    The page needs nothing else; keys are the arrows, space, Home and End, s for the next
    suspension, e for the next eviction.
    """
    from p4lab.systems.fabric.views.leaf import leaf_view  # heavy: anywidget
    from p4lab.systems.fabric.views.page import page
    from p4lab.systems.fabric.views.rack import rack_view
    from p4lab.systems.fabric.views.scenes import rack_scene, scenes

    known = scenes()
    if scene != RACK and scene not in known:
        fail(f"there is no scene {scene!r}; choose from {', '.join(known)} and {RACK}.")

    def work() -> None:
        if scene == RACK:
            found = rack_scene(leaves, micros)
            view = rack_view(found.scenario, every=every, seed=seed)
            text = page("The rack", [(f"{found.what}.", view)])
        else:
            found = known[scene]
            begin = found.start if start is None else start
            film = leaf_view(found.scenario, leaf=leaf, start=begin, slots=slots, seed=seed)
            text = page(f"Leaf {leaf}", [(f"{found.what}.", film)])
        html.write_text(text, "utf-8")

    carefully(html, work)
    typer.echo(str(html))
