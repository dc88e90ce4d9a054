"""What grows: tables with their entries, compiling with the source."""

from __future__ import annotations

import time
from collections.abc import Iterator

from p4lab import _engine
from p4lab.bench.measure import Measure, Say, of, part, ratios, repeats

GROUP = "tables"
# By match kind: numbers of entries, the smallest first.
SIZES = {
    "exact": (1_000, 10_000, 100_000, 1_000_000),
    "lpm": (1_000, 10_000, 100_000),
    "ternary": (1_000, 10_000),
    "range": (1_000, 10_000),
}
LINES = (100, 1_000, 10_000)
# A second, or fewer in less
INSERTS = 100_000
LOOKUPS = 2_000_000

_PROGRAM = """\
#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<32> key; }}
struct headers {{ h_t h; }}
struct meta {{ }}
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {{
    state start {{ p.extract(h.h); transition accept; }}
}}
control V(inout headers h, inout meta m) {{ apply {{ }} }}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {{
    action forward(bit<32> to) {{ s.egress_spec = (bit<9>) to; }}
{locals}
    apply {{ {apply} }}
}}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {{ apply {{ }} }}
control C(inout headers h, inout meta m) {{ apply {{ }} }}
control D(packet_out p, in headers h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""

# Eight lines of source
_STAGE = """\
    action act{n}(bit<32> to) {{
        h.h.key = h.h.key + to * {n};
        s.egress_spec = (bit<9>) (to ^ h.h.key);
    }}
    table t{n} {{
        key = {{ h.h.key : exact; }}
        actions = {{ act{n}; NoAction; }}
    }}
"""


def table_source(kind: str, size: int) -> str:
    """A program with one table of this match kind."""
    table = (
        f"    table t {{ key = {{ h.h.key : {kind}; }} actions = {{ forward; NoAction; }} "
        f"size = {size}; default_action = NoAction(); }}"
    )
    return _PROGRAM.format(locals=table, apply="t.apply();")


def long_program(lines: int) -> str:
    """A program of about this many lines: stages of an action and a table."""
    stages = max(1, (lines - _PROGRAM.count("\n")) // (_STAGE.count("\n") + 1))
    tables = "".join(_STAGE.format(n=n) for n in range(stages))
    apply = "\n".join(f"t{n}.apply();" for n in range(stages))
    return _PROGRAM.format(locals=tables, apply=apply)


def _compile(text: str) -> _engine.Program:
    result = _engine.compile_text("bench.p4", text)
    if result.program is None:
        raise ValueError(result.render())
    return result.program


def inserting(seconds: float, say: Say) -> Iterator[Measure]:
    """Entries inserted per second, one by one and in batches, into the largest table of a kind."""
    for kind, sizes in SIZES.items():
        program = _compile(table_source(kind, sizes[-1]))
        for batch in (1, 1000):
            count = part(min(sizes[-1], INSERTS), seconds, batch)
            say(f"inserting into {kind} tables, batches of {batch}")
            runs = [
                _engine.bench_table(program, kind, count, batch, 1) for _ in range(repeats(seconds))
            ]
            rates = [run["inserts_per_second"] for run in runs]
            yield of(GROUP, f"insert, {kind}, batches of {batch}", "entries/s", rates)


def looking_up(seconds: float, say: Say) -> Iterator[Measure]:
    """Lookup time against table size, as ratios to the smallest table of the same kind."""
    lookups = part(LOOKUPS, seconds)
    for kind, sizes in SIZES.items():
        programs = [_compile(table_source(kind, size)) for size in sizes]
        times: dict[int, list[float]] = {size: [] for size in sizes}
        for _ in range(repeats(seconds)):
            for size, program in zip(sizes, programs, strict=True):
                say(f"looking up in {kind} tables of {size:,}")
                run = _engine.bench_table(program, kind, size, 1000, lookups)
                times[size].append(run["lookup_ns"])
        yield of(GROUP, f"lookup, {kind}, {sizes[0]:,} entries", "ns", times[sizes[0]])
        for size in sizes[1:]:
            values = ratios(times[size], times[sizes[0]])
            yield of(GROUP, f"lookup, {kind}, {size:,} entries", f"x {sizes[0]:,}", values)


def compiling(seconds: float, say: Say) -> Iterator[Measure]:
    """Compile time per line against source size, as ratios to the shortest program."""
    texts = [long_program(lines) for lines in LINES]
    times: list[list[float]] = [[] for _ in texts]
    for _ in range(repeats(seconds)):
        for index, text in enumerate(texts):
            say(f"compiling {LINES[index]:,} lines")
            start = time.perf_counter()
            _compile(text)
            elapsed = time.perf_counter() - start
            times[index].append(elapsed * 1e6 / text.count("\n"))
    yield of(GROUP, f"compile, {LINES[0]:,} lines", "us/line", times[0])
    for lines, values in zip(LINES[1:], times[1:], strict=True):
        unit = f"x {LINES[0]:,} per line"
        yield of(GROUP, f"compile, {lines:,} lines", unit, ratios(values, times[0]))
