"""Random programs, random entries and random packets: python -m differential [--seed N] ...

Where p4c-bm2-ss and simple_switch are installed, each packet must become the same there as on the
engine with --bmv2-compat. Elsewhere the programs are plain: the engine's interpreter, its native
code and its bmv2 way must agree on them. A program on which two differ is cut down and saved.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from differential import real, shrink
from differential.program import File, Program, make
from differential.sides import Answer, RefusedError, on_bmv2, on_engine

PER_FILE = 25
PACKETS = 12
MOST_SHOWN = 6


def main() -> int:
    """Exit status 1 if any program differs."""
    parser = argparse.ArgumentParser(prog="python -m differential", description=__doc__)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--plain", action="store_true", help="never ask bmv2")
    parser.add_argument("--first", type=int, default=0, help="the file to begin with")
    parser.add_argument("--keep", type=Path, default=Path("differences"), help="for what differs")
    given = parser.parse_args()
    missing = real.missing()
    plain = given.plain or bool(missing)
    if missing and not given.plain:
        print(f"not installed: {', '.join(missing)}; the engine is compared with itself alone")
    print(f"seed {given.seed}", flush=True)
    found: Counter[str] = Counter()
    for number in range(given.first, given.first - (-given.programs // PER_FILE)):
        started = time.monotonic()
        seed = f"{given.seed}/{number}"
        compare(make(seed, PER_FILE, PACKETS, plain), plain, given.keep, found)
        told = ", ".join(f"{count} {what}" for what, count in found.items())
        print(f"{seed}: {told} ({time.monotonic() - started:.1f} s)", flush=True)
    return 1 if found["different"] else 0


def compare(file: File, plain: bool, keep: Path, found: Counter[str]) -> None:
    """Counts the programs of a file as same, different or refused, and saves the different ones."""
    try:
        culprits = different(file, plain)
    except RefusedError as error:
        if len(file.programs) == 1:
            found["refused"] += 1
            shrink.save(file, keep / "refused", str(error))
            return
        half = len(file.programs) // 2
        for programs in (file.programs[:half], file.programs[half:]):
            compare(with_programs(file, programs), plain, keep, found)
        return
    except real.RealError as error:
        if len(file.programs) == 1:
            found["different"] += 1
            shrink.save(file, keep, str(error))
            return
        half = len(file.programs) // 2
        for programs in (file.programs[:half], file.programs[half:]):
            compare(with_programs(file, programs), plain, keep, found)
        return
    found["same"] += len(file.programs) - len(culprits)
    found["different"] += len(culprits)
    for number in culprits:
        own = with_programs(file, [one for one in file.programs if one.number == number])

        def differs(smaller: File) -> str:
            try:
                return "\n".join(different(smaller, plain).values())
            except (RefusedError, real.RealError):
                return ""

        smallest, told = shrink.smallest(own, differs)
        shrink.save(smallest, keep, told)


def with_programs(file: File, programs: list[Program]) -> File:
    """The file with some of its programs, and their packets."""
    numbers = {program.number for program in programs}
    packets = [packet for packet in file.packets if packet[1][2] in numbers]
    return File(file.seed, file.shared, programs, packets)


def different(file: File, plain: bool) -> dict[int, str]:
    """The programs that do not do the same everywhere, each with what became of a packet."""
    with tempfile.TemporaryDirectory(prefix="p4lab-differential-") as name:
        folder = Path(name)
        expected = on_engine(file, folder, compat=True)
        others: dict[str, list[Answer]] = {}
        if plain:
            others["interpreter"] = on_engine(file, folder, compat=False)
            others["native code"] = on_engine(file, folder, compat=False, native=True)
        else:
            others["bmv2"] = on_bmv2(file, folder)
    first: dict[int, str] = {}
    for who, answers in others.items():
        for (port, data), own, other in zip(file.packets, expected, answers, strict=True):
            if own != other:
                first.setdefault(
                    data[2],
                    f"packet {port} {data.hex()}\n"
                    f"  --bmv2-compat: {shown(own)}\n  {who}: {shown(other)}",
                )
    return first


def shown(answer: Answer) -> str:
    """Port and bytes of each packet."""
    packets = [f"{port} {data.hex()}" for port, data in answer[:MOST_SHOWN]]
    return "; ".join(packets) + " ..." * (len(answer) > MOST_SHOWN) if packets else "nothing"


if __name__ == "__main__":
    sys.exit(main())
