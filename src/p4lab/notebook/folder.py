"""Where a student's files of a lab are, and the program in them."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from p4lab import _engine
from p4lab.course.home import work_on
from p4lab.course.labs import LabError, home
from p4lab.course.material import BegunForAnother, lacking, start, student
from p4lab.course.renewal import RENEWED, begun_with, told


@dataclass(frozen=True)
class Folder:
    """A folder as `p4lab start` makes it. `edit` are the files with tasks, below `path`."""

    lab: str
    path: Path
    program: Path
    edit: tuple[Path, ...]
    files: tuple[Path, ...]
    news: tuple[str, ...] = ()
    """What opening the folder has done to files that were there."""

    @cached_property
    def is_reference(self) -> bool:
        """Whether this is the solution itself and not a student's work."""
        return self.path.resolve() == home(self.lab).sources.resolve()

    @property
    def is_p4(self) -> bool:
        """Whether it holds a P4 program, and not policies."""
        return self.program.suffix == ".p4"

    def age(self) -> Mapping[Path, int]:
        """When each file was last written, in nanoseconds; 0 for one that is gone. It is asked
        often, and in a browser each question takes a hundredth of a second and more."""
        return {path: _written(path) for path in self.files}

    def compile(self, defines: Sequence[tuple[str, str]]) -> _engine.Compilation:
        """The program as the files are now, with these macros."""
        return _engine.compile(str(self.program), [], list(defines))

    def lacks(self, compilation: _engine.Compilation) -> str:
        """What is said of a program that does not compile for want of files with tasks, which are
        empty or gone; empty if that is not why."""
        return "\n".join(lacking(self.lab, self.path, compilation))


def _written(path: Path) -> int:
    try:
        found = path.stat()
    except OSError:
        return 0
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else 0


def lab_folder(lab: str, path: str | Path | None = None) -> Folder:
    """The folder with a student's files of a lab, begun if it is not there yet.

    `path` says where, else `work_on`. If the lab has changed since the folder was begun, its
    changes get there as `start` brings them: no work is overwritten. Raises LabError, and OSError
    where the folder cannot be written.
    """
    files = student(lab)
    place = Path(path).expanduser().resolve() if path else work_on(lab)
    names = [*files.edit, *files.files]
    news = []
    if begun_with(place) or not all((place / name).is_file() for name in names):
        try:
            changes = [(place / name, state) for name, state in start(lab, place)]
        except BegunForAnother as error:
            again = f'open_lab("{lab}", folder="{error.instead}")'
            raise LabError(f"{error.told}: {again}") from error
        news = [told(path, state) for path, state in changes if state in RENEWED]
    return Folder(
        lab,
        place,
        place / files.program,
        tuple(place / name for name in files.edit),
        tuple(place / name for name in names),
        tuple(news),
    )
