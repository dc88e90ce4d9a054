"""The instructor's page as HTML: who is where, and which check fails most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from p4lab.command import command
from p4lab.grading.writers.text import escaped, number

STATIC = Path(__file__).parent / "static"
"""Its style and its script"""

SHOWN = 3
"""How many of the checks that fail most are listed"""

SIGNS = {"passed": ("✓", "passed"), "failed": ("✗", "failed"), "skipped": ("·", "waits")}

State = Mapping[str, Any]


def page(state: State | None, here: Mapping[str, bool], wished: bool, token: str, path: str) -> str:
    """The whole page. `state` is what `watch` wrote, None before its first round; `here` says who
    has a server."""
    base = escaped(path if path.endswith("/") else f"{path}/")
    title = f"{state['lab']}: the class" if state else "The class"
    body = (
        "".join(_body(state, here))
        if state
        else "<p>The first look at the class takes a minute.</p>"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escaped(title)}</title><link rel="stylesheet" href="{base}static/class.css">'
        f'<script src="{base}static/class.js" defer></script></head><body><main>'
        f'<h1>{escaped(title)}</h1><div id="live">{body}</div>'
        f"{_collecting(state, wished, token)}</main></body></html>\n"
    )


def _body(state: State, here: Mapping[str, bool]) -> Iterator[str]:
    students: list[State] = sorted(state["students"], key=_name)
    most = state["max_points"]
    done = sum(bool(one["checks"]) and one["points"] >= most for one in students)
    present = sum(one["login"] in here for one in students)
    yield '<ul class="figures">'
    for count, words in ((present, "here now"), (done, "done"), (len(students), "in the class")):
        yield f"<li><b>{count}</b> {words}</li>"
    yield "</ul>"
    yield from _failing(state["checks"], students)
    yield from _table(state, students, here)
    yield f'<p class="dim">Looked at {escaped(_clock(state["looked"]))}.</p>'


def _name(one: State) -> list[str | int]:
    """By what a student is found in the table: s2 comes before s10."""
    parts = re.split(r"(\d+)", (one["name"] or one["id"]).casefold())
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def _failing(checks: Sequence[State], students: Sequence[State]) -> Iterator[str]:
    """The checks that most students fail, of those whose needs they meet."""
    failed = Counter(
        name for one in students for name, status in one["checks"].items() if status == "failed"
    )
    yield "<h2>Checks that fail most</h2>"
    if not failed:
        yield "<p>No check fails.</p>"
        return
    yield '<ol class="failing">'
    most = [check for check in checks if failed[check["id"]]]
    most.sort(key=lambda check: -failed[check["id"]])
    for check in most[:SHOWN]:
        count = failed[check["id"]]
        yield (
            f'<li><meter min="0" max="{len(students)}" value="{count}" '
            f'aria-label="{count} of {len(students)} students"></meter> '
            f"<b>{count}</b> of {len(students)}: {escaped(check['title'])}</li>"
        )
    yield "</ol>"


def _table(state: State, students: Sequence[State], here: Mapping[str, bool]) -> Iterator[str]:
    checks = state["checks"]
    yield '<h2 id="who">Who is where</h2>'
    yield '<div class="wide" tabindex="0" role="region" aria-labelledby="who"><table><thead><tr>'
    yield '<th scope="col">Student</th><th scope="col">Here</th><th scope="col">Points</th>'
    for place, check in enumerate(checks, 1):
        title = escaped(check["title"])
        yield f'<th scope="col" class="check"><abbr title="{title}">{place}</abbr></th>'
    yield '<th scope="col">Last change</th></tr></thead><tbody>'
    for one in students:
        yield from _row(one, checks, state["max_points"], here)
    yield "</tbody></table></div>"
    listed = "".join(f"<li>{escaped(check['title'])}</li>" for check in checks)
    yield "<details><summary>What the numbers of the checks mean</summary>"
    yield f"<ol>{listed}</ol></details>"


def _row(
    one: State, checks: Sequence[State], most: float, here: Mapping[str, bool]
) -> Iterator[str]:
    name = one["name"] or one["id"]
    yield f'<tr><th scope="row">{escaped(name)} <span class="dim">{escaped(one["id"])}</span></th>'
    ready = here.get(one["login"])
    yield {None: "<td>–</td>", True: '<td class="here">● here</td>'}.get(ready, "<td>starts</td>")
    if not one["checks"]:
        why = one["trouble"] or "not begun"
        yield f'<td colspan="{len(checks) + 2}" class="dim">{escaped(why)}</td></tr>'
        return
    points = one["points"]
    yield (
        f'<td class="points"><meter min="0" max="{most}" value="{points}" '
        f'aria-label="{number(points)} of {number(most)} points"></meter> {number(points)}</td>'
    )
    for check in checks:
        sign, words = SIGNS[one["checks"][check["id"]]]
        yield f'<td class="{words}"><span role="img" aria-label="{words}">{sign}</span></td>'
    yield f"<td>{escaped(_clock(one['changed']))}</td></tr>"


def _collecting(state: State | None, wished: bool, token: str) -> str:
    if state is None:
        return ""
    told = "Collecting now." if wished else state["collected"] or "Nothing has been collected yet."
    grade = f"{command()} grade {state['lab']} {state['handins']} --roster {state['roster']}"
    return (
        f'<h2>Hand-ins</h2><form method="post"><input type="hidden" name="_xsrf" '
        f'value="{escaped(token)}"><button>Collect everyone\'s files now</button></form>'
        f'<p id="collected" role="status">{escaped(told)}</p>'
        f"<p>On the server, <code>sudo {escaped(grade)}</code> grades them.</p>"
    )


def _clock(when: str) -> str:
    """A time of UTC in words that are short: how long ago."""
    then = datetime.strptime(when, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    minutes = int((datetime.now(timezone.utc) - then).total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 120:
        return f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 2880 else f"{minutes // 1440} days ago"
