"""What all figures of experiments share. If these fail, a figure says less than it should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from p4lab.experiment import panels
from p4lab.experiment.confidence import error_bars, mean_of, runs_in_words, with_interval
from p4lab.systems.bier_tna.recirculation import figures as recirculation
from p4lab.systems.bng.experiments import figures as bng
from p4lab.systems.fabric.experiments import drawing, machine, notified
from p4lab.systems.fabric.experiments.figure import Cell, Point, cells
from p4lab.systems.frr.experiments import report
from p4lab.systems.msr6.experiments import figures as msr6
from p4lab.systems.protect.experiments import cost_report
from p4lab.systems.protect.experiments import figures as protect

LONG = "; ".join(["assumed, since the paper does not say it: a host makes 25 Gb/s"] * 3)


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that were written, which stay open to be looked at."""
    from matplotlib import figure, pyplot

    found: list[Any] = []
    write = figure.Figure.savefig

    def keeping(self: Any, *how: Any, **more: Any) -> None:
        found.append(self)
        write(self, *how, **more)
        self.set_dpi(more.get("dpi", self.dpi))  # that of the file

    monkeypatch.setattr(figure.Figure, "savefig", keeping)
    monkeypatch.setattr(pyplot, "close", lambda _: None)
    return found


def outside(figure: Any) -> list[str]:
    """Texts that leave the picture. Ticks beyond an axis are not drawn."""
    renderer = figure.canvas.get_renderer()
    room = figure.bbox.padded(1)
    texts = list(figure.texts)
    for axis in figure.axes:
        texts += [axis.title, axis.xaxis.label, axis.yaxis.label, *axis.texts]
    boxes = [(one.get_text(), one.get_window_extent(renderer)) for one in texts if one.get_text()]
    return [
        text for text, box in boxes if not (room.contains(*box.min) and room.contains(*box.max))
    ]


def nothing(axis: Any) -> None:
    axis.plot([0, 1], [0, 1])


def one_bar(path: Path) -> None:
    report.draw([], path)


NARROW: dict[str, Callable[[Path], None]] = {
    "restoration": one_bar,
    "protection": lambda path: protect.save(path, [nothing], note=LONG),
    "bng": lambda path: bng.save(path, [nothing], note=LONG),
    "recirculation": lambda path: recirculation.save(path, (nothing,), note=LONG),
    "msr6": lambda path: msr6.save(path, [[nothing]], notes=[LONG], size=(3.4, 2.1)),
    "fabric": lambda path: drawing.draw(
        machine.IDLE, cells({1: [Point("", "local", 512, 0.1)]}), path, LONG
    ),
}


@pytest.mark.parametrize("name", NARROW)
def test_no_words_leave_the_picture(name: str, saved: list[Any], tmp_path: Path) -> None:
    """Without this the source of a number is cut off."""
    NARROW[name](tmp_path / "figure.svg")
    (figure,) = saved
    assert outside(figure) == []
    lines = sorted(figure.texts, key=lambda text: -text.get_position()[1])
    words = " ".join(text.get_text() for text in lines)
    assert "p4lab" in words and (name == "restoration" or LONG in words)
    for text in figure.texts:  # nor into what is drawn
        for axis in figure.axes:
            below = text.get_window_extent().y1 <= axis.get_tightbbox().y0 + 1
            assert below or text is figure._suptitle


def test_one_run_has_no_interval() -> None:
    assert (with_interval(75.5, 0.0, 1), with_interval(75.5, 3.14159, 2)) == (
        "75.50",
        "75.50 ± 3.14",
    )
    assert (runs_in_words(1, " (seed 1)"), runs_in_words(5)) == (
        "1 run (seed 1)",
        "5 runs, 95 % confidence",
    )
    assert (mean_of(1), mean_of(2)) == ("1 run", "mean of 2 runs")
    assert error_bars([0.0, 0.0], 1) is None
    assert panels.GREY  # colours are there for all


def test_error_bars_of_the_fabric_end_where_no_value_can_be(
    saved: list[Any], tmp_path: Path
) -> None:
    """Two seeds give intervals of 200 Gb/s on a line of 100."""
    panel = "points at inputs"
    by_seed = {
        seed: [
            Point(panel, curve, 1, value, 50.0) for curve in ("multicast copies", "unicast flows")
        ]
        for seed, value in ((1, 40.0), (2, 60.0))
    }
    merged = cells(by_seed)
    assert merged[0].simulated.half_width > 100
    drawing.draw(notified.FIGURE_9, merged, tmp_path / "nine.png", "seeds 1 to 2")
    (figure,) = saved
    (axis,) = figure.axes
    bars = [box for container in axis.containers for box in container[2][0].get_segments()]
    assert all(-1e-9 <= y <= 100 + 1e-9 for segment in bars for _, y in segment)
    first, second = ({x for x, _ in segment} for segment in bars)
    assert first != second  # one mark beside the other
    assert axis.get_ylim()[1] > 105  # marks at the top are whole, and have the legend above


def test_panels_of_the_fabric_say_what_they_show(saved: list[Any], tmp_path: Path) -> None:
    figure = machine.figure_broadcast(machine.Size(8))
    found: list[Cell] = cells(
        {1: [Point(machine.RATE, "512 bytes", 1, 1.0), Point("16: delay, 512 bytes", "0", 1, 0.1)]}
    )
    drawing.draw(figure, found, tmp_path / "figure.png", "seed 1")
    assert [axis.get_ylabel() for axis in saved[0].axes[:2]] == ["throughput [Gb/s]", "delay [us]"]


def test_no_packet_takes_less_than_no_time(saved: list[Any], tmp_path: Path) -> None:
    """Few runs have intervals that reach below 0."""
    rows = [
        {"source": "interpreter", "end": end, "mode": mode, "percent": 120.0, "half_width": 800.0}
        | {"runs": 2}
        for end in cost_report.ENDS
        for mode in cost_report.MODES
    ]
    cost_report.draw(rows, tmp_path / "cost.png", 100)
    assert all(axis.get_ylim()[0] == 0 for axis in saved[0].axes)
