"""A system that has nothing of BIER in the notebook: IPv4 packets that cross IPv6.

A view that takes an address for a set, or a frame for what another lab sends, would teach the wrong
thing. Oracles are the addresses that the lab's own control plane gives to routers, and scapy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from p4lab.course import home
from p4lab.model.notation import Notation, plain
from p4lab.model.system import Carried
from p4lab.notebook import Lab, open_lab
from p4lab.tracing import Writer
from p4lab.widgets.flights import flights, layers

COURSE = Path(__file__).parent / "tunnel_course"

SETS = re.compile(r"\bbits? \d|no bit|0b[01]|BitString|\{\d")
"""How sets of receivers are written, wherever they are"""


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Four routers; r1, r2 and r4 are on the way from h1 to h4."""
    monkeypatch.setenv(home.ENVIRONMENT, str(COURSE))
    yield open_lab("90-tunnel", folder=COURSE / "p4")


def test_frames_are_called_by_their_headers(lab: Lab) -> None:
    sent = lab.send()
    assert sent.ok
    assert sent.way("h4") == ("r1", "r2", "r4")
    for flight in flights(sent):
        between = {flight.source, flight.target} <= {"r1", "r2", "r3", "r4"}
        assert (flight.label, flight.kind) == ("IPv6 > IPv4" if between else "IPv4", "plain")
    for hop in sent.all_hops():
        frame = Ether(hop.data)
        assert (IPv6 in frame, IP in frame) == (hop.router != "r1", True)
    view = lab.topology_view(sent)
    assert not SETS.search(json.dumps(view.data) + view.picture() + view.summary())
    assert "r1 sends to r2" in view.picture()


def test_the_packet_view_shows_addresses(lab: Lab) -> None:
    view = lab.packet_view("r1")
    (variant,) = view.data["variants"]
    assert variant["label"] == "to r2, port 2"
    ipv6 = next(header for header in variant["headers"] if header["name"] == "ipv6")
    assert ipv6["state"] == "added"
    fields = {field["name"]: field["after"] for field in ipv6["fields"]}
    assert fields["src_addr"] == "2001:db8::1" and fields["dst_addr"] == "2001:db8::4"
    assert fields["protocol"] == "4 (IPv4)"
    assert "ether_type 0x0800 (IPv4) → 0x86dd (IPv6)" in view.summary()
    assert not SETS.search(json.dumps(view.data) + view.picture() + view.summary())


def test_a_table_of_addresses_is_edited_as_addresses(lab: Lab) -> None:
    table = lab.table_view("r1", "routes")
    row = next(row for row in table.data["rows"] if row["keys"] == ["10.0.4.1/32"])
    assert row["args"] == {"src": "2001:db8::1", "dst": "2001:db8::4"}
    elsewhere = {**row["args"], "dst": "2001:db8::3"}
    table._message(None, {**row, "do": "set", "args": elsewhere}, None)
    assert table.message["ok"], table.message
    sent = lab.send()
    assert sent.missing == ("h4",) and sent.hop("r3") is not None and sent.hop("r4") is None
    assert not SETS.search(json.dumps(table.data))


def test_a_trace_writes_addresses_and_leaves_numbers_alone(lab: Lab) -> None:
    writer = Writer(lab.notation, lab.program.summary)
    told = [
        writer.text(step)
        for hop in lab.send().all_hops()
        for packet in hop.packets
        for step in packet["steps"]
    ]
    text = "\n".join(told)
    assert "table Route.routes [hdr.ipv4.dst_addr=10.0.4.1] hit" in text
    assert "Route.encapsulate(src=2001:db8::1, dst=2001:db8::4)" in text
    assert "hdr.ipv6.dst_addr: 0 -> 2001:db8::4" in text
    assert "meta.bit_count: 0 -> 0x1234567890" in text
    assert not SETS.search(text)


def test_what_a_system_has_not_is_an_error_that_lists_what_there_is(lab: Lab) -> None:
    with pytest.raises(AttributeError, match=r"no bit_view here; choose from .*packet_view"):
        lab.bit_view("r1")
    with pytest.raises(AttributeError, match=r"there is no bits here; choose from .*headers"):
        lab.send().bits("r1", "r2")
    assert not hasattr(lab, "_repr_html_"), "what IPython asks of every object is not a view"
    assert "bit_view" not in dir(lab) and "topology_view" in dir(lab)


def test_a_system_says_what_its_frames_and_values_are(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has to tell goes before the names of headers and the plain types of values."""

    def carried(system: object, plan: object, headers: list[dict[str, str]]) -> Carried | None:
        last = headers[-1]["fields"]["ttl"]
        return Carried(f"hop {int(last)}", f"#{int(last)}") if len(headers) == 3 else None

    system = type(lab.system)
    monkeypatch.setattr(system, "carried", carried)
    monkeypatch.setattr(
        system,
        "notation",
        Notation({"ipv6.hop_limit": plain("hops", lambda value, _: f"{value} hops")}),
    )
    sent = lab.send()
    told = {(flight.label, flight.kind, flight.said) for flight in flights(sent)}
    assert told == {("IPv4", "plain", ""), ("#64", "text", "hop 64")}
    assert "r1 sends to r2 with hop 64" in lab.topology_view(sent).picture()
    view = lab.packet_view("r2", sent)
    assert "to r4, port 3 with hop 64" in view.summary()
    assert "ipv6: hop_limit 63 hops → 62 hops" in view.summary()


@pytest.mark.parametrize(
    ("headers", "label"),
    [
        ([], "no header"),
        (["ethernet"], "Ethernet"),
        (["ethernet", "ipv6", "udp"], "IPv6 > UDP"),
        (["eth", "vlan", "IPv4"], "VLAN > IPv4"),
        (["pti", "ipv4"], "pti > IPv4"),
        (["ethernet", "outer_ipv4", "protection", "ipv4"], "outer_ipv4 > … > IPv4"),
    ],
)
def test_a_label_names_what_is_above_ethernet(headers: list[str], label: str) -> None:
    assert layers(headers) == label
