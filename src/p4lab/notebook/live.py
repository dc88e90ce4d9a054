"""The network beside the editor: it follows the student's files, save by save.

`./lab notebook` shows it in JupyterLab (editors/jupyterlab), in a kernel of its own, so that a cell
that takes long does not hold it up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from p4lab.notebook.folder import Folder, lab_folder
from p4lab.notebook.lab import Lab, open_lab
from p4lab.notebook.saying import DoesNotCompile
from p4lab.widgets.live import LiveView

LOOK_SECONDS = 0.04
"""Between two looks at the files: a tenth of what a student notices"""
QUIET_SECONDS = 0.4
"""Without a save, before the checks run: the picture comes first"""


class Live:
    """A lab in a view that is renewed whenever a file of the student's changes."""

    def __init__(self, name: str) -> None:
        """Raises LabError, and OSError where the student's folder cannot be begun."""
        self.view = LiveView()
        self._folder: Folder = lab_folder(name)
        self._lab: Lab | None = None
        self._age: Mapping[Path, int] = {}
        self._checking = ThreadPoolExecutor(1)  # what judges wants one thread

    def look(self) -> bool:
        """Compiles, sends and draws if the files have changed; whether they have."""
        age = self._folder.age()
        if age == self._age:
            return False
        self._age = age
        trouble = ""
        try:
            if self._lab is None:
                self._lab = open_lab(self._folder.lab, folder=self._folder.path)
                self.view.show(self._lab)
            else:
                self._lab.again()
        except DoesNotCompile as error:
            trouble = self._errors() or str(error)
        except Exception as error:  # there is no cell where a traceback could stand
            trouble = f"{type(error).__name__}: {error}"
        with self.view.hold_sync():
            self.view.trouble = trouble
            self.view.saves += 1
        return True

    def _errors(self) -> str:
        defines = self._lab.plan.defines if self._lab else []
        return self._folder.compile(defines).render().rstrip()

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
        from p4lab.grading.course import load  # heavy: what judges

        parts = load(self._folder.lab).parts
        self.view.parts = [
            {"id": one.id, "title": one.title, "status": "checking", "said": ""} for one in parts
        ]
        loop = asyncio.get_running_loop()
        task = loop.run_in_executor(self._checking, _parts, self._folder)
        while not task.done():
            self.look()
            await asyncio.sleep(LOOK_SECONDS)
        try:
            self.view.parts = task.result()
        except Exception as error:
            self.view.parts = [
                {"id": "", "title": "checks", "status": "failed", "said": str(error)}
            ]


def _parts(folder: Folder) -> list[dict[str, Any]]:
    """Each part of the lab with its verdict: failed if a check of it is, and else what waits."""
    from p4lab.notebook.checks import check

    checked = check(folder)
    found = []
    for part in checked.course.parts:
        own = [one for one in checked.verdict.checks if one.part == part.id]
        states = {one.status for one in own}
        status = next((one for one in ("failed", "skipped") if one in states), "passed")
        told = next((one.story.summary for one in own if one.story), "")
        points = sum(one.points for one in own)
        most = sum(one.max_points for one in own)
        found.append(
            {
                "id": part.id,
                "title": part.title,
                "status": "waits" if status == "skipped" else status,
                "said": told or f"{points:g} of {most:g} points",
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
