"""MSR6 packets in Wireshark.

If these fail, a capture shows a student another tree than the one in the packet, or says nothing of
a header that every router refuses.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from scapy.layers.inet import IP
from scapy.layers.inet6 import ICMPv6TimeExceeded, IPv6
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from msr6_bytes import (
    ETHERNET,
    EXAMPLE,
    GOOD,
    HOST,
    INNER,
    MALFORMED,
    ODD,
    ROOT,
    SOURCE,
    TREE,
    TWO,
    be,
    frame,
    ipv6,
    leaf,
    rlb,
    routing,
    te,
)
from p4lab.paths import ROOT as REPOSITORY
from p4lab.systems.msr6.words import sid_in_words

SCRIPT = REPOSITORY / "wireshark" / "msr6.lua"
REASONS = REPOSITORY / "p4" / "msr6" / "headers.p4"

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed (apt-get install tshark)"
)


def tshark(frames: Sequence[bytes], folder: Path, *options: str, snapped: int = 0) -> str:
    """What tshark prints; `snapped` is how many bytes of each frame the capture has left out."""
    capture = folder / "capture.pcap"
    packets = []
    for data in frames:
        packets.append(Ether(data[: len(data) - snapped]))
        packets[-1].wirelen = len(data)
    wrpcap(str(capture), packets)
    done = subprocess.run(
        ["tshark", "-X", f"lua_script:{SCRIPT}", "-r", str(capture), *options],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin:/usr/sbin", "HOME": str(folder), "LC_ALL": "C.UTF-8"},
    )
    assert "Lua" not in done.stderr and "Lua Error" not in done.stdout, done.stderr
    return done.stdout


def fields(
    frames: Sequence[bytes],
    folder: Path,
    *names: str,
    snapped: int = 0,
    options: Sequence[str] = (),
) -> list[dict[str, list[str]]]:
    """Per frame a dict of field name to list of values."""
    wanted = [part for name in names for part in ("-e", name)]
    out = tshark(frames, folder, "-T", "json", *wanted, *options, snapped=snapped)
    return [packet["_source"].get("layers", {}) for packet in json.loads(out)]


def experts() -> list[str]:
    """The names of all complaints, as the script has them."""
    found = re.findall(r'problem\(\w+, "(\w+)"', SCRIPT.read_text(encoding="utf-8"))
    assert len(found) == 15
    return found


def complaints(
    frames: Sequence[bytes], folder: Path, snapped: int = 0, options: Sequence[str] = ()
) -> list[set[str]]:
    """Per frame the names of what the script complains of."""
    names = [f"p4msr6.expert.{name}" for name in experts()]
    seen = fields(frames, folder, *names, snapped=snapped, options=options)
    return [{name.rsplit(".", 1)[1] for name in layers} for layers in seen]


def numbers(values: list[str]) -> list[int]:
    return [int(value, 0) for value in values]


# --- Fields --------------------------------------------------------------------------------------


def test_every_field_of_the_example(tmp_path: Path) -> None:
    """What stands in the bytes of the profile's example, from the highest index down."""
    wanted = {
        "ipv6.routing.len": [16],
        "ipv6.routing.segleft": [8],
        "p4msr6.last_entry": [7],
        "p4msr6.flags": [0],
        "p4msr6.tag": [0],
        "p4msr6.dst.node": [1],
        "p4msr6.dst.function": [0x100],
        "p4msr6.dst.n": [2],
        "p4msr6.dst.pointer": [7],
        "p4msr6.child": [7, 6],
        "p4msr6.entry.node": [2, 3, 5, 7, 8, 9, 10, 11],
        "p4msr6.entry.function": [0x100] * 4 + [0x600] * 4,
        "p4msr6.entry.n": [1, 1, 2, 2],
        "p4msr6.entry.pointer": [5, 4, 3, 1],
    }
    (layers,) = fields([frame(ROOT, 8, TREE)], tmp_path, *wanted)
    assert {name: numbers(values) for name, values in layers.items()} == wanted


def test_the_other_behaviours(tmp_path: Path) -> None:
    frames = [
        frame(rlb(4, 0b1000_0000_0000_0101, 1), 2, [rlb(3, 2, 0), rlb(2, 4, 0)], flags=3, tag=515),
        frame(be(2, 3), 1, [bytes.fromhex("80000000000000000000000000000025")]),
        frame(leaf(HOST | 3), 0, [bytes(15) + b"\x20"]),
    ]
    names = ["flags", "tag", "dst.node", "dst.host", "dst.bits", "dst.pointer", "dst.si"]
    names += ["entry.bits", "entry.pointer", "bit", "bfr_id"]
    seen = fields(frames, tmp_path, *(f"p4msr6.{name}" for name in names))
    found = [{name[7:]: numbers(values) for name, values in layers.items()} for layers in seen]
    common = {"flags": [0], "tag": [0]}
    assert found == [
        {
            "flags": [3],
            "tag": [515],
            "dst.node": [4],
            "dst.bits": [0x8005],
            "dst.pointer": [1],
            "entry.bits": [4, 2],
            "entry.pointer": [0, 0],
        },
        {
            **common,
            "dst.node": [2],
            "dst.si": [3],
            "bit": [1, 3, 6, 128],
            "bfr_id": [385, 387, 390, 512],
        },
        {**common, "dst.node": [0x8003], "dst.host": [3], "bit": [6]},
    ]


@pytest.mark.parametrize(
    ("destination", "segments_left", "entries", "current", "children"),
    [
        pytest.param(ROOT, 8, TREE, None, [7, 6], id="root"),
        pytest.param(TREE[7], 7, TREE, 7, [5], id="one child"),
        pytest.param(TREE[4], 4, TREE, 4, [1, 0], id="last node"),
        pytest.param(TREE[2], 0, TREE, 2, [], id="leaf"),
        pytest.param(leaf(HOST | 9), 0, TREE, None, [], id="leaf of RLB"),
        pytest.param(TREE[7], 6, TREE, None, [5], id="Segments Left of a sibling"),
    ],
)
def test_where_a_packet_is_in_its_list(
    tmp_path: Path,
    destination: bytes,
    segments_left: int,
    entries: list[bytes],
    current: int | None,
    children: list[int],
) -> None:
    data = frame(destination, segments_left, entries)
    (layers,) = fields([data], tmp_path, "p4msr6.current", "p4msr6.child")
    assert numbers(layers.get("p4msr6.current", [])) == ([] if current is None else [current])
    assert numbers(layers.get("p4msr6.child", [])) == children
    marked = re.findall(r"Entry (\d+): .* <- (.*)", tshark([data], tmp_path, "-V"))
    here = [] if current is None else [(str(current), "the destination")]
    assert sorted(marked) == sorted([*here, *((str(index), "a child") for index in children)])


def test_bits_may_lead_to_entries(tmp_path: Path) -> None:
    """Which bits lead to routers, only the node knows: three bits take three entries at most."""
    entries = [rlb(node, 1, 0) for node in (9, 8, 7, 6)]
    frames = [frame(rlb(1, bits, 2), 4, entries) for bits in (0b111, 0b1, 0xFFFF)]
    seen = fields(frames, tmp_path, "p4msr6.candidate", "p4msr6.child")
    found = [numbers(layers.pop("p4msr6.candidate")) for layers in seen]
    assert found == [[2, 1, 0], [2], [2, 1, 0]] and not any(seen)


def test_the_words_are_those_of_our_own_programs(tmp_path: Path) -> None:
    for name in ("TE at the root", "RLB at the root", "BE"):
        header = GOOD[name][54:]
        count = 0 if name == "BE" else header[4] + 1
        sids = [GOOD[name][38:54], *(header[8 + 16 * i : 24 + 16 * i] for i in range(count))]
        said = [sid_in_words(int.from_bytes(sid, "big")) for sid in sids]
        seen = re.findall(
            r"(?:\[Destination|Entry \d+): \S+ \((.*?)\)", tshark([GOOD[name]], tmp_path, "-V")
        )
        assert sorted(seen) == sorted(map(str, said))


def test_the_packet_inside_is_wiresharks_own_business(tmp_path: Path) -> None:
    names = ("frame.protocols", "ipv6.dst", "udp.dstport", "data.data")
    (layers,) = fields([GOOD["TE on its way"]], tmp_path, *names)
    assert layers["frame.protocols"][0].endswith(":ipv6.routing:p4msr6:ipv6:udp:data")
    assert layers["ipv6.dst"] == ["5f00::2:100:105:0", "ff3e::4:1"]
    assert layers["udp.dstport"] == ["2"]
    assert layers["data.data"][0].replace(":", "") == b"hello".hex()


@pytest.mark.parametrize("passes", ["-1", "-2"])
def test_the_list_of_packets_says_where_they_go(tmp_path: Path, passes: str) -> None:
    frames = [GOOD["TE at the root"], GOOD["BE"], ODD["not to a SID"][1]]
    options = ["-2"] if passes == "-2" else []
    lines = tshark(frames, tmp_path, *options).splitlines()
    assert all("MSR6/UDP" in line and "1 → 2 Len=5" in line for line in lines)
    assert "To router 1, End.RL: 2 children, entries from 7 down |" in lines[0]
    assert "To router 2, End.RGB: set 1: bits 1, 3, 6, 128 |" in lines[1]
    assert "Not to a SID |" in lines[2]


# --- Complaints ----------------------------------------------------------------------------------


def test_what_is_as_it_should_be_is_not_complained_of(tmp_path: Path) -> None:
    found = complaints(list(GOOD.values()), tmp_path)
    assert [name for name, what in zip(GOOD, found, strict=True) if what] == []


def test_every_malformed_header_has_its_complaint(tmp_path: Path) -> None:
    cases = {**MALFORMED, **ODD}
    found = complaints([data for _, data in cases.values()], tmp_path)
    assert dict(zip(cases, found, strict=True)) == {
        name: {reason} for name, (reason, _) in cases.items()
    }
    assert {reason for reason, _ in cases.values()} == set(experts()) - {"cut_off"}


def test_errors_are_named_as_the_router_names_them(tmp_path: Path) -> None:
    """Who looks a refused packet up finds the word of the trace."""
    errors = re.findall(r'problem\(ERROR, "(\w+)"', SCRIPT.read_text(encoding="utf-8"))
    reasons = re.findall(r"^ +([A-Z_]+) += \d+", REASONS.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name.upper() for name in errors} <= set(reasons)
    assert set(errors) == {reason for reason, _ in MALFORMED.values()}


def test_the_trap_of_linux_leaves_is_spelled_out(tmp_path: Path) -> None:
    out = tshark([MALFORMED["SL not 0 at a leaf"][1]], tmp_path, "-V")
    assert "P4 routers refuse that, Linux hosts do not look" in out


def test_a_router_may_read_fewer_entries(tmp_path: Path) -> None:
    frames = [frame(te(1, 8, 7), 8, [leaf(9)] * 8), frame(te(1, 9, 8), 9, [leaf(9)] * 9)]
    assert complaints(frames, tmp_path) == [set(), set()]
    options = ("-o", "p4msr6.most_entries:8")
    assert complaints(frames, tmp_path, options=options) == [set(), {"too_long"}]


def test_what_lies_behind_the_list_is_shown_and_not_judged(tmp_path: Path) -> None:
    data = GOOD["TE, something behind the list"]
    (layers,) = fields([data], tmp_path, "p4msr6.rest", "p4msr6.entry.node")
    assert layers["p4msr6.rest"][0].replace(":", "") == bytes(range(16)).hex()
    assert len(layers["p4msr6.entry.node"]) == 8


# --- Other packets -------------------------------------------------------------------------------


def test_other_routing_headers_are_left_alone(tmp_path: Path) -> None:
    types = (0, 2, 4, 254)
    frames = [frame(TREE[0], 0, TREE, routing_type=number) for number in types]
    seen = fields(frames, tmp_path, "p4msr6.last_entry", "ipv6.routing.srh.last_entry")
    assert [list(layers) for layers in seen] == [[], [], ["ipv6.routing.srh.last_entry"], []]


def test_of_two_headers_each_has_its_own_destination(tmp_path: Path) -> None:
    """A tunnel in a tunnel: the inner one is judged by the inner address."""
    inner = ipv6(TREE[3], 43, EXAMPLE + INNER)
    data = frame(TREE[3], 0, TREE, inner=inner)
    (layers,) = fields([data], tmp_path, "p4msr6.dst.node", "p4msr6.expert.segments_left")
    assert layers["p4msr6.dst.node"] == ["8", "8"]
    assert len(layers["p4msr6.expert.segments_left"]) == 1  # 8 in the inner header


def test_a_packet_quoted_in_an_error_is_read_and_the_error_stays_one(tmp_path: Path) -> None:
    quoted = ipv6(ROOT, 43, EXAMPLE + INNER)
    error = IPv6(src="fd00::1", dst=str(SOURCE)) / ICMPv6TimeExceeded() / quoted
    data = ETHERNET + bytes(error)
    (layers,) = fields([data], tmp_path, "p4msr6.dst.node", "_ws.col.Protocol")
    assert layers == {"p4msr6.dst.node": ["1"], "_ws.col.Protocol": ["ICMPv6"]}


def test_behind_ipv4_there_is_no_destination_to_judge_by(tmp_path: Path) -> None:
    packet = bytes(IP(src="10.0.1.1", dst="10.0.2.1", proto=43) / (EXAMPLE + INNER))
    data = ETHERNET[:12] + bytes.fromhex("0800") + packet
    (layers,) = fields([data], tmp_path, "p4msr6.dst.node", "p4msr6.entry.node")
    assert list(layers) == ["p4msr6.entry.node"]


def test_a_capture_that_ends_within_the_header(tmp_path: Path) -> None:
    data = frame(ROOT, 8, TREE)
    missing = len(INNER) + 16 * 3 + 5
    assert complaints([data], tmp_path, snapped=missing) == [{"cut_off"}]
    (layers,) = fields([data], tmp_path, "p4msr6.entry.node", snapped=missing)
    assert numbers(layers["p4msr6.entry.node"]) == [8, 9, 10, 11]
    assert complaints([data], tmp_path, snapped=len(INNER) + 16 * 8 + 2) == [{"cut_off"}]


def test_a_header_that_is_longer_than_its_packet(tmp_path: Path) -> None:
    """Wireshark marks it, too."""
    data = ETHERNET + ipv6(te(1, 2, 1), 43, routing(TWO, 2, hdr_ext_len=16))
    (layers,) = fields([data], tmp_path, "_ws.malformed", "p4msr6.entry.node")
    assert sorted(layers) == ["_ws.malformed", "p4msr6.entry.node"]
    assert complaints([data], tmp_path) == [{"cut_off"}]


def test_no_bytes_make_the_script_fail(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    whole = frame(ROOT, 8, TREE)
    frames = [whole[:length] for length in range(54, len(whole))]
    for name in ("TE on its way", "RLB at the root", "BE", "BE at a leaf"):
        for _ in range(60):
            noisy = bytearray(GOOD[name])
            for _ in range(chance.randrange(1, 6)):
                noisy[chance.randrange(38, len(noisy) - len(INNER))] = chance.randrange(256)
            noisy[56] = 253
            frames.append(bytes(noisy))
    assert "MSR6" in tshark(frames, tmp_path, "-V")
    for snapped in (1, len(INNER) + 1, len(INNER) + 100, len(INNER) + 130, len(INNER) + 135):
        assert tshark([whole], tmp_path, "-V", snapped=snapped)
