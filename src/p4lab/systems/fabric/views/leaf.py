"""A leaf that runs, slot by slot: VOQs, the cache and whose its lines are, sync CAMs, credits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from p4lab.systems.fabric.ports import PLACES
from p4lab.systems.fabric.runs import MICROSECOND, Scenario
from p4lab.systems.fabric.views import words
from p4lab.systems.fabric.views.film import (
    EVICTED,
    JUMPS,
    SUSPENDED,
    Film,
    Moment,
    Recorder,
    recorded,
)
from p4lab.widgets.view import View, script, style

HERE = Path(__file__).parent
MORE = 200
"""Slots that are added at a time"""
NOUNS = {SUSPENDED: "suspension", EVICTED: "eviction"}
LATEST = 200 * MICROSECOND
"""How far a jump looks ahead, in ps"""


class LeafView(View):
    """A film of a leaf. With a recorder it can go on where the film ends."""

    _esm = script("leaf.js", HERE)
    _css = style(HERE / "fabric.css")

    def __init__(self, film: Film, recorder: Recorder | None = None) -> None:
        super().__init__()
        self._film = film
        self._recorder = recorder
        self._stuck = bool(film.circle)
        self.on_msg(self._message)
        self._refresh()

    @property
    def film(self) -> Film:
        return self._film

    def more(self, slots: int = MORE) -> None:
        """Adds so many slots to the film, or fewer if the fabric gets stuck."""
        if self._recorder is None:
            return
        for _ in range(slots):
            if not self._recorder.step():
                self._stuck = True
                break
        self._refresh()

    def until(self, kind: str) -> None:
        """Adds the next moment at which something of a kind happens, and some slots after it; up to
        200 us are searched."""
        if self._recorder is None:
            return
        end = self._recorder.fabric.now + LATEST
        if self._recorder.until(kind, end):
            self.more(MORE // 4)
        else:
            self._film.ending = f"No other {NOUNS[kind]} comes before {words.moment(end)}."
            self._refresh()

    def _message(self, _: object, content: dict[str, Any], __: object) -> None:
        if content["do"] == "more":
            self.more()
        elif content["do"] == "until" and content["kind"] in JUMPS:
            self.until(content["kind"])

    def _refresh(self) -> None:
        more = MORE if self._recorder is not None and not self._stuck else 0
        self.data = {**plain(self._film), "more": more}

    def picture(self) -> str:
        """The moment that tells most, as tables."""
        film, best = self._film, _best(self._film.moments)
        if best is None:
            return f"<p>{escape(title(film))}: nothing was recorded.</p>"
        items = "".join(f"<li>{escape(line)}</li>" for line in _log(film))
        return (
            f"<p><b>{escape(title(film))}</b>, after {words.moment(best.time)}</p>"
            f"{_voq_table(best)}<p>{len(best.leaf['cache'])} of {film.values['cache.lines']} "
            f"lines of the cache are in use.</p><ol>{items}</ol>{_circle(film)}"
        )

    def summary(self) -> str:
        film = self._film
        circle = [words.waiting(one) for one in film.circle]
        return "\n".join(filter(None, [title(film), *_log(film), *circle, film.ending]))


def leaf_view(
    scenario: Scenario, *, leaf: int = 0, start: float = 0, slots: int = MORE, seed: int = 1
) -> LeafView:
    """A leaf of a scenario, from `start` microseconds on. Raises ValueError."""
    return LeafView(*recorded(scenario, leaf=leaf, start=start, slots=slots, seed=seed))


def title(film: Film) -> str:
    return f"Leaf {film.leaf}"


def plain(film: Film) -> dict[str, Any]:
    """A film as data for the script; VOQs are rows in the order of their ports."""
    rows = _rows(film.moments)
    place = {one["number"]: at for at, one in enumerate(rows)}
    values = film.values
    return {
        "title": title(film),
        "flows": [words.flow(number, tree) for number, tree in enumerate(film.trees)],
        "voqs": [
            {
                "name": words.voq(one["from"], one["to"]),
                "from": one["from"] % PLACES,
                "to": one["to"] % PLACES if one["to"] // PLACES == film.leaf else -1,
                "lane": one["lane"] % words.LOSSLESS,
            }
            for one in rows
        ],
        "lines": values["cache.lines"],
        "spare": values["cache.spare"],
        "sync": values["sync.on"],
        "decided": film.decided,
        "block": values["sync.block"],
        "resume": values["sync.resume"],
        "egress": values["egress.buffer"],
        "ports": [words.port(film.leaf * PLACES + at) for at in range(PLACES)],
        "moments": [_plain(moment, place, len(rows)) for moment in film.moments],
        "circle": [_edge(one) for one in film.circle],
        "ending": film.ending,
    }


def _rows(moments: Sequence[Moment]) -> list[dict[str, Any]]:
    """Every VOQ that a film has, by port, target and lane."""
    found = {one["number"]: one for moment in moments for one in moment.leaf["voqs"]}
    return sorted(found.values(), key=lambda one: (one["from"], one["to"], one["lane"]))


def _plain(moment: Moment, place: dict[int, int], count: int) -> dict[str, Any]:
    """Rows are queued, asked, granted, suspended, cells ahead or -1, flow and number of the first
    frame or -1, its cells that have crossed, and cells of this slot from cache and payload."""
    rows: list[list[int]] = [[0, 0, 0, 0, -1, -1, -1, 0, 0, 0] for _ in range(count)]
    for one in moment.leaf["voqs"]:
        ahead = -1 if one["ahead"] is None else one["ahead"]
        counts = [one["queued"], one["asked"], one["granted"], int(one["suspended"]), ahead]
        first = list(one["first"] or (-1, -1))
        crossed = moment.crossed.get(one["number"], (0, 0))
        rows[place[one["number"]]] = [*counts, *first, one["sent"], *crossed]
    return {
        "time": words.moment(moment.time),
        "voqs": rows,
        "cache": [[flow, *rest] for flow, _, *rest in moment.leaf["cache"]],
        "ports": [
            [one["payload"], one["headers"], one["egress_free"], one["stopping"], one["busy"]]
            for one in moment.leaf["ports"]
        ],
        "cam": [[place[voq] for voq in one["cam"]] for one in moment.leaf["ports"]],
        "waiting": moment.leaf["waiting"],
        "said": [{"kind": one.kind, "text": one.text} for one in moment.happenings],
        "waits": [words.waiting(one) for one in moment.waits],
    }


def _edge(one: words.Waiting) -> dict[str, str]:
    return {"who": words.short(one[0]), "said": words.waiting(one)}


def _best(moments: Sequence[Moment]) -> Moment | None:
    """The last one at which a VOQ was suspended, else the last."""
    chosen = [one for one in moments if one.has(SUSPENDED)] or moments
    return chosen[-1] if chosen else None


def _log(film: Film) -> Iterator[str]:
    for moment in film.moments:
        for one in moment.happenings:
            yield f"{words.moment(moment.time)}: {one.text}"


def _voq_table(moment: Moment) -> str:
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("VOQ", "frames", "granted", "ahead", "")
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(words.voq(one["from"], one["to"]))}</th>'
        f"<td>{one['queued']}</td><td>{one['granted']}</td><td>{one['ahead'] or 0}</td>"
        f"<td>{'suspended' if one['suspended'] else ''}</td></tr>"
        for one in moment.leaf["voqs"]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _circle(film: Film) -> str:
    items = "".join(f"<li>{escape(words.waiting(one))}</li>" for one in film.circle)
    return f"<p>{escape(film.ending)}</p>" + (f"<ol>{items}</ol>" if items else "")
