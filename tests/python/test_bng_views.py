"""The gateway's report, notation and views: a student believes what they show, so it has to be what
happened.

Oracles: the numbers of the plan, the numbers of the P4 source, RFC 1661's definition of Opened, and
scapy for what is in frames.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.l2 import Ether
from scapy.layers.ppp import PPP, PPPoED
from scapy.packet import Packet

from p4lab.course.home import HERE
from p4lab.course.labs import load_plan
from p4lab.course.material import start
from p4lab.model.run import Plan
from p4lab.notebook import Lab, open_lab
from p4lab.paths import ROOT
from p4lab.session.run import carry_out, open_virtual
from p4lab.systems.bng.notation import IN_WORDS, NOTATION, REASONS, carried
from p4lab.systems.bng.report import GatewayReport, told
from p4lab.systems.bng.views.dial import DialView
from p4lab.systems.bng.views.dialling import Message, dial
from p4lab.systems.bng.views.speed import FIRST_LIMIT, FIRST_OFFER, SpeedView
from p4lab.systems.bng.views.spoof import SpoofView

HEADERS = (ROOT / "p4/bng/headers.p4").read_text(encoding="utf-8")
FRAME = 100
"""Bytes of a packet of a run"""
AROUND = {"alice": 14 + 2 * 4 + 2 * 4 + 8, "bob": 2 * 4 + 8}
"""What stands around a packet on alice's line, with labels, and on bob's, with two tags: Ethernet,
labels, tags, PPPoE and PPP"""


@pytest.fixture(scope="module")
def lab() -> Lab:
    return open_lab("06-bng", folder=HERE.sources)


def changed(folder: Path, file: str, old: str, new: str) -> Path:
    """The solution in a folder, with a mistake in one of its files."""
    shutil.copytree(HERE.sources / "bng", folder / "bng")
    place = folder / "bng" / file
    text = place.read_text(encoding="utf-8")
    assert text.count(old) == 1
    place.write_text(text.replace(old, new), encoding="utf-8")
    return folder


# ---- Names


def test_reasons_have_the_names_of_the_program() -> None:
    _, _, reasons = HEADERS.partition("enum bit<8> reason_t {")
    told = re.findall(r"^    ([A-Z_]+) += (\d+)", reasons.partition("}")[0], re.MULTILINE)
    assert {int(number): name for name, number in told if name != "NONE"} == REASONS
    assert set(IN_WORDS) == set(REASONS.values())
    assert NOTATION.said("packet_in.reason", 2, 7) == "2 (PPP_CONTROL)"


@pytest.mark.parametrize(
    ("name", "value", "width", "said"),
    [
        ("pppoe.session_id", 40000, 16, "40000"),
        ("label0", 1_000_000, 20, "1000000"),
        ("ppp.protocol", 0xC021, 16, "0xc021 (LCP)"),
        ("prefix", 0x20010DB800010004, 64, "2001:db8:1:4::/64"),
        ("prefix", 0x20010DB8000102, 56, "2001:db8:1:200::/56"),
        ("mac", 0x020C00000004, 48, "02:0c:00:00:00:04"),
    ],
)
def test_values_are_written_as_people_write_them(
    name: str, value: int, width: int, said: str
) -> None:
    assert NOTATION.said(name, value, width) == said


@pytest.mark.parametrize(
    ("code", "protocol", "label"),
    [(9, None, "PADI"), (0, 0xC021, "LCP, session 3"), (0, 0x0021, "session 3")],
)
def test_a_frame_on_a_link_says_whose_it_is(code: int, protocol: int | None, label: str) -> None:
    headers = [{"fields": {"version": "1", "code": str(code), "session_id": "3", "len": "88"}}]
    if protocol is not None:
        headers.append({"fields": {"protocol": str(protocol)}})
    found = carried(headers)
    assert found is not None and found.label == label
    assert carried([{"fields": {"version": "4", "protocol": "17"}}]) is None


# ---- The report


def report_of(plan: Plan) -> GatewayReport:
    with open_virtual(plan) as session:
        carry_out(session)
        found = session.report()
    assert isinstance(found, GatewayReport)
    return found


def test_a_report_has_what_each_session_used() -> None:
    report = report_of(load_plan("06-bng", packets=20))
    assert report.ok, report.problems
    rows = {row.name: row for row in report.subscribers}
    assert len({row.session for row in rows.values()}) == len(rows) == 4
    for number, (name, around) in enumerate(AROUND.items(), 1):
        row = rows[name]
        assert row.address == f"10.0.1.{number}"
        assert row.down == (20, 20 * FRAME), "as it came in: without what the line puts around it"
        assert row.up == (20, 20 * (FRAME + around))
        assert row.policed == (0, 0)
    assert rows["carol"].up == (0, 0) and rows["carol"].online
    watching = {"alice", "bob"}  # those that seed 1 draws
    assert {name for name, row in rows.items() if row.multicast == (20, 20 * FRAME)} == watching
    assert report.to_json()["heard"]["DISCOVERY"] == 4 * 2, "PADI and PADR"


def test_what_is_too_much_is_in_the_report() -> None:
    plan = load_plan("06-bng", packets=400)
    first = plan.streams[0]
    fast = replace(plan, streams=(replace(first, interval_ns=1000),))
    settings = fast.settings.model_copy(update={"downstream": "1 Mbit/s"})
    report = report_of(replace(fast, settings=settings))
    row = report.subscribers[0]
    assert row.policed is not None and row.down is not None
    assert row.policed.packets > 0
    assert row.policed.packets + row.down.packets == 400
    assert dict(report.dropped) == {"RED_SESSION": row.policed.packets}
    assert not report.ok


def test_who_is_not_online_and_why(tmp_path: Path) -> None:
    """The program hears discovery alone, so PPP never comes to an end."""
    old = "decision.reason = reason_t.PPP_CONTROL;"
    folder = changed(tmp_path, "upstream.p4", old, "decision.reason = reason_t.MALFORMED;")
    plan = load_plan("06-bng", packets=1)
    wrong = replace(plan, program=folder / "bng" / "v1model.p4")
    with open_virtual(wrong) as session:
        session.start()
        session.net.attach()
        session.net.run_until(10**9, session.controller)
        said = session.system.detached(wrong, session.plane)
        report = session.report()
    assert said.startswith("alice, bob, carol and dave never came online: LCP is in the state")
    assert "alice, bob, carol and dave are not online" in report.problems


# ---- A subscriber dials in


def test_an_end_is_open_when_it_has_sent_and_got_an_ack(lab: Lab) -> None:
    """RFC 1661, section 4.2: Opened is both an Ack sent and one received."""
    call = dial(lab.plan, lab.program, "alice")
    assert call.online and not call.problem
    layers = {"LCP": 0xC021, "IPCP": 0x8021, "IPv6CP": 0x8057}
    for number, message in enumerate(call.messages):
        assert message.arrived is not None
        for name, protocol in layers.items():
            row = next(row for row in message.known.rows if row.name == name)
            for up, state in ((True, row.subscriber), (False, row.gateway)):
                acks = _acks(call.messages, message.arrived, protocol, number)
                assert (state == "Opened") == (acks[up] and acks[not up, "heard"]), (name, number)


def _acks(messages: list[Message], now: int, protocol: int, last: int) -> dict[Any, bool]:
    """Which end has sent an Ack, and which way one has been heard."""
    found: dict[Any, bool] = {True: False, False: False, (True, "heard"): False}
    found[False, "heard"] = False
    for number, message in enumerate(messages):
        ppp = _inner(message.frame)
        if PPP not in ppp or ppp[PPP].proto != protocol or bytes(ppp[PPP].payload)[0] != 2:
            continue
        found[message.up] |= message.sent <= now
        found[message.up, "heard"] |= number <= last
    return found


def _inner(frame: bytes) -> Packet:
    """A frame of alice's without Ethernet and labels in front of it, by scapy."""
    return Ether(frame[22:])


def test_messages_are_told_as_scapy_reads_them(lab: Lab) -> None:
    view = lab.dial_view(who="alice")
    assert isinstance(view, DialView)
    steps = view.data["steps"]
    call = dial(lab.plan, lab.program, "alice")
    names = {9: "PADI", 7: "PADO", 0x19: "PADR", 0x65: "PADS"}
    for step, message in zip(steps, call.messages, strict=True):
        read, fields = _inner(message.frame), dict(step["fields"])
        if PPPoED in read:
            assert step["title"] == names[read[PPPoED].code]
            assert fields["session id"] == str(read[PPPoED].sessionid)
        else:
            kinds = {0xC021: "LCP", 0xC223: "CHAP", 0x8021: "IPCP", 0x8057: "IPv6CP"}
            wanted = kinds.get(read[PPP].proto, ("Router", "DHCPv6"))
            assert step["title"].startswith(wanted)
    assert [step["title"] for step in steps[:4]] == list(names.values())
    assert view.answer == "PADO"
    assert "10.0.1.1" in steps[-1]["rows"][-1]["cells"][1]
    assert "<svg" in view.picture() and "IPv6CP" in view.picture()
    assert "→ PADI" in view.summary() and "alice is online" in view.summary()


def test_packets_by_reason_are_a_list() -> None:
    """A number after a sentence reads as if it belonged to that."""
    report = GatewayReport(
        "", "", "", {}, 1, (), (), (), dropped=(("MALFORMED", 1), ("SPOOFED", 2))
    )
    assert [*told(report)] == [
        "The gateway dropped:",
        f"  1 packet: {IN_WORDS['MALFORMED']}",
        f"  2 packets: {IN_WORDS['SPOOFED']}",
    ]


def test_a_program_that_keeps_discovery_to_itself_is_told(tmp_path: Path) -> None:
    list(start("06-bng", tmp_path))
    view = open_lab("06-bng", folder=tmp_path).dial_view(who="bob")
    (step,) = view.data["steps"]
    assert step["title"] == "PADI" and step["lost"]
    assert "does not get to the control plane" in step["said"]
    assert view.answer == "nothing" and "bob is not online" in view.summary()


def test_a_stranger_does_not_dial_in(lab: Lab) -> None:
    with pytest.raises(ValueError, match="web is not a subscriber; choose from alice, bob"):
        lab.dial_view(who="web")


# ---- Speeds


def mean(view: SpeedView, who: str) -> float:
    """Delivered in the last 100 ms, in bits per second."""
    last = view.drives[who].windows[-5:]
    return sum(window.delivered for window in last) / len(last)


def test_each_gets_what_is_agreed_and_nobody_notices_the_others(lab: Lab) -> None:
    view = lab.speed_view()
    assert mean(view, "alice") == pytest.approx(FIRST_LIMIT, rel=0.05)
    view._message(None, {"do": "agree", "who": "bob", "choice": 1}, None)
    view.agree("carol", None)
    speeds = {name: mean(view, name) for name in ("alice", "bob", "carol", "dave")}
    wanted = {"alice": FIRST_LIMIT, "bob": 5e6, "carol": FIRST_OFFER, "dave": FIRST_LIMIT}
    assert speeds == pytest.approx(wanted, rel=0.05)
    assert view.speed("bob") == "5 Mbit/s"
    assert not any(one["bad"] for one in view.data["subscribers"])
    assert "bob: gets 5 of 20 Mbit/s; 5 are agreed" in view.summary()


def test_a_program_that_ignores_the_colour_is_seen(tmp_path: Path) -> None:
    old = "session_meter.execute_meter(session, colour);"
    lab = open_lab("06-bng", folder=changed(tmp_path, "police.p4", old, old + " colour = 0;"))
    view = lab.speed_view()
    assert mean(view, "alice") == pytest.approx(FIRST_OFFER, rel=0.05)
    assert all(one["bad"] for one in view.data["subscribers"])


def test_nobody_online_gets_nothing(tmp_path: Path) -> None:
    list(start("06-bng", tmp_path))
    view = open_lab("06-bng", folder=tmp_path).speed_view()
    assert "Nobody gets anything: alice, bob, carol and dave never came online" in view.summary()
    assert view.speed("alice") == "0 Mbit/s"
    view._message(None, {"do": "run"}, None)


# ---- In another's name


def test_only_the_honest_packet_arrives_and_the_place_is_said(lab: Lab) -> None:
    view = lab.spoof_view(who="bob", whom="alice")
    assert view.arrived == 1
    lines = view.summary().splitlines()
    assert lines[1] == "all of it bob's own: it arrives"
    assert lines[2] == "alice's IP address: dropped: the source address is somebody else's"
    assert all("do not belong together" in line for line in lines[3:])
    source = (HERE.sources / "bng" / "upstream.p4").read_text(encoding="utf-8").splitlines()
    places = re.findall(r"upstream\.p4:(\d+)", view.picture())
    assert "SPOOFED" in source[int(places[0]) - 1]
    assert "UNKNOWN_SESSION" in source[int(places[1]) - 1]
    assert tones(view) == ["good"] * 4 and "class=bad" not in view.picture()


def tones(view: SpoofView) -> list[str]:
    """The colour of each packet's way."""
    return re.findall(r'class="p4d-way (\w+)"', view.picture())


def test_who_takes_over_all_of_another_is_not_honest(lab: Lab) -> None:
    """Session id, MAC and address belong together there, but to somebody else: a student who lets
    the worst attack through must not be shown green."""
    view = lab.spoof_view(who="bob", whom="alice")
    *rest, last = view._found.attempts
    assert set(last.whose) == {"alice"} and not last.arrived
    view._found = replace(view._found, attempts=(*rest, replace(last, arrived=True)))
    view.data = {**view.data, "html": view._shown()}
    assert view.summary().endswith("MAC and IP address: it arrives, and nobody has noticed")
    assert tones(view) == ["good", "good", "good", "bad"]
    assert view.picture().count("class=bad>it arrives") == 1


def test_a_program_that_lets_strangers_in_is_seen(tmp_path: Path) -> None:
    old = "decision.reason = reason_t.SPOOFED;"
    folder = changed(tmp_path, "upstream.p4", old, "decision.priority = 0;")
    view = open_lab("06-bng", folder=folder).spoof_view(who="bob", whom="alice")
    assert view.arrived == 2
    assert "alice's IP address: it arrives, and nobody has noticed" in view.summary()
    assert "class=bad>it arrives" in view.picture()


# ---- What the notebook asks


def test_what_the_notebook_asks(lab: Lab) -> None:
    lab.reload()
    lab.send(1, packets=10)
    lab.send(5)
    counted = {name: lab.counted("alice", f"{name}_sent") for name in ("downstream", "multicast")}
    assert counted == {"downstream": 10, "multicast": 1}
    assert lab.counted("web", "downstream_sent") == 0
    sent = lab.send(1)
    assert sent.pppoe_length("r1", "alice") == str(2 + FRAME - 14), "PPP counts, PPPoE does not"
    assert sent.pppoe_length("r1", "web") == "no PPPoE"


def test_a_session_may_end_in_a_notebook() -> None:
    """The gateway reads its counters then, for the bill."""
    lab = open_lab("06-bng", folder=HERE.sources)
    lab.set_link("r1", "alice", False)
    session = lab._running._session
    session.net.run_until(200 * 10**9, session.controller)  # longer than anyone asks for an echo
    assert "alice" not in session.plane.online
    assert lab.send(3).ok, "bob does not notice"


def test_a_cell_of_a_counter_is_called_what_it_counts() -> None:
    """Nobody knows what dropped[36] is."""
    assert NOTATION.meaning("dropped", 36) == "UNKNOWN_SESSION"
    assert NOTATION.meaning("punted", 1) == "DISCOVERY"
    assert NOTATION.meaning("upstream_sent", 1) == ""


# ---- The network


def test_both_directions_can_be_sent(lab: Lab) -> None:
    """Parts 1 to 3 show only in what a subscriber sends."""
    view = lab.topology_view()
    offered = ["web → alice", "alice → web", "web → bob", "bob → web", "tv → 239.1.1.1"]
    assert view.data["streams"] == offered
    view._message(None, {"do": "send", "stream": 1}, None)
    assert view.data["stream"] == 1
    assert lab.sent is not None and lab.sent.stream.source.name == "alice"
    view._message(None, {"do": "send"}, None)
    assert lab.sent.stream.source.name == "alice"


@pytest.mark.parametrize("stream", [0, 6, 9])
def test_a_stream_that_is_not_there_is_a_sentence(lab: Lab, stream: int) -> None:
    with pytest.raises(ValueError, match=f"streams 1 to 5; there is no stream {stream}"):
        lab.send(stream)


def test_a_packet_that_cannot_be_read_is_not_called_received(tmp_path: Path) -> None:
    folder = changed(tmp_path, "upstream.p4", "        hdr.ppp.setInvalid();\n", "")
    lab = open_lab("06-bng", folder=folder)
    sent = lab.send(2)
    assert sent.missing == ("web",)
    assert str(sent) == (
        "nobody got a readable packet to 10.0.1.5; web should have. web got a packet, but could "
        "not read it: the EtherType announces IPv4, but version 0 follows."
    )
    nodes = {node["name"]: node for node in lab.topology_view(sent).data["nodes"]}
    assert nodes["web"]["takes"] == 0 and "takes" not in nodes["bob"]
