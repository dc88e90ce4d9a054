"""The views of notebooks in a page, where there is no kernel.

If this fails, who steps through a packet in the page sees something else than in a notebook.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from p4lab.course.home import names
from p4lab.course.labs import load_plan
from p4lab.course.material import starter_of
from p4lab.grading.course import load
from p4lab.notebook.live import Live

pytestmark = pytest.mark.beside(seconds=40)

LABS = [lab for lab in names() if load(lab).is_p4]

PAGE = """
import json, sys
from pathlib import Path
from p4lab.website import page
asked = json.load(sys.stdin)
page.WORK = Path(asked["work"])
desk = page.Desk()
live = lambda anew: json.loads(
    desk.live(asked["lab"], asked["files"], asked["editing"], anew)
)
first, again = live(True), live(False)
chosen = {"router": asked["router"], "table": ""}
then = json.loads(desk.view(first["view"], {"chosen": chosen}, {}))
kernels = [name for name in sys.modules if name.startswith("ipywidgets.")]
json.dump([first, again, then, live(True), kernels], sys.stdout)
"""


def in_a_page(**asked: Any) -> Any:
    command = [sys.executable, "-c", PAGE]
    done = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def drawn(states: dict[str, Any], root: str) -> dict[str, Any]:
    """What each view of a living network draws, by its name."""
    views = states[root]["views"]
    return {name: states[view.removeprefix("IPY_MODEL_")]["data"] for name, view in views.items()}


def in_json(data: Any) -> Any:
    return json.loads(json.dumps(data))


@pytest.mark.parametrize("lab", LABS)
def test_a_view_in_a_page_draws_what_it_draws_in_a_notebook(lab: str, tmp_path: Path) -> None:
    files = dict(starter_of(lab))
    editing = load(lab).student.edit[0]
    plan = load_plan(lab, packets=1)
    router = plan.topology.routers[-1].name
    first, again, then, later, kernels = in_a_page(
        work=str(tmp_path),
        lab=lab,
        files=files,
        editing=editing,
        router=router,
    )
    assert kernels == []  # nothing of the real ones was there
    here = Live(lab, tmp_path / lab)
    here.look()
    here._message(None, {"editing": f"{lab}/{editing}"}, None)
    real = {name: in_json(getattr(view, "data", None)) for name, view in here.view.views.items()}
    states = first["models"]
    seen = drawn(states, first["view"])
    for name in seen.keys() - {"network", "checks"}:
        assert seen[name] == real[name], name
    assert seen["network"]["events"] == real["network"]["events"]
    assert states[first["view"]]["tabs"] == [t for t in here.view.tabs if t["name"] != "checks"]
    assert again["models"] == {}  # nothing has changed, and nothing was sent again
    here.view.chosen = {"router": router, "table": ""}
    for number, fresh in then["models"].items():
        states[number].update(fresh)
    assert drawn(states, first["view"])["packet"] == in_json(here.view.views["packet"].data)
    # Who opens another lab and comes back gets all of it once more, not only what has changed.
    assert drawn(later["models"], later["view"])["network"]["events"] == real["network"]["events"]
