"""Cables to a switch that is judged by itself: what comes out is what was sent, to the byte."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator

import pytest

from p4lab.packets.ip import tagged
from p4lab.targets.cables import Cables

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="interfaces need root")

PORT = 911


@pytest.fixture
def near() -> Iterator[str]:
    name = f"pn{PORT}"
    yield name
    subprocess.run(["ip", "link", "del", name], check=False, capture_output=True)


def test_a_vlan_header_is_not_lost(near: str) -> None:
    """The kernel takes it off the frame; a right answer to level 6 of lab 00 would fail on bmv2."""
    cables = Cables(lambda _: near)
    cables.lay(PORT)
    plain = bytes(range(14)) + bytes(50)
    frames = [tagged(plain, 7), plain, tagged(tagged(plain, 8), 4094)]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as switch:
        switch.bind((near, 0))
        cables.drain()
        for frame in frames:
            switch.send(frame)
        found, _ = cables.collect(0.1, 5, least=len(frames))
    cables.close()
    own = [frame for _, frame in found if frame.endswith(bytes(50))]  # not the kernel's
    assert own == frames
