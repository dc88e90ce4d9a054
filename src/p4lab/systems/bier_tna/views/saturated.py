"""A student's TNA program at 100 Gb/s in virtual time, beside the formulas and the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from p4lab.plurals import count_of
from p4lab.systems.bier_tna.recirculation.equations import throughputs
from p4lab.systems.bier_tna.recirculation.notebook import simulate_with_bar
from p4lab.systems.bier_tna.recirculation.results import ERRATA, PAPER_TABLE2, SOURCE
from p4lab.systems.bier_tna.recirculation.simulation import Outcome, Setup

if TYPE_CHECKING:
    from p4lab.notebook.lab import Lab

LINE = 100.0  # Gb/s
_BAR = 260  # pixels of 100 Gb/s
_COLOURS = ("#1c7ed6", "#d9480f", "#2b8a3e", "#7048e8", "#868e96")
PACKETS = 120_000
"""Most that come in in one run: a cell of the notebook takes a few seconds"""


class Saturated:
    """What every next hop gets of a saturated line, for one arbitration or several."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = tuple(outcomes)

    @property
    def first(self) -> Outcome:
        return self.outcomes[0]

    def share(self) -> str:
        """How much the last next hop gets in the first run, in words."""
        return in_words(self.first.last.value / LINE)

    def __add__(self, other: Saturated) -> Saturated:
        return Saturated([*self.outcomes, *other.outcomes])

    def __repr__(self) -> str:
        rows = [[name, *(f"{value:.1f}" for value in values)] for name, values in self._rows()]
        hops = range(1, self.first.setup.next_hops + 1)
        head = ["Gb/s at next hop", *map(str, hops)]
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        lines = [
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in [head, *rows]
        ]
        return "\n".join([self._title(), *lines, self._paper()]).strip()

    def _title(self) -> str:
        setup = self.first.setup
        hops, loops = (
            count_of(setup.next_hops, "next hop"),
            count_of(setup.loops, "recirculation port"),
        )
        return f"{hops}, {loops}, 100 Gb/s come in"

    def _rows(self) -> Iterator[tuple[str, Sequence[float]]]:
        for outcome in self.outcomes:
            yield f"your program, {outcome.arbitration}", [one.value for one in outcome.throughput]
        setup = self.first.setup
        yield "equations 1 and 2", throughputs(setup.next_hops, setup.loops)

    def _paper(self) -> str:
        setup = self.first.setup
        if (setup.next_hops, setup.loops) not in PAPER_TABLE2:
            return ""
        model, measured = PAPER_TABLE2[setup.next_hops, setup.loops]
        return f"Paper, last next hop: {measured:g} Gb/s measured, {model:g} Gb/s by its table 2."

    def _repr_html_(self) -> str:
        blocks = []
        for number, (name, values) in enumerate(self._rows()):
            colour = _COLOURS[number % len(_COLOURS)] if number < len(self.outcomes) else "#adb5bd"
            bars = "".join(
                f'<div style="display:flex;align-items:center;gap:6px"><span style="width:1.2em;'
                f'text-align:right">{hop}</span><span style="display:inline-block;height:11px;'
                f'width:{max(1.0, value / LINE * _BAR):.0f}px;background:{colour}"></span>'
                f"{value:.1f}</div>"
                for hop, value in enumerate(values, 1)
            )
            blocks.append(
                f'<div style="margin:0 18px 10px 0;width:27em"><b>{escape(name)}</b>{bars}</div>'
            )
        paper = f"<div>{escape(self._paper())}</div>" if self._paper() else ""
        return (
            f'<div class="p4-saturated" style="font:13px/1.35 system-ui,sans-serif">'
            f"<b>{escape(self._title())}</b>; throughput in Gb/s at next hop 1, 2, ..."
            f'<div style="display:flex;flex-wrap:wrap;margin-top:8px">{"".join(blocks)}</div>'
            f"{paper}</div>"
        )


_LETTERS = (
    "a: share of the packets that are multicast; n: next hops of such a packet; R: recirculations "
    "per packet; U: how many times as much a recirculation port may be used as others; m: ports "
    "with traffic; m': recirculation ports, one of them internal; T(i): throughput at next hop i; "
    "p: probability that a recirculation is lost"
)


class Errata:
    """What the paper says and its own formulas do not."""

    def __repr__(self) -> str:
        rows = [f"{one.where}: {one.paper}. Right: {one.right}." for one in ERRATA]
        return "\n".join([*rows, f"{_LETTERS}."])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(one.where)}<td>{escape(one.paper)}<td>{escape(one.right)}"
            f"<td>{escape(one.why)}</tr>"
            for one in ERRATA
        )
        # JupyterLab sets tables flush right, which is for numbers.
        style = ".p4-errata th, .p4-errata td { text-align: left !important; vertical-align: top }"
        return (
            f'<style>{style}</style><table class="p4-errata">'
            "<thead><tr><th>where<th>the paper<th>right<th>why</tr></thead>"
            f"<tbody>{rows}</tbody></table><p>{escape(_LETTERS)}.</p>"
            f"<small>{escape(SOURCE)}</small>"
        )


def saturate(
    lab: Lab, next_hops: int, loops: int, arbitration: str = "tail-drop", *, seed: int = 1
) -> Saturated:
    """Sends 100 Gb/s of BIER packets for so many next hops into one switch with the lab's program,
    and measures at every next hop. `arbitration` says whose packets a full loop queue takes.

    Raises ValueError for what cannot be simulated, ProgramError if the files do not compile.
    """
    setup = Setup(
        next_hops,
        loops,
        arbitration,
        seed=seed,
        most_packets=PACKETS,
        program=lab.folder.program,
    )
    return Saturated([simulate_with_bar(setup)])


def in_words(share: float) -> str:
    """A share of the line as one says it, in the steps that a prediction offers."""
    steps = ((0.01, "nothing"), (0.2, "less than a fifth"), (0.5, "a fifth to a half"))
    for below, said in steps:
        if share < below:
            return said
    return "more than half" if share < 0.97 else "all of it"


SHARES = ("nothing", "less than a fifth", "a fifth to a half", "more than half", "all of it")
