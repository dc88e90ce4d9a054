"""Packets built from field names are what scapy makes of the same fields."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.ppp import PPP, PPPoE

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.grading.frames import FrameError, build, dissect, layout_of, unstacked

ROOT = Path(__file__).parents[2]
PROGRAM = load_program(ROOT / "p4/bier/v1model.p4", [("BSL", "64")])
LAYOUT = layout_of(PROGRAM)
INCLUDED = ("bier/bier.p4", "include/headers.p4", "include/parser.p4")


@given(
    ttl=st.integers(0, 255),
    source=st.integers(0, 2**32 - 1),
    mac=st.integers(0, 2**48 - 1),
    text=st.text(alphabet="abc", max_size=40),
)
def test_a_frame_is_scapys(ttl: int, source: int, mac: int, text: str) -> None:
    made = build(
        {
            "ethernet": {"dst_addr": "01:00:5e:01:01:01", "src_addr": mac, "ether_type": 0x800},
            "ipv4": {
                "version": 4,
                "ihl": 5,
                "total_len": "length",
                "ttl": ttl,
                "protocol": 17,
                "hdr_checksum": "checksum",
                "src_addr": source,
                "dst_addr": "239.1.1.1",
            },
            "payload": "hex:" + text.encode().hex(),
        },
        LAYOUT,
    )
    octets = ":".join(f"{byte:02x}" for byte in mac.to_bytes(6, "big"))
    address = ".".join(str(byte) for byte in source.to_bytes(4, "big"))
    want = Ether(dst="01:00:5e:01:01:01", src=octets, type=0x800) / IP(
        id=0, ttl=ttl, proto=17, src=address, dst="239.1.1.1"
    )
    assert made == bytes(want / text.encode())


@given(st.integers(0, 2**64 - 1), st.integers(0, 255))
def test_the_programs_own_parser_finds_what_was_built(bits: int, ttl: int) -> None:
    fields = {"bift_id": 0x10000, "ttl": ttl, "proto": 4, "bit_string": bits}
    inner = bytes(IP(src="10.0.0.1", dst="239.1.1.1") / UDP())
    made = build(
        {
            "ethernet": {"ether_type": 0xAB37},
            "bier": fields,
            "payload": "hex:" + inner.hex(),
        },
        LAYOUT,
    )
    headers = {header.name: header.fields for header in dissect(PROGRAM, made)}
    assert list(headers) == ["ethernet", "bier", "ipv4"]
    assert {name: headers["bier"][name] for name in fields} == fields
    assert headers["ipv4"]["dst_addr"] == 0xEF010101


def test_a_length_may_count_what_is_behind_its_header() -> None:
    """PPPoE's does, and includes PPP; IPv4's includes its own header (RFC 2516, section 4)."""
    layout = layout_of(load_program(ROOT / "p4/bng/v1model.p4"))
    made = build(
        {
            "pppoe": {"version": 1, "type": 1, "session_id": 7, "len": "behind"},
            "ppp": {"protocol": 0x21},
            "ipv4": {"version": 4, "ihl": 5, "total_len": "length", "hdr_checksum": "checksum"},
            "payload": "hex:00010203",
        },
        layout,
    )
    inner = bytes(IP(id=0, ttl=0, proto=0, src="0.0.0.0", dst="0.0.0.0") / b"\0\1\2\3")
    assert made == bytes(PPPoE(sessionid=7) / PPP(proto=0x21) / inner)


@pytest.mark.parametrize(
    ("packet", "said"),
    [
        ({"bear": {}}, "there is no header bear; choose from"),
        ({"bier": {"tll": 1}}, "bier has no field tll; it has bift_id"),
        ({"bier": {"ttl": 256}}, "bier.ttl: 256 does not fit into 8 bits"),
        ({"bier": {"ttl": "x"}}, "bier.ttl"),
        ({"bier": {"ttl": "checksum"}}, "need 16"),
        ({"payload": "hex:0g"}, "payload"),
    ],
)
def test_a_packet_that_cannot_be_built_is_named(packet: dict, said: str) -> None:
    with pytest.raises(FrameError, match=said):
        build(packet, LAYOUT)


def test_two_headers_of_one_name_are_told_apart_by_nobody() -> None:
    """A check would compare one of them with the other."""
    twice = (ROOT / "p4/bier/v1model.p4").read_text(encoding="utf-8")
    files = {f"p4/{name}": (ROOT / "p4" / name).read_text("utf-8") for name in INCLUDED}
    headers = files["p4/include/headers.p4"]
    more = "struct inner_t { ipv4_t ipv4; }\nstruct headers_t {\n    inner_t inner;"
    files["p4/include/headers.p4"] = headers.replace("struct headers_t {", more)
    defines = [("BSL", "64")]
    program = _engine.compile_text("p4/bier/v1model.p4", twice, files, defines).program
    assert program is not None
    with pytest.raises(FrameError, match=r"two headers are called ipv4: inner\.ipv4 and ipv4"):
        layout_of(program)


STACK = {"label[0]": {"tag": 8}, "label[1]": {"tag": 8}, "wide[0]": {"a": 4, "b": 4}}


@given(st.lists(st.integers(0, 255), max_size=2))
def test_a_stack_is_its_headers_in_order(tags: list[int]) -> None:
    """Without it a packet with a list of sixteen segments takes sixteen lines of a scenario."""
    made = unstacked({"label": tags, "payload": "hex:ff"}, STACK)
    assert build(made, STACK) == bytes([*tags, 255])


@pytest.mark.parametrize(
    ("packet", "said"),
    [
        ({"wide": [1]}, "wide is not a stack of headers with one field"),
        ({"lable": [1]}, "lable is not a stack"),
        ({"label": [1, 2, 3]}, r"there is no header label\[2\]"),
        ({"label": [256]}, r"label\[0\].tag: 256 does not fit into 8 bits"),
    ],
)
def test_a_stack_that_cannot_be_built_is_named(packet: dict, said: str) -> None:
    with pytest.raises(FrameError, match=said):
        build(unstacked(packet, STACK), STACK)
