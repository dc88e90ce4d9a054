"""The network beside the editor: it follows the student's files, save by save.

`./lab notebook` shows it in JupyterLab (editors/jupyterlab), in a kernel of its own, so that a cell
that takes long does not hold it up.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.course.labs import load_plan, system_of
from p4lab.notebook.folder import Folder, lab_folder
from p4lab.notebook.lab import Lab, open_lab
from p4lab.notebook.saying import DoesNotCompile
from p4lab.widgets.live import LiveView

if TYPE_CHECKING:
    from p4lab.notebook.checks import Checked

LOOK_SECONDS = 0.04
"""Between two looks at the files: a tenth of what a student notices"""
QUIET_SECONDS = 0.4
"""Without a save, before the checks run: the picture comes first"""


class Live:
    """A lab in a view that is renewed whenever a file of the student's changes."""

    def __init__(self, name: str, folder: str | Path | None = None, *, checks: bool = True) -> None:
        """`folder` and its default are those of `lab_folder`; `checks` says whether the view has a
        place for them. Raises LabError, and OSError where the student's folder cannot be begun."""
        self.view = LiveView(checks=checks)
        self._folder: Folder = lab_folder(name, folder)
        self._lab: Lab | None = None
        self._age: Mapping[Path, int] = {}
        self._settings: Mapping[str, Any] = {}
        self._checked: Checked | None = None
        self.view.on_msg(self._message)
        self._checking = ThreadPoolExecutor(1)  # what judges wants one thread

    def look(self) -> bool:
        """Compiles, sends and draws if the files have changed; whether they have."""
        age = self._folder.age()
        if age == self._age:
            return False
        written = [path for path in self._folder.edit if self._age and age[path] != self._age[path]]
        self._age = age
        self._renew(written)
        return True

    def _turn_to(self, file: Path) -> bool:
        """Chooses the program that a file is part of; whether it is another one."""
        name = file.relative_to(self._folder.path).as_posix()
        settings = system_of(self._folder.lab).shows(name) or self._settings
        if settings == self._settings:
            return False
        self._lab, self._settings = None, settings
        return True

    def _message(self, _: object, content: dict[str, Any], __: object) -> None:
        """Which part is asked for, or which file the student has in front, as JupyterLab names
        it."""
        if self._checked and "part" in content:
            parts = [one.id for one in self._checked.course.parts]
            part = content["part"] if content["part"] in parts else None
            self._checked.of(part).show_in(self.view.verdict)
        place = Path(str(content.get("editing", "")))
        for file in self._folder.edit:
            name = file.relative_to(self._folder.path.parent)
            if place.parts[-len(name.parts) :] == name.parts and self._turn_to(file):
                self._renew()

    def _renew(self, written: Sequence[Path] = ()) -> None:
        """Compiles, sends and draws; or shows why not. `written` are files that have changed."""
        trouble = ""
        if not self._folder.is_p4:  # of policies there is a verdict, and no network to be drawn
            if not self.view.views:
                self.view.show_checks(self._folder.program.name)
            self.view.saves += 1
            return
        try:
            if written:
                self._turn_to(written[0])
            if self._lab is None:
                lab = self._folder.lab
                opened = open_lab(lab, folder=self._folder.path, **self._settings)
                assert isinstance(opened, Lab)
                self._lab = opened
                self.view.show(opened, self._title(opened))
            else:
                self._lab.again()
        except DoesNotCompile as error:
            trouble = self._errors() or str(error)
        except Exception as error:  # there is no cell where a traceback could stand
            trouble = f"{type(error).__name__}: {error}"
        with self.view.hold_sync():
            self.view.trouble = trouble
            self.view.saves += 1

    def _title(self, lab: Lab) -> str:
        """The student's file that runs."""
        return lab.begins.name if lab.begins else lab.whose

    def _errors(self) -> str:
        """What the compiler says."""
        plan = load_plan(self._folder.lab, program=self._folder.program, **self._settings)
        compilation = self._folder.compile(plan.defines)
        return self._folder.lacks(compilation) or _told(compilation.render(), self._folder.path)

    async def follow(self) -> None:
        """Looks at the files for as long as the kernel runs, and judges them when they rest."""
        judged: Mapping[Path, int] = {}
        quiet = 0.0
        while True:
            quiet = 0.0 if self.look() else quiet + LOOK_SECONDS
            if quiet > QUIET_SECONDS and judged != self._age:
                judged = self._age
                await self._judge()
            await asyncio.sleep(LOOK_SECONDS)

    async def _judge(self) -> None:
        """Lights up the parts that pass. Files may be saved meanwhile."""
        self.view.parts = [{**one, "status": "checking"} for one in self.view.parts]
        loop = asyncio.get_running_loop()
        task = loop.run_in_executor(self._checking, _judged, self._folder)
        while not task.done():
            self.look()
            await asyncio.sleep(LOOK_SECONDS)
        try:
            self._checked = task.result()
        except Exception as error:  # there is no cell where a traceback could stand
            self.view.verdict.show(
                f"<p>{escape(str(error))}</p>", str(error), (), _nothing, _nothing
            )
            self.view.parts = []
        else:
            self._checked.show_in(self.view.verdict)
            self.view.parts = _parts(self._checked)


_NOTE = re.compile(r"^ *│ *\n *│ Note: included from (?P<file>.*):\d+\n", re.MULTILINE)


def _told(rendered: str, folder: Path) -> str:
    """What the compiler says, with names of the student's files. By which other one a file of that
    folder is included helps nobody to mend it."""
    inside = f"{folder}{os.sep}"
    brief = _NOTE.sub(lambda note: "" if note["file"].startswith(inside) else note[0], rendered)
    return brief.replace(inside, "").rstrip()


def _judged(folder: Folder) -> Checked:
    from p4lab.notebook.checks import check  # heavy: what judges

    return check(folder)


def _parts(checked: Checked) -> list[dict[str, Any]]:
    """Each part of the lab with its verdict: failed if a check of it is, and else what waits."""
    found = []
    for part in checked.course.parts:
        own = [one for one in checked.verdict.checks if one.part == part.id]
        states = {one.status for one in own}
        status = next((one for one in ("failed", "skipped") if one in states), "passed")
        points = sum(one.points for one in own)
        most = sum(one.max_points for one in own)
        found.append(
            {
                "id": part.id,
                "title": part.title,
                "status": "waits" if status == "skipped" else status,
                "points": f"{points:g} of {most:g} points",
            }
        )
    return found


_shown: list[tuple[Live, asyncio.Task[None]]] = []
"""What this kernel shows; a page that is loaded again asks again"""


def show(name: str) -> None:
    """Shows the network of a lab in a cell's output, and follows the student's files from then on.
    Raises LabError, and OSError where the student's folder cannot be begun."""
    from IPython.display import display  # heavy: IPython

    while _shown:
        old, task = _shown.pop()
        task.cancel()
        old.view.close()
    live = Live(name)
    live.look()
    _shown.append((live, asyncio.get_running_loop().create_task(live.follow())))
    display(live.view)


def _nothing(check: str) -> Mapping[str, Any]:
    """The film and the hints of a check that there is no verdict of."""
    return {}
