"""What a program shows to BFRT, from its P4Info, and what every Tofino has beside it.

A table of BFRT is called by its pipeline and its full name, its actions by their full names, its
key fields as P4Info calls them. Tables whose names begin with $ or tf1. belong to the chip.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from p4lab import _engine
from p4lab.model.entries import Exact, Lpm, Match, Range, Ternary
from p4lab.plurals import count_of

PIPELINE = "pipe"  # what the programs of the lab call their Pipeline
PRIORITY = "$MATCH_PRIORITY"
NEEDS_PRIORITY = frozenset({"TERNARY", "RANGE", "OPTIONAL"})


@dataclass(frozen=True)
class Field:
    """A key field or a parameter: `kind` is P4Info's match type, "" for parameters."""

    name: str
    bits: int
    kind: str = ""


@dataclass(frozen=True)
class Action:
    name: str
    alias: str
    params: tuple[Field, ...]


@dataclass(frozen=True)
class Table:
    name: str
    alias: str
    key: tuple[Field, ...]
    actions: tuple[Action, ...]
    size: int
    const_entries: bool
    const_default: bool

    @property
    def bfrt(self) -> str:
        """Its name in BFRT."""
        return f"{PIPELINE}.{self.name}"

    @property
    def has_priorities(self) -> bool:
        return any(field.kind in NEEDS_PRIORITY for field in self.key)

    def action(self, name: str) -> Action:
        """The action called by its full name, alias or a dotted suffix. Raises ValueError."""
        return _named("action", name, self.actions)


class Program:
    """The tables, registers and counters of a program."""

    def __init__(self, p4info: str, instances: Iterable[Mapping[str, Any]] = ()) -> None:
        """`p4info` is P4Info as JSON, which knows no externs of TNA: these are `instances`, with
        name and type, and a meter's unit."""
        instances = list(instances)
        data = json.loads(p4info)
        kinds = {each["name"]: each["type"] for each in instances}
        self.registers = tuple(name for name, kind in kinds.items() if kind == "Register")
        self.meters = {each["name"]: each["unit"] for each in instances if "unit" in each}
        self.counters = tuple(name for name, kind in kinds.items() if kind == "Counter")
        actions = {
            action["preamble"]["id"]: Action(
                action["preamble"]["name"],
                action["preamble"]["alias"],
                tuple(Field(p["name"], p["bitwidth"]) for p in action.get("params", ())),
            )
            for action in data.get("actions", ())
        }
        self.tables = tuple(_table(table, actions) for table in data.get("tables", ()))

    @staticmethod
    def of(program: _engine.Program) -> Program:
        """What a compiled program shows."""
        return Program(program.p4info(json=True), program.summary["instances"])

    def register(self, name: str) -> str:
        """The full name of a register. Raises ValueError."""
        return _only("register", name, self.registers)

    def meter(self, name: str) -> tuple[str, str]:
        """The full name of a meter, and what it measures: "bytes" or "packets". Raises
        ValueError."""
        full = _only("meter", name, self.meters)
        return full, self.meters[full]

    def counter(self, name: str) -> str:
        """The full name of a counter. Raises ValueError."""
        return _only("counter", name, self.counters)

    def table(self, name: str) -> Table:
        """The table called by its full name, alias or a dotted suffix. Raises ValueError."""
        return _named("table", name, self.tables)


def _table(data: dict[str, Any], actions: dict[int, Action]) -> Table:
    return Table(
        data["preamble"]["name"],
        data["preamble"]["alias"],
        tuple(
            Field(field["name"], field["bitwidth"], field.get("matchType", "EXACT"))
            for field in data.get("matchFields", ())
        ),
        tuple(actions[ref["id"]] for ref in data.get("actionRefs", ())),
        int(data.get("size", 0)),
        bool(data.get("isConstTable")),
        "constDefaultActionId" in data,
    )


Item = TypeVar("Item", Action, Table)


def _named(what: str, name: str, items: Iterable[Item]) -> Item:
    by_name = {item.name: item for item in items}
    for item in by_name.values():
        if name == item.alias:
            return item
    return by_name[_only(what, name, by_name)]


def _only(what: str, name: str, names: Iterable[str]) -> str:
    """The one full name that is `name` or ends in it."""
    found = [full for full in names if full.endswith(f".{name}")]
    if name in names:
        return name
    if len(found) != 1:
        why = "no" if not found else "more than one"
        raise ValueError(f"the program has {why} {what} {name}")
    return found[0]


# ---- What every Tofino 1 has -------------------------------------------------------------------

PORT = "$PORT"
PORT_STAT = "$PORT_STAT"
PORT_UP = "$PORT_UP"  # of $PORT: whether there is a link; to be read only
QUEUED = "tf1.tm.counter.eg_port"  # what the traffic manager has counted for a port
DROPPED = "drop_count_packets"
CELL = "$REGISTER_INDEX"
COUNTER_CELL = "$COUNTER_INDEX"
METER_CELL = "$METER_INDEX"
METERED = {
    "bytes": (
        "$METER_SPEC_CIR_KBPS",
        "$METER_SPEC_PIR_KBPS",
        "$METER_SPEC_CBS_KBITS",
        "$METER_SPEC_PBS_KBITS",
    ),
    "packets": (
        "$METER_SPEC_CIR_PPS",
        "$METER_SPEC_PIR_PPS",
        "$METER_SPEC_CBS_PKTS",
        "$METER_SPEC_PBS_PKTS",
    ),
}
"""By what a meter measures: committed and peak rate, committed and peak burst"""
_MOST = {"KBPS": 5_195_848_221, "KBITS": 4_380_866_642, "PPS": 2**64 - 1, "PKTS": 2**64 - 1}
UNLIMITED = {name: _MOST[name.rpartition("_")[2]] for names in METERED.values() for name in names}
"""What a cell shows that nobody has given rates: the most that the chip can"""
PACKETS, BYTES = "$COUNTER_SPEC_PKTS", "$COUNTER_SPEC_BYTES"
MIRROR = "$mirror.cfg"
GROUP = "$pre.mgid"
NODE = "$pre.node"
RECIRCULATION = "tf1.pktgen.port_cfg"
PORT_METADATA = "$PORT_METADATA"  # its full name begins with that of the ingress parser

MIRROR_ACTION = "$normal"

# Key and data fields that this target uses, with BFRT's types: "[]" for lists, "bytes9" for nine
# bits.
FIXED: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    PORT: (
        {"$DEV_PORT": "uint32"},
        {
            "$SPEED": "string",
            "$FEC": "string",
            "$AUTO_NEGOTIATION": "string",
            "$LOOPBACK_MODE": "string",
            "$TX_MTU": "uint32",
            "$RX_MTU": "uint32",
            "$PORT_DIR": "string",
            "$CUT_THROUGH_EN": "bool",
            "$PORT_ENABLE": "bool",
        },
    ),
    MIRROR: (
        {"$sid": "uint16"},
        {
            "$session_enable": "bool",
            "$direction": "string",
            "$ucast_egress_port": "uint32",
            "$ucast_egress_port_valid": "bool",
            "$egress_port_queue": "uint32",
            "$ingress_cos": "uint32",
            "$packet_color": "string",
            "$level1_mcast_hash": "uint32",
            "$level2_mcast_hash": "uint32",
            "$mcast_grp_a": "uint16",
            "$mcast_grp_a_valid": "bool",
            "$mcast_grp_b": "uint16",
            "$mcast_grp_b_valid": "bool",
            "$mcast_l1_xid": "uint16",
            "$mcast_l2_xid": "uint16",
            "$mcast_rid": "uint16",
            "$icos_for_copy_to_cpu": "uint32",
            "$copy_to_cpu": "bool",
            "$max_pkt_len": "uint16",
        },
    ),
    GROUP: (
        {"$MGID": "uint16"},
        {
            "$MULTICAST_NODE_ID": "uint32[]",
            "$MULTICAST_NODE_L1_XID_VALID": "bool[]",
            "$MULTICAST_NODE_L1_XID": "uint16[]",
        },
    ),
    NODE: (
        {"$MULTICAST_NODE_ID": "uint32"},
        {
            "$MULTICAST_RID": "uint16",
            "$MULTICAST_LAG_ID": "uint8[]",
            "$DEV_PORT": "uint32[]",
        },
    ),
    RECIRCULATION: (
        {"dev_port": "uint32"},
        {
            "recirculation_enable": "bool",
            "pktgen_enable": "bool",
            "pattern_matching_enable": "bool",
        },
    ),
    PORT_METADATA: (
        {"ig_intr_md.ingress_port": "bytes9"},
        {"looped": "bytes1", "_pad": "bytes63"},
    ),
}

CHOICES = {
    "$SPEED": ("BF_SPEED_10G", "BF_SPEED_25G", "BF_SPEED_40G", "BF_SPEED_50G", "BF_SPEED_100G"),
    "$FEC": ("BF_FEC_TYP_NONE", "BF_FEC_TYP_FC", "BF_FEC_TYP_RS"),
    "$AUTO_NEGOTIATION": ("PM_AN_DEFAULT", "PM_AN_FORCE_ENABLE", "PM_AN_FORCE_DISABLE"),
    "$LOOPBACK_MODE": ("BF_LPBK_NONE", "BF_LPBK_MAC_NEAR"),
    "$direction": ("INGRESS", "EGRESS", "BOTH"),
}


def fits(field: Field, match: Match) -> str:
    """Why a match does not fit a key field; "" if it does."""
    wanted = {"EXACT": Exact, "LPM": Lpm, "TERNARY": Ternary, "RANGE": Range}.get(field.kind)
    if wanted is None or not isinstance(match, wanted):
        return f"key {field.name} is {field.kind.lower()}, and this is {type(match).__name__}"
    numbers = [value for name, value in asdict(match).items() if name != "prefix_len"]
    if isinstance(match, Lpm) and match.prefix_len > field.bits:
        return f"key {field.name} has {count_of(field.bits, 'bit')}, not {match.prefix_len}"
    for number in numbers:
        if not 0 <= number < 1 << field.bits:
            return f"key {field.name} has {count_of(field.bits, 'bit')}: {number} does not fit"
    return ""
