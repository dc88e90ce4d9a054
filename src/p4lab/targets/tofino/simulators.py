"""What takes a chip's place for the target `tofino-model`.

It is the SDE's model with its driver, or our own switch where no SDE is installed. Both are driven
over BFRT, by the same driver of ours.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from p4lab import _engine
from p4lab.paths import PACKAGE
from p4lab.targets import TargetError
from p4lab.targets.tofino import tools
from p4lab.targets.tofino.rack import BFRT_PORT
from p4lab.targets.tofino.tools import Sde

Defines = Sequence[tuple[str, str]]
Commands = list[tuple[str, list[str]]]
"""What a process is called, and what starts it"""

NO_SDE = (
    "no SDE is installed (SDE_INSTALL is not set), so p4lab's own switch takes the place of "
    f"{tools.MODEL} and {tools.DRIVER}, driven over BF Runtime as they are."
)


class Simulator(Protocol):
    """Makes the switches of a run."""

    @property
    def compiler(self) -> str:
        """What compiles a program for it."""

    @property
    def starting(self) -> str:
        """What its switches are, for "starting 3 ..."."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said about a run on it."""

    @property
    def environment(self) -> dict[str, str]:
        """Of its processes."""

    def compile(self, program: Path, defines: Defines, folder: Path, name: str) -> None:
        """Compiles a program, which clients shall know by a name, into a folder. What it needs of
        the program's files is there then. Raises TargetError with what is wrong with it."""

    def commands(
        self, router: str, interfaces: Sequence[tuple[int, str]], folder: Path, name: str
    ) -> Commands:
        """Writes down what a switch is to run between which interfaces; gives what starts it."""

    def advice(self) -> str:
        """What to say of a switch that does not come up."""


def simulator() -> Simulator:
    """The SDE's where there is an SDE. Raises TargetError with what it lacks."""
    if os.environ.get("SDE_INSTALL"):
        return SdeModel(tools.find("tofino-model"))
    if lacking := tools.missing("tofino-model", own=True):
        raise TargetError(f"the target tofino-model needs {', '.join(lacking)}.")
    return OwnSwitch()


@dataclass(frozen=True)
class SdeModel:
    """The model of the chip and its driver."""

    sde: Sde
    compiler: str = tools.COMPILER
    starting: str = "models, which takes minutes"
    notes: tuple[str, ...] = ("the model has no clock: it has no rates or delays.",)

    @property
    def environment(self) -> dict[str, str]:
        return self.sde.environment

    def compile(self, program: Path, defines: Defines, folder: Path, name: str) -> None:
        tools.compile_program(self.sde, program, defines, folder)

    def commands(
        self, router: str, interfaces: Sequence[tuple[int, str]], folder: Path, name: str
    ) -> Commands:
        config = folder / f"{router}.conf"
        config.write_text(tools.switchd_json(name, folder, chip=False), encoding="utf-8")
        home, ports = str(self.sde.home), _ports(router, interfaces, folder)
        return [
            ("model", tools.model_command(home, str(config), str(ports))),
            ("switchd", tools.switchd_command(home, str(config))),
        ]

    def advice(self) -> str:
        return tools.huge_pages()


@dataclass(frozen=True)
class OwnSwitch:
    """`p4lab switch --arch tna`."""

    compiler: str = "p4lab"
    starting: str = "switches of p4lab's own"
    notes: tuple[str, ...] = (NO_SDE, "it has no rates or delays here.")

    @property
    def environment(self) -> dict[str, str]:
        found = filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
        return {**os.environ, "PYTHONPATH": os.pathsep.join(found)}

    def compile(self, program: Path, defines: Defines, folder: Path, name: str) -> None:
        compiled = _engine.compile(str(program), [], list(defines))
        if compiled.program is None:
            raise TargetError(f"{program} does not compile:\n{compiled.render()}")
        # As a compiler does: who has the program compiled may take its files away.
        files = [Path(file).resolve() for file in compiled.files if Path(file).is_file()]
        root = Path(os.path.commonpath([file.parent for file in files]))
        for file in files:
            place = folder / "p4" / file.relative_to(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        entry = Path("p4") / program.resolve().relative_to(root)
        lines = [f"#define {macro} {value}" for macro, value in defines]
        lines.append(f'#include "{entry.as_posix()}"')
        _program(folder, name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def commands(
        self, router: str, interfaces: Sequence[tuple[int, str]], folder: Path, name: str
    ) -> Commands:
        words = [sys.executable, "-m", "p4lab", "switch", "--arch", "tna"]
        words += ["--grpc-server-addr", f"0.0.0.0:{BFRT_PORT}"]
        words += ["--backend", "socket"]  # frames are counted on the interfaces
        words += ["--ports-json", str(_ports(router, interfaces, folder))]
        return [("switch", [*words, str(_program(folder, name))])]

    def advice(self) -> str:
        return ""


def _ports(router: str, interfaces: Sequence[tuple[int, str]], folder: Path) -> Path:
    file = folder / f"{router}-ports.json"
    file.write_text(tools.ports_json(interfaces), encoding="utf-8")
    return file


def _program(folder: Path, name: str) -> Path:
    """What clients know a program by is what its file is called."""
    return folder / f"{name}.p4"
