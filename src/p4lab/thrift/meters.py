"""Rates of meters: the API has units per microsecond, the engine units per second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from p4lab.model.state import Rates
from p4lab.thrift.interface import TYPES, MeterCode
from p4lab.thrift.values import RATE

_MOST = 2**62  # units per second that the engine's numbers hold with room


def rates_of(given: Sequence[Any]) -> Rates | MeterCode:
    """Committed rate and burst, peak rate and burst; or what is wrong with them."""
    if len(given) != 2 or any(one.per_microsecond is None or one.burst is None for one in given):
        return MeterCode.BAD_RATES
    committed, peak = given
    speeds = [one.per_microsecond * RATE for one in given]
    if not all(math.isfinite(speed) and 0 <= speed < _MOST for speed in speeds):
        return MeterCode.INVALID_RATE
    if speeds[0] > speeds[1]:
        return MeterCode.INVALID_RATE
    if min(committed.burst, peak.burst) < 0:
        return MeterCode.INVALID_BURST
    return Rates(round(speeds[0]), committed.burst, round(speeds[1]), peak.burst)


def rates_told(rates: tuple[int, int, int, int] | None) -> list[Any]:
    """As the API shows them; nothing of a meter to which everything is green."""
    if rates is None:
        return []
    pairs = (rates[:2], rates[2:])
    return [TYPES["Rate"](rate / RATE, min(burst, 2**31 - 1)) for rate, burst in pairs]
