"""If these fail, Wireshark shows a student something else than what is in the packet."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from p4lab.systems.bier.packets import BIER

SCRIPT = Path(__file__).resolve().parents[2] / "wireshark" / "bier.lua"
MACS = {"dst": "02:00:00:00:02:02", "src": "02:00:00:00:01:02"}

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed (apt-get install tshark)"
)


def tshark(frames, tmp_path, *options):
    capture = tmp_path / "capture.pcap"
    wrpcap(str(capture), [Ether(bytes(frame)) for frame in frames])
    done = subprocess.run(
        ["tshark", "-X", f"lua_script:{SCRIPT}", "-r", str(capture), *options],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin:/usr/sbin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
    )
    assert "Lua" not in done.stderr and "Lua Error" not in done.stdout, done.stderr
    return done.stdout


def fields(frames, tmp_path, *names, options=()):
    """Per frame a dict of field name to list of values, as tshark sees them."""
    wanted = [part for name in names for part in ("-e", name)]
    packets = json.loads(tshark(frames, tmp_path, "-T", "json", *wanted, *options))
    return [packet["_source"].get("layers", {}) for packet in packets]


NUMBERS = (
    "bift_id", "tc", "s", "ttl", "nibble", "ver", "bsl", "entropy", "oam", "rsv", "dscp", "proto",
    "bfir_id",
)  # fmt: skip


def by_hand(frame: bytes) -> dict[str, object]:
    """RFC 8296, section 2.1.1, with shifts and masks."""
    first, second, third = struct.unpack_from("!III", frame, 14)
    length = 4 << (second >> 20 & 0xF)
    bit_string = int.from_bytes(frame[26 : 26 + length], "big")
    return {
        "bift_id": first >> 12,
        "tc": first >> 9 & 7,
        "s": first >> 8 & 1,
        "ttl": first & 0xFF,
        "nibble": second >> 28,
        "ver": second >> 24 & 0xF,
        "bsl": second >> 20 & 0xF,
        "entropy": second & 0xFFFFF,
        "oam": third >> 30,
        "rsv": third >> 28 & 3,
        "dscp": third >> 22 & 0x3F,
        "proto": third >> 16 & 0x3F,
        "bfir_id": third & 0xFFFF,
        "bit": [i + 1 for i in range(8 * length) if bit_string >> i & 1],
    }


def bier(bsl=1, si=0, payload=None, **values):
    """A frame with the static BIFT-id of this length and set."""
    values.setdefault("bift_id", bsl << 16 | si)
    values.setdefault("bfir_id", 1)
    return Ether(**MACS) / BIER(bsl=bsl, **values) / (payload or IP(src="10.0.1.1") / UDP())


def test_every_field_as_decoded_by_hand(tmp_path):
    frames = [
        bier(1, 0, entropy=0xABCDE, bfir_id=5, bit_string=0b101),
        bier(1, 8, tc=5, s=0, ttl=1, nibble=5, ver=1, oam=2, rsv=1, dscp=42, bit_string=1 << 63),
        bier(2, 255, ttl=255, bfir_id=65535, entropy=0xFFFFF, bit_string=(1 << 128) - 1),
        bier(3, 1, proto=5, payload=Raw(b"oam"), bit_string=1 << 255 | 1 << 100 | 1),
    ]
    seen = fields(frames, tmp_path, *(f"bier8296.{name}" for name in (*NUMBERS, "bit")))
    for frame, layers in zip(frames, seen, strict=True):
        expected = by_hand(bytes(frame))
        assert {name: int(layers[f"bier8296.{name}"][0], 0) for name in NUMBERS} == {
            name: expected[name] for name in NUMBERS
        }
        assert [int(bit) for bit in layers["bier8296.bit"]] == expected["bit"]


def test_receivers_by_bfr_id(tmp_path):
    (layers,) = fields(
        [bier(1, 2, bit_string=0b101)], tmp_path, "bier8296.si", "bier8296.bfr_id", "bier8296.bit"
    )
    assert layers["bier8296.si"] == ["2"]
    assert layers["bier8296.bfr_id"] == ["129", "131"]


@pytest.mark.parametrize(
    ("proto", "payload", "layer"),
    [
        (4, IP(src="10.0.1.1", dst="239.1.1.1") / UDP() / b"x", "ip"),
        (6, IPv6(src="fe80::1", dst="ff02::1") / UDP() / b"x", "ipv6"),
        (3, Ether(**MACS, type=0x88B5) / b"x", "eth"),
        (5, Raw(b"oam"), "data"),
    ],
)
def test_payload_goes_to_the_dissector_of_its_protocol(tmp_path, proto, payload, layer):
    (layers,) = fields([bier(1, proto=proto, bit_string=1, payload=payload)], tmp_path,
                       "frame.protocols")  # fmt: skip
    assert layers["frame.protocols"][0].split(":bier8296:")[1].split(":")[0] == layer


def test_the_list_of_packets_tells_the_receivers(tmp_path):
    out = tshark([bier(1, ttl=7, bit_string=0b1101)], tmp_path)
    assert "BIER" in out and "To bits 1, 3, 4, TTL 7 |" in out


MISTAKES = [
    ("version", bier(ver=1, bit_string=1)),
    ("ttl", bier(ttl=0, bit_string=1)),
    ("proto", bier(proto=63, bit_string=1)),
    ("bfir_id", bier(bfir_id=0, bit_string=1)),
    ("empty", bier(bit_string=0)),
    ("s", bier(s=0, bit_string=1)),
    ("nibble", bier(nibble=5, bit_string=1)),
    ("tc", bier(tc=1, bit_string=1)),
    ("rsv", bier(rsv=1, bit_string=1)),
    ("bsl", bier(bsl=9, bift_id=0x90000, bit_string=0, payload=Raw(b"x"))),
    ("bsl_mismatch", bier(bsl=1, bift_id=0x20000, bit_string=(1).to_bytes(16, "big"))),
    ("short", Ether(bytes(bier(bit_string=1))[: 14 + 7])),
    ("short", Ether(bytes(bier(bit_string=1))[: 14 + 15])),
]


def test_every_complaint_is_an_expert_info_and_a_good_packet_has_none(tmp_path):
    names = [f"bier8296.expert.{name}" for name in dict(MISTAKES)]
    seen = fields([frame for _, frame in MISTAKES] + [bier(bit_string=1)], tmp_path, *names)
    found = [{key.rsplit(".", 1)[1] for key in layers} for layers in seen]
    assert found == [{name} for name, _ in MISTAKES] + [set()]


def test_a_wrong_bsl_field_does_not_spoil_the_dissection(tmp_path):
    """Unless one asks for it: routers infer the length from the BIFT-id."""
    frame = bier(bsl=1, bift_id=0x20000, bit_string=(1).to_bytes(16, "big"))
    (layers,) = fields([frame], tmp_path, "bier8296.bit", "ip.src")
    assert (layers["bier8296.bit"], layers["ip.src"]) == (["1"], ["10.0.1.1"])
    off = ("-o", "bier8296.static_bift_ids:FALSE")
    (layers,) = fields([frame], tmp_path, "bier8296.bit_string", "bier8296.si", options=off)
    assert "bier8296.si" not in layers
    assert [text.replace(":", "") for text in layers["bier8296.bit_string"]] == ["00" * 8]


def test_no_bytes_make_the_script_fail(tmp_path):
    whole = bytes(bier(3, bit_string=(1 << 256) - 1))
    frames = [Ether(whole[:length]) for length in range(14, len(whole))]
    frames += [Ether(whole[:14] + bytes([value]) * 80) for value in range(0, 256, 5)]
    assert len(tshark(frames, tmp_path, "-V")) > 0
