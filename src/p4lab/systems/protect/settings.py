"""What a run of 1+1 protection may be told, and the macros that follow for `p4/protect`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from p4lab.model.system import Settings
from p4lab.topology.units import delay_nanoseconds

Accept = Literal["none", "match", "highest", "slots", "vector"]

ACCEPT_NUMBERS: dict[Accept, int] = {
    "none": 0,
    "match": 1,
    "highest": 2,
    "slots": 3,
    "vector": 4,
}
"""Policies by the names that users write, with the values of the macro ACCEPT"""

STREAMS = "streams"
"""Instead of a file of connections: one for each stream between two routers"""
LONGEST_VECTOR = 64  # bits of history that the P4 program has room for
MAX_SN_BITS = 32


class ProtectSettings(Settings):
    """`accept` is the policy of the egress, `window` its W (0: half of the numbers), `history` its
    slots or bits, `reset` the silence after which any number is taken ("0 ms": never), `sn_bits`
    how many bits of a sequence number count. `connections` is a TOML file (connections.py)."""

    accept: Annotated[Accept, Field(description="rule by which a copy is new")] = "highest"
    window: Annotated[
        int, Field(ge=0, description="how many steps ahead is new (0: half of the numbers)")
    ] = 0
    history: Annotated[
        int, Field(ge=1, le=1 << 16, description="slots, or bits of the vector: a power of two")
    ] = 64
    reset: Annotated[
        str, Field(description="silence after which any number is new (0 ms: never)")
    ] = "100 ms"
    sn_bits: Annotated[
        int, Field(ge=2, le=MAX_SN_BITS, description="bits of a sequence number that count")
    ] = MAX_SN_BITS
    connections: Annotated[
        str, Field(description="TOML file of connections; or one for each stream")
    ] = STREAMS

    @field_validator("reset")
    @classmethod
    def _is_a_time(cls, text: str) -> str:
        microseconds, rest = divmod(delay_nanoseconds(text), 1000)
        if rest or microseconds >= 1 << 32:
            raise ValueError("the switch counts whole microseconds, up to 71 minutes")
        return text

    @model_validator(mode="after")
    def _fits(self) -> ProtectSettings:
        half = 1 << self.sn_bits - 1
        if self.window >= 2 * half:
            raise ValueError(f"with {self.sn_bits} bits, a window has at most {2 * half - 1} steps")
        if self.history & self.history - 1:
            raise ValueError(f"a history has 1, 2, 4, 8, ... places, not {self.history}")
        most = min(half, LONGEST_VECTOR if self.accept == "vector" else half)
        if self.accept in ("slots", "vector") and self.history > most:
            raise ValueError(f"the history of {self.accept} has at most {most} places here")
        if self.accept == "slots" and self.steps < self.history:
            raise ValueError("in a slot, numbers are `history` steps apart: take a larger window")
        return self

    @property
    def steps(self) -> int:
        """The window W in steps."""
        return self.window or 1 << self.sn_bits - 1

    @property
    def reset_us(self) -> int:
        """The reset time in microseconds; 0 for never."""
        return delay_nanoseconds(self.reset) // 1000

    def macros(self) -> tuple[tuple[str, str], ...]:
        """As p4/protect/README.md has them. A window that nobody has set is left to the program,
        which on a Tofino needs less for its own; RESET_US is for Tofinos, too."""
        macros = {
            "ACCEPT": ACCEPT_NUMBERS[self.accept],
            "SN_BITS": self.sn_bits,
            "HISTORY": self.history,
            "WINDOW": self.window,
            "RESET_US": self.reset_us,
        }
        given = {name for name in macros if name not in ("WINDOW", "RESET_US") or macros[name]}
        return tuple((name, str(value)) for name, value in macros.items() if name in given)
