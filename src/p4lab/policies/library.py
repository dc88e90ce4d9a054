"""The functions and methods of Python that policies have, and what each of them costs."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from p4lab.policies.errors import STOPPED, PolicyError

LARGEST_BITS = 128
"""Of a whole number"""
LONGEST_TEXT = 10_000  # characters
MOST_DIGITS = 20
DEEPEST_VALUE = 4
"""Lists in lists, where they are compared"""

_MANY = (list, tuple, set, frozenset, dict, MappingProxyType, range, str)


class Meter:
    """Counts the steps of a call, and keeps values small."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._left = steps

    def take(self, steps: int) -> None:
        """Raises PolicyError where too few are left."""
        self._left -= steps
        if self._left < 0:
            told = (
                f"This takes more than {self._steps:,} steps, and each element of a list is one; "
            )
            is_large = steps > self._steps // 10
            told += f"here are {steps:,}." if is_large else "look for a loop that never ends."
            raise PolicyError(STOPPED, told)

    def number(self, value: Any) -> Any:
        """The value, if it is not a huge number or text."""
        if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
            told = f"A whole number here has more than {LARGEST_BITS} bits."
            raise PolicyError(STOPPED, told)
        if isinstance(value, complex):
            raise ValueError("a negative number has no such root")
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise PolicyError(STOPPED, f"A text has more than {LONGEST_TEXT:,} characters.")
        return value

    def may(self, kind: type[ast.operator], left: Any, right: Any) -> None:
        """Pays for an operation, or refuses one whose result would be huge."""
        if isinstance(left, str) and kind is ast.Mod:
            raise TypeError('write texts as f"{x}", not with %')
        sizes = [len(one) for one in (left, right) if isinstance(one, _MANY)]
        if kind is ast.Mult and sizes:
            times = right if isinstance(right, int) else left
            self.take(sizes[0] * max(times, 0) if isinstance(times, int) else 0)
        else:
            self.take(sum(sizes))
        if isinstance(left, int) and isinstance(right, int):
            grows = kind is ast.LShift and right > LARGEST_BITS
            grows |= kind is ast.Pow and left.bit_length() * right > 2 * LARGEST_BITS
            if grows:
                told = f"A whole number here has more than {LARGEST_BITS} bits."
                raise PolicyError(STOPPED, told)

    def listed(self, value: Any) -> list[Any]:
        """The elements of a value, each of which is a step."""
        if not isinstance(value, _MANY):
            raise TypeError(f"{kind_of(value)} has no elements")
        self.take(len(value))
        return list(value)

    def plain(self, value: Any, depth: int = 0) -> None:
        """Pays for looking at all that is in a value."""
        self.take(1)
        if isinstance(value, str):
            self.take(len(value) // 64)
        elif isinstance(value, dict | MappingProxyType):
            self._all(value.values(), depth)
        elif isinstance(value, list | tuple | set | frozenset):
            self._all(value, depth)

    def _all(self, values: Any, depth: int) -> None:
        if depth == DEEPEST_VALUE:
            raise TypeError("these are nested too deeply to be compared")
        self.take(len(values))
        for one in values:
            if not isinstance(one, int | float):
                self.plain(one, depth + 1)

    def search(self, value: Any, many: Any) -> None:
        """Pays for looking a value up."""
        self.plain(value)
        if isinstance(many, list | tuple):
            self.plain(many)
        elif isinstance(many, dict | MappingProxyType | set | frozenset):
            self.key(value)

    def key(self, value: Any) -> Any:
        """The value, if it can be a key: a number, a text, or a tuple of these."""
        if isinstance(value, int | float | str | None):
            return value
        if isinstance(value, tuple | frozenset):
            self.plain(value)
            for one in value:
                self.key(one)
            return value
        raise TypeError(f"{kind_of(value)} cannot be a key")


def each(meter: Meter, value: Any) -> Iterator[Any]:
    """The elements of a value, one by one; of a dict and a set as they are now."""
    if isinstance(value, dict | MappingProxyType | set | frozenset):
        return iter(meter.listed(value))
    if isinstance(value, _MANY):
        return iter(value)
    raise TypeError(f"{kind_of(value)} has no elements")


def kind_of(value: Any) -> str:
    """What a value is, for a sentence."""
    if value is None:
        return "None"
    known = isinstance(value, (int, float, *_MANY))
    return f"a value of type {type(value).__name__}" if known else "a function"


def shown(meter: Meter, value: Any) -> str:
    """A value as a short text."""
    meter.plain(value)
    if not isinstance(value, (int, float, type(None), *_MANY)):
        return "<function>"
    text = str(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


# ---- Functions. Each takes the meter first.


def _all(meter: Meter, values: Any) -> bool:
    return all(meter.listed(values))


def _any(meter: Meter, values: Any) -> bool:
    return any(meter.listed(values))


def _abs(meter: Meter, value: Any) -> Any:
    return abs(value)


def _bool(meter: Meter, value: Any = False) -> bool:
    return bool(value)


def _dict(meter: Meter, values: Any = (), **named: Any) -> dict[Any, Any]:
    if isinstance(values, dict | MappingProxyType):
        meter.take(len(values))
        return {**values, **named}
    pairs = [meter.listed(pair) for pair in meter.listed(values)]
    return {**{meter.key(key): value for key, value in pairs}, **named}


def _divmod(meter: Meter, left: Any, right: Any) -> tuple[Any, Any]:
    whole, rest = divmod(left, right)
    return whole, rest


def _enumerate(meter: Meter, values: Any, start: int = 0) -> list[tuple[int, Any]]:
    return list(enumerate(meter.listed(values), start))


def _filter(meter: Meter, test: Callable[[Any], Any], values: Any) -> list[Any]:
    return [one for one in meter.listed(values) if test(one)]


def _float(meter: Meter, value: Any = 0.0) -> float:
    return float(value)


def _int(meter: Meter, value: Any = 0) -> int:
    if isinstance(value, str) and len(value) > 40:
        raise ValueError("this text is too long for a number")
    number: int = meter.number(int(value))
    return number


def _len(meter: Meter, values: Any) -> int:
    if not isinstance(values, _MANY):
        raise TypeError(f"{kind_of(values)} has no length")
    return len(values)


def _list(meter: Meter, values: Any = ()) -> list[Any]:
    return meter.listed(values)


def _map(meter: Meter, function: Callable[..., Any], *values: Any) -> list[Any]:
    return [function(*given) for given in zip(*map(meter.listed, values), strict=False)]


def _max(meter: Meter, *values: Any, **named: Any) -> Any:
    return max(_compared(meter, values, named), **named)


def _min(meter: Meter, *values: Any, **named: Any) -> Any:
    return min(_compared(meter, values, named), **named)


def _compared(meter: Meter, values: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
    """The values to compare: those that are given, or those in the one that is."""
    if set(named) - {"key", "default"}:
        raise TypeError("max and min take key and default only")
    found = meter.listed(values[0]) if len(values) == 1 else list(values)
    for one in found:
        meter.plain(one)
    return found


def _range(meter: Meter, *bounds: int) -> range:
    return range(*bounds)


def _reversed(meter: Meter, values: Any) -> list[Any]:
    return meter.listed(values)[::-1]


def _round(meter: Meter, value: Any, digits: int | None = None) -> Any:
    if digits is not None and abs(digits) > MOST_DIGITS:
        raise ValueError(f"round takes up to {MOST_DIGITS} digits")
    return meter.number(round(value, digits))


def _set(meter: Meter, values: Any = ()) -> set[Any]:
    return set(map(meter.key, meter.listed(values)))


def _sorted(meter: Meter, values: Any, *, key: Any = None, reverse: bool = False) -> list[Any]:
    found = meter.listed(values)
    meter.take(len(found) * len(found).bit_length())
    for one in found:
        meter.plain(one)
    return sorted(found, key=key, reverse=reverse)


def _str(meter: Meter, value: Any = "") -> str:
    return shown(meter, value)


def _sum(meter: Meter, values: Any, start: Any = 0) -> Any:
    total = start
    for one in meter.listed(values):
        meter.may(ast.Add, total, one)
        total = meter.number(total + one)
    return total


def _tuple(meter: Meter, values: Any = ()) -> tuple[Any, ...]:
    return tuple(meter.listed(values))


def _zip(meter: Meter, *values: Any) -> list[tuple[Any, ...]]:
    return list(zip(*map(meter.listed, values), strict=False))


PRINT = object()
"""What the name print stands for: a machine knows where to"""

FUNCTIONS: Mapping[str, Any] = {
    "print": PRINT,
    **{
        function.__name__.removeprefix("_"): function
        for function in (
            _all, _any, _abs, _bool, _dict, _divmod, _enumerate, _filter, _float, _int, _len,
            _list, _map, _max, _min, _range, _reversed, _round, _set, _sorted, _str, _sum, _tuple,
            _zip,
        )
    },
}  # fmt: skip


def _of_math(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda meter, *given: meter.number(function(*given))


MATH: Mapping[str, Any] = MappingProxyType(
    {
        "inf": math.inf,
        "pi": math.pi,
        **{
            function.__name__: _of_math(function)
            for function in (math.ceil, math.floor, math.log, math.log2, math.sqrt)
        },
    }
)
"""The module math, as far as it goes"""


# ---- Methods, by what they are methods of. Those that look at all elements pay for them.

_QUICK: Mapping[type, tuple[str, ...]] = {
    list: ("append", "clear"),
    dict: ("clear",),
    set: ("clear",),
}
_WHOLE: Mapping[type, tuple[str, ...]] = {
    list: ("pop", "insert", "reverse", "copy"),
    dict: ("copy",),
    set: ("copy", "pop"),
}
_SEARCHES: Mapping[type, tuple[str, ...]] = {
    list: ("index", "count", "remove"),
    tuple: ("index", "count"),
}
_KEYED: Mapping[type, tuple[str, ...]] = {
    dict: ("get", "setdefault", "pop"),
    MappingProxyType: ("get",),
    set: ("add", "discard", "remove"),
}
_JOINED: Mapping[type, tuple[str, ...]] = {
    set: ("union", "difference", "intersection", "issubset", "issuperset"),
    frozenset: ("union", "difference", "intersection", "issubset", "issuperset"),
}


def method(owner: Any, name: str) -> Callable[..., Any]:
    """A method of a value, as a function that takes the meter first. Raises TypeError."""
    if owner is MATH:
        function: Callable[..., Any] | float | None = MATH.get(name)
        if callable(function):
            return function
        raise TypeError(f"there is no math.{name} here; choose from {', '.join(MATH)}")
    kind = type(owner)

    def of(table: Mapping[type, tuple[str, ...]]) -> bool:
        return name in table.get(kind, ())

    if of(_QUICK):
        return lambda meter, *given: getattr(owner, name)(*given)
    if of(_WHOLE):
        return lambda meter, *given: (meter.take(len(owner) // 8), getattr(owner, name)(*given))[1]
    if of(_SEARCHES):
        return lambda meter, one: (meter.search(one, owner), getattr(owner, name)(one))[1]
    if of(_KEYED):
        return lambda meter, key, *given: getattr(owner, name)(meter.key(key), *given)
    if of(_JOINED):
        return lambda meter, *many: getattr(owner, name)(*(_set(meter, one) for one in many))
    special = _SPECIAL.get((kind if kind is not MappingProxyType else dict, name))
    if special is None:
        raise TypeError(f"{kind_of(owner)} has no method {name} here")
    return lambda meter, *given, **named: special(meter, owner, *given, **named)


def _extend(meter: Meter, owner: list[Any], values: Any) -> None:
    owner.extend(meter.listed(values))


def _sort(meter: Meter, owner: list[Any], *, key: Any = None, reverse: bool = False) -> None:
    owner[:] = _sorted(meter, owner, key=key, reverse=reverse)


def _items(meter: Meter, owner: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    meter.take(len(owner))
    return list(owner.items())


def _values(meter: Meter, owner: Mapping[Any, Any]) -> list[Any]:
    meter.take(len(owner))
    return list(owner.values())


def _update_dict(meter: Meter, owner: dict[Any, Any], values: Any) -> None:
    owner.update(_dict(meter, values))


def _update_set(meter: Meter, owner: set[Any], values: Any) -> None:
    owner.update(_set(meter, values))


_SPECIAL: Mapping[tuple[type, str], Callable[..., Any]] = {
    (list, "extend"): _extend,
    (list, "sort"): _sort,
    (dict, "items"): _items,
    (dict, "keys"): Meter.listed,
    (dict, "values"): _values,
    (dict, "update"): _update_dict,
    (set, "update"): _update_set,
}
