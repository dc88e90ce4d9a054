"""Does a program fit a Tofino 1? An estimate of stages, memories and latency (docs/fit.md)."""

from __future__ import annotations

from p4lab.fit.estimate import Estimate, estimate_file, estimate_graph, estimate_text
from p4lab.fit.truth import Truth, TruthMissing, read_truth

__all__ = [
    "Estimate",
    "Truth",
    "TruthMissing",
    "estimate_file",
    "estimate_graph",
    "estimate_text",
    "read_truth",
]
