"""P4Info from the command line. If these tests fail, a controller gets no description of the
program, a wrong one, or one of a program that it cannot control."""

from __future__ import annotations

import json
from pathlib import Path

from cli_runner import p4lab

ROOT = Path(__file__).parents[2]
BIER = ROOT / "p4" / "bier" / "v1model.p4"
GOLDEN = ROOT / "crates" / "p4-info" / "tests" / "bier.p4info.txtpb"

# Right as a program, but two actions claim one id.
CLASH = """\
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> x; }
struct headers { h_t h; }
struct meta { }
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { p.extract(h.h); transition accept; }
}
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    @id(1) action a() { }
    @id(1) action b() { }
    table t { key = { h.h.x : exact; } actions = { a; b; } }
    apply { t.apply(); }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout meta m) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""


def test_p4info_as_text_is_the_golden(tmp_path: Path) -> None:
    written = tmp_path / "bier.p4info.txtpb"
    done = p4lab("compile", BIER, "--p4info", written)
    assert done.returncode == 0, done.stderr
    assert written.read_text() == GOLDEN.read_text()


def test_p4info_as_json_has_the_same_tables(tmp_path: Path) -> None:
    written = tmp_path / "bier.json"
    assert p4lab("compile", BIER, "--p4info", written).returncode == 0
    info = json.loads(written.read_text())
    names = {table["preamble"]["name"] for table in info["tables"]}
    assert "BierIngress.router.bfr.bift" in names
    # 64-bit numbers are strings in protobuf's JSON.
    assert all(table["size"].isdigit() for table in info["tables"])
    golden = GOLDEN.read_text()
    assert all(f'name: "{name}"' in golden for name in names)


def test_what_only_a_controller_stumbles_over_is_an_error_then(tmp_path: Path) -> None:
    program = tmp_path / "clash.p4"
    program.write_text(CLASH)
    written = tmp_path / "clash.txtpb"
    assert p4lab("compile", program).returncode == 0
    done = p4lab("compile", program, "--p4info", written, "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    found = [(d["code"], d["line"]) for d in report["diagnostics"] if d["severity"] == "error"]
    assert (report["ok"], found) == (False, [("E0701", 12)])
    assert not written.exists()


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    nowhere = tmp_path / "missing" / "bier.txtpb"
    done = p4lab("compile", BIER, "--p4info", nowhere)
    assert done.returncode == 2
    assert str(nowhere) in done.stderr
