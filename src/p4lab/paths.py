"""Where the parts of the checkout are."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout: `p4/`, `labs/`, `topologies/` and the others are below it"""

SHIMS_MARK = ".p4lab-shims"
"""A file in folders of `p4lab shims`, whose programs have the names of p4c's and bmv2's"""


def without_shims(path: str) -> str:
    """A search path without such folders: who looks for the real bmv2 must not find p4lab."""
    places = [place for place in path.split(os.pathsep) if place]
    # os.path is content with a place that may not be looked into: it is not one of ours.
    return os.pathsep.join(p for p in places if not os.path.isfile(Path(p, SHIMS_MARK)))
