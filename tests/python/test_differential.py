"""Random programs (tests/differential), for seconds: thousands of them are run by hand.

If these fail, programs do one thing in the interpreter and another as native code, or
`--bmv2-compat` changes more, or less, than docs/bmv2.md says; or the fuzzer has gone blind.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from differential import real, shrink
from differential.__main__ import compare, different, with_programs
from differential.program import make
from differential.sides import by_packet

SEED = 20261123
MISSING = real.missing()


@pytest.mark.beside(seconds=4)
def test_plain_programs_do_the_same_everywhere(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    for number in range(4):
        compare(make(f"{SEED}/{number}", 25, 12, plain=True), True, tmp_path, found)
    assert found == {"same": 100, "different": 0}, f"see {tmp_path}"


@pytest.mark.skipif(bool(MISSING), reason=f"bmv2 is not installed: {', '.join(MISSING)}")
@pytest.mark.beside(seconds=15)
def test_programs_do_what_they_do_on_bmv2(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    compare(make(f"{SEED}/bmv2", 15, 12), False, tmp_path, found)
    assert found["same"] == 15, f"{found}; see {tmp_path}"


def test_differences_are_seen_and_cut_down(tmp_path: Path) -> None:
    # Programs that are not plain differ between bmv2's way and the language's.
    for number in range(10):
        file = make(f"{SEED}/{number}", 10, 12)
        if found := different(file, plain=True):
            break
    culprit, told = next(iter(found.items()))
    assert "packet" in told and "--bmv2-compat" in told
    own = with_programs(file, [one for one in file.programs if one.number == culprit])

    def differs(smaller: object) -> str:
        assert isinstance(smaller, type(own))
        return different(smaller, plain=True).get(culprit, "")

    smallest, told = shrink.smallest(own, differs)
    assert len(smallest.packets) == 1 and len(smallest.text()) < len(own.text())
    shrink.save(smallest, tmp_path, told)
    (saved,) = tmp_path.iterdir()
    assert {path.name for path in saved.iterdir()} == {"prog.p4", "session.txt", "note.txt"}


def test_packets_are_told_apart_by_their_numbers() -> None:
    sent = [(0, b"\x00\x01aa"), (3, b"\x00\x02bb")]
    ports = [[], [b"\x00\x02b", b"\x00\x01a"], [b"\x00\x01c"]]
    assert by_packet(ports, sent) == [[(1, b"\x00\x01a"), (2, b"\x00\x01c")], [(1, b"\x00\x02b")]]
