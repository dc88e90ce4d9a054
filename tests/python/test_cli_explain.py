"""`p4lab explain` and the warnings for other targets, as a student meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runner import p4lab
from p4lab.course import teaches

PAGES = Path(__file__).parents[2] / "docs" / "errors"
BIER = Path(__file__).parents[2] / "p4" / "bier" / "v1model.p4"

UNPORTABLE = """\
#include <core.p4>
header h_t { bit<7> x; }
control c(inout h_t h, inout bit<32> y) {
    apply { if (h.isValid()) { y = y * y; } }
}
"""


def test_a_code_is_explained_with_a_wrong_and_a_right_program() -> None:
    done = p4lab("explain", "e0305")
    assert done.returncode == 0
    assert done.stdout.startswith((PAGES / "E0305.md").read_text())


def test_the_page_as_data() -> None:
    page = json.loads(p4lab("explain", "E0305", "--json").stdout)
    assert page["code"] == "E0305" and "bier.tll" in page["wrong"] and "bier.ttl" in page["right"]


def test_a_code_leads_to_the_level_that_teaches_it() -> None:
    """Who does not know what a parser state is learns it there, and not from the page."""
    done = p4lab("explain", "E0403")
    assert "part 6 of 00-p4, A parser branch" in done.stdout
    assert done.stdout.endswith("start 00-p4 mylab00\n")
    assert json.loads(p4lab("explain", "E0403", "--json").stdout)["taught"]["part"] == "parser"
    assert json.loads(p4lab("explain", "E0901", "--json").stdout)["taught"] is None


def test_what_levels_teach_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """No link leads nowhere, no code is taught twice, and a lab that is not here is not named."""
    codes = [code for parts in teaches.table().values() for of in parts.values() for code in of]
    assert len(codes) == len(set(codes))
    assert not [code for code in codes if not (PAGES / f"{code}.md").is_file()]
    assert not [code for code in codes if teaches.lesson(code) is None]
    monkeypatch.setattr(teaches, "home_of", lambda lab: None)
    assert teaches.lesson(codes[0]) is None


def test_an_unknown_code_names_the_nearest() -> None:
    done = p4lab("explain", "E0304x")
    assert done.returncode == 2 and "E0304," in done.stderr
    assert "there is no code 'E9999'" in p4lab("explain", "E9999").stderr
    assert "'foo' is not a code: write one as E0305" in p4lab("explain", "foo").stderr


def test_several_codes_are_explained_one_after_the_other() -> None:
    """As the compiler names them: "explain E0305 (also: E0101)"."""
    pages = [(PAGES / f"{code}.md").read_text() for code in ("E0305", "E0101")]
    told = p4lab("explain", "E0305", "E0101").stdout
    assert all(page in told for page in pages)
    data = json.loads(p4lab("explain", "E0305", "e0101", "--json").stdout)
    assert [page["code"] for page in data] == ["E0305", "E0101"]


@pytest.mark.parametrize("short", ["E305", "e305"])
def test_zeros_in_front_may_be_left_out(short: str) -> None:
    assert p4lab("explain", short).stdout == p4lab("explain", "E0305").stdout


def test_without_a_code_all_are_listed_in_groups() -> None:
    listing = p4lab("explain").stdout
    for path in PAGES.glob("*.md"):
        assert f"  {path.stem}  " in listing
    assert "Grammar\n  E0100" in listing
    assert len(json.loads(p4lab("explain", "--json").stdout)) == len(list(PAGES.glob("*.md")))


@pytest.fixture
def unportable(tmp_path: Path) -> Path:
    path = tmp_path / "unportable.p4"
    path.write_text(UNPORTABLE)
    return path


def test_a_run_names_the_page_once(tmp_path: Path) -> None:
    program = tmp_path / "m.p4"
    program.write_text("const bit<8> a = b;\nconst bit<8> c = d;\n#define 2\n")
    errors = p4lab("compile", program).stderr
    assert errors.count("p4lab explain") == 1
    assert errors.endswith("p4lab explain E0201 (also: E0015)\n")


@pytest.mark.parametrize(
    ("targets", "codes"),
    [(None, set()), ("bmv2", {"W0602"}), ("tofino,bmv2", {"W0602", "W0716", "W0701"})],
)
def test_lints_are_given_on_request(unportable: Path, targets: str | None, codes: set[str]) -> None:
    lint = ["--lint", targets] if targets else []
    done = p4lab("compile", unportable, "--json", *lint)
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report["ok"]
    assert {diagnostic["code"] for diagnostic in report["diagnostics"]} == codes


def test_an_unknown_target_is_refused(unportable: Path) -> None:
    done = p4lab("compile", unportable, "--lint", "bmv3")
    assert done.returncode == 2
    assert "bmv3" in done.stderr and "bmv2, tofino" in done.stderr


def test_our_own_programs_run_on_bmv2() -> None:
    done = p4lab("compile", BIER, "-D", "BSL=64", "--lint", "bmv2")
    assert (done.returncode, done.stderr) == (0, "")
