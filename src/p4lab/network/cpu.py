"""The two bytes in front of frames on the CPU port: a port in 9 bits, then 7 of padding."""

from __future__ import annotations

from p4lab import _engine
from p4lab.control.bier import CPU_PORT
from p4lab.control.bier_tna import CPU_PORT as TNA_CPU_PORT


def port_of(program: _engine.Program) -> int:
    """The port by which a program of ours reaches its control plane."""
    return CPU_PORT if program.summary["package"] == "V1Switch" else TNA_CPU_PORT


def packet_in(data: bytes) -> tuple[int, bytes]:
    """The ingress port and the frame of what a switch has sent to its CPU port."""
    return int.from_bytes(data[:2], "big") >> 7, data[2:]


def packet_out(port: int, frame: bytes) -> bytes:
    """What makes a switch send `frame` out of `port`."""
    return (port << 7).to_bytes(2, "big") + frame
