"""What bmv2's own Python packages offer to clients: the same calls and types under their names.

p4-utils and other controllers import `bm_runtime`, `sswitch_runtime` and `bmpy_utils`, which are
built with bmv2. In shims' Python these modules come from here.
"""

from __future__ import annotations

from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TMultiplexedProtocol import TMultiplexedProtocol
from thrift.Thrift import TApplicationException, TMessageType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from p4lab.thrift.interface import services
from p4lab.thrift.shapes import Method, Struct, refusal, structs

# Our name of a type or refusal, bmv2's, and bmv2's fields.
_STRUCTS = """
    Exact BmMatchParamExact: key bytes
    Lpm BmMatchParamLPM: key bytes, prefix_length i32
    Ternary BmMatchParamTernary: key bytes, mask bytes
    Valid BmMatchParamValid: key bool
    Range BmMatchParamRange: start bytes, end_ bytes
    Match BmMatchParam: type i32, exact Exact, lpm Lpm, ternary Ternary, valid Valid, range Range
    Options BmAddEntryOptions: priority i32
    Count BmCounterValue: bytes i64, packets i64
    Rate BmMeterRateConfig: units_per_micros double, burst_size i32
    Target BmActionEntry: action_type i32, action_name text, action_data [bytes], \
        mbr_handle i32, grp_handle i32
    Life BmMtEntryLife: timeout_ms i32, time_since_hit_ms i32
    Entry BmMtEntry: match_key [Match], options Options, entry_handle i32, action_entry Target, \
        life Life
    Member BmMtActProfMember: mbr_handle i32, action_name text, action_data [bytes]
    Group BmMtActProfGroup: grp_handle i32, mbr_handles [i32]
    Port DevMgrPortInfo: port_num i32, iface_name text, is_up bool, extra {text}
    Info BmConfig: device_id i64, thrift_port i32, notifications_socket text, \
        elogger_socket text, debugger_socket text
    Crc16 BmCrc16Config: polynomial i16, initial_remainder i16, final_xor_value i16, \
        data_reflected bool, remainder_reflected bool
    Crc32 BmCrc32Config: polynomial i32, initial_remainder i32, final_xor_value i32, \
        data_reflected bool, remainder_reflected bool
    Session MirroringSessionConfig: port i32, mgid i32
"""
_REFUSALS = {
    "table": "InvalidTableOperation",
    "counter": "InvalidCounterOperation",
    "meter": "InvalidMeterOperation",
    "register": "InvalidRegisterOperation",
    "swap": "InvalidSwapOperation",
    "value set": "InvalidParseVSetOperation",
    "learn": "InvalidLearnOperation",
    "port": "InvalidDevMgrOperation",
    "crc": "InvalidCrcOperation",
    "lookup": "InvalidIdLookup",
    "replication": "InvalidMcOperation",
    "mirror": "InvalidMirroringOperation",
}
# Numbers with names: those that follow the first count up, unless they say something else.
_CODES = """
    BmMatchParamType 0 EXACT LPM TERNARY VALID RANGE
    BmActionEntryType 0 NONE ACTION_DATA MBR_HANDLE GRP_HANDLE
    BmResourceType 0 MATCH_TABLE ACTION_PROFILE COUNTER METER REGISTER LEARNING_LIST
    TableOperationErrorCode 1 TABLE_FULL INVALID_HANDLE EXPIRED_HANDLE COUNTERS_DISABLED \
        METERS_DISABLED AGEING_DISABLED INVALID_TABLE_NAME INVALID_ACTION_NAME WRONG_TABLE_TYPE \
        INVALID_MBR_HANDLE MBR_STILL_USED MBR_ALREADY_IN_GRP MBR_NOT_IN_GRP INVALID_GRP_HANDLE \
        GRP_STILL_USED EMPTY_GRP DUPLICATE_ENTRY BAD_MATCH_KEY INVALID_METER_OPERATION \
        DEFAULT_ACTION_IS_CONST DEFAULT_ENTRY_IS_CONST NO_DEFAULT_ENTRY \
        INVALID_ACTION_PROFILE_NAME NO_ACTION_PROFILE_SELECTION IMMUTABLE_TABLE_ENTRIES \
        BAD_ACTION_DATA NO_TABLE_KEY 100 ERROR
    CounterOperationErrorCode 1 INVALID_COUNTER_NAME INVALID_INDEX ERROR
    SwapOperationErrorCode 1 CONFIG_SWAP_DISABLED ONGOING_SWAP NO_ONGOING_SWAP
    MeterOperationErrorCode 1 INVALID_METER_NAME INVALID_INDEX BAD_RATES_LIST \
        INVALID_INFO_RATE_VALUE INVALID_BURST_SIZE_VALUE ERROR
    RegisterOperationErrorCode 1 INVALID_REGISTER_NAME INVALID_INDEX ERROR
    ParseVSetOperationErrorCode 1 INVALID_PARSE_VSET_NAME ERROR
    LearnOperationErrorCode 1 INVALID_LIST_ID INVALID_LIST_NAME ERROR
    DevMgrErrorCode 1 ERROR
    CrcErrorCode 1 INVALID_CALCULATION_NAME WRONG_TYPE_CALCULATION INVALID_CONFIG
    ToeplitzHashErrorCode 1 INVALID_CALCULATION_NAME WRONG_TYPE_CALCULATION INVALID_KEY
    IdLookupErrorCode 0 INVALID_RESOURCE_TYPE INVALID_RESOURCE_NAME
    McOperationErrorCode 1 TABLE_FULL INVALID_MGID INVALID_MGRP_HANDLE INVALID_L1_HANDLE ERROR
    MirroringOperationErrorCode 1 SESSION_NOT_FOUND
"""


def _lines(table: str) -> list[str]:
    return [line.strip() for line in table.splitlines() if line.strip()]


def _structs() -> tuple[dict[str, Struct], dict[str, Struct]]:
    """All classes: by our names, by bmv2's."""
    own: dict[str, Struct] = {}
    theirs: dict[str, Struct] = {}
    for line in _lines(_STRUCTS):
        heads, _, fields = line.partition(":")
        name, foreign = heads.split()
        own[name] = theirs[foreign] = structs(f"{name}: {fields}", own)[name]
        own[name].__name__ = foreign
    for name, foreign in _REFUSALS.items():
        own[name] = theirs[foreign] = refusal(foreign)
    theirs["InvalidToeplitzHashOperation"] = refusal("InvalidToeplitzHashOperation")
    return own, theirs


def _codes() -> dict[str, type]:
    made: dict[str, type] = {}
    for line in _lines(_CODES):
        name, *words = line.split()
        numbers: dict[str, int] = {}
        at = 0
        for word in words:
            if word.isdigit():
                at = int(word)
                continue
            numbers[word] = at
            at += 1
        names = {number: word for word, number in numbers.items()}
        body = {**numbers, "_VALUES_TO_NAMES": names, "_NAMES_TO_VALUES": numbers}
        made[name] = type(name, (), body)
    return made


_OWN, _THEIRS = _structs()
_SERVICES = services(_OWN)
TYPES: dict[str, Any] = {**_THEIRS, **_codes()}
"""Structs, refusals and numbers by bmv2's names"""


def client(service: str) -> type:
    """The class `Client` of a service's module."""
    methods = _SERVICES[service]

    def __init__(self: Any, into: Any, out: Any = None) -> None:
        self._in, self._out = into, out or into

    calls = {name: _caller(method) for name, method in methods.items()}
    return type("Client", (), {"__init__": __init__, **calls})


def _caller(method: Method) -> Any:
    def call(self: Any, *values: Any) -> Any:
        self._out.writeMessageBegin(method.name, TMessageType.CALL, 0)
        method.arguments(*values).write(self._out)
        self._out.writeMessageEnd()
        self._out.trans.flush()
        _, kind, _ = self._in.readMessageBegin()
        if kind == TMessageType.EXCEPTION:
            error = TApplicationException()
            error.read(self._in)
            self._in.readMessageEnd()
            raise error
        result = method.result()
        result.read(self._in)
        self._in.readMessageEnd()
        if getattr(result, "refusal", None) is not None:
            raise result.refusal
        return getattr(result, "success", None)

    return call


def thrift_connect(
    host: str, port: int, wanted: list[tuple[str | None, Any]], out: Any = None
) -> list[Any]:
    """A client for each service, over one connection; ends the program where nobody answers."""
    transport = TBufferedTransport(TSocket(host, port))
    try:
        transport.open()
    except TTransportException:
        raise SystemExit(f"No switch speaks Thrift at {host}:{port}.") from None
    protocol = TBinaryProtocol(transport)
    return [
        None if name is None else cls(TMultiplexedProtocol(protocol, name)) for name, cls in wanted
    ]
