"""The prover against itself and against the engine, with programs and packets that nobody chose.

If these fail, terms mean something else than the engine does, and proofs are worth nothing.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.grading.course import Course, compile_files, load
from p4lab.grading.generated import Trial
from p4lab.grading.proofs import bounds_of
from p4lab.paths import ROOT
from p4lab.prove import compare as proofs
from p4lab.prove.compare import Bounds, compare
from p4lab.prove.solver import Solver

SEED = 20261122
P4C = "P4LAB_P4C"
"""Names a clone of p4lang/p4c, whose programs are looked at as well; this takes two minutes."""
LABS = ["01-bier", "02-frr", "03-protect", "04-msr6"]

# Decided at once, so that many edits of it can be tried.
TINY = """
#include <core.p4>
#include <v1model.p4>
header call_t { bit<8> kind; bit<8> count; bit<16> sum; }
header body_t { bit<4> low; bit<4> high; bit<24> key; }
struct headers_t { call_t call; body_t body; }
struct metadata_t { bit<8> worth; bool quick; }
parser Read(packet_in packet, out headers_t hdr, inout metadata_t meta,
            inout standard_metadata_t standard) {
    state start {
        meta.worth = 0;
        meta.quick = false;
        packet.extract(hdr.call);
        transition select(hdr.call.kind, hdr.call.count) {
            (1, _): body;
            (2 &&& 6, 3..9): body;
            default: accept;
        }
    }
    state body { packet.extract(hdr.body); transition accept; }
}
control Nothing(inout headers_t hdr, inout metadata_t meta) { apply {} }
control Work(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<16>>(16) total;
    action drop() { mark_to_drop(standard); }
    action send(bit<9> port, bit<8> worth) {
        standard.egress_spec = port;
        meta.worth = worth - hdr.call.count;
    }
    action add(bit<4> more) {
        hdr.body.low = hdr.body.low |+| more;
        standard.egress_spec = 3;
    }
    table ways {
        key = { hdr.body.key: ternary; hdr.body.high: exact; }
        actions = { send; add; drop; }
        default_action = drop();
    }
    apply {
        bit<16> sum = 0;
        if (hdr.body.isValid()) {
            ways.apply();
            meta.quick = meta.worth > 100 || hdr.body.low == 15;
            total.read(sum, (bit<32>)hdr.body.high);
            total.write((bit<32>)hdr.body.high, sum + (bit<16>)hdr.call.count);
        } else if (hdr.call.isValid() && hdr.call.kind != 0) {
            hdr.body.setValid();
            hdr.body = {hdr.call.kind[3:0], hdr.call.kind[7:4], 0x010203 << 2};
            standard.egress_spec = (bit<9>)hdr.call.count;
        } else {
            drop();
        }
        hdr.call.sum = hdr.call.sum ^ sum;
    }
}
control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (meta.quick) { hdr.call.kind = 255; } else { hdr.call.count = hdr.call.count + 1; }
        if (standard.egress_port == 7) { hdr.body.setInvalid(); }
    }
}
control Write(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.call); packet.emit(hdr.body); }
}
V1Switch(Read(), Nothing(), Work(), Leave(), Nothing(), Write()) main;
"""

# What labs seldom use: signed numbers, shifts, wide values, varbits, lookahead, unions of
# cases, resubmission, clones, hashes, stacks with an index, ranges, prefixes, optional keys,
# switches.
ODD = """
#include <core.p4>
#include <v1model.p4>
header top_t { bit<8> kind; int<8> plus; bit<16> by; bit<96> wide; }
header more_t { bit<4> length; bit<4> at; varbit<64> rest; }
header item_t { bit<7> value; bit<1> last; }
struct headers_t { top_t top; more_t more; item_t[4] items; }
struct metadata_t { @field_list(2) bit<3> turns; @field_list(2) bit<16> note; }
parser Read(packet_in packet, out headers_t hdr, inout metadata_t meta,
            inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.top);
        transition select(packet.lookahead<bit<8>>()) {
            0 .. 31: more;
            _: items;
        }
    }
    state more {
        packet.extract(hdr.more, (bit<32>)(packet.lookahead<bit<4>>()) * 8);
        transition items;
    }
    state items {
        packet.extract(hdr.items.next);
        transition select(hdr.items.last.last) { 0: items; default: accept; }
    }
}
control Nothing(inout headers_t hdr, inout metadata_t meta) { apply {} }
control Work(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    bit<32> chosen;
    bit<16> crc;
    action send(bit<9> port) { standard.egress_spec = port; }
    action turn(bit<7> by) { hdr.items[0].value = hdr.items[0].value - by; send(11); }
    action copy(bit<16> id) { standard.mcast_grp = id; }
    table ranges {
        key = { hdr.top.by: range; hdr.top.kind: optional; }
        actions = { send; turn; copy; NoAction; }
        default_action = NoAction();
    }
    table prefixes {
        key = { hdr.top.by: lpm; }
        actions = { send; NoAction; }
        const entries = {
            0x1000 &&& 0xf000: send(20);
            0x1234: send(22);
            0x1200 &&& 0xff00: send(21);
            _: NoAction();
        }
    }
    apply {
        if (standard.instance_type == 0) { meta.turns = 0; meta.note = 0; }
        send(1);
        if (hdr.top.plus == 4) { prefixes.apply(); }
        switch (ranges.apply().action_run) {
            turn: { hdr.top.wide = hdr.top.wide << (bit<8>)hdr.top.by[3:0]; }
            NoAction: { hdr.top.wide = hdr.top.wide |-| (bit<96>)hdr.top.by; }
            default: { hdr.top.plus = hdr.top.plus |+| 100; }
        }
        hdr.top.plus = -(hdr.top.plus >> 2);
        if (hdr.top.plus < -3) { hdr.top.by[7:4] = hdr.top.by[11:8]; }
        hash(crc, HashAlgorithm.crc16, (bit<16>)3, {hdr.top.wide, hdr.top.kind}, (bit<16>)100);
        hdr.top.wide[95:80] = crc;
        chosen = (bit<32>)hdr.more.at;
        if (hdr.more.isValid() && chosen < 4) { hdr.items[chosen].value = 5; }
        if (hdr.items[1].isValid() && hdr.items[1].value == 9) { hdr.items.push_front(1); }
        hdr.top.by = hdr.top.by / 4 + hdr.top.by % 8 * 5;
        if (hdr.top.kind == 77 && meta.turns < 2) {
            meta.turns = meta.turns + 1;
            meta.note = meta.note + hdr.top.by;
            resubmit_preserving_field_list(2);
        }
        if (hdr.top.kind == 78) { clone_preserving_field_list(CloneType.I2E, 9, 2); }
    }
}
control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.top.by = hdr.top.by ^ meta.note ^ (bit<16>)standard.packet_length;
        if (standard.instance_type == 1) { hdr.more.setInvalid(); }
        if (standard.egress_rid == 3 && hdr.items[0] == hdr.items[1]) { mark_to_drop(standard); }
    }
}
control Write(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.top); packet.emit(hdr.more); packet.emit(hdr.items); }
}
V1Switch(Read(), Nothing(), Work(), Leave(), Nothing(), Write()) main;
"""


def compiled(text: str) -> _engine.Program:
    compilation = _engine.compile_text("own.p4", text, {}, [])
    assert compilation.program is not None, compilation.render()
    return compilation.program


def sent_by(
    program: _engine.Program, sample: dict[str, Any], bounds: Bounds
) -> list[tuple[int, bytes]]:
    """What the engine sends in the state and with the packet of a sample."""
    switch = proofs.switch_of(program, bounds)
    cells = [proofs.cell(*register) for register in sample["registers"]]
    switch.write([*sample["updates"], *cells])
    now = sample["now"] * proofs.PICOSECONDS
    return sorted(switch.process(sample["port"], sample["packet"], now))


@cache
def trial(lab: str) -> Trial:
    return Trial(load(lab), SEED)


# ---- Terms and numbers ------------------------------------------------------------------------


def named(name: str) -> tuple[_engine.Program, Bounds]:
    """A program of our own, and how it is looked at."""
    if name in LABS:
        course: Course = trial(name).course
        return course.program(course.defines), bounds_of(name)
    if name == "plain":
        return load_program(ROOT / "p4/protect/plain/v1model.p4", [], []), Bounds()
    return compiled(TINY if name == "tiny" else ODD), Bounds(varbits=9)


@pytest.mark.parametrize("name", ["tiny", "odd", "plain", *LABS])
def test_terms_come_to_what_the_engine_does(name: str) -> None:
    """With random packets and states, near those of each path, that no solver has chosen."""
    program, bounds = named(name)
    samples = _engine.sample(program, Solver(), bounds, 20.0, 200, SEED)
    assert len(samples) > 30
    sent = 0
    for sample in samples:
        assert sent_by(program, sample, bounds) == sorted(sample["sent"][0]), (SEED, sample)
        sent += len(sample["sent"][0])
    assert sent > 0


def agrees(path: Path) -> tuple[int, str]:
    """How many random packets p4c's program was sent, and what comparing it with itself gives."""
    compilation = _engine.compile(str(path), [], [])
    if compilation.program is None:
        return 0, "not v1model"
    program, bounds = compilation.program, Bounds(varbits=9)
    try:
        samples = _engine.sample(program, Solver(), bounds, 3.0, 40, SEED)
        for sample in samples:
            assert sent_by(program, sample, bounds) == sorted(sample["sent"][0]), (SEED, sample)
        return len(samples), compare(program, program, bounds, 2.0).verdict
    except ValueError as unfollowed:
        return 0, str(unfollowed)


@pytest.mark.skipif(not os.environ.get(P4C), reason=f"{P4C} names no clone of p4lang/p4c")
def test_terms_agree_with_the_engine_on_the_programs_of_p4c() -> None:
    """Programs that others wrote to find what compilers get wrong."""
    files = sorted(Path(os.environ[P4C], "testdata/p4_16_samples").glob("*bmv2.p4"))
    said: Counter[str] = Counter()
    packets = 0
    for file in files:
        sent, verdict = agrees(file)
        assert verdict != "different", file
        packets += sent
        said[verdict] += 1
    print(f"seed {SEED}: {len(files)} programs, {packets} packets: {dict(said)}")
    assert said["equal"] > 300, said


# ---- A program against itself -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["tiny", "odd", "plain", *LABS[:3]])
def test_a_program_equals_itself(name: str) -> None:
    program, bounds = named(name)
    outcome = compare(program, program, bounds, 60)
    assert outcome.verdict == "equal", outcome


def test_a_program_with_many_paths_does_not_differ_from_itself() -> None:
    """Lab 04 has more of them than there is time for."""
    program, bounds = named("04-msr6")
    assert compare(program, program, bounds, 1.0).example is None


# ---- Edits that nobody chose ------------------------------------------------------------------


def tried(
    reference: _engine.Program,
    edited: _engine.Program | None,
    bounds: Bounds,
    seconds: float,
    samples: list[dict[str, Any]],
) -> str:
    """What the prover says of an edited program, where it may say it: what is different was
    replayed, and what is equal does the same on the engine with packets of other making, with
    noise in what is undefined as well."""
    if edited is None:
        return "no program"
    try:
        outcome = compare(reference, edited, bounds, seconds)
    except ValueError:
        return "other tables"
    assert not outcome.unreplayed, outcome
    if outcome.verdict == "equal":
        for sample in samples:
            sent = sent_by(reference, sample, bounds)
            assert sent_by(edited, sample, bounds) == sent, sample
            assert sent_by(edited.with_undefined(SEED), sample, bounds) == sent, sample
    return outcome.verdict


def test_an_edit_is_equal_or_told_apart() -> None:
    """A small program is decided, whatever is changed in it."""
    found = _engine.mutations("tiny.p4", TINY, {}, [], only=["tiny.p4"])
    print(f"seed {SEED}: 100 of {len(found)} edits")
    reference, bounds = compiled(TINY), Bounds()
    samples = _engine.sample(reference, Solver(), bounds, 20.0, 300, SEED)
    said: Counter[str] = Counter()
    for edit in random.Random(SEED).sample(found, 100):
        text = TINY[: edit["start"]] + edit["text"] + TINY[edit["end"] :]
        edited = _engine.compile_text("edited.p4", text, {}, []).program
        said[tried(reference, edited, bounds, 5.0, samples)] += 1
    assert said["equal"] > 2, said
    assert said["undecided"] < 10, said
    assert said["different"] > 60, said


@pytest.mark.parametrize(("lab", "least"), list(zip(LABS, (2, 1, 0, 0), strict=True)))
def test_an_edit_of_a_lab_is_not_called_what_it_is_not(lab: str, least: int) -> None:
    """Little time, so that most edits of the larger programs are left open."""
    own = trial(lab)
    bounds = bounds_of(lab)
    reference = own.programs[own.course.defines]
    samples = _engine.sample(reference, Solver(), bounds, 20.0, 100, SEED)
    said: Counter[str] = Counter()
    for mutant in random.Random(f"{SEED}/{lab}").sample(own.mutants, 10):
        files = {**own.files, mutant.file: mutant.text}
        edited = compile_files(own.course.student.program, files, own.course.defines).program
        said[tried(reference, edited, bounds, 0.5, samples)] += 1
    print(f"seed {SEED}, {lab}: {said}")
    assert said["different"] >= least, said
