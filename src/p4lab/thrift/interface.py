"""The interface of simple_switch's runtime API: calls, types and numbers (bmv2 1.15).

In front of a call's name stands its service, as the clients multiplex them: `standard`,
`simple_switch`, `simple_pre`, `simple_pre_lag`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from p4lab.thrift.shapes import Method, Struct, methods, refusal, structs


class MatchKind(IntEnum):
    """What a match parameter is."""

    EXACT = 0
    LPM = 1
    TERNARY = 2
    VALID = 3
    RANGE = 4


class ActionKind(IntEnum):
    """What an entry leads to."""

    NONE = 0
    ACTION = 1
    MEMBER = 2
    GROUP = 3


class TableCode(IntEnum):
    """Why a table or an action profile refuses."""

    FULL = 1
    INVALID_HANDLE = 2
    EXPIRED_HANDLE = 3
    COUNTERS_DISABLED = 4
    METERS_DISABLED = 5
    AGEING_DISABLED = 6
    INVALID_TABLE = 7
    INVALID_ACTION = 8
    WRONG_TYPE = 9
    INVALID_MEMBER = 10
    MEMBER_USED = 11
    MEMBER_IN_GROUP = 12
    MEMBER_NOT_IN_GROUP = 13
    INVALID_GROUP = 14
    GROUP_USED = 15
    EMPTY_GROUP = 16
    DUPLICATE = 17
    BAD_KEY = 18
    INVALID_METER = 19
    DEFAULT_ACTION_CONST = 20
    DEFAULT_ENTRY_CONST = 21
    NO_DEFAULT = 22
    INVALID_PROFILE = 23
    NO_SELECTION = 24
    IMMUTABLE = 25
    BAD_DATA = 26
    NO_KEY = 27
    OTHER = 100


class CounterCode(IntEnum):
    """Why a counter refuses."""

    INVALID_NAME = 1
    INVALID_INDEX = 2
    OTHER = 3


class MeterCode(IntEnum):
    """Why a meter refuses."""

    INVALID_NAME = 1
    INVALID_INDEX = 2
    BAD_RATES = 3
    INVALID_RATE = 4
    INVALID_BURST = 5
    OTHER = 6


class RegisterCode(IntEnum):
    """Why a register refuses."""

    INVALID_NAME = 1
    INVALID_INDEX = 2
    OTHER = 3


class SwapCode(IntEnum):
    """Why a program is not exchanged."""

    DISABLED = 1


class ValueSetCode(IntEnum):
    """Why a parser's value set refuses."""

    INVALID_NAME = 1
    OTHER = 2


class LearnCode(IntEnum):
    """Why digests refuse."""

    INVALID_ID = 1
    INVALID_NAME = 2
    OTHER = 3


class PortCode(IntEnum):
    """Why ports refuse."""

    OTHER = 1


class CrcCode(IntEnum):
    """Why a CRC or a Toeplitz hash refuses."""

    INVALID_NAME = 1
    WRONG_TYPE = 2
    INVALID_CONFIG = 3


class LookupCode(IntEnum):
    """Why a name has no number."""

    INVALID_TYPE = 0
    INVALID_NAME = 1


class ReplicationCode(IntEnum):
    """Why multicast refuses."""

    FULL = 1
    INVALID_GROUP = 2
    INVALID_GROUP_HANDLE = 3
    INVALID_NODE = 4
    OTHER = 5


class MirrorCode(IntEnum):
    """Why a mirroring session refuses."""

    NOT_FOUND = 1


TableRefused = refusal("TableRefused")
CounterRefused = refusal("CounterRefused")
MeterRefused = refusal("MeterRefused")
RegisterRefused = refusal("RegisterRefused")
SwapRefused = refusal("SwapRefused")
ValueSetRefused = refusal("ValueSetRefused")
LearnRefused = refusal("LearnRefused")
PortRefused = refusal("PortRefused")
CrcRefused = refusal("CrcRefused")
LookupRefused = refusal("LookupRefused")
ReplicationRefused = refusal("ReplicationRefused")
MirrorRefused = refusal("MirrorRefused")

_REFUSALS: dict[str, Struct] = {
    "table": TableRefused,
    "counter": CounterRefused,
    "meter": MeterRefused,
    "register": RegisterRefused,
    "swap": SwapRefused,
    "value set": ValueSetRefused,
    "learn": LearnRefused,
    "port": PortRefused,
    "crc": CrcRefused,
    "lookup": LookupRefused,
    "replication": ReplicationRefused,
    "mirror": MirrorRefused,
}

TYPES = structs("""
    Exact: key bytes
    Lpm: key bytes, length i32
    Ternary: key bytes, mask bytes
    Valid: key bool
    Range: low bytes, high bytes
    Match: kind i32, exact Exact, lpm Lpm, ternary Ternary, valid Valid, range Range
    Options: priority i32
    Count: bytes i64, packets i64
    Rate: per_microsecond double, burst i32
    Target: kind i32, action text, data [bytes], member i32, group i32
    Life: timeout_ms i32, since_hit_ms i32
    Entry: key [Match], options Options, handle i32, target Target, life Life
    Member: handle i32, action text, data [bytes]
    Group: handle i32, members [i32]
    Port: number i32, interface text, is_up bool, extra {text}
    Info: device i64, port i32, notifications text, events text, debugger text
    Crc16: polynomial i16, initial i16, xor i16, reflect_data bool, reflect_remainder bool
    Crc32: polynomial i32, initial i32, xor i32, reflect_data bool, reflect_remainder bool
    Session: port i32, group i32
""")

_STANDARD = """
    ! table
    bm_mt_get_num_entries: context i32, table text -> i64
    bm_mt_clear_entries: context i32, table text, reset_default bool
    bm_mt_add_entry: context i32, table text, key [Match], action text, data [bytes], \
        options Options -> i32
    bm_mt_set_default_action: context i32, table text, action text, data [bytes]
    bm_mt_reset_default_entry: context i32, table text
    bm_mt_delete_entry: context i32, table text, handle i32
    bm_mt_modify_entry: context i32, table text, handle i32, action text, data [bytes]
    bm_mt_set_entry_ttl: context i32, table text, handle i32, timeout_ms i32
    bm_mt_act_prof_add_member: context i32, profile text, action text, data [bytes] -> i32
    bm_mt_act_prof_delete_member: context i32, profile text, member i32
    bm_mt_act_prof_modify_member: context i32, profile text, member i32, action text, data [bytes]
    bm_mt_act_prof_create_group: context i32, profile text -> i32
    bm_mt_act_prof_delete_group: context i32, profile text, group i32
    bm_mt_act_prof_add_member_to_group: context i32, profile text, member i32, group i32
    bm_mt_act_prof_remove_member_from_group: context i32, profile text, member i32, group i32
    bm_mt_act_prof_get_members: context i32, profile text -> [Member]
    bm_mt_act_prof_get_member: context i32, profile text, member i32 -> Member
    bm_mt_act_prof_get_groups: context i32, profile text -> [Group]
    bm_mt_act_prof_get_group: context i32, profile text, group i32 -> Group
    bm_mt_indirect_add_entry: context i32, table text, key [Match], member i32, \
        options Options -> i32
    bm_mt_indirect_modify_entry: context i32, table text, handle i32, member i32
    bm_mt_indirect_delete_entry: context i32, table text, handle i32
    bm_mt_indirect_set_entry_ttl: context i32, table text, handle i32, timeout_ms i32
    bm_mt_indirect_set_default_member: context i32, table text, member i32
    bm_mt_indirect_reset_default_entry: context i32, table text
    bm_mt_indirect_ws_add_entry: context i32, table text, key [Match], group i32, \
        options Options -> i32
    bm_mt_indirect_ws_modify_entry: context i32, table text, handle i32, group i32
    bm_mt_indirect_ws_set_default_group: context i32, table text, group i32
    bm_mt_read_counter: context i32, table text, handle i32 -> Count
    bm_mt_reset_counters: context i32, table text
    bm_mt_write_counter: context i32, table text, handle i32, value Count
    bm_mt_set_meter_rates: context i32, table text, handle i32, rates [Rate]
    bm_mt_get_meter_rates: context i32, table text, handle i32 -> [Rate]
    bm_mt_get_entries: context i32, table text -> [Entry]
    bm_mt_get_entry: context i32, table text, handle i32 -> Entry
    bm_mt_get_default_entry: context i32, table text -> Target
    bm_mt_get_entry_from_key: context i32, table text, key [Match], options Options -> Entry

    ! counter
    bm_counter_read: context i32, counter text, index i32 -> Count
    bm_counter_reset_all: context i32, counter text
    bm_counter_write: context i32, counter text, index i32, value Count

    ! learn
    bm_learning_ack: context i32, digest i32, buffer i64, samples [i32]
    bm_learning_ack_buffer: context i32, digest i32, buffer i64
    bm_learning_set_timeout: context i32, digest i32, timeout_ms i32
    bm_learning_set_buffer_size: context i32, digest i32, samples i32

    ! swap
    bm_load_new_config: config text
    bm_swap_configs:

    ! meter
    bm_meter_array_set_rates: context i32, meter text, rates [Rate]
    bm_meter_set_rates: context i32, meter text, index i32, rates [Rate]
    bm_meter_get_rates: context i32, meter text, index i32 -> [Rate]

    ! register
    bm_register_read: context i32, register text, index i32 -> i64
    bm_register_read_all: context i32, register text -> [i64]
    bm_register_write: context i32, register text, index i32, value i64
    bm_register_write_range: context i32, register text, start i32, end i32, value i64
    bm_register_reset: context i32, register text

    ! value set
    bm_parse_vset_add: context i32, value_set text, value bytes
    bm_parse_vset_remove: context i32, value_set text, value bytes
    bm_parse_vset_get: context i32, value_set text -> [bytes]
    bm_parse_vset_clear: context i32, value_set text

    ! port
    bm_dev_mgr_add_port: interface text, port i32, capture text
    bm_dev_mgr_remove_port: port i32
    bm_dev_mgr_show_ports: -> [Port]

    ! crc
    bm_set_crc16_custom_parameters: context i32, calculation text, parameters Crc16
    bm_set_crc32_custom_parameters: context i32, calculation text, parameters Crc32
    bm_set_toeplitz_hash_key: context i32, calculation text, key bytes

    ! lookup
    bm_get_id_from_name: context i32, kind i32, name text -> i32

    ! nothing
    bm_mgmt_get_info: -> Info
    bm_reset_state:
    bm_get_config: -> text
    bm_get_config_md5: -> bytes
"""

_SIMPLE_SWITCH = """
    ! nothing
    mirroring_mapping_add: session i32, port i32 -> i32
    mirroring_mapping_delete: session i32 -> i32
    mirroring_mapping_get_egress_port: session i32 -> i32
    set_egress_priority_queue_depth: port i32, priority i32, packets i32 -> i32
    set_egress_queue_depth: port i32, packets i32 -> i32
    set_all_egress_queue_depths: packets i32 -> i32
    set_egress_priority_queue_rate: port i32, priority i32, rate i64 -> i32
    set_egress_queue_rate: port i32, rate i64 -> i32
    set_all_egress_queue_rates: rate i64 -> i32
    get_time_elapsed_us: -> i64
    get_time_since_epoch_us: -> i64

    ! mirror
    mirroring_session_add: session i32, to Session
    mirroring_session_delete: session i32
    mirroring_session_get: session i32 -> Session
"""

_REPLICATION = """
    ! replication
    bm_mc_mgrp_create: context i32, group i32 -> i32
    bm_mc_mgrp_destroy: context i32, group i32
    bm_mc_node_associate: context i32, group i32, node i32
    bm_mc_node_dissociate: context i32, group i32, node i32
    bm_mc_node_destroy: context i32, node i32
    bm_mc_get_entries: context i32 -> text
"""

_SIMPLE_PRE = """
    bm_mc_node_create: context i32, rid i32, ports text -> i32
    bm_mc_node_update: context i32, node i32, ports text
"""

_SIMPLE_PRE_LAG = """
    bm_mc_node_create: context i32, rid i32, ports text, lags text -> i32
    bm_mc_node_update: context i32, node i32, ports text, lags text
    bm_mc_set_lag_membership: context i32, lag i16, ports text
"""


def services(known: Mapping[str, Struct]) -> dict[str, dict[str, Method]]:
    """The calls of each service, made of these classes."""
    tables = {
        "standard": _STANDARD,
        "simple_switch": _SIMPLE_SWITCH,
        "simple_pre": _REPLICATION + _SIMPLE_PRE,
        "simple_pre_lag": _REPLICATION + _SIMPLE_PRE_LAG,
    }
    return {name: methods(table, known) for name, table in tables.items()}


SERVICES = services({**TYPES, **_REFUSALS})
