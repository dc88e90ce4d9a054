"""A student's program in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from p4lab import _engine
from p4lab.grading.course import Defines, compile_files, compile_probed
from p4lab.grading.probes import ProbedProgram
from p4lab.policies import Program, read

Content = tuple[str, frozenset[tuple[str, str]], Defines]
"""What a compiler is given: the entry file, all files with their texts, and macros"""


@dataclass
class Work:
    """A student's program: all files by path, theirs in place of the starter's."""

    program: str
    files: Mapping[str, str]
    lints: tuple[str, ...] = ()
    _compiled: dict[Defines, _engine.Compilation] = field(default_factory=dict)
    _probed: dict[Defines, ProbedProgram] = field(default_factory=dict)
    _policies: Program | None = None

    def compiled(self, defines: Defines) -> _engine.Compilation:
        if defines not in self._compiled:
            self._compiled[defines] = compile_files(self.program, self.files, defines, self.lints)
        return self._compiled[defines]

    def runnable(self, defines: Defines) -> _engine.Program:
        """The program, which is known to compile."""
        program = self.compiled(defines).program
        assert program is not None
        return program

    def probed(self, defines: Defines) -> ProbedProgram:
        """The program with a probe before each statement."""
        if defines not in self._probed:
            self._probed[defines] = compile_probed(self.program, self.files, defines)
        return self._probed[defines]

    def policies(self) -> Program:
        """The entry file as policies, where it is one of these. Raises PolicyError."""
        if self._policies is None:
            self._policies = read(self.files[self.program], self.program)
        return self._policies

    def content(self, defines: Defines) -> Content:
        """Equal for works that compile to the same, whatever object they are."""
        return self.program, frozenset(self.files.items()), defines

    @contextmanager
    def unpacked(self) -> Iterator[Path]:
        """The files on the disk, for compilers that want some; gives the entry file's path."""
        with tempfile.TemporaryDirectory(prefix="p4lab-submission-") as folder:
            for name, text in self.files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            yield Path(folder) / self.program
