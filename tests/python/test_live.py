"""The living network without a browser: what it shows is what is on the disk, whoever wrote it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from p4lab.course.home import HERE
from p4lab.notebook import pace
from p4lab.notebook.live import Live

LEVEL = "levels/2-forward.p4"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the student's files are begun."""
    monkeypatch.setenv("P4LAB_FOLDER", str(tmp_path / "mine"))
    return tmp_path / "mine"


def write(file: Path, text: str) -> None:
    """A save that is later than the one before, also on a coarse clock."""
    before = file.stat().st_mtime_ns
    file.write_text(text)
    while file.stat().st_mtime_ns == before:
        file.write_text(text)


def said(live: Live) -> str:
    return live.view.views["network"].data["summary"]


def test_it_looks_only_when_something_has_changed(folder: Path) -> None:
    live = Live("01-bier")
    assert live.look()
    assert not live.look()
    assert live.view.saves == 1


def test_until_the_first_verdict_it_says_that_it_is_being_made(folder: Path) -> None:
    """Beside policies there is nothing else to be seen, for seconds."""
    live = Live("07-fabric")
    live.look()
    assert list(live.view.views) == ["checks"]
    assert "checking" in live.view.verdict.picture()


def test_a_program_that_was_broken_from_the_start_is_shown_once_it_compiles(folder: Path) -> None:
    """A student comes back in the morning to what did not compile in the evening."""
    live = Live("01-bier")
    program = folder / "bier" / "bier.p4"
    write(program, "wrong")
    live.look()
    assert "bier.p4:1" in live.view.trouble and not live.view.views
    write(program, (HERE.sources / "bier" / "bier.p4").read_text())
    live.look()
    assert not live.view.trouble
    assert said(live) == "h2, h3, h4 and h5 got the packet to 239.1.1.1."


def test_an_error_is_at_a_name_that_the_student_knows(folder: Path) -> None:
    """And by which file theirs is included does not mend it."""
    live = Live("00-p4")
    program = folder / "levels" / "1-drop.p4"
    write(program, program.read_text().replace("std.egress_spec = 2;", "std.egress_spec = 2"))
    live.look()
    assert "[ levels/1-drop.p4:9:" in live.view.trouble
    assert "included from" not in live.view.trouble
    assert str(folder) not in live.view.trouble


def test_the_program_is_that_of_the_file_that_was_written_or_is_in_front(folder: Path) -> None:
    """Lab 00 has a program for each file: the network of another one would be a lie."""
    live = Live("00-p4")
    live.look()
    assert live.view.title == "1-drop.p4"
    write(folder / LEVEL, (HERE.sources / LEVEL).read_text())
    live.look()
    assert live.view.title == "2-forward.p4"
    assert said(live) == "h2 got the packet to 10.0.1.2."
    live._message(None, {"editing": "somewhere/mine/levels/1-drop.p4"}, None)
    assert live.view.title == "1-drop.p4"
    live._message(None, {"editing": "somewhere/else.p4"}, None)
    assert live.view.title == "1-drop.p4"


def test_a_packet_that_should_be_dropped_is_no_success_when_it_arrives(folder: Path) -> None:
    """Level 1 of lab 00 drops what one host sends: until it does, the verdict must not be green."""
    live = Live("00-p4")
    live.look()
    assert said(live) == "h2 got the packet to 10.0.1.2; h2 should not have."
    assert live._lab and live._lab.sent and not live._lab.sent.ok
    file = "levels/1-drop.p4"
    write(folder / file, (HERE.sources / file).read_text())
    live.look()
    assert said(live) == "nobody got the packet to 10.0.1.2, as it should be."
    assert live._lab.sent.ok


def test_a_table_that_a_student_adds_can_be_looked_at(folder: Path) -> None:
    live = Live("00-p4")
    live.look()
    file = folder / "levels" / "4-table.p4"
    write(file, (HERE.sources / LEVEL).read_text())  # has none
    live.look()
    before = [tab["label"] for tab in live.view.tabs]
    write(file, (HERE.sources / "levels" / "4-table.p4").read_text())
    live.look()
    after = [tab for tab in live.view.tabs if tab["label"] not in before]
    assert [tab["name"] for tab in after] == ["table"]
    live.view.chosen = {"router": "s1", "table": after[0]["table"]}
    assert after[0]["table"] in live.view.views["table"].data["title"]


def test_every_view_follows_the_router_that_is_chosen(folder: Path) -> None:
    live = Live("01-bier")
    shutil.copy(HERE.sources / "bier" / "bier.p4", folder / "bier" / "bier.p4")
    live.look()
    for router, came in (("r5", "r2"), ("r2", "r1")):
        live.view.chosen = {"router": router, "table": "bift"}
        views = live.view.views
        assert views["bit_view"].data["title"].startswith(f"{router}, a packet from {came}")
        assert views["packet"].data["title"].startswith(f"{router}: what came from {came}")
        assert views["table"].data["title"] == f"{router}, table bift"
    arrivals = {}
    for router in ("r6", "r1", "r3"):
        live.view.chosen = {"router": router}
        arrivals[router] = live.view.arrival
    assert arrivals["r6"] == 0 < arrivals["r1"] and arrivals["r3"] is None
    live.view.chosen = {"router": "../etc", "table": 7}
    assert live.view.views["packet"].data["title"].startswith("r3")


def test_a_link_that_was_cut_stays_cut_after_a_save(folder: Path) -> None:
    live = Live("01-bier")
    program = folder / "bier" / "bier.p4"
    solution = (HERE.sources / "bier" / "bier.p4").read_text()
    write(program, solution)
    live.look()
    network = live.view.views["network"]
    network._message(None, {"do": "link", "ends": ["r1", "r2"]}, None)
    assert "h2 and h4 did not" in said(live)
    write(program, solution + "\n")
    live.look()
    assert network.down == [["r1", "r2"]]
    assert "h2 and h4 did not" in said(live)
    network._message(None, {"do": "link", "ends": ["r1", "r2"]}, None)
    assert network.down == [] and "did not" not in said(live)


def test_the_bench_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a server without a browser the other figures are still printed."""
    monkeypatch.setattr(pace, "chromium", lambda: None)
    rows = list(pace.saving(1, lambda _: None))
    assert [(row.value, row.goal, row.at_most) for row in rows] == [
        (None, 10, True),
        (None, 500, True),
    ]
    assert {row.note for row in rows} <= {"needs Chromium", "playwright is not installed"}
