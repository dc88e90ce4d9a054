"""One file of programs on the engine and on the real switch, packet by packet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from differential import real
from differential.program import File
from p4lab import _engine

Answer = list[tuple[int, bytes]]
"""What one packet became: port and bytes of each, sorted"""


class RefusedError(Exception):
    """A program that does not compile, with what was said."""


def on_engine(file: File, folder: Path, *, compat: bool, native: bool = False) -> list[Answer]:
    """What the engine makes of each packet. Raises RefusedError."""
    path = folder / "prog.p4"
    path.write_text(file.text())
    compiled = _engine.compile(str(path), [], [], bmv2_compat=compat)
    if compiled.program is None:
        raise RefusedError(compiled.render(color=False))
    engine = "jit" if native else "interpreter"
    switch = _engine.Switch(compiled.program, engine=engine)
    try:
        switch.write(file.updates())
    except ValueError as error:
        raise RefusedError(f"entries: {error}") from error
    return [sorted(switch.process(port, data)) for port, data in file.packets]


def on_bmv2(file: File, folder: Path) -> list[Answer]:
    """What simple_switch makes of each packet. Raises RefusedError, and RealError."""
    path, config = folder / "prog.p4", folder / "prog.json"
    path.write_text(file.text())
    if said := real.compiled(path, config):
        raise RefusedError(said)
    try:
        ports = real.answers(config, file.lines(), file.packets)
    except real.EntryError as error:
        raise RefusedError(str(error)) from error
    return by_packet(ports, file.packets)


def by_packet(ports: Sequence[Sequence[bytes]], sent: Sequence[tuple[int, bytes]]) -> list[Answer]:
    """Sorts what came out by the number that stands in front of each packet."""
    answers: dict[bytes, Answer] = {data[:2]: [] for _, data in sent}
    for port, packets in enumerate(ports):
        for data in packets:
            answers[data[:2]].append((port, data))
    return [sorted(answers[data[:2]]) for _, data in sent]
