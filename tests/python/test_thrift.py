"""The runtime API over Thrift; lost: controllers for bmv2 connect and do something else.

The codes and forms are those that bmv2 1.15 gave to the same calls (test_thrift_bmv2.py compares
with it wherever it is installed). A frame from the CPU's port shows what entries do.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("thrift")

from p4lab import _engine, bmv2json
from p4lab.p4runtime.command_line import parse
from p4lab.p4runtime.switch import run
from p4lab.thrift import interface
from p4lab.thrift.interface import (
    TYPES,
    CounterCode,
    CrcCode,
    LearnCode,
    LookupCode,
    MeterCode,
    MirrorCode,
    PortCode,
    RegisterCode,
    ReplicationCode,
    SwapCode,
    TableCode,
    ValueSetCode,
)
from p4lab.thrift.serving import serving
from thrift_client import PROGRAM, Client, Lab, exact, lab, lpm, options, ranged, ternary

MAC = bytes(range(6))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tmp_path_factory.mktemp("thrift")) as own:
        yield own


@pytest.fixture
def switch(shared: Lab) -> Lab:
    """As it was at the start."""
    shared.call("bm_reset_state")
    return shared


def refused(code: int, switch: Lab, call: str, *values: Any) -> None:
    """The call is refused with this code."""
    with pytest.raises(tuple(interface._REFUSALS.values())) as caught:
        switch.call(call, *values)
    assert caught.value.code == code


def direct_key(last: int = 1) -> list[Any]:
    return [
        *exact(bytes(5) + bytes([last]), b"\1"),
        *ternary(b"\x01\x23", b"\x0f\x0f"),
        *exact(b"\x05"),
        *ranged(b"\0\1", b"\0\3"),
        *ternary(b"\1", b"\1"),
    ]


def add_direct(switch: Lab, last: int = 1, priority: int = 10) -> int:
    data = [b"\x01\x01"]
    key = direct_key(last)
    handle = switch.call("bm_mt_add_entry", 0, "I.direct", key, "I.fwd", data, options(priority))
    assert isinstance(handle, int)
    return handle


def test_an_entry_is_read_as_it_was_written(switch: Lab) -> None:
    handle = add_direct(switch)
    (entry,) = switch.call("bm_mt_get_entries", 0, "I.direct")
    assert entry == switch.call("bm_mt_get_entry", 0, "I.direct", handle)
    found = switch.call("bm_mt_get_entry_from_key", 0, "I.direct", direct_key(), options(10))
    assert entry == found
    own = direct_key()
    own[2].ternary.key = b"\x01\x03"  # bits outside of the mask say nothing
    assert entry.key == own
    assert (entry.handle, entry.options.priority) == (handle, 10)
    assert entry.target == TYPES["Target"](1, "I.fwd", [b"\x01\x01"])
    assert entry.life is None


def test_entries_are_changed_and_taken_away_by_their_handles(switch: Lab) -> None:
    first, second = add_direct(switch, 1), add_direct(switch, 2)
    switch.call("bm_mt_modify_entry", 0, "I.direct", second, "I.drop", [])
    switch.call("bm_mt_delete_entry", 0, "I.direct", first)
    assert switch.call("bm_mt_get_num_entries", 0, "I.direct") == 1
    (left,) = switch.call("bm_mt_get_entries", 0, "I.direct")
    assert (left.handle, left.target.action) == (second, "I.drop")
    refused(TableCode.INVALID_HANDLE, switch, "bm_mt_delete_entry", 0, "I.direct", first)
    gone = (0, "I.direct", first, "I.drop", [])
    refused(TableCode.INVALID_HANDLE, switch, "bm_mt_modify_entry", *gone)
    switch.call("bm_mt_clear_entries", 0, "I.direct", False)
    assert switch.call("bm_mt_get_num_entries", 0, "I.direct") == 0


@pytest.mark.parametrize(
    ("code", "change"),
    [
        (TableCode.INVALID_TABLE, {1: "direct"}),  # full names alone
        (TableCode.INVALID_TABLE, {1: ""}),
        (TableCode.INVALID_ACTION, {3: "I.fwd2"}),
        (TableCode.INVALID_ACTION, {3: "nothing"}),
        (TableCode.BAD_DATA, {4: []}),
        (TableCode.BAD_DATA, {4: [b"\x02\x00"]}),
        (TableCode.BAD_KEY, {2: direct_key()[:-1]}),
        (TableCode.BAD_KEY, {2: direct_key()[::-1]}),
        (TableCode.BAD_KEY, {2: [*exact(b"\0"), *direct_key()[1:]]}),
        (TableCode.BAD_KEY, {2: [*direct_key()[:4], *ranged(b"\2\0", b"\3\0"), direct_key()[5]]}),
        (TableCode.WRONG_TYPE, {1: "I.selected"}),
        (TableCode.NO_KEY, {1: "I.keyless", 3: "I.fwd2", 4: [b"\1", b"\1"]}),
        (TableCode.OTHER, {5: options(-1)}),
    ],
)
def test_wrong_entries_are_refused_with_bmv2s_codes(
    code: int, change: dict[int, Any], switch: Lab
) -> None:
    values = [0, "I.direct", direct_key(), "I.fwd", [b"\1"], options(3)]
    values = [change.get(place, value) for place, value in enumerate(values)]
    refused(code, switch, "bm_mt_add_entry", *values)
    assert switch.call("bm_mt_get_num_entries", 0, "I.direct") == 0


def test_an_entry_twice_and_one_too_many(switch: Lab) -> None:
    for last in range(4):
        add_direct(switch, last)
    key = (0, "I.direct", direct_key(1), "I.fwd", [b"\1"], options(10))
    refused(TableCode.DUPLICATE, switch, "bm_mt_add_entry", *key)
    more = (0, "I.direct", direct_key(7), "I.fwd", [b"\1"], options(10))
    refused(TableCode.FULL, switch, "bm_mt_add_entry", *more)


def test_the_lower_number_wins(tmp_path: Path) -> None:
    """bmv2's priorities count the other way than P4Runtime's."""
    text = PROGRAM.replace(
        "table keyless",
        "table chosen { key = { hdr.eth.type: ternary; } actions = { count_; } }\n  table keyless",
    )
    text = text.replace("direct.apply();", "chosen.apply(); direct.apply();")
    text = text.replace(
        "action drop() {", "action count_(bit<32> cell) { cnt.count(cell); }\n  action drop() {"
    )
    with lab(tmp_path, text) as switch:
        for cell, priority in ((1, 20), (2, 10), (3, 30)):
            key = ternary(b"\0\0", bytes([0, 1 << cell]))
            data = [bytes([cell])]
            values = (0, "I.chosen", key, "I.count_", data, options(priority))
            switch.call("bm_mt_add_entry", *values)
        switch.packet(1)
        packets = [switch.call("bm_counter_read", 0, "I.cnt", cell).packets for cell in (1, 2, 3)]
        assert packets == [0, 1 + 1, 0]  # the program counts in cell 2 itself


def test_defaults(switch: Lab) -> None:
    action = TYPES["Target"](1, "I.drop", [])
    assert switch.call("bm_mt_get_default_entry", 0, "I.direct") == action
    switch.call("bm_mt_set_default_action", 0, "I.direct", "I.fwd", [b"\0"])
    now = TYPES["Target"](1, "I.fwd", [b"\0"])
    assert switch.call("bm_mt_get_default_entry", 0, "I.direct") == now
    switch.call("bm_mt_reset_default_entry", 0, "I.direct")
    assert switch.call("bm_mt_get_default_entry", 0, "I.direct") == action
    const = (0, "I.keyless", "I.fwd2", [b"\1", b"\1"])
    refused(TableCode.DEFAULT_ENTRY_CONST, switch, "bm_mt_set_default_action", *const)
    told = switch.call("bm_mt_get_default_entry", 0, "I.keyless")
    assert told == TYPES["Target"](1, "I.fwd2", [b"\x01\x2c", b"\x0a\x0b"])


def test_entries_of_the_program_stay(switch: Lab) -> None:
    (entry,) = switch.call("bm_mt_get_entries", 0, "I.fixed")
    assert (entry.key, entry.target.action) == (exact(b"\0\5"), "I.drop")
    handle = entry.handle
    values = (0, "I.fixed", exact(b"\0\6"), "I.drop", [], options())
    refused(TableCode.IMMUTABLE, switch, "bm_mt_add_entry", *values)
    refused(TableCode.IMMUTABLE, switch, "bm_mt_delete_entry", 0, "I.fixed", handle)
    refused(TableCode.IMMUTABLE, switch, "bm_mt_clear_entries", 0, "I.fixed", False)


def test_time_until_an_entry_is_idle(switch: Lab) -> None:
    handle = add_direct(switch)
    switch.call("bm_mt_set_entry_ttl", 0, "I.direct", handle, 1500)
    life = switch.call("bm_mt_get_entry", 0, "I.direct", handle).life
    assert life.timeout_ms == 1500 and 0 <= life.since_hit_ms < 60_000
    refused(TableCode.AGEING_DISABLED, switch, "bm_mt_set_entry_ttl", 0, "I.fixed", 0, 5)
    refused(TableCode.INVALID_HANDLE, switch, "bm_mt_set_entry_ttl", 0, "I.direct", 99, 5)


def test_members_and_groups(switch: Lab) -> None:
    add = ("bm_mt_act_prof_add_member", 0, "I.sel")
    assert switch.call(*add, "I.fwd2", [b"\1", b"\2"]) == 0
    assert switch.call(*add, "I.drop", []) == 1
    assert switch.call("bm_mt_act_prof_create_group", 0, "I.sel") == 0
    entry = (0, "I.selected", lpm(MAC, 16), 0, options())
    refused(TableCode.EMPTY_GROUP, switch, "bm_mt_indirect_ws_add_entry", *entry)
    join = ("bm_mt_act_prof_add_member_to_group", 0, "I.sel")
    switch.call(*join, 0, 0)
    switch.call(*join, 1, 0)
    refused(TableCode.MEMBER_IN_GROUP, switch, *join, 1, 0)
    refused(TableCode.INVALID_MEMBER, switch, *join, 9, 0)
    refused(TableCode.INVALID_GROUP, switch, *join, 1, 9)
    handle = switch.call("bm_mt_indirect_ws_add_entry", *entry)
    told = switch.call("bm_mt_get_entry", 0, "I.selected", handle)
    assert told.target == TYPES["Target"](3, group=0)
    assert told.key == lpm(MAC[:2] + bytes(4), 16)
    assert switch.call("bm_mt_act_prof_get_group", 0, "I.sel", 0).members == [0, 1]
    members = switch.call("bm_mt_act_prof_get_members", 0, "I.sel")
    assert members[0] == TYPES["Member"](0, "I.fwd2", [b"\1", b"\2"])
    refused(TableCode.MEMBER_USED, switch, "bm_mt_act_prof_delete_member", 0, "I.sel", 1)
    refused(TableCode.GROUP_USED, switch, "bm_mt_act_prof_delete_group", 0, "I.sel", 0)
    switch.call("bm_mt_indirect_modify_entry", 0, "I.selected", handle, 1)
    told = switch.call("bm_mt_get_entry", 0, "I.selected", handle)
    assert told.target == TYPES["Target"](2, member=1)
    switch.call("bm_mt_act_prof_delete_group", 0, "I.sel", 0)
    switch.call("bm_mt_act_prof_delete_member", 0, "I.sel", 0)
    assert switch.call(*add, "I.drop", []) == 0  # the lowest number that is free
    switch.call("bm_mt_indirect_delete_entry", 0, "I.selected", handle)
    assert switch.call("bm_mt_get_default_entry", 0, "I.selected").kind == 0
    switch.call("bm_mt_indirect_set_default_member", 0, "I.selected", 1)
    told = switch.call("bm_mt_get_default_entry", 0, "I.selected")
    assert told == TYPES["Target"](2, member=1)


def test_profiles_without_groups_and_tables_without_profiles(switch: Lab) -> None:
    refused(TableCode.NO_SELECTION, switch, "bm_mt_act_prof_create_group", 0, "I.prof")
    refused(TableCode.INVALID_PROFILE, switch, "bm_mt_act_prof_create_group", 0, "prof")
    refused(TableCode.WRONG_TYPE, switch, "bm_mt_indirect_delete_entry", 0, "I.direct", 0)
    group = (0, "I.shared", exact(MAC), 0, options())
    refused(TableCode.WRONG_TYPE, switch, "bm_mt_indirect_ws_add_entry", *group)
    refused(TableCode.INVALID_MEMBER, switch, "bm_mt_indirect_add_entry", *group)


def test_direct_counters_and_meters(switch: Lab) -> None:
    handle = add_direct(switch)
    value = TYPES["Count"](700, 7)
    switch.call("bm_mt_write_counter", 0, "I.direct", handle, value)
    assert switch.call("bm_mt_read_counter", 0, "I.direct", handle) == value
    switch.call("bm_mt_reset_counters", 0, "I.direct")
    assert switch.call("bm_mt_read_counter", 0, "I.direct", handle) == TYPES["Count"](0, 0)
    rates = [TYPES["Rate"](0.5, 100), TYPES["Rate"](2.0, 200)]
    assert switch.call("bm_mt_get_meter_rates", 0, "I.direct", handle) == []
    switch.call("bm_mt_set_meter_rates", 0, "I.direct", handle, rates)
    assert switch.call("bm_mt_get_meter_rates", 0, "I.direct", handle) == rates
    refused(TableCode.COUNTERS_DISABLED, switch, "bm_mt_read_counter", 0, "I.fixed", 0)
    refused(TableCode.METERS_DISABLED, switch, "bm_mt_get_meter_rates", 0, "I.fixed", 0)


def test_counters(switch: Lab) -> None:
    switch.packet(1)
    count = switch.call("bm_counter_read", 0, "I.cnt", 2)
    assert (count.packets, count.bytes) == (1, 64)
    switch.call("bm_counter_write", 0, "I.cnt", 3, TYPES["Count"](-1, 5))
    assert switch.call("bm_counter_read", 0, "I.cnt", 3) == TYPES["Count"](-1, 5)
    switch.call("bm_counter_reset_all", 0, "I.cnt")
    assert switch.call("bm_counter_read", 0, "I.cnt", 2) == TYPES["Count"](0, 0)
    for index in (8, -1):
        refused(CounterCode.INVALID_INDEX, switch, "bm_counter_read", 0, "I.cnt", index)
    for name in ("cnt", "I.dc", "I.reg"):
        refused(CounterCode.INVALID_NAME, switch, "bm_counter_read", 0, name, 0)


def test_registers(switch: Lab) -> None:
    switch.call("bm_register_write", 0, "I.reg", 3, 41)
    switch.packet(1)
    assert switch.call("bm_register_read", 0, "I.reg", 3) == 42
    switch.call("bm_register_write", 0, "I.reg", 0, -1)
    assert switch.call("bm_register_read", 0, "I.reg", 0) == 2**32 - 1
    switch.call("bm_register_write_range", 0, "I.reg", 4, 6, 9)
    cells = switch.call("bm_register_read_all", 0, "I.reg")
    assert cells == [2**32 - 1, 0, 0, 42, 9, 9, *[0] * 10]
    switch.call("bm_register_reset", 0, "I.reg")
    assert set(switch.call("bm_register_read_all", 0, "I.reg")) == {0}
    for index in (16, -1):
        refused(RegisterCode.INVALID_INDEX, switch, "bm_register_write", 0, "I.reg", index, 1)
    wide = (0, "I.reg", 14, 2**31 - 1, 1)
    refused(RegisterCode.INVALID_INDEX, switch, "bm_register_write_range", *wide)
    refused(RegisterCode.INVALID_NAME, switch, "bm_register_read", 0, "I.cnt", 0)


def test_meters(switch: Lab) -> None:
    rates = [TYPES["Rate"](0.25, 1500), TYPES["Rate"](1.0, 3000)]
    assert switch.call("bm_meter_get_rates", 0, "I.mtr", 1) == []
    switch.call("bm_meter_set_rates", 0, "I.mtr", 1, rates)
    assert switch.call("bm_meter_get_rates", 0, "I.mtr", 1) == rates
    switch.call("bm_meter_array_set_rates", 0, "I.mtr", rates)
    assert switch.call("bm_meter_get_rates", 0, "I.mtr", 3) == rates
    set_one = ("bm_meter_set_rates", 0, "I.mtr")
    refused(MeterCode.INVALID_INDEX, switch, *set_one, 4, rates)
    refused(MeterCode.BAD_RATES, switch, *set_one, 1, rates[:1])
    refused(MeterCode.INVALID_RATE, switch, *set_one, 1, rates[::-1])
    refused(MeterCode.INVALID_RATE, switch, *set_one, 1, [TYPES["Rate"](float("nan"), 1)] * 2)
    refused(MeterCode.INVALID_BURST, switch, *set_one, 1, [TYPES["Rate"](1.0, -1)] * 2)
    refused(MeterCode.INVALID_NAME, switch, "bm_meter_set_rates", 0, "I.dm", 1, rates)


def test_multicast(switch: Lab) -> None:
    assert switch.call("bm_mc_mgrp_create", 0, 7) == 7
    assert switch.call("bm_mc_node_create", 0, 5, "110", "") == 0
    assert switch.call("bm_mc_node_create", 0, 6, "1", service="simple_pre") == 1
    for node in (0, 1):
        switch.call("bm_mc_node_associate", 0, 7, node)
    told = json.loads(switch.call("bm_mc_get_entries", 0))
    assert told["mgrps"] == [{"id": 7, "l1_handles": [0, 1]}]
    assert [node["ports"] for node in told["l2_handles"]] == [[1, 2], [0]]
    refused(ReplicationCode.OTHER, switch, "bm_mc_node_associate", 0, 7, 1)
    refused(ReplicationCode.INVALID_NODE, switch, "bm_mc_node_associate", 0, 7, 9)
    refused(ReplicationCode.INVALID_GROUP_HANDLE, switch, "bm_mc_node_associate", 0, 8, 1)
    refused(ReplicationCode.INVALID_GROUP, switch, "bm_mc_mgrp_create", 0, 0)
    refused(ReplicationCode.OTHER, switch, "bm_mc_node_update", 0, 0, "12", "")
    refused(ReplicationCode.OTHER, switch, "bm_mc_set_lag_membership", 0, 1, "1")
    switch.call("bm_mc_node_destroy", 0, 1)
    refused(ReplicationCode.INVALID_NODE, switch, "bm_mc_node_dissociate", 0, 7, 1)


def test_copies_of_a_group_are_made(tmp_path: Path) -> None:
    """Seen without interfaces: egress counts each copy."""
    text = PROGRAM.replace("action drop() { mark_to_drop(sm); }", "action drop() { }")
    text = text.replace("bit<32> v;", "sm.mcast_grp = 7; bit<32> v;")
    text = text.replace("action none() { }", "register<bit<32>>(64) copies; action none() { }")
    text = text.replace(
        "{ out_t.apply(); }",
        "{ bit<32> n; bit<32> at = (bit<32>) sm.egress_rid;\n"
        "    copies.read(n, at); copies.write(at, n + 1); out_t.apply(); }",
    )
    with lab(tmp_path, text) as switch:
        switch.call("bm_mc_mgrp_create", 0, 7)
        switch.call("bm_mc_node_create", 0, 5, "110", "")
        switch.call("bm_mc_node_associate", 0, 7, 0)
        switch.packet(1)
        switch.call("bm_mc_node_update", 0, 0, "1111", "")
        switch.packet(1)
        assert switch.call("bm_register_read", 0, "E.copies", 5) == 2 + 4
        switch.call("bm_mc_mgrp_destroy", 0, 7)
        switch.packet(1)
        assert switch.call("bm_register_read", 0, "E.copies", 5) == 6


def test_mirroring_and_queues(switch: Lab) -> None:
    switch.call("mirroring_session_add", 100, TYPES["Session"](2))
    assert switch.call("mirroring_session_get", 100) == TYPES["Session"](2)
    assert switch.call("mirroring_mapping_get_egress_port", 100) == 2
    switch.call("mirroring_session_delete", 100)
    refused(MirrorCode.NOT_FOUND, switch, "mirroring_session_get", 100)
    refused(MirrorCode.NOT_FOUND, switch, "mirroring_session_delete", 100)
    assert switch.call("mirroring_mapping_delete", 100) == 0
    assert switch.call("set_all_egress_queue_depths", 10) == 0
    assert switch.call("set_egress_queue_rate", 1, 1000) == 0
    assert switch.call("set_egress_priority_queue_rate", 1, 200, 1000) == -1
    assert switch.call("set_egress_queue_depth", 1, -5) == -1
    switch.call("set_all_egress_queue_rates", 0)


def test_custom_crcs(switch: Lab) -> None:
    crc = TYPES["Crc32"](0x04C11DB7, -1, -1, True, True)
    switch.call("bm_set_crc32_custom_parameters", 0, "calc", crc)
    call = "bm_set_crc32_custom_parameters"
    refused(CrcCode.WRONG_TYPE, switch, call, 0, "calc_1", crc)
    refused(CrcCode.INVALID_NAME, switch, call, 0, "calc_9", crc)


def test_value_sets(switch: Lab) -> None:
    for value in (b"\x12\x34", b"\x12\x35", b"\x12\x34"):
        switch.call("bm_parse_vset_add", 0, "P.vs", value)
    assert switch.call("bm_parse_vset_get", 0, "P.vs") == [b"\x12\x34", b"\x12\x35"]
    switch.call("bm_parse_vset_remove", 0, "P.vs", b"\x12\x34")
    assert switch.call("bm_parse_vset_get", 0, "P.vs") == [b"\x12\x35"]
    switch.call("bm_parse_vset_clear", 0, "P.vs")
    assert switch.call("bm_parse_vset_get", 0, "P.vs") == []
    refused(ValueSetCode.OTHER, switch, "bm_parse_vset_add", 0, "P.vs", b"\1\0\0")
    refused(ValueSetCode.INVALID_NAME, switch, "bm_parse_vset_get", 0, "vs")


def test_the_program_and_its_checksum(tmp_path: Path, switch: Lab) -> None:
    program = _engine.compile_text("all.p4", PROGRAM).program
    assert program is not None
    config = switch.call("bm_get_config")
    assert config == bmv2json.text(program)
    assert switch.call("bm_get_config_md5") == hashlib.md5(config.encode()).digest()
    given = config.replace('"p4lab"', '"p4c"')  # started from a file, that file is the program
    with lab(tmp_path, config=given) as other:
        assert other.call("bm_get_config") == given
    refused(SwapCode.DISABLED, switch, "bm_load_new_config", "{}")
    refused(SwapCode.DISABLED, switch, "bm_swap_configs")


def test_what_the_switch_is(switch: Lab) -> None:
    info = switch.call("bm_mgmt_get_info")
    assert (info.device, info.port) == (3, switch.port)
    assert info.notifications == switch.notifications
    assert switch.call("bm_dev_mgr_show_ports") == []
    refused(PortCode.OTHER, switch, "bm_dev_mgr_add_port", "eth9", 9, "")
    assert switch.call("bm_get_id_from_name", 0, 4, "I.reg") == 0
    assert switch.call("bm_get_id_from_name", 0, 5, "learn_t") == 1
    refused(LookupCode.INVALID_NAME, switch, "bm_get_id_from_name", 0, 0, "I.reg")
    refused(LookupCode.INVALID_TYPE, switch, "bm_get_id_from_name", 0, 6, "I.reg")
    first = switch.call("get_time_elapsed_us")
    assert 0 <= first <= switch.call("get_time_elapsed_us")


def test_a_reset_leaves_nothing_but_the_program(switch: Lab) -> None:
    add_direct(switch)
    switch.call("bm_mt_act_prof_add_member", 0, "I.sel", "I.drop", [])
    group = switch.call("bm_mt_act_prof_create_group", 0, "I.sel")
    switch.call("bm_mt_act_prof_add_member_to_group", 0, "I.sel", 0, group)
    entry = (0, "I.selected", lpm(MAC, 16), group, options())
    switch.call("bm_mt_indirect_ws_add_entry", *entry)
    switch.call("bm_mt_indirect_ws_set_default_group", 0, "I.selected", group)
    switch.call("bm_mt_set_default_action", 0, "I.direct", "I.fwd", [b"\1"])
    switch.call("bm_register_write", 0, "I.reg", 3, 1)
    switch.call("bm_mc_mgrp_create", 0, 7)
    switch.call("bm_reset_state")
    assert switch.call("bm_mt_get_entries", 0, "I.direct") == []
    assert switch.call("bm_mt_get_entries", 0, "I.selected") == []
    assert switch.call("bm_mt_get_default_entry", 0, "I.direct").action == "I.drop"
    assert switch.call("bm_mt_act_prof_get_members", 0, "I.sel") == []
    assert switch.call("bm_register_read", 0, "I.reg", 3) == 0
    assert json.loads(switch.call("bm_mc_get_entries", 0))["mgrps"] == []
    assert len(switch.call("bm_mt_get_entries", 0, "I.fixed")) == 1


def subscriber(switch: Lab) -> socket.socket:
    """What nanomsg does to subscribe."""
    own = socket.socket(socket.AF_UNIX)
    own.settimeout(20)
    own.connect(switch.notifications.removeprefix("ipc://"))
    own.sendall(b"\0SP\0\0\x21\0\0")
    assert own.recv(8, socket.MSG_WAITALL) == b"\0SP\0\0\x20\0\0"
    return own


def told(own: socket.socket) -> tuple[int, list[bytes]]:
    """One message of the digest of the program: its number and samples."""
    kind, length = struct.unpack(">BQ", own.recv(9, socket.MSG_WAITALL))
    message = own.recv(length, socket.MSG_WAITALL)
    topic, device, context, number, buffer, count = struct.unpack_from("<4sQIiQI", message)
    assert (kind, topic, device, context, number) == (1, b"LEA|", 3, 0, 1)
    size = len(message[32:]) // count
    return buffer, [message[at : at + size] for at in range(32, len(message), size)]


def test_digests_are_told_once_until_they_are_acknowledged(tmp_path: Path) -> None:
    with lab(tmp_path) as switch, subscriber(switch) as own:
        while True:  # the server has its own time to notice a subscriber
            switch.packet(0x0A0B)
            own.settimeout(0.2)
            try:
                buffer, samples = told(own)
                break
            except TimeoutError:
                continue
        own.settimeout(20)
        # tag (4 and 12 bits), source, port, kind, flag: each in bytes of its own
        assert samples == [b"\0" + b"\0\0" + b"\0\0\0\0\x0a\x0b" + b"\x01\xfe" + b"\1" + b"\0"]
        switch.packet(0x0A0B)
        switch.packet(2)
        second, samples = told(own)
        assert samples[0][3:9] == b"\0\0\0\0\0\2" and second == buffer + 1
        switch.call("bm_learning_ack_buffer", 0, 1, buffer)
        switch.packet(0x0A0B)
        third, samples = told(own)
        assert samples[0][3:9] == b"\0\0\0\0\x0a\x0b"
        switch.call("bm_learning_ack", 0, 1, third, [0])
        switch.call("bm_learning_set_buffer_size", 0, 1, 2)
        switch.packet(5)
        switch.packet(6)
        assert len(told(own)[1]) == 2
        refused(LearnCode.INVALID_ID, switch, "bm_learning_ack_buffer", 0, 9, 0)
        refused(LearnCode.OTHER, switch, "bm_learning_set_buffer_size", 0, 1, 0)


def test_the_switch_serves_the_json_that_it_was_started_with(tmp_path: Path) -> None:
    """`p4lab switch FILE.json --thrift-port N`, as scripts for simple_switch start it."""
    (tmp_path / "all.p4").write_text(PROGRAM)
    program = _engine.compile_text("all.p4", PROGRAM).program
    assert program is not None
    config = tmp_path / "all.json"
    config.write_text(bmv2json.text(program, path="all.p4"))
    log = tmp_path / "log.txt"
    words = f"--thrift-port 0 --log-file {log} --notifications-addr ipc://{tmp_path}/n.ipc {config}"
    ended, ready = threading.Event(), threading.Event()
    options = parse([*words.split(), "--", "--grpc-server-addr", "127.0.0.1:0"])
    thread = threading.Thread(target=run, args=(options, ended, ready))
    thread.start()
    try:
        assert ready.wait(60)
        (port,) = re.findall(r"Thrift on port (\d+)", log.read_text())
        client = Client(int(port))
        assert client("bm_get_config") == config.read_text()
        client.close()
    finally:
        ended.set()
        thread.join()


def test_a_switch_that_waits_for_its_program_has_nothing_yet(tmp_path: Path) -> None:
    forwarder = _engine.Forwarder(None, [], _engine.Inbox())
    address = f"ipc://{tmp_path}/n.ipc"
    with serving(forwarder, None, port=0, host="127.0.0.1", notifications=address) as port:
        client = Client(port)
        assert client("bm_get_config") == "{}"
        with pytest.raises(interface.TableRefused):
            client("bm_mt_get_num_entries", 0, "I.direct")
        client("bm_reset_state")
        client.close()
    forwarder.stop()


def test_two_switches_of_one_number_tell_digests_at_two_places(tmp_path: Path) -> None:
    """Scripts that number no switch start several."""
    own = 2**40 + int.from_bytes(str(tmp_path).encode()[-3:], "big")  # nobody else's number
    forwarders = [_engine.Forwarder(None, [], _engine.Inbox()) for _ in range(2)]
    first, second = (
        serving(one, None, port=0, host="127.0.0.1", device_id=own) for one in forwarders
    )
    with first as port, second as other:
        clients = [Client(port), Client(other)]
        places = {client("bm_mgmt_get_info").notifications for client in clients}
        for client in clients:
            client.close()
    for forwarder in forwarders:
        forwarder.stop()
    assert len(places) == 2 and f"ipc:///tmp/bmv2-{own}-notifications.ipc" in places
    assert not any(Path(place.removeprefix("ipc://")).exists() for place in places)
