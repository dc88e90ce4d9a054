"""What a run of MSR6 may be told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from p4lab.model.system import Settings
from p4lab.topology.units import delay_nanoseconds

Encoding = Literal["te", "rlb", "be", "clone"]
Shape = Literal["cheapest", "steiner"]
Leaves = Literal["routers", "hosts"]

CORE_MTU = 9000
SEGMENTS = 16
"""Entries of a list that the program reads and writes"""


class Msr6Settings(Settings):
    """`encoding` is how packets carry their tree ("clone": not at all, routers know the group),
    `tree` which one it is. Listeners are served by their `leaves`: routers that take the headers
    off for them, or the hosts themselves, which are Linux with SRv6 then. A tree avoids the links
    of `avoid` ("r1-r2 r3-r4"), and brings no listener more than `delay` from its ingress ("0 ms":
    any). A tree that needs more
    than `entries` of a list takes several packets. `mtu` is what an IPv6 packet may have between
    routers, in bytes."""

    encoding: Annotated[Encoding, Field(description="how packets carry their tree")] = "te"
    tree: Annotated[Shape, Field(description="least cost to each listener, or of the tree")] = (
        "cheapest"
    )
    leaves: Annotated[Leaves, Field(description="who takes the headers off")] = "routers"
    avoid: Annotated[str, Field(description="links that trees avoid: r1-r2 r3-r4")] = ""
    delay: Annotated[str, Field(description="the most between ingress and leaf (0 ms: any)")] = (
        "0 ms"
    )
    entries: Annotated[
        int, Field(ge=1, le=SEGMENTS, description="entries of a list at the most")
    ] = SEGMENTS
    mtu: Annotated[
        int, Field(ge=1280, le=65535, description="bytes of a packet between routers")
    ] = CORE_MTU

    @field_validator("delay")
    @classmethod
    def _is_a_time(cls, text: str) -> str:
        delay_nanoseconds(text)
        return text

    @field_validator("avoid")
    @classmethod
    def _are_links(cls, text: str) -> str:
        for link in text.split():
            if len(link.split("-")) != 2:
                raise ValueError(f"{link} is not a link: write its two ends as in r1-r2")
        return text

    @property
    def avoided(self) -> tuple[tuple[str, str], ...]:
        """The links to avoid, by the names of their ends."""
        pairs = (link.split("-") for link in self.avoid.split())
        return tuple((a, b) for a, b in pairs)

    @property
    def delay_ns(self) -> int | None:
        """The bound on the delay in nanoseconds; None for none."""
        return delay_nanoseconds(self.delay) or None
