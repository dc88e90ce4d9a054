"""Where the parts of the checkout are, or of what an installed p4lab carries of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
"""The Python package"""

MATERIAL = PACKAGE / "material"
"""What `provision/wheel.py` packs for those without a checkout"""

INSTALLED = MATERIAL.is_dir()
"""Whether p4lab comes from such a wheel"""

ROOT = MATERIAL if INSTALLED else PACKAGE.parents[1]
"""`p4/`, `labs/`, `topologies/` and the others are below it"""

STATE = Path.home() / ".cache" / "p4lab" if INSTALLED else ROOT / ".lab"
"""What may be thrown away and made again"""

SHIMS_MARK = ".p4lab-shims"
"""A file in folders of `p4lab shims`, whose programs have the names of p4c's and bmv2's"""


def reading() -> int:
    """How a file is opened that somebody else may have put there: no link is followed, and no pipe
    waited for. A browser has no pipes, and the drive of its notebooks takes O_NONBLOCK for writing:
    the file would be written anew."""
    waiting = 0 if sys.platform == "emscripten" else os.O_NONBLOCK
    return os.O_RDONLY | os.O_NOFOLLOW | waiting


def without_shims(path: str) -> str:
    """A search path without such folders: who looks for the real bmv2 must not find p4lab."""
    places = [place for place in path.split(os.pathsep) if place]
    # os.path is content with a place that may not be looked into: it is not one of ours.
    return os.pathsep.join(p for p in places if not os.path.isfile(Path(p, SHIMS_MARK)))
