"""Cells of bmv2's registers. P4Runtime cannot write them there, so bmv2's own command line does."""

from __future__ import annotations

from collections.abc import Sequence

from p4lab.model.entries import RegisterCell
from p4lab.targets import TargetError, command_line


def write(thrift_port: int, cells: Sequence[RegisterCell]) -> None:
    """Writes cells of a switch in the network namespace of the caller, and reads each again. Raises
    TargetError if the command line is missing or does not reach the switch, ValueError for a cell
    that the switch does not have or that is too narrow."""
    if not command_line.is_there():
        raise TargetError(
            f"the register {cells[0].register} is to be written, which P4Runtime cannot do on bmv2 "
            f"and {command_line.PROGRAM} can: it comes with bmv2, but is not in your PATH."
        )
    lines = []
    for cell in cells:
        lines += [
            f"register_write {cell.register} {cell.index} {cell.value}",
            f"register_read {cell.register} {cell.index}",
        ]
    replies = command_line.ask(thrift_port, lines)
    for cell, refusal, shown in zip(cells, replies[::2], replies[1::2], strict=True):
        if refusal or not shown.endswith(f"[{cell.index}]= {cell.value}"):
            raise ValueError(
                f"the register {cell.register} cannot hold {cell.value} in cell {cell.index}: "
                f"{refusal or shown}"
            )
