"""What an author of a lab has got wrong is one sentence, with the file, the line and the key."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from p4lab.course import material
from p4lab.course.labs import LabError
from p4lab.grading.course import Course, load, public_seeds
from p4lab.paths import ROOT

NAME = "81-mine"
LAB = f"labs/{NAME}/lab.toml"
FIRST = "checks/encapsulate-header.toml"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one lab, which is a copy of the first."""
    folder = tmp_path / "labs" / NAME
    shutil.copytree(ROOT / "labs" / "01-bier", folder)
    shutil.copytree(ROOT / "p4", tmp_path / "p4")
    text = (folder / "lab.toml").read_text()
    (folder / "lab.toml").write_text(text.replace('name = "01-bier"', f'name = "{NAME}"', 1))
    monkeypatch.setenv("P4LAB_COURSE", str(tmp_path))
    return tmp_path


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def first_case(found: Course) -> None:
    check = next(one for one in found.checks if one.scenario == FIRST)
    found.case(check, public_seeds(check)[0])


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            'program = "bier/v1model.p4"',
            'program = "bier/v1modle.p4"',
            "student.program: p4/bier/v1modle.p4 does not exist",
        ),
        (
            'program = "bier/v1model.p4"',
            'program = "bier/tna.p4"',
            "student.program: bier/tna.p4 is not among the files of edit, nor of files",
        ),
        (f'name = "{NAME}"', 'name = "81-mien"', f"lab.name: write '{NAME}', as its folder is"),
        (
            f'scenario = "{FIRST}"',
            'scenario = "checks/encap.toml"',
            f"check.scenario: labs/{NAME}/checks/encap.toml does not exist",
        ),
        ('needs = ["compiles"]', 'needs = ["compile"]', "check.needs: no check compile stands"),
        ("hidden = 12", "hiden = 12", "check: unknown key hiden; did you mean hidden?"),
        ('title = "BIER: multi', 'titel = "BIER: multi', "lab: the key title is missing"),
        ("cases = 3", "cases = 0", "check.cases: must be at least 1, not 0"),
        ("cases = 3", 'cases = "many"', "check.cases: must be a whole number, not 'many'"),
        (
            'signature = "copy missing"',
            'signature = "copy mising"',
            "hint.signature: nothing is called 'copy mising'; did you mean 'copy missing'?",
        ),
    ],
)
def test_a_mistake_in_a_lab_is_said_with_its_line(
    course: Path, old: str, new: str, told: str
) -> None:
    file = course / LAB
    change(file, old, new)
    with pytest.raises(LabError) as error:
        load(NAME)
    said = re.fullmatch(rf"{re.escape(LAB)}:(\d+): (.*)", str(error.value))
    assert said and said[2].startswith(told), error.value
    if "missing" not in told:
        assert new.split(" = ")[0] in file.read_text().splitlines()[int(said[1]) - 1]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("bier = {", "beir = {", "checks.header.beir: there is no header beir; choose from"),
        ("ttl = ", "tll = ", "checks.header.ipv4.tll: ipv4 has no field tll; it has version"),
    ],
)
def test_a_default_of_a_header_that_is_not_there_is_refused(
    course: Path, old: str, new: str, told: str
) -> None:
    text = (course / LAB).read_text()
    at = text.index("[checks.header]")
    assert old in text[at:]
    (course / LAB).write_text(text[:at] + text[at:].replace(old, new, 1))
    with pytest.raises(LabError, match=re.escape(told)) as error:
        first_case(load(NAME))
    assert str(error.value).startswith(f"{LAB}:")


def test_a_value_that_does_not_fit_says_whose_it_is(course: Path) -> None:
    file = course / "labs" / NAME / FIRST
    change(file, 'ttl = "=ttl"', "ttl = 256")
    with pytest.raises(LabError) as error:
        first_case(load(NAME))
    told = f"labs/{NAME}/{FIRST}: packet 1: ipv4.ttl: 256 does not fit into 8 bits"
    assert str(error.value) == told


def test_what_is_not_utf_8_is_named_with_its_line(course: Path) -> None:
    lab = course / LAB
    sound = lab.read_text()
    lab.write_bytes(sound.replace("multicast without", "über", 1).encode("latin-1"))
    line = next(n for n, text in enumerate(sound.splitlines(), 1) if "multicast without" in text)
    with pytest.raises(LabError) as error:
        load(NAME)
    assert str(error.value) == f"{LAB}: line {line} is not UTF-8; save the file as UTF-8."
    lab.write_text(sound, encoding="utf-8-sig")  # as Windows' editor does
    assert load(NAME).name == NAME
    handout = course / "labs" / NAME / "README.md"
    handout.write_bytes("# Über\n".encode("latin-1") + handout.read_bytes())
    with pytest.raises(LabError, match=rf"^labs/{NAME}/README.md: line 1 is not UTF-8; save"):
        list(material.cuts(NAME))
    program = course / "p4" / "bier" / "bier.p4"
    program.write_bytes(program.read_bytes() + "// für\n".encode("latin-1"))
    line = program.read_bytes().count(b"\n")
    with pytest.raises(LabError, match=rf"^p4/bier/bier.p4: line {line} is not UTF-8; save the"):
        first_case(load(NAME))
    scenario = course / "labs" / NAME / FIRST
    scenario.write_bytes("# für\n".encode("latin-1") + scenario.read_bytes())
    with pytest.raises(LabError, match=rf"^labs/{NAME}/{FIRST}: line 1 is not UTF-8; save the"):
        load(NAME).scenario(FIRST)


def test_a_misspelt_key_of_a_register_gets_the_name_that_can_be_written(course: Path) -> None:
    file = course / "labs" / NAME / FIRST
    file.write_text(
        file.read_text() + '\n[[cell]]\nregister = "r"\nindex = 0\nvalue = 1\nregisters = 2\n'
    )
    with pytest.raises(LabError, match=r"did you mean register[?]"):
        first_case(load(NAME))
