"""Where labs live: this checkout, and folders of an instructor's own in the same form.

    DIR/labs/NAME/       lab.toml, handout, checks; system.py where the lab brings its own system
    DIR/p4/              programs, from which starters are cut
    DIR/solutions/NAME/  answers to test the grader with
    DIR/notebooks/       NAME.ipynb
    DIR/topologies/      networks

`p4lab --course DIR` names such a folder, and the environment variable P4LAB_COURSE several, as PATH
does; what this process starts (kernels, sandboxes) finds them there, too.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from p4lab.command import command as start
from p4lab.paths import INSTALLED, ROOT
from p4lab.topology import Topology

ENVIRONMENT = "P4LAB_COURSE"

WORK_ENVIRONMENT = "P4LAB_FOLDER"
"""Names another folder for a student's files: an instructor's, or `p4/`, which is the reference."""


@dataclass(frozen=True)
class Home:
    """A folder in the form of the checkout."""

    root: Path

    @property
    def labs(self) -> Path:
        return self.root / "labs"

    @property
    def sources(self) -> Path:
        return self.root / "p4"

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    def topology(self, path_or_name: str | Path) -> Topology:
        """A topology of its own by name, or any other that p4lab finds. Raises TopologyError."""
        own = self.root / "topologies" / f"{path_or_name}.toml"
        return Topology.load(
            own if len(Path(path_or_name).parts) == 1 and own.is_file() else path_or_name
        )


HERE = Home(ROOT)

_named: list[Path] = []
"""The folders of --course, as they were written"""


def homes() -> Iterator[Home]:
    """This checkout and then the folders that the user has named."""
    yield HERE
    for name in os.environ.get(ENVIRONMENT, "").split(os.pathsep):
        if name:
            yield Home(Path(name).expanduser().resolve())


def add(folder: Path) -> None:
    """Also looks for labs in a folder from now on; so do processes that this one starts. Raises
    ValueError with a sentence if it has no labs."""
    if not (folder / "labs").is_dir():
        raise ValueError(f"{folder} is not a course: it has no folder labs.")
    _named.append(folder)
    known = [name for name in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if name]
    os.environ[ENVIRONMENT] = os.pathsep.join([*known, str(folder.resolve())])


def command() -> str:
    """How p4lab is called so that it finds the same labs again."""
    named = (f"--course {shlex.quote(str(folder))}" for folder in _named)
    return " ".join([start(), *named])


def home_of(lab: str) -> Home | None:
    """The first that has a lab of this name."""
    return next((home for home in homes() if (home.labs / lab / "lab.toml").is_file()), None)


def work_folder() -> Path:
    """Where students' files are unless told: `work/` in the checkout, or `p4lab/` in the home of a
    user who may not write there or has none."""
    own = os.access(ROOT, os.W_OK) and not INSTALLED
    return ROOT / "work" if own else Path.home() / "p4lab"


def work_on(lab: str) -> Path:
    """Where a student's files for a lab are, unless a notebook or verb is given another folder: as
    the environment variable P4LAB_FOLDER says, or else in `work_folder`."""
    return Path(os.environ.get(WORK_ENVIRONMENT) or work_folder() / lab).expanduser().resolve()


def own_folder(lab: str) -> str:
    """What a student's folder for a lab is called where one has to be named."""
    number = lab.partition("-")[0]
    return f"mylab{number}" if number.isdigit() else f"my-{lab}"


def names() -> list[str]:
    """The labs there are, in order."""
    return sorted({file.parent.name for home in homes() for file in home.labs.glob("*/lab.toml")})


def notebooks() -> dict[str, Path]:
    """The notebooks there are, by lab."""
    found = {file.stem: file for home in homes() for file in home.notebooks.glob("*.ipynb")}
    return dict(sorted(found.items()))
