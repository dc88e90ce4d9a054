"""Without these, a student could lose work, or a starter could drift from the solution."""

import pytest

from cli_runner import p4lab
from p4lab import _engine
from p4lab.course import material
from p4lab.course.labs import names
from p4lab.paths import ROOT


@pytest.mark.parametrize("lab", names())
def test_what_is_cut_is_as_the_solution_has_it(lab):
    drifted = [made.path for made in material.cuts(lab) if made.drifted]
    assert not drifted, f"run: p4lab starter {lab}"


@pytest.mark.parametrize("lab", names())
def test_a_starter_compiles_and_has_no_marks(lab, tmp_path):
    assert {state for _, state in material.start(lab, tmp_path)} == {"new"}
    wanted = material.student(lab)
    for bits in ("64", "256"):
        program = _engine.compile(str(tmp_path / wanted.program), [], [("BSL", bits)])
        assert program.ok, program.render()
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


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.p4", "bier/../../x", "", "a\\b"])
def test_a_lab_names_files_below_p4_only(path):
    with pytest.raises(ValueError, match="below p4/"):
        material.Student(program="a.p4", edit=[path], files=[])


def test_an_unknown_lab_names_the_known_ones(tmp_path):
    answer = p4lab("start", "99", tmp_path)
    assert answer.returncode == 2
    assert "01-bier" in answer.stderr
