"""`p4lab fmt` as a user meets it: files changed, files left alone, exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import p4lab

ROOT = Path(__file__).parents[2]
MESSY = "header h_t{bit<8>  a ;  // ü\r\n bit<16>b;}\r\n"
TIDY = "header h_t { bit<8> a;  // ü\r\n    bit<16> b; }\r\n"


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    path = tmp_path / "messy.p4"
    path.write_bytes(MESSY.encode())
    return path


def test_a_file_is_formatted_in_place(messy: Path) -> None:
    done = p4lab("fmt", messy)
    assert (done.returncode, done.stdout) == (0, f"{messy}: formatted\n")
    assert messy.read_bytes().decode() == TIDY
    again = p4lab("fmt", messy)
    assert (again.returncode, again.stdout) == (0, "")


def test_check_and_stdout_change_nothing(messy: Path) -> None:
    done = p4lab("fmt", "--check", messy)
    assert (done.returncode, done.stdout) == (1, f"{messy}: not formatted\n")
    done = p4lab("fmt", "--stdout", messy)
    assert done.returncode == 0 and done.stdout.split() == TIDY.split()
    assert messy.read_bytes().decode() == MESSY


def test_the_programs_of_the_lab_are_formatted() -> None:
    programs = sorted((ROOT / "p4").rglob("*.p4"))
    done = p4lab("fmt", "--check", *programs)
    assert programs and (done.returncode, done.stdout) == (0, "")


def test_what_cannot_be_read_is_left_alone(messy: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.p4"
    broken.write_text("struct  s {}\n/* open")
    binary = tmp_path / "binary.p4"
    binary.write_bytes(b"\xff\xfe")
    done = p4lab("fmt", broken, binary, messy)
    assert done.returncode == 2 and done.stderr.count("\n") == 2
    assert "broken.p4:2:1: this comment is never closed" in done.stderr
    assert "binary.p4: line 1 is not UTF-8; the file is left alone" in done.stderr
    assert broken.read_text() == "struct  s {}\n/* open"
    assert messy.read_bytes().decode() == TIDY


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["nowhere.p4"], "no such P4 program"), (["--check", "--stdout", "x.p4"], "give one of them")],
)
def test_bad_input_is_one_sentence_and_status_2(arguments: list[str], sentence: str) -> None:
    done = p4lab("fmt", *arguments)
    assert done.returncode == 2 and sentence in done.stderr
