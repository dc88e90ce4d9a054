"""Without these a lab's checks could have a gap that nobody has thought of.

Generated mutants are single mistakes in the solution (crates/p4-mutate). A seeded sample of them is
tried here; `p4lab mutants LAB --generated` tries all.
"""

from __future__ import annotations

import json
import random
import shutil
from functools import cache
from pathlib import Path

import pytest

from cli_runner import p4lab
from p4lab import _engine
from p4lab.course.home import ENVIRONMENT, HERE, names
from p4lab.course.labs import LabError
from p4lab.grading import trials
from p4lab.grading.course import FOUND, Course, load
from p4lab.grading.fixed import UnwritableError, text_of
from p4lab.grading.generated import Fate, Mutant, Trial, drawn_checks, sample
from p4lab.grading.judge import judge, story_of
from p4lab.grading.scenario import Scenario
from p4lab.grading.strengthen import Strengthening, Written
from p4lab.paths import ROOT

pytest.importorskip("bitwuzla")

pytestmark = pytest.mark.beside(seconds=50)

GRADED = [lab for lab in names() if load(lab).checks and load(lab).is_p4]
PROMISING = [
    lab for lab in GRADED if "\n[prove]\n" in (ROOT / "labs" / lab / "lab.toml").read_text()
]
"""Labs that say what entries there are: of the others, no survivor can be called equal"""

SEED = 15  # of the sample; any will do
SAMPLE = 20  # mutants of a lab, for about 10 s of a core
HIDDEN = 1  # of the hidden cases


@cache
def trial(lab: str) -> Trial:
    return Trial(load(lab), HIDDEN)


def mutant(lab: str, title: str) -> Mutant:
    return next(mutant for mutant in trial(lab).mutants if mutant.title == title)


@pytest.mark.parametrize("lab", PROMISING)
def test_nothing_survives_that_is_not_equal_to_the_solution(lab: str) -> None:
    chosen = sample(trial(lab).mutants, SAMPLE, random.Random(SEED))
    fates = [(mutant, trial(lab).fate(mutant)) for mutant in chosen]
    print(f"{lab}, sample {SEED}, hidden cases {HIDDEN}")
    assert [f"{mutant}: {fate}" for mutant, fate in fates if fate.survives] == []
    assert any(fate.kind == "killed" for _, fate in fates)


@pytest.mark.parametrize("lab", GRADED)
def test_hundreds_are_tried(lab: str) -> None:
    """They are all different, and most of them compile."""
    found = trial(lab).mutants
    assert len(found) >= 300
    assert len({mutant.digest for mutant in found}) == len(found)
    assert {mutant.file for mutant in found} <= set(trial(lab).course.student.edit)


@pytest.mark.parametrize("lab", GRADED)
def test_mutants_said_to_be_equal_exist(lab: str) -> None:
    """A reason that belongs to no mutant any more would excuse the next mistake of that name."""
    digests = {mutant.digest for mutant in trial(lab).mutants}
    assert set(trial(lab).reasons) <= digests


@pytest.mark.parametrize("lab", GRADED)
def test_the_solution_passes_all_cases_that_were_found(lab: str) -> None:
    course = trial(lab).course
    work = trial(lab).work(trial(lab).reference)
    for check in drawn_checks(course):
        for name in course.found(check):
            assert story_of(course, check, name, work) is None, name


def test_fates_of_three_kinds() -> None:
    one = trial("01-bier")
    killed = one.fate(mutant("01-bier", "`decision.egress_port = port;` is left out"))
    assert (killed.kind, killed.check) == ("killed", "forward-one")
    none = "`drop_reason_t.NOT_MULTICAST` becomes `drop_reason_t.LINK_LOCAL`"
    assert one.fate(mutant("01-bier", none)).kind == "equal"
    # `port` is a parameter that an action may only read.
    refused = one.fate(mutant("01-bier", "`decision.egress_port` becomes `port`"))
    assert refused.kind == "refused"


# ---- A lab with a gap ---------------------------------------------------------------------------


@pytest.fixture
def gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """Lab 01 with nothing but the checks that BIER packets are forwarded."""
    folder = tmp_path / "01-bier"
    shutil.copytree(HERE.labs / "01-bier", folder)
    shutil.rmtree(folder / FOUND, ignore_errors=True)
    course = load("01-bier")
    course.folder = folder
    course.checks = tuple(
        check.model_copy(update={"needs": [], "suffers": []})
        for check in course.checks
        if check.id in ("compiles", "forward-one", "forward-ttl")
    )
    return course


def test_a_gap_is_found_and_closed(gap: Course) -> None:
    """The packet that tells a mutant apart becomes a readable case, by which it loses points."""
    tried = Trial(gap, HIDDEN)
    lost = "`carried.remaining & ~fbm` becomes `carried.remaining`"
    wrong = next(mutant for mutant in tried.mutants if mutant.title == lost)
    fate = Fate.of(json.loads(json.dumps(tried.fate(wrong).to_json())))
    assert fate.kind == "apart" and fate.example is not None
    (written,) = Strengthening(tried, {wrong: fate}, answers=[]).run()
    assert isinstance(written, Written)
    text = (gap.folder / written.file).read_text(encoding="utf-8")
    assert lost in text and "bift" in text and "ether_type = 0xab37" in text
    verdict = judge(gap, tried.answer(wrong), seed=HIDDEN)
    assert verdict.points < verdict.max_points
    assert judge(gap, tried.answer(wrong), seed=None).passed  # a hidden case
    assert judge(gap, tried.reference, seed=HIDDEN).passed


def test_a_case_that_was_drawn_is_the_same_as_a_file(gap: Course) -> None:
    """To the byte, with entries, sessions and all; a network is no such case."""
    course = load("02-frr")
    for check in drawn_checks(course):
        label = f"7/{check.id}/1"
        case = course.case(check, label).case
        if case.network is not None or case.counts or case.expected is not None:
            with pytest.raises(UnwritableError):
                text_of(course, case, "x", "x")
            continue
        name = f"{FOUND}/{check.id}/x.toml"
        text = text_of(course, case, "x", "x")
        course.offer(name, Scenario.model_validate(_read(text)))
        again = course.case(check, name).case
        assert [s.data for s in again.sendings] == [s.data for s in case.sendings], text
        assert [s.port for s in again.sendings] == [s.port for s in case.sendings]
        assert [s.now for s in again.sendings] == [s.now for s in case.sendings]
        assert (again.ignore, again.others) == (case.ignore, case.others)
        assert (again.undefined is None) == (case.undefined is None)
        assert course.case(check, name).outputs == course.case(check, label).outputs


def _read(text: str) -> dict[str, object]:
    from p4lab.grading.scenario import tomllib

    return tomllib.loads(text)


def test_a_folder_of_cases_without_a_check_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cases would never be judged."""
    toy = ROOT / "tests" / "toy"
    shutil.copytree(toy, tmp_path, dirs_exist_ok=True)
    (tmp_path / "labs" / "90-router" / FOUND / "forwrd").mkdir(parents=True)
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    with pytest.raises(LabError, match="forwrd: no check of that name takes cases"):
        load("90-router")


# ---- What is remembered -------------------------------------------------------------------------


def test_what_is_known_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "REMEMBERED", tmp_path)
    one = trial("01-bier")
    some = one.mutants[:6]
    first = dict(trials.fates(one, some, workers=1))
    assert set(first) == set(some)
    monkeypatch.setattr(trials, "_fate", None)  # nobody is asked
    assert dict(trials.fates(one, some)) == first


def test_a_survivor_is_tried_again_when_a_case_was_found(gap: Course, tmp_path: Path) -> None:
    """What was killed stays killed."""
    tried = Trial(gap, HIDDEN)
    killed, survivor = tried.mutants[:2]
    memory = trials.Memory(tried, tmp_path / "memory.jsonl")
    memory.keep(killed, Fate("killed", check="forward-one"))
    memory.keep(survivor, Fate("undecided", why="the time is up"))
    again = trials.Memory(tried, tmp_path / "memory.jsonl")
    assert again.find(killed) is not None and again.find(survivor) is not None
    case = gap.folder / FOUND / "forward-one" / "x.toml"
    case.parent.mkdir(parents=True)
    case.write_text('say = "x"\n', encoding="utf-8")
    again = trials.Memory(tried, tmp_path / "memory.jsonl")
    assert again.find(killed) is not None and again.find(survivor) is None


def test_the_same_code_is_seen_whatever_the_text() -> None:
    programs = [
        _engine.compile_text("main.p4", _program(body)).program
        for body in ("x = 1;", "\n\n x   = 1; // the same\n", "x = 2;")
    ]
    assert all(programs)
    assert programs[0].is_same_code(programs[1])
    assert not programs[0].is_same_code(programs[2])


def _program(body: str) -> str:
    head = "inout standard_metadata_t sm"
    return f"""#include <core.p4>
#include <v1model.p4>
struct H {{ }} struct M {{ bit<8> x; }}
parser P(packet_in p, out H h, inout M m, {head}) {{ state start {{ transition accept; }} }}
control V(inout H h, inout M m) {{ apply {{ }} }}
control I(inout H h, inout M m, {head}) {{ apply {{ m.x = 0; bit<8> x; {body} m.x = x; }} }}
control E(inout H h, inout M m, {head}) {{ apply {{ }} }}
control D(packet_out p, in H h) {{ apply {{ }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


def test_an_unknown_lab_is_an_error_of_the_caller() -> None:
    done = p4lab("mutants", "99", "--generated")
    assert done.returncode == 2
    assert "01-bier" in done.stderr
