"""The part of the server-rack fabric that a chip can do in P4: p4/fabric/tna.p4.

If these fail, the program blames the flow that has just come instead of the one that fills the
buffer, loses count of the buffer, or is none that a chip would take.
"""

from __future__ import annotations

from collections import Counter, deque
from pathlib import Path

import pytest

from p4lab import _engine
from p4lab.fit.estimate import estimate_file
from p4lab.model.entries import CloneSession, Exact, Match, Range, TableEntry, Update
from p4lab.paths import ROOT

FOLDER = ROOT / "p4" / "fabric"
PROGRAM = FOLDER / "tna.p4"
SERVER, SPINE, POOL = 1, 20, 3
HERE, THERE = 0x02_0000_000001, 0x02_0000_000009
SLOW, FAST = 0x11, 0x12
OUTSTANDING = {SLOW: 100, FAST: 20}
"""Frames that are not acknowledged; 200 frames come while the slow flow's is, and 256 have slots"""


def program(*defines: tuple[str, str]) -> _engine.Program:
    compilation = _engine.compile(str(PROGRAM), [], list(defines), lints=["tofino"])
    assert compilation.diagnostics == [], compilation.render()
    assert compilation.program is not None
    return compilation.program


def defines_of(script: Path) -> list[tuple[str, str]]:
    first = script.read_text("utf-8").partition("\n")[0]
    words = first.removeprefix("# defines: ").split() if first.startswith("# defines: ") else []
    return [(name, value) for name, _, value in (word.partition("=") for word in words)]


SCRIPTS = sorted((FOLDER / "tests-tna").glob("*.stf"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_scripts(script: Path) -> None:
    """As it is defined, and with noise where P4 leaves values undefined."""
    plain = program(*defines_of(script))
    for one in (plain, plain.with_undefined(253)):
        report = _engine.stf(one, str(script))
        assert report["passed"], report["text"]


def test_it_fits_the_chip() -> None:
    assert estimate_file(PROGRAM).fits


def entry(table: str, keys: dict[str, Match], action: str, **args: int) -> TableEntry:
    priority = int(any(isinstance(key, Range) for key in keys.values()))
    return TableEntry(table, tuple(keys.items()), action, tuple(args.items()), priority)


def leaf(sampling: str) -> _engine.Switch:
    """A leaf that samples with every frame."""
    switch = _engine.Switch(program(("EVERY", "1"), ("SAMPLING", sampling)))
    entities = [
        CloneSession(1, ((68, 0),)),
        entry("ports", {"port": Exact(SERVER)}, "with_pool", pool=POOL),
        entry("stations", {"mac": Exact(THERE)}, "cross", port=SPINE),
        entry("serious", {"level": Range(1, 300)}, "feedback", value=7),
    ]
    for flow in OUTSTANDING:
        keys = {"pool": Exact(POOL), "flow": Exact(flow)}
        to = {"mac": HERE, "port": SERVER, "own_mac": 1, "congestion_point": 1}
        entities.append(entry("sources", keys, "notify", **to))
    switch.write([Update("insert", entity) for entity in entities])
    return switch


def frame(dst: int, src: int, rest: str) -> bytes:
    return dst.to_bytes(6, "big") + src.to_bytes(6, "big") + bytes.fromhex(rest) + bytes(46)


def blamed(sampling: str) -> Counter[int]:
    """Two flows send in turn, and one's frames are acknowledged five times as late: how often each
    is blamed once that is so."""
    switch = leaf(sampling)
    waiting: dict[int, deque[bytes]] = {flow: deque() for flow in OUTSTANDING}
    found: Counter[int] = Counter()
    for number in range(1600):
        flow = (SLOW, FAST)[number % 2]
        out = switch.process(SERVER, frame(THERE, HERE, f"22e9{flow:04x}0800"))
        sent = [data for port, data in out if port == SPINE]
        notices = [data for port, data in out if port == SERVER]
        assert len(sent) == 1 and len(notices) <= 1
        assert all(notice[16:18] == bytes.fromhex("22e7") for notice in notices)
        if number >= 400:
            found.update(int.from_bytes(notice[14:16], "big") for notice in notices)
            assert switch.read_register("levels", POOL) == sum(map(len, waiting.values())) + 1
        waiting[flow].append(sent[0][15:17])
        if len(waiting[flow]) > OUTSTANDING[flow]:
            place = waiting[flow].popleft()
            assert not switch.process(SPINE, frame(HERE, THERE, f"88b502{place.hex()}22e9"))
    return found


def test_a_sample_of_the_buffer_blames_who_fills_it() -> None:
    """Five of six slots in use are the slow flow's, which sends half of the frames."""
    found = blamed("1")
    share = found[SLOW] / found.total()
    assert 460 < found.total() < 660, "120 of 256 slots are in use, and 1,200 samples are taken"
    assert abs(share - 100 / 120) < 0.065, f"{share:.2f}: four standard errors off and more"


def test_standard_sampling_blames_who_sends() -> None:
    found = blamed("0")
    assert found[SLOW] == found[FAST] == 600
