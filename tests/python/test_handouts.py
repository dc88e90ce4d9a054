"""A handout that runs over the page, gives the answer away or names a command that does not work
costs every student of a course the same half hour."""

from __future__ import annotations

import re
import shlex

import pytest

from cli_runner import p4lab
from p4lab.course import material
from p4lab.course.home import HERE, names, own_folder
from p4lab.grading.course import load
from p4lab.paths import ROOT

pytestmark = pytest.mark.beside(seconds=18)

PAGE_LINES = 60  # a printed page
PAGE_WORDS = 450

HANDOUTS = [lab for lab in names() if (HERE.labs / lab / "README.md").is_file()]


def handout(lab: str) -> str:
    return (HERE.labs / lab / "README.md").read_text(encoding="utf-8")


def sections(text: str) -> list[tuple[str, str]]:
    """Title and text of every part of a page."""
    found = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return list(zip(["", *found[1::2]], found[::2], strict=True))


@pytest.mark.parametrize("lab", HANDOUTS)
def test_every_section_fits_on_a_page(lab):
    for title, text in sections(handout(lab)):
        assert len(text.splitlines()) <= PAGE_LINES, title
        assert len(text.split()) <= PAGE_WORDS, title


@pytest.mark.parametrize("lab", HANDOUTS)
def test_every_part_has_a_section_with_its_points(lab):
    course = load(lab)
    titles = [title for title, _ in sections(handout(lab))]
    for part in course.parts:
        points = sum(check.points for check in course.checks if check.part == part.id)
        own = [text for title, text in sections(handout(lab)) if part.id in title.lower()]
        assert own, f"{part.id} in {titles}"
        assert f"*{points:g} points.*" in own[0], part.id


@pytest.mark.parametrize("lab", HANDOUTS)
def test_the_checks_have_the_parts_of_the_handout(lab):
    """Who reads "2 Forward" in a verdict finds section 2 of the handout."""
    numbered = [title for title, _ in sections(handout(lab)) if re.match(r"\d+\. ", title)]
    assert numbered == [f"{n}. {part.title}" for n, part in enumerate(load(lab).parts, 1)]


@pytest.mark.parametrize("lab", HANDOUTS)
def test_no_line_of_the_solution_is_in_the_handout(lab):
    wanted = material.student(lab)
    text = handout(lab)
    for name in wanted.edit:
        solution = (ROOT / "p4" / name).read_text(encoding="utf-8")
        regions = re.findall(r"// BEGIN SOLUTION.*?\n(.*?)// END SOLUTION", solution, re.DOTALL)
        lines = {line.strip() for region in regions for line in region.splitlines()}
        shown = [line for line in lines if line.endswith(";") and line in text]
        assert not shown


@pytest.mark.parametrize("lab", HANDOUTS)
def test_every_command_works_on_the_starter(lab, tmp_path):
    folder = tmp_path / own_folder(lab)
    commands = re.findall(r"^\./lab (.+)$", handout(lab), re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        words = [str(folder) if word == folder.name else word for word in shlex.split(command)]
        if words[0] == "watch":  # it only ends by Ctrl-C
            continue
        done = p4lab(*words)
        expected = {"check": 1, "run": 1}.get(words[0], 0)  # nothing is solved yet
        assert done.returncode == expected, f"{command}\n{done.stdout[-1500:]}\n{done.stderr}"
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("lab", HANDOUTS)
def test_every_command_names_a_folder_for_this_lab_alone(lab):
    """In one folder for all labs, the files that lab 02 brings along are the solution of lab 01."""
    named = set(re.findall(r"\bmy-?lab\w*", handout(lab)))
    assert named == {own_folder(lab)}


@pytest.mark.parametrize("lab", HANDOUTS)
def test_links_lead_to_sections(lab):
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
        for title, _ in sections(handout(lab))
    }
    for target in re.findall(r"\]\(#([^)]+)\)", handout(lab)):
        assert target in anchors
