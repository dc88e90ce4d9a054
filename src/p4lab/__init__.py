"""p4lab: a P4 teaching lab in a box.

Importing the package is cheap: what needs scapy, networkx or pydantic imports it where used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext p4lab` gives a notebook the cell magic `%%p4`."""
    from p4lab.magic import load  # heavy: a notebook's libraries, and the engine

    load(shell)
