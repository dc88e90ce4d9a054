"""Whether a packet of an STF script never comes to an end: scripts look at what comes out, and a
packet that runs in circles may send nothing, or what it should.

A switch gives such a packet up and says so nowhere in a script's report. So the passes through the
ingress control are counted, by a counter that the script then asks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from p4lab import _engine
from p4lab.grading.course import Defines, compile_files
from p4lab.grading.probes import with_counter

COUNTER = "p4lab_passes"

MOST_MORE = 512
"""So many passes more than the reference's are no other way to be right. The switch gives a packet
up after 1,024."""

# The place of the ingress control among a package's blocks, and a counter of one cell.
_INGRESS = {
    "V1Switch": (2, f"counter(1, CounterType.packets) {COUNTER};"),
    "Switch": (1, f"Counter<bit<32>, bit<1>>(1, CounterType_t.PACKETS) {COUNTER};"),
}


Files = tuple[tuple[str, str], ...]
"""A program's files: path and text"""


def passes(
    program: _engine.Program, name: str, files: Mapping[str, str], defines: Defines, script: Path
) -> int:
    """How many passes through ingress all packets of a script make together in a program, by its
    entry file; 0 if they cannot be counted."""
    return _passes(program, name, tuple(files.items()), defines, script)


@lru_cache(maxsize=256)
def _passes(
    program: _engine.Program, name: str, files: Files, defines: Defines, script: Path
) -> int:
    counting, control = _counting(program, name, files, defines)
    if counting is None:
        return 0
    asked = f"check_counter {control}.{COUNTER}(0) packets == 0\n"
    findings = _engine.stf(counting, str(script), then=asked)["findings"]
    told = re.search(rf"{COUNTER} is (\d+)", findings[-1]["message"]) if findings else None
    return int(told.group(1)) if told else 0


@lru_cache(maxsize=16)
def _counting(
    program: _engine.Program, name: str, files: Files, defines: Defines
) -> tuple[_engine.Program | None, str]:
    """The program with the counter, if it can have one, and its ingress control."""
    texts = dict(files)
    place, declared = _INGRESS[program.summary["package"]]
    block = program.summary["blocks"][place]
    text = with_counter(texts[block["file"]], block["line"], declared, f"{COUNTER}.count(0);")
    counting = compile_files(name, {**texts, block["file"]: text}, defines)
    return counting.program, block["name"]
