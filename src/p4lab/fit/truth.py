"""What bf-p4c says itself: its output folder beside the estimate.

Read are `<pipe>/logs/power.json` (stages of tables, cycles), `<pipe>/logs/resources.json` or
`metrics.json` (memory) and `<pipe>/context.json` (cycles as the assembler programs them). The first
one has to be there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p4lab.fit import latency
from p4lab.fit.latency import StageTiming

MOST_BYTES = 256 << 20


class TruthMissing(Exception):
    """A file of the compiler is missing or is not what it should be; one sentence."""


@dataclass(frozen=True)
class GressTruth:
    gress: str
    stages: int
    cycles: int  # of the compiler, corner turn included
    assembler_cycles: int | None  # sum over stages, without the corner turn
    rule_cycles: int  # our rule, given the compiler's stages
    timing: tuple[StageTiming, ...]
    tables: dict[str, tuple[int, ...]]  # name of the compiler -> stages


@dataclass(frozen=True)
class PipeTruth:
    name: str
    gresses: tuple[GressTruth, ...]
    srams: int | None
    tcams: int | None
    map_rams: int | None


@dataclass(frozen=True)
class Truth:
    folder: str
    compiler: str
    pipes: tuple[PipeTruth, ...]
    missing: tuple[str, ...]  # sentences about files that were not there


def read_truth(folder: Path) -> Truth:
    """The truth from bf-p4c's output folder, or from the folder of one pipe in it."""
    if not folder.is_dir():
        raise TruthMissing(
            f"{folder}: no such folder; give the folder that bf-p4c wrote, as in PROG.tofino."
        )
    found = sorted(folder.glob("*/logs/power.json")) or sorted(folder.glob("logs/power.json"))
    if not found:
        raise TruthMissing(
            f"{folder}: there is no pipe/logs/power.json in it; compile with "
            "`bf-p4c -g --verbose 2`, which writes the logs."
        )
    missing: list[str] = []
    pipes, compiler = [], ""
    for power in found:
        data = _read(power)
        compiler = str(data.get("compiler_version", ""))
        pipes.append(_pipe(power.parent.parent, data, missing))
    return Truth(str(folder), compiler, tuple(pipes), tuple(missing))


def _pipe(folder: Path, power: dict[str, Any], missing: list[str]) -> PipeTruth:
    blocks = _blocks(folder / "logs", missing)
    context = folder / "context.json"
    assembled: list[dict[str, Any]] = []
    if context.is_file():
        assembled = _get(_read(context), "mau_stage_characteristics", list, context)
    else:
        missing.append(f"{context}: not there, so the assembler's cycles are not known.")
    where = folder / "logs" / "power.json"
    gresses = tuple(_gress(gress, power, assembled, where) for gress in ("ingress", "egress"))

    return PipeTruth(
        folder.name, gresses, blocks.get("srams"), blocks.get("tcams"), blocks.get("map_rams")
    )


def _blocks(logs: Path, missing: list[str]) -> dict[str, int]:
    """Memory blocks of all stages: listed one by one in resources.json, counted in metrics.json."""
    listed, counted = logs / "resources.json", logs / "metrics.json"
    if listed.is_file():
        whole = _get(_get(_read(listed), "resources", dict, listed), "mau", dict, listed)
        sums = {"srams": 0, "tcams": 0, "map_rams": 0}
        for stage in _get(whole, "mau_stages", list, listed):
            for kind, outer, inner in (
                ("srams", "rams", "srams"),
                ("tcams", "tcams", "tcams"),
                ("map_rams", "map_rams", "maprams"),
            ):
                sums[kind] += len(_get(_get(stage, outer, dict, listed), inner, list, listed))
        return sums
    if counted.is_file():
        mau = _get(_read(counted), "mau", dict, counted)
        return {kind: _get(mau, kind, int, counted) for kind in ("srams", "tcams", "map_rams")}
    missing.append(f"{listed}: not there, so the compiler's memory blocks are not known.")
    return {}


def _gress(
    gress: str, power: dict[str, Any], assembled: list[dict[str, Any]], where: Path
) -> GressTruth:
    tables: dict[str, tuple[int, ...]] = {}
    for table in _get(power, "tables", list, where):
        if _get(table, "gress", str, where) == gress:
            stages = _get(table, "stages", list, where)
            numbers = sorted({_get(stage, "stage_number", int, where) for stage in stages})
            # The compiler gives the table of port metadata, which is in no stage, a negative one.
            tables[_get(table, "name", str, where)] = tuple(n for n in numbers if n >= 0)
    rows = [
        row
        for row in _get(power, "stage_characteristics", list, where)
        if _get(row, "gress", str, where) == gress
    ]
    rows.sort(key=lambda row: _get(row, "stage_number", int, where))
    timing = tuple(_timing(row, where) for row in rows)
    cycles = [
        _get(total, "latency", int, where)
        for total in _get(power, "total_latency", list, where)
        if _get(total, "gress", str, where) == gress
    ]
    own = [
        _get(row, "cycles_contribute_to_latency", int, where)
        for row in assembled
        if isinstance(row, dict) and row.get("gress") == gress
    ]
    return GressTruth(
        gress=gress,
        stages=max((stage for stages in tables.values() for stage in stages), default=-1) + 1,
        cycles=max(cycles, default=0),
        assembler_cycles=sum(own) if own else None,
        rule_cycles=latency.total(timing),
        timing=timing,
        tables=tables,
    )


def _timing(row: dict[str, Any], where: Path) -> StageTiming:
    features = _get(row, "features", dict, where)
    words = features.get("max_selector_words", 0)
    return StageTiming(
        dependency=_get(row, "dependency_to_previous", str, where),
        ternary=bool(features.get("ternary")),
        selector=bool(features.get("selectors")),
        wide_selector=isinstance(words, int) and words > 1,
        filter=bool(features.get("lpf_wred")),
        stateful=bool(features.get("stateful")),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise TruthMissing(f"{path}: larger than any such file of the compiler.")
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise TruthMissing(f"{path}: cannot be read as JSON ({error}).") from error
    if not isinstance(data, dict):
        raise TruthMissing(f"{path}: not in the form that bf-p4c 9.13 writes (no object).")
    return data


def _get(data: Any, key: str, kind: type, where: Path) -> Any:
    value = data.get(key) if isinstance(data, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TruthMissing(f"{where}: not in the form that bf-p4c 9.13 writes (`{key}`).")
    return value
