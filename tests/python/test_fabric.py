"""The server-rack fabric: trees, parameters, runs and the figures' verb.

The shapes of the figures and the closed forms are held by the crate's own tests. If these here
fail, what a user asks for is not what runs, or what runs is not what is written and shown.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
import typer

from p4lab import _engine, registry
from p4lab.bench import fabric as bench
from p4lab.experiment import tidy
from p4lab.paths import ROOT
from p4lab.spread.sweep import Task, work_there
from p4lab.systems.fabric import paper, trees
from p4lab.systems.fabric.experiments import (
    copies,
    drops,
    equations,
    machine,
    mixes,
    notified,
    verbs,
)
from p4lab.systems.fabric.experiments.figure import Claim, Figure, Point, Points, judged
from p4lab.systems.fabric.parameters import parameters, read, written
from p4lab.systems.fabric.ports import MOST_COPIES, MOST_LEVELS, surrogate, terminals
from p4lab.systems.fabric.runs import FabricError, Flow, Scenario, run

PAGE = ROOT / "docs" / "fabric.md"


# ---- Trees


def receivers(tree: trees.Tree) -> Counter[int]:
    feeding = dict(tree)
    return Counter(port for _, to in tree for port in to if port not in feeding)


@pytest.mark.parametrize("leaves", [2, 5, 33, 128])
def test_a_broadcast_reaches_every_server_once(leaves: int) -> None:
    """Without this a receiver of figure 15 gets nothing, or everything twice."""
    tree = trees.broadcast(leaves)
    everyone = {port for leaf in range(leaves) for port in terminals(leaf)} - {0}
    assert receivers(tree) == Counter(everyone)
    assert max(len(children) for _, children in tree) <= MOST_COPIES
    assert max(trees.levels(tree).values()) <= MOST_LEVELS


def test_section_5_2_has_five_and_fifteen_surrogates() -> None:
    tree = trees.drawn(0, range(3, 43), 20, random.Random(1))
    depths = Counter(trees.levels(tree).values())
    assert depths == {1: 25, 2: 75}


@pytest.mark.parametrize("n", range(5))
def test_equation_1_counts_a_tree_that_is_built_by_hand(n: int) -> None:
    """Breadth first, without the formula and without `grown`."""
    terminals_reached, wide = 4, 4
    for _ in range(n):
        terminals_reached += 5 * wide
        wide *= 3
    assert trees.reach(n) == terminals_reached


def test_equation_2_holds_for_every_drawn_tree() -> None:
    chance = random.Random(5)
    for _ in range(50):
        count = chance.randrange(1, 40)
        tree = trees.grown(0, min(8, count), chance.sample(range(1, 128), count))
        ours, ideal = trees.crossings(tree)
        assert ours <= 2 * ideal, f"seed 5: {tree}"


# ---- Parameters


def test_every_parameter_says_where_it_is_from() -> None:
    """Without this an assumption passes for the paper's number."""
    for one in parameters():
        assert one.source or one.origin == "assumed", one
    names = [one.name for one in parameters()]
    assert len(names) == len(set(names)) > 50
    origins = {one.name: one.origin for one in parameters()}
    assert origins["qcn.equilibrium_in"] == "assumed"
    assert origins["sync.block"] == "paper"
    assert origins["latency.request_local_ps"] == "calibrated"


def test_settings_reach_the_engine_as_they_are() -> None:
    """Without this a figure is measured with the defaults instead of its own settings."""
    text = written({one.name: one.value for one in parameters()})
    _engine.Fabric(1, parameters=text)
    assert 'drop = "head"' in text and "on = true" in text


def test_a_bad_file_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[cache]\nlines = 64\n\n[sync]\nblock = 4\nresume = 9\n")
    with pytest.raises(ValueError, match=r"mine\.toml, line 5: .*resume"):
        read(file)
    file.write_text("[cache]\nlines = 64\nlines = 32\n")
    with pytest.raises(ValueError, match=r"mine\.toml, line 3: .*overwrite"):
        read(file)
    file.write_bytes(b"[voq]\ndrop = '\xff'\n")
    with pytest.raises(ValueError, match=r"mine\.toml, line 2: .*UTF-8"):
        read(file)
    file.write_bytes(b"\xef\xbb\xbf[cache]\r\nlines = 64\r\n")  # as Windows writes it
    assert "64" in read(file)


def test_what_a_figure_does_not_go_with_has_the_line_of_the_users_file() -> None:
    """Figure 5 has 100 headers, and 200 would be fine everywhere else."""
    flow = Flow([(0, [1, 8])], 99)
    own = "\n[headers]\nlow = 200\n"
    read_alone = Scenario(2, (flow,), 10, 0, {}, own + "high = 300\n")
    run(read_alone, 1)
    with pytest.raises(ValueError, match=r"your parameters, line 3: .*200.*100"):
        run(Scenario(2, (flow,), 10, 0, {"headers.low": 70, "headers.high": 100}, own), 1)


def settings_of(figure: Figure, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What the runs of a figure set."""
    found: set[str] = set()

    def looked_at(scenario: Scenario, seed: int) -> object:
        found.update(scenario.settings)
        raise ValueError("that is all")

    for module in (copies, drops, equations, machine, mixes, notified):
        monkeypatch.setattr(module, "run", looked_at)
    for task in figure.runs("", 1):
        with suppress(ValueError):
            task.work(*task.arguments)
    return found


@pytest.mark.parametrize("name", verbs.figures(machine.Size(2)))
def test_figures_say_what_they_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this a user's file changes what a label says, and the label stays."""
    figure = verbs.figures(machine.Size(2))[name]
    others = {"line.gbps", "cell.bytes", "cell.slot_ps"}  # of formulas
    assert settings_of(figure, monkeypatch) == set(figure.own) - others
    assert {one.name for one in parameters()} >= set(figure.own)


def test_a_file_must_not_have_what_a_figure_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[cache]\nlines = 64\n")
    with pytest.raises(typer.Exit) as left:
        verbs.fabric(["idle", "4c"], tmp_path, parameters=file)
    assert left.value.exit_code == 2
    said = capsys.readouterr().err
    assert "figure 4c has its own cache.lines" in said
    assert "choose from the figures idle, 5, 6" in said


# ---- Runs


def scenario(**settings: object) -> Scenario:
    return Scenario(2, (Flow([(0, [1, 2, 8])], 99),), 60, 20, settings)


def test_a_seed_says_everything() -> None:
    first, again, other = (run(scenario(), seed) for seed in (1, 1, 2))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.totals == again.totals
    assert len(first.gbps(0)) == 3


def test_a_run_does_not_depend_on_its_threads() -> None:
    """Two of them, as one run of a sweep with `--threads 2` has. The engine's tests have more."""
    task = Task("", run, (scenario(), 1))
    assert work_there("", task, 2) == work_there("", task)
    with pytest.raises(ValueError):
        _engine.Fabric(2).run(1, threads=0)


def crossing(sender: int, first: int, second: int) -> Flow:
    """Over the surrogates of two leaves, to a server of the second."""
    one, two = surrogate(first), surrogate(second)
    tree = [(sender, [one]), (one, [two]), (two, [second * 8 + sender])]
    return Flow(tree, 99, lossless=True)


def test_a_deadlock_is_not_a_slow_run() -> None:
    """Section 5: lanes that increase by level have no circle; without them this one closes."""
    flows = tuple(crossing(n, *((1, 2) if n < 2 else (2, 1))) for n in range(4))
    run(Scenario(3, flows, 1000, 0), 1)
    with pytest.raises(FabricError, match=r"deadlock after \d+ us: .*1\.5"):
        run(Scenario(3, flows, 1000, 0, {"lanes.increment": False}), 1)


def test_the_engine_refuses_a_loop() -> None:
    tree = [(0, [surrogate(1)]), (surrogate(1), [surrogate(1)])]
    with pytest.raises(ValueError, match="loop"):
        run(Scenario(2, (Flow(tree, 10),), 10, 0), 1)


def test_a_leaf_can_be_looked_at_step_by_step() -> None:
    """What a picture of a leaf shows: who waits for siblings, and whose cells are in the cache."""
    fabric = _engine.Fabric(2)
    fabric.add([(0, [1, 8])], 1522, 99_000)
    ahead, full = 0, 0
    while fabric.run(60_000_000, 50) == "paused":
        seen = fabric.snapshot(0)
        for voq in seen["voqs"]:
            assert not voq["suspended"] or voq["ahead"] > 10, "it should have gone on"
            assert voq["to"] == 1 or not voq["ahead"], "the remote copy is never ahead"
            ahead = max(ahead, voq["ahead"] or 0)
        full = max(full, len(seen["cache"]))
        assert all(flow == 0 and left == 1 for flow, _, _, _, left in seen["cache"])
    assert 18 < ahead <= 24, "one frame more than 18 cells"
    assert 0 < full <= 24
    assert seen["ports"][0]["payload"] > 0
    with pytest.raises(ValueError, match="no leaf 2"):
        fabric.snapshot(2)


def test_a_part_of_the_machine_is_broadcast_to() -> None:
    """Figures 15 and 16 in small: the load arrives, and levels cost time."""
    seen = machine.run_broadcast(machine.Size(8, 60, 20), 512, 10.0, "", 1)
    rate, delays = seen[0], [point.simulated for point in seen[1:]]
    assert rate.simulated == pytest.approx(rate.formula, rel=0.1)
    assert all(below < above for below, above in pairwise(delays))
    jumbo = machine.run_broadcast(machine.Size(8, 60, 20), 9022, 99.0, "", 1)
    assert jumbo[0].paper is None  # that is of 639 receivers


def test_a_mix_sends_each_server_its_load() -> None:
    """Without this the figure compares other loads than its axis says, or loses a share of one."""
    trees_of_seed = mixes.pairs(6, 3)
    got = Counter(port for tree in trees_of_seed for port in tree[0][1])
    assert got == Counter(port for leaf in range(6) for port in terminals(leaf))
    assert all(tree[0][0] // 8 != tree[0][1][0] // 8 for tree in trees_of_seed)
    unicast, waits, multicast, longer = mixes.run_mix(machine.Size(6, 60, 20), 60.0, 0.25, "", 3)
    assert unicast.simulated == pytest.approx(45, rel=0.03) == unicast.formula
    assert multicast.simulated == pytest.approx(15, rel=0.1) == multicast.formula
    assert 1.5 < waits.simulated < longer.simulated < 10


def test_figure_13_knows_what_its_draw_can_carry() -> None:
    drawn, limit = machine.scenario_13(33.0, 3)
    assert len(drawn.flows) == 60 and 85 < limit < 99
    assert machine.scenario_13(10.0, 3)[1] == pytest.approx(30)


# ---- Figures


def test_qcn_at_inputs_finds_the_culprit() -> None:
    """Figure 10c in short: the class's favourite, so it has to work from Python, too."""
    panel = "c: inputs, largest"
    long = notified.scenario_10(notified.SCHEMES[panel], "")
    seen = run(Scenario(long.leaves, long.flows, 1500, 500, long.settings), 1)
    culprit, victim = seen.sinks[0]["gbps"], seen.sinks[2]["gbps"]
    assert culprit < 45 and victim > 50


def test_a_claim_that_breaks_names_its_seeds() -> None:
    figure = copies.FIGURE_4C
    full = [Point("", "128 lines, synchronised", 0.0, 60.0)]
    full += [Point("", "32 lines, not synchronised", x, 20.0) for x in range(20)]
    (first, broken), (_, fine) = judged(figure, {4: full, 7: full})
    assert (broken, fine) == ([4, 7], [])
    assert isinstance(first, Claim) and "60" in first.seen
    assert Points(full).curves("") == ["128 lines, synchronised", "32 lines, not synchronised"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figure 2c with two fan-outs."""
    monkeypatch.setattr(copies, "FANOUTS", (1, 2))


def test_the_verb_writes_what_it_shows(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verbs.fabric(["2c"], tmp_path, as_json=True)
    record = json.loads(capsys.readouterr().out)
    assert record["wrong"] == [] and record["stopped"] == []
    cells = record["measured"][0]["cells"]
    rows = tidy.read_csv(tmp_path / "fabric.csv")
    assert [row["simulated"] for row in rows] == [cell["simulated"] for cell in cells]
    assert rows[0]["figure"] == "2c" and str(rows[0]["program_hash"]).startswith("sha256:")
    assert rows[-1]["formula"] == pytest.approx(rows[-1]["simulated"], rel=0.02)
    assert (tmp_path / "fabric-2c.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "fabric-2c.svg").read_text()


def test_a_wrong_parameter_breaks_a_claim(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user's parameters count, and what they break is said."""
    file = tmp_path / "mine.toml"
    file.write_text("[cell]\nheaders = 1\n")
    with pytest.raises(typer.Exit) as left:
        verbs.fabric(["2c"], tmp_path, parameters=file)
    assert left.value.exit_code == 1
    assert "with the cache all fan-outs get 99 Gb/s" in capsys.readouterr().out
    assert "parameters changed: cell.headers = 1" in (tmp_path / "fabric-2c.svg").read_text()


def test_what_is_there_is_kept_when_one_stops(
    small: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 0

    def interrupted(*asked: object) -> object:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return run(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(copies, "run", interrupted)
    verbs.fabric(["2c"], tmp_path, as_json=True)
    record = json.loads(capsys.readouterr().out)
    assert record["stopped"] == ["2c"]
    assert len(tidy.read_csv(tmp_path / "fabric.csv")) == 2


def test_the_bench_says_what_a_broadcast_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a part of the machine: its tree has to reach all servers, its books to be right."""
    monkeypatch.setattr(bench, "LEAVES", 20)
    monkeypatch.setattr(bench, "LENGTHS", (10, 20))
    monkeypatch.setattr(bench, "ROUNDS", 1)
    assert receivers(bench._tree()) == receivers(trees.broadcast(20))
    found = list(bench.broadcasting(1.0, lambda _: None))
    units = ["cells/s", "frames/s"] * 2 + ["x", "s", "s", "x", "GB"]
    assert [measure.unit for measure in found] == units
    assert all(measure.value for measure in found)


def test_the_parameters_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    verbs.fabric_parameters()
    said = capsys.readouterr().out
    assert "calibrated" in said and "assumed" in said and "cache.lines" in said


def test_the_system_runs_no_program() -> None:
    with pytest.raises(ValueError, match="no P4 program"):
        registry.find("fabric").check(None)  # type: ignore[arg-type]


# ---- The page


def test_the_page_has_its_pictures_contradictions_and_figures() -> None:
    text = PAGE.read_text("utf-8")
    for picture in re.findall(r"\]\((pictures/[^)]+)\)", text):
        assert (PAGE.parent / picture).is_file(), picture
    for one in paper.CONTRADICTIONS:
        assert one.paper in text and one.right in text, one.where
    for name in verbs.figures(machine.Size()):
        assert f"`{name}`" in text, name
