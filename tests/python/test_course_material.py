"""Without these, a student could lose work, or a starter could drift from the solution."""

import json
import os
import resource
from pathlib import Path

import pytest

from cli_runner import p4lab
from p4lab import _engine, policies
from p4lab.course import material, renewal
from p4lab.course.labs import LabError, names
from p4lab.notebook import open_lab
from p4lab.paths import ROOT


@pytest.mark.parametrize("lab", names())
def test_what_is_cut_is_as_the_solution_has_it(lab):
    drifted = [made.path for made in material.cuts(lab) if made.drifted]
    assert not drifted, f"run: p4lab starter {lab}"


@pytest.mark.parametrize("lab", names())
def test_a_starter_compiles_and_has_no_marks(lab, tmp_path):
    assert {state for _, state in material.start(lab, tmp_path)} == {"new"}
    wanted = material.student(lab)
    if not wanted.program.endswith(".p4"):
        assert policies.read((tmp_path / wanted.program).read_text(), wanted.program).methods
    for bits in ("64", "256") if wanted.program.endswith(".p4") else ():
        program = _engine.compile(str(tmp_path / wanted.program), [], [("BSL", bits)])
        assert not program.diagnostics, program.render()  # a student would look for a mistake
    for name in wanted.edit:
        text = (tmp_path / name).read_text()
        assert "TODO" in text
        assert "SOLUTION" not in text


def test_work_is_never_overwritten(tmp_path):
    assert p4lab("start", "01-bier", tmp_path).returncode == 0
    mine = tmp_path / "bier" / "bier.p4"
    mine.write_text("my work")
    (tmp_path / "include" / "parser.p4").unlink()
    again = p4lab("start", "01-bier", tmp_path)
    assert again.returncode == 0
    assert mine.read_text() == "my work"
    assert (tmp_path / "include" / "parser.p4").read_bytes() == (
        ROOT / "p4" / "include" / "parser.p4"
    ).read_bytes()
    assert f"{mine}  kept as you have it" in again.stdout


def test_links_are_not_followed_to_write(tmp_path):
    outside = tmp_path / "outside"
    (tmp_path / "lab" / "bier").mkdir(parents=True)
    (tmp_path / "lab" / "bier" / "bier.p4").symlink_to(outside)
    states = dict(material.start("01-bier", tmp_path / "lab"))
    assert states["bier/bier.p4"] == "kept"
    assert not outside.exists()


def test_a_full_disk_leaves_nothing_that_passes_for_the_students_work(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OSError) as told:
            list(material.start("01-bier", tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert told.value.filename == str(tmp_path / "bier" / "bier.p4")
    assert {state for _, state in material.start("01-bier", tmp_path)} == {"new"}


OLD = "one\ntwo\nthree\nfour\nfive\nsix\n"
NEWER = OLD.replace("two", "2")


def begun(folder, text):
    """A folder that was begun with a lab of one file, and what is in that file now."""
    renewal.remember(folder, {"a.p4": OLD})
    path = folder / "a.p4"
    path.write_text(text)
    return path


def test_a_newer_starter_replaces_only_what_nobody_has_touched(tmp_path):
    path = begun(tmp_path, OLD)
    assert renewal.place(path, NEWER, renewal.begun_with(tmp_path)["a.p4"]) == "updated"
    assert path.read_text() == NEWER


def test_a_newer_starter_is_merged_with_work_elsewhere(tmp_path):
    mine = OLD.replace("five", "5")
    path = begun(tmp_path, mine)
    assert renewal.place(path, NEWER, OLD) == "merged"
    assert path.read_text() == mine.replace("two", "2")
    assert renewal.before(path).read_text() == mine


def test_a_newer_starter_is_laid_beside_work_in_the_same_lines(tmp_path):
    mine = OLD.replace("two", "my work")
    path = begun(tmp_path, mine)
    assert renewal.place(path, NEWER, OLD) == "beside"
    assert path.read_text() == mine
    assert renewal.beside(path).read_text() == NEWER


@pytest.mark.parametrize("line, other", [("two", "my work"), ("five", "5")])
def test_what_a_student_has_beside_is_not_overwritten_either(tmp_path, line, other):
    path = begun(tmp_path, OLD.replace(line, other))
    for taken in (renewal.beside(path), renewal.before(path)):
        taken.write_text("mine, too")
    assert renewal.place(path, NEWER, OLD) == "kept"
    assert path.read_text() == OLD.replace(line, other)
    assert renewal.beside(path).read_text() == renewal.before(path).read_text() == "mine, too"


def test_without_git_a_newer_starter_is_laid_beside(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    path = begun(tmp_path, OLD.replace("five", "5"))
    assert renewal.place(path, NEWER, OLD) == "beside"


@pytest.mark.parametrize(
    "memory",
    ["", "[", "[]", "[" * 100_000, '{"a.p4": 1}', '{"files": {"a.p4": 1}}', "pipe", "zeros"],
)
def test_a_memory_that_a_student_has_made_is_no_memory(tmp_path, memory):
    path = tmp_path / renewal.MEMORY
    path.parent.mkdir()
    if memory == "pipe":
        os.mkfifo(path)
    elif memory == "zeros":
        path.symlink_to("/dev/zero")
    else:
        path.write_text(memory)
    assert renewal.begun_with(tmp_path) == {}


def test_a_lab_that_has_changed_says_so_and_brings_its_changes(tmp_path):
    """An instructor mends a lab in mid-term; whoever has begun learns of it and loses nothing."""
    work = tmp_path / "my lab"
    p4lab("start", "01-bier", work)
    memory = json.loads((work / renewal.MEMORY).read_text())
    older = memory["files"]["bier/bier.p4"] + "// a line that the lab no longer has\n"
    memory["files"]["bier/bier.p4"] = older
    (work / renewal.MEMORY).write_text(json.dumps(memory))
    mine = "// mine\n" + older
    (work / "bier" / "bier.p4").write_text(mine)
    told = p4lab("check", "01-bier", work).stdout
    assert "01-bier has changed since you began." in told
    assert f"start 01-bier '{work}'" in told
    again = p4lab("start", "01-bier", work).stdout
    assert "bier.p4  merged with the lab's newer one; as you had it: bier.p4.before" in again
    text = (work / "bier" / "bier.p4").read_text()
    assert text.startswith("// mine\n") and "no longer has" not in text
    assert (work / "bier" / "bier.p4.before").read_text() == mine
    assert "has changed" not in p4lab("check", "01-bier", work).stdout


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize(
    ("first", "second"), [("01-bier", "02-frr"), ("05-recirculation", "01-bier")]
)
def test_a_lab_does_not_begin_in_the_folder_of_another(
    first, second, is_old, tmp_path, monkeypatch
):
    """What lab 02 brings along is the solution of lab 01, and lab 01's starter undoes lab 05's."""
    monkeypatch.chdir(tmp_path)
    p4lab("start", first, "mylab")
    memory = tmp_path / "mylab" / renewal.MEMORY
    if is_old:  # without the lab's name
        memory.write_text(json.dumps(json.loads(memory.read_text())["files"]))
    own = {path: path.read_bytes() for path in Path("mylab").rglob("*") if path.is_file()}
    refused = p4lab("start", second, "mylab")
    remedy = f"p4lab start {second} mylab{second[:2]}"
    assert refused.returncode == 2
    assert refused.stderr == (
        f"p4lab: mylab was begun for {first}; {second} needs a folder of its own: {remedy}\n"
    )
    assert own == {path: path.read_bytes() for path in own}
    assert set(own) == {path for path in Path("mylab").rglob("*") if path.is_file()}
    assert "has changed since" not in p4lab("check", second, "mylab").stdout
    assert p4lab(*remedy.split()[1:]).returncode == p4lab("start", first, "mylab").returncode == 0


def test_a_notebook_does_not_begin_a_lab_in_the_folder_of_another(tmp_path):
    list(material.start("01-bier", tmp_path / "mine"))
    before = (tmp_path / "mine" / "bier" / "bier.p4").read_bytes()
    with pytest.raises(LabError) as told:
        open_lab("02-frr", folder=tmp_path / "mine")
    assert str(told.value).endswith(
        f'needs a folder of its own: open_lab("02-frr", folder="{tmp_path / "mylab02"}")'
    )
    assert (tmp_path / "mine" / "bier" / "bier.p4").read_bytes() == before


def test_the_folder_named_instead_is_free(tmp_path, monkeypatch):
    """A remedy that is refused in turn is none."""
    list(material.start("01-bier", tmp_path / "mylab02"))
    monkeypatch.chdir(tmp_path / "mylab02")
    assert p4lab("start", "02-frr", ".").stderr.endswith("start 02-frr ../mylab02-2\n")


def test_a_check_of_another_labs_folder_has_a_remedy_that_is_not_refused(tmp_path):
    list(material.start("01-bier", tmp_path / "mine"))
    told = p4lab("check", "02-frr", tmp_path / "mine").stdout.replace("\n", " ")
    assert f"start 02-frr {tmp_path / 'mylab02'}" in told
    assert f"start 02-frr {tmp_path / 'mine'}" not in told


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.p4", "bier/../../x", "", "a\\b"])
def test_a_lab_names_files_below_p4_only(path):
    with pytest.raises(ValueError, match="below p4/"):
        material.Student(program="a.p4", edit=[path], files=[])


def test_an_unknown_lab_names_the_known_ones(tmp_path):
    answer = p4lab("start", "99", tmp_path)
    assert answer.returncode == 2
    assert "01-bier" in answer.stderr
