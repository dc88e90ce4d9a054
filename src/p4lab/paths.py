"""Where the parts of the checkout are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout: `p4/`, `labs/`, `topologies/` and the others are below it"""
