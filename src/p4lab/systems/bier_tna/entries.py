"""The entries of `p4/bier/tna.p4`: the same control plane, laid out for a Tofino.

`bier_entries` says what every router needs, whatever it is. `tna_entries` lays them out
for TNA: an F-BM gets a number, under which egress finds it; the recirculation port becomes k of
them, which take turns; ports are those of the chip. The backups of fast reroute come with them.
Which ports are down stands in a register (`port_status`). What else a switch needs, no table holds:
its loops (`Network.set_loop`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from p4lab.control.igp import underlay
from p4lab.control.listeners import Member
from p4lab.control.loops import loop_entries
from p4lab.model.control import NumberError
from p4lab.model.entries import (
    CloneSession,
    Entity,
    Entries,
    Exact,
    MulticastGroup,
    RegisterCell,
    TableEntry,
    Ternary,
)
from p4lab.model.layout import Layouts, TnaLayout
from p4lab.systems.bier.entries import (
    BSL_CODES,
    RECIRC_SESSION,
    bier_entries,
    bift_id,
    bit,
    bit_priority,
    set_identifier,
)
from p4lab.systems.frr.lfa import downstream_alternate, neighbour_alternate
from p4lab.topology import NO_FAILURES, Failures, Topology

PORT_STATUS = "port_down"  # the register with a cell for each port of the chip

_BACKUP = 0x8000  # the number of a backup's F-BM is that of the BFER, with this bit
_BSL_OF_CODE = {code: bsl for bsl, code in BSL_CODES.items()}

DEFAULT_LAYOUT = TnaLayout()


def tna_entries(
    topology: Topology,
    membership: frozenset[Member],
    bsl: int,
    down: Failures = NO_FAILURES,
    layout: TnaLayout | Layouts = DEFAULT_LAYOUT,
) -> dict[str, Entries]:
    """Everything every router needs if it is a Tofino, by router name. All of them have one layout
    or each its own.

    Raises as `bier_entries` does, and NumberError for a port that the chip does not have or,
    with backups, a BFR-id above 32767.
    """
    neutral = bier_entries(topology, membership, bsl, down)
    found = {}
    for name, entries in neutral.items():
        own = layout if isinstance(layout, TnaLayout) else layout[name]
        rows = frozenset(_translated(entries, own))
        found[name] = rows | backup_entries(topology, name, bsl, down, own)
    return found


def port_status(port: int) -> RegisterCell:
    """That a port of the chip is down; without it the port is up."""
    return RegisterCell(PORT_STATUS, port, 1)


def _translated(entries: Collection[Entity], layout: TnaLayout) -> Iterator[Entity]:
    for entity in entries:
        if isinstance(entity, CloneSession) and entity.session_id == RECIRC_SESSION:
            yield from loop_entries(layout.loops)
        elif isinstance(entity, MulticastGroup):
            copies = tuple((layout.port(port), rid) for port, rid in entity.replicas)
            yield MulticastGroup(entity.group_id, copies)
        elif isinstance(entity, TableEntry):
            yield from _row(entity, layout)
        else:
            yield entity


def _row(row: TableEntry, layout: TnaLayout) -> Iterator[TableEntry]:
    params = dict(row.params)
    if row.table == "port_mac":
        ((name, match),) = row.match
        assert isinstance(match, Exact)
        key = ((name, Exact(layout.port(match.value))),)
        yield TableEntry(row.table, key, row.action, row.params, row.priority)
    elif row.table == "bift":
        number = _number(row)
        own = [("entry", number), ("fbm", params["fbm"])]
        if "port" in params:
            own.append(("port", layout.port(params["port"])))
        yield TableEntry(row.table, row.match, row.action, tuple(own), row.priority)
        yield served(number, params["fbm"])
    else:
        yield row


def _number(row: TableEntry) -> int:
    """The number of a BIFT row: the BFR-id of its BFER, so that it stays when other rows come."""
    match = dict(row.match)
    number, remaining = match["bift_id"], match["remaining"]
    assert isinstance(number, Exact) and isinstance(remaining, Ternary)
    bsl = _BSL_OF_CODE[number.value >> 16]
    return (number.value & 0xFF) * bsl + remaining.mask.bit_length()


def served(number: int, fbm: int) -> TableEntry:
    """The row in which egress finds what ingress has served."""
    return TableEntry("served", (("entry", Exact(number)),), "take_out", (("fbm", fbm),))


def backup_entries(
    topology: Topology,
    router: str,
    bsl: int,
    down: Failures = NO_FAILURES,
    layout: TnaLayout = DEFAULT_LAYOUT,
) -> Entries:
    """BIER-FRR without tunnels: a neighbour that takes over, with the F-BM that holds there.

    There is a row for each BFER, its bit and the port of its next hop. Its F-BM has the BFERs
    behind that port that have the same neighbour as alternate. A BFER without one has no row: what
    is for it is lost until there are new entries. Raises NumberError for BFR-ids above 32767.
    """
    if layout.backups == "none" or router in down.nodes:
        return frozenset()
    choose = neighbour_alternate if layout.backups == "loop_free" else downstream_alternate
    igp = underlay(topology, down)
    masks: dict[tuple[int, str, str], int] = defaultdict(int)
    protected = []
    for bfer in topology.routers:
        chosen = choose(topology, router, bfer.name, down)
        next_hop = igp.next_hop(router, bfer.name)
        if chosen is None or next_hop is None:
            continue
        if bfer.own("bfr_id") >= _BACKUP:
            raise NumberError(
                f"router {bfer.name} has BFR-id {bfer.own('bfr_id')}; with backups on a Tofino it "
                f"can be {_BACKUP - 1} at most: use a lower one, or a layout without backups"
            )
        way = (set_identifier(bfer.own("bfr_id"), bsl), next_hop, chosen.neighbour)
        masks[way] |= bit(bfer.own("bfr_id"), bsl)
        protected.append((bfer.own("bfr_id"), way))
    rows: list[Entity] = []
    for bfr_id, way in protected:
        si, next_hop, detour = way
        own, number = bit(bfr_id, bsl), _BACKUP | bfr_id
        key = (
            ("bift_id", Exact(bift_id(bsl, si))),
            ("remaining", Ternary(own, own)),
            ("port", Exact(layout.port(topology.port(router, next_hop)))),
        )
        params = (
            ("entry", number),
            ("fbm", masks[way]),
            ("port", layout.port(topology.port(router, detour))),
        )
        rows.append(TableEntry("backup", key, "reroute", params, bit_priority(own, bsl)))
        rows.append(served(number, masks[way]))
    return frozenset(rows)
