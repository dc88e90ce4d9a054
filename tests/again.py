"""What failed in a run of all tests is tried once more, alone, when everything else has ended.

A test in real time may fail because ten other things needed the machine just then. That must not
cost a day's work, and must not be hidden either: a test that passes by itself is named as unsteady,
with the end of its first failure. One that fails twice has failed, and so has all that fails where
many do. A counterexample that was drawn at random is not an accident, and is not drawn again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

MOST = 10  # failures that are tried again: more are not accident
LAST_LINES = 12  # of a first failure
DRAWN = ("minimal failing input", "Falsifying example")  # proptest's words and Hypothesis's


@dataclass(frozen=True)
class Failure:
    """A test that failed, and what runs it alone."""

    name: str
    command: tuple[str, ...]
    told: str

    def is_drawn(self) -> bool:
        return any(words in self.told for words in DRAWN)

    def ending(self) -> list[str]:
        return self.told.rstrip().splitlines()[-LAST_LINES:]


def of_pytest(written: Path, counted: int, pytest: Iterable[str]) -> list[Failure]:
    """The tests that failed in a run of pytest, as tests/conftest.py writes them; none where pytest
    counted others, since then more went wrong than these."""
    lines = written.read_text("utf-8").splitlines() if written.exists() else []
    if len(lines) != counted:
        return []
    told: dict[str, str] = {}
    for one in map(json.loads, lines):  # a test may fail, and then what clears up after it
        told.setdefault(one["test"], one["told"])
    return [Failure(name, (*pytest, name), text) for name, text in told.items()]


def of_cargo(log: str) -> list[Failure]:
    """The tests that failed in a run of `cargo test --release --no-fail-fast`; none where a
    program of them did not get to its end, or was not built."""
    failures: list[Failure] = []
    parts = re.split(r"^error: test failed, to rerun pass `(.+)`$", log, flags=re.MULTILINE)
    for output, flags in zip(parts[::2], parts[1::2], strict=False):
        names = re.findall(r"^    (.+)$", output.rsplit("\nfailures:\n", 1)[-1], re.MULTILINE)
        if f"test result: FAILED. {len(names)} failed" not in re.sub(r"\d+ passed; ", "", output):
            return []
        for name in names:
            told = re.search(
                rf"^---- {re.escape(name)} .*?(?=^stack backtrace:|^----|^failures:)",
                output,
                re.M | re.S,
            )
            built = ("--release", "--locked")
            command = ("cargo", "test", *built, *flags.split(), "--", "--exact", name)
            failures.append(Failure(name, command, told[0] if told else ""))
    return failures


def sorted_out(
    failures: list[Failure], passes: Callable[[Failure], bool]
) -> tuple[list[Failure], list[Failure]]:
    """Those that pass the second time, and those that do not, or are not to be tried."""
    few = len(failures) <= MOST
    unsteady = [one for one in failures if few and not one.is_drawn() and passes(one)]
    return unsteady, [one for one in failures if one not in unsteady]


def told(unsteady: list[Failure], failed: list[Failure]) -> list[str]:
    lines = []
    for one in unsteady:
        lines.append(f"  unsteady: passed when run again alone: {one.name}")
        lines += [f"      {line}" for line in one.ending()]
    return [*lines, *(f"  failed: {one.name}" for one in failed)]
