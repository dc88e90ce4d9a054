"""Tables and action profiles: the calls `bm_mt_...` of the service `standard`.

Handles of entries are the numbers that traces show. bmv2 uses numbers again, with a version in
their upper bits; here each number is used once, unless the program runs with bmv2's ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from p4lab.model.entries import DefaultAction, Matches, Params, TableEntry, Update
from p4lab.model.state import (
    Clear,
    Group,
    IndirectEntry,
    IndirectUpdate,
    Member,
    Rates,
    ResetDefault,
    SetEntryCounter,
    SetEntryMeter,
    SetIdleTimeout,
    SetIndirectDefault,
    SetMember,
    SetMemberGroup,
    Write,
)
from p4lab.thrift.desk import Desk, table_codes
from p4lab.thrift.interface import TYPES, ActionKind, TableCode, TableRefused
from p4lab.thrift.meters import rates_of, rates_told
from p4lab.thrift.program import Table
from p4lab.thrift.values import (
    LAST_PRIORITY,
    arguments_of,
    data_of,
    key_of,
    params_of,
    priority_of,
)

PS_PER_MS = 1_000_000_000
Entry = dict[str, Any]


class Tables:
    """Their calls; each names a context first, of which simple_switch has one."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._runtime = desk.runtime

    def bm_mt_get_num_entries(self, _: int, table: str) -> int:
        return len(self._runtime.entries(self._table(table).name))

    def bm_mt_clear_entries(self, _: int, table: str, reset_default: bool) -> None:
        own = self._table(table)
        if own.is_const:
            raise TableRefused(TableCode.IMMUTABLE)
        updates: list[Write] = [Clear(own.name)]
        if reset_default:
            updates.append(ResetDefault(own.name))
        self._write(*updates)

    # tables whose entries have actions of their own

    def bm_mt_add_entry(
        self, _: int, table: str, key: list[Any], action: str, data: list[bytes], options: Any
    ) -> int:
        own = self._direct(table)
        spec = self._action(own.actions, action, data)
        matches, priority = self._new_key(own, key, options)
        self._write(Update("insert", TableEntry(own.name, matches, *spec, priority)))
        return self._handle(own, matches, priority)

    def bm_mt_set_default_action(self, _: int, table: str, action: str, data: list[bytes]) -> None:
        own = self._direct(table)
        spec = self._action(own.actions, action, data)
        self._write(Update("modify", DefaultAction(own.name, *spec)))

    def bm_mt_reset_default_entry(self, _: int, table: str) -> None:
        self._write(ResetDefault(self._direct(table).name))

    def bm_mt_delete_entry(self, _: int, table: str, handle: int) -> None:
        self._delete(self._direct(table), handle)

    def bm_mt_modify_entry(
        self, _: int, table: str, handle: int, action: str, data: list[bytes]
    ) -> None:
        own = self._direct(table)
        spec = self._action(own.actions, action, data)
        matches, priority = self._changing(own, handle)
        self._write(Update("modify", TableEntry(own.name, matches, *spec, priority)))

    def bm_mt_set_entry_ttl(self, _: int, table: str, handle: int, timeout_ms: int) -> None:
        own = self._table(table)
        if not own.keeps_time:
            raise TableRefused(TableCode.AGEING_DISABLED)
        place = self._place(own, handle)
        if timeout_ms < 0:
            raise TableRefused(TableCode.OTHER)
        self._write(SetIdleTimeout(own.name, *place, timeout_ms * PS_PER_MS or None))

    # action profiles

    def bm_mt_act_prof_add_member(
        self, _: int, profile: str, action: str, data: list[bytes]
    ) -> int:
        own = self._profile(profile)
        number = _lowest_free(member for member, *_ in self._runtime.members(own))
        spec = self._action(self._actions_of(own), action, data)
        self._write(SetMember(own, number, *spec))
        return number

    def bm_mt_act_prof_delete_member(self, _: int, profile: str, member: int) -> None:
        own = self._profile(profile)
        self._member(own, member)
        self._write(SetMember(own, member, None), in_use=TableCode.MEMBER_USED)

    def bm_mt_act_prof_modify_member(
        self, _: int, profile: str, member: int, action: str, data: list[bytes]
    ) -> None:
        own = self._profile(profile)
        self._member(own, member)
        self._write(SetMember(own, member, *self._action(self._actions_of(own), action, data)))

    def bm_mt_act_prof_create_group(self, _: int, profile: str) -> int:
        own = self._selector(profile)
        number = _lowest_free(group for group, _ in self._runtime.member_groups(own))
        self._write(SetMemberGroup(own, number, ()))
        return number

    def bm_mt_act_prof_delete_group(self, _: int, profile: str, group: int) -> None:
        own = self._selector(profile)
        self._group(own, group)
        self._write(SetMemberGroup(own, group, None), in_use=TableCode.GROUP_USED)

    def bm_mt_act_prof_add_member_to_group(
        self, _: int, profile: str, member: int, group: int
    ) -> None:
        own = self._selector(profile)
        self._member(own, member)
        members = self._group(own, group)
        if member in members:
            raise TableRefused(TableCode.MEMBER_IN_GROUP)
        self._write(SetMemberGroup(own, group, (*members, member)))

    def bm_mt_act_prof_remove_member_from_group(
        self, _: int, profile: str, member: int, group: int
    ) -> None:
        own = self._selector(profile)
        self._member(own, member)
        members = self._group(own, group)
        if member not in members:
            raise TableRefused(TableCode.MEMBER_NOT_IN_GROUP)
        left = tuple(other for other in members if other != member)
        self._write(SetMemberGroup(own, group, left))

    def bm_mt_act_prof_get_members(self, _: int, profile: str) -> list[Any]:
        members = self._runtime.members(self._profile(profile))
        return [self._member_told(*member) for member in members]

    def bm_mt_act_prof_get_member(self, _: int, profile: str, member: int) -> Any:
        return self._member_told(*self._member(self._profile(profile), member))

    def bm_mt_act_prof_get_groups(self, _: int, profile: str) -> list[Any]:
        groups = self._runtime.member_groups(self._selector(profile))
        return [TYPES["Group"](group, members) for group, members in groups]

    def bm_mt_act_prof_get_group(self, _: int, profile: str, group: int) -> Any:
        return TYPES["Group"](group, self._group(self._selector(profile), group))

    # tables whose entries lead to members

    def bm_mt_indirect_add_entry(
        self, _: int, table: str, key: list[Any], member: int, options: Any
    ) -> int:
        return self._add(self._indirect(table), key, options, Member(_number(member)))

    def bm_mt_indirect_modify_entry(self, _: int, table: str, handle: int, member: int) -> None:
        self._modify(self._indirect(table), handle, Member(_number(member)))

    def bm_mt_indirect_delete_entry(self, _: int, table: str, handle: int) -> None:
        self._delete(self._indirect(table), handle)

    def bm_mt_indirect_set_entry_ttl(
        self, context: int, table: str, handle: int, timeout_ms: int
    ) -> None:
        self.bm_mt_set_entry_ttl(context, self._indirect(table).name, handle, timeout_ms)

    def bm_mt_indirect_set_default_member(self, _: int, table: str, member: int) -> None:
        self._write(SetIndirectDefault(self._indirect(table).name, Member(_number(member))))

    def bm_mt_indirect_reset_default_entry(self, _: int, table: str) -> None:
        self._write(ResetDefault(self._indirect(table).name))

    def bm_mt_indirect_ws_add_entry(
        self, _: int, table: str, key: list[Any], group: int, options: Any
    ) -> int:
        own = self._selecting(table)
        return self._add(own, key, options, Group(self._filled(own, group)))

    def bm_mt_indirect_ws_modify_entry(self, _: int, table: str, handle: int, group: int) -> None:
        own = self._selecting(table)
        self._modify(own, handle, Group(self._filled(own, group)))

    def bm_mt_indirect_ws_set_default_group(self, _: int, table: str, group: int) -> None:
        own = self._selecting(table)
        self._write(SetIndirectDefault(own.name, Group(self._filled(own, group))))

    # direct counters and meters

    def bm_mt_read_counter(self, _: int, table: str, handle: int) -> Any:
        own = self._table(table)
        entry = self._entry(own, handle)
        self._check_counts(own)
        return TYPES["Count"](entry["bytes"], entry["packets"])

    def bm_mt_reset_counters(self, _: int, table: str) -> None:
        own = self._table(table)
        self._check_counts(own)
        entries = self._runtime.entries(own.name)
        self._write(*(SetEntryCounter(own.name, *_key(entry), 0, 0) for entry in entries))

    def bm_mt_write_counter(self, _: int, table: str, handle: int, value: Any) -> None:
        own = self._table(table)
        packets, count = (_unsigned(part) for part in (value.packets, value.bytes))
        self._write(SetEntryCounter(own.name, *self._place(own, handle), packets, count))

    def bm_mt_set_meter_rates(self, _: int, table: str, handle: int, rates: list[Any]) -> None:
        own = self._table(table)
        place = self._place(own, handle)
        told = rates_of(rates)
        if not isinstance(told, Rates):
            raise TableRefused(TableCode.INVALID_METER)
        self._write(SetEntryMeter(own.name, *place, told))

    def bm_mt_get_meter_rates(self, _: int, table: str, handle: int) -> list[Any]:
        own = self._table(table)
        entry = self._entry(own, handle)
        if own.name not in self._desk.facts.metered:
            raise TableRefused(TableCode.METERS_DISABLED)
        return rates_told(entry["rates"])

    # reading

    def bm_mt_get_entries(self, _: int, table: str) -> list[Any]:
        own = self._table(table)
        return [self._told(own, entry) for entry in self._runtime.entries(own.name)]

    def bm_mt_get_entry(self, _: int, table: str, handle: int) -> Any:
        own = self._table(table)
        return self._told(own, self._entry(own, handle))

    def bm_mt_get_default_entry(self, _: int, table: str) -> Any:
        own = self._table(table)
        with table_codes():
            default = self._runtime.default(own.name)
        if isinstance(default, Member | Group):
            return _leads_to(default)
        if own.profile is not None:  # bmv2 has no default there until somebody sets one
            return TYPES["Target"](ActionKind.NONE)
        return self._action_told(*default)

    def bm_mt_get_entry_from_key(self, _: int, table: str, key: list[Any], options: Any) -> Any:
        own = self._table(table)
        with table_codes(not_found=TableCode.BAD_KEY):
            found = self._runtime.find(own.name, key_of(own, key), priority_of(own, options))
        return self._told(own, found)

    # what the calls have in common

    def _table(self, name: str) -> Table:
        own = self._desk.facts.tables.get(name)
        if own is None:
            raise TableRefused(TableCode.INVALID_TABLE)
        return own

    def _direct(self, name: str) -> Table:
        own = self._table(name)
        if own.profile is not None:
            raise TableRefused(TableCode.WRONG_TYPE)
        return own

    def _indirect(self, name: str) -> Table:
        own = self._table(name)
        if own.profile is None:
            raise TableRefused(TableCode.WRONG_TYPE)
        return own

    def _selecting(self, name: str) -> Table:
        own = self._table(name)
        if not own.selects:
            raise TableRefused(TableCode.WRONG_TYPE)
        return own

    def _profile(self, name: str) -> str:
        if name not in self._desk.facts.profiles:
            raise TableRefused(TableCode.INVALID_PROFILE)
        return name

    def _selector(self, name: str) -> str:
        if not self._desk.facts.profiles[self._profile(name)]:
            raise TableRefused(TableCode.NO_SELECTION)
        return name

    def _actions_of(self, profile: str) -> tuple[str, ...]:
        tables = self._desk.facts.tables.values()
        return tuple(
            action for table in tables if table.profile == profile for action in table.actions
        )

    def _action(self, known: Sequence[str], action: str, data: list[bytes]) -> tuple[str, Params]:
        if action not in known:
            raise TableRefused(TableCode.INVALID_ACTION)
        return action, arguments_of(self._desk.facts.actions[action], data)

    def _member(self, profile: str, member: int) -> tuple[int, str, dict[str, int]]:
        for own in self._runtime.members(profile):
            if own[0] == member:
                return own
        raise TableRefused(TableCode.INVALID_MEMBER)

    def _group(self, profile: str, group: int) -> list[int]:
        for own, members in self._runtime.member_groups(profile):
            if own == group:
                return members
        raise TableRefused(TableCode.INVALID_GROUP)

    def _filled(self, table: Table, group: int) -> int:
        """bmv2 lets no entry lead to a group without members."""
        if not self._group(str(table.profile), group):
            raise TableRefused(TableCode.EMPTY_GROUP)
        return group

    def _entry(self, table: Table, handle: int) -> Entry:
        with table_codes():
            return self._runtime.entry(table.name, _number(handle))

    def _place(self, table: Table, handle: int) -> tuple[Matches, int]:
        return _key(self._entry(table, handle))

    def _new_key(self, table: Table, key: list[Any], options: Any) -> tuple[Matches, int]:
        if not table.keys:
            raise TableRefused(TableCode.NO_KEY)
        return key_of(table, key), priority_of(table, options)

    def _handle(self, table: Table, matches: Matches, priority: int) -> int:
        with table_codes():
            return int(self._runtime.find(table.name, matches, priority)["handle"])

    def _add(self, table: Table, key: list[Any], options: Any, target: Member | Group) -> int:
        matches, priority = self._new_key(table, key, options)
        entry = IndirectEntry(table.name, matches, target, priority)
        self._write(IndirectUpdate("insert", entry))
        return self._handle(table, matches, priority)

    def _changing(self, table: Table, handle: int) -> tuple[Matches, int]:
        """The key of an entry that a client may change or remove."""
        if table.is_const:
            raise TableRefused(TableCode.IMMUTABLE)
        return self._place(table, handle)

    def _modify(self, table: Table, handle: int, target: Member | Group) -> None:
        matches, priority = self._changing(table, handle)
        entry = IndirectEntry(table.name, matches, target, priority)
        self._write(IndirectUpdate("modify", entry))

    def _delete(self, table: Table, handle: int) -> None:
        matches, priority = self._changing(table, handle)
        self._write(Update("delete", TableEntry(table.name, matches, "", (), priority)))

    def _write(self, *updates: Write, **codes: TableCode) -> None:
        with table_codes(**codes):
            self._runtime.write(updates)

    def _check_counts(self, table: Table) -> None:
        if table.name not in self._desk.facts.counted:
            raise TableRefused(TableCode.COUNTERS_DISABLED)

    def _told(self, table: Table, entry: Entry) -> Any:
        priority = max(LAST_PRIORITY - entry["priority"], 0) if table.has_priorities else -1
        return TYPES["Entry"](
            params_of(table, entry["matches"]),
            TYPES["Options"](priority),
            entry["handle"],
            self._target_told(entry),
            self._life(entry) if entry["idle_timeout"] else None,
        )

    def _target_told(self, entry: Entry) -> Any:
        if entry["target"] is not None:
            return _leads_to(entry["target"])
        return self._action_told(entry["action"], entry["args"])

    def _action_told(self, action: str, arguments: Mapping[str, int]) -> Any:
        data = data_of(self._desk.facts.actions.get(action, ()), arguments)
        return TYPES["Target"](ActionKind.ACTION, action, data)

    def _member_told(self, member: int, action: str, arguments: Mapping[str, int]) -> Any:
        data = data_of(self._desk.facts.actions.get(action, ()), arguments)
        return TYPES["Member"](member, action, data)

    def _life(self, entry: Entry) -> Any:
        now = self._runtime.now
        since = max(now - (entry["idle_since"] or now), 0)
        return TYPES["Life"](entry["idle_timeout"] // PS_PER_MS, since // PS_PER_MS)


def _leads_to(target: Member | Group) -> Any:
    if isinstance(target, Member):
        return TYPES["Target"](ActionKind.MEMBER, member=target.number)
    return TYPES["Target"](ActionKind.GROUP, group=target.number)


def _key(entry: Entry) -> tuple[Matches, int]:
    return tuple(entry["matches"].items()), entry["priority"]


def _number(given: int) -> int:
    """A handle, of which none is negative."""
    if given < 0:
        raise TableRefused(TableCode.INVALID_HANDLE)
    return given


def _unsigned(count: int) -> int:
    """What is stored as 64 bits without a sign comes with one."""
    return count & (2**64 - 1)


def _lowest_free(used: Any) -> int:
    taken = set(used)
    return next(number for number in range(len(taken) + 1) if number not in taken)
