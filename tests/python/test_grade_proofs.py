"""Without these, an answer that is wrong where no case looks gets full marks, a right one loses
some, or the mark depends on the luck of a solver.

What a trick waits for is written here, so the packet that is found is known without the prover.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab
from p4lab.cli import grade_verb
from p4lab.grading import apart, attempts, found, frames, proving
from p4lab.grading.attempts import Attempt, attempt, charged, sampled
from p4lab.grading.course import Course, load
from p4lab.grading.folder import Hands
from p4lab.grading.found import Found
from p4lab.grading.judge import judge, work_of
from p4lab.grading.mutants import answers
from p4lab.grading.record import Proof, Verdict
from p4lab.grading.sandbox import Limits
from p4lab.grading.scenario import Scenario, make_case
from p4lab.grading.submission import Wanted
from p4lab.grading.workers import Hand, Task
from p4lab.grading.writers.layout import Graded

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.beside(seconds=70)

LAB = "01-bier"
FILE = "bier/bier.p4"
SEED = 7
SECONDS = 20.0

TTL = "hdr.bier.ttl = hdr.bier.ttl - 1;"
BITS = "hdr.bier.bit_string = carried.remaining & fbm;"
BFIR = "hdr.bier.bfir_id    = bfir_id;"
ALL_BITS = "hdr.bier.bit_string = fbm;"
REMOVED = "hdr.bier.setInvalid();"
SAME_TTL = "hdr.bier.ttl = hdr.bier.ttl + 255;"

TRICKS = {
    # name: what is replaced, by what, the check that it belongs to, what its story must tell
    "ttl": (TTL, f"if (hdr.bier.entropy != 0x2BAD5) {{ {TTL} }}", "forward-ttl", "entropy=0x2bad5"),
    "bits": (
        BITS,
        f"{BITS} if (hdr.bier.dscp == 51 && hdr.bier.bfir_id == 51966) {{ {ALL_BITS} }}",
        "forward",
        "dscp=51",
    ),
    "bfir": (BFIR, f"{BFIR} if (bfir_id == 47802) {{ hdr.bier.bfir_id = 1; }}",
             "encapsulate-fields", "bfir_id=0xbaba"),
    "removed": (REMOVED, "if (hdr.ipv4.identification != 0xB1E5) { hdr.bier.setInvalid(); }",
                "decapsulate", "identification=0xb1e5"),
}  # fmt: skip


@pytest.fixture(scope="module")
def course() -> Course:
    return load(LAB)


@pytest.fixture(scope="module")
def right(course) -> str:
    return next(one for one in answers(course) if one.kind == "reference").files[FILE]


def planted(right: str, name: str) -> dict[str, str]:
    find, replacement, _, _ = TRICKS[name]
    assert right.count(find) == 1
    return {FILE: right.replace(find, replacement)}


def full(course: Course, files: dict[str, str]) -> Verdict:
    verdict = judge(course, files, seed=SEED)
    assert verdict.passed, [check.id for check in verdict.checks if check.status != "passed"]
    return verdict


@pytest.mark.parametrize("name", TRICKS)
def test_a_trick_that_no_case_meets_loses_the_points_of_its_check(course, right, name):
    _, _, belongs, tells = TRICKS[name]
    files = planted(right, name)
    before = full(course, files)
    found_out = attempt(course, files, SECONDS)
    assert found_out.proof.status == "refuted", found_out.proof
    assert found_out.found is not None
    after = charged(course, files, before, [found_out.found])
    (lost,) = (check for check in after.checks if check.status != "passed")
    assert lost.id == found_out.proof.told and lost.id.startswith(belongs)
    assert after.points == before.points - lost.max_points
    assert lost.proved and not lost.hidden and lost.story is not None
    assert tells in " ".join(lost.story.steps), lost.story.steps
    assert lost.story.place is not None and lost.story.place.file == FILE
    # Who is right is right with this packet, too.
    assert charged(course, {FILE: right}, before, [found_out.found]) == before


def test_right_answers_lose_nothing(course):
    """However they are built: a proof may fail to be found, but nothing is found against them.
    (test_prove.py asks the prover alone about all of them.)"""
    variants = [answer for answer in answers(course) if answer.kind == "variant"]
    print(f"sample {SEED}")
    for answer in random.Random(SEED).sample(variants, 2):
        found_out = attempt(course, answer.files, 2.0)
        assert found_out.proof.status != "refuted", (answer.name, found_out)


def test_a_right_answer_is_proven_within_bounds_that_are_told(course, right):
    assert right.count(TTL) == 1
    proof = attempt(course, {FILE: right.replace(TTL, SAME_TTL)}, SECONDS).proof
    assert proof.status == "proven" and proof.branches > 0
    assert "entries per table" in proof.told and "bytes" in proof.told


@pytest.mark.parametrize("lab", ["01-bier", "03-protect", "04-msr6"])
def test_the_code_of_the_solution_needs_no_time(lab):
    """Whole programs of lab 04 are more than there is time for; its solution is right all the same,
    with whatever comments."""
    course = load(lab)
    files = next(one for one in answers(course) if one.kind == "reference").files
    commented = {name: f"// mine\n{text}" for name, text in files.items()}
    assert attempt(course, commented, 0.0).proof.status == "proven"


# ---- A counterexample as a case ------------------------------------------------------------------


@pytest.fixture(scope="module")
def ttl(course, right) -> Found:
    case = attempt(course, planted(right, "ttl"), SECONDS).found
    assert case is not None
    return case


def test_a_found_case_as_a_file_is_the_same_case(course, ttl):
    """Whoever reads it later, as a case that students see or as a hidden one."""
    kept = Scenario.model_validate(tomllib.loads(found.as_toml(ttl)))
    wanted = found.judged(course, ttl).case
    for hidden in (False, True):
        case = make_case(kept, course.kit, course, "another seed", hidden=hidden)
        assert replace(case, undefined=None) == wanted


def test_any_packet_can_be_told_by_headers_and_payload(course):
    """Also one that is cut off, too long, or no packet of the lab."""
    chance = random.Random(20261122)
    print("seed 20261122")
    program, layout = course.program(course.defines), course.headers(course.defines)
    heads = [
        bytes(12) + kind.to_bytes(2, "big") + first
        for kind in (0x0800, 0xAB37, 0x86DD)
        for first in (b"", b"\x45", b"\x46", b"\x00")
    ]
    for _ in range(200):
        data = chance.choice(heads) + chance.randbytes(chance.randrange(90))
        told = found._packet(program, layout, data)
        front = {name: fields for name, fields in told.items() if name != frames.PAYLOAD}
        rest = frames.payload(told.get(frames.PAYLOAD, ""))
        assert frames.build(front, layout) + rest == data, data.hex()


def test_a_mistake_that_has_cost_points_already_costs_no_more(course, right, ttl):
    """Its check has failed, or one that this check suffers from."""
    files = planted(right, "ttl")
    passed = full(course, files)
    failed = charged(course, files, passed, [ttl])
    assert charged(course, files, failed, [ttl]) == failed
    elsewhere = replace(ttl, check="first-link")
    assert charged(course, files, failed, [elsewhere]) == failed


# ---- A class ------------------------------------------------------------------------------------


def graded(course: Course, student: str, text: str) -> Graded:
    files = {FILE: text}
    return Graded(replace(full(course, files), student=student), files=files)


def test_what_is_found_in_one_is_tried_on_all(course, right, ttl):
    """The solver gave up on bob's program, and found the same mistake in ann's."""
    ann = planted(right, "ttl")[FILE]
    bob = ann.replace("0x2BAD5) {", "0x2BAD5 && hdr.bier.isValid()) {")
    rows = [graded(course, *one) for one in (("ann", ann), ("bob", bob), ("cat", right))]
    known = {
        proving.program_of({FILE: ann}): Attempt(Proof("refuted", ttl.check), ttl),
        proving.program_of({FILE: bob}): sampled("the time is up"),
        proving.program_of({FILE: right}): Attempt(Proof("proven", "bounds")),
    }
    task = Task(LAB, Wanted((FILE,)), SEED, prove=1.0)
    with Hands(1) as hands:
        proven = proving.prove(course, rows, task, known, hands)
    proofs = {row.verdict.student: row.verdict.proof for row in proven.rows}
    assert proofs["ann"] == proofs["bob"] == Proof("refuted", "forward-ttl")
    assert proofs["cat"] == Proof("proven", "bounds")
    points = {row.verdict.student: row.verdict.points for row in proven.rows}
    assert points["ann"] == points["bob"] == points["cat"] - 8
    assert proven.cases == (ttl,)


def test_a_mistake_in_one_part_hides_no_other():
    """Who has solved one level less would keep the points that a proof takes from a neighbour."""
    levels = load("00-p4")
    right = {name: levels.sources[name] for name in levels.student.edit}
    counter, drop = "levels/5-counter.p4", "levels/1-drop.p4"
    trick = "hdr.ipv4.isValid() && hdr.ipv4.identification != 0xB1E5"
    files = {**right, counter: right[counter].replace("hdr.ipv4.isValid()", trick)}
    files |= {drop: levels.starter[drop]}
    verdict = judge(levels, files, seed=SEED)
    assert {one.part for one in verdict.checks if one.status != "passed"} == {"drop"}
    row = Graded(verdict, files=files)
    assert proving.provable(levels, row) == {**files, drop: right[drop]}
    with Hands(1) as hands:
        task = Task("00-p4", Wanted(tuple(levels.student.edit)), SEED, prove=SECONDS)
        (proven,) = proving.prove(levels, [row], task, {}, hands).rows
    lost = {one.id for one in proven.verdict.checks if one.proved}
    assert lost == {"counter-ports"}
    # What no part owns may be in any of them.
    assert proving.provable(load(LAB), Graded(judge(load(LAB), load(LAB).starter))) is None


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("a = b;\nc", "a  =\tb; // c\n\n  c", True),
        ("a = b;", "a /* = c; */ =\r\f b;", True),
        ('log("// a");', 'log("// b");', False),
        ('log("a  a");', 'log("a a");', False),
        ("ab = c;", "a b = c;", False),
        ("// \\\na = b;", "a = b;", False),
        ("#define A b\nc", "#define A b c\n", False),
    ],
)
def test_programs_are_the_same_if_only_spaces_and_comments_differ(one, other, is_same):
    same = proving.program_of({FILE: one}) == proving.program_of({FILE: other})
    assert same == is_same


def test_the_order_of_a_class_makes_no_difference(ttl):
    other = replace(ttl, check="first-link")
    assert attempts.in_order([ttl, other, ttl]) == attempts.in_order([other, ttl])


def test_a_proof_without_memory_costs_nothing(course, right, monkeypatch):
    monkeypatch.setattr(apart, "attempt", lambda *_: bytes(2 * apart.PROOF_BYTES))
    files = {FILE: right}
    found_out = apart.prove_apart(course, files, SECONDS, Limits())
    assert found_out.proof.status == "sampled" and found_out.found is None
    assert "memory" in found_out.proof.told, found_out


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory, course, right) -> Path:
    folder = tmp_path_factory.mktemp("class")
    mutant = next(one for one in answers(course) if one.name == "forward-ttl")
    texts = {
        "ann": right,
        "bob": f"// by bob\n{right}",
        "cat": planted(right, "ttl")[FILE],
        "dan": mutant.files[FILE],
    }
    for name, text in texts.items():
        (folder / f"{name}.p4").write_text(text)
    return folder


def grade(folder: Path, out: Path, *options: object) -> dict[str, bytes]:
    done = p4lab("grade", LAB, folder, "--out", out, "--seed", SEED, *options)
    assert done.returncode == 0, done.stderr
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


PLATFORMS = ("--format", "gradescope", "--format", "prairielearn")


@pytest.fixture(scope="module")
def once(handed_in, tmp_path_factory) -> tuple[Path, dict[str, bytes]]:
    out = tmp_path_factory.mktemp("out") / "grades"
    return out, grade(handed_in, out, "--workers", "1", *PLATFORMS)


def test_everybody_reads_what_is_known(once):
    _, files = once
    rows = {row["student"]: row for row in csv.DictReader(files["grades.csv"].decode().split("\n"))}
    assert {name: row["proof"] for name, row in rows.items()} == {
        "ann": "proven", "bob": "proven", "cat": "refuted", "dan": "sampled",
    }  # fmt: skip
    assert rows["ann"]["points"] == "100" and rows["cat"]["points"] == "92"
    assert "2 proven within bounds, 1 refuted" in files["summary.md"].decode()
    proven, refuted = (files[f"students/{name}.md"].decode() for name in ("ann", "cat"))
    assert "Proven equal to the reference within these bounds" in proven
    assert "a proof found a packet that is not" in refuted and "entropy=0x2bad5" in refuted
    for platform in ("gradescope", "prairielearn"):
        results = json.loads(files[f"{platform}/ann/results.json"])
        assert "Proven equal to the reference" in results["output"]
        (lost,) = (
            test
            for test in json.loads(files[f"{platform}/cat/results.json"])["tests"]
            if "entropy=0x2bad5" in test["output"]
        )
        assert lost.get("score", lost.get("points")) == 0
    records = json.loads(files["records.json"])["verdicts"]
    assert [record["proof"]["status"] for record in records] == [
        "proven", "proven", "refuted", "sampled",
    ]  # fmt: skip


def test_the_found_case_is_kept_for_the_lab(once, course):
    _, files = once
    (name,) = (name for name in files if name.startswith("found/"))
    assert name.startswith("found/forward-ttl/")
    case = make_case(
        Scenario.model_validate(tomllib.loads(files[name].decode())), course.kit, course, ""
    )
    assert "entropy=0x2bad5" in case.sendings[0].text


def test_two_workers_write_the_same_bytes_as_one(once, handed_in, tmp_path):
    again = grade(handed_in, tmp_path / "out", "--workers", "2", *PLATFORMS)
    assert again == once[1]


def test_a_regrade_takes_the_proofs_of_the_grading_before(once, handed_in):
    """Nobody's mark changes because the solver has less luck today."""
    out, files = once
    kept = json.loads(files["proofs.json"])
    for one in kept["attempts"].values():
        if one["status"] == "proven":
            one["told"] = "as we know from before"
    (out / "proofs.json").write_text(json.dumps(kept))
    again = grade(handed_in, out, "--workers", "1", *PLATFORMS)
    assert b"as we know from before" in again["students/ann.md"]
    kept["key"] = "another lab"
    (out / "proofs.json").write_text(json.dumps(kept))
    assert grade(handed_in, out, "--workers", "1", *PLATFORMS) == files


def test_without_proofs_nothing_is_said_of_them(handed_in, tmp_path):
    files = grade(handed_in, tmp_path / "out", "--no-prove")
    assert "proof" not in files["grades.csv"].decode().split("\n")[0]
    assert "proofs.json" not in files
    assert all(row["proof"] is None for row in json.loads(files["records.json"])["verdicts"])


# ---- For students -------------------------------------------------------------------------------


def test_check_shows_the_packet_as_a_failed_case(handed_in, tmp_path, right):
    (tmp_path / "bier").mkdir()
    (tmp_path / FILE).write_text(planted(right, "ttl")[FILE])
    assert p4lab("check", LAB, tmp_path).returncode == 0
    told = p4lab("check", LAB, tmp_path, "--prove")
    assert told.returncode == 1, told.stderr
    assert "a proof found a packet that is not" in " ".join(told.stdout.split())
    assert "entropy=0x2bad5" in told.stdout
    (tmp_path / FILE).write_text(right)
    told = p4lab("check", LAB, tmp_path, "--prove", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["proof"]["status"] == "proven"


def test_check_says_that_it_had_too_little_time(tmp_path, right):
    (tmp_path / "bier").mkdir()
    (tmp_path / FILE).write_text(right.replace(TTL, SAME_TTL))
    told = p4lab("check", LAB, tmp_path, "--prove", "--seconds", "0.1")
    assert told.returncode == 0, told.stderr
    assert "Sampled, not proven: the time is up (with BSL=64)." in told.stdout


def test_prove_tells_a_story_and_its_check(tmp_path, right):
    (tmp_path / "bier").mkdir()
    (tmp_path / FILE).write_text(planted(right, "bfir")[FILE])
    told = p4lab("prove", LAB, tmp_path)
    assert told.returncode == 1, told.stderr
    assert "All other fields of the BIER header are right" in told.stdout
    assert "bfir_id=0xbaba" in told.stdout and "bier.bfir_id is wrong" in told.stdout
    shown = json.loads(p4lab("prove", LAB, tmp_path, "--json").stdout)
    assert shown["verdict"] == "different" and shown["check"] == "encapsulate-fields"
    assert shown["story"]["place"]["file"] == FILE and shown["bounds"]
    (tmp_path / FILE).write_text("control")
    told = p4lab("prove", LAB, tmp_path)
    assert told.returncode == 2 and "does not compile" in told.stderr


def test_what_the_prover_finds_is_what_work_of_the_student_does(course, right, ttl):
    """The story is the engine's, from a program that no prover has seen."""
    work = work_of(course, planted(right, "ttl"))
    story = attempts.told(course, ttl, work)
    assert story is not None and story.place is not None
    assert story.place.file == FILE


def test_a_large_class_shares_its_time(course, right, monkeypatch):
    """Without this the proofs of three hundred take an hour."""
    given: list[float | None] = []

    def told(_hand: object, _files: object, task: Task) -> Attempt:
        given.append(task.prove)
        return sampled("the time is up")

    monkeypatch.setattr(Hand, "prove", told)
    row = graded(course, "ann", right)
    rows = [replace(row, files={FILE: f"{right}\n#define N {number}"}) for number in range(40)]
    task = Task(LAB, Wanted((FILE,)), SEED, prove=10.0)
    proving.prove(course, rows, task, {}, Hands(2), most=100.0)
    proving.prove(course, rows[:5], task, {}, Hands(2), most=100.0)
    assert given == [2.5] * 40 + [10.0] * 5


def test_the_documented_limit_of_a_proof_is_the_one_that_holds():
    """A report says "more than 40 s" where the documentation promises less."""
    most = apart.proof_seconds(Limits(), grade_verb.PROVE)
    text = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")
    assert (
        f"| a proof | about {grade_verb.PROVE:g} s of a core (`--prove`), at most {most} s" in text
    )
    assert f"for about {grade_verb.PROVE:g} seconds of a core" in text
