"""Protected packets in scapy and in Wireshark.

If these fail, a capture shows a student other numbers than the switch has sent.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from p4lab.paths import ROOT
from p4lab.systems.protect.packets import RTAG, Protection

SCRIPT = ROOT / "wireshark" / "protect.lua"
MACS = {"dst": "02:00:00:00:02:02", "src": "02:00:00:00:01:02"}
INNER = IP(src="10.0.1.1", dst="10.0.5.1") / UDP(sport=1, dport=2) / b"hello"

needs_tshark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed (apt-get install tshark)"
)


def protected(payload: Packet = INNER, **fields: int) -> Packet:
    outer = IP(src="10.0.1.254", dst="172.16.1.1", flags="DF")
    return Ether(**MACS) / outer / Protection(**fields) / payload


def decoded(frames: list[Packet], folder: Path, *names: str) -> list[dict[str, list[str]]]:
    """Fields of each frame as tshark sees them."""
    capture = folder / "capture.pcap"
    wrpcap(str(capture), [Ether(bytes(frame)) for frame in frames])
    wanted = [part for name in names for part in ("-e", name)]
    done = subprocess.run(
        ["tshark", "-X", f"lua_script:{SCRIPT}", "-r", str(capture), "-T", "json", *wanted],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin:/usr/sbin", "HOME": str(folder), "LC_ALL": "C.UTF-8"},
    )
    assert "Lua" not in done.stderr, done.stderr
    return [packet["_source"].get("layers", {}) for packet in json.loads(done.stdout)]


def test_the_header_has_eight_bytes_in_the_order_of_the_paper() -> None:
    """CID 24, SN 32, next protocol 8; behind an IPv4 header of protocol 253."""
    frame = protected(cid=0x010203, sn=0x0A0B0C0D)
    assert bytes(frame)[14 + 9] == 253
    assert bytes(frame)[34:42].hex() == "0102030a0b0c0d04"
    again = Ether(bytes(frame))
    assert (again[Protection].cid, again[Protection].sn) == (0x010203, 0x0A0B0C0D)
    assert again[Protection].payload[IP].dst == "10.0.5.1"


def test_what_follows_is_found_by_its_number() -> None:
    v6 = IPv6(src="fd00:0:0:1::1", dst="fd00:0:0:5::1") / UDP()
    frame = Ether(bytes(protected(v6, cid=1, sn=1)))
    assert frame[Protection].next_protocol == 41
    assert frame[Protection].payload[IPv6].dst == "fd00:0:0:5::1"


def test_an_rtag_stands_behind_the_vlan_tag() -> None:
    frame = Ether(**MACS) / Dot1Q(vlan=7) / RTAG(sn=0xBEEF) / INNER
    assert bytes(frame)[12:24].hex() == "81000007f1c10000beef0800"
    assert Ether(bytes(frame))[RTAG].payload[IP].dst == "10.0.5.1"


@needs_tshark
def test_wireshark_decodes_the_same(tmp_path: Path) -> None:
    frames = [
        protected(cid=1, sn=1),
        protected(cid=(1 << 24) - 1, sn=(1 << 32) - 1),
        protected(IPv6(src="fd00::1", dst="fd00::2") / UDP() / b"x", cid=9, sn=7),
    ]
    names = ("p4protect.cid", "p4protect.sn", "p4protect.next_protocol", "frame.protocols")
    seen = decoded(frames, tmp_path, *names)
    for frame, layers in zip(frames, seen, strict=True):
        header = Ether(bytes(frame))[Protection]
        assert layers["p4protect.cid"] == [str(header.cid)]
        assert layers["p4protect.sn"] == [str(header.sn)]
        assert layers["p4protect.next_protocol"] == [str(header.next_protocol)]
        follows = {4: ":p4protect:ip:udp", 41: ":p4protect:ipv6:udp"}
        assert follows[header.next_protocol] in layers["frame.protocols"][0]


@needs_tshark
def test_wireshark_marks_what_the_tunnel_end_would_drop(tmp_path: Path) -> None:
    short = Ether(**MACS) / IP(dst="172.16.1.1", proto=253) / Raw(b"1234567")
    frames = [protected(Raw(b"x" * 20), cid=1, sn=1, next_protocol=17), short, protected(sn=1)]
    names = ("p4protect.expert.next_protocol", "p4protect.expert.short")
    first, second, third = decoded(frames, tmp_path, *names)
    assert list(first) == ["p4protect.expert.next_protocol"]
    assert list(second) == ["p4protect.expert.short"]
    assert not third


@needs_tshark
def test_wireshark_knows_rtags_itself(tmp_path: Path) -> None:
    """So our frames are those of the standard."""
    frames = [
        Ether(**MACS) / RTAG(sn=7) / INNER,
        Ether(**MACS) / Dot1Q(vlan=7) / RTAG(sn=8) / INNER,
    ]
    seen = decoded(frames, tmp_path, "ieee8021cb.seq", "ieee8021cb.etype", "ip.dst")
    assert [layers["ieee8021cb.seq"] for layers in seen] == [["0x0007"], ["0x0008"]]
    assert all(layers["ip.dst"] == ["10.0.5.1"] for layers in seen)
