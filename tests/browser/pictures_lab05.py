"""Draws the pictures of lab 05's handout: python tests/browser/pictures_lab05.py

They are computed: the passes by the engine, the throughputs by the equations. Look at what it made.
"""

from __future__ import annotations

import sys
from pathlib import Path

from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Entity,
    Exact,
    TableEntry,
    Ternary,
    Update,
)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from p4lab import _engine  # noqa: E402
from p4lab.grading.frames import parsed  # noqa: E402
from p4lab.systems.bier_tna.recirculation.equations import throughputs  # noqa: E402

FOLDER = ROOT / "labs" / "05-recirculation"
INK, COPY, LOOP = "#333333", "#1f77b4", "#d9480f"
NEXT_HOPS = 5
FRAME = bytes.fromhex("020000000201020000000102ab371000013f00116a2100000004")


def save(figure: plt.Figure, name: str, source: str) -> None:
    figure.text(0.01, 0.01, source, fontsize=7, color="#666666")
    path = FOLDER / f"{name}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")


def throughput() -> None:
    """What each of five next hops gets, by equations 1 and 2."""
    figure, axis = plt.subplots(figsize=(6.4, 3.0))
    places = range(1, NEXT_HOPS + 1)
    for loops, shade in ((1, "#a5d8ff"), (2, "#4dabf7"), (3, "#1c7ed6"), (4, "#0b4884")):
        rates = throughputs(NEXT_HOPS, loops)
        shift = 0.21 * (loops - 2.5)
        word = "port" if loops == 1 else "ports"
        label = f"{loops} looped {word}"
        bars = axis.bar([i + shift for i in places], rates, 0.19, color=shade, label=label)
        axis.bar_label(bars, [f"{rate:.0f}" for rate in rates], fontsize=7, color=INK)
    axis.set(xlabel="next hop, in the order of service", ylabel="throughput in Gb/s")
    axis.set(ylim=(0, 135), xticks=list(places))
    axis.legend(fontsize=8, ncols=4, frameon=False, loc="upper center")
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    save(
        figure, "throughput", "Source: equations 1 and 2, 100 Gb/s of BIER packets for 5 next hops"
    )


def way() -> list[tuple[int, int, int, int | None]]:
    """The passes of the handout's example on the engine: the port that the packet came in by, its
    BitString, the port of its copy, and the looped port that its mirror goes to."""
    path = str(ROOT / "p4" / "bier" / "tna.p4")
    program = _engine.compile(path, [], [("BSL", "64")]).program
    assert program is not None
    switch = _engine.Switch(program)
    entities: list[Entity] = [DefaultAction("loop_count", "use_loops", (("last", 1),))]
    for turn, port in enumerate((68, 61)):
        entities.append(CloneSession(11 + turn, ((port, 0),)))
        session = (("session", 11 + turn),)
        entities.append(TableEntry("loop_sessions", (("loop", Exact(turn)),), "mirror_to", session))
    for bit, fbm, port in ((1, 0b0011, 1), (2, 0b0011, 1), (3, 0b0100, 3), (4, 0b1000, 4)):
        mask = 1 << (bit - 1)
        key = (("bift_id", Exact(0x10000)), ("remaining", Ternary(mask, mask)))
        args = (("entry", bit), ("fbm", fbm), ("port", port))
        entities.append(TableEntry("bift", key, "forward", args, 65 - bit))
        served = (("entry", Exact(bit)),)
        entities.append(TableEntry("served", served, "take_out", (("fbm", fbm),)))
    switch.write([Update("insert", entity) for entity in entities])
    switch.set_loop(61)
    switch.set_port_metadata(61, 1 << 63)
    trace = switch.trace(9, FRAME + (0b1111).to_bytes(8, "big") + bytes(40))
    passes = [packet for packet in trace["packets"] if packet["ingress_port"] is not None]
    following = [one["ingress_port"] for one in passes[1:]]
    return [
        (
            packet["ingress_port"],
            next(h for h in parsed(packet) if h.name == "bier").fields["bit_string"],
            packet["fate"]["port"],
            loop,
        )
        for packet, loop in zip(passes, [*following, None], strict=True)
    ]


def passes() -> None:
    """The three passes of a packet, one below the other."""
    figure, axis = plt.subplots(figsize=(7.4, 3.3))
    for number, (came, bits, left, loop) in enumerate(way()):
        y = -number
        for x, name in ((2.0, "ingress"), (4.6, "egress")):
            box = plt.Rectangle((x, y - 0.22), 1.5, 0.44, fill=True, fc="#f1f3f5", ec=INK, lw=1)
            axis.add_patch(box)
            axis.text(x + 0.75, y, name, ha="center", va="center", fontsize=9)
        colour = LOOP if number else INK
        axis.annotate("", (2.0, y), (1.0, y), arrowprops={"arrowstyle": "->", "color": colour})
        axis.text(0.95, y, f"port {came}\n{bits:04b}", ha="right", va="center", fontsize=9)
        axis.annotate("", (4.6, y + 0.1), (3.5, y + 0.1), arrowprops={"arrowstyle": "->"})
        axis.annotate(
            "", (7.1, y + 0.1), (6.1, y + 0.1), arrowprops={"arrowstyle": "->", "color": COPY}
        )
        axis.text(7.15, y + 0.1, f"copy, port {left}", va="center", fontsize=9, color=COPY)
        if loop is None:
            continue
        line = {"arrowstyle": "->", "color": LOOP, "ls": "--"}
        axis.annotate("", (4.6, y - 0.12), (3.5, y - 0.12), arrowprops=line)
        axis.text(4.05, y - 0.19, "mirror", ha="center", va="top", fontsize=8, color=LOOP)
        kind = "internal" if loop >= 64 else "a front port in loopback"
        axis.plot(
            [6.1, 6.6, 6.6, 1.5, 1.5],
            [y - 0.12, y - 0.12, y - 0.5, y - 0.5, y - 0.5],
            color=LOOP,
            lw=1,
        )
        axis.annotate(
            "", (1.5, y - 1), (1.5, y - 0.5), arrowprops={"arrowstyle": "-", "color": LOOP}
        )
        axis.text(6.65, y - 0.42, f"port {loop}, {kind}", va="center", fontsize=8, color=LOOP)
    axis.set(xlim=(-0.3, 9.3), ylim=(-2.5, 0.5))
    axis.axis("off")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    save(figure, "passes", "Source: a trace of the engine, p4/bier/tna.p4 with two looped ports")


if __name__ == "__main__":
    throughput()
    passes()
