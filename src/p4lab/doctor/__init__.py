"""What this machine has of what p4lab uses, and how to get the rest.

Every probe is a function that returns one `Finding`; it asks the machine itself (a namespace of its
own, a socket, a program's version) rather than the name of a distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "broken"]


@dataclass(frozen=True)
class Finding:
    """One line: `missing` is optional; `broken` is needed, or is there and does not work."""

    name: str
    state: State
    detail: str
    fix: str = ""


def examine(on_probe: Callable[[str], None] = lambda name: None) -> Iterator[Finding]:
    """Carries out every probe in turn; `on_probe` hears what is being looked at."""
    from p4lab.doctor import kernel, machine, tools

    for module in (machine, kernel, tools):
        for probe in module.PROBES:
            on_probe((probe.__doc__ or probe.__name__).splitlines()[0].rstrip("."))
            yield probe()
