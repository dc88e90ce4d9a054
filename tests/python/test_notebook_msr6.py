"""What lab 04's notebook asks of its lab: which entries routers used, what is in headers on links,
and a list written by hand. A wrong answer here teaches something wrong."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from p4lab.course.home import HERE
from p4lab.notebook import Lab, open_lab


@pytest.fixture
def lab() -> Lab:
    return open_lab("04-msr6", folder=HERE.sources)


def test_what_routers_did_with_the_draft_s_tree(lab: Lab) -> None:
    """The list of standards.md, 3.7: R2(1,5) R3(1,4) R5(2,3) R7(2,1) R8 R9 R10 R11."""
    sent = lab.send()
    asked = {router: sent.entries(router) for router in ("r1", "r2", "r5", "r7", "r8", "r4")}
    assert asked == {
        "r1": "7, 6",
        "r2": "5",
        "r5": "3, 2",
        "r7": "1, 0",
        "r8": "none",
        "r4": "the packet did not get there",
    }
    assert sent.outcome("r1") == "it leaves 2 times"
    assert sent.outcome("r8") == "it leaves once"
    assert sent.outcome("r4") == "the packet did not get there"


def test_what_is_in_headers_on_links(lab: Lab) -> None:
    sent = lab.send()
    ways = [("r1", "r2"), ("r1", "r3"), ("r2", "r5"), ("r5", "r8"), ("r8", "h8"), ("r3", "r4")]
    left = [sent.segments_left(*way) for way in ways]
    assert left == ["7", "6", "5", "0", "nothing", "nothing"]
    there = "the packet did not get there"  # no header of 0 bytes
    assert [sent.tree_bytes(*way) for way in ways] == [8 + 8 * 16] * 4 + [0, there]


@pytest.mark.parametrize(
    ("encoding", "leaves", "expected"),
    [
        ("te", "routers", 8 + 16 * 8),
        ("te", "hosts", 8 + 16 * 12),
        ("rlb", "routers", 8 + 16 * 8),
        ("rlb", "hosts", 8 + 16 * 8),
        ("be", "hosts", 24),
    ],
)
def test_sizes_are_those_of_the_profile(encoding: str, leaves: str, expected: int) -> None:
    """An entry for each node of the tree below r1; where hosts are the leaves, TE has four more."""
    lab = open_lab("04-msr6", folder=HERE.sources, encoding=encoding, leaves=leaves)
    sent = lab.send()
    assert sent.ok
    assert sent.tree_bytes("r1", "r2") == expected


TWO = [("r2", 1, 2), ("r5", 2, 1), ("r8",), ("r9",)]


def test_a_list_of_one_s_own_is_what_the_packet_carries(lab: Lab) -> None:
    lab.own_tree("r1", (1, 3), TWO)
    sent = lab.send()
    got = {name for name, host in sent.received.items() if host.unique}
    assert got == {"h8", "h9"}
    assert sent.tree_bytes("r1", "r2") == 8 + 4 * 16
    lab.reload()
    assert lab.send().ok, "the control plane's list is back"


@pytest.mark.parametrize(
    ("root", "entries", "router", "outcome"),
    [
        ((1, 4), TWO, "r1", "dropped: POINTER"),
        ((0, 3), TWO, "r1", "dropped: NO_COPY"),
        ((5, 3), TWO, "r1", "dropped: TOO_MANY"),
        ((1, 3), [("r2", 1, 2), ("r5", 2, 2), ("r8",), ("r9",)], "r5", "refused: POINTER"),
        ((1, 3), [("r2", 1, 2), ("r5", 3, 1), ("r8",), ("r9",)], "r5", "refused: TOO_MANY"),
    ],
)
def test_a_list_that_cannot_be_is_refused_where_it_is_read(
    lab: Lab,
    root: tuple[int, int],
    entries: list[tuple[str, int, int] | tuple[str]],
    router: str,
    outcome: str,
) -> None:
    """By reason, as the profile has them; a packet that came from no other router is dropped."""
    lab.own_tree("r1", root, entries)
    assert lab.send().outcome(router) == outcome


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([], "1 to 16 entries, and not 0"),
        ([("r8",)] * 17, "1 to 16 entries, and not 17"),
        ([("r99",)], "there is no node 'r99' in this network; choose from r1, r2, "),
        ([("r5", 2)], 'write ("r5", n, p)'),
        ([("r8")], 'write ("r5", n, p), or ("r8",) with its comma'),
        ([("r5", 256, 0)], "256 does not fit into the 8 bits"),
    ],
)
def test_what_is_no_list_is_refused_with_a_sentence(
    lab: Lab, entries: list[tuple[str, int, int] | tuple[str]], said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        lab.own_tree("r1", (1, 0), entries)
    assert lab.send().ok, "nothing was written"


def test_a_list_of_one_s_own_outlives_a_file_that_was_saved_before(tmp_path: Path) -> None:
    """Written after the edit and before the next packet, as in part 1 of the notebook."""
    shutil.copytree(HERE.sources / "msr6", tmp_path / "msr6")
    lab = open_lab("04-msr6", folder=tmp_path)
    file = tmp_path / "msr6" / "te.p4"
    file.write_text(file.read_text() + "\n// a thought\n")
    lab.own_tree("r1", (1, 4), TWO)
    assert lab.send().outcome("r1") == "dropped: POINTER"


def test_who_has_written_nothing_is_not_told_the_answer(tmp_path: Path) -> None:
    """Part 4: no packet comes to r8, which says nothing about the entries that a leaf takes."""
    starter = open_lab("04-msr6", folder=tmp_path, encoding="rlb", leaves="hosts")
    assert starter.send().entries("r8") == "the packet did not get there"


NOBODY = "there is no router 'r99' in this network; choose from r1, r2, "
ASKED: dict[str, tuple[Callable[[Lab], object], str]] = {
    "own_tree": (lambda lab: lab.own_tree("r99", (1, 3), TWO), NOBODY),
    "table": (lambda lab: lab.entries("r99", "trees"), NOBODY),
    "write": (lambda lab: lab.write("r99", []), NOBODY),
    "packet_view": (lambda lab: lab.packet_view("r99"), NOBODY),
    "table_view": (lambda lab: lab.table_view("r99", "trees"), NOBODY),
    "entries": (lambda lab: lab.send().entries("r99"), NOBODY),
    "a host": (lambda lab: lab.send().entries("h8"), "there is no router 'h8'"),
    "outcome": (lambda lab: lab.send().outcome("r99"), NOBODY),
    "tree_bytes": (lambda lab: lab.send().tree_bytes("r1", "x"), "no node 'x' in this network"),
    "headers": (lambda lab: lab.send().headers("r8", "x"), "no node 'x' in this network"),
    "link": (
        lambda lab: lab.set_link("r1", "r9", False),
        "there is no link r1-r9; r1 has links to h1, r2, r3.",
    ),
    "no end": (lambda lab: lab.set_link("r1", "r99", False), "there is no node 'r99'"),
}


@pytest.mark.parametrize("question", ASKED)
def test_a_name_that_is_not_there_is_answered_with_those_that_are(lab: Lab, question: str) -> None:
    ask, said = ASKED[question]
    with pytest.raises(ValueError, match=re.escape(said)):
        ask(lab)


def test_a_router_without_a_list_has_none_to_replace(lab: Lab) -> None:
    with pytest.raises(ValueError, match="r4 has no row for ff3e::4:1"):
        lab.own_tree("r4", (1, 3), TWO)
    clone = open_lab("04-msr6", folder=HERE.sources, encoding="clone")
    with pytest.raises(ValueError, match="r1 has no row"):
        clone.own_tree("r1", (1, 3), TWO)


def test_a_view_that_follows_shows_what_was_sent_last(lab: Lab) -> None:
    view = lab.tree_view(lab.send(), follow=True)
    still = lab.tree_view(lab.last())
    lab.own_tree("r1", (1, 3), TWO)
    lab.send()
    assert "a routing header of 72 bytes" in view.data["steps"][1]["said"]
    assert "a routing header of 136 bytes" in still.data["steps"][1]["said"]
