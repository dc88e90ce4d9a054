"""The labs as files of the site: what the page shows, and what Python in the page reads."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import Any

from p4lab import __version__
from p4lab.course.home import HERE, home_of, names
from p4lab.course.labs import LabError, load_plan
from p4lab.grading.course import Course, load
from p4lab.paths import PACKAGE, ROOT
from p4lab.website.book import Book
from p4lab.website.scene import scene

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of all files in the archive, so that the same sources give the same bytes"""
SUFFIXES, DATA = {".py", ".css", ".js", ".toml"}, {".md", ".p4", ".py", ".stf", ".toml"}
MATERIAL = ("labs", "p4", "topologies")
TAG = "cp310-abi3-pyemscripten_2026_0_wasm32"


def write_labs(site: Path) -> None:
    """`labs.json`, a file for each lab, and the documentation. Raises LabError and BookError."""
    courses = [load(name) for name in names() if home_of(name) == HERE]
    files = {course.name: files_of(course) for course in courses}
    book = Book(files)
    book.write(site)
    (site / "labs").mkdir(exist_ok=True)
    for course in courses:
        _write(site / "labs" / f"{course.name}.json", lab(course, files[course.name], book))
    _write(site / "labs.json", [{"name": one.name, "title": one.title} for one in courses])


def files_of(course: Course) -> dict[str, str]:
    """What a student gets, by path."""
    return {**course.starter, **{name: course.sources[name] for name in course.student.files}}


def lab(course: Course, files: dict[str, str], book: Book) -> dict[str, Any]:
    """A lab as a page needs it: `files` by path, of which students edit some, the handout as HTML,
    and a `scene` if the lab has a run of its own."""
    handout = PurePosixPath("labs", course.name, "README.md")
    return {
        "name": course.name,
        "title": course.title,
        "handout": book.render(handout, PurePosixPath()).html,
        "edit": course.student.edit,
        "files": files,
        "scene": _scene(course),
    }


def _scene(course: Course) -> dict[str, Any] | None:
    try:
        plan = load_plan(course.name, packets=1)
    except LabError:  # a lab without a run
        return None
    return scene(plan, HERE)


def _write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, separators=(",", ":")), "utf-8")


def write_wheel(folder: Path, engine: Path) -> str:
    """p4lab with its labs as a wheel for Python in a browser, whose engine is given; gives the
    wheel's name. It is like those that are installed without a checkout."""
    name, known = f"p4lab-{__version__}-{TAG}.whl", f"p4lab-{__version__}.dist-info"
    with zipfile.ZipFile(folder / name, "w") as archive:

        def add(path: str, data: bytes) -> None:
            info = zipfile.ZipInfo(path, EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)

        for path in _of(PACKAGE, SUFFIXES):
            add(path.relative_to(PACKAGE.parent).as_posix(), path.read_bytes())
        for path in (file for part in MATERIAL for file in _of(ROOT / part, DATA)):
            add(f"p4lab/material/{path.relative_to(ROOT).as_posix()}", path.read_bytes())
        add("p4lab/_engine.abi3.so", engine.read_bytes())
        add(f"{known}/METADATA", f"Name: p4lab\nVersion: {__version__}\n".encode())
        add(f"{known}/WHEEL", f"Wheel-Version: 1.0\nTag: {TAG}\n".encode())
        add(f"{known}/RECORD", b"")
    return name


def _of(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """The files below a folder that Python in a browser reads."""
    found = (file for file in folder.rglob("*") if file.suffix in suffixes and file.is_file())
    return sorted(found)
