"""What the prover calls equal is equal, and what it shows is what the engine does.

If these fail, full marks are given to a wrong answer, or a right one is called wrong.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from cli_runner import p4lab
from p4lab import _engine
from p4lab.grading.course import Course, load
from p4lab.grading.mutants import Answer, answers
from p4lab.grading.proofs import bounds_of, student_program
from p4lab.prove import compare as proofs
from p4lab.prove.assume import PromiseError, parse
from p4lab.prove.compare import Bounds, Outcome, compare
from p4lab.prove.solver import Solver

pytestmark = pytest.mark.beside(seconds=90)

SMALL = """
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header label_t { bit<20> label; bit<3> tc; bit<1> s; bit<8> ttl; }
header ipv4_t { bit<8> ttl; bit<8> protocol; bit<16> sum; bit<32> src; bit<32> dst; }
struct headers_t { ethernet_t ethernet; label_t[3] labels; ipv4_t ipv4; }
struct metadata_t { @field_list(1) bit<8> rounds; bit<8> next; }
parser Read(packet_in packet, out headers_t hdr, inout metadata_t meta,
            inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
            0x8847: label;
            default: accept;
        }
    }
    state label {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.s) { 0: label; 1: ipv4; }
    }
    state ipv4 { packet.extract(hdr.ipv4); transition accept; }
}
control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { verify_checksum(hdr.ipv4.isValid(), { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.ttl,
        hdr.ipv4.protocol }, hdr.ipv4.sum, HashAlgorithm.csum16); }
}
control Forward(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<16>>(8) seen;
    bit<16> count;
    action drop() { mark_to_drop(standard); }
    action forward(bit<9> port, bit<48> mac) {
        standard.egress_spec = port;
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl |-| 1;
    }
    action group(bit<16> id) { standard.mcast_grp = id; }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; group; drop; }
        default_action = drop();
    }
    action pop() { hdr.labels.pop_front(1); standard.egress_spec = 7; }
    action swap(bit<20> label) { hdr.labels[0].label = label; standard.egress_spec = 8; }
    table labels {
        key = { hdr.labels[0].label: exact; hdr.labels[0].tc: ternary; }
        actions = { pop; swap; drop; }
        default_action = drop();
    }
    apply {
        if (hdr.labels[0].isValid()) {
            labels.apply();
            if (!hdr.labels[0].isValid()) { hdr.ethernet.type = 0x0800; }
        } else if (hdr.ipv4.isValid() && standard.checksum_error == 0 && hdr.ipv4.ttl > 1) {
            routes.apply();
            seen.read(count, (bit<32>)hdr.ipv4.protocol);
            seen.write((bit<32>)hdr.ipv4.protocol, count + 1);
            if (count > 1000) { clone_preserving_field_list(CloneType.I2E, 5, 1); }
        } else {
            drop();
        }
    }
}
control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.instance_type == 1) { hdr.ethernet.type = 0x88B5; }
        if (standard.egress_port == 20 && meta.rounds < 2) {
            meta.rounds = meta.rounds + 1;
            recirculate_preserving_field_list(1);
        }
    }
}
control Update(inout headers_t hdr, inout metadata_t meta) {
    apply { update_checksum(hdr.ipv4.isValid(), { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.ttl,
        hdr.ipv4.protocol }, hdr.ipv4.sum, HashAlgorithm.csum16); }
}
control Write(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.labels); packet.emit(hdr.ipv4); }
}
V1Switch(Read(), Verify(), Forward(), Leave(), Update(), Write()) main;
"""

LABS = ["01-bier", "02-frr", "03-protect", "04-msr6"]
WRONG = {
    "a port": ("standard.egress_spec = 7;", "standard.egress_spec = 6;"),
    "a source of a copy": ("src = hdr.ethernet.dst;", "src = hdr.ethernet.src;"),
    "a comparison": ("hdr.ipv4.ttl > 1)", "hdr.ipv4.ttl > 0)"),
    "no clone": ("clone_preserving_field_list(CloneType.I2E, 5, 1);", ""),
    "a state of registers": ("count > 1000", "count > 1001"),
    "a sum that wraps": ("ttl |-| 1", "ttl - 2"),
    "a type": ("hdr.ethernet.type = 0x0800; }", "}"),
    "a pass too few": ("meta.rounds < 2", "meta.rounds < 1"),
    "a rare value": ("hdr.ipv4.ttl > 1)", "hdr.ipv4.ttl > 1 && hdr.ipv4.ttl != 137)"),
    "a time": ("count > 1000", "count > 1000 || standard.ingress_global_timestamp == 77"),
    "a stale checksum": ("update_checksum(hdr", "update_checksum(hdr.ipv4.ttl != 9 && hdr"),
}
RIGHT = {
    "the same": ("", ""),
    "a comparison turned round": ("hdr.ipv4.ttl > 1)", "!(hdr.ipv4.ttl <= 1))"),
    "a subtraction that cannot wrap": ("ttl |-| 1", "ttl - 1"),
    "a branch that changes nothing": (
        "standard.egress_spec = 7; }",
        "standard.egress_spec = 7; if (hdr.ipv4.ttl == 0) { hdr.ipv4.ttl = 0; } }",
    ),
    "an assignment to what is sent away": (
        "hdr.ethernet.type = 0x0800; }",
        "hdr.ethernet.type = 0x0800; hdr.labels[0].ttl = 3; }",
    ),
}


def small(find: str = "", replace: str = "") -> _engine.Program:
    assert find in SMALL
    text = SMALL.replace(find, replace) if find else SMALL
    compilation = _engine.compile_text("small.p4", text, {}, [])
    assert compilation.program is not None, compilation.render()
    return compilation.program


@pytest.fixture(scope="module")
def lab() -> Course:
    return load("01-bier")


def judged(course: Course, answer: Answer, seconds: float = 60) -> Outcome:
    student = student_program(course, answer.files)
    return compare(course.program(course.defines), student, bounds_of(course.name), seconds)


def sent_by(program: _engine.Program, witness: dict[str, Any]) -> list[tuple[int, bytes]]:
    """What the engine sends in the state and with the packet of a path."""
    switch = _engine.Switch(program)
    cells = [proofs.cell(*register) for register in witness["registers"]]
    switch.write([*witness["updates"], *cells])
    now = witness["now"] * proofs.PICOSECONDS
    return sorted(switch.process(witness["port"], witness["packet"], now))


def replays(program: _engine.Program, bounds: Bounds, most: int) -> int:
    """How many packets a program sends on paths that are followed on the engine as well."""
    found = _engine.follow(program, Solver(), bounds, 60.0, most)
    assert len(found) > most // 2
    for witness in found:
        assert sent_by(program, witness) == sorted(witness["sent"][0]), witness
    return sum(len(witness["sent"][0]) for witness in found)


# ---- Held to the engine -------------------------------------------------------------------------


def test_a_small_program_on_terms_does_what_the_engine_does() -> None:
    """Labels on a stack, prefixes, checksums, registers, clones, copies, recirculation."""
    assert replays(small(), Bounds(entries=2, passes=3), 200) > 50


@pytest.mark.parametrize("name", LABS)
def test_a_lab_on_terms_does_what_the_engine_does(name: str) -> None:
    course = load(name)
    assert replays(course.program(course.defines), bounds_of(name), 80) > 10


@pytest.mark.parametrize("edit", WRONG)
def test_a_wrong_program_is_told_apart(edit: str) -> None:
    outcome = compare(small(), small(*WRONG[edit]), Bounds(passes=3), 60)
    assert outcome.verdict == "different", outcome
    assert outcome.example is not None


def test_what_a_program_leaves_for_the_next_packet_counts() -> None:
    outcome = compare(small(), small("count + 1", "count + 2"), Bounds(passes=3), 60)
    assert outcome.verdict == "different", outcome
    assert outcome.example is not None and outcome.example.cells


def test_registers_of_its_own_leave_it_open() -> None:
    outcome = compare(small(), small("(8) seen;", "(8) seen; register<bit<8>>(1) other;"), None, 60)
    assert outcome.verdict == "undecided", outcome


@pytest.mark.parametrize("edit", RIGHT)
def test_a_right_program_is_equal(edit: str) -> None:
    outcome = compare(small(), small(*RIGHT[edit]), Bounds(passes=3), 60)
    assert outcome.verdict == "equal", outcome


def test_a_counterexample_that_does_not_replay_is_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is a mistake of the prover's, and no student may see it as one of theirs."""
    real = _engine.prove

    def lying(*given: object) -> dict[str, object]:
        found = real(*given)  # type: ignore[arg-type]
        port, data = found["example"]["sent"][0][0]
        found["example"]["sent"][0][0] = (port, data + b"!")
        return found

    monkeypatch.setattr(_engine, "prove", lying)
    outcome = compare(small(), small(*WRONG["a port"]), Bounds(), 60)
    assert outcome.verdict == "undecided"
    assert outcome.example is None
    assert "mistake in the prover" in outcome.why


def test_without_time_nothing_is_decided() -> None:
    outcome = compare(small(), small(), Bounds(), 0.0)
    assert (outcome.verdict, outcome.why) == ("undecided", "the time is up")


def test_programs_with_other_tables_are_not_compared() -> None:
    with pytest.raises(ValueError, match=r"no table Forward\.routes"):
        compare(small(), small("routes", "paths"), Bounds(), 10)


# ---- Edits that nobody chose ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_an_edit_is_equal_or_told_apart(seed: int) -> None:
    """A number of the program becomes another one. What is called different was replayed; what is
    called equal must be the same on the engine for a packet on each path of the program."""
    start = SMALL.index("control Forward")
    numbers = [match for match in re.finditer(r"\b[0-9]+\b", SMALL) if match.start() > start]
    rng = random.Random(seed)
    match = rng.choice(numbers)
    value = max(0, int(match[0]) + rng.choice([-1, 1]))
    text = f"{SMALL[: match.start()]}{value}{SMALL[match.end() :]}"
    compilation = _engine.compile_text("edited.p4", text, {}, [])
    if compilation.program is None:
        return  # the edit is no program: bit<0>, an index beyond the end
    edited = compilation.program
    bounds = Bounds(passes=3)
    try:
        outcome = compare(small(), edited, bounds, 30)
    except ValueError:
        return  # other tables or parameters: there is nothing to compare
    assert not outcome.unreplayed, (seed, outcome)
    if outcome.verdict != "equal":
        return
    for witness in _engine.follow(small(), Solver(), bounds, 30.0, 40):
        sent = [sent_by(program, witness) for program in (small(), edited)]
        assert sent[0] == sent[1], (seed, match, witness)


# ---- Promises -----------------------------------------------------------------------------------


def test_a_promise_keeps_entries_out() -> None:
    """A difference that only a label beyond 15 shows, where labels up to 15 are promised."""
    other = small("labels.apply();", "labels.apply(); if (hdr.labels[0].label > 15) { drop(); }")
    assert compare(small(), other, Bounds(passes=1), 60).verdict == "different"
    promises = (
        ("labels", None, parse("label < 16")),
        ("labels", "pop", parse("1 == 0")),
    )
    outcome = compare(small(), other, Bounds(passes=1, promises=promises), 60)
    assert outcome.verdict == "equal", outcome


@pytest.mark.parametrize("text", ["1 +", "f(x)", "1 < 2 < 3", "a if b else c", "-1", "'x'"])
def test_what_is_no_promise_is_refused(text: str) -> None:
    with pytest.raises(PromiseError):
        parse(text)


def test_a_promise_keeps_states_of_registers_out() -> None:
    """A difference that only a count of 1001 shows, where counts below 100 are promised."""
    other = small("count > 1000", "count > 1001")
    bounds = Bounds(passes=1, registers=(("seen", parse("value < 100")),))
    assert compare(small(), other, bounds, 60).verdict == "equal"


def test_a_promise_about_no_register_is_refused() -> None:
    bounds = Bounds(registers=(("nowhere", parse("value == 0")),))
    with pytest.raises(ValueError, match="no register nowhere"):
        compare(small(), small(), bounds, 10)


def test_a_promise_about_nothing_is_refused() -> None:
    promises = (("nowhere", None, parse("port != 0")),)
    with pytest.raises(ValueError, match="no table nowhere"):
        compare(small(), small(), Bounds(promises=promises), 10)


# ---- Lab 01 -------------------------------------------------------------------------------------


def test_the_reference_equals_itself_however_often_packets_come_back(lab: Course) -> None:
    solution = next(answer for answer in answers(lab) if answer.kind == "reference")
    outcome = judged(lab, solution)
    assert outcome.verdict == "equal", outcome
    assert outcome.is_for_all_journeys


def accepted() -> list[tuple[str, str]]:
    """Each lab with each of its other right answers."""
    return [
        (lab, answer.name)
        for lab in LABS
        for answer in answers(load(lab))
        if answer.kind == "variant"
    ]


@pytest.mark.parametrize(("name", "variant"), accepted())
def test_variants_are_not_called_wrong(name: str, variant: str) -> None:
    course = load(name)
    right = next(answer for answer in answers(course) if answer.name == variant)
    outcome = judged(course, right, 1)
    assert outcome.verdict != "different", outcome.example
    assert not outcome.unreplayed


@pytest.mark.parametrize(
    "name",
    [
        "encap-ether-type",  # seen when the packet has come back
        "encap-entropy",  # a hash
        "forward-port",
        "forward-from-the-packet",  # seen in the second pass, and only where F-BMs overlap
        "decap-last-hop",
        "decap-checksum",
        "remaining-xor",
        "remaining-not-cleared",  # without end
    ],
)
def test_mutants_are_told_apart(lab: Course, name: str) -> None:
    mutant = next(answer for answer in answers(lab) if answer.name == name)
    assert judged(lab, mutant).verdict == "different"


# ---- The verb -----------------------------------------------------------------------------------


def test_the_verb_shows_the_packet(tmp_path: Path) -> None:
    for name, text in (
        ("a.p4", SMALL),
        ("b.p4", SMALL.replace("egress_spec = 8", "egress_spec = 9")),
    ):
        (tmp_path / name).write_text(text)
    told = p4lab("prove", tmp_path / "a.p4", tmp_path / "b.p4")
    assert told.returncode == 1, told.stderr
    assert "the first program sends port 8: ethernet(" in told.stdout
    assert "the second program sends port 9: ethernet(" in told.stdout


def test_the_verb_says_within_which_bounds_programs_are_equal(tmp_path: Path) -> None:
    (tmp_path / "a.p4").write_text(SMALL)
    told = p4lab("prove", tmp_path / "a.p4", tmp_path / "a.p4")
    assert told.returncode == 0, told.stderr
    assert "both programs send the same, whatever packet comes in" in told.stdout
    assert "any number of passes\n  2 entries per table" in told.stdout
