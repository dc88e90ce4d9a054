"""What exercises teach, as data: checks that solutions pass and starters do not."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p4lab.exercise.files import ExerciseError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TUTORIALS = Path(__file__).with_name("tutorials.toml")
P4_LEARNING = Path(__file__).with_name("p4_learning.toml")
CONTROLLER = "controller"
"""Where a controller runs, as `expect` names it"""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Act:
    """A program at a host. `ready` matches what it prints once it works; `typed` is its input."""

    at: str
    run: str
    ready: str = "sniffing on"
    typed: str = ""
    times: int = 1


@dataclass(frozen=True)
class Expected:
    """How often a pattern is found in what was printed at a host, at least and at most."""

    at: str
    pattern: str
    least: int = 1
    most: int | None = None


@dataclass(frozen=True)
class Check:
    """One thing that is taught; `starter` is whether the starter does it already."""

    name: str
    reach: tuple[Pair, ...] | None = ()
    """None: every host and every other"""
    cut: tuple[Pair, ...] = ()
    iperf: tuple[Pair, ...] = ()
    no_iperf: tuple[Pair, ...] = ()
    controller: str | None = None
    listen: tuple[Act, ...] = ()
    do: tuple[Act, ...] = ()
    expect: tuple[Expected, ...] = ()
    within: float = 5
    starter: bool = False
    topology: str | None = None
    """The file that describes the network, where a folder has several"""


@dataclass(frozen=True)
class Taught:
    """An exercise, by the name of its folder. With an `exception` its verdict does not count."""

    name: str
    checks: tuple[Check, ...]
    exception: str | None = None
    needs: tuple[str, ...] = ()
    """Python packages that its controllers import"""


def read_taught(file: Path) -> dict[str, Taught]:
    """All exercises of a file, by name. Raises ExerciseError with the place of what is wrong."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ExerciseError(f"{file} cannot be read: {error}") from error
    return {name: _taught(f"{file}: {name}", name, item) for name, item in data.items()}


def _taught(place: str, name: str, item: Any) -> Taught:
    _only(place, item, {"check", "exception", "needs"})
    checks = item.get("check", [])
    if not isinstance(checks, list) or not (checks or "exception" in item):
        raise ExerciseError(f"{place} has no [[{name}.check]].")
    made = tuple(_check(f"{place}: check {n}", one) for n, one in enumerate(checks, 1))
    return Taught(name, made, item.get("exception"), tuple(item.get("needs", [])))


def _check(place: str, item: Any) -> Check:
    _only(place, item, set(Check.__dataclass_fields__))
    if not isinstance(item.get("name"), str):
        raise ExerciseError(f"{place} has no name.")
    try:
        reach = item.get("reach", [])
        return Check(
            name=item["name"],
            reach=None if reach == "all" else _pairs(reach),
            cut=_pairs(item.get("cut", [])),
            iperf=_pairs(item.get("iperf", [])),
            no_iperf=_pairs(item.get("no_iperf", [])),
            controller=item.get("controller"),
            listen=tuple(_act(one) for one in item.get("listen", [])),
            do=tuple(_act(one) for one in item.get("do", [])),
            expect=tuple(_expected(one) for one in item.get("expect", [])),
            within=float(item.get("within", Check.within)),
            starter={"passes": True, "fails": False}[item.get("starter", "fails")],
            topology=item.get("topology"),
        )
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise ExerciseError(f"{place} ({item['name']}): {error!r}.") from error


def _only(place: str, item: Any, known: set[str]) -> None:
    if not isinstance(item, Mapping):
        raise ExerciseError(f"{place} is not a table.")
    if unknown := set(item) - known:
        raise ExerciseError(f"{place}: {sorted(unknown)[0]} is not one of {sorted(known)}.")


def _pairs(words: Sequence[str]) -> tuple[Pair, ...]:
    found = [tuple(word.split()) for word in words]
    if any(len(pair) != 2 for pair in found):
        raise ValueError(f"a pair is two hosts, as in 'h1 h2', not in {list(words)}")
    return tuple((first, second) for first, second in found)


def _act(item: Mapping[str, Any]) -> Act:
    known = {"at": str, "run": str, "ready": str, "input": str, "times": int}
    if unknown := [key for key in item if not isinstance(item[key], known.get(key, ()))]:
        raise ValueError(f"{unknown[0]} is not understood")
    return Act(
        item["at"],
        item["run"],
        item.get("ready", Act.ready),
        item.get("input", ""),
        item.get("times", 1),
    )


def _expected(item: Mapping[str, Any]) -> Expected:
    if unknown := set(item) - set(Expected.__dataclass_fields__):
        raise ValueError(f"{sorted(unknown)[0]} is not understood")
    re.compile(item["pattern"])
    most = item.get("most")
    return Expected(item["at"], item["pattern"], item.get("least", 0 if most == 0 else 1), most)
