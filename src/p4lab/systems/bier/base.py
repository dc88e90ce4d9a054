"""What all systems of BIER have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from p4lab.control.listeners import cut_off, membership
from p4lab.model.control import Driver
from p4lab.model.layout import Layouts
from p4lab.model.notation import (
    BITS,
    BITS_LOST,
    BITS_NOT_CLEARED,
    IPV4,
    MOST_DIGITS,
    Notation,
    bit_numbers,
    bits,
)
from p4lab.model.run import Plan
from p4lab.model.system import Carried, DriverOf, Rerun, Settings, System, sent_by_port
from p4lab.plurals import count_of
from p4lab.systems.bier.bitstrings import bit_string
from p4lab.systems.bier.entries import RECIRC_PORT
from p4lab.systems.bier.membership import ideal
from p4lab.systems.bier.plane import BierControlPlane

BSLS = (64, 128, 256)

SETS = ("bit_string", "fbm", "remaining")
"""Fields, keys and parameters that are sets of BFRs"""

NOTATION = Notation(
    {**dict.fromkeys(SETS, BITS), "group": IPV4},
    {("ether_type", 0xAB37): "BIER", ("proto", 4): "IPv4"},
)

HINTS = {
    BITS_NOT_CLEARED: "There are bits left that should be gone. Which mask says which bits may "
    "stay?",
    BITS_LOST: "Bits are gone that should still be there. Which mask took them away?",
}


class BierSettings(Settings):
    """`bsl` is the BitStringLength in bits."""

    bsl: Annotated[Literal[64, 128, 256], Field(description="bits of a BitString")] = 64


class BierSystem(System):
    """A control plane that hears IGMP, bit strings, and an ideal multicast tree to compare with."""

    settings: ClassVar[type[BierSettings]] = BierSettings
    notation: ClassVar[Notation] = NOTATION
    followed: ClassVar[Mapping[str, str]] = {
        "bit_string": "BitString",
        "remaining": "remaining",
        "fbm": "F-BM",
    }
    router_numbers: ClassVar[tuple[str, ...]] = ("bfr_id",)
    hints: ClassVar[Mapping[str, str]] = HINTS
    views: ClassVar[Mapping[str, str]] = {"bit_view": "p4lab.systems.bier.views.bits:BitView"}
    answers: ClassVar[Mapping[str, str]] = {"bits": "p4lab.systems.bier.bitstrings:bits"}
    tna: ClassVar[str] = "bier-tna"
    plane: ClassVar[Any] = BierControlPlane
    """The class of the control plane"""

    def defines(self, settings: Any) -> tuple[tuple[str, str], ...]:
        return (("BSL", str(settings.bsl)),)

    def check(self, plan: Plan) -> None:
        for stream in plan.streams:
            if stream.destination.version != 4:
                raise ValueError(
                    f"stream {stream.flow} goes to {stream.destination}: these programs put IPv4 "
                    "behind BIER, so write an address of IPv4."
                )

    def describe(self, plan: Plan) -> str:
        return f"{super().describe(plan)}, with {plan.settings.bsl} bits in a BitString"

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
    ) -> BierControlPlane:
        return self.plane(plan.topology, plan.settings.bsl, driver_for_router)

    def waiting(self, plan: Plan, plane: BierControlPlane) -> str:
        if plane.membership == membership(plan):
            return ""
        missing = len(membership(plan) - plane.membership)
        return count_of(missing, "subscription")

    def notation_for(self, plan: Plan) -> Notation:
        """BitStrings have at least a digit for every BFR."""
        styles = dict.fromkeys(SETS, bits(digits=_highest(plan)))
        return replace(self.notation, styles={**self.notation.styles, **styles})

    def carried(self, plan: Plan, headers: Sequence[Mapping[str, Any]]) -> Carried | None:
        """The BitString, bit by bit unless there are many BFRs."""
        value = bit_string(headers)
        if value is None:
            return None
        digits = _highest(plan)
        if digits <= MOST_DIGITS:
            return Carried(bit_numbers(value), f"{value:0{digits}b}", "digits")
        count = value.bit_count()
        return Carried(bit_numbers(value), count_of(count, "bit"))

    def marks(self, plan: Plan) -> Mapping[str, str]:
        """The bit of each BFR; with several sets as SI and bit, 7:52, as RFC 8279 has it."""
        bsl, several = plan.settings.bsl, _highest(plan) > plan.settings.bsl
        found = {}
        for router in plan.topology.routers:
            if number := router.own("bfr_id"):
                index, bit = divmod(number - 1, bsl)
                found[router.name] = f"{index}:{bit + 1}" if several else f"bit {bit + 1}"
        return found

    def collect(self, plan: Plan, drivers: DriverOf, layouts: Layouts | None = None) -> Any:
        return sent_by_port(plan.topology, drivers, layouts, inner=(RECIRC_PORT,))

    def ideal(self, plan: Plan) -> Mapping[tuple[str, str], int]:
        return ideal(plan)

    def excused(self, plan: Plan, rerun: Rerun) -> Mapping[tuple[str, int], str]:
        return cut_off(plan)


def _highest(plan: Plan) -> int:
    """The highest BFR-id of the topology."""
    return max(router.own("bfr_id") for router in plan.topology.routers)
