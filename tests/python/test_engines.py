"""Interpreter and native code in networks: the same seed gives the same run on both.

If this fails, an experiment on native code cannot be repeated, or contradicts what the checks of a
lab, which are interpreted, say of the same program.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from p4lab import _engine
from p4lab.bench import chain, engines, msr6, programs, stateful

ROUTERS = 4
PACKETS = 300
MICROSECOND = 10**6  # picoseconds


def run(engine: str, seed: int) -> tuple[int | None, list[dict[str, int]]]:
    """The fingerprint of all deliveries in a chain with loss and jitter, and the switches' counts.
    Two next hops at every router, so that packets are cloned and go round, too."""
    subject = programs.bier(64, 2)
    net = _engine.Network(seed=seed)
    for number in range(ROUTERS):
        net.add_switch(f"r{number}", subject.program, seed=seed + number, engine=engine)
        net.write(number, subject.updates)
    source = net.add_host("from", 0x020000000001)
    link = {"rate": 10**9, "delay": MICROSECOND, "jitter": MICROSECOND, "loss": 0.05}
    net.connect((source, 0), (0, programs.IN_PORT), **link)
    for node in range(ROUTERS):
        for port in (programs.OUT_PORT, programs.OTHER_PORT):
            end = (node + 1, programs.IN_PORT)
            if port == programs.OTHER_PORT or node + 1 == ROUTERS:
                end = (net.add_host(f"to{node}.{port}", 0x020000000002), 0)
            net.connect((node, port), end, **link)
    net.fingerprint_on()
    net.start_stream(
        source,
        chain.bier_probe(64, 2),
        flow=1,
        sender=1,
        start=0,
        interval=MICROSECOND,
        count=PACKETS,
    )
    net.run_until(2 * PACKETS * MICROSECOND)
    return net.fingerprint, [net.switch_stats(node) for node in range(ROUTERS)]


@pytest.mark.parametrize("seed", [1, 20_261_121])
def test_the_same_seed_gives_the_same_run_on_both_engines(seed: int) -> None:
    interpreted = run("interpreter", seed)
    assert interpreted[1][0]["clones"] > 0
    assert run("jit", seed) == interpreted
    assert run("jit", seed + 1) != interpreted


def test_parallel_runs_do_not_disturb_each_other() -> None:
    choices = [(engine, seed) for engine in ("interpreter", "jit") for seed in (1, 2, 3)]
    alone = {seed: run("interpreter", seed) for seed in (1, 2, 3)}
    with ThreadPoolExecutor(max_workers=len(choices)) as pool:
        together = list(pool.map(lambda choice: run(*choice), choices))
    for (engine, seed), found in zip(choices, together, strict=True):
        assert found == alone[seed], (engine, seed)


def test_the_bench_sends_every_packet_through_the_chain() -> None:
    assert engines.hops_per_second("jit", 100) > 0


@pytest.mark.parametrize("subject", msr6.subjects(), ids=lambda subject: subject.name)
def test_the_bench_has_three_copies_of_each_encoding(subject: programs.Subject) -> None:
    """Else its figures would be those of packets that are dropped."""
    for engine in engines.ENGINES:
        switch = _engine.Switch(subject.program, engine=engine)
        switch.write(subject.updates)
        for _ in range(600):  # native code has learned its paths by then
            sent = switch.process(programs.IN_PORT, subject.frame)
        assert [port for port, _ in sent] == [1, 2, 3]
        assert len({frame[38:54] for _, frame in sent}) == 3  # destinations


def test_the_bench_changes_registers_meters_and_counters() -> None:
    """Else its figures would be those of packets that are dropped on arrival."""
    packets = 600  # native code has learned its paths by then
    index, session = stateful.INDEX, stateful.SESSION
    begins, ends, down, up = stateful.subjects()
    expected = (
        (begins, [2, 3], "protected_packets", index, packets),
        (ends, [], "discarded", 2 * index, packets - 1),
        (down, [2], "downstream_sent", session, packets),
        (up, [5], "upstream_sent", session, packets),
    )
    for subject, ports, counter, cell, count in expected:
        frames = []
        for engine in engines.ENGINES:
            switch = _engine.Switch(subject.program, engine=engine)
            switch.write(subject.updates)
            for _ in range(packets):
                sent = switch.process(programs.IN_PORT, subject.frame)
            assert [port for port, _ in sent] == ports
            assert switch.read_counter(counter, cell)[0] == count
            frames.append(sent)
        assert frames[0] == frames[1]
