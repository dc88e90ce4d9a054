"""Programs that remember, on the bench: 1+1 protection (registers) and the broadband gateway
(meters and counters).

Rows and frames are written by hand, so that they stay the same when a control plane changes. The
frames are those of the programs' scripts.
"""

from __future__ import annotations

from collections.abc import Sequence

from p4lab.bench.programs import Subject
from p4lab.engine import load_program
from p4lab.model.entries import (
    Entity,
    Exact,
    Lpm,
    Match,
    MeterCell,
    MulticastGroup,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.paths import ROOT

PROTECT = ROOT / "p4" / "protect" / "v1model.p4"
BNG = ROOT / "p4" / "bng" / "v1model.p4"
IN_PORT = 0
ACCESS_PORT = 2
CID, INDEX, SESSION, LINE = 0x123456, 3, 21, 11
SOURCE, ENDS = 0x14000100, (0x14000201, 0x14000202)
RECEIVERS = 0x0A000200
SUBSCRIBER = 0x64450001
MAC, SUBSCRIBER_MAC = 0x020000000A05, 0x020C00000001
RATE = 10**12
"""Bytes per second; no packet of a bench is too much."""


def subjects() -> list[Subject]:
    """All of them."""
    return [*protect(), *gateway()]


def protect() -> list[Subject]:
    """Where a tunnel begins: a packet is numbered and leaves twice. Where it ends: the copy is the
    second of its number, so it is dropped; only the first one of a bench goes on."""
    program = load_program(PROTECT)
    begins, ends = beginning(), ending()
    ethernet = bytes.fromhex("020000000101 020100010001 0800")
    inside = bytes.fromhex("4500002000010000401163cb0a0001010a000201 13881389000c000044415441")
    outside = bytes.fromhex("4500003c000040003efd10c51400010014000201 123456 000003e9 04")
    return [
        Subject("protection begins, 2 copies", program, begins, ethernet + inside),
        Subject("protection ends", program, ends, ethernet + outside + inside),
    ]


def beginning() -> list[Update]:
    """A switch where tunnels begin."""
    flow: tuple[tuple[str, Match], ...] = (
        ("dst_addr", Ternary(RECEIVERS, 0xFFFFFF00)),
        ("protocol", Ternary(17, 0xFF)),
    )
    protect = (
        ("index", INDEX),
        ("cid", CID),
        ("src_addr", SOURCE),
        ("mtu", 1500),
        ("mcast_grp", 2),
    )
    entities: list[Entity] = [
        TableEntry("protected_flows", flow, "protect", protect, priority=1),
        MulticastGroup(2, ((2, 1), (3, 2))),
    ]
    for path, address in enumerate(ENDS, 1):
        paths = {"index": INDEX, "path": path}
        entities.append(row("paths", paths, "set_path", dst_addr=address))
        entities.append(rewrite(path + 1))
    return inserted(entities)


def ending() -> list[Update]:
    """A switch where they end."""
    route = (("destination", Lpm(RECEIVERS, 24)),)
    entities: list[Entity] = [
        row("connections", {"cid": CID}, "connection", index=INDEX, reset_time=0),
        TableEntry("ipv4_routes", route, "route", (("port", 1),)),
        rewrite(1),
    ]
    for path, address in enumerate(ENDS, 1):
        entities.append(row("tunnel_end", {"dst_addr": address}, "arrived_on", path=path))
    return inserted(entities)


def rewrite(port: int) -> TableEntry:
    """The addresses of a port."""
    macs = {"src": 0x020000000100 | port, "dst": 0x020000000200 | port}
    return row("port_mac", {"port": port}, "rewrite", **macs)


def gateway() -> list[Subject]:
    """A subscriber's packet in either direction; its meters have a rate, and are green."""
    program = load_program(BNG)
    updates = [serving(core) for core in (True, False)]
    down = bytes.fromhex(
        "020000000a05 020e00000005 0800"
        "45000024000100004011ec47c633640764450001 1388003500107bae7878787878787878"
    )
    up = bytes.fromhex(
        "020000000a05 020f00000001 8847 00064040 000c8140"
        "020000000a05 020c00000001 8100 000a 8864 110001010026 0021"
        "45000024000100004011ec4764450001c6336407 1388003500107bae7878787878787878"
    )
    return [
        Subject("gateway, downstream", program, updates[0], down),
        Subject("gateway, upstream", program, updates[1], up),
    ]


def serving(core: bool) -> list[Update]:
    """A gateway with one subscriber. What arrives at port 0 comes from the core, or from the
    subscriber."""
    side = ("core", 0, ACCESS_PORT) if core else ("access", 100, IN_PORT)
    action, label, access = side
    route = (("service", Exact(1)), ("destination", Lpm(0, 0)))
    labels = {"label0": 100, "label1": 200, "line_vid": 10}
    line = {"port": IN_PORT, "label0": 100, "label1": 200, "outer_vid": 10, "inner_vid": 0}
    entities: list[Entity] = [
        row("interfaces", {"port": IN_PORT, "label": label}, action, mac=MAC),
        row("links", {"port": ACCESS_PORT, "label": 100}, "link", src=MAC, dst=SUBSCRIBER_MAC),
        row("links", {"port": 5, "label": 0}, "link", src=MAC, dst=0x020E00000005),
        row("lines", line, "known_line", line=LINE),
        row(
            "sessions",
            {"line": LINE, "service_vid": 0, "mac": SUBSCRIBER_MAC, "session_id": 0x0101},
            "known_session",
            session=SESSION,
            service=1,
        ),
        row("ipv4_hosts", {"address": SUBSCRIBER}, "owner", session=SESSION),
        row("subscribers", {"session": SESSION}, "subscriber", port=access, mtu=1492),
        row(
            "tunnels",
            {"session": SESSION},
            "by_labels",
            **labels,
            session_id=0x0101,
            mac=SUBSCRIBER_MAC,
        ),
        TableEntry("ipv4_routes", route, "to_ip", (("port", 5),)),
        MeterCell("class_meter", 4 * SESSION, RATE, RATE, RATE, RATE),
        MeterCell("session_meter", SESSION, RATE, RATE, RATE, RATE),
        MeterCell("upstream_meter", SESSION, RATE, RATE, RATE, RATE),
    ]
    return inserted(entities)


def row(table: str, key: dict[str, int], action: str, **params: int) -> TableEntry:
    """An entry whose keys are all exact."""
    match = tuple((name, Exact(value)) for name, value in key.items())
    return TableEntry(table, match, action, tuple(params.items()))


def inserted(entities: Sequence[Entity]) -> list[Update]:
    """Cells are there already."""
    return [
        Update("modify" if isinstance(entity, MeterCell) else "insert", entity)
        for entity in entities
    ]
