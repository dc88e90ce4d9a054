"""A run of a lab as data: what a page needs to send a packet before it has Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from p4lab import _engine, registry
from p4lab.course.home import Home
from p4lab.engine import load_program
from p4lab.model.entries import Entries, Update
from p4lab.model.entries_json import to_json
from p4lab.model.run import Plan
from p4lab.network.virtual import PICOSECONDS, VirtualNetwork, switch_seed
from p4lab.session.run import DRAIN, MILLISECOND, open_virtual
from p4lab.widgets.layout import place


def scene(plan: Plan, home: Home) -> dict[str, Any]:
    """A plan at rest: its network, the entries that its control plane has written, and the first
    packet of its first stream, in the form that `p4-wasm` takes. Raises NetworkError."""
    program = load_program(plan.program, plan.defines)
    with open_virtual(plan, program) as session:
        net = session.net
        assert isinstance(net, VirtualNetwork)
        session.start()
        session.converge()
        entries = {r.name: net.driver(r.name).entries() for r in plan.topology.routers}
        frame = net.frame(plan.streams[0])
    topology, until = plan.topology, MILLISECOND + DRAIN
    cpu_port = registry.find(plan.system).cpu_port(program.summary["package"])
    return {
        "program": {
            "main": plan.program.relative_to(home.sources).as_posix(),
            "files": sources(plan.program, home.sources, plan.defines),
            "defines": list(plan.defines),
        },
        "switches": [
            {
                "name": router.name,
                "seed": switch_seed(plan.seed, router.number),
                "cpu_port": cpu_port,
                "entries": written(entries[router.name]),
            }
            for router in topology.routers
        ],
        "hosts": [{"name": host.name, "mac": f"{host.mac:012x}"} for host in topology.hosts],
        "links": [
            {
                "a": [link.a, link.a_port],
                "b": [link.b, link.b_port],
                "rate": link.rate,
                "delay": link.delay_ns * PICOSECONDS,
            }
            for link in topology.links
        ],
        "frames": [
            {
                "host": plan.streams[0].source.name,
                "time": MILLISECOND * PICOSECONDS,
                "data": frame.hex(),
            }
        ],
        "until": until * PICOSECONDS,
        "picture": picture(plan),
    }


def picture(plan: Plan) -> dict[str, Any]:
    """Where the nodes stand, as in the pictures of notebooks: `nodes` by name, `width`, `height`
    and `size`, the radius of a node."""
    places = place(plan.topology, plan.streams[0].source.name)
    nodes = {name: [round(x), round(y)] for name, (x, y) in places.nodes.items()}
    return {**asdict(places), "nodes": nodes}


def written(entries: Entries) -> list[Any]:
    """A batch that writes all of them, in an order that does not change from build to build."""
    return sorted((to_json(Update("insert", entity)) for entity in entries), key=repr)


def sources(program: Path, top: Path, defines: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The files of a program that are the lab's, by path below `top`."""
    read = _engine.compile(str(program), [], list(defines)).files
    own = (Path(name).resolve() for name in read if not name.startswith("<"))
    return {
        path.relative_to(top).as_posix(): path.read_text("utf-8")
        for path in own
        if path.is_relative_to(top) and path.is_file()
    }
