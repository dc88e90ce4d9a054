"""What this machine has of what p4lab uses, and how to get the rest.

Every probe is a function that returns one `Finding`; it asks the machine itself (a namespace of its
own, a socket, a program's version) rather than the name of a distribution. Nothing that a probe
makes outlives it. Systems bring probes of their own (`System.probes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from p4lab.doctor import kernel, machine, networks, systems, tools
from p4lab.doctor.finding import WORDS, Finding, Probe, State

__all__ = ["WORDS", "Finding", "Probe", "State", "all_probes", "examine", "lines"]


def all_probes() -> tuple[Probe, ...]:
    """What is looked at, in the order in which it is shown."""
    return (*machine.PROBES, *networks.PROBES, *kernel.PROBES, *tools.PROBES, *systems.probes())


def examine(
    probes: Iterable[Probe], on_probe: Callable[[str], None] = lambda name: None
) -> Iterator[Finding]:
    """Carries out each probe in turn; `on_probe` hears what is being looked at."""
    for probe in probes:
        name = (probe.__doc__ or probe.__name__).splitlines()[0].rstrip(".")
        on_probe(name)
        try:
            yield probe()
        except (OSError, ValueError) as error:  # a machine unlike any that we know
            yield Finding(
                name, "broken", f"cannot be looked at: {error}", "See whether ./lab test passes."
            )


def lines(findings: Sequence[Finding]) -> Iterator[tuple[State | None, str]]:
    """The report: lines of text, those of a finding with its state; the last line sums up."""
    width = max((len(row.name) for row in findings), default=0)
    for row in findings:
        yield row.state, f"{WORDS[row.state]:8}  {row.name:{width}}  {row.detail}"
        if row.state != "ok":
            yield None, f"{'':8}  {'':{width}}  -> {row.fix}"
    number = Counter(row.state for row in findings)
    verdict = "something needs repair" if number["broken"] else "this machine runs the labs"
    yield (
        None,
        f"{number['ok']} OK, {number['missing']} optional and missing, "
        f"{number['broken']} broken: {verdict}",
    )
