"""What is written to a Tofino fits the program's tables, and means what the control plane meant.

bf_switchd takes numbers by name and width and says little about those that it does not like; here
every row is compared with P4Info before a switch is asked.
"""

from __future__ import annotations

import json
import random
from dataclasses import astuple
from typing import Any

import pytest

from p4lab.control.igp import underlay
from p4lab.control.listeners import Member
from p4lab.engine import load_program
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Exact,
    Lpm,
    MulticastGroup,
    Range,
    TableEntry,
    Ternary,
)
from p4lab.paths import ROOT
from p4lab.systems.bier.entries import bift_id, bit_strings
from p4lab.systems.bier_tna.entries import PORT_STATUS, port_status, tna_entries
from p4lab.targets.tofino import rack as racks
from p4lab.targets.tofino.plan import changes, opening, wanted_rows
from p4lab.targets.tofino.rack import SwitchSetup
from p4lab.targets.tofino.rows import Row, entity_rows
from p4lab.targets.tofino.schema import CHOICES, FIXED, PORT_METADATA, Program
from p4lab.topology import Topology, names

GROUPS = (0xEF010101, 0xEF010102, 0xE8000001)
WIDTHS = {"uint8": 8, "uint16": 16, "uint32": 32}


COMPILED = {bsl: load_program(ROOT / "p4/bier/tna.p4", [("BSL", str(bsl))]) for bsl in (64, 256)}
P4INFO = {bsl: program.p4info(json=True) for bsl, program in COMPILED.items()}
PROGRAM = {bsl: Program.of(program) for bsl, program in COMPILED.items()}


def listeners(topology: Topology, draw: random.Random) -> frozenset[Member]:
    hosts = [host for host in topology.hosts if draw.random() < 0.7]
    return frozenset(Member(host.router, host.port, draw.choice(GROUPS)) for host in hosts)


def laid_out(
    topology: Topology, setups: dict[str, SwitchSetup], members: frozenset[Member], bsl: int
) -> dict[str, Any]:
    """What the control plane writes, by router."""
    layouts = {router: setup.layout for router, setup in setups.items()}
    return tna_entries(topology, members, bsl, layout=layouts)


def fitting(row: Row, info: dict[str, Any]) -> str:
    """Why a row has no place, by P4Info as it stands, or by the list of the chip's tables."""
    if row.table == "pipe.BierIngress.bfr.port_down":  # Register<bit<8>, bit<9>>(512, 0)
        ((name, index),), ((field, value),) = row.key, row.data
        right = (name, field) == ("$REGISTER_INDEX", "BierIngress.bfr.port_down.f1")
        return "" if right and index.value < 512 and value < 256 else "cell"
    if row.table in FIXED:
        keys, data = FIXED[row.table]
        for (name, match), kind in zip(row.key, keys.values(), strict=True):
            bits = WIDTHS.get(kind) or int(kind.removeprefix("bytes"))
            if name not in keys or not isinstance(match, Exact) or match.value >> bits:
                return f"key {name}"
        for name, value in row.data:
            kind = data[name].removesuffix("[]")
            for item in value if isinstance(value, tuple) else (value,):
                if kind in ("bool", "string"):
                    right = isinstance(item, bool) if kind == "bool" else item in CHOICES[name]
                else:
                    right = item >> (WIDTHS.get(kind) or int(kind.removeprefix("bytes"))) == 0
                if not right:
                    return f"{name} = {item}"
        return ""
    tables = {f"pipe.{table['preamble']['name']}": table for table in info["tables"]}
    table = tables.get(row.table)
    if table is None:
        return "table"
    fields = {field["name"]: field for field in table.get("matchFields", ())}
    keys_ = dict(row.key)
    ternary = any(field["matchType"] != "EXACT" for field in fields.values())
    wanted = {*fields, *(["$MATCH_PRIORITY"] if ternary else [])} if row.key else set()
    if keys_.keys() != wanted:
        return f"keys {sorted(keys_)} for {sorted(wanted)}"
    for name, field in fields.items():
        if name not in keys_:
            continue
        match = keys_[name]
        kind = {"EXACT": Exact, "TERNARY": Ternary}[field["matchType"]]
        if type(match) is not kind or any(n >> field["bitwidth"] for n in astuple(match)):
            return f"{name} = {match}"
    offered = {ref["id"] for ref in table["actionRefs"]}
    actions = [a for a in info["actions"] if a["preamble"]["name"] == row.action]
    if len(actions) != 1 or actions[0]["preamble"]["id"] not in offered:
        return f"action {row.action}"
    params = {param["name"]: param["bitwidth"] for param in actions[0].get("params", ())}
    if dict(row.data).keys() != params.keys():
        return f"parameters {row.data}"
    for name, value in row.data:
        if value >> params[name]:
            return f"{name} = {value}"
    return ""


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("bsl", [64, 256])
def test_all_rows_of_all_topologies_fit_the_program(name: str, bsl: int) -> None:
    draw = random.Random(7)
    print("seed 7")
    topology = Topology.load(name)
    info, program = json.loads(P4INFO[bsl]), PROGRAM[bsl]
    setups = racks.every_port(topology).setups(topology)
    entries = laid_out(topology, setups, listeners(topology, draw), bsl)
    sizes = {f"pipe.{t['preamble']['name']}": int(t["size"]) for t in info["tables"]}
    for router, setup in setups.items():
        down = [port_status(port.dev_port) for _, port in setup.cables]
        rows = wanted_rows([*entries[router], *down], program)
        for row in rows + [change.row for change in opening(setup, program, PORT_STATUS)]:
            assert not (why := fitting(row, info)), f"{row}: {why}"
        assert len({row.name for row in rows}) == len(rows)
        for table, size in sizes.items():
            assert sum(row.table == table and bool(row.key) for row in rows) <= size


@pytest.mark.parametrize("name", names())
def test_the_first_row_by_bfrts_priorities_is_that_of_the_lowest_bit(name: str) -> None:
    """RFC 8279, section 6.5: the lowest set bit is served first. BFRT's smallest number wins."""
    draw = random.Random(11)
    print("seed 11")
    topology = Topology.load(name)
    program, igp = PROGRAM[64], underlay(topology)
    setups = racks.every_port(topology).setups(topology)
    entries = laid_out(topology, setups, frozenset(), 64)
    by_id = {router.own("bfr_id"): router.name for router in topology.routers}
    for router, setup in setups.items():
        ports = {port.to: port.dev_port for _, port in setup.cables}
        bift = [r for r in wanted_rows(entries[router], program) if r.table.endswith("bift")]
        for _ in range(20):
            ids = draw.sample(sorted(by_id), k=min(len(by_id), draw.randrange(1, 9)))
            for si, string in bit_strings(ids, 64).items():
                lowest = si * 64 + (string & -string).bit_length()
                next_hop = igp.next_hop(router, by_id[lowest])
                hits = [row for row in bift if hit(row, bift_id(64, si), string)]
                first = min(hits, key=lambda row: dict(row.key)["$MATCH_PRIORITY"].value)
                data = dict(first.data)
                if next_hop is None:
                    assert first.action == "BierIngress.bfr.decapsulate"
                else:
                    assert data["port"] == ports[next_hop]


def hit(row: Row, number: int, string: int) -> bool:
    key = dict(row.key)
    ternary = key["remaining"]
    return key["bift_id"] == Exact(number) and string & ternary.mask == ternary.value


def test_groups_are_nodes_by_replication_id_and_sessions_lead_to_one_port() -> None:
    program = PROGRAM[64]
    rows = entity_rows(MulticastGroup(258, ((132, 1), (140, 1), (148, 2))), program)
    told = [(row.table, dict(row.key), dict(row.data)) for row in rows]
    first, second = 258 << 8, 258 << 8 | 1
    made = [(t, data.get("$MULTICAST_RID"), data.get("$DEV_PORT")) for t, _, data in told]
    assert made == [
        ("$pre.node", 1, (132, 140)),
        ("$pre.node", 2, (148,)),
        ("$pre.mgid", None, None),
    ]
    ids = [key.get("$MULTICAST_NODE_ID") for _, key, _ in told[:2]]
    assert ids == [Exact(first), Exact(second)]
    assert told[2][2]["$MULTICAST_NODE_ID"] == (first, second)
    (session,) = entity_rows(CloneSession(3, ((68, 0),), 64), program)
    assert dict(session.data)["$max_pkt_len"] == 64 and session.action == "$normal"
    with pytest.raises(ValueError, match="leads to one port"):
        entity_rows(CloneSession(3, ((68, 0), (69, 0))), program)
    with pytest.raises(ValueError, match="more than 256 nodes"):
        entity_rows(MulticastGroup(1, tuple((132, rid) for rid in range(257))), program)


BAD = [
    (TableEntry("nothing", (), "drop", ()), "no table nothing"),
    (TableEntry("served", (("entri", Exact(1)),), "take_out", (("fbm", 1),)), "no key entri"),
    (TableEntry("served", (), "take_out", (("fbm", 1),)), "needs its key entry"),
    (TableEntry("served", (("entry", Exact(1 << 16)),), "take_out", (("fbm", 1),)), "16 bits"),
    (TableEntry("served", (("entry", Lpm(1, 3)),), "take_out", (("fbm", 1),)), "is exact"),
    (TableEntry("served", (("entry", Range(1, 3)),), "take_out", (("fbm", 1),)), "is exact"),
    (TableEntry("served", (("entry", Exact(1)),), "forward", ()), "no action forward"),
    (TableEntry("served", (("entry", Exact(1)),), "take_out", ()), "parameters fbm, not none"),
    (TableEntry("served", (("entry", Exact(1)),), "take_out", (("fbm", 1 << 64),)), "64 bits"),
    (TableEntry("anything_left", (("remaining", Ternary(1, 1)),), "more", ()), "in the program"),
    (DefaultAction("bift", "drop", ()), "constant default action"),
    (DefaultAction("loop_count", "use_loops", (("last", 1 << 16),)), "16 bits"),
]


@pytest.mark.parametrize(("entity", "said"), BAD)
def test_what_the_program_has_no_place_for_is_named(entity: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        entity_rows(entity, PROGRAM[64])


def test_changes_never_refer_to_what_is_not_there() -> None:
    """Random memberships, one after the other: nodes before groups, those before rows, and back."""
    draw = random.Random(13)
    print("seed 13")
    topology = Topology.load("tree10")
    program = PROGRAM[64]
    setups = racks.every_port(topology).setups(topology)
    for router in ("r1", "r6"):
        old: list[Row] = []
        for _ in range(12):
            entries = laid_out(topology, setups, listeners(topology, draw), 64)[router]
            new = wanted_rows(entries, program)
            there = {row.name: row for row in old}
            for change in changes(old, new):
                if change.kind == "put":
                    there[change.row.name] = change.row
                else:
                    del there[change.row.name]
                sound(list(there.values()))
            assert there == {row.name: row for row in new}
            old = new


def sound(rows: list[Row]) -> None:
    def numbers(table: str) -> set[int]:
        return {row.key[0][1].value for row in rows if row.table == table}

    nodes, groups, sessions = (numbers(t) for t in ("$pre.node", "$pre.mgid", "$mirror.cfg"))
    for row in rows:
        data = dict(row.data)
        if row.table == "$pre.mgid":
            assert set(data["$MULTICAST_NODE_ID"]) <= nodes
        elif "mcast_grp" in data:
            assert data["mcast_grp"] in groups
        elif row.table.endswith("loop_sessions"):
            assert data["session"] in sessions


def test_the_words_for_port_metadata_are_the_programs() -> None:
    text = (ROOT / "p4/bier/tna.p4").read_text()
    body = text.partition("port_metadata_t {")[2].partition("}")[0]
    for name, kind in FIXED[PORT_METADATA][1].items():
        assert f"bit<{kind.removeprefix('bytes')}>" in body and f"{name};" in body
