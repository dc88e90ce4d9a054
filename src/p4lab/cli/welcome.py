"""What `./lab` shows without arguments."""

from __future__ import annotations

import sys
from pkgutil import resolve_name

from p4lab.cli import PANELS

SCREEN = """\
p4lab, a P4 teaching lab in a box

  ./lab notebook                         the first lab's notebook in JupyterLab
  ./lab start 01-bier DIR                your files of the lab, in a folder of your own
  ./lab check 01-bier DIR                what of it works, and where it goes wrong
  ./lab run 01-bier                      send multicast through a BIER network (no root needed)
  sudo ./lab run 01-bier --net mininet   the same between real Linux hosts
  ./lab trace 01-bier                    what one packet met at every hop
  ./lab compile PROG.p4                  check a P4 program
  ./lab stf PROG.p4 TEST.stf             send packets through it and judge what comes out
  ./lab doctor                           what this machine lacks, and the remedy
  ./lab bench                            how fast the engine is on this machine
  ./lab test                             every test of the project

Every verb explains itself with --help.
"""


def show() -> None:
    """Prints the first screen, and opens the first notebook if somebody is there to see it."""
    print(SCREEN, end="")
    if sys.stdin.isatty() and sys.stdout.isatty():
        print()
        resolve_name(PANELS["Learn"]["notebook"])()
