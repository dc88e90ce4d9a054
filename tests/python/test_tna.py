"""TNA programs from Python: compiled, run, traced, and in a network where loops have a rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from p4lab import _engine
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Entity,
    Exact,
    TableEntry,
    Ternary,
    Update,
)

ROOT = Path(__file__).resolve().parents[2]
BIER = ROOT / "p4" / "bier" / "tna.p4"
GIGABIT = 1_000_000_000
MICROSECOND = 1_000_000  # picoseconds

# Ethernet and the RFC 8296 header for BSL 64 up to the BitString; what follows is no IPv4.
HEAD = bytes.fromhex("020000000201020000000102ab371000013f00116a2100000004")


@pytest.fixture(scope="module")
def program() -> _engine.Program:
    compilation = _engine.compile(str(BIER), [], [("BSL", "64")], lints=["tofino"])
    assert compilation.diagnostics == [], compilation.render()
    assert compilation.program is not None
    return compilation.program


def frame(bits: int, size: int = 1000) -> bytes:
    head = HEAD + bits.to_bytes(8, "big")
    return head + bytes(size - len(head))


def entries(next_hops: int, loops: int) -> list[Update]:
    """Receiver i behind port i + 1, and so many recirculation ports from 68 on."""
    entities: list[Entity] = [DefaultAction("loop_count", "use_loops", (("last", loops - 1),))]
    for i in range(1, next_hops + 1):
        bit = 1 << (i - 1)
        key = (("bift_id", Exact(0x10000)), ("remaining", Ternary(bit, bit)))
        args = (("entry", i), ("fbm", bit), ("port", i + 1))
        entities.append(TableEntry("bift", key, "forward", args, 65 - i))
        served = (("entry", Exact(i)),)
        entities.append(TableEntry("served", served, "take_out", (("fbm", bit),)))
    for i in range(loops):
        entities.append(CloneSession(11 + i, ((68 + i, 0),)))
        loop, session = (("loop", Exact(i)),), (("session", 11 + i),)
        entities.append(TableEntry("loop_sessions", loop, "mirror_to", session))
    return [Update("insert", entity) for entity in entities]


def test_a_copy_for_every_next_hop_and_a_trace_of_them(program: _engine.Program) -> None:
    switch = _engine.Switch(program)
    switch.write(entries(next_hops=3, loops=2))
    copies = switch.process(9, frame(0b101))
    assert [(port, data[26:34]) for port, data in copies] == [
        (2, (0b001).to_bytes(8, "big")),
        (4, (0b100).to_bytes(8, "big")),
    ]
    packets = switch.trace(9, frame(0b101))["packets"]
    kinds = [packet["kind"] for packet in packets]
    assert kinds == ["original", "ingress clone", "recirculated"]
    assert [packet["fate"]["kind"] for packet in packets] == ["sent", "again", "sent"]


def saturated(program: _engine.Program, next_hops: int, loops: int) -> tuple[list[float], int]:
    """What each next hop gets of 100 Gb/s, as fractions, and what the loops dropped."""
    network = _engine.Network(1)
    switch = network.add_switch("s1", program, cpu_port=64)
    hosts = [network.add_host(f"h{i}", 0x0200_0000_0000 + i) for i in range(next_hops + 1)]
    for i, host in enumerate(hosts):
        network.connect((host, 0), (switch, i + 1), rate=100 * GIGABIT, queue=10_000_000)
        network.set_promiscuous(host, True)
    network.write(switch, entries(next_hops, loops))
    for port in range(68, 68 + loops):
        network.set_loop(switch, port, rate=100 * GIGABIT, queue=50_000)
    count = 2000
    interval = (1000 + 24) * 8 * 10  # picoseconds at 100 Gb/s, with preamble, gap and checksum
    network.start_stream(
        hosts[0],
        frame((1 << next_hops) - 1),
        flow=1,
        sender=1,
        start=0,
        interval=interval,
        count=count,
    )
    network.run_until(count * interval + 100 * MICROSECOND)
    received = [network.report(host)[0]["received"] / count for host in hosts[1:]]
    loop_stats = [network.loop_stats(switch, port) for port in range(68, 68 + loops)]
    return received, sum(stats["dropped"] for stats in loop_stats if stats is not None)


def test_a_recirculation_port_overflows_and_two_do_not(program: _engine.Program) -> None:
    """Three next hops: every packet passes the loops twice, so one loop has room for half of what
    comes, and two have room for all of it but for the 8 bytes that a packet is longer inside."""
    received, dropped = saturated(program, next_hops=3, loops=2)
    assert min(received) > 0.97, received
    received, dropped = saturated(program, next_hops=3, loops=1)
    assert received[0] == 1.0
    assert dropped > 0
    assert sum(received[1:]) == pytest.approx(1.0, abs=0.06), received


def test_what_only_tna_has_is_said_to_be_so(program: _engine.Program) -> None:
    network = _engine.Network()
    switch = network.add_switch("s1", program)
    with pytest.raises(ValueError, match="v1model"):
        network.set_queue(switch, rate=1)
    assert network.loop_stats(switch, 5) is None
    other = _engine.compile(str(BIER.with_name("v1model.p4")), [], [("BSL", "64")]).program
    assert other is not None
    v1model = network.add_switch("s2", other)
    with pytest.raises(ValueError, match="TNA"):
        network.set_loop(v1model, 68)
