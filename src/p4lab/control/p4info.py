"""Entries as P4Runtime says them, and back: names to the ids of a program's P4Info.

Numbers on the wire are the shortest big-endian bytes (P4Runtime, section 8.4); a field that may
hold anything is left out of a match (section 9.1.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from finsy.proto import p4i, p4r
from google.protobuf import text_format

from p4lab.model.control import PacketIn
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
    Optional,
    Range,
    RegisterCell,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.plurals import count_of

KINDS = {
    "insert": p4r.Update.INSERT,
    "modify": p4r.Update.MODIFY,
    "delete": p4r.Update.DELETE,
}


def to_bytes(number: int) -> bytes:
    """The shortest big-endian bytes of a number; one byte for 0."""
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")


def to_int(data: bytes) -> int:
    """The number of big-endian bytes of any length."""
    return int.from_bytes(data, "big")


class Program:
    """A program's P4Info, asked by names. A name may be full, an alias, or a dotted suffix."""

    def __init__(self, text: str) -> None:
        """`text` is P4Info in protobuf's text format. Raises ValueError."""
        self.message = p4i.P4Info()
        try:
            text_format.Parse(text, self.message)
        except text_format.ParseError as error:
            raise ValueError(f"P4Info cannot be read: {error}") from error
        self._tables = {table.preamble.id: table for table in self.message.tables}
        self._actions = {action.preamble.id: action for action in self.message.actions}
        self._meters = {meter.preamble.id: meter for meter in self.message.meters}
        self._metadata = {
            header.preamble.name: header.metadata
            for header in self.message.controller_packet_metadata
        }

    def update(self, update: Update) -> p4r.Update:
        """One step of a batch. Raises ValueError for names that the program does not have."""
        if isinstance(update.entity, DefaultAction):
            return self._default(update.entity, gone=update.kind == "delete")
        if isinstance(update.entity, MeterCell):
            return self._meter(update.entity, gone=update.kind == "delete")
        return p4r.Update(type=KINDS[update.kind], entity=self.entity(update.entity))

    def _default(self, default: DefaultAction, *, gone: bool) -> p4r.Update:
        """A default action only ever changes; without an action it is the program's again
        (P4Runtime, section 9.1.2)."""
        entry = TableEntry(default.table, (), default.action, default.params)
        message = self._entry(entry)
        message.is_default_action = True
        if gone:
            message.ClearField("action")
        return p4r.Update(type=p4r.Update.MODIFY, entity=p4r.Entity(table_entry=message))

    def _meter(self, cell: MeterCell, *, gone: bool) -> p4r.Update:
        """A cell of a meter is always there: its rates change, and without rates everything is
        green (P4Runtime, section 9.4)."""
        meter = _named("meter", cell.meter, self.message.meters)
        if not 0 <= cell.index < meter.size:
            raise ValueError(
                f"{cell.meter} has {count_of(meter.size, 'cell')}, and none is number {cell.index}"
            )
        message = p4r.MeterEntry(meter_id=meter.preamble.id)
        message.index.index = cell.index
        if not gone:
            message.config.cir, message.config.cburst = cell.committed_rate, cell.committed_burst
            message.config.pir, message.config.pburst = cell.peak_rate, cell.peak_burst
        return p4r.Update(type=p4r.Update.MODIFY, entity=p4r.Entity(meter_entry=message))

    def entity(self, entity: Entity) -> p4r.Entity:
        """An entry as a message, but for what only changes. Raises ValueError."""
        if isinstance(entity, TableEntry):
            return p4r.Entity(table_entry=self._entry(entity))
        if isinstance(entity, RegisterCell):
            raise ValueError(f"the register {entity.register} cannot be written by P4Runtime here")
        if isinstance(entity, MeterCell | DefaultAction):
            raise ValueError(f"{type(entity).__name__} only ever changes: write it as an update")
        engine = p4r.PacketReplicationEngineEntry()
        if isinstance(entity, MulticastGroup):
            group = engine.multicast_group_entry
            group.multicast_group_id = entity.group_id
            group.replicas.extend(_replicas(entity.replicas))
        else:
            session = engine.clone_session_entry
            session.session_id = entity.session_id
            session.packet_length_bytes = entity.truncate
            session.replicas.extend(_replicas(entity.replicas))
        return p4r.Entity(packet_replication_engine_entry=engine)

    def _entry(self, entry: TableEntry) -> p4r.TableEntry:
        table = _named("table", entry.table, self._tables.values())
        fields = {field.name: field for field in table.match_fields}
        offered = [self._actions[ref.id] for ref in table.action_refs]
        action = _named("action", entry.action, offered)
        message = p4r.TableEntry(table_id=table.preamble.id, priority=entry.priority)
        for name, match in entry.match:
            if name not in fields:
                raise ValueError(f"{entry.table} has no key {name}; it has {', '.join(fields)}")
            found = _field_match(fields[name].id, match)
            if found is not None:
                message.match.append(found)
        message.action.action.action_id = action.preamble.id
        params = {param.name: param.id for param in action.params}
        for name, value in entry.params:
            if name not in params:
                known = ", ".join(params)
                raise ValueError(f"{entry.action} has no parameter {name}; it has {known}")
            message.action.action.params.add(param_id=params[name], value=to_bytes(value))
        return message

    def read(self, entity: p4r.Entity) -> Entity | None:
        """The entry that a message stands for, under its alias; None for what this control plane
        does not write: default entries, those that the program keeps for itself, and entities
        of other kinds."""
        if entity.HasField("table_entry"):
            return self._read_entry(entity.table_entry)
        if entity.HasField("meter_entry"):
            return self._read_meter(entity.meter_entry)
        engine = entity.packet_replication_engine_entry
        if engine.HasField("multicast_group_entry"):
            group = engine.multicast_group_entry
            return MulticastGroup(group.multicast_group_id, _read_replicas(group.replicas))
        if engine.HasField("clone_session_entry"):
            session = engine.clone_session_entry
            replicas = _read_replicas(session.replicas)
            return CloneSession(session.session_id, replicas, session.packet_length_bytes)
        return None

    def _read_entry(self, entry: p4r.TableEntry) -> TableEntry | None:
        table = self._tables.get(entry.table_id)
        if table is None or entry.is_default_action or entry.is_const:
            return None
        if not entry.action.HasField("action"):
            return None
        given = {match.field_id: match for match in entry.match}
        matches = tuple(
            (field.name, _read_match(field, given.get(field.id))) for field in table.match_fields
        )
        action = self._actions[entry.action.action.action_id]
        values = {param.param_id: to_int(param.value) for param in entry.action.action.params}
        params = tuple((param.name, values.get(param.id, 0)) for param in action.params)
        return TableEntry(
            table.preamble.alias, matches, action.preamble.alias, params, entry.priority
        )

    def _read_meter(self, cell: p4r.MeterEntry) -> MeterCell | None:
        """A cell's rates; None for one that lets everything pass."""
        meter = self._meters.get(cell.meter_id)
        if meter is None or not cell.HasField("config"):
            return None
        rates = cell.config
        numbers = (rates.cir, rates.cburst, rates.pir, rates.pburst)
        return MeterCell(meter.preamble.alias, cell.index.index, *numbers)

    def counter_cell(self, name: str, index: int) -> p4r.Entity:
        """What asks for one cell of an indirect counter. Raises ValueError."""
        counter = _named("counter", name, self.message.counters)
        if not 0 <= index < counter.size:
            raise ValueError(
                f"{name} has {count_of(counter.size, 'cell')}, and none is number {index}"
            )
        cell = p4r.CounterEntry(counter_id=counter.preamble.id)
        cell.index.index = index
        return p4r.Entity(counter_entry=cell)

    def packet_out(self, port: int, frame: bytes) -> p4r.PacketOut:
        """A frame to be sent from a port, behind the program's own header for it."""
        message = p4r.PacketOut(payload=frame)
        for field in self._header("packet_out"):
            value = port if field.name == "egress_port" else 0
            message.metadata.add(metadata_id=field.id, value=to_bytes(value))
        return message

    def packet_in(self, message: p4r.PacketIn) -> PacketIn:
        """What a switch has sent to its control plane."""
        values = {item.metadata_id: to_int(item.value) for item in message.metadata}
        port = size = bits = 0
        for field in self._header("packet_in"):
            value = values.get(field.id, 0)
            port = value if field.name == "ingress_port" else port
            size, bits = size + field.bitwidth, bits << field.bitwidth | value
        header = (bits << -size % 8).to_bytes((size + 7) // 8, "big")
        return PacketIn(port, message.payload, header)

    def _header(self, name: str) -> Sequence[Any]:
        if name not in self._metadata:
            raise ValueError(f"the program has no controller header {name}")
        metadata: Sequence[Any] = self._metadata[name]
        return metadata


def _named(what: str, name: str, items: Iterable[Any]) -> Any:
    found = []
    for item in items:
        full = item.preamble.name
        if full == name:
            return item
        if item.preamble.alias == name or full.endswith(f".{name}"):
            found.append(item)
    if len(found) != 1:
        why = "no" if not found else "more than one"
        raise ValueError(f"the program has {why} {what} {name}")
    return found[0]


def _field_match(number: int, match: Match) -> p4r.FieldMatch | None:
    if isinstance(match, DontCare):
        return None
    message = p4r.FieldMatch(field_id=number)
    if isinstance(match, Exact):
        message.exact.value = to_bytes(match.value)
    elif isinstance(match, Lpm):
        if match.prefix_len == 0:
            return None
        message.lpm.value = to_bytes(match.value)
        message.lpm.prefix_len = match.prefix_len
    elif isinstance(match, Ternary):
        if match.mask == 0:
            return None
        message.ternary.value = to_bytes(match.value & match.mask)
        message.ternary.mask = to_bytes(match.mask)
    elif isinstance(match, Range):
        message.range.low, message.range.high = to_bytes(match.low), to_bytes(match.high)
    else:
        message.optional.value = to_bytes(match.value)
    return message


def _read_match(field: Any, match: p4r.FieldMatch | None) -> Match:
    """A key of an entry; a field that is left out may hold anything."""
    full = (1 << field.bitwidth) - 1
    kind = field.match_type
    if match is None:
        if kind == p4i.MatchField.LPM:
            return Lpm(0, 0)
        return Range(0, full) if kind == p4i.MatchField.RANGE else Ternary(0, 0)
    if match.HasField("exact"):
        return Exact(to_int(match.exact.value))
    if match.HasField("lpm"):
        return Lpm(to_int(match.lpm.value), match.lpm.prefix_len)
    if match.HasField("ternary"):
        return Ternary(to_int(match.ternary.value), to_int(match.ternary.mask))
    if match.HasField("range"):
        return Range(to_int(match.range.low), to_int(match.range.high))
    return Optional(to_int(match.optional.value))


def _replicas(replicas: Sequence[tuple[int, int]]) -> list[p4r.Replica]:
    return [p4r.Replica(egress_port=port, instance=instance) for port, instance in replicas]


def _read_replicas(replicas: Iterable[p4r.Replica]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (to_int(replica.port) if replica.port else replica.egress_port, replica.instance)
        for replica in replicas
    )
