"""The folder of results: who may write there, and how nothing in it is ever half written."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from p4lab.grading.journal import JOURNAL
from p4lab.grading.workers import GradingError

RECORDS = "records.json"
OWN_FOLDERS = ("students", "gradescope", "prairielearn", "dolos", "found")
OWN_FILES = (
    RECORDS,
    "alike.csv",
    "canvas.csv",
    "changes.csv",
    "grader-errors.txt",
    "grades.csv",
    "heatmap.svg",
    "junit.xml",
    "moodle.csv",
    "proofs.json",
    "statistics.csv",
    "summary.html",
    "summary.md",
)
_NEW = ".new"
"""Where results are until all of them are written"""


def check_output(folder: Path) -> None:
    """Raises GradingError for a folder that holds something else than the results of grading, or
    cannot be written to: before anything is judged, and nothing is made yet."""
    if folder.is_dir():
        ours = any((folder / name).is_file() for name in (RECORDS, JOURNAL))
        if any(folder.iterdir()) and not ours:
            raise GradingError(f"{folder} holds other files; give another folder with --out.")
    elif os.path.lexists(folder):
        raise GradingError(f"{folder} is a file; give another folder with --out.")
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise GradingError(f"{there}: you cannot write there; give another folder with --out.")


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Makes `files` (text by path) all that a folder holds of results: what an earlier grading
    wrote there goes, once everything new is on the disk. Raises OSError; then all is as before."""
    new = folder / _NEW
    shutil.rmtree(new, ignore_errors=True)
    try:
        for name, text in files.items():
            for path in (new / name, folder / name):
                path.parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_text(text, encoding="utf-8", newline="\n")
        for name in files:
            os.replace(new / name, folder / name)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    _drop_others(folder, {folder / name for name in files})


def _drop_others(folder: Path, kept: set[Path]) -> None:
    for name in OWN_FILES:
        if folder / name not in kept:
            (folder / name).unlink(missing_ok=True)
    for name in OWN_FOLDERS:
        for path in sorted((folder / name).rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
            elif not path.is_dir() and path not in kept:
                path.unlink()
        if (folder / name).is_dir() and not any((folder / name).iterdir()):
            (folder / name).rmdir()


def text(folder: Path, name: str) -> str:
    """A file of the last grading that was finished in a folder; empty if it cannot be read."""
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def earlier(folder: Path) -> list[dict[str, Any]]:
    """The verdicts of the last grading that was finished in a folder, as plain data; empty if there
    was none, or none that can be read."""
    try:
        return list(json.loads(text(folder, RECORDS))["verdicts"])
    except (ValueError, KeyError, TypeError):
        return []


def lists(folder: Path) -> list[str]:
    """The options by which that grading had a roster or rules; empty if nobody knows."""
    try:
        found = json.loads(text(folder, RECORDS))["with"]
    except (ValueError, KeyError, TypeError):
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
