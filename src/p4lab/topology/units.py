"""Rates, delays and losses as people write them: "100 Mbit/s", "1.5 ms", "2 %"."""

from __future__ import annotations

import re
import reprlib
from fractions import Fraction

_QUANTITY = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,12})?)\s*([^\s0-9.][^\s]*)\s*")
_RATES = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12}
_DELAYS_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}

MAX_RATE = 10**15
MAX_DELAY_NS = 3600 * 10**9


def rate_bits_per_second(value: object) -> int:
    """A rate in bits per second from "100 Mbit/s" or a whole number of bits per second.

    Raises ValueError with a sentence that names the accepted units.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        rate = Fraction(value)
    else:
        rate = _quantity(value, _RATES, 'a rate such as "100 Mbit/s"')
    if not 1 <= rate <= MAX_RATE or rate.denominator != 1:
        raise ValueError("a rate is a whole number of bits per second from 1 to 10^15")
    return int(rate)


def delay_nanoseconds(value: object) -> int:
    """A delay in nanoseconds from text such as "1 ms"; at most one hour.

    Raises ValueError with a sentence that names the accepted units.
    """
    delay = _quantity(value, _DELAYS_NS, 'a delay such as "1 ms"')
    if delay > MAX_DELAY_NS or delay.denominator != 1:
        raise ValueError("a delay is a whole number of nanoseconds, at most 3600 s")
    return int(delay)


def loss_fraction(value: object) -> float:
    """A loss probability from 0 to 1, from a number or from text such as "2 %".

    Raises ValueError with a sentence that says what is accepted.
    """
    if isinstance(value, str):
        value = float(_quantity(value, {"%": 1}, 'a loss such as "2 %" or 0.02') / 100)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError('a loss is a number from 0 to 1, or text such as "2 %"')
    return float(value)


def _quantity(value: object, units: dict[str, int], what: str) -> Fraction:
    hit = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if hit is None:
        raise ValueError(f"write {what}, not {reprlib.repr(value)}")
    number, unit = hit.groups()
    if unit not in units:
        known = ", ".join(units)
        raise ValueError(f"unknown unit {unit[:12]!r} behind {number}: use one of {known}")
    return Fraction(number) * units[unit]
