"""Draws the film and the pictures of README.md: python tests/python/readme_pictures.py

They are made from what the views hold: the same packets, the same steps, the same story. A page on
GitHub runs no scripts, so the film is an SVG that moves by itself, in the colours of the reader's
theme. test_readme_pictures.py says when they are stale; run this then, and look at what it made.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

from rich.console import Console  # noqa: E402

from p4lab.command import ENVIRONMENT as COMMAND  # noqa: E402
from p4lab.course.home import HERE  # noqa: E402
from p4lab.grading.course import load  # noqa: E402
from p4lab.grading.judge import judge  # noqa: E402
from p4lab.grading.mutants import answers  # noqa: E402
from p4lab.grading.text import render  # noqa: E402
from p4lab.grading.writers import heatmap  # noqa: E402
from p4lab.notebook import open_lab  # noqa: E402
from p4lab.widgets.svg import element, line, text  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
LAB = "01-bier"

STYLE = """
svg { --fg: #1f2328; --dim: #59636e; --bg: #ffffff; --line: #c3cad2; --router: #2b6cb0;
  --host: #8a5a0b; --hot: #c2410c; --good: #237032; --panel: #f1f3f5 }
@media (prefers-color-scheme: dark) { svg { --fg: #e6edf3; --dim: #9aa4af; --bg: #0d1117;
  --line: #444c56; --router: #63a4e8; --host: #e0a84a; --hot: #ff8a4c; --good: #69c97d;
  --panel: #21262d } }
text { font: 600 12px system-ui, sans-serif; fill: var(--fg); text-anchor: middle }
.left { text-anchor: start } .dim { fill: var(--dim); font-weight: 400 }
.mono { font: 600 12px ui-monospace, "DejaVu Sans Mono", monospace }
.link { stroke: var(--line); stroke-width: 3 } .node { fill: var(--bg); stroke-width: 2.5 }
.router { stroke: var(--router) } .host { stroke: var(--host) }
.mark { font-size: 10px; paint-order: stroke; stroke: var(--bg); stroke-width: 3px }
.reached { fill: color-mix(in srgb, var(--good) 30%, var(--bg)); stroke: var(--good) }
.pill { fill: var(--bg); stroke: var(--hot); stroke-width: 1.6 } .on { fill: var(--hot) }
.packet text { font: 600 10px ui-monospace, monospace } .packet .lit { fill: var(--bg) }
.cell { fill: none; stroke: var(--line) } .here { fill: var(--hot); opacity: .18 }
.set0 { fill: var(--hot) } .set1 { fill: var(--router) } .set2 { fill: var(--host) }
.white { fill: var(--bg) }
"""


def svg(width: float, height: float, title: str, *parts: str) -> str:
    """A picture with a title for those who do not see it."""
    inside = [element("title", escape(title)), f"<style>{STYLE}</style>", *parts]
    return (
        element(
            "svg",
            *(f"{part}\n" for part in inside),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width:g} {height:g}",
            width=f"{width:g}",
            height=f"{height:g}",
            role="img",
        )
        + "\n"
    )


# ---- The film: copies on the links ---------------------------------------------------------------

MOVES, HOLDS = 9.0, 3.0  # seconds of packets on their way, and of the last picture
LEAST = 0.75  # seconds that a packet is on a link, so that its bits can be read
CELL = 9.0  # a digit on a packet


def film() -> str:
    """The first packet of lab 01 on its way through ten routers, as the topology view has it."""
    data = open_lab(LAB, folder=HERE.sources).topology_view().data
    nodes = {node["name"]: node for node in data["nodes"]}
    flights = sorted(data["flights"], key=lambda one: one["start"])
    clock = _clock(flights)
    size, height = data["size"], data["height"] + 34
    ends = (nodes[name] for pair in data["links"] for name in pair)
    pairs = zip(*[((one["x"], one["y"]) for one in ends)] * 2, strict=True)
    links = [line(a, b, "link") for a, b in pairs]
    arrivals: dict[str, float] = {}
    for one in flights:
        arrivals.setdefault(one["target"], clock(one["end"]))
    drawn = [_node(node, size, arrivals.get(node["name"])) for node in data["nodes"]]
    flying = [_flight(one, nodes, clock) for one in flights]
    said = list(_captions(data, clock, height))
    title = f"A packet is copied hop by hop: {data['summary']}"
    return svg(data["width"], height, title, *links, *drawn, *flying, *said)


def _clock(flights: list[dict[str, Any]]) -> Callable[[float], float]:
    """The part of the film (0 to 1) at which a moment of virtual time is shown: each hop takes as
    long as any other."""
    moments = sorted({one[side] for one in flights for side in ("start", "end")})
    whole = MOVES + HOLDS
    place = {moment: number for number, moment in enumerate(moments)}
    step = MOVES / max(1, len(moments) - 1)
    return lambda moment: (0.3 + place[moment] * step) / whole


def _animated(attribute: str, values: list[tuple[float, str]], calc: str = "discrete") -> str:
    """An attribute's values from parts of the film on, over and over."""
    return element(
        "animate",
        attributeName=attribute,
        dur=f"{MOVES + HOLDS + 0.3:g}s",
        repeatCount="indefinite",
        calcMode=calc,
        keyTimes=";".join(f"{at:.4f}" for at, _ in values),
        values=";".join(value for _, value in values),
    )


def _node(node: Mapping[str, Any], size: float, arrival: float | None) -> str:
    x, y, is_host = node["x"], node["y"], node["kind"] == "host"
    lit = f"node {node['kind']}", f"node {'reached' if is_host else node['kind']}"
    blink = _animated("class", [(0, lit[0]), (arrival, lit[1])]) if arrival and is_host else ""
    if is_host:
        side = 2 * size - 4
        box = {"x": x - side / 2, "y": y - side / 2, "width": side, "height": side, "rx": 5}
        shape = element("rect", blink, class_=lit[0], **box)
    else:
        shape = element("circle", blink, cx=x, cy=y, r=size, class_=lit[0])
    mark = text((x, y + size + 13), node["mark"], "dim mark")
    return shape + text((x, y + 4), node["name"]) + mark


def _flight(
    one: Mapping[str, Any], nodes: Mapping[str, Any], clock: Callable[[float], float]
) -> str:
    """A frame on its link, with what it carries."""
    a, b = nodes[one["source"]], nodes[one["target"]]
    start, end = clock(one["start"]), clock(one["end"])
    way = [f"{a['x']:g},{a['y']:g}", f"{b['x']:g},{b['y']:g}"]
    move = element(
        "animateTransform",
        attributeName="transform",
        type="translate",
        dur=f"{MOVES + HOLDS + 0.3:g}s",
        repeatCount="indefinite",
        keyTimes=f"0;{start:.4f};{end:.4f};1",
        values=";".join((way[0], way[0], way[1], way[1])),
    )
    seen = _animated("opacity", [(0, "0"), (start, "1"), (end, "0")])
    return element("g", _pill(one), move, seen, class_="packet", opacity="0")


def _pill(one: Mapping[str, Any]) -> str:
    label = one["label"]
    is_digits = one["kind"] == "digits"
    width = len(label) * (CELL if is_digits else 7) + 10
    shape = element("rect", x=-width / 2, y=-9.0, width=width, height=18, rx=9, class_="pill")
    if not is_digits:
        return shape + text((0, 3.5), label)
    left = -len(label) * CELL / 2
    digits = []
    for place, digit in enumerate(label):
        x = left + place * CELL
        if digit == "1":
            digits.append(element("rect", x=x, y=-7.0, width=CELL, height=14, class_="on"))
        digits.append(text((x + CELL / 2, 3.5), digit, "lit" if digit == "1" else "dim"))
    return shape + "".join(digits)


def _captions(
    data: Mapping[str, Any], clock: Callable[[float], float], height: float
) -> Iterator[str]:
    """What happens, in words, below the network; in the end who has got the packet."""
    shown: dict[float, str] = {}
    for event in data["events"]:
        try:
            shown[clock(event["time"])] = event["text"]
        except KeyError:  # nothing flies then
            continue
    moments = [*sorted(shown), 1.0]
    for at, until in pairwise(moments):
        last = until == 1.0
        words = data["summary"] if last else shown[at]
        seen = [(0.0, "0"), (at, "1"), *([] if last else [(until, "0")])]
        yield element(
            "g", text((16, height - 14), words, "left"), _animated("opacity", seen), opacity="0"
        )


# ---- The bits of one packet, beside the line that changes them -----------------------------------

ROWS = (("bit_string", "BitString"), ("remaining", "remaining"), ("fbm", "F-BM"))
SIDE = 25.0  # a bit
AROUND = 5  # lines of source before and after


def bits() -> str:
    """A step of the bit view: the table splits the receivers by next hop. The line gives no answer
    away."""
    lab = open_lab(LAB, folder=HERE.sources)
    data = lab.bit_view("r1", lab.send()).data
    step = next(one for one in data["passes"][1]["steps"] if one["text"].startswith("Table"))
    names = data["names"]
    parts = [text((16, 24), f"{data['title']}: pass 2", "left")]
    left, top = 96.0, 44.0
    for number in range(len(names), 0, -1):
        x = left + (len(names) - number) * (SIDE + 3) + SIDE / 2
        parts += [text((x, top), str(number)), text((x, top + 13), names[number - 1], "dim")]
    for row, (name, label) in enumerate(ROWS):
        y = top + 22 + row * (SIDE + 4)
        parts.append(text((left - 10, y + 17), label, text_anchor="end", style="text-anchor:end"))
        value = (step["state"][name] or "").rjust(len(names), "0")
        for place, bit in enumerate(value):
            x = left + place * (SIDE + 3)
            box = {"x": x, "y": y, "width": SIDE, "height": SIDE, "rx": 4}
            parts.append(element("rect", class_=f"set{row}" if bit == "1" else "cell", **box))
            word = "white mono" if bit == "1" else "dim mono"
            parts.append(text((x + SIDE / 2, y + 17), bit, word))
    said = re.sub(r"(hit,) ", r"\1 | ", step["text"]).split(" | ")
    y = top + 22 + 3 * (SIDE + 4) + 18
    parts += [text((16, y + place * 18), words, "left") for place, words in enumerate(said)]
    parts += _source(data["sources"][step["file"]], step["line"], 410.0)
    return svg(
        860, 232, f"The bits of one packet beside the line that reads them: {said[0]}", *parts
    )


def _source(file: Mapping[str, Any], here: int, left: float) -> Iterator[str]:
    """The lines around one of them."""
    yield text((left, 24), f"{file['name']}, line {here}", "left")
    first = here - AROUND
    for place, words in enumerate(file["lines"][first - 1 : here + AROUND]):
        y = 48.0 + place * 16.5
        if first + place == here:
            yield element("rect", x=left, y=y - 12, width=440, height=17, class_="here")
        yield text((left + 6, y), str(first + place), "left dim mono")
        indent = len(words) - len(words.lstrip())
        words, room = words.strip(), int(56 - indent * 0.75)
        shown = words if len(words) <= room else f"{words[: room - 1]}…"
        yield text((left + 42 + indent * 5.5, y), shown, "left mono")


# ---- A failed check as a story -------------------------------------------------------------------

COLUMNS = 100  # characters
RIGHT, WRONG = "carried.remaining & fbm;", "carried.remaining;"

TERMINAL = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>A failed check tells what was sent, what was expected, and the line</title>
<style>.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px }}
{styles}</style>
<defs>{lines}</defs><rect width="{width}" height="{height}" rx="8" fill="#292929"/>
<g transform="translate({terminal_x}, {terminal_y})">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""


def story() -> str:
    """What `p4lab check` prints of a copy that keeps all bits, from the failed check on."""
    course = load(LAB)
    (name,) = course.student.edit
    wrong = "\n".join(
        row for row in course.sources[name].split("\n") if not re.match(r"\s*// (BEGIN|END) ", row)
    )
    assert wrong.count(RIGHT) == 1
    verdict = judge(course, {name: wrong.replace(RIGHT, WRONG)})
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        whole = Console(
            width=COLUMNS,
            record=True,
            file=nowhere,
            force_terminal=True,
            _environ={"TERM": "xterm"},  # whatever the terminal is in which this runs
        )
        whole.print(render(course, verdict, part="forward"))
        return whole.export_svg(title="", code_format=TERMINAL, unique_id="story")


# ---- A class -------------------------------------------------------------------------------------

EVERY = 4  # of the wrong answers: enough for a class


def a_class() -> str:
    """The heat map of a class that is made of the lab's right and wrong answers."""
    course = load(LAB)
    found = answers(course)
    chosen = [*found[:3], *found[3::EVERY]]
    verdicts = [
        judge(course, dict(one.files), student=f"student {number:02}", seed=1)
        for number, one in enumerate(chosen, 1)
    ]
    return heatmap.draw(LAB, verdicts)


PICTURES: dict[str, Callable[[], str]] = {
    "film": film,
    "bits-and-line": bits,
    "story": story,
    "class": a_class,
}


def draw(name: str) -> str:
    """A picture as it should be now."""
    before = {key: os.environ.get(key) for key in ("P4LAB_FOLDER", COMMAND)}
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update({"P4LAB_FOLDER": folder, COMMAND: "./lab"})
        try:
            return PICTURES[name]()
        finally:
            for key, value in before.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value


def path_of(name: str) -> Path:
    return FOLDER / f"readme-{name}.svg"


def main() -> None:
    for name in sys.argv[1:] or PICTURES:
        path = path_of(name)
        path.write_text(draw(name), encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
