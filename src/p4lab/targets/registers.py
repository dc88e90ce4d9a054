"""Cells of bmv2's registers. P4Runtime cannot write them there, so bmv2's own command line does it,
by Thrift."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from p4lab.model.entries import RegisterCell
from p4lab.network import namespace
from p4lab.targets import TargetError

PROGRAM = "simple_switch_CLI"
SECONDS = 60
_PROMPT = "RuntimeCmd: "


def can_be_written() -> bool:
    """Whether the command line is installed."""
    return shutil.which(PROGRAM) is not None


def write(thrift_port: int, cells: Sequence[RegisterCell]) -> None:
    """Writes cells of a switch in the network namespace of the caller, and reads each again. Raises
    TargetError if the command line is missing or does not reach the switch, ValueError for a cell
    that the switch does not have or that is too narrow."""
    if not can_be_written():
        raise TargetError(
            f"the register {cells[0].register} is to be written, which P4Runtime cannot do on bmv2 "
            f"and {PROGRAM} can: it comes with bmv2, but is not in your PATH."
        )
    namespace.set_up("lo", True)
    lines = []
    for cell in cells:
        lines += [
            f"register_write {cell.register} {cell.index} {cell.value}",
            f"register_read {cell.register} {cell.index}",
        ]
    replies = _ask(thrift_port, lines)
    for cell, refusal, shown in zip(cells, replies[::2], replies[1::2], strict=True):
        if refusal or not shown.endswith(f"[{cell.index}]= {cell.value}"):
            raise ValueError(
                f"the register {cell.register} cannot hold {cell.value} in cell {cell.index}: "
                f"{refusal or shown}"
            )


def _ask(thrift_port: int, lines: Sequence[str]) -> list[str]:
    """The replies to lines of the command line. Raises TargetError."""
    try:
        done = subprocess.run(
            [PROGRAM, "--thrift-port", str(thrift_port)],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"{PROGRAM} took more than {SECONDS} s") from None
    replies = [reply.strip() for reply in done.stdout.split(_PROMPT)[1:]]
    if len(replies) <= len(lines):  # behind the last one stands a prompt
        words = (done.stderr or done.stdout).strip().splitlines()
        raise TargetError(f"{PROGRAM}: {words[-1] if words else 'no answer'}")
    return replies[: len(lines)]
