"""Finds systems by name: those of this package, those of installed packages, those of a folder.

A package offers systems through entry points of the group `p4lab.systems`, each a subclass of
`p4lab.model.system.System`. A lab's own folder may hold one, too: `system.py` beside its
`lab.toml`. Nothing else in the package imports a system, so this is the only place that has to
find one.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

import p4lab.systems
from p4lab.model.system import System

GROUP = "p4lab.systems"
OWN = "system.py"
"""The file of a folder that holds a system of its own"""


class UnusableSystemError(ValueError):
    """A system that is not there or cannot be used; the message says which and what to do."""


_folders: dict[str, System] = {}
"""Systems of folders, by name; of two with the same name, that which was loaded last"""

_loaded: dict[Path, tuple[int, System]] = {}
"""What a file held when it was last written: the same file is the same system, so that plans with
its settings can be compared"""


@cache
def _built_in() -> dict[str, str]:
    """Names of the package's own systems and their modules."""
    found = pkgutil.iter_modules(p4lab.systems.__path__)
    return {module.name.replace("_", "-"): f"{GROUP}.{module.name}" for module in found}


@cache
def _points(_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """The systems of installed packages. To look through all packages takes a while."""
    return tuple(entry_points(group=GROUP))


def names() -> list[str]:
    """All systems that can be found, in order of their names."""
    return sorted({*_built_in(), *(point.name for point in _points(tuple(sys.path))), *_folders})


@cache
def _installed(name: str) -> System | None:
    if name in _built_in():
        return _of_module(importlib.import_module(_built_in()[name]), name)
    for point in _points(tuple(sys.path)):
        if point.name == name:
            system: System = point.load()()
            return system
    return None


def find(name: str) -> System:
    """The system of that name. Raises UnusableSystemError."""
    found = _folders.get(name) or _installed(name)
    if found is None:
        raise UnusableSystemError(
            f"there is no system named {name!r}; choose from {', '.join(names())}."
        )
    return found


def all_systems() -> Iterator[System]:
    """Every system that can be found, in order of their names."""
    return (find(name) for name in names())


def load_folder(folder: Path) -> System | None:
    """The system in a folder's `system.py`, from now on found by its name; None without such a
    file. It is code and runs: only for folders that the user has named. Raises
    UnusableSystemError."""
    file = folder / OWN
    if not file.is_file():
        return None
    age = file.stat().st_mtime_ns
    known, system = _loaded.get(file, (0, None))
    if system is None or known != age:
        system = _load(file)
        _loaded[file] = (age, system)
    _folders[system.name] = system
    return system


def _load(file: Path) -> System:
    spec = importlib.util.spec_from_file_location(f"p4lab_system_of_{file.parent.name}", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    # Its views and verbs are named as "module:object": f"{__name__}:MyView" names one of its own.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[spec.name]
        raise UnusableSystemError(f"{file}: {type(error).__name__}: {error}") from error
    return _of_module(module, str(file))


def _of_module(module: ModuleType, place: str) -> System:
    found = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, System)
    ]
    own = [item for item in found if item.__module__ == module.__name__]
    if len(own) != 1:
        raise UnusableSystemError(
            f"{place}: it holds {len(own)} subclasses of System instead of one."
        )
    return own[0]()
