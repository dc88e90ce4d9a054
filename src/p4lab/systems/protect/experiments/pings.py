"""Pings between two hosts in virtual time: real ICMP echoes through the switches and back."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from p4lab.network.base import NetworkError
from p4lab.network.virtual import PICOSECONDS, VirtualNetwork
from p4lab.packets.ip import ETHERTYPE_IPV4, PROTOCOL_ICMP, checksum, ethernet, ipv4
from p4lab.topology import Host

ECHO_REQUEST, ECHO_REPLY = 8, 0  # RFC 792
PAYLOAD = bytes(56)  # as ping sends it
_TYPE, _SEQUENCE = 34, slice(40, 42)  # in a frame with an IPv4 header without options


def echo(source: Host, target: Host, kind: int, sequence: int) -> bytes:
    """A frame of the host with an echo request or reply to another host behind a router."""

    def message(check: int) -> bytes:
        return struct.pack("!BBHHH", kind, 0, check, 1, sequence) + PAYLOAD

    packet = ipv4(source.ip, target.ip, PROTOCOL_ICMP, message(checksum(message(0))))
    return ethernet(source.gateway_mac, source.mac, ETHERTYPE_IPV4, packet)


def ping(
    net: VirtualNetwork, source: Host, target: Host, count: int, interval_ns: int
) -> list[float]:
    """Round trip times in nanoseconds of so many pings, the first one now. Replies leave at once.

    Raises NetworkError if one is lost or comes twice.
    """
    begin = net.engine.now
    sent = [begin + sequence * interval_ns * PICOSECONDS for sequence in range(count)]
    for sequence, moment in enumerate(sent):
        frame = echo(source, target, ECHO_REQUEST, sequence)
        net.engine.send_at(net.node(source.name), moment, frame)
    end = begin + (count + 1) * interval_ns * PICOSECONDS
    answered: list[tuple[int, float]] = []
    while (event := net.engine.run_until(end)) is not None:
        _, node, time, frame = event
        sequence = int.from_bytes(frame[_SEQUENCE], "big")
        if frame[_TYPE] == ECHO_REQUEST:
            reply = echo(target, source, ECHO_REPLY, sequence)
            net.engine.send_at(node, time, reply)
        else:
            answered.append((sequence, (time - sent[sequence]) / PICOSECONDS))
    _check(count, (sequence for sequence, _ in answered))
    return [duration for _, duration in answered]


def _check(count: int, answered: Iterable[int]) -> None:
    if sorted(answered) != list(range(count)):
        raise NetworkError("pings were lost, or answered twice.")
