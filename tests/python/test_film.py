"""The film of a failed check: it stops where the packet goes wrong, and gives nothing away.

Oracles: the line that a mutant changes, the packets that the story has, the text of the solution.
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from p4lab.cli.asked import named
from p4lab.grading.course import Course, load
from p4lab.grading.film.record import Film
from p4lab.grading.film.shot import film
from p4lab.paths import ROOT

pytestmark = pytest.mark.beside(seconds=10)

MARK = re.compile(r"\s*(//|#) (BEGIN|END) ")


def bare(text: str) -> str:
    """A solution without its marks."""
    return "\n".join(line for line in text.split("\n") if not MARK.match(line))


@pytest.fixture(scope="module")
def bier() -> Course:
    return load("01-bier")


def solved(course: Course) -> dict[str, str]:
    return {name: bare(course.sources[name]) for name in course.student.edit}


def wrong(course: Course, old: str, new: str) -> tuple[dict[str, str], int]:
    """A solution with one mistake, and the line of it."""
    (name,) = course.student.edit
    text = solved(course)[name]
    assert text.count(old) >= 1
    return {name: text.replace(old, new, 1)}, text[: text.index(old)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "check", "row", "expected", "got"),
    [
        # The bits of the story: those that wait and are behind the next hop, 0x69 & 0x53.
        ("carried.remaining & fbm;", "carried.remaining;", "forward-one", "bier.bit_string",
         "bits 1 and 7", "bits 1, 4, 6 and 7"),
        ("hdr.bier.bsl        = BSL_CODE;", "hdr.bier.bsl        = 2;", "encapsulate-fields",
         "bier.bsl", "1", "2"),
        ("hdr.bier.ttl = hdr.bier.ttl - 1;", "hdr.bier.ttl = hdr.bier.ttl - 2;", "forward-ttl",
         "bier.ttl", "52", "51"),
    ],
)  # fmt: skip
def test_it_stops_at_the_line_that_is_wrong(
    bier: Course, old: str, new: str, check: str, row: str, expected: str, got: str
) -> None:
    """A student looks at this line: another one would be an hour lost."""
    files, line = wrong(bier, old, new)
    found = film(bier, files, check)
    *before, stop, outcome = found.frames
    assert stop.place is not None and (stop.place.file, stop.place.line) == ("bier/bier.p4", line)
    (apart,) = [one for one in stop.rows if one.differs]
    assert (apart.name, apart.expected, apart.got) == (row, expected, got)
    assert not [one for frame in before for one in frame.rows if one.differs]
    assert [one.name for one in outcome.rows if one.differs] == [row]
    assert "".join(found.why).startswith(f"bier/bier.p4:{line}:")


def test_a_set_is_drawn_bit_by_bit(bier: Course) -> None:
    files, _ = wrong(bier, "carried.remaining & fbm;", "carried.remaining;")
    (apart,) = [one for one in film(bier, files, None).frames[-2].rows if one.differs]
    assert (int(apart.expected_bits, 2), int(apart.got_bits, 2)) == (0b1000001, 0b1101001)


def secrets(course: Course) -> set[str]:
    """The lines of the solution that students have to find, without blanks."""
    found = set()
    for name in course.student.edit:
        given = {"".join(line.split()) for line in course.starter[name].split("\n")}
        lines = {"".join(line.split()) for line in bare(course.sources[name]).split("\n")}
        found |= {line for line in lines - given if len(line) > 12}
    return found


def texts(data: object) -> str:
    """Everything in plain data, as one text without blanks."""
    if isinstance(data, Mapping):
        return "\n".join(texts(item) for item in data.values())
    if isinstance(data, list | tuple):
        return "\n".join(texts(item) for item in data)
    return "".join(str(data).split())


@pytest.mark.parametrize("lab", ["01-bier", "03-protect"])
def test_nothing_of_the_solution_is_in_it(lab: str) -> None:
    """Whoever watches films of the starter has not seen a line of the answer."""
    course = load(lab)
    answer = secrets(course)
    assert len(answer) > 10
    for check in course.checks[::3]:
        found = film(course, course.starter, check.id)
        assert found.frames or found.missing
        shown = texts(found.to_json())
        assert not [line for line in answer if line in shown]


def test_what_a_network_does_wrong_is_watched_at_its_router() -> None:
    """The film of a whole network is about one packet at one switch, as its story."""
    course = load("01-bier")
    (alone,) = [one for one in course.checks if one.id == "network"]
    course.checks = (alone.model_copy(update={"needs": []}),)
    files, line = wrong(course, "carried.remaining & fbm;", "carried.remaining;")
    *_, stop, outcome = film(course, files, "network").frames
    assert f"at {stop.where.partition(',')[0]} first" in outcome.text
    # Without probes a story names the action, in the line before.
    assert stop.place is not None and stop.place.line == line - 1
    assert "bier.bit_string" in {one.name for one in stop.rows if one.differs}


def test_a_check_without_a_packet_says_why(bier: Course) -> None:
    (name,) = bier.student.edit
    broken = {name: solved(bier)[name].replace("carried.remaining & fbm;", "carried.remaining &;")}
    assert "does not compile" in film(bier, broken, None).missing
    assert "passes" in film(bier, solved(bier), "forward-one").missing
    renamed = {name: solved(bier)[name].replace("table encap ", "table encaps ")}
    renamed[name] = renamed[name].replace("encap.apply()", "encaps.apply()")
    assert "sends no packet" in film(bier, renamed, "contract").missing
    files, _ = wrong(bier, "carried.remaining & fbm;", "carried.remaining;")
    assert "waits for another one" in film(bier, files, "network").missing


def test_numbers_have_no_packet() -> None:
    course = load("05-recirculation")
    files = dict(course.starter)
    check = next(one for one in course.checks if one.numbers)
    assert "sends no packet" in film(course, files, check.id).missing


def test_a_film_survives_its_way_as_json(bier: Course) -> None:
    files, _ = wrong(bier, "carried.remaining & fbm;", "carried.remaining;")
    found = film(bier, files, None)
    assert Film.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["01-bier", "--watch-it"], ["01-bier", "--watch-it="]),
        (["01-bier", "--watch-it", "2.1"], ["01-bier", "--watch-it", "2.1"]),
        (["01-bier", "--watch-it", "work/mine"], ["01-bier", "--watch-it=", "work/mine"]),
        (["--hint", "--json", "01-bier"], ["--hint=", "--json", "01-bier"]),
    ],
)
def test_an_option_may_name_a_check_or_not(typed: list[str], read: list[str]) -> None:
    assert list(named(typed)) == read


@pytest.fixture
def mine(bier: Course, tmp_path: Path) -> Path:
    files, _ = wrong(bier, "carried.remaining & fbm;", "carried.remaining;")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "p4lab", "check", "01-bier", str(folder), "--watch-it"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "xterm", "COLUMNS": "100"}


def test_all_steps_are_printed_where_nobody_types(mine: Path) -> None:
    done = subprocess.run(command(mine), env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    steps = [int(one) for one in re.findall(r"^step (\d+) of", done.stdout, re.MULTILINE)]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) > 3
    assert "Here it goes wrong." in done.stdout
    ones = re.findall(r"bier.bit_string expected +([1. ]+)  bits", done.stdout)
    assert ones and ones[0].split() == ["1", ".", ".", ".", ".", ".", "1"]


def test_keys_go_forward_and_back(mine: Path) -> None:
    """Enter, space, b and q, as the last line says."""
    ours, theirs = pty.openpty()
    shown = subprocess.Popen(
        command(mine), env=environment(), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)

    def until(step: int) -> None:
        seen = ""
        while not re.search(rf"step {step} of \d+(?s:.)*q: quit", seen):
            assert select.select([ours], [], [], 60)[0], seen
            seen += os.read(ours, 65536).decode(errors="replace")

    until(1)
    for key, step in ((b"\n", 2), (b" ", 3), (b"b", 2)):
        os.write(ours, key)
        until(step)
    os.write(ours, b"q")
    assert shown.wait(60) == 0
    os.close(ours)
