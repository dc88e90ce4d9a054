"""`p4lab fit --compiled`: the compiler's own numbers, read from folders made here in its form.

If these fail, a student sees wrong numbers under the compiler's name, or a traceback.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fit_shapes import Shape, program
from p4lab.fit import Estimate, Truth, TruthMissing, estimate_text, read_truth
from p4lab.fit.terminal import chart

# Where the compiler put the tables of bier64_tbl (tests/recorded/tna), and with which features.
STAGES = {
    "IP.$PORT_METADATA": [-1],
    "I.bift": [0],
    "I.frr": [2],
    "tbl_split": [3],
    "I.tz": [4],
    "tbl_clone": [5],
    "I.msel": [6],
    "tbl_other": [7],
}
TERNARY, STATEFUL = {0, 2, 3, 4, 5}, {1, 5}
DEPENDENCY = ["match", "match", "match", "action", "match", "match", "match"]
CYCLES = [22, 24, 22, 2, 22, 26, 20, 1, 1, 1, 1, 1]


def row(gress: str, stage: int, dependency: str, cycles: int) -> dict[str, Any]:
    inside = gress == "ingress"
    return {
        "gress": gress,
        "stage_number": stage,
        "dependency_to_previous": dependency,
        "clock_cycles": cycles,
        "predication_cycle": 11,
        "cycles_contribute_to_latency": cycles,
        "features": {
            "exact": stage == 6 and inside,
            "ternary": stage in TERNARY and inside,
            "statistics": False,
            "lpf_wred": False,
            "selectors": False,
            "max_selector_words": 0,
            "stateful": stage in STATEFUL and inside,
        },
    }


def power() -> dict[str, Any]:
    rows = [
        row("ingress", stage, (DEPENDENCY + ["concurrent"] * 5)[stage], CYCLES[stage])
        for stage in range(12)
    ]
    rows += [
        row("egress", stage, "match" if stage < 8 else "concurrent", 20) for stage in range(12)
    ]
    tables = [
        {"name": name, "gress": "ingress", "stages": [{"stage_number": s} for s in stages]}
        for name, stages in STAGES.items()
    ]
    return {
        "compiler_version": "9.13.4",
        "tables": tables,
        "stage_characteristics": rows,
        "total_latency": [
            {"gress": "ingress", "latency": 147, "pipe_number": 0},
            {"gress": "egress", "latency": 168, "pipe_number": 0},
        ],
    }


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A folder as bf-p4c leaves it."""
    logs = tmp_path / "prog.tofino" / "pipe" / "logs"
    logs.mkdir(parents=True)
    (logs / "power.json").write_text(json.dumps(power()))
    # Two stages of blocks are enough to see that they are added up.
    stages = [
        {
            "stage_number": number,
            "rams": {"srams": [{}] * srams},
            "tcams": {"tcams": [{}] * tcams},
            "map_rams": {"maprams": [{}] * 2},
        }
        for number, (srams, tcams) in enumerate([(9, 4), (4, 2)])
    ]
    resources = {"resources": {"mau": {"nStages": 12, "mau_stages": stages}}}
    (logs / "resources.json").write_text(json.dumps(resources))
    ends = [row("ingress", stage, "match", CYCLES[stage]) for stage in range(12)]
    context = {"mau_stage_characteristics": ends}
    (logs.parent / "context.json").write_text(json.dumps(context))
    return tmp_path / "prog.tofino"


@cache
def estimate() -> Estimate:
    return estimate_text("prog.p4", program(Shape(64, "tbl")))


def shown(truth: Truth) -> str:
    console = Console(width=120, highlight=False, color_system=None)
    with console.capture() as capture:
        console.print(chart(estimate(), truth))
    return capture.get()


def test_the_compilers_numbers_stand_beside_ours(compiled: Path) -> None:
    truth = read_truth(compiled)
    own = truth.pipes[0].gresses[0]
    assert (own.stages, own.cycles, own.assembler_cycles) == (8, 147, sum(CYCLES))
    assert own.rule_cycles == own.cycles
    lines = [" ".join(line.split()) for line in shown(truth).splitlines()]
    assert "ingress stages 7 8" in lines
    assert "ingress cycles 147 147" in lines
    assert "SRAM blocks 13 13" in lines and "TCAM blocks 6 6" in lines
    assert any(line.startswith("msel (line ") and line.endswith(") 6 6") for line in lines)
    assert any(line.startswith("split() (line ") and line.endswith(") 3 3") for line in lines)
    assert "tbl_other - 7" in lines
    assert not any("PORT_METADATA" in line for line in lines)


def test_the_folder_of_the_pipe_will_do(compiled: Path) -> None:
    assert read_truth(compiled / "pipe").pipes == read_truth(compiled).pipes


def test_counts_of_metrics_json_will_do(compiled: Path) -> None:
    logs = compiled / "pipe" / "logs"
    before = read_truth(compiled)
    (logs / "resources.json").unlink()
    mau = {"srams": 13, "tcams": 6, "map_rams": 4, "logical_tables": 11}
    (logs / "metrics.json").write_text(json.dumps({"mau": mau}))
    assert read_truth(compiled) == before


@pytest.mark.parametrize("name", ["logs/resources.json", "context.json"])
def test_a_missing_file_is_one_sentence_and_the_rest_is_read(compiled: Path, name: str) -> None:
    (compiled / "pipe" / name).unlink()
    truth = read_truth(compiled)
    assert len(truth.missing) == 1 and name in truth.missing[0]
    assert truth.missing[0] in shown(truth).replace("\n", "") or name in shown(truth)


def test_without_power_json_there_is_no_truth(compiled: Path, tmp_path: Path) -> None:
    (compiled / "pipe" / "logs" / "power.json").unlink()
    with pytest.raises(TruthMissing, match=r"no pipe/logs/power\.json in it; compile with `bf-p4c"):
        read_truth(compiled)
    with pytest.raises(TruthMissing, match="no such folder"):
        read_truth(tmp_path / "nowhere")


def test_damaged_files_get_a_sentence(compiled: Path) -> None:
    """Values anywhere in power.json are replaced or lost: numbers or a sentence, nothing else."""
    path = compiled / "pipe" / "logs" / "power.json"
    generator = random.Random(6)
    for _ in range(60):
        data = power()
        damage(data, generator)
        path.write_text(json.dumps(data))
        try:
            truth = read_truth(compiled)
            shown(truth)
        except TruthMissing as error:
            assert str(error).startswith(str(path)) and str(error).endswith(".")
    for text in ("", "[]", "{", "nul", "[" * 100_000, "\x00"):
        path.write_text(text)
        with pytest.raises(TruthMissing):
            read_truth(compiled)


def damage(data: Any, generator: random.Random) -> None:
    while isinstance(data, (dict, list)) and data:
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        key = generator.choice(keys)
        if generator.random() < 0.3 or not isinstance(data[key], (dict, list)):
            data[key] = generator.choice([None, -1, 10**30, "match", [], {}, 0.5, True, [[]]])
            return
        data = data[key]
