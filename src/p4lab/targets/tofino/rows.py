"""Entries of the control plane, and the settings of a switch, as rows of BFRT tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    DontCare,
    Entity,
    Exact,
    Lpm,
    Match,
    MeterCell,
    MulticastGroup,
    RegisterCell,
    TableEntry,
    Ternary,
)
from p4lab.plurals import count_of
from p4lab.targets.tofino.rack import Port, SwitchSetup
from p4lab.targets.tofino.schema import (
    CELL,
    GROUP,
    METER_CELL,
    METERED,
    MIRROR,
    MIRROR_ACTION,
    NODE,
    PIPELINE,
    PORT,
    PORT_METADATA,
    PRIORITY,
    RECIRCULATION,
    UNLIMITED,
    Action,
    Program,
    Table,
    fits,
)

# BFRT's first priority is the lowest number, P4Runtime's the highest; both have 24 bits and more.
LAST_PRIORITY = (1 << 24) - 1
MTU = 10240
LOOPED = 1 << 63  # the first bit of the port metadata of the lab's programs
NODES_OF_GROUP = 256  # ids of its L1 nodes that a group has for itself

Value = int | bool | str | tuple[int, ...]
"""What a data field holds; a tuple for lists, of numbers and of bools"""


@dataclass(frozen=True)
class Row:
    """A row of a table, or what a row shall be. Without a key it is the table's default entry."""

    table: str
    key: tuple[tuple[str, Match], ...]
    data: tuple[tuple[str, Value], ...]
    action: str | None = None

    @property
    def name(self) -> tuple[str, tuple[tuple[str, Match], ...]]:
        """What identifies it on its switch."""
        return self.table, self.key

    @property
    def is_default(self) -> bool:
        return not self.key

    @property
    def is_cell(self) -> bool:
        """Whether it is a cell of a register or a meter: these are always there."""
        return is_cell(self.key)


def is_cell(key: Iterable[tuple[str, Match]]) -> bool:
    """Whether a key is that of a register's or a meter's cell."""
    return any(name in (CELL, METER_CELL) for name, _ in key)


def cell_row(program: Program, register: str, index: int, value: Value) -> Row:
    """A register's cell: one value for all pipes, or a tuple by pipe. Raises ValueError."""
    name = program.register(register)
    # The compiler calls the only field of a register that holds numbers f1.
    return row(f"{PIPELINE}.{name}", [(CELL, Exact(index))], [(f"{name}.f1", value)])


def meter_row(program: Program, cell: MeterCell) -> Row:
    """The rates of a meter's cell, in the chip's units. Raises ValueError."""
    name, unit = program.meter(cell.meter)
    given = (cell.committed_rate, cell.peak_rate, cell.committed_burst, cell.peak_burst)
    amounts = given if unit == "packets" else tuple(map(_thousand_bits, given))
    key = [(METER_CELL, Exact(cell.index))]
    return row(f"{PIPELINE}.{name}", key, zip(METERED[unit], amounts, strict=True))


def _thousand_bits(count: int) -> int:
    """Bytes in thousands of bits, as near as these can be; nothing becomes nothing by that."""
    return max(round(count * 8 / 1000), min(count, 1))


def free(row: Row) -> Row:
    """A cell as it is without a value of ours: 0 in a register, no limit in a meter."""
    if any(name == CELL for name, _ in row.key):
        return replace(row, data=tuple((name, 0) for name, _ in row.data))
    return replace(row, data=tuple((name, UNLIMITED[name]) for name, _ in row.data))


def row(
    table: str,
    key: Iterable[tuple[str, Match]],
    data: Iterable[tuple[str, Value]],
    action: str | None = None,
) -> Row:
    """A row in the one form that can be compared: fields by name, bits that do not count are 0."""
    plain = sorted(((name, _plain(match)) for name, match in key), key=lambda pair: pair[0])
    return Row(table, tuple(plain), tuple(sorted(data, key=lambda pair: pair[0])), action)


def _plain(match: Match) -> Match:
    return Ternary(match.value & match.mask, match.mask) if isinstance(match, Ternary) else match


def entity_rows(entity: Entity, program: Program) -> list[Row]:
    """An entity for TNA as rows. Raises ValueError for what the program has no place for."""
    if isinstance(entity, TableEntry):
        return [_entry(entity, program)]
    if isinstance(entity, DefaultAction):
        return [_default(entity, program)]
    if isinstance(entity, MulticastGroup):
        return list(_group(entity))
    if isinstance(entity, RegisterCell):
        return [cell_row(program, entity.register, entity.index, entity.value)]
    if isinstance(entity, MeterCell):
        return [meter_row(program, entity)]
    return [_session(entity)]


def _entry(entry: TableEntry, program: Program) -> Row:
    table = program.table(entry.table)
    if table.const_entries:
        raise ValueError(f"{table.name} has its entries in the program: it takes no others")
    given = dict(entry.match)
    known = {field.name: field for field in table.key}
    for name in given.keys() - known.keys():
        raise ValueError(f"{table.name} has no key {name}; it has {', '.join(known)}")
    for field in table.key:
        match = given.get(field.name)
        if match is None or isinstance(match, DontCare):
            match = _anything(field.kind, table, field.name)
        given[field.name] = match
        if why := fits(field, match):
            raise ValueError(f"{table.name}: {why}")
    if table.has_priorities:
        given[PRIORITY] = Exact(LAST_PRIORITY - entry.priority)
    action = table.action(entry.action)
    return row(table.bfrt, given.items(), _params(action, entry.params), action.name)


def _anything(kind: str, table: Table, name: str) -> Match:
    """What matches everything, for keys that an entry leaves out."""
    if kind == "TERNARY":
        return Ternary(0, 0)
    if kind == "LPM":
        return Lpm(0, 0)
    raise ValueError(f"an entry of {table.name} needs its key {name}")


def _default(default: DefaultAction, program: Program) -> Row:
    table = program.table(default.table)
    if table.const_default:
        raise ValueError(f"{table.name} has a constant default action")
    action = table.action(default.action)
    return row(table.bfrt, (), _params(action, default.params), action.name)


def _params(action: Action, given: Iterable[tuple[str, int]]) -> list[tuple[str, Value]]:
    values = dict(given)
    known = {param.name: param.bits for param in action.params}
    if values.keys() != known.keys():
        raise ValueError(
            f"{action.name} has the parameters {', '.join(known) or 'none'}, "
            f"not {', '.join(values) or 'none'}"
        )
    for name, value in values.items():
        if not 0 <= value < 1 << known[name]:
            raise ValueError(
                f"{action.name}: {name} has {count_of(known[name], 'bit')}: {value} does not fit"
            )
    return list(values.items())


def _group(group: MulticastGroup) -> Iterator[Row]:
    """Copies with one replication id in a row are a node (as the engine has it), and the group is
    the list of its nodes."""
    nodes: list[int] = []
    for rid, copies in groupby(group.replicas, key=lambda replica: replica[1]):
        number = group.group_id * NODES_OF_GROUP + len(nodes)
        if len(nodes) == NODES_OF_GROUP:
            raise ValueError(f"group {group.group_id} has more than {NODES_OF_GROUP} nodes")
        nodes.append(number)
        ports = tuple(port for port, _ in copies)
        yield row(
            NODE,
            [("$MULTICAST_NODE_ID", Exact(number))],
            [("$MULTICAST_RID", rid), ("$MULTICAST_LAG_ID", ()), ("$DEV_PORT", ports)],
        )
    yield row(
        GROUP,
        [("$MGID", Exact(group.group_id))],
        [
            ("$MULTICAST_NODE_ID", tuple(nodes)),
            ("$MULTICAST_NODE_L1_XID_VALID", (False,) * len(nodes)),
            ("$MULTICAST_NODE_L1_XID", (0,) * len(nodes)),
        ],
    )


def _session(session: CloneSession) -> Row:
    if len(session.replicas) != 1:
        raise ValueError(f"mirror session {session.session_id} leads to one port, not several")
    ((port, _),) = session.replicas
    data: list[tuple[str, Value]] = [
        ("$session_enable", True),
        ("$direction", "BOTH"),
        ("$ucast_egress_port", port),
        ("$ucast_egress_port_valid", True),
    ]
    if session.truncate:
        data.append(("$max_pkt_len", session.truncate))
    return row(MIRROR, [("$sid", Exact(session.session_id))], data, MIRROR_ACTION)


# ---- Settings of the switch --------------------------------------------------------------------

_FEC = {"none": "BF_FEC_TYP_NONE", "fc": "BF_FEC_TYP_FC", "rs": "BF_FEC_TYP_RS"}
_AUTONEG = {
    "default": "PM_AN_DEFAULT",
    "on": "PM_AN_FORCE_ENABLE",
    "off": "PM_AN_FORCE_DISABLE",
}


def port_row(port: Port) -> Row:
    """A port, enabled."""
    data: list[tuple[str, Value]] = [
        ("$SPEED", f"BF_SPEED_{port.speed}"),
        ("$FEC", _FEC[port.fec]),
        ("$AUTO_NEGOTIATION", _AUTONEG[port.autoneg]),
        ("$LOOPBACK_MODE", "BF_LPBK_MAC_NEAR" if port.looped else "BF_LPBK_NONE"),
        ("$TX_MTU", MTU),
        ("$RX_MTU", MTU),
        ("$PORT_ENABLE", True),
    ]
    return row(PORT, [("$DEV_PORT", Exact(port.dev_port))], data)


def setting_rows(setup: SwitchSetup) -> list[Row]:
    """What a switch needs beside the tables of the program, its ports excepted: recirculation
    where it is to be, and for every front port in loopback the word of it to the program, in the
    port metadata that the TNA programs of the lab have (`looped`)."""
    rows = [
        row(
            RECIRCULATION,
            [("dev_port", Exact(port))],
            [("recirculation_enable", True), ("pktgen_enable", False)],
        )
        for port in setup.recirculation
    ]
    return rows + [metadata_row(port.dev_port, LOOPED) for port in setup.loops]


def metadata_row(dev_port: int, bits: int) -> Row:
    """The 64 bits that stand in front of the packets of a port."""
    key = [("ig_intr_md.ingress_port", Exact(dev_port))]
    return row(PORT_METADATA, key, [("looped", bits >> 63), ("_pad", bits & (LOOPED - 1))])
