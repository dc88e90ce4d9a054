"""`p4lab compile` as a user meets it: exit status, words, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runner import p4lab
from p4lab.course.material import start
from p4lab.grading.course import compile_files, load

BIER = Path(__file__).parents[2] / "p4" / "bier" / "v1model.p4"

MISTAKES = """\
#include <core.p4>
#include "own.p4"
struct S { bit<8> a; }
const bit<8> c = d;
control C() {
    apply {
        S s;
        s.b = 1;
        s.a = BITS_MISSING
        s.a = true;
    }
}
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.p4"
    path.write_text(MISTAKES)
    (tmp_path / "own.p4").write_text("\n\ntypedef missing_t t;\n")
    return path


def test_a_part_of_a_program_names_the_whole(tmp_path: Path) -> None:
    list(start("00-p4", tmp_path))
    done = p4lab("compile", tmp_path / "levels" / "1-drop.p4")
    whole = tmp_path / "levels" / "v1model.p4"
    assert f"It is a part of {whole}. To check that: p4lab compile {whole}\n" in done.stdout
    assert "It is a part of" not in p4lab("compile", whole).stdout


def test_a_correct_program_exits_0() -> None:
    done = p4lab("compile", BIER, "-D", "BSL=64")
    assert (done.returncode, done.stdout) == (0, f"{BIER}: no errors\n")


def test_every_mistake_is_reported_at_its_place(broken: Path) -> None:
    done = p4lab("compile", broken, "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["ok"], report["program"]) == (False, str(broken))
    places = {(Path(d["file"]).name, d["line"]) for d in report["diagnostics"]}
    assert places == {("broken.p4", line) for line in (4, 8, 9, 10)} | {("own.p4", 3)}
    for diagnostic in report["diagnostics"]:
        assert diagnostic["message"] and diagnostic["code"].startswith("E")
        assert diagnostic["severity"] == "error" and diagnostic["column"] >= 1


def test_text_shows_the_source_line_and_a_verdict(broken: Path) -> None:
    done = p4lab("compile", broken)
    assert done.returncode == 1
    assert "s.b = 1;" in done.stderr and "broken.p4:8" in done.stderr
    assert done.stdout.startswith(f"{broken}: ") and done.stdout.endswith("errors\n")


def test_include_directories_and_macros_reach_the_program(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "a.p4").write_text("const bit<8> a = N;\n")
    program = tmp_path / "m.p4"
    program.write_text("#include <a.p4>\nconst bit<8> b = a + FLAG;\n")
    assert p4lab("compile", program).returncode == 1
    done = p4lab("compile", program, "-I", tmp_path / "inc", "-D", "N=7", "-D", "FLAG")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.p4"], "nowhere.p4: no such P4 program"),
        ([str(BIER.parent)], "no such P4 program"),
        ([str(BIER), "-I", "nowhere"], "nowhere: no such directory"),
        ([str(BIER), "-D", "6=7"], "'6' is not a macro name"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(arguments: list[str], sentence: str) -> None:
    done = p4lab("compile", *arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and sentence in done.stderr


def test_files_that_are_no_text_are_named(tmp_path: Path) -> None:
    program = tmp_path / "binary.p4"
    program.write_bytes(b"\xff\xfe\x00")
    done = p4lab("compile", program)
    assert done.returncode == 1 and "line 1 is not UTF-8; save the file as UTF-8" in done.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "hint"),
    [
        ("BIER_PROTO_IPV4;", "PROTO_IPV4;", "Did you mean `BIER_PROTO_IPV4`?"),
        ("hdr.bier.tc ", "bier.tc ", "Did you mean `hdr.bier`?"),
        ("(hdr.bier.ver != 0)", "(hdr.bier.ver = 0)", "Did you mean `==`?"),
        ("hdr.bier.setValid();", "hdr.bier.isValid() = true;", "call `setValid()`"),
    ],
)
def test_a_typical_mistake_is_one_error_with_its_remedy(right: str, wrong: str, hint: str) -> None:
    """The right name was in sight, and a second error about the same place hid the first."""
    course = load("01-bier")
    text = course.sources["bier/bier.p4"]
    assert right in text
    files = {**course.sources, "bier/bier.p4": text.replace(right, wrong, 1)}
    (error,) = compile_files("bier/v1model.p4", files, ()).diagnostics
    assert error["severity"] == "error" and hint in error["hint"]
