"""The verdicts of the page compared with those of `p4lab check`: the site's own Python, in Node.js
in place of a browser, judges what the command line judges."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from p4lab.course.home import HERE, home_of, names
from p4lab.grading.course import load
from p4lab.grading.mutants import Answer, answers
from p4lab.grading.submission import Wanted
from p4lab.grading.workers import Hand, Task
from p4lab.paths import ROOT
from p4lab.website.toolchain import BuildError

SCRIPT = ROOT / "web" / "verify.mjs"


class Page:
    """A page's Python that judges."""

    def __init__(self, to: IO[str], answers: IO[str]) -> None:
        self._to, self._answers = to, answers
        self._read()  # that it is ready

    def _read(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            raise BuildError("the page's Python has ended in Node.js.")
        found: dict[str, Any] = json.loads(line)
        if "fatal" in found and "id" not in found:
            raise BuildError(f"the page's Python does not start in Node.js: {found['fatal']}")
        return found

    def verdict(self, lab: str, files: Mapping[str, str]) -> dict[str, Any]:
        """The verdict on a student's files; `trouble` is what the page would say otherwise."""
        question = {"ask": "check", "lab": lab, "files": dict(files)}
        self._to.write(f"{json.dumps({'id': 1, 'question': question})}\n")
        self._to.flush()
        found = self._read()
        told = found.get("answer", {}).get("verdict")
        return told or {"trouble": found.get("error") or found.get("fatal")}


@contextmanager
def page(site: Path) -> Iterator[Page]:
    """The Python of a site that is built. Raises BuildError."""
    node = shutil.which("node")
    if node is None:
        raise BuildError("Node.js is missing, which runs the page's Python (Debian: nodejs).")
    command = [node, str(SCRIPT), str(site)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield Page(process.stdin, process.stdout)
        finally:
            process.kill()


def known() -> list[tuple[str, Answer]]:
    """Every answer that is known to a lab, with the lab's name: mutants, variants, its solution and
    its starter."""
    labs = (lab for lab in names() if home_of(lab) == HERE)
    return [(lab, answer) for lab in labs for answer in answers(load(lab))]


def differing(site: Path, chosen: Iterable[tuple[str, Answer]]) -> Iterator[tuple[str, str]]:
    """For each of these answers its name, and what the page says otherwise than `p4lab check`;
    empty if that is nothing. Raises BuildError."""
    hand = Hand()
    with page(site) as there, ThreadPoolExecutor(1) as beside:
        try:
            for lab, answer in chosen:
                told = beside.submit(_checked, hand, lab, answer.files)
                seen = there.verdict(lab, _work(lab, answer.files))
                yield f"{lab} {answer.name}", _difference(seen, told.result())
        finally:
            hand.stop()


def _work(lab: str, files: Mapping[str, str]) -> dict[str, str]:
    """What the page has of a lab in which a student has written these files."""
    course = load(lab)
    given = {name: course.sources[name] for name in course.student.files}
    return {**course.starter, **given, **files}


def _checked(hand: Hand, lab: str, files: Mapping[str, str]) -> dict[str, Any]:
    """As `p4lab check` judges, in its sandbox: by a worker, since this process has threads."""
    edited = load(lab).student.edit
    own = {name: text for name, text in _work(lab, files).items() if name in edited}
    told = hand.judge("", own, Task(lab, Wanted(edited), None)).verdict.to_json()
    plain: dict[str, Any] = json.loads(json.dumps(told))
    return plain


def _difference(seen: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    parts = [
        f"{name}: {seen[name]!r:.200} in the page, {told.get(name)!r:.200} by check"
        for name in seen
        if seen[name] != told.get(name)
    ]
    return "; ".join(parts)
