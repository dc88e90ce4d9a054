"""Every notebook runs from top to bottom, as a student's first evening depends on it: on the
solution with every check green, on the starter with the failures that it should have."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from pydantic import BaseModel, ConfigDict

from p4lab.control.listeners import membership
from p4lab.course.home import HERE
from p4lab.course.labs import load_plan, read_lab
from p4lab.course.material import start
from p4lab.grading.course import load
from p4lab.grading.judge import judge
from p4lab.paths import ROOT
from p4lab.systems.bier.entries import ideal_copies
from p4lab.tracing import copies, trace

NOTEBOOKS = sorted(HERE.notebooks.glob("*.ipynb"))
SECONDS = 60  # for one cell, on a slow machine that does other things


class _Notebook(BaseModel):
    unsolved: str


class _LabFile(BaseModel):
    model_config = ConfigDict(extra="ignore")
    notebook: _Notebook


def execute(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> nbformat.NotebookNode:
    """The notebook with its outputs, run on the lab's files in `folder`."""
    monkeypatch.setenv("P4LAB_FOLDER", str(folder))
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": path.parent}}
    NotebookClient(notebook, timeout=SECONDS, resources=resources).execute()
    return notebook


def outputs(notebook: nbformat.NotebookNode, kind: str) -> list[str]:
    """What the cells showed in one form, in order; what they printed counts as plain text."""
    return [
        output.get("data", {}).get(kind, output.get("text", "") if kind == "text/plain" else "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def solved(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return execute(request.param, HERE.sources, monkeypatch)


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_lines_say_what_to_run_on_another_day(path: Path) -> None:
    """Otherwise the first thing that a student reads is `NameError: name 'lab' is not defined`."""
    _, first, *_ = nbformat.read(path, as_version=4).cells
    assert "first run those above it: *Run > Run All Above Selected Cell*" in first.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_is_no_wall_of_prose(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            assert len(cell.source.split()) <= 75, cell.source
        else:
            assert len(cell.source.splitlines()) <= 16, cell.source


def test_on_the_solution_every_check_is_green(solved: nbformat.NotebookNode) -> None:
    text = "\n".join(outputs(solved, "text/plain"))
    assert "100 of 100 points" in text
    assert "✗" not in text and "– waits" not in text
    assert "the reference solution" in text, "nobody takes it for a student's work"


def test_the_network_answers_every_prediction(solved: nbformat.NotebookNode) -> None:
    """Each run says what happened, and that is one of the choices."""
    text = outputs(solved, "text/plain")
    says = re.compile(r"The (network|formula) says: ")
    answers = [line for line in text if says.match(line)]
    questions = [line for line in text if line.startswith("Predict: ")]
    asked = sum(cell.source.count("predict(") for cell in solved.cells)
    assert len(answers) == len(questions) == asked >= 1
    for question, answer in zip(questions, answers, strict=True):
        said = says.sub("", answer).split(". ")[0].removesuffix(".")
        assert said in question, f"{question}: {said}"
    assert sum("You made no prediction" in line for line in answers) == 1, "said once is enough"


def test_every_view_has_a_picture_without_scripts(solved: nbformat.NotebookNode) -> None:
    """nbconvert, viewers and screen readers see what the scripts would have drawn."""
    live = 0
    for cell in solved.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "application/vnd.jupyter.widget-view+json" in data:
                live += 1
                assert data["text/html"] and data["text/plain"], cell.source
                assert "object at 0x" not in data["text/plain"], cell.source
                if "_view" in cell.source:
                    assert "<svg" in data["text/html"] or "<table" in data["text/html"]
    shown = sum(cell.source.count("_view(") for cell in solved.cells)
    assert live > shown > 0, "every view, and checks and questions besides"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_on_the_starter_it_runs_and_fails_as_documented(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A student who has written nothing yet sees what such a network does, and no traceback."""
    list(start(path.stem, tmp_path))
    text = outputs(execute(path, tmp_path, monkeypatch), "text/plain")
    everything = text[-1]
    course = load(path.stem)
    files = {name: (tmp_path / name).read_text() for name in course.student.edit}
    for check in judge(course, files).checks:
        sign = {"passed": "✓ passed", "failed": "✗ failed", "skipped": "– waits"}[check.status]
        assert re.search(rf"{sign}: ([\d.]+ )?{re.escape(check.title)}", everything)
        assert check.points == 0 or course.starter_points
    assert f"\n{course.starter_points:g} of 100 points" in everything
    assert "✓ passed: " in everything and "✗ failed" in everything
    said = "\n".join(text)
    assert read_lab(path.stem, _LabFile).notebook.unsolved in said
    assert re.search("your (program|policies)", said) and "reference" not in said


def test_a_program_that_does_not_compile_is_shown_with_its_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first cell stops with the compiler's words in place, not with a Python traceback."""
    list(start("01-bier", tmp_path))
    program = tmp_path / "bier" / "bier.p4"
    text = program.read_text()
    program.write_text(text.replace("carried.in_progress = 1;", "carried.in_progres = 1;"))
    assert program.read_text() != text
    with pytest.raises(CellExecutionError) as stopped:
        execute(ROOT / "notebooks" / "01-bier.ipynb", tmp_path, monkeypatch)
    assert "does not compile: 1 error" in stopped.value.traceback
    assert "File " not in stopped.value.traceback


@pytest.mark.parametrize("topology", ["paper", "ring", "tree10"])
def test_a_traced_packet_takes_the_ideal_tree(topology: str) -> None:
    """The picture in the notebook is what the switches did; it must agree with the ideal."""
    plan = load_plan("01-bier", topology=topology, packets=1)
    stream = plan.streams[0]
    ideal = ideal_copies(
        plan.topology,
        stream.source.name,
        int(stream.destination),
        membership(plan),
        plan.settings.bsl,
    )
    assert copies(trace(plan)) == ideal
