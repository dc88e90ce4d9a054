"""What the prover says of programs for a chip: lab 05.

If these fail, a wrong answer to lab 05 is called equal to the reference, or a right one different.
"""

from __future__ import annotations

import random

import pytest

from p4lab import _engine
from p4lab.grading.course import Course, load
from p4lab.grading.mutants import Answer, answers
from p4lab.grading.proofs import bounds_of, student_program
from p4lab.prove.compare import Bounds, Outcome, cell, compare, switch_of
from p4lab.prove.solver import Solver

pytestmark = pytest.mark.beside(seconds=90)

LAB = "05-recirculation"
SECONDS = 20.0
SEED = 15  # of samples; any will do

# Each shows in a way of its own: in what leaves at once, in what leaves passes later, in how many
# passes there are, in a packet that never ends, and at a front port in loopback.
SOON = {
    "arrival-metadata",
    "arrival-metadata-unread",
    "copy-mask",
    "copy-port",
    "copy-internal-leaks",
    "copy-ttl-last",
    "copy-packet-out-leaks",
    "again-remaining",
    "again-remaining-all",
    "again-not-taken-out",
    "again-drop-all",
}


@pytest.fixture(scope="module")
def lab() -> Course:
    return load(LAB)


def of_kind(lab: Course, *kinds: str) -> list[Answer]:
    return [answer for answer in answers(lab) if answer.kind in kinds]


def judged(lab: Course, answer: Answer, seconds: float = SECONDS) -> Outcome:
    student = student_program(lab, answer.files)
    return compare(lab.program(lab.defines), student, bounds_of(lab.name), seconds)


def is_program(answer: Answer, lab: Course) -> bool:
    own = {name: text for name, text in answer.files.items() if name.endswith(".p4")}
    reference = of_kind(lab, "reference")[0].files
    return any(text != reference[name] for name, text in own.items())


def test_a_chip_on_terms_does_what_the_engine_does(lab: Course) -> None:
    """Each path of the reference, with a packet that takes it."""
    bounds = bounds_of(LAB)
    program = lab.program(lab.defines)
    found = _engine.follow(program, Solver(), bounds, 60.0, 80)
    assert len(found) > 30
    sent = 0
    for witness in found:
        switch = switch_of(program, bounds)
        cells = [cell(*register) for register in witness["registers"]]
        switch.write([*witness["updates"], *cells])
        out = sorted(switch.process(witness["port"], witness["packet"]))
        assert out == sorted(witness["sent"][0]), witness
        sent += len(out)
    assert sent > 15


@pytest.mark.parametrize("name", sorted(SOON))
def test_a_wrong_answer_is_told_apart(lab: Course, name: str) -> None:
    mutant = next(answer for answer in of_kind(lab, "mutant") if answer.name == name)
    outcome = judged(lab, mutant)
    assert outcome.verdict == "different", (outcome.why, outcome.unreplayed)
    assert outcome.example is not None


def test_no_wrong_answer_is_called_equal(lab: Course) -> None:
    """Whatever the prover says in a moment of a sample of the rest, and what it shows does
    replay."""
    rest = [m for m in of_kind(lab, "mutant") if m.name not in SOON and is_program(m, lab)]
    assert len(rest) > 30
    print(f"sample {SEED}")
    for mutant in random.Random(SEED).sample(rest, 12):
        outcome = judged(lab, mutant, 1.0)
        assert outcome.verdict != "equal", mutant.name
        assert not outcome.unreplayed, (mutant.name, outcome.unreplayed)


def test_no_right_answer_is_called_different(lab: Course) -> None:
    for right in of_kind(lab, "reference", "variant"):
        outcome = judged(lab, right, 2.0)
        assert outcome.verdict != "different", (right.name, outcome.example)
        assert not outcome.unreplayed, (right.name, outcome.unreplayed)


def test_whose_turn_it_is_keeps_programs_from_being_equal(lab: Course) -> None:
    """Where the lab calls the turns a program's own business, a program that takes other turns is
    neither equal nor different: checks count what the ports carry."""
    bounds = bounds_of(LAB)
    assert bounds.wiring is not None
    assert set(bounds.wiring[2]) == {"turn", "fresh_turn"}
    mutant = next(answer for answer in of_kind(lab, "mutant") if answer.name == "turns-not-kept")
    assert judged(lab, mutant, 5.0).verdict == "undecided"


def test_programs_for_different_switches_are_not_compared(lab: Course) -> None:
    other = load("01-bier")
    with pytest.raises(ValueError, match="different architectures"):
        compare(lab.program(lab.defines), other.program(other.defines), Bounds(), 5.0)
