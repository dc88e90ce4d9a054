"""A student's program in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from p4lab import _engine
from p4lab.grading.course import Defines, compile_files


@dataclass
class Work:
    """A student's program: all files by path, theirs in place of the starter's."""

    program: str
    files: Mapping[str, str]
    lints: tuple[str, ...] = ()
    _compiled: dict[Defines, _engine.Compilation] = field(default_factory=dict)

    def compiled(self, defines: Defines) -> _engine.Compilation:
        if defines not in self._compiled:
            self._compiled[defines] = compile_files(self.program, self.files, defines, self.lints)
        return self._compiled[defines]
