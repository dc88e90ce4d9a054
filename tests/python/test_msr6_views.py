"""The view of MSR6: a student believes that these are the bytes, and that this is what happened.

Oracles are independent of the view's own reading: scapy's layers and the list of the RTS draft's
tree for the bytes, the reference walk (systems/msr6/walk.py) for where copies go, and hand-written
answers for what lights up.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from scapy.layers.l2 import Ether

from msr6_bytes import leaf, te
from p4lab import _engine
from p4lab.course.home import HERE
from p4lab.model.run import Plan
from p4lab.notebook import Lab, open_lab
from p4lab.notebook.running import Running
from p4lab.systems.msr6.packets import MSR6
from p4lab.systems.msr6.places import places
from p4lab.systems.msr6.views.tree import MOST_STEPS, TreeView
from p4lab.systems.msr6.walk import walk
from p4lab.tracing import Writer
from p4lab.widgets.sent import Sent

ENCODINGS = ["te", "rlb", "be"]


def lab_with(**settings: Any) -> Lab:
    return open_lab("04-msr6", folder=HERE.sources, **settings)


def changed(tmp_path: Path, file: str, old: str, new: str, **settings: Any) -> Lab:
    """The lab with a copy of the solution in which a piece is another."""
    shutil.copytree(HERE.sources / "msr6", tmp_path / "msr6")
    place = tmp_path / "msr6" / file
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new))
    return open_lab("04-msr6", folder=tmp_path, **settings)


def said(view: TreeView) -> list[str]:
    return [step["short"] for step in view.data["steps"]]


def wrong(view: TreeView) -> list[str]:
    return [step["said"] for step in view.data["steps"] if step["tone"] == "bad"]


def rows(panel: str) -> dict[str, str]:
    """What stands in the rows of a header: the hexadecimal digits by the row's name."""
    found = {}
    for name, cells in re.findall(r'<th scope="row"[^>]*>(\w*)</th>(.*?)</tr>', panel, re.DOTALL):
        bytes_only = re.sub(r"<i>[^<]*</i>", "", cells)  # captions of the fixed part
        bytes_only = re.sub(r'<td class="p4m-said">.*', "", bytes_only)
        text = re.sub(r"<[^>]*>|\s", "", bytes_only)
        if re.fullmatch("[0-9a-f]+", text):
            found[name] = text
    return found


def pale(panel: str) -> set[int]:
    """The indices of the entries that are used up."""
    found = re.findall(r'<tr class="p4m-entry([^"]*)"[^>]*>.*?<th[^>]*>(\d+)</th>', panel)
    return {int(index) for states, index in found if "gone" in states.split()}


def copy_steps(view: TreeView) -> list[tuple[str, str, dict[str, Any]]]:
    """The steps that show a copy on a link: from, to, and the step."""
    found = re.findall(
        r'class="p4m-copy[^"]*" data-step="(\d+)" data-way="(\S+) (\S+)"', view.data["base"]
    )
    return [(a, b, view.data["steps"][int(number)]) for number, a, b in found]


def on_wire(sent: Sent, a: str, b: str) -> bytes:
    packet = sent.frame(a, b)
    assert packet is not None
    return packet["fate"]["data"]


# ---- The bytes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("leaves", ["routers", "hosts"])
def test_every_byte_is_that_of_the_wire(encoding: str, leaves: str) -> None:
    """Destination, fixed part and list of each copy, as scapy finds them in the frame."""
    lab = lab_with(encoding=encoding, leaves=leaves)
    sent = lab.send()
    seen = 0
    for a, b, step in copy_steps(lab.tree_view(sent)):
        if a == "h1":
            continue
        shown = rows(step["panel"])
        frame = Ether(on_wire(sent, a, b))
        assert shown["DA"] == bytes(frame)[38:54].hex()
        if MSR6 not in frame:
            assert "RH" not in shown and leaves == "routers"
            continue
        seen += 1
        header = frame[MSR6]
        assert shown["RH"] == bytes(header)[:8].hex()
        listed = {str(index): f"{entry:032x}" for index, entry in enumerate(header.entries)}
        assert {name: text for name, text in shown.items() if name.isdigit()} == listed
        if encoding != "be":
            gone = set(range(header.segments_left, len(listed)))
            assert pale(step["panel"]) == gone, "what lies behind Segments Left is used up"
    assert seen == (8 if leaves == "routers" else 12)


LIST = [
    *(leaf(node) for node in (11, 10, 9, 8)),
    *(te(7, 2, 1), te(5, 2, 3), te(3, 1, 4), te(2, 1, 5)),
]
"""The tree of draft-eckert-pim-rts-forwarding, index 0 first"""


def test_the_root_has_the_list_of_the_draft() -> None:
    """The root's own SID is in the address and nowhere in the list."""
    step = lab_with().tree_view().data["steps"][1]
    shown = rows(step["panel"])
    assert shown["DA"] == te(1, 2, 7).hex()
    assert [shown[str(index)] for index in range(8)] == [entry.hex() for entry in LIST]
    assert shown["RH"] == "2910fd0807000000"
    assert pale(step["panel"]) == set()
    assert "a routing header of 136 bytes" in step["said"]


def test_the_arrow_is_where_segments_left_points() -> None:
    for a, b, step in copy_steps(view := lab_with().tree_view()):
        arrows = re.findall(r"SL ▸</td><th[^>]*>(\d+)</th>", step["panel"])
        left = rows(step["panel"]).get("RH", "")[6:8]
        assert arrows == ([str(int(left, 16))] if left else []), f"{a} to {b}"
    root = view.data["steps"][1]["panel"]
    assert re.findall(r"SL ▸</td><th[^>]*>(\d+)</th>", root) == ["8"], "behind the list"


# ---- Where copies go -----------------------------------------------------------------------------


class Drawn:
    """The lab with other streams than its own."""

    def __init__(self, plan: Plan) -> None:
        program = _engine.compile(str(plan.program), [], list(plan.defines)).program
        assert program is not None
        self.plan, self.topology = plan, plan.topology
        self.sent: Sent | None = None
        self.running = Running(plan, program)

    def send(self, stream: int) -> Sent:
        return self.running.send(stream)

    def is_old(self, sent: Sent) -> bool:
        return False

    def to_show(self, sent: Sent) -> Sent:
        return sent

    def watch(self, watcher: Callable[[], None]) -> None:
        pass


def drawn(encoding: str, topology: str, seed: int) -> Drawn:
    lab = lab_with(encoding=encoding, topology=topology)
    system, chance = lab.system, random.Random(seed)
    return Drawn(replace(system.draw(lab.plan, chance, 3, 1), topology=lab.topology))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("topology", ["msr6", "ring", "rfc8279", "paper"])
@pytest.mark.parametrize("seed", range(3))
def test_the_picture_is_the_tree_that_the_bytes_say(
    encoding: str, topology: str, seed: int
) -> None:
    """Each way that is drawn is one of a reference walk of the root's bytes, once; and a program
    that is right is never told that it is wrong."""
    lab = drawn(encoding, topology, seed)
    for number, stream in enumerate(lab.plan.streams, 1):
        print(f"seed {seed}, stream {number}: {stream.source.name} to {stream.receivers}")
        sent = lab.send(number)
        assert sent.ok
        view = TreeView(lab, sent)
        assert wrong(view) == []
        ways = [(a, b) for a, b, _ in copy_steps(view)]
        expected = {(stream.source.name, stream.source.router)}
        if "1" in view.data["points"]:  # a packet of its own for each set
            pytest.fail("no tree here needs two packets")
        if "0" in view.data["points"]:
            expected |= walked(view, lab, stream.source.router)
        hosts = {host.name: host.router for host in stream.receivers}
        expected |= {(router, host) for host, router in hosts.items()}
        assert sorted(ways) == sorted(expected)


def walked(view: TreeView, lab: Drawn, root: str) -> set[tuple[str, str]]:
    """Where the reference walk takes the header that the root has put in front."""
    front = next(step for step in view.data["steps"] if "puts the tree in front" in step["short"])
    shown = rows(front["panel"])
    entries = [shown[str(index)] for index in range(int(shown["RH"][8:10], 16) + 1)]
    header = bytes.fromhex(shown["RH"] + "".join(entries))
    inner = bytes.fromhex("6000000000083b3f" + "fd" + "00" * 15 + "ff3e" + "00" * 11 + "040001")
    inner += bytes(8)
    length = (len(header) + len(inner)).to_bytes(2, "big").hex()
    outer = bytes.fromhex("60000000" + length + "2b40" + "fd" + "00" * 15 + shown["DA"])
    done = walk(places(lab.topology), root, outer + header + inner)
    assert not done.losses
    return {(copy.source, copy.target) for copy in done.copies}


# ---- Pointing ------------------------------------------------------------------------------------


def points(view: TreeView, cell: str) -> dict[str, list[str]]:
    return view.data["points"]["0"][cell]


def test_an_entry_shows_its_node_its_branch_and_what_it_reads() -> None:
    found = points(lab_with().tree_view(), "entry 5")
    assert found == {
        "nodes": ["r5"],
        "branch": ["h8", "h9", "r8", "r9"],
        "ways": ["r2 r5", "r5 r8", "r5 r9", "r8 h8", "r9 h9"],
        "cells": ["entry 2", "entry 3"],
    }


def test_a_node_shows_its_entry_and_those_that_it_reads() -> None:
    view = lab_with().tree_view()
    assert points(view, "node r7")["cells"] == ["entry 0", "entry 1", "entry 4"]
    assert points(view, "node r7")["ways"] == ["r7 r10", "r7 r11"]
    assert points(view, "node r1")["cells"] == ["entry 6", "entry 7"], "it has none of its own"
    assert points(view, "node r11")["cells"] == ["entry 0"]
    assert "node r4" not in view.data["points"]["0"], "the tree does not lead there"


def test_a_local_bit_shows_where_it_leads_and_the_entry_that_it_takes() -> None:
    view = lab_with(encoding="rlb").tree_view()
    assert points(view, "r5 bit 3") == {
        "nodes": ["r9"],
        "branch": ["h9"],
        "ways": ["r5 r9", "r9 h9"],
        "cells": ["entry 2"],
    }
    hosts = lab_with(encoding="rlb", leaves="hosts").tree_view()
    own = points(hosts, "r8 bit 2")
    assert (own["nodes"], own["ways"], own["cells"]) == (["h8"], ["r8 h8"], [])


def test_a_bit_shows_the_way_to_its_receiver_and_no_other() -> None:
    view = lab_with(encoding="be").tree_view()
    found = points(view, "bit 8")
    assert found["nodes"] == ["r8"]
    assert found["ways"] == ["r1 r2", "r2 r5", "r5 r8", "r8 h8"]
    assert points(view, "node r5")["cells"] == ["bit 8", "bit 9"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_everything_that_can_be_pointed_at_has_an_answer(encoding: str) -> None:
    view = lab_with(encoding=encoding).tree_view()
    known = view.data["points"]["0"]
    for step in view.data["steps"]:
        cells = re.findall(r'data-cell="([^"]*)"', step["panel"])
        assert set(cells) <= set(known), step["short"]
        for cell in cells:
            assert set(known[cell]["cells"]) <= set(known)


# ---- Programs that do something else -------------------------------------------------------------

AGAIN = "decision.again = carried.child < n;"
ENTRY = "entry = pointer - carried.child;"
LEFT = "hdr.routing.segments_left = entry;"
MISTAKES = {
    "one copy and no more": ("te.p4", AGAIN, "", "te", "r1 is done, and there was no copy for r3"),
    "upwards": (
        "te.p4",
        ENTRY,
        "entry = pointer - 1 + carried.child;",
        "te",
        "Nothing asks for entry 3 here.",
    ),
    "Segments Left stays": ("te.p4", LEFT, "", "te", "Segments Left should be 7."),
    "the address stays": (
        "te.p4",
        "hdr.ipv6.dst_addr = hdr.segments[entry].sid;",
        "",
        "te",
        "Its destination is still the SID that it came with.",
    ),
    "another address": (
        "te.p4",
        "hdr.ipv6.dst_addr = hdr.segments[entry].sid;",
        "hdr.ipv6.dst_addr = hdr.segments[entry].sid + (128w1 << 32);",
        "te",
        "Its destination is not an entry of the list.",
    ),
    "the guard turned around": (
        "te.p4",
        "pointer >= hdr.routing.segments_left",
        "pointer < hdr.routing.segments_left",
        "te",
        "r1 drops it: POINTER (te.p4:",
    ),
    "a leaf with segments left": (
        "te.p4",
        "hdr.routing.segments_left = 0;",
        "",
        "te",
        "r8 refuses it: SEGMENTS_LEFT (msr6.p4:",
    ),
    "the same entry again": (
        "rlb.p4",
        "carried.next = carried.next - 1;",
        "",
        "rlb",
        "Entry 7 has had its copy already.",
    ),
    "bits of others": (
        "be.p4",
        "hdr.segments[0].sid = carried.bit_string & fbm;",
        "hdr.segments[0].sid = carried.bit_string;",
        "be",
        "Its BitString has bits that are not in the F-BM.",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_shown_as_what_it_is(mistake: str, tmp_path: Path) -> None:
    file, old, new, encoding, expected = MISTAKES[mistake]
    lab = changed(tmp_path, file, old, new, encoding=encoding)
    told = wrong(lab.tree_view())
    assert any(expected in one for one in told), told


def test_a_packet_for_which_nobody_chose_a_port_is_told(tmp_path: Path) -> None:
    """What the starter does: nothing, and so the packet leaves by port 0."""
    lab = open_lab("04-msr6", folder=tmp_path / "starter")
    view = lab.tree_view()
    assert "✕ r1 → port 0: nobody chose a port" in said(view)
    assert "no entry" not in view.summary()
    assert "Nobody chose a port: it stays 0, where there is no cable." in wrong(view)[0]
    assert "r1 sends nothing: nobody chose a port (port 0)" in lab.topology_view().picture()


def test_a_port_without_a_cable_is_told(tmp_path: Path) -> None:
    lab = changed(tmp_path, "te.p4", "decision.look_up = true;", "decision.egress_port = 7;")
    assert "There is no cable at port 7." in wrong(lab.tree_view())[0]


def test_who_gets_a_packet_twice_is_told(tmp_path: Path) -> None:
    lab = changed(tmp_path, "te.p4", AGAIN, "decision.again = carried.child < n + 1;")
    told = wrong(lab.tree_view())
    assert any("h8 has it already." in one for one in told), told


def test_a_link_that_is_down_keeps_what_is_on_it() -> None:
    lab = lab_with()
    lab.set_link("r5", "r9", False)
    lost = wrong(lab.tree_view(lab.send()))
    assert [one for one in lost if "r5 → r9" in one and "the link is down" in one]


# ---- Old pictures --------------------------------------------------------------------------------


BEFORE = "This is from before your last change"


def edited(tmp_path: Path) -> tuple[Lab, Callable[[], None]]:
    """A lab with a copy of the solution, and what saves a file of it again."""
    shutil.copytree(HERE.sources / "msr6", tmp_path / "msr6")
    file = tmp_path / "msr6" / "te.p4"

    def save() -> None:
        file.write_text(file.read_text() + "\n// a thought\n")

    return open_lab("04-msr6", folder=tmp_path), save


PICTURES: dict[str, Callable[..., Any]] = {
    "tree": lambda lab, *sent: lab.tree_view(*sent),
    "network": lambda lab, *sent: lab.topology_view(*sent),
    "packet": lambda lab, *sent: lab.packet_view("r8", *sent),
}


def test_every_picture_of_an_older_program_says_so(tmp_path: Path) -> None:
    lab, save = edited(tmp_path)
    sent = lab.send()
    early = [make(lab, sent) for make in PICTURES.values()]
    assert not any(view.old or BEFORE in view.picture() + view.summary() for view in early)
    save()
    for make in PICTURES.values():
        late = make(lab, sent)
        for words in (late.old, late.picture(), late.summary()):
            assert BEFORE in words and "Send it again." in words
    fresh = lab.send()
    assert all(BEFORE in view.old for view in early), "what is on the screen learns of it, too"
    assert lab.tree_view(fresh).old == ""


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_without_a_packet_sends_through_the_program_as_it_is(
    picture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same packets as before, and the student is told that the network began anew."""
    lab, save = edited(tmp_path)
    before = lab.send(packets=2)
    save()
    assert PICTURES[picture](lab).old == ""
    assert lab.sent is not before and lab.sent is not None and lab.sent.stream.packets == 2
    assert "compiled again" in capsys.readouterr().out


@pytest.mark.parametrize("picture", PICTURES)
def test_no_picture_shows_a_packet_of_another_program_as_its_own(
    picture: str, tmp_path: Path
) -> None:
    mine, _ = edited(tmp_path)
    goal = open_lab("04-msr6", finished=True)
    with pytest.raises(ValueError, match="ran through your program, and not through the finished"):
        PICTURES[picture](goal, mine.send())
    with pytest.raises(ValueError, match="through the finished program, and not through your"):
        PICTURES[picture](mine, goal.send())
    bits = open_lab("04-msr6", finished=True, encoding="rlb")
    with pytest.raises(ValueError, match="another network, or with other settings"):
        PICTURES[picture](goal, bits.send())
    again = open_lab("04-msr6", folder=tmp_path)
    assert PICTURES[picture](again, mine.last()).old == "", "the same lab, opened again"


# ---- Without scripts -----------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", [*ENCODINGS, "clone"])
def test_the_still_picture_has_the_tree_and_its_bytes(encoding: str) -> None:
    """Where scripts do not run: all copies are drawn, the root's header stands below, and every
    step is in the list; in plain text as well."""
    view = lab_with(encoding=encoding).tree_view()
    picture, summary = view.picture(), view.summary()
    assert "<svg" in picture and picture.count("<li>") == len(view.data["steps"]) >= 20
    assert picture.count('class="p4m-copy') == len(copy_steps(view)) >= 13
    if encoding != "clone":
        assert view.data["steps"][1]["panel"] in picture
    assert all(short in summary for short in said(view))
    for words in (picture, str(view.data["profile"])):
        assert "not an IETF format" in words


def test_long_journeys_are_shortened_and_say_so() -> None:
    lab = lab_with(encoding="be", topology="sets")
    view = lab.tree_view()
    assert len(view.data["steps"]) == MOST_STEPS
    assert f"the first {MOST_STEPS} of 218 steps" in view.data["title"]


def test_what_a_router_refuses_goes_to_the_control_plane_and_has_a_reason(tmp_path: Path) -> None:
    """Port 510 has no cable, and no student knows it: the picture, the headers and the trace say
    who is behind it."""
    leaf = "if (hdr.ipv6.dst_addr[31:24] == 0) {"
    lab = changed(tmp_path, "te.p4", leaf, "if (false) {")
    sent = lab.send()
    events = [event["text"] for event in lab.topology_view(sent).data["events"]]
    refused = "sends nothing: it gave the packet to the control plane: reason 40 (SEGMENTS_LEFT)"
    assert f"r9 {refused}" in events and not any("no cable" in event for event in events)
    assert "to the control plane, port 510" in lab.packet_view("r9", sent).told()
    hop = sent.hop("r9")
    assert hop is not None and len(hop.given) == 1 and not hop.delivered
    console = Console(width=200)
    with console.capture() as shown:
        console.print(Writer(lab.notation, lab.program.summary).tree(sent.hops[0]))
    assert "given to the control plane on port 510" in shown.get()
    assert "to nobody" not in shown.get()


def test_a_trace_calls_the_index_of_a_stack_as_p4_does() -> None:
    lab = lab_with()
    writer = Writer(lab.notation, lab.program.summary)
    packets = [packet for hop in lab.send().all_hops() for packet in hop.packets]
    lines = [writer.text(step) for packet in packets for step in packet["steps"]]
    assert any("hdr.segments.nextIndex: 8 -> 0" in line for line in lines)
    assert not any("$next" in line for line in lines)
