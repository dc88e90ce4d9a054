"""What a run of the gateway may be told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from p4lab.model.system import Settings
from p4lab.topology.units import rate_bits_per_second


class GatewaySettings(Settings):
    """`core` are the hosts on the side of the Internet, all others are subscribers. `access` is
    what stands in front of a subscriber's frames; mixed is one line with labels, the next with
    tags. `downstream` and `upstream` are what a subscriber may receive and send."""

    core: Annotated[str, Field(description='hosts that are servers, not subscribers: "web tv"')] = (
        "web"
    )
    access: Annotated[
        Literal["mixed", "labels", "tags"],
        Field(description="in front of a subscriber's frames: two MPLS labels, or two VLAN tags"),
    ] = "mixed"
    downstream: Annotated[str, Field(description="what a subscriber may receive: 50 Mbit/s")] = (
        "50 Mbit/s"
    )
    upstream: Annotated[str, Field(description="what a subscriber may send: 10 Mbit/s")] = (
        "10 Mbit/s"
    )

    @field_validator("downstream", "upstream", mode="before")
    @classmethod
    def _is_a_rate(cls, text: object) -> object:
        if not isinstance(text, str):  # 10 what?
            raise ValueError('write a rate such as "50 Mbit/s"')
        rate_bits_per_second(text)
        return text

    @property
    def core_hosts(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.core.replace(",", " ").split())
