"""What recirculation's experiments write and show."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

from p4lab.systems.bier_tna.recirculation import bench, results, verbs
from p4lab.systems.bier_tna.recirculation.limits import ARBITRATIONS
from p4lab.systems.bier_tna.recirculation.measured import Measurement
from p4lab.systems.bier_tna.recirculation.simulation import Setup, simulate


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every part of the experiments one."""
    monkeypatch.setattr(results, "NEXT_HOPS", (3,))
    monkeypatch.setattr(results, "LOOPS", (1,))
    monkeypatch.setattr(results, "OVERLOADED", ((3, 1),))
    monkeypatch.setattr(results, "TIMES", (0.0,))
    monkeypatch.setattr(results, "LOSSES15", (9,))
    monkeypatch.setattr(results, "CHECKED16", ((1, 4),))
    monkeypatch.setattr(results, "CHECKED17", ((0.025, 6), (0.025, 7)))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_table_2_and_figure_14(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without this the command prints other numbers than it writes, or none."""
    verbs.recirculation(tmp_path, "looped-first,tail-drop", bmv2=False, precision=0.02)
    said = capsys.readouterr().out
    assert "16.07" in said  # the erratum
    assert "--no-bmv2" in said
    assert "seed 1" in said
    rows = read(tmp_path / "recirculation.csv")
    assert [(row["arbitration"], row["next_hop"]) for row in rows] == [
        (arbitration, str(i)) for arbitration in ("looped-first", "tail-drop") for i in (1, 2, 3)
    ]
    assert float(rows[2]["value"]) == pytest.approx(50, rel=0.01)
    assert f"{float(rows[2]['value']):.2f}" in said
    assert (rows[2]["paper_measured"], rows[1]["paper_measured"]) == ("43.3", "")
    assert len(read(tmp_path / "timing.csv")) == 1
    assert (tmp_path / "figure14.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "figure14.svg").read_text()


def test_the_collapsed_setup_is_told_and_its_formulas_follow(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """98.3 Gb/s are left of 100, and the loop for encapsulation takes the source's beat away."""
    verbs.recirculation(tmp_path, "equal-drop", collapsed=True, bmv2=False, precision=0.02)
    said = " ".join(capsys.readouterr().out.split())
    assert "Poisson" not in said and "equal intervals" in said
    rows = read(tmp_path / "recirculation.csv")
    offered = float(rows[0]["offered"])
    assert 98 < offered < 99
    assert float(rows[0]["formula"]) == pytest.approx(offered)
    assert float(rows[2]["value"]) == pytest.approx(float(rows[2]["formula"]), rel=0.02)
    assert "collapsed: 98." in (tmp_path / "figure14.svg").read_text()
    (timing,) = read(tmp_path / "timing.csv")
    assert timing["collapsed"] == "True"


def test_all_stands_for_all_in_a_list_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Sequence[str]] = []

    def run(cells: object, names: Sequence[str], setup: object, sweep: object) -> None:
        asked.append(names)
        raise ValueError("enough")

    monkeypatch.setattr(results, "run_table2", run)
    for names in ("all", "random,all"):
        with pytest.raises(typer.Exit):
            verbs.recirculation(arbitration=names, bmv2=False)
    assert asked[0] == ARBITRATIONS
    assert asked[1] == ("random", *(name for name in ARBITRATIONS if name != "random"))


def test_bmv2_is_called_what_it_is() -> None:
    """Returned packets are served first there."""
    one = Measurement(3, 1, 300, 1.0, (100.0, 50.0, 50.0), 300)
    rows = results.table2([], [one])
    assert {row["arbitration"] for row in rows} == {"looped-first"}
    assert all(row["program_hash"] and row["engine_build"] == "bmv2" for row in rows)


def test_figures_15_to_17(small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verbs.provisioning(tmp_path, as_json=True)
    record = json.loads(capsys.readouterr().out)
    losses = [row for row in record["rows"] if row["figure"] == 15]
    for row in losses:
        assert row["value"] == pytest.approx(row["formula"], rel=0.1)
    checked = [row for row in record["rows"] if "dropped" in row]
    assert [row["physical"] for row in checked] == [6, 0, 1]
    assert all(row["dropped"] == 0 for row in checked)
    assert all(row["dropped_with_one_less"] > 0 for row in checked)
    assert {row["figure"] for row in record["rows"]} == {15, 16, 17}
    assert len(record["errata"]) == 5
    assert (tmp_path / "figures15to17.svg").exists()


def test_a_program_of_ones_own(tmp_path: Path) -> None:
    """A student's file is compiled as it is now, and not as it was in the run before."""
    text = bench.PROGRAM.read_text().replace("../include/", f"{bench.PROGRAM.parents[1]}/include/")
    text = text.replace('"bier.p4"', f'"{bench.PROGRAM.with_name("bier.p4")}"')
    own = tmp_path / "tna.p4"
    own.write_text(text)
    setup = Setup(2, 1, precision=0.02, program=own)
    assert simulate(setup).last.value == pytest.approx(100, rel=0.01)
    wrong = "ig_dprsr_md.mirror_type = MIRROR_AGAIN;"
    assert text.count(wrong) == 1
    own.write_text(text.replace(wrong, ""))
    assert simulate(setup).last.value == 0
    compiled = bench.program(own)
    assert simulate(Setup(2, 1, precision=0.02, program=compiled)).last.value == 0


def test_the_widget_follows_its_sliders() -> None:
    provisioning = pytest.importorskip("p4lab.systems.bier_tna.views.provisioning").provisioning
    widget = provisioning({4: 0.2, 16: 0.1}, utilisation=4)
    widget.set("loopback", 1)
    assert widget.data["sliders"][-1]["shown"] == "1 port"
    widget.follow_the_rule(True)
    assert widget.calculation.needed.physical == 11
    picture = widget._repr_mimebundle_()[0]["text/html"]
    assert picture.count('<span class="p4v-port') == 32
    assert widget.data["sliders"][-1]["value"] == 11, "the slider shows what the rule says"
    widget.set("loopback", 3)
    fewer = widget.calculation.with_fewer
    assert fewer is not None
    assert fewer.loops == 4
    assert f"{fewer.lost_of_copies:.1%}" in str(widget)
    assert "lost" in widget._repr_mimebundle_()[0]["text/html"]
    widget.set("to 4", 0.95)
    assert "more than 1" in str(widget)
