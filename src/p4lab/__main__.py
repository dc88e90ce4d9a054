"""Entry point of `p4lab` and `python -m p4lab`."""

from __future__ import annotations

import sys


def main() -> None:
    """Shows the first screen without arguments, else runs the verb."""
    if len(sys.argv) == 1:
        from p4lab.cli.welcome import show

        show()
        return
    from p4lab.cli import app

    app()


if __name__ == "__main__":
    main()
