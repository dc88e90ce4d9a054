"""Every notebook runs from top to bottom, as a student's first evening depends on it."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from p4lab.lab.plan import ROOT, load_plan
from p4lab.tracing import copies, trace

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs(path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": path.parent}}).execute()
    text = "".join(
        output.get("text", "") + output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    assert "all subscribers got every packet exactly once" in text
    pictures = [
        output
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == 2, "the network, and the tree of one packet"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_is_kept_without_outputs(path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)


@pytest.mark.parametrize("topology", ["paper", "ring", "tree10"])
def test_a_traced_packet_takes_the_ideal_tree(topology: str) -> None:
    """The picture in the notebook is what the switches did; it must agree with the ideal."""
    plan = load_plan("01-bier", topology=topology, packets=1)
    from p4lab.control.bier import ideal_copies

    stream = plan.streams[0]
    ideal = ideal_copies(
        plan.topology, stream.source.name, int(stream.group), plan.membership, plan.bsl
    )
    assert copies(trace(plan)) == ideal
