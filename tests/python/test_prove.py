"""What the prover calls equal is equal, and what it shows is what the engine does.

If these fail, full marks are given to a wrong answer, or a right one is called wrong.
"""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from cli_runner import p4lab
from p4lab import _engine
from p4lab.grading.attempts import attempt
from p4lab.grading.course import Course, load
from p4lab.grading.mutants import Answer, answers
from p4lab.grading.proofs import bounds_of, student_program
from p4lab.prove import compare as proofs
from p4lab.prove.assume import PromiseError, parse
from p4lab.prove.compare import Bounds, Outcome, compare
from p4lab.prove.cover import cover
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
        if (standard.instance_type == 0) { meta.rounds = 0; }
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
    "a variable without a value where nobody reads it": (
        "standard.egress_spec = 7; }",
        "bit<9> port; if (hdr.ethernet.dst == 9) { port = 7; } standard.egress_spec = "
        "(hdr.ethernet.dst == 9 ? port : 7); meta.next = hdr.ipv4.ttl; }",
    ),
    "two invalid headers": (
        "hdr.ethernet.type = 0x0800; }",
        "hdr.ethernet.type = 0x0800; if (hdr.labels[0] != hdr.labels[2]) { drop(); } }",
    ),
}
# Nobody sees these where P4 leaves zeros in what has no value.
TYPE = "hdr.ethernet.type = 0x0800; }"
UNSET = {
    "a variable": [
        (
            "egress_spec = 7; }",
            "egress_spec = 7; bit<8> v; hdr.ethernet.src = hdr.ethernet.src ^ (bit<48>)v; }",
        )
    ],
    "a variable on one branch": [
        (
            "hdr.labels[0].label = label;",
            "bit<20> v; if (label != 9) { v = 0; } hdr.labels[0].label = label ^ v;",
        )
    ],
    "metadata": [(TYPE, "hdr.ethernet.type = 0x0800 ^ (bit<16>)meta.next; }")],
    "metadata in a condition": [("ttl > 1)", "ttl > 1 && meta.next[0:0] == 0)")],
    "a field of a header that is not there": [
        (TYPE, "hdr.ethernet.type = 0x0800 ^ (bit<16>)hdr.labels[0].ttl; }")
    ],
    "a field beyond the end of a stack": [
        (TYPE, "hdr.ethernet.type = 0x0800 ^ (bit<16>)hdr.labels[meta.rounds + 3].ttl; }")
    ],
    "an out parameter": [
        (
            "control Leave(",
            "action mark(in bit<48> who, out bit<8> mark) { if (who != 7) { mark = 0; } } "
            "control Leave(",
        ),
        (
            "if (standard.egress_port == 20",
            "bit<8> seen; mark(hdr.ethernet.src, seen); hdr.ethernet.dst = hdr.ethernet.dst ^ "
            "(bit<48>)seen; if (standard.egress_port == 20",
        ),
    ],
}
FRESH = "hdr.labels[0].label = label; hdr.ipv4.setInvalid(); hdr.ipv4.setValid(); hdr.ipv4.ttl = 1;"


def small(find: str = "", replace: str = "") -> _engine.Program:
    return edited([(find, replace)] if find else [])


def edited(edits: list[tuple[str, str]]) -> _engine.Program:
    text = SMALL
    for find, new in edits:
        assert find in text
        text = text.replace(find, new)
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


def test_memory_of_a_proof_ends_with_it() -> None:
    """If this fails, proving a class's answers takes gigabytes of memory."""
    solver = Solver()
    assert _engine.follow(small(), solver, Bounds(), 60.0, 10)
    kept = weakref.ref(solver)
    del solver
    gc.collect()
    assert kept() is None


# ---- Held to the engine -------------------------------------------------------------------------


def test_a_small_program_on_terms_does_what_the_engine_does() -> None:
    """Labels on a stack, prefixes, checksums, registers, clones, copies, recirculation."""
    assert replays(small(), Bounds(entries=2, passes=3), 200) > 50


@pytest.mark.parametrize("edit", WRONG)
def test_a_wrong_program_is_told_apart(edit: str) -> None:
    outcome = compare(small(), small(*WRONG[edit]), Bounds(passes=3), 60)
    assert outcome.verdict == "different", outcome
    assert outcome.example is not None


def test_counters_that_are_named_count() -> None:
    """A counter that counts in another order counts the same."""
    counter = (
        "register<bit<16>>(8) seen;",
        "register<bit<16>>(8) seen; counter(8, CounterType.packets) kinds;",
    )
    index = "kinds.count((bit<32>)hdr.ipv4.protocol);"
    plain = "seen.read(count, (bit<32>)hdr.ipv4.protocol);"
    right, later, wrong = (
        edited([counter, (plain, put)])
        for put in (
            index + plain,
            plain + "if (count == 3) { " + index + " } else { " + index + " }",
            plain + "if (count != 3) { " + index + " }",
        )
    )
    bounds = Bounds(passes=2, counters=("kinds",))
    assert compare(right, later, bounds, 60).verdict == "equal"
    assert compare(right, wrong, Bounds(passes=2), 60).verdict == "equal"
    outcome = compare(right, wrong, bounds, 60)
    assert outcome.example is not None, outcome
    assert [name for name, _ in outcome.example.counts] == ["Forward.kinds"]
    with pytest.raises(ValueError, match="no counter other"):
        compare(right, right, Bounds(counters=("other",)), 10)


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


@pytest.mark.parametrize("edit", UNSET)
def test_a_program_that_depends_on_what_is_undefined_is_told_apart(edit: str) -> None:
    """With zeros it is right, and on another switch it is wrong."""
    outcome = compare(small(), edited(UNSET[edit]), Bounds(passes=2), 60)
    assert outcome.verdict == "different", outcome
    assert outcome.example is not None
    assert outcome.example.undefined is not None


def test_a_field_that_nobody_fills_in_is_told_apart() -> None:
    fields = " hdr.ipv4.protocol = 2; hdr.ipv4.src = 3; hdr.ipv4.dst = 0;"
    right, wrong = (
        small("hdr.labels[0].label = label;", FRESH + own) for own in (fields, fields[:-18])
    )
    assert compare(right, right, Bounds(passes=2), 60).verdict == "equal"
    outcome = compare(right, wrong, Bounds(passes=2), 60)
    assert outcome.example is not None
    assert outcome.example.undefined is not None


def test_a_value_that_no_noise_meets_is_not_told() -> None:
    """But another mistake after it is. Noise is often a number of the program, but not its root."""
    rare = ("egress_spec = 7; }", "egress_spec = 7; bit<32> v; if (v * v == 5929) { drop(); } }")
    outcome = compare(small(), edited([rare]), Bounds(passes=2), 60)
    assert (outcome.verdict, outcome.why) == ("undecided", proofs.UNDEFINED)
    outcome = compare(small(), edited([rare, ("= 8;", "= 9;")]), Bounds(passes=2), 60)
    assert outcome.verdict == "different"


def test_without_time_nothing_is_decided() -> None:
    outcome = compare(small(), small(), Bounds(), 0.0)
    assert (outcome.verdict, outcome.why) == ("undecided", "the time is up")


def test_programs_with_other_tables_are_not_compared() -> None:
    with pytest.raises(ValueError, match=r"no table Forward\.routes"):
        compare(small(), small("routes", "paths"), Bounds(), 10)


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


def test_a_promise_keeps_numbers_of_copies_out() -> None:
    """A difference that only a copy of number 3 shows, where copies have the numbers 1 and 2."""
    leave = "if (standard.instance_type == 1)"
    other = small(leave, f"if (standard.egress_rid == 3) {{ hdr.ethernet.src = 0; }} {leave}")
    assert compare(small(), other, Bounds(passes=1), 60).verdict == "different"
    outcome = compare(small(), other, Bounds(passes=1, instances=(1, 2)), 60)
    assert outcome.verdict == "equal", outcome


@pytest.mark.parametrize("width", [2, 32])
def test_a_register_of_another_width_is_another_register(width: int) -> None:
    """What its cells hold is not what the reference's hold, and nothing breaks over that."""
    other = edited(
        [
            ("register<bit<16>>(8)", f"register<bit<{width}>>(8)"),
            ("bit<16> count;", f"bit<{width}> count;"),
            ("count > 1000", "count > 1000" if width == 32 else "1 > 2"),
        ]
    )
    bounds = Bounds(passes=1)
    assert cover(small(), other, bounds, 30).example is None
    outcome = compare(small(), other, bounds, 60)
    assert (outcome.verdict, outcome.why) == (
        "undecided",
        "the programs keep other registers, which the next packet would meet",
    )


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
    assert not outcome.unreplayed
    if outcome.verdict == "different":  # then in what no check looks at
        proof = attempt(course, right.files, 1).proof
        assert proof.status != "refuted", outcome.example


# One subtle mistake each, none of which a check names: what should stand there, and what does.
PLANTED = {
    "a field from the packet": ("bier.dscp       = 0;", "bier.dscp = hdr.ipv4.diffserv[7:2];"),
    "a field from elsewhere": ("bier.oam        = 0;", "bier.oam = hdr.ipv4.identification[1:0];"),
    "a field that nobody fills in": ("hdr.bier.rsv        = 0;", ""),
    "a field that is left out at the end": ("hdr.bier.nibble     = 0;", ""),
    "a hash that loses a bit": ("= arrival.entropy;", "= arrival.entropy | 1;"),
    "an odd id": ("bift_id    = bift_id;", "bift_id = bift_id & 0xFFFFE;"),
    "a large id": ("bfir_id    = bfir_id;", "bfir_id = bfir_id & 0x7FFF;"),
    "another type": ("ether_type = ETHERTYPE_BIER;", "ether_type = ETHERTYPE_IPV4;"),
    "a port beyond 31": ("egress_port = port;", "egress_port = port & 0x1F;"),
    "a TTL of 0": ("} else if (hdr.bier.ttl == 0) {", "} else if (hdr.bier.ttl == 255) {"),
    "a TTL of 1": ("if (hdr.bier.ttl == 0) {\n                        d", "if (false) { d"),
    "a TTL of 255": (
        "hdr.bier.ttl = hdr.bier.ttl - 1;",
        "if (hdr.bier.ttl != 255) { hdr.bier.ttl = hdr.bier.ttl - 1; }",
    ),
    "a receiver without an entry": (
        "carried.remaining = 0;\n        decision.drop",
        "decision.drop",
    ),
    "a second set": ("carried.set = carried.set + 1;", "carried.set = 1;"),
    "receivers of the packet": ("= carried.remaining & fbm;", "= hdr.bier.bit_string & fbm;"),
    "receivers that come again": ("carried.remaining & ~fbm", "carried.remaining ^ fbm"),
    "a last receiver": ("remaining != 0;", "remaining != 0 && carried.remaining != 1 << 63;"),
    "a packet that was seen in a test": (
        "} else if (!arrival.checksum_ok) {",
        "} else if (!arrival.checksum_ok || hdr.ipv4.identification == 0xBEEF) {",
    ),
    "a version": ("hdr.bier.ver != 0", "hdr.bier.ver == 1"),
    "a port like the source's": ("port == source_port", "port[7:0] == source_port[7:0]"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_told_apart(lab: Course, name: str) -> None:
    solution = next(answer for answer in answers(lab) if answer.kind == "reference")
    find, instead = PLANTED[name]
    file = "bier/bier.p4"
    assert find in solution.files[file]
    wrong = {**solution.files, file: solution.files[file].replace(find, instead)}
    student = student_program(lab, wrong)
    outcome = compare(lab.program(lab.defines), student, bounds_of(lab.name), 60)
    assert outcome.verdict == "different", outcome


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
