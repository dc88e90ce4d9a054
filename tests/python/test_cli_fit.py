"""`p4lab fit` as a user meets it: exit status, words, JSON, picture."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cli_runner import p4lab
from fit_shapes import REFUSED, Shape, program

HERE = Path(__file__).parent
BIER = HERE.parents[1] / "p4" / "bier" / "tna.p4"
GOLDEN = HERE / "fit_bier64.txt"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "prog.p4"
    path.write_text(program(Shape(64, "tbl")))
    return path


def test_the_chart_is_the_golden(small: Path) -> None:
    """`P4LAB_GOLDEN=1 pytest tests/python/test_cli_fit.py` writes it anew."""
    done = p4lab("fit", small)
    assert done.returncode == 0, done.stderr
    text = done.stdout.replace(str(small), "prog.p4")
    text = "".join(line.rstrip() + "\n" for line in text.splitlines())
    if os.environ.get("P4LAB_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
    assert text.startswith("This is an estimate")


def test_json_and_picture(small: Path, tmp_path: Path) -> None:
    picture = tmp_path / "stages.svg"
    done = p4lab("fit", small, "--json", "--svg", picture)
    report = json.loads(done.stdout)
    assert (report["fits"], report["architecture"]) == (True, "tna")
    assert report["caveats"][0].startswith("This is an estimate")
    pipe = report["pipes"][0]
    assert pipe["lower_bound"] == pipe["gresses"][0]["stages"] == 7
    tables = {unit["name"]: unit for unit in pipe["gresses"][0]["units"]}
    assert tables["bift"]["stages"] == [0] and tables["bift"]["line"] > 0
    root = ET.parse(picture).getroot()
    words = " ".join(root.itertext())
    assert "This is an estimate" in words and "bift" in words and "stage 11" in words


@pytest.mark.parametrize("bits", ["64", "128", "256"])
def test_bier_is_estimated(bits: str) -> None:
    done = p4lab("fit", "-D", f"BSL={bits}", BIER, "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report["fits"]
    assert report["pipes"][0]["lower_bound"] <= 12


def test_what_does_not_fit_exits_1_and_says_where(tmp_path: Path) -> None:
    path = tmp_path / "prog.p4"
    path.write_text(program(REFUSED[128]))
    done = p4lab("fit", path)
    assert done.returncode == 1
    assert "does not fit: if (line " in done.stdout and "4 bytes and 12 bits" in done.stdout
    path.write_text(program(Shape(256, "ifs")))
    done = p4lab("fit", path)
    assert done.returncode == 1 and "needs 14 stages, and the chip has 12" in done.stdout


def test_bad_input_is_one_sentence(small: Path, tmp_path: Path) -> None:
    done = p4lab("fit", tmp_path / "nowhere.p4")
    assert done.returncode == 2 and "no such P4 program" in done.stderr
    done = p4lab("fit", small, "--compiled", tmp_path)
    assert done.returncode == 2 and "no pipe/logs/power.json" in done.stderr
    done = p4lab("fit", small, "--svg", tmp_path / "no" / "x.svg")
    assert done.returncode == 2 and "No such file or directory" in done.stderr
    broken = tmp_path / "broken.p4"
    broken.write_text("const bit<8> a = b;\n")
    done = p4lab("fit", broken)
    assert done.returncode == 1 and "broken.p4:1" in done.stderr
    empty = tmp_path / "empty.p4"
    empty.write_text("const bit<8> a = 1;\n")
    done = p4lab("fit", empty)
    assert done.returncode == 1 and "no `main`" in done.stderr
