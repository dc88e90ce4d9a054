"""How long a student waits for the picture, at first and after a save, measured in a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from p4lab.bench.measure import Measure, Say, missing, of, part
from p4lab.course.home import WORK_ENVIRONMENT, notebooks
from p4lab.course.labs import home
from p4lab.notebook.folder import Folder, lab_folder
from p4lab.notebook.server import Server, end, free_port

GROUP = "notebook"
STARTED = "JupyterLab's start, until a packet moves", "s", 10.0
SAVED = "a save, lab 01 on tree10, until the new picture", "ms", 500.0
"""Name, unit and goal of what is measured"""
SAVES = 7  # in less than a second fewer
PATIENCE_MS = 60_000
PAUSE_MS = 1_000  # JupyterLab leaves out a save that is asked for while it still saves

# From the key press to the frame after the one in which the view was drawn: by then it is seen.
_WATCH = """() => {
  const view = document.querySelector(".p4l");
  let pressed = null;
  window.p4labWaited = [];
  addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.key === "s") pressed = performance.now();
  }, true);
  new MutationObserver(() => requestAnimationFrame(() => requestAnimationFrame(() => {
    if (pressed !== null) window.p4labWaited.push(performance.now() - pressed);
    pressed = null;
  }))).observe(view, { attributeFilter: ["data-saves"] });
}"""


def chromium() -> str | None:
    """The system's Chromium, if it starts. (Some systems have a script that says to install it.)"""
    for name in ("chromium", "google-chrome", "chromium-browser"):
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    return None


def saving(seconds: float, say: Say) -> Iterator[Measure]:
    """Lab 01's solution in the student's JupyterLab, opened once and saved with Ctrl+S some
    times."""
    try:
        from playwright.sync_api import Error, sync_playwright  # heavy: playwright, if it is there
    except ImportError:
        yield from _missing("playwright is not installed")
        return
    path = chromium()
    if path is None:
        yield from _missing("needs Chromium")
        return
    say("saving in JupyterLab")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    try:
        with (
            tempfile.TemporaryDirectory(prefix="p4lab-pace-") as place,
            sync_playwright() as playwright,
        ):
            begin = time.monotonic()
            with _served(Path(place)) as server:
                browser = playwright.chromium.launch(executable_path=path, args=arguments)
                page = browser.new_page(viewport={"width": 1440, "height": 1000})
                page.set_default_timeout(PATIENCE_MS)
                page.goto(server.url)
                page.locator(".p4l .p4v-packet").first.wait_for(state="attached")
                start = time.monotonic() - begin
                values = _waited(page, part(SAVES, seconds))
                browser.close()
    except (Error, OSError, RuntimeError) as error:
        yield from _missing(str(error).splitlines()[0])
        return
    for (name, unit, goal), found in ((STARTED, [start]), (SAVED, values)):
        yield of(GROUP, name, unit, found, goal, at_most=True)


def _missing(why: str) -> Iterator[Measure]:
    for name, unit, goal in (STARTED, SAVED):
        yield replace(missing(GROUP, name, unit, why, goal), at_most=True)


@contextmanager
def _served(place: Path) -> Iterator[Server]:
    """The student's JupyterLab on files of its own. Raises RuntimeError if it does not start."""
    folder = solved("01-bier", place / "files" / "01-bier")
    notebook = Path(shutil.copy(notebooks()["01-bier"], place / "files"))
    server = Server(notebook.parent, notebook, free_port(), folder=folder)
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    own = {name: str(place / name.lower()) for name in names}
    process = server.start(place / "log", **own, **{WORK_ENVIRONMENT: str(folder.path)})
    try:
        if not server.await_ready(process):
            raise RuntimeError(f"JupyterLab does not start: {(place / 'log').read_text()[-300:]}")
        server.warm()
        yield server
    finally:
        end(process)


def solved(lab: str, place: Path) -> Folder:
    """A student's folder of a lab in which the solution is written."""
    folder = lab_folder(lab, place)
    for path in folder.edit:
        shutil.copyfile(home(lab).sources / path.relative_to(folder.path), path)
    return folder


def _waited(page: Any, saves: int) -> list[float]:
    """Milliseconds from each save to its picture."""
    editor = page.locator(".jp-FileEditor .cm-content")
    editor.click()
    page.evaluate(_WATCH)
    for number in range(saves):
        page.wait_for_timeout(PAUSE_MS)
        page.keyboard.type(" ")  # the file is another one, the program is not
        page.keyboard.press("Control+s")
        page.wait_for_function("many => window.p4labWaited.length > many", arg=number)
    waited: list[float] = page.evaluate("window.p4labWaited")
    return waited
