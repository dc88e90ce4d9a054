"""Entry point of `p4lab` and `python -m p4lab`."""

from __future__ import annotations

import gc
import os
import sys

from p4lab.cli import app
from p4lab.cli.errors import run_guarded
from p4lab.cli.welcome import show
from p4lab.command import program
from p4lab.paths import without_shims

# A network of a thousand routers has millions of rows, which refer to nothing that refers to them:
# with Python's own thresholds, a third of the time goes into looking for circles among them.
COLLECT = (100_000, 50, 1000)


def main() -> None:
    """Shows the first screen without arguments, else runs the verb."""
    gc.set_threshold(*COLLECT)
    os.environ["PATH"] = without_shims(os.environ.get("PATH", ""))
    run_guarded(show if len(sys.argv) == 1 else lambda: app(prog_name=program()))


if __name__ == "__main__":
    main()
