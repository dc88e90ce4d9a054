"""`p4lab stf`: a wrong program must not pass, and a failure must say where to look."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab

BIER = ROOT / "p4" / "bier"

SWAP = """\
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> value; }
struct headers { h_t h; }
struct metadata { }
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.h); transition accept; }
}
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    counter(4, CounterType.packets_and_bytes) seen;
    action send(bit<9> port) { s.egress_spec = port; }
    action refuse() { mark_to_drop(s); }
    table route {
        key = { h.h.kind: ternary; }
        actions = { send; refuse; }
        default_action = refuse();
    }
    apply { route.apply(); seen.count(1); h.h.value = h.h.value + 1; }
}
control V(inout headers h, inout metadata m) { apply { } }
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "swap.p4"
    path.write_text(SWAP)
    return path


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "test.stf"
    path.write_text(text)
    return path


TWICE = """\
table t {
    key = { k: exact; }
    actions = { f; }
    default_action = f();
}
"""

INCLUDING = SWAP.replace(
    "control I(",
    """\
control Inner(inout bit<8> k) {
    action f() { }
#include "table.p4"
    apply { t.apply(); k = 7; }
}
control I(""",
).replace(
    "    apply { route.apply();",
    """\
    action f() { exit; }
    bit<8> k = 2;
#include "table.p4"
    Inner() inner;
    apply { inner.apply(h.h.kind); route.apply(); t.apply();""",
)


def test_a_table_included_twice_has_the_actions_of_each_place(tmp_path: Path) -> None:
    """Or one of the two controls runs the other's action of the same name."""
    (tmp_path / "table.p4").write_text(TWICE)
    path = tmp_path / "including.p4"
    path.write_text(INCLUDING)
    test = script(
        tmp_path, "add route 10 kind:0x** send(port:3)\npacket 1 01 05\nexpect 3 07 05 $\n"
    )
    done = p4lab("stf", path, test)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actions_from_one_macro_are_two(tmp_path: Path) -> None:
    """All that a macro builds stands where it is used; which action is meant must not depend on
    that."""
    path = tmp_path / "macro.p4"
    path.write_text(
        SWAP.replace("control I(", "#define BOTH send; refuse;\ncontrol I(").replace(
            "{ send; refuse; }", "{ BOTH }"
        )
    )
    test = script(
        tmp_path, "add route 10 kind:0x01 send(port:3)\npacket 1 01 05\nexpect 3 01 06 $\n"
    )
    done = p4lab("stf", path, test)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_lab_ships_passes() -> None:
    tests = sorted((BIER / "tests").glob("*.stf"))
    done = p4lab("stf", BIER / "v1model.p4", *tests)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(f"{len(tests)} passed, 0 failed\n")


def test_macros_of_the_command_line_win_over_those_of_a_script(tmp_path: Path) -> None:
    """If this fails, nobody can try a script of one BitStringLength with another."""
    tests = BIER / "tests"
    done = p4lab("stf", BIER / "v1model.p4", tests / "wide256.stf", "-D", "BSL=64")
    assert done.returncode == 1, done.stdout


def test_entries_counters_and_drops(program: Path, tmp_path: Path) -> None:
    text = """\
add route 10 kind:0x0* send(port:2)
add route 20 kind:0x01 refuse()
packet 1 02 00 ff
expect 2 02 01 ff $
packet 1 01 00
no_packet
check_counter seen(1) packets == 2
check_counter I.seen(1) bytes = 5
"""
    done = p4lab("stf", program, script(tmp_path, text))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_failure_names_line_bytes_and_cause(program: Path, tmp_path: Path) -> None:
    text = "add route 1 send(port:2)\npacket 1 02 00\nexpect 2 02 00\npacket 1 03 00\n"
    done = p4lab("stf", program, script(tmp_path, text))
    assert done.returncode == 1
    assert "test.stf:3:1: packet 1 on port 2 (from line 2) is not the expected one" in done.stdout
    assert "test.stf:4:1: packet 2 on port 2 was not expected" in done.stdout
    lax = p4lab(
        "stf", program, script(tmp_path, text.replace("02 00\npacket", "02\npacket")), "--lax"
    )
    assert lax.returncode == 1  # one packet too many on a named port is seen even so


def test_json_has_every_finding(program: Path, tmp_path: Path) -> None:
    text = "add route 1 send(port:2)\npacket 1 02 00\nexpect 2 02 ff\n"
    done = p4lab("stf", program, script(tmp_path, text), "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"], report["mode"]) == (1, False, "strict")
    (finding,) = report["tests"][0]["findings"]
    assert (finding["line"], finding["kind"], finding["passed"]) == (3, "expect", False)
    difference = {"port": 2, "expected": "02 ff", "received": "02 01", "bytes": [1], "cause": 2}
    assert finding["difference"] == difference


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("pakcet 1 00\n", "test.stf:1:1: unknown command `pakcet`; did you mean `packet`?"),
        ("packet 1 0\n", "test.stf:1:10: 1 hexadecimal digits make no whole number of bytes"),
    ],
)
def test_a_typo_is_named_and_exits_2(
    program: Path, tmp_path: Path, text: str, sentence: str
) -> None:
    done = p4lab("stf", program, script(tmp_path, text))
    assert done.returncode == 2 and sentence in done.stdout


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("add rout 1 send(port:2)", "there is no table `rout`"),
        ("add route 1 sent(port:2)", "there is no action sent"),
        ("add route 1 send(port:512)", "the value of port has 10 bits, but the field has 9"),
        ("add route 1 kind:0x100 refuse()", "9 bits, but the field has 8"),
        ("check_counter sen(1) packets == 1", "there is no counter sen"),
        ("check_counter seen(9) packets == 1", "there is no index 9"),
    ],
)
def test_a_line_that_cannot_be_carried_out_fails(
    program: Path, tmp_path: Path, line: str, sentence: str
) -> None:
    done = p4lab("stf", program, script(tmp_path, line + "\n"))
    assert done.returncode == 1 and sentence in done.stdout, done.stdout


def test_a_program_with_errors_is_not_run(tmp_path: Path) -> None:
    broken = tmp_path / "broken.p4"
    broken.write_text(SWAP.replace("h.h.kind", "h.h.kin"))
    done = p4lab("stf", broken, script(tmp_path, "wait\n"))
    assert done.returncode == 2 and "does not compile" in done.stderr


LOOP = "for (bit<8> i = 0; i < 3; i = i + 1) { h.h.value = h.h.value + 1; }"


def test_a_packet_that_goes_round_for_ever_is_told(tmp_path: Path) -> None:
    """It looks like one that the program has dropped."""
    round_and_round = SWAP.replace(
        "control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }",
        "control E(inout headers h, inout metadata m, inout standard_metadata_t s) {\n"
        "    apply { recirculate_preserving_field_list(0); }\n}",
    )
    assert round_and_round != SWAP
    program = tmp_path / "round.p4"
    program.write_text(round_and_round)
    text = "add route 0 kind:0x01 send(port:2)\npacket 1 0100\nexpect 2 0101\n"
    done = p4lab("stf", program, script(tmp_path, text))
    assert done.returncode == 1
    assert "the switch gave this packet up: it was resubmitted or recirculated too" in done.stdout


def test_a_program_without_main_says_so(tmp_path: Path) -> None:
    """The compiler finds nothing wrong with it, and so nothing would be said at all."""
    program = tmp_path / "part.p4"
    program.write_text("const bit<8> x = 1;\n")
    done = p4lab("stf", program, script(tmp_path, "packet 1 00\n"))
    assert done.returncode == 2 and "no package instance called main" in done.stderr
    done = p4lab("compile", program)
    assert done.returncode == 0 and "no package instance called main" in done.stdout


def test_bmv2s_ways_are_an_option(tmp_path: Path) -> None:
    program = tmp_path / "loop.p4"
    program.write_text(SWAP.replace("h.h.value = h.h.value + 1;", LOOP))
    text = "cli table_set_default I.route I.send 2\npacket 1 01 10\nout 2 01 {}\n"
    for value, options in [("13", []), ("11", ["--bmv2-compat"])]:
        done = p4lab("stf", program, script(tmp_path, text.format(value)), *options)
        assert done.returncode == 0, done.stdout
        other = script(tmp_path, text.format("12"))
        assert p4lab("stf", program, other, *options).returncode == 1
