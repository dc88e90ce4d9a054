"""`p4lab fit`: is the estimate what the chip's compiler did with the probe programs?

If these fail, students plan for stages, memory and latency that no chip has.
"""

from __future__ import annotations

import ast
import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fit_shapes import AROUND, OBSERVED, REFUSED, Observed, Shape, program
from p4lab.fit import chip, estimate_file, estimate_text, latency
from p4lab.fit.dependencies import STEP, dependencies, earliest, exclusive, simplified
from p4lab.fit.estimate import Estimate, GressEstimate, timings
from p4lab.fit.graph import Action, Field, Gress, Unit, Write, load
from p4lab.fit.latency import StageTiming
from p4lab.fit.memory import Blocks, layout
from p4lab.fit.placement import Piece

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "recorded" / "tna"
BIER = ROOT / "p4" / "bier" / "tna.p4"


def sums(estimate: Estimate) -> tuple[int, int]:
    """TCAM and SRAM blocks of the whole pipe."""
    stages = estimate.pipes[0].stages
    return sum(stage.tcams for stage in stages), sum(stage.srams for stage in stages)


def ingress(estimate: Estimate) -> GressEstimate:
    return estimate.pipes[0].gresses[0]


# ---- against the real compiler ------------------------------------------------------------------


@pytest.mark.parametrize("probe", OBSERVED, ids=lambda probe: probe.name)
def test_stages_cycles_and_memory_are_the_compilers(probe: Observed) -> None:
    estimate = estimate_text("prog.p4", program(probe.shape))
    own = ingress(estimate)
    assert own.lower_bound <= probe.stages
    assert own.stages == probe.stages
    assert sums(estimate) == (probe.tcams, probe.srams)
    if probe.stages <= chip.STAGES:
        assert own.cycles == probe.cycles
    else:
        assert not estimate.fits and own.cycles is None


@pytest.mark.parametrize("shape", REFUSED.values(), ids=lambda shape: str(shape.bits))
def test_a_condition_that_reads_too_much_fits_nowhere(shape: Shape) -> None:
    estimate = estimate_text("prog.p4", program(shape))
    assert not estimate.fits
    refused = [unit for unit in ingress(estimate).units if unit.why_not]
    assert len(refused) == 1
    assert refused[0].why_not and "4 bytes and 12 bits" in refused[0].why_not


def test_the_table_in_the_docs_is_true() -> None:
    """Both numbers of each pair: the test above says that ours are the compiler's."""
    page = (ROOT / "docs" / "fit.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (bier\d+_\w+) \| [\d +]+ \| (.+) \|$", page, re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(probe.name for probe in OBSERVED)
    by_name = {probe.name: probe for probe in OBSERVED}
    for name, cells in rows:
        bound, *pairs = cells.split(" | ")
        probe = by_name[name]
        assert int(bound) <= probe.stages
        truth = (probe.stages, probe.cycles, probe.tcams, probe.srams)
        for pair, number in zip(pairs, truth, strict=True):
            ours, theirs = pair.split(" / ")
            assert int(theirs) == number and ours in (theirs, "-"), name


def recorded() -> list[Path]:
    """Recorded programs with the stage of every table."""
    notes = sorted(RECORDED.glob("*/note.txt"))
    folders = [note.parent for note in notes if "Tables->stages" in note.read_text()]
    assert len(folders) == 6, f"six programs in {RECORDED} have the stage of every table"
    return folders


def recorded_stages(folder: Path) -> dict[str, list[int]]:
    found = re.search(r"Tables->stages: (\{.*\})", (folder / "note.txt").read_text())
    assert found
    return ast.literal_eval(found[1])


def their_name(control: str, kind: str, name: str, line: int) -> str:
    if kind == "table":
        return f"{control}.{name}"
    return f"tbl_prog{line}" if kind == "statements" else f"tbl_{name.removesuffix('()')}"


def test_every_table_lies_in_the_compilers_stage() -> None:
    for folder in recorded():
        theirs = recorded_stages(folder)
        own = ingress(estimate_file(folder / "prog.p4"))
        ours = {
            their_name(own.control, unit.kind, unit.name, unit.line or 0): list(unit.stages)
            for unit in own.units
            if unit.kind != "condition"
        }
        theirs.pop("IP.$PORT_METADATA")
        assert ours == theirs, folder.name


def test_the_latency_rule_is_exact_given_the_compilers_stages() -> None:
    for folder in recorded():
        theirs = recorded_stages(folder)
        graph = load(_graph(folder / "prog.p4"))
        gress = graph.pipes[0].gresses[0]
        units = simplified(gress)
        pieces = []
        for unit in units:
            line = unit.place.line if unit.place else 0
            name = their_name(gress.control, unit.kind, unit.name, line)
            stages = theirs.get(name)
            if stages is None:
                # A condition is read in the stage of the first table it decides about.
                assert unit.kind == "condition"
                stages = [min(_stages_below(unit, units, theirs, gress.control))]
            pieces += [Piece(unit.index, stage, 0, Blocks()) for stage in stages]
        note = (folder / "note.txt").read_text()
        said = re.search(r"power.json (\d+), bfas/context.json sum (\d+)", note)
        assert said
        timing = timings(gress, units, pieces)
        assert latency.total(timing) == int(said[1])
        assert sum(latency.contributions(timing)) == int(said[2])


def _graph(path: Path) -> str:
    from p4lab import _engine

    return _engine.stage_graph(str(path))


def _stages_below(
    condition: Unit, units: tuple[Unit, ...], theirs: dict[str, list[int]], control: str
) -> list[int]:
    below = [u for u in units if any(guard == condition.index for guard, _ in u.guards)]
    names = [
        their_name(control, u.kind, u.name, u.place.line if u.place else 0)
        for u in below
        if u.kind != "condition"
    ]
    return [stage for name in names for stage in theirs[name]]


def test_the_probes_written_again_are_the_recorded_ones() -> None:
    by_name = {probe.name: probe for probe in OBSERVED}
    for folder in recorded():
        again = load(_text_graph(program(by_name[folder.name].shape)))
        once = load(_graph(folder / "prog.p4"))
        ours, theirs = (_essence(graph.pipes[0].gresses[0]) for graph in (again, once))
        assert ours == theirs, folder.name


def _text_graph(text: str) -> str:
    from p4lab import _engine

    return _engine.stage_graph_of_text("prog.p4", text)


def _essence(gress: Gress) -> list[tuple]:
    """Units and dependencies by kind, size and field, without lines and the names of variables."""
    units = simplified(gress)
    kinds = [(u.kind, layout(gress, u), [a.data for a in u.actions]) for u in units]
    edges = [(e.before, e.after, e.kind) for e in dependencies(gress, units)]
    return [*kinds, *edges]


# ---- BIER ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [64, 128, 256])
def test_bier_for_tofino_may_fit(bits: int) -> None:
    estimate = estimate_file(BIER, defines=[("BSL", str(bits))])
    assert estimate.pipes[0].lower_bound <= chip.STAGES
    for gress in estimate.pipes[0].gresses:
        assert gress.stages is not None and gress.lower_bound <= gress.stages
        assert all(unit.why_not is None for unit in gress.units)
    assert estimate.fits
    assert max(g.phv_bits for g in estimate.pipes[0].gresses) < chip.PHV_BITS


def test_a_notebook_shows_stages_beyond_the_chip_too() -> None:
    picture = estimate_text("prog.p4", program(Shape(256, "ifs")))._repr_svg_()
    assert "stage 13" in picture and "needs 14 stages, and the chip has 12" in picture


# ---- dependencies: an oracle that tries every chain ----------------------------------------------

FIELDS = 4
WIDTH = 8


@st.composite
def gresses(draw: st.DrawFn) -> Gress:
    """Units that read and write parts of a few fields, on branches of two conditions."""

    def accesses() -> frozenset[tuple[int, int, int]]:
        parts = st.tuples(st.integers(0, FIELDS - 1), st.sampled_from([(0, 3), (4, 7), (0, 7)]))
        return frozenset((f, lo, hi) for f, (lo, hi) in draw(st.lists(parts, max_size=2)))

    units: list[Unit] = []
    for index in range(draw(st.integers(1, 8))):
        # Nothing, a branch of the first unit, or one of the second, which may stand on a branch.
        guards: dict[int, frozenset[int]] = {}
        above = draw(st.integers(0, min(index, 2)))
        if above:
            guards = dict(units[above - 1].guards)
            guards[above - 1] = frozenset([draw(st.integers(0, 1))])
        action = Action(
            name="a",
            reads=accesses(),
            crossbar=frozenset(),
            writes=tuple(Write(access, False) for access in sorted(accesses())),
            data=(),
            uses=(),
            default_only=False,
        )
        units.append(
            Unit(index, "statements", "", None, tuple(guards.items()), accesses(), (action,), None)
        )
    fields = tuple(Field(f"f{i}", WIDTH, True, False) for i in range(FIELDS))
    return Gress("ingress", "C", fields, tuple(units), (), frozenset(), frozenset(), ())


def bits(accesses: frozenset[tuple[int, int, int]]) -> set[tuple[int, int]]:
    return {(field, bit) for field, lo, hi in accesses for bit in range(lo, hi + 1)}


def step(one: Unit, other: Unit) -> int | None:
    """Stages that `other` lies behind `one`, from the single bits; None if neither waits."""
    arms = dict(one.guards)
    for guard, own in other.guards:
        if guard == one.index:
            decided = True
            break
        if guard in arms and not own & arms[guard]:
            return None
    else:
        decided = False
    written, reads = bits(one.writes), bits(other.crossbar) | bits(other.alu_reads)
    if written & (reads | bits(other.writes)):
        return 1
    if decided or (bits(one.crossbar) | bits(one.alu_reads)) & bits(other.writes):
        return 0
    return None


@given(gresses())
def test_the_lower_bound_is_the_longest_of_all_chains(gress: Gress) -> None:
    units = gress.units
    longest = 0
    for size in range(1, len(units) + 1):
        for chain in combinations(units, size):
            steps = [step(a, b) for a, b in pairwise(chain)]
            if all(s is not None for s in steps):
                longest = max(longest, sum(s or 0 for s in steps))
    edges = dependencies(gress, units)
    assert max(earliest(units, edges).values()) == longest
    assert all(edge.kind in STEP and edge.before < edge.after for edge in edges)
    assert not any(exclusive(units[e.before], units[e.after]) for e in edges)


HEADS = """\
#include <core.p4>
#include <tna.p4>
header h_h {{ {fields} }}
struct h_t {{ h_h h; }}
struct m_t {{ bit<8> m; }}
"""


def chain(ingress_text: str, fields: int = 20) -> str:
    names = " ".join(f"bit<8> f{i};" for i in range(fields))
    states, deparser = "p.extract(h.h); transition accept;", "apply { p.emit(h); }"
    around = AROUND.format(states=states, ingress=ingress_text, deparser=deparser)
    return HEADS.format(fields=names) + around


def table(number: int, key: str, writes: str, size: str = "64") -> str:
    return (
        f"  action set{number}(bit<8> v) {{ {writes} = v; }}\n"
        f"  table t{number} {{ key = {{ {key}: exact; }} actions = {{ set{number}; NoAction; }}"
        f" default_action = NoAction(); size = {size}; }}\n"
    )


@pytest.mark.parametrize("length", [1, 5, 12, 13, 80])
def test_tables_in_a_chain_take_a_stage_each(length: int) -> None:
    text = "".join(table(i, f"h.h.f{i}", f"h.h.f{i + 1}") for i in range(length))
    text += "  apply { " + " ".join(f"t{i}.apply();" for i in range(length)) + " }"
    estimate = estimate_text("chain.p4", chain(text, fields=length + 20))
    own = ingress(estimate)
    assert (own.lower_bound, own.stages) == (length, length if length < 64 else None)
    late = own.units[-1].why_not
    assert late is None if length < 64 else late and late.startswith("what it waits for takes")
    assert estimate.fits == (length <= chip.STAGES)


def test_tables_that_do_not_touch_share_a_stage_and_branches_do_not_wait() -> None:
    apart = "".join(table(i, f"h.h.f{i}", f"h.h.f{i + 10}") for i in range(10))
    text = apart + "  apply { " + " ".join(f"t{i}.apply();" for i in range(10)) + " }"
    assert ingress(estimate_text("a.p4", chain(text))).stages == 1
    both = table(0, "h.h.f0", "h.h.f1") + table(1, "h.h.f1", "h.h.f0")
    one_way = both + "  apply { if (h.h.f9 == 1) { t0.apply(); } else { t1.apply(); } }"
    assert ingress(estimate_text("b.p4", chain(one_way))).stages == 1
    in_turn = both + "  apply { t0.apply(); t1.apply(); }"
    assert ingress(estimate_text("c.p4", chain(in_turn))).stages == 2
    left = both + "  apply { if (h.h.f9 == 1) { t0.apply(); return; } t1.apply(); }"
    assert ingress(estimate_text("d.p4", chain(left))).stages == 1


def test_seventeen_tables_do_not_fit_one_stage() -> None:
    text = "".join(table(i, "h.h.f0", f"h.h.f{i + 1}") for i in range(17))
    text += "  apply { " + " ".join(f"t{i}.apply();" for i in range(17)) + " }"
    own = ingress(estimate_text("many.p4", chain(text)))
    assert (own.lower_bound, own.stages) == (1, 2)


# ---- latency ------------------------------------------------------------------------------------


def test_latency_of_the_corner_cases_in_the_facts() -> None:
    """The rule of docs/fit.md ("Latency"), counted by hand."""
    assert latency.total(latency.empty_pipe()) == 54
    assert latency.total([StageTiming("match", ternary=True)] * 12) == 268
    assert latency.total(latency.padded(latency.empty_pipe())) >= chip.EGRESS_FLOOR


def oracle(stages: list[StageTiming]) -> int:
    """The rule once more, by groups: a group begins where a stage waits."""
    groups: list[list[StageTiming]] = []
    for stage in stages:
        if stage.dependency == "match" or not groups:
            groups.append([])
        groups[-1].append(stage)
    cycles = 4
    for group in groups:
        full = 20
        full += 2 if any(s.ternary for s in group) else 0
        if any(s.selector for s in group):
            full += 8
        elif any(s.stateful or s.filter for s in group):
            full += 4
        for stage in group:
            cycles += {"match": full, "action": 2, "concurrent": 1}[stage.dependency]
    return cycles


STAGES = st.builds(
    StageTiming,
    st.sampled_from(["match", "action", "concurrent"]),
    st.booleans(),
    st.booleans(),
    st.just(False),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(STAGES, min_size=12, max_size=12))
def test_latency_by_groups_is_the_same(stages: list[StageTiming]) -> None:
    stages[0] = StageTiming("match", *[getattr(stages[0], n) for n in ("ternary", "selector")])
    assert latency.total(stages) == oracle(stages)
    waiting = latency.padded(stages)
    assert latency.total(waiting) >= min(chip.EGRESS_FLOOR, 12 * 20 + 4)


# ---- bad and large input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size", ["0", "1", "65535", "1000000", "100000000", "18446744073709551615"]
)
def test_tables_of_any_size_end(size: str) -> None:
    text = table(0, "h.h.f0", "h.h.f1", size).replace("exact", "ternary")
    estimate = estimate_text("large.p4", chain(text + "  apply { t0.apply(); }"))
    own = ingress(estimate).units[0]
    assert own.why_not is None or "need more than 64 stages" in own.why_not


def test_a_key_that_no_stage_can_compare_is_refused() -> None:
    keys = " ".join(f"h.h.f{i}: ternary;" for i in range(90))
    text = f"  table t {{ key = {{ {keys} }} actions = {{ NoAction; }} }}  apply {{ t.apply(); }}"
    estimate = estimate_text("wide.p4", chain(text, fields=100))
    assert "TCAM blocks side by side" in (ingress(estimate).units[0].why_not or "")
    assert not estimate.fits


def test_a_program_that_grows_without_end_is_told_so() -> None:
    head, controls = "control C0(inout h_t h) { apply { h.h.f0 = h.h.f1; } }\n", ""
    for i in range(1, 25):
        controls += (
            f"control C{i}(inout h_t h) {{ C{i - 1}() a; C{i - 1}() b;"
            " apply { a.apply(h); b.apply(h); } }\n"
        )
    text = chain("  C24() c;\n  apply { c.apply(h); }").replace(
        "control I(", head + controls + "control I(", 1
    )
    with pytest.raises(
        ValueError, match="`I` is too large for this estimate, which follows at most 600"
    ):
        estimate_text("grow.p4", text)


def test_a_mistake_is_shown_with_its_line() -> None:
    with pytest.raises(ValueError, match=r"bad\.p4:1"):
        estimate_text("bad.p4", "const bit<8> a = b;\n")


def test_v1model_is_said_to_be_no_tofino() -> None:
    estimate = estimate_file(ROOT / "p4" / "bier" / "v1model.p4", defines=[("BSL", "64")])
    assert any("v1model" in caveat for caveat in estimate.caveats)
    assert ingress(estimate).lower_bound > 0
