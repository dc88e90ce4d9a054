"""An exercise in the form of p4lang/tutorials, as far as a lab is made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from p4lab import _engine

SOLUTION = "solution"


class AdoptError(Exception):
    """Why no lab comes of a folder, in one sentence."""


@dataclass(frozen=True)
class Pair:
    """The program that students begin with, and the one that works. `included` are files of the
    exercise that both include, by the path in which they do."""

    name: str
    starter: str
    solution: str
    included: dict[str, str]


def read(folder: Path) -> Pair:
    """Reads FOLDER/NAME.p4 and FOLDER/solution/NAME.p4. Raises AdoptError."""
    solved = sorted((folder / SOLUTION).glob("*.p4"))
    both = [path for path in solved if (folder / path.name).is_file()]
    if len(both) != 1:
        found = ", ".join(path.name for path in both) or "none"
        raise AdoptError(
            f"{folder}: a lab is made of NAME.p4 and {SOLUTION}/NAME.p4, one such pair; "
            f"there is {found}."
        )
    starter, solution = folder / both[0].name, both[0]
    if not re.fullmatch(r"[A-Za-z0-9_-]+", solution.stem):
        raise AdoptError(f"{solution.name}: letters, digits, - and _ make the name of a program.")
    compiled = _engine.compile(str(solution), [str(folder)])
    if compiled.program is None:
        raise AdoptError(f"{solution} does not compile:\n{compiled.render()}")
    included = _included(compiled.files, solution, folder)
    return Pair(solution.stem, _text(starter), _text(solution), included)


def _included(files: list[str], solution: Path, folder: Path) -> dict[str, str]:
    """Of what the solution includes, what is the exercise's own."""
    own = {}
    for name in files:
        path = Path(name)
        if name.startswith("<") or not path.is_file() or path.samefile(solution):
            continue
        for base in (solution.parent, folder):
            if path.resolve().is_relative_to(base.resolve()):
                own[str(path.resolve().relative_to(base.resolve()))] = _text(path)
                break
    return own


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AdoptError(f"{path} cannot be read: {error}") from error
