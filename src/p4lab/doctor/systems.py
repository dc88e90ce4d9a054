"""What systems want to be looked at: `System.probes`, and whether a system can be used at all."""

from __future__ import annotations

from collections.abc import Iterator
from pkgutil import resolve_name

from p4lab import registry
from p4lab.doctor.finding import Finding, Probe

REPAIR = "Repair or remove the package that brings it."


def probes() -> Iterator[Probe]:
    """The probes of all systems, and one that says so for each system that cannot be used."""
    for name in registry.names():
        try:
            places = registry.find(name).probes.values()
            yield from [resolve_name(place) for place in places]
        except (ImportError, AttributeError, registry.UnusableSystemError) as error:
            yield _unusable(f"system {name}", str(error))


def _unusable(name: str, why: str) -> Probe:
    def probe() -> Finding:
        return Finding(name, "broken", why, REPAIR)

    probe.__doc__ = name
    return probe
