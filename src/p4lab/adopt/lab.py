"""The lab that is made of an exercise: its files, by their paths in a course."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from p4lab import _engine
from p4lab.adopt.pair import AdoptError, Pair
from p4lab.adopt.regions import Region, cut, in_part, marked, regions, slug
from p4lab.adopt.scenarios import is_told, scenarios
from p4lab.adopt.titles import Data, Found
from p4lab.course.home import own_folder
from p4lab.grading import found as files
from p4lab.grading.toml import quoted

POINTS = 100
CASES, HIDDEN = 2, 5
MOST = 12
"""Checks with points; the rest of the ways are for --prove"""


@dataclass(frozen=True)
class Way:
    """One scenario as a check: its id, and the parts without which it fails."""

    id: str
    found: Found
    title: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Lab:
    """All of it. `idle` are checks that the starter passes as well."""

    name: str
    pair: Pair
    regions: tuple[Region, ...]
    ways: tuple[Way, ...]
    idle: tuple[Way, ...]

    @property
    def parts(self) -> list[str]:
        return list(dict.fromkeys(way.parts[0] for way in self.ways))


def made(name: str, pair: Pair, seconds: float) -> Lab:
    """The lab. Raises AdoptError if starter and solution do not differ in what can be checked."""
    solution = _compiled(pair, pair.solution, "the solution")
    own = _writable(pair, regions(pair))
    begun = _compiled(pair, cut(pair.solution, own), "the starter that is cut from the solution")
    starters = _starters(pair, own) or {own[0].part: begun}
    ways: list[Way] = []
    idle: list[Way] = []
    without = [program for region in own if (program := _without(pair, [region])) is not None]
    for found in scenarios(solution, [*without, begun], seconds):
        fails = tuple(part for part, one in starters.items() if is_told(solution, one, found))
        names = [way.id for way in (*ways, *idle)]
        way = Way(_id(found, names), found, _title(found), fails)
        if not is_told(solution, begun, found):
            idle.append(way)
        elif fails and len(ways) < MOST:
            ways.append(way)
    if not ways:
        lines = pair.solution.splitlines()
        about = "; ".join(lines[region.first].strip() for region in own)
        raise AdoptError(
            "no packet was found that tells the starter from the solution. They differ in: "
            f"{about}. What shows only after other packets, in time or at a controller is not "
            "found: write a lab by hand (docs/instructors.md)."
        )
    ways = list(_shared(ways))
    left = {way.parts[0] for way in ways}
    others = {region.part for region in own} - left
    instead = {part: _instead(part, ways) for part in others}
    return Lab(name, pair, tuple(in_part(own, instead)), tuple(ways), tuple(idle))


def _writable(pair: Pair, own: list[Region]) -> list[Region]:
    """The regions; without the fields of headers if what is cut at all is not a program, since the
    rest of the code may need them: students get those."""
    text = cut(pair.solution, own)
    if _engine.compile_text(f"{pair.name}.p4", text, pair.included).program is not None:
        return own
    return [region for region in own if region.kind not in ("header", "struct")] or own


def _starters(pair: Pair, own: Sequence[Region]) -> dict[str, _engine.Program]:
    """The solution without one part each, as far as that is a program: a header's fields cannot
    be left out alone."""
    found = {}
    for part in dict.fromkeys(region.part for region in own):
        program = _without(pair, [region for region in own if region.part == part])
        if program is not None:
            found[part] = program
    return found


def _without(pair: Pair, own: Sequence[Region]) -> _engine.Program | None:
    """The solution without regions, if that is a program."""
    return _engine.compile_text(f"{pair.name}.p4", cut(pair.solution, own), pair.included).program


def _compiled(pair: Pair, text: str, what: str) -> _engine.Program:
    result = _engine.compile_text(f"{pair.name}.p4", text, pair.included)
    if result.program is None:
        raise AdoptError(
            f"{what} does not compile; put the marks in by hand (docs/instructors.md):\n"
            f"{result.render()}"
        )
    return result.program


def _id(found: Found, taken: Sequence[str]) -> str:
    last = found.tables[-1].rpartition(".")[2] if found.tables else ""
    headers = [name for name in found.data["send"][0]["packet"] if name != "payload"]
    name = slug("-".join([last or (headers[-1] if headers else "short"), found.fate]))
    number, own = 1, name
    while own in taken:
        number += 1
        own = f"{name}-{number}"
    return own


def _title(found: Found) -> str:
    end = {"dropped": "is dropped", "sent": "is sent on"}.get(found.fate, f"is {found.fate}")
    return f"{found.about}: it {end}"


def _shared(ways: Sequence[Way]) -> Iterator[Way]:
    """Each way belongs to that of its parts which has the fewest so far."""
    count: dict[str, int] = {}
    for way in ways:
        part = min(way.parts, key=lambda one: count.get(one, 0))
        count[part] = count.get(part, 0) + 1
        yield replace(way, parts=(part, *(one for one in way.parts if one != part)))


def _instead(part: str, ways: Sequence[Way]) -> str:
    """The part of a check that fails without this one, which has none of its own."""
    return next((way.parts[0] for way in ways if part in way.parts), ways[0].parts[0])


# ---- Files --------------------------------------------------------------------------------------


def written(lab: Lab) -> dict[str, str]:
    """Every file by its path in the course."""
    folder, program = f"labs/{lab.name}", f"{lab.name}/{lab.pair.name}.p4"
    source = marked(lab.pair.solution, lab.regions)
    texts = {
        f"{folder}/lab.toml": _toml(lab, program),
        f"{folder}/README.md": _handout(lab, program),
        f"{folder}/starter/{program}": cut(lab.pair.solution, lab.regions),
        f"p4/{program}": source,
        f"solutions/{lab.name}/mutants.toml": _mutants(lab, program),
        f"solutions/{lab.name}/README.md": _notes(lab),
        f"notebooks/{lab.name}.ipynb": _notebook(lab),
    }
    for path, text in lab.pair.included.items():
        texts[f"p4/{lab.name}/{path}"] = texts[f"{folder}/starter/{lab.name}/{path}"] = text
    for way in (*lab.ways, *lab.idle):
        data: Data = {**way.found.data, "say": f"{way.found.about}."}
        texts[f"{folder}/checks/{way.id}.toml"] = files.as_toml(files.Found(way.id, data))
    return texts


def write(lab: Lab, course: Path) -> list[Path]:
    """Writes the files. Raises AdoptError if one of them is there."""
    paths = {course / path: text for path, text in written(lab).items()}
    there = [path for path in paths if path.exists()]
    if there:
        raise AdoptError(f"{there[0]} is there already; give the lab another name with --name.")
    for path, text in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(paths)


def _toml(lab: Lab, program: str) -> str:
    included = ", ".join(quoted(f"{lab.name}/{path}") for path in lab.pair.included)
    lines = [
        "# Made by `p4lab import`; docs/checks.md explains every line.",
        "",
        "[lab]",
        f"name = {quoted(lab.name)}",
        f"title = {quoted(_headline(lab))}",
        "",
        "[student]",
        f"program = {quoted(program)}",
        f"edit = [{quoted(program)}]",
        f"files = [{included}]",
        "",
        "[checks]",
        "starter_points = 0",
    ]
    for part in lab.parts:
        lines += ["", "[[part]]", f"id = {quoted(part)}", f"title = {quoted(_words(part))}"]
    lines += _stage("compiles", "The program compiles", [])
    lines += _stage("contract", "The control plane finds its tables", ["compiles"])
    points = _points(len(lab.ways))
    for part in lab.parts:
        for way, worth in zip(lab.ways, points, strict=True):
            if way.parts[0] == part:
                lines += _check(way, [f"part = {quoted(part)}", f"points = {worth}"])
    for way in lab.idle:
        lines += _check(way, [])
    for part in lab.parts:
        lines += _hint(lab, part)
    return "\n".join(lines) + "\n"


def _stage(stage: str, title: str, needs: Sequence[str]) -> list[str]:
    lines = ["", "[[check]]", f"id = {quoted(stage)}", f"title = {quoted(title)}"]
    lines.append(f"stage = {quoted(stage)}")
    return [*lines, f"needs = [{', '.join(map(quoted, needs))}]"] if needs else lines


def _check(way: Way, more: Sequence[str]) -> list[str]:
    return [
        "",
        "[[check]]",
        f"id = {quoted(way.id)}",
        f"title = {quoted(way.title)}",
        f"scenario = {quoted(f'checks/{way.id}.toml')}",
        *more,
        f"cases = {CASES}",
        f"hidden = {HIDDEN}",
        'needs = ["contract"]',
    ]


def _hint(lab: Lab, part: str) -> list[str]:
    """The tasks of a part, to be edited into hints."""
    tasks = dict.fromkeys(region.task for region in lab.regions if region.part == part)
    checks = [quoted(way.id) for way in lab.ways if way.parts[0] == part]
    text = f"{_words(part)}: {'; '.join(tasks)}."
    return ["", "[[hint]]", f"check = [{', '.join(checks)}]", f"text = {quoted(text)}"]


def _points(count: int) -> list[int]:
    """All points, as evenly as whole numbers allow."""
    return [POINTS // count + (place < POINTS % count) for place in range(count)]


def _headline(lab: Lab) -> str:
    return _words(slug(lab.pair.name))


def _words(name: str) -> str:
    return name.replace("-", " ").capitalize()


def _handout(lab: Lab, program: str) -> str:
    points = dict.fromkeys(lab.parts, 0)
    for way, worth in zip(lab.ways, _points(len(lab.ways)), strict=True):
        points[way.parts[0]] += worth
    lines = [
        f"# {_headline(lab)}",
        "",
        "Say here what the program is for.",
        "",
        "```",
        f"./lab start {lab.name} {own_folder(lab.name)}",
        f"./lab check {lab.name} {own_folder(lab.name)}",
        f"./lab watch {lab.name} {own_folder(lab.name)}",
        "```",
    ]
    for number, part in enumerate(lab.parts, start=1):
        lines += ["", f"## {number}. {_words(part)}", "", f"*{points[part]} points.*"]
        tasks = dict.fromkeys(region.task for region in lab.regions if region.part == part)
        lines += ["", f"In `{program}`:", "", *(f"- {task}" for task in tasks)]
    return "\n".join(lines) + "\n"


def _notes(lab: Lab) -> str:
    rows = [f"| {way.id} | {', '.join(way.parts)} |" for way in lab.ways]
    rows += [f"| {way.id} | nothing: the starter passes it |" for way in lab.idle]
    return (
        f"# Notes on {lab.name}\n\nMade by `p4lab import`. Without which part each check fails:\n\n"
        "| check | fails without |\n|---|---|\n" + "\n".join(rows) + "\n"
    )


def _mutants(lab: Lab, program: str) -> str:
    """One wrong answer for each region: what the starter has there."""
    lines = lab.pair.solution.splitlines()
    text = []
    for number, region in enumerate(lab.regions, start=1):
        code = "\n".join(lines[region.first : region.last + 1])
        before = "\n".join(region.before)
        if lab.pair.solution.count(code) != 1 or "'''" in code + before:
            continue
        broken = _broken_by(lab, region)
        if broken:
            text += [
                "[[mutant]]",
                f"name = {quoted(f'{region.part}-{number}')}",
                f"title = {quoted(f'Not done: {region.task}')}",
                f"file = {quoted(program)}",
                f"find = '''\n{code}'''",
                f"replace = '''\n{before}'''" if before else 'replace = ""',
                f"breaks = [{', '.join(map(quoted, broken))}]",
                *(
                    ['across = "The parts depend on each other."']
                    if _is_across(lab, broken)
                    else []
                ),
                "",
            ]
    return "\n".join(text)


def _is_across(lab: Lab, checks: Sequence[str]) -> bool:
    """Whether the checks are of several parts; those that the starter passes are of none."""
    own = {way.id: way.parts[0] for way in lab.ways}
    return len({own.get(check, "") for check in checks}) > 1


def _broken_by(lab: Lab, region: Region) -> list[str]:
    solution = _compiled(lab.pair, lab.pair.solution, "the solution")
    without = _without(lab.pair, [region])
    if without is None:
        return []
    ways = (*lab.ways, *lab.idle)
    return [way.id for way in ways if is_told(solution, without, way.found)]


def _notebook(lab: Lab) -> str:
    cells = [
        ("markdown", f"# {_headline(lab)}\n\nSay here what is to be seen."),
        (
            "code",
            f'%load_ext p4lab\nfrom p4lab.notebook import open_lab\n\nlab = open_lab("{lab.name}")',
        ),
        ("code", "lab.check()"),
    ]
    return json.dumps(
        {
            "cells": [_cell(number, kind, text) for number, (kind, text) in enumerate(cells)],
            "metadata": {
                "kernelspec": {
                    "display_name": "Python 3",
                    "language": "python",
                    "name": "python3",
                },
                "language_info": {"name": "python"},
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        indent=1,
    )


def _cell(number: int, kind: str, text: str) -> Data:
    cell: Data = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return {**cell, "source": text.splitlines(keepends=True)}
