"""What the gateway puts around its own packets is what the data plane expects.

If these fail, a subscriber or a router of the core never hears the gateway.
"""

from __future__ import annotations

import pytest
from scapy.contrib.mpls import MPLS
from scapy.layers.l2 import Ether

from p4lab.systems.bng.entries import Access, Line, Net, Route
from p4lab.systems.bng.frames import Wrapping, core_frame
from p4lab.systems.bng.pppoe.packets import DISCOVERY

MAC = bytes.fromhex("020000000101")
EXPLICIT_NULL = 0


def stack(frame: bytes) -> list[tuple[int, int, int]]:
    """Label, S bit and TTL of each label, as Scapy reads them."""
    layer, found = Ether(frame).payload, []
    while isinstance(layer, MPLS):
        found.append((layer.label, layer.s, layer.ttl))
        layer = layer.payload
    return found


@pytest.mark.parametrize("second", [EXPLICIT_NULL, 17])
def test_there_are_always_two_labels(second: int) -> None:
    """Explicit null is a label (RFC 3032, section 2.1), and the program parses two."""
    wrapping = Wrapping(Line(1, 1, 16, second, 5, 0), Access(1, 16, 1, 2), 7)
    expected = [(16, 0, 64), (second, 1, 64)]
    assert stack(wrapping.frame(MAC, DISCOVERY, b"\x11\x07")) == expected
    route = Route(0, Net(4, 0, 0), 2, 16, second, 3)
    assert stack(core_frame(route, 1, b"\x45" + bytes(19))) == expected
