"""Stages of a Tofino, as `p4lab fit` estimates them, for the encodings that have a program here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from p4lab.fit import estimate_file
from p4lab.paths import ROOT
from p4lab.systems.bier.entries import BSL_CODES

BIER = ROOT / "p4" / "bier" / "tna.p4"
MSR6 = ROOT / "p4" / "msr6" / "tna.p4"


@dataclass(frozen=True)
class Program:
    """A program with its macros, and which encodings it knows."""

    name: str
    file: Path
    defines: tuple[tuple[str, str], ...] = ()


PROGRAMS = (
    *(Program(f"BIER {bsl}", BIER, (("BSL", str(bsl)),)) for bsl in BSL_CODES),
    Program("MSR6 TE", MSR6, (("ONLY_TE", "1"),)),
    Program("MSR6 TE, RLB", MSR6, (("WITHOUT_BE", "1"),)),
    Program("MSR6 TE, RLB, BE", MSR6),
)


@dataclass(frozen=True)
class Stages:
    """Of one program: stages and cycles of ingress and egress, blocks of memory of the pipe."""

    program: str
    ingress: int | None
    egress: int | None
    ingress_cycles: int | None
    tcams: int
    srams: int


def estimates() -> list[Stages]:
    """One for each program."""
    return [_estimate(program) for program in PROGRAMS]


def _estimate(program: Program) -> Stages:
    (pipe,) = estimate_file(program.file, defines=list(program.defines)).pipes
    gresses = {gress.gress: gress for gress in pipe.gresses}
    return Stages(
        program.name,
        gresses["ingress"].stages,
        gresses["egress"].stages,
        gresses["ingress"].cycles,
        sum(stage.tcams for stage in pipe.stages),
        sum(stage.srams for stage in pipe.stages),
    )
