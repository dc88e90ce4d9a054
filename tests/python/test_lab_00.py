"""Lab 00, P4 in an hour: where a newcomer begins. If these fail, a level cannot be seen at work, a
puzzle is lost or given away, or somebody's progress is gone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import Dot1Q, Ether

from cli_runner import p4lab
from p4lab.course.home import HERE
from p4lab.course.labs import LabError, load_plan
from p4lab.course.material import start
from p4lab.grading import attempts, breaks
from p4lab.grading.course import Course, load, public_seeds
from p4lab.grading.film.shot import DROPPED, film
from p4lab.grading.found import Found
from p4lab.grading.generated import Trial
from p4lab.grading.judge import judge, work_of
from p4lab.grading.progress import ProgressError, recorded
from p4lab.grading.record import Proof
from p4lab.model.run import Stream
from p4lab.network.virtual import VirtualNetwork
from p4lab.session.opening import run
from p4lab.systems.levels.scenes import SCENES

pytestmark = pytest.mark.beside(seconds=25)

LAB = "00-p4"
WRITTEN = range(1, 12)  # levels and puzzles that are programs of the student's
GIVEN = range(12, 15)


@pytest.fixture(scope="module")
def course() -> Course:
    return load(LAB)


@pytest.fixture
def solved(course: Course) -> dict[str, str]:
    return {name: course.sources[name] for name in course.student.edit}


# ---- Runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [*WRITTEN, *GIVEN])
def test_a_finished_level_gives_everybody_what_they_should_get(level: int) -> None:
    report = run(load_plan(LAB, level=level))
    assert report.ok, report.problems


@pytest.mark.parametrize("level", WRITTEN)
def test_a_level_that_is_not_begun_does_not(level: int, tmp_path: Path) -> None:
    list(start(LAB, tmp_path))
    report = run(load_plan(LAB, level=level, program=tmp_path / "levels" / "v1model.p4"))
    assert not report.ok


def test_a_run_says_who_should_have_got_what(tmp_path: Path) -> None:
    list(start(LAB, tmp_path))
    done = p4lab("run", LAB, tmp_path)
    assert done.returncode == 1
    assert "h2 got 5 of 5 packets to 10.0.1.2 from h66, and should get none." in done.stdout
    told = json.loads(p4lab("run", LAB, tmp_path, "--level", "5", "--json").stdout)
    assert not told["ok"] and told["level"] == 5
    assert {row["got"] for row in told["cells"]} == {0}


def test_a_level_that_is_not_there_is_a_sentence() -> None:
    done = p4lab("run", LAB, "--level", "99")
    assert done.returncode == 2 and "level" in done.stderr and "99" in done.stderr


def test_another_topology_is_refused_with_the_reason() -> None:
    with pytest.raises(LabError, match="one switch with hosts at its ports 1 to 4"):
        load_plan(LAB, topology="paper")


def test_packets_leave_their_host_as_the_level_wants() -> None:
    """Scapy's word for it: the TTL of levels 3 and 8, the VLAN header of level 6."""
    for level, wanted in ((3, (1, None)), (6, (64, 7)), (8, (3, None))):
        plan = load_plan(LAB, level=level)
        frame = Ether(_first_frame(plan.streams[1]))
        assert (frame[IP].ttl, frame[Dot1Q].vlan if Dot1Q in frame else None) == wanted
        del frame[IP].chksum
        again = Ether(bytes(frame))
        assert bytes(again[IP])[:20] == bytes(Ether(_first_frame(plan.streams[1]))[IP])[:20]


def _first_frame(stream: Stream) -> bytes:
    return next(VirtualNetwork._templates(_NoStreams, stream))  # type: ignore[arg-type]


class _NoStreams:
    _streams: tuple[Stream, ...] = ()


def test_every_level_has_a_file_of_less_than_forty_lines(course: Course) -> None:
    for part in course.parts:
        assert part.file in course.student.edit
        assert len(course.sources[part.file].splitlines()) < 40, part.file
    assert len(SCENES) == len(WRITTEN) + len(GIVEN)


# ---- Traps that the handout names ----------------------------------------------------------------

TRAPS = [
    ("1-drop", "hdr.ipv4.isValid() && ", "", "drop-unwanted"),
    ("3-ttl", "hdr.ipv4.ihl, hdr.ipv4.diffserv,", "hdr.ipv4.ihl,", "ttl-hop"),
    ("3-ttl", "hdr.ipv4.identification, hdr.ipv4.flags,", "hdr.ipv4.flags,", "ttl-hop"),
    ("3-ttl", "hdr.ipv4.flags, hdr.ipv4.frag_offset,", "", "ttl-hop"),
    (
        "7-register",
        "if (before < ALLOWED) {\n            sent.write((bit<32>)std.ingress_port, before + 1);",
        "before = before + 1;\n        sent.write((bit<32>)std.ingress_port, before);\n"
        "        if (before <= ALLOWED) {",
        "register-three",
    ),
]


@pytest.mark.parametrize(("level", "right", "trapped", "check"), TRAPS)
def test_who_walks_into_a_trap_of_the_handout_is_told(
    course: Course, solved: dict[str, str], level: str, right: str, trapped: str, check: str
) -> None:
    """A level counts as done by the cases that students see: these mistakes are in them."""
    name = f"levels/{level}.p4"
    assert solved[name].count(right) == 1
    files = {**solved, name: solved[name].replace(right, trapped)}
    failed = [one for one in judge(course, files).checks if one.status == "failed"]
    assert [one.id for one in failed] == [check]
    assert failed[0].story is not None and len(failed[0].story.steps) < 8, "no hundreds of lines"


def test_a_film_says_what_should_be_dropped(course: Course, solved: dict[str, str]) -> None:
    """And not that it should leave on port 0, which is where nobody has sent it yet."""
    name = "levels/2-forward.p4"
    wrong = """
        control Level(inout headers_t hdr, inout standard_metadata_t std) {
            apply {
                if (std.ingress_port == 1) std.egress_spec = 2;
                else std.egress_spec = 1;
            }
        }
    """
    stop = film(course, {**solved, name: wrong}, "forward-others").frames[-2]
    (port,) = [row for row in stop.rows if row.differs]
    assert (port.name, port.expected, port.got) == ("egress_spec", DROPPED, "1")


# ---- One part ------------------------------------------------------------------------------------


def test_what_is_offered_for_a_part_is_about_that_part(tmp_path: Path) -> None:
    list(start(LAB, tmp_path))
    said = p4lab("check", LAB, tmp_path, "--part", "4").stdout
    assert said.count("--watch-it 4.3\n") == 1
    made = json.loads(p4lab("check", LAB, tmp_path, "--part", "4", "--watch-it", "--json").stdout)
    assert made["check"] == "table-routes" and made["frames"]
    hint = json.loads(p4lab("check", LAB, tmp_path, "--part", "4", "--hint", "--json").stdout)
    assert hint["check"] == "table-routes" and len(hint["steps"]) == 1


def test_a_part_that_passes_has_no_hint(course: Course, tmp_path: Path) -> None:
    list(start(LAB, tmp_path))
    (tmp_path / "levels/1-drop.p4").write_text(course.sources["levels/1-drop.p4"])
    hint = json.loads(p4lab("check", LAB, tmp_path, "--part", "1", "--hint", "--json").stdout)
    assert hint["why"] == "Nothing fails: there is nothing to say."


def test_a_proof_does_not_say_that_a_part_fails_that_passes(
    course: Course, solved: dict[str, str]
) -> None:
    first = "levels/1-drop.p4"
    verdict = judge(course, {**course.starter, first: solved[first]})
    found = Found(check="table-routes", scenario={})
    attempt = attempts.Attempt(Proof("refuted", "table-routes"), found)
    ends = [
        (part, attempts.with_attempt(verdict, attempt, part).proof) for part in ("drop", "table")
    ]
    told = {part: proof.told for part, proof in ends if proof}
    assert told == {"drop": attempts.OTHERS_FAIL, "table": attempts.FAILS}


# ---- Puzzles -------------------------------------------------------------------------------------


def checked(course: Course, files: dict[str, str], check: str) -> str:
    """The summary of what is wrong in a check; empty if it has passed."""
    found = next(one for one in judge(course, files).checks if one.id == check)
    return found.story.summary if found.story else ""


def test_a_table_more_than_needed_is_counted(course: Course, solved: dict[str, str]) -> None:
    two = course.sources["levels/14-two-tables.p4"]
    told = checked(course, {**solved, "levels/11-one-table.p4": two}, "one-table")
    assert told == "The program has 2 tables (cable, unwanted), and 1 would do."


def test_a_copy_more_than_needed_is_counted(course: Course, solved: dict[str, str]) -> None:
    """What leaves is right, and still it is not what the puzzle asks for."""
    name = "levels/9-once.p4"
    wasteful = solved[name].replace(
        "std.egress_spec = 3;", "clone(CloneType.I2E, 3);\n            mark_to_drop(std);"
    )
    told = checked(course, {**solved, name: wasteful}, "once")
    assert told == "The switch makes 1 copy of it; none would do."


PACKET = "levels/12-packet.toml"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[packet]]\nport = 1\nipv4 = { ttl = 0 }", ""),
        ('[[packet]]\nport = 508\npayload = "x"\nipv4 = { ttl = "0x00" }', ""),
        ("[[packet]]\nport = 1", "Both programs do the same"),
        ("[[packet]]\nport = 1\nipv4 = { ttl = 0 }\n[[packet]]\nport = 1", "1 packet is enough"),
        ("[[packet]]\nport = 1\ntimes = 1000", "1 packet is enough"),
        ("", "it has no [[packet]]"),
        ("packet = 3", "it has no [[packet]]"),
        ("[[packet]]", "port"),
        ("[[packet]]\nport = 512", "port"),
        ("[[packet]]\nport = true", "port"),
        ("[[packet]]\nport = 1\ntimes = 1001", "times"),
        ("[[packet]]\nport = 1\nlike = 'nothing'", "no packet called nothing"),
        ("[[packet]]\nport = 1\nipv4 = 3", "ipv4: write its fields"),
        ("[[packet]]\nport = 1\nipv4 = { ttl = 256 }", "does not fit into 8 bits"),
        ("[[packet]]\nport = 1\nipv4 = { hops = 1 }", "ipv4 has no field hops"),
        ("[[packet]]\nport = 1\nipv6 = { hops = 1 }", "there is no header ipv6"),
        ("[[packet]]\nport = 1\nipv4 = { ttl = '=1 - 1' }", "write a number"),
        ("[[packet]]\nport = 1\nipv4 = { ttl = { shown = 0 } }", "write a number"),
        ("[[packet]]\nport = 1\nipv4 = { ttl = [0] }", "write a number"),
        ("[[packet]]\nport = 1\nipv4 = { ttl = 1.5 }", "write a number"),
        ("[[packet]]\nport = 1\nipv4 = { ttl = " + "9" * 5000 + " }", "cannot be read as TOML"),
        ("x = " + "[" * 5000, "TOML"),
        ("#" * 20_000, "too large"),
        ("port = ", "it is not TOML"),
    ],
)
def test_packets_of_a_student_are_read_and_never_run(course: Course, text: str, said: str) -> None:
    check = next(one for one in course.checks if one.id == "breaks-hop")
    found = breaks.story(course, check, work_of(course, {PACKET: text or "\n# nothing"}))
    if not said:
        assert found is None
    else:
        assert found is not None and said in found.summary, found


def test_what_is_computed_in_a_scenario_is_not_in_a_students_file(course: Course) -> None:
    """`any` and expressions are for the lab's own files."""
    check = next(one for one in course.checks if one.id == "breaks-hop")
    for value in ('"any"', '"checksum"', '"__import__"'):
        text = f"[[packet]]\nport = 1\nipv4 = {{ ttl = {value} }}"
        story = breaks.story(course, check, work_of(course, {PACKET: text}))
        assert story is not None and story.signature in (breaks.UNREADABLE, breaks.UNBROKEN)


# ---- Progress ------------------------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    list(start(LAB, tmp_path))
    return tmp_path


def solve(folder: Path, *names: str) -> None:
    for name in names:
        shutil.copy(HERE.sources / "levels" / name, folder / "levels" / name)


def test_what_was_done_once_stays_done(mine: Path) -> None:
    solve(mine, "1-drop.p4", "12-packet.toml")
    first = p4lab("check", LAB, mine, "--part", "1")
    assert first.returncode == 0
    assert "2 of 13 parts done. Next: 2 Forward, in levels/2-forward.p4." in first.stdout
    (mine / "levels" / "1-drop.p4").write_text("nothing that compiles\n")
    solve(mine, "2-forward.p4")
    again = p4lab("check", LAB, mine, "--json")
    assert again.returncode == 1
    assert json.loads(again.stdout)["progress"] == {
        "done": ["drop", "forward", "packet"],
        "next": "ttl",
    }


def test_all_of_it_is_done(course: Course, solved: dict[str, str], mine: Path) -> None:
    kept = recorded(course, mine, judge(course, solved))
    assert kept is not None and kept.next is None
    assert str(kept) == "■" * 13 + "  All 13 parts are done."


@pytest.mark.parametrize("text", ["x[", "done = 3", "#" * 20_000, "done = [" + "[" * 5000])
def test_a_file_that_is_not_ours_is_not_overwritten(
    course: Course, solved: dict[str, str], mine: Path, text: str
) -> None:
    path = mine / "progress.toml"
    path.write_text(text)
    with pytest.raises(ProgressError, match="repair or delete it"):
        recorded(course, mine, judge(course, solved))
    assert path.read_text() == text


def test_a_check_goes_on_without_progress(mine: Path) -> None:
    (mine / "progress.toml").write_text("x[")
    done = p4lab("check", LAB, mine)
    assert "repair or delete it" in done.stderr and "0/100" in done.stdout


def test_parts_of_another_version_of_the_lab_are_kept(
    course: Course, solved: dict[str, str], mine: Path
) -> None:
    (mine / "progress.toml").write_text('done = ["meter"]\n')
    recorded(course, mine, judge(course, solved))
    assert '"meter"' in (mine / "progress.toml").read_text()
    assert not [path for path in mine.iterdir() if path.name.startswith(".progress")]


def test_a_disk_that_takes_nothing_loses_nothing(
    course: Course, solved: dict[str, str], mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old file is there until the new one is whole."""
    path = mine / "progress.toml"
    path.write_text('done = ["drop"]\n')

    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("p4lab.grading.progress.os.fsync", full)
    with pytest.raises(ProgressError, match="No space left on device"):
        recorded(course, mine, judge(course, solved))
    assert path.read_text() == 'done = ["drop"]\n'
    assert not [one for one in mine.iterdir() if one.name.startswith(".progress")]


def test_progress_is_kept_where_no_folder_can_be_locked(
    course: Course, solved: dict[str, str], mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a home on NFS."""

    def refuse(*_: object) -> None:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr("p4lab.grading.progress.fcntl.flock", refuse)
    kept = recorded(course, mine, judge(course, solved))
    assert kept is not None and kept.next is None
    assert (mine / "progress.toml").exists()


def test_the_solution_is_nobodys_progress(course: Course, solved: dict[str, str]) -> None:
    assert recorded(course, HERE.sources, judge(course, solved)) is None
    assert not (HERE.sources / "progress.toml").exists()


# ---- Proofs --------------------------------------------------------------------------------------


def test_there_are_mutants_of_every_level() -> None:
    """Each level is a program of its own, by a macro."""
    trial = Trial(load(LAB), 1)
    programs = {name for name in trial.course.student.edit if name.endswith(".p4")}
    assert {mutant.file for mutant in trial.mutants} == programs
    assert len(trial.mutants) >= 300
    assert len({mutant.digest for mutant in trial.mutants}) == len(trial.mutants)


@pytest.mark.parametrize(
    ("name", "old", "new", "check"),
    [
        ("2-forward.p4", "std.ingress_port == 1", "std.ingress_port == 1 || hdr.ipv4.ttl == 93",
         "forward-both"),
        ("8-copy.p4", "hdr.ipv4.ttl < 5", "hdr.ipv4.ttl < 5 && hdr.ipv4.dst_addr != 0xC0A80907",
         "copy-dying"),
    ],
)  # fmt: skip
def test_a_trick_is_met_in_whatever_level(
    course: Course, solved: dict[str, str], name: str, old: str, new: str, check: str
) -> None:
    """A proof goes through all levels, and what it finds belongs to a check of that level."""
    file = f"levels/{name}"
    assert old in solved[file]
    wrong = {**solved, file: solved[file].replace(old, new)}
    found = attempts.attempt(course, wrong, 10)
    assert found.proof.status == "refuted", found
    parts = {one.id: one.part for one in course.checks}
    assert parts[found.proof.told] == parts[check]


def test_equal_means_equal_with_all_macros(course: Course, solved: dict[str, str]) -> None:
    found = attempts.attempt(course, solved, 10)
    assert found.proof.status == "proven"
    first, *more, last = WRITTEN
    assert f"with LEVEL={first}, {', '.join(map(str, more))} and {last}" in found.proof.told


def test_a_mistake_with_other_macros_is_met() -> None:
    """In lab 01 a program may be right with 64 bits and wrong with 128."""
    lab = load("01-bier")
    name = "bier/bier.p4"
    old = "hdr.bier.ttl - 1"
    text = lab.sources[name]
    assert text.count(old) == 1
    wrong = text.replace(old, "hdr.bier.ttl - (BSL == 128 ? 8w2 : 8w1)")
    found = attempts.attempt(lab, {name: wrong}, 10)
    assert found.proof.status == "refuted" and found.found is not None, found
    assert found.found.scenario["defines"] == {"BSL": "128"}


def test_a_zero_that_a_case_is_about_is_told(course: Course) -> None:
    """Fields that are 0 are left out of stories, and a student would look for what is wrong with a
    packet whose TTL is 0 in the rest of it."""
    check = next(one for one in course.checks if one.id == "ttl-end")
    texts = [
        packet.text
        for seed in public_seeds(check)
        for packet in course.case(check, seed).case.sendings
    ]
    assert any("ttl=0" in text for text in texts), texts
    assert not any("diffserv" in text for text in texts)
