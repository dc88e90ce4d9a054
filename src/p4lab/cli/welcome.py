"""What `./lab` shows without arguments."""

from __future__ import annotations

import sys
from pkgutil import resolve_name

from p4lab.cli import PANELS
from p4lab.command import NAME, command

VERBS = (
    ("{} notebook", "the first lab's notebook in JupyterLab"),
    ("{} notebook 00-p4", "P4 in an hour, if it is new to you"),
    ("{} start 01-bier DIR", "your files, in your own folder"),
    ("{} check 01-bier DIR", "what works, and where it goes wrong"),
    ("{} run 01-bier", "send multicast through a BIER network"),
    ("{} run 01-bier --net linux", "the same between real Linux hosts"),
    ("{} trace 01-bier", "one packet, step by step and hop by hop"),
    ("{} compile PROG.p4", "check a P4 program"),
    ("{} stf PROG.p4 TEST.stf", "send it packets, check what comes out"),
    ("{} doctor", "what this machine lacks, and the remedy"),
    ("{} bench", "how fast the engine is on this machine"),
)
TEST = ("{} test", "every test of the project")  # only the script of a checkout can


def screen() -> str:
    """The first screen, with the command as the user types it."""
    start = command()
    told = VERBS if start == NAME else (*VERBS, TEST)
    lines = [(typed.format(start), what) for typed, what in told]
    width = max(len(typed) for typed, _ in lines)
    verbs = "\n".join(f"  {typed:{width}}  {what}" for typed, what in lines)
    return (
        f"p4lab, a P4 teaching lab in a box\n\n{verbs}\n\nEvery verb explains itself with --help.\n"
    )


def show() -> None:
    """Prints the first screen, and opens the first notebook if somebody is there to see it."""
    print(screen(), end="")
    if sys.stdin.isatty() and sys.stdout.isatty():
        print()
        resolve_name(PANELS["Learn"]["notebook"])()
