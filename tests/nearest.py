"""Which tests are nearest to what was changed: by the imports between a test and a module.

A test reaches a module by what it imports, what that imports, and so on; the fewer the steps, the
likelier the test fails where the module is wrong. Tests that start p4lab as a command import all
verbs so. A file that is not a module, such as a lab's or a page, is reached by tests that name it.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

import grimp

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("python", "browser", "")
"""Where tests find what they share, below tests"""
NAMED = 1  # steps to a file that a test names
IN_NAMED_FOLDER = 2  # and to a file below a folder that it names
ALWAYS = ("test_layers.py", "test_prose.py", "test_tidy.py")
"""They look at all files and take seconds; they come last"""
COMMAND = "cli_runner"
"""What starts p4lab as a command"""
VERBS = "p4lab.cli"


def changed(since: str) -> list[str]:
    """The files that differ from a commit, and new ones, by their paths. Raises CalledProcessError
    for what git does not know."""
    differ = _git("diff", "--name-only", since)
    return sorted({*differ, *_git("ls-files", "--others", "--exclude-standard")})


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def crates(files: Iterable[str]) -> list[str]:
    """The crates that files belong to."""
    parts = [PurePosixPath(file).parts for file in files]
    return sorted({part[1] for part in parts if part[0] == "crates" and len(part) > 2})


def nearest(files: Iterable[str]) -> list[Path]:
    """The files with tests that a change of `files` may break, the nearest first."""
    files = list(files)
    modules = {name for file in files if (name := _module(file)) is not None}
    others = [file for file in files if _module(file) is None]
    steps: dict[Path, int] = {}
    last: list[Path] = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        found = [_steps(_name(path), modules), _steps_by_name(path, others)]
        if ways := [one for one in found if one is not None]:
            steps[path] = min(ways)
        elif path.name in ALWAYS:
            last.append(path)
    return [*sorted(steps, key=lambda path: (steps[path], path)), *last]


def _module(file: str) -> str | None:
    """The module in a file: by its full name below src, by its last name below tests."""
    path = PurePosixPath(file)
    if path.suffix != ".py" or path.parts[0] not in ("src", "tests"):
        return None
    parts = path.with_suffix("").parts[1:]
    if path.parts[0] == "tests" and parts[0] in FOLDERS:
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or None


def _name(path: Path) -> str:
    name = _module(path.relative_to(ROOT).as_posix())
    assert name is not None
    return name


def _steps(name: str, wanted: set[str]) -> int | None:
    """How many imports lead from a module to the nearest of those that are wanted; None if none
    does."""
    seen, ring, steps = {name}, [name], 0
    while ring:
        if wanted & set(ring):
            return steps
        ring = list({found for one in ring for found in _imported(one)} - seen)
        seen.update(ring)
        steps += 1
    return None


def _steps_by_name(path: Path, files: Iterable[str]) -> int | None:
    text = path.read_text("utf-8")
    ways = []
    for file in map(PurePosixPath, files):
        if file.name in text:
            ways.append(NAMED)
        elif any(f'"{part}"' in text or f"/{part}" in text for part in file.parts[1:-1]):
            ways.append(IN_NAMED_FOLDER)
    return min(ways, default=None)


@cache
def _imported(name: str) -> frozenset[str]:
    """The modules of p4lab and of the tests that a module imports, wherever it does."""
    if name in _graph():
        return _graph()[name]
    path = _test_files().get(name)
    if path is None:
        return frozenset()
    verbs = (one for one in _graph() if name == COMMAND and one.startswith(VERBS))
    return frozenset({*verbs, *_said(path)})


@cache
def _graph() -> Mapping[str, frozenset[str]]:
    graph = grimp.build_graph("p4lab", cache_dir=None)
    return {
        name: frozenset(graph.find_modules_directly_imported_by(name)) for name in graph.modules
    }


@cache
def _test_files() -> Mapping[str, Path]:
    return {_name(path): path for path in (ROOT / "tests").rglob("*.py") if path.name[0] != "_"}


def _said(path: Path) -> Iterator[str]:
    """The modules that a file below tests imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [one if _is_known(one) else node.module for one in inner]
        else:
            continue
        yield from filter(_is_known, names)


def _is_known(name: str) -> bool:
    return name in _graph() or name in _test_files()
