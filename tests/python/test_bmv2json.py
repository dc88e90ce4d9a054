"""The JSON that tools around bmv2 read; lost: they take keys, widths and ids for other ones.

Beside bmv2's compiler, where there is one, what tools read of its JSON stands in ours, too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bmv2_program import PROGRAM
from p4lab import _engine, bmv2json


@pytest.fixture(scope="module")
def ours() -> bmv2json.Json:
    program = _engine.compile_text("all.p4", PROGRAM).program
    assert program is not None
    return bmv2json.description(program, path="all.p4")


def tables(config: bmv2json.Json) -> Iterator[tuple[str, bmv2json.Json]]:
    for pipeline in config["pipelines"]:
        for table in pipeline["tables"]:
            yield pipeline["name"], table


def seen(config: bmv2json.Json, part: str) -> Any:
    """What clients take from a JSON, in a form in which two compilers' can be compared."""
    widths = {
        (header["name"], field[0]): field[1]
        for header in config["headers"]
        for kind in config["header_types"]
        if kind["name"] == header["header_type"]
        for field in kind["fields"]
    }

    def key(written: bmv2json.Json) -> tuple[Any, ...]:
        header, field = written["target"]
        width = 1 if field == "$valid$" else widths[header, field]
        # p4c names scalars its own way, and copies what it looks up in a stack into one.
        copied = header == "scalars" or ("[" in header and field != "$valid$")
        place = "scalar" if copied else (header, field)
        return written["name"], written["match_type"], width, place

    own = [(where, table) for where, table in tables(config) if not table["name"].startswith("tbl")]
    actions = {action["id"]: action["name"] for action in config["actions"]}
    match part:
        case "keys":
            return {table["name"]: [key(written) for written in table["key"]] for _, table in own}
        case "kinds":
            names = ("match_type", "type", "with_counters", "support_timeout", "direct_meters")
            return {
                table["name"]: (
                    where,
                    *(table[name] for name in names),
                    table.get("action_profile"),
                )
                for where, table in own
            }
        case "defaults":
            given = {table["name"]: table.get("default_entry") for _, table in own}
            return {
                name: (
                    actions[entry["action_id"]],
                    entry["action_const"],
                    [int(data, 16) for data in entry["action_data"]],
                )
                for name, entry in given.items()
                if entry
            }
        case "params":
            used = {name for _, table in own for name in table["actions"]} - {"NoAction"}
            return {
                action["name"]: action["runtime_data"]
                for action in config["actions"]
                if action["name"] in used
            }
        case "crcs":
            return {
                (calculation["name"], calculation["algo"])
                for calculation in config["calculations"]
                if calculation["algo"].endswith("_custom")
            }
        case "profiles":
            return {
                (pipeline["name"], profile["name"], profile["max_size"], "selector" in profile)
                for pipeline in config["pipelines"]
                for profile in pipeline["action_profiles"]
            }
        case "digests":
            return [(own["id"], own["name"], len(own["elements"])) for own in config["learn_lists"]]
        case "blocks":
            return [
                (own["name"], own["source_info"]["source_fragment"]) for own in config["pipelines"]
            ]
    wanted = ("name", "is_direct", "size", "binding", "bitwidth", "rate_count", "type")
    wanted = (*wanted, "compressed_bitwidth")
    return {
        tuple((name, item[name]) for name in wanted if name in item and _told(item, name))
        for item in config[part]
    }


def _told(item: bmv2json.Json, name: str) -> bool:
    """p4c tells of direct meters a size that nobody reads."""
    return not (name == "size" and item.get("is_direct"))


RECORDED: dict[str, Any] = {
    "digests": [(1, "learn_t", 6)],
    "crcs": {("calc", "crc32_custom"), ("calc_1", "crc16_custom")},
    "blocks": [("ingress", "I"), ("egress", "E")],
    "profiles": {("ingress", "I.prof", 8, False), ("ingress", "I.sel", 16, True)},
    "defaults": {
        "I.direct": ("I.drop", False, []),
        "I.keyless": ("I.fwd2", True, [300, 0x0A0B]),
        "I.fixed": ("NoAction", False, []),
        "E.out_t": ("E.none", False, []),
    },
    "keys": {
        "I.direct": [
            ("hdr.eth.dst", "exact", 48, ("eth", "dst")),
            ("hdr.tags[1].$valid$", "exact", 1, ("tags[1]", "$valid$")),
            ("hdr.tags[0].b", "ternary", 12, "scalar"),
            ("meta.inner.z", "exact", 7, "scalar"),
            ("sm.ingress_port", "range", 9, ("standard_metadata", "ingress_port")),
            ("meta.flag", "ternary", 1, "scalar"),
        ],
        "I.selected": [("hdr.eth.src", "lpm", 48, ("eth", "src"))],
        "I.shared": [("hdr.eth.src", "exact", 48, ("eth", "src"))],
        "I.fixed": [("hdr.eth.type", "exact", 16, ("eth", "type"))],
        "I.keyless": [],
        "E.out_t": [("sm.egress_port", "exact", 9, ("standard_metadata", "egress_port"))],
    },
    "register_arrays": {(("name", "I.reg"), ("size", 16), ("bitwidth", 32))},
}
"""What p4c of September 2026 says of this program, read off once"""

PARTS = ("keys", "kinds", "params", "defaults", "crcs", "profiles", "digests", "blocks")
ARRAYS = ("meter_arrays", "counter_arrays", "register_arrays", "parse_vsets")


@pytest.mark.parametrize("part", PARTS + ARRAYS)
def test_the_parts_that_tools_read_are_p4cs(
    part: str, ours: bmv2json.Json, theirs: bmv2json.Json
) -> None:
    assert seen(ours, part) == seen(theirs, part)


@pytest.mark.parametrize("part", RECORDED)
def test_what_p4c_said_of_the_program_is_said_here(part: str, ours: bmv2json.Json) -> None:
    assert seen(ours, part) == RECORDED[part]


def test_the_text_is_the_same_each_time() -> None:
    """Clients compare checksums of what they have with what the switch has."""
    programs = [_engine.compile_text("all.p4", PROGRAM).program for _ in range(2)]
    one, two = (bmv2json.text(program) for program in programs if program)
    assert one == two
    assert json.loads(one)["__meta__"] == {"version": [2, 23], "compiler": "p4lab"}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> bmv2json.Json:
    compiler = shutil.which("p4c-bm2-ss")
    if compiler is None:
        pytest.skip("p4c-bm2-ss is not installed; what is recorded here is compared all the same")
    folder: Path = tmp_path_factory.mktemp("p4c")
    (folder / "all.p4").write_text(PROGRAM)
    out = folder / "all.json"
    subprocess.run([compiler, "-o", out, folder / "all.p4"], check=True, capture_output=True)
    return dict(json.loads(out.read_text()))
