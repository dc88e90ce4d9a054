"""Frames between a switch and its control plane: the port, and what stands in front of them.

That is a header of the program's own, marked `@controller_header("packet_in")` or `"packet_out"`
(P4Runtime specification, section 7.1): it says where a frame came in, or where it is to leave.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from p4lab import _engine
from p4lab.model.control import PacketIn


@dataclass(frozen=True)
class _Header:
    """A header of `size` bits that has the number of a port in `width` bits, `shift` bits from its
    end."""

    size: int = 16
    width: int = 9
    shift: int = 7

    @classmethod
    def of(cls, fields: Sequence[Mapping[str, Any]]) -> _Header:
        """From the fields of a controller header: the port is the first that is called one. Fields
        without a width (varbit, strings) count as nothing, and what is not whole bytes is not a
        header that could be sent: programs may be wrong."""
        widths = [int(field.get("bitwidth", 0)) for field in fields]
        size = sum(widths)
        for place, field in enumerate(fields):
            if "port" in field["name"] and size % 8 == 0:
                return cls(size, widths[place], sum(widths[place + 1 :]))
        return cls(size // 8 * 8, 0, 0)

    def before(self, port: int, frame: bytes) -> bytes:
        """The header with a port, as far as it has bits for it, and a frame after it."""
        bits = (port & (1 << self.width) - 1) << self.shift
        return bits.to_bytes(self.size // 8, "big") + frame

    def split(self, data: bytes) -> PacketIn:
        """The port, the frame and the header of what `before` made."""
        length = self.size // 8
        bits = int.from_bytes(data[:length], "big")
        port = bits >> self.shift & (1 << self.width) - 1
        return PacketIn(port, data[length:], data[:length])


@dataclass(frozen=True)
class CpuPort:
    """The port `number` of a switch, which leads to its control plane. Programs without controller
    headers have two bytes there: the port in 9 bits, then 7 of padding."""

    number: int
    incoming: _Header = _Header()
    outgoing: _Header = _Header()

    @classmethod
    def of(cls, program: _engine.Program, number: int) -> CpuPort:
        """The CPU port of a program, with the headers that it declares."""
        try:
            declared = json.loads(program.p4info(json=True)).get("controllerPacketMetadata", [])
        except ValueError:  # no P4Info can be made of it, so nothing is declared there
            declared = []
        found = {one["preamble"]["name"]: _Header.of(one["metadata"]) for one in declared}
        return cls(number, found.get("packet_in", _Header()), found.get("packet_out", _Header()))

    def packet_in(self, data: bytes) -> PacketIn:
        """The ingress port, the frame and the header of what a switch has sent to its CPU port."""
        return self.incoming.split(data)

    def packet_out(self, port: int, frame: bytes) -> bytes:
        """What makes a switch send `frame` out of `port`."""
        return self.outgoing.before(port, frame)

    def packet_out_of(self, data: bytes) -> tuple[int, bytes]:
        """Port and frame of what `packet_out` made."""
        return self.outgoing.split(data)[:2]
