"""How the user starts p4lab, for what is printed to be pasted back.

`./lab` leaves in the environment what was typed: `./lab`, `../lab`, or `lab` where it is on the
path. Processes that this one starts, such as a notebook's kernel, find it there, too.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

ENVIRONMENT = "P4LAB_COMMAND"
NAME = "p4lab"


def program() -> str:
    """What was typed to start p4lab: a name or a path."""
    return os.environ.get(ENVIRONMENT) or NAME


def command() -> str:
    """What the user types before a verb, as a shell takes it."""
    return shlex.quote(program())


def everywhere(text: str, verbs: Iterable[str]) -> str:
    """A text for all readers, such as that of a help, with each `p4lab VERB` of it as this user
    types it."""
    return re.sub(rf"\b{NAME} (?=(?:{'|'.join(verbs)})\b)", f"{command()} ", text)


def pasted(text: str, verb: str) -> str:
    """A text that was written without knowing its reader, such as one of a record, with the command
    `p4lab VERB` as this user types it."""
    return text.replace(f"{NAME} {verb} ", f"{command()} {verb} ")
