"""The fabric's pictures and the search for deadlocks.

If these fail, a picture shows what the simulator did not do, or a deadlock is found where there is
none, missed where there is one, or shown without who waits for whom.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from p4lab import _engine
from p4lab.paths import ROOT
from p4lab.systems.fabric import trees
from p4lab.systems.fabric import verbs as exploring
from p4lab.systems.fabric.exploring import search as searching
from p4lab.systems.fabric.exploring.cases import CASES
from p4lab.systems.fabric.runs import MICROSECOND, Flow, Scenario, run
from p4lab.systems.fabric.views import verbs as viewing
from p4lab.systems.fabric.views import words
from p4lab.systems.fabric.views.film import EVICTED, SUSPENDED, recorded
from p4lab.systems.fabric.views.leaf import leaf_view
from p4lab.systems.fabric.views.page import page
from p4lab.systems.fabric.views.rack import rack_view
from p4lab.systems.fabric.views.scenes import scenes

PAGE = ROOT / "docs" / "fabric.md"


def scenario(**settings: object) -> Scenario:
    """A local and a remote copy of every frame."""
    flow = Flow([(0, [1, 8])], 99)
    return Scenario(2, (flow,), 100, 0, {n.replace("__", "."): v for n, v in settings.items()})


# ---- The leaf


def test_a_film_tells_what_the_engine_counts() -> None:
    """Every suspension and eviction has a sentence, and cells that cross are those counted."""
    settings = {"cache__lines": 32}
    film, recorder = recorded(scenario(**settings), slots=400)
    totals = recorder.fabric.totals()
    kinds = [one.kind for moment in film.moments for one in moment.happenings]
    assert kinds.count(SUSPENDED) == totals["suspended"] > 3
    assert kinds.count(EVICTED) == totals["evicted"] > 0
    crossed = [
        cells for moment in film.moments for pair in moment.crossed.values() for cells in pair
    ]
    assert sum(crossed) == totals["cells_local"] + totals["cells_up"]
    assert max(crossed) == 1, "a VOQ sends one cell a slot"


def test_without_synchronisation_nobody_waits() -> None:
    film, recorder = recorded(scenario(cache__lines=32, sync__on=False), slots=100)
    assert not any(moment.has(SUSPENDED) for moment in film.moments)
    assert recorder.until(EVICTED, 50 * MICROSECOND)
    moment = film.moments[-1]
    assert moment.has(EVICTED)
    assert len(moment.leaf["cache"]) == 32 - 10, "ten lines are kept free"


def test_a_view_goes_on_and_jumps() -> None:
    view = leaf_view(scenario(), start=1, slots=10)
    assert len(view.data["moments"]) == 10 and view.data["more"]
    view._message(None, {"do": "more"}, None)
    assert len(view.data["moments"]) == 210
    view._message(None, {"do": "until", "kind": SUSPENDED}, None)
    jumped = view.data["moments"][210]
    assert [one["kind"] for one in jumped["said"]] == [SUSPENDED]
    suspended = [row[3] for row in jumped["voqs"]]
    assert suspended == [1, 0], "the local copy waits for the remote one"
    assert "is suspended" in view.summary() and "<table>" in view.picture()


def test_a_policys_film_has_no_thresholds() -> None:
    """They are the parameters', and here a table decides: nobody is suspended up to 40 cells."""
    table = [int(ahead > 40) for _ in range(2) for ahead in range(128)]
    decided = replace(scenario(), tables={"suspend": table})
    view = leaf_view(decided, slots=200)
    assert view.data["decided"] and not leaf_view(scenario(), slots=1).data["decided"]
    ahead = [row[4] for moment in view.data["moments"] for row in moment["voqs"] if row[3]]
    assert ahead and min(ahead) > 40


def test_what_never_happens_is_said() -> None:
    view = leaf_view(scenario(sync__on=False), slots=1)
    view.until(SUSPENDED)
    assert "No other suspension" in view.data["ending"]


def test_a_leaf_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no leaf 2"):
        leaf_view(scenario(), leaf=2)


# ---- The rack


def test_the_map_adds_up_to_what_receivers_get() -> None:
    """Without this a leaf looks idle that is full."""
    flow = Flow(trees.broadcast(8), 50)
    whole = Scenario(8, (flow,), 40, 0)
    view = rack_view(whole, every=10)
    octets = sum(sum(one.out) for one in view.loads) * 10 * 1000 / 8
    assert octets == pytest.approx(sum(sum(sink["series"]) for sink in run(whole, 1).sinks))
    last = view.loads[-1]
    assert last.out[7] == pytest.approx(5 * 50, rel=0.1)
    assert last.loop[0] == 0, "the sender's leaf has no surrogate in this tree"
    assert sum(last.up) == pytest.approx(sum(last.spines), rel=0.05)
    assert view.data["levels"] == {"1": 1, "2": 2, "3": 2, "4": 2, "5": 3, "6": 3, "7": 3}
    with pytest.raises(ValueError, match="step"):
        rack_view(whole, every=100)


# ---- Pages


def test_a_page_has_its_films_and_nothing_else() -> None:
    """Whatever a name has in it, it does not end the script that it is in."""
    view = leaf_view(scenario(), slots=3)
    view.data = {**view.data, "title": "</script><b>"}
    text = page("A <leaf>", [("What & why.", view)])
    found = re.search(r'<script type="application/json">(.*?)</script>', text)
    assert found is not None
    data = json.loads(found[1])
    assert data["title"] == "</script><b>" and not data["more"]
    assert "<h1>A &lt;leaf&gt;</h1>" in text and "What &amp; why." in text
    assert not re.search(r'(?:src|href)="', text)


def test_the_verb_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "leaf.html"
    viewing.fabric_view("thrash", out, slots=5)
    assert str(out) in capsys.readouterr().out and "32 lines" in out.read_text("utf-8")
    viewing.fabric_view("rack", out, leaves=4, micros=2)
    assert "broadcast from server 0.0 to 4 leaves" in out.read_text("utf-8")
    with pytest.raises(typer.Exit):
        viewing.fabric_view("sunset", out)
    assert "there is no scene 'sunset'" in capsys.readouterr().err


# ---- The search


@pytest.mark.parametrize("name", ["siblings", "newest", "credits", "one-lane", "lanes", "in-step"])
def test_a_case_ends_as_expected(name: str) -> None:
    case = CASES[name]
    found = searching.search(case if case.runs else replace(case, frames=min(case.frames, 5)))
    assert found.is_expected, found
    assert found.complete or case.runs
    if found.stuck is None:
        return
    fabric = case.fabric()
    for step, flows in enumerate(found.stuck, 1):
        for flow in range(4):
            assert not flows >> flow & 1 or fabric.offer(flow)
        fabric.run(searching.STEP * step)
    circle = fabric.circle()
    assert [one[1] for one in circle] == [one[0] for one in (*circle[1:], circle[0])]
    assert fabric.run(1000 * MICROSECOND) == "deadlock", "the watchdog agrees"


def test_the_film_of_a_deadlock_ends_in_its_circle() -> None:
    case = CASES["newest"]
    found = searching.search(case)
    assert found.frames == 4, "four frames are the fewest"
    assert found.stuck is not None
    film = searching.filmed(case, found.stuck, "the end")
    said = [words.waiting(one) for one in film.circle]
    assert said == [
        "VOQ 0.0→0.1 waits until VOQ 0.0→1.0 sends frame 1 of flow 0",
        "VOQ 0.0→1.0 waits until VOQ 0.0→0.1 sends frame 2 of flow 0",
    ]
    assert {one["number"] for one in film.moments[-1].leaf["voqs"] if one["suspended"]} == {0, 1}
    said = "; ".join(one.text for moment in film.moments for one in moment.happenings)
    order = [re.findall(rf"{name} begins to send frame (\d)", said) for name in ("1.0", "0.1")]
    assert order == [["0", "3", "2"], ["0", "1"]], "the remote copies are out of order"
    assert searching.told(found.stuck).startswith("step 1: flow 0; step 2: flow 0")


def test_a_thrashing_cache_is_found_and_synchronisation_saves_it() -> None:
    lost = searching.search(replace(CASES["thrash"], frames=3))
    assert lost.evicted > 5 and lost.stuck is None
    film = searching.filmed(CASES["thrash"], lost.thrashing, "")
    evicted = [one for moment in film.moments for one in moment.happenings if one.kind == EVICTED]
    assert len(evicted) == lost.evicted


def test_the_verb_says_who_waits_for_whom(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "found.html"
    exploring.fabric_explore(["newest", "siblings"], frames=4, html=out)
    said = capsys.readouterr().out
    assert "VOQ 0.0→0.1 waits until VOQ 0.0→1.0 sends frame 1 of flow 0" in said
    assert "newest frame first" in out.read_text("utf-8")
    exploring.fabric_explore(["newest"], as_json=True)
    (record,) = json.loads(capsys.readouterr().out)
    assert record["stuck"] and len(record["circle"]) == 2 and record["expected"]


def test_what_is_not_expected_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user's parameters count: a timeout opens the circle of the wrong variant."""
    file = tmp_path / "mine.toml"
    file.write_text("[sync]\ntimeout_ps = 3000000\n")
    with pytest.raises(typer.Exit) as left:
        exploring.fabric_explore(["newest"], frames=4, parameters=file)
    assert left.value.exit_code == 1
    assert "newest: a deadlock was expected" in capsys.readouterr().err
    with pytest.raises(typer.Exit):
        exploring.fabric_explore(["siblings"], frames=1, html=tmp_path / "found.html")
    told = capsys.readouterr()
    assert "siblings" in told.out and "there is no film to write" in told.err
    with pytest.raises(typer.Exit):
        exploring.fabric_explore(["oldest"])
    assert "there is no case 'oldest'" in capsys.readouterr().err


def test_any_case_can_be_searched_at_random(capsys: pytest.CaptureFixture[str]) -> None:
    exploring.fabric_explore(["newest"], random=50, as_json=True)
    (record,) = json.loads(capsys.readouterr().out)
    assert record["stuck"] and not record["complete"]


def test_a_search_refuses_chance() -> None:
    with pytest.raises(ValueError, match="chance"):
        searching.search(CASES["siblings"], extra="[errors]\nframe_loss = 0.1\n")


def test_a_flow_that_there_is_not_cannot_send() -> None:
    with pytest.raises(ValueError, match="no flow 0"):
        _engine.Fabric(1).offer(0)


def test_the_page_names_all_cases_and_scenes() -> None:
    text = PAGE.read_text("utf-8")
    for name in (*CASES, *scenes()):
        assert f"`{name}`" in text, name
