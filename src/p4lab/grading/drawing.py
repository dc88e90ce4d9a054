"""Values of a scenario: drawn at random from a seed, and computed from what was drawn.

A string that begins with `=` is an expression in a small part of Python: numbers, strings, lists,
arithmetic, comparisons, indexing, comprehensions and the functions below. Nothing else can be
reached from it: no attributes, no other names.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial, reduce
from ipaddress import IPv4Address, IPv6Address
from math import ceil, floor
from operator import or_
from types import CodeType
from typing import Any


class DrawError(ValueError):
    """A value that cannot be computed; the message says which and why."""


def bit(number: int) -> int:
    """The number with the bit `number` set; bit 0 is the lowest."""
    return 1 << number


def union(values: Iterable[int]) -> int:
    """All bits that are set in one of the values."""
    return reduce(or_, values, 0)


def ones(value: int) -> list[int]:
    """The numbers of the bits that are set, lowest first."""
    return [number for number in range(value.bit_length()) if value >> number & 1]


def ip(text: str) -> int:
    """An IPv4 or IPv6 address as a number."""
    return int(IPv6Address(text) if ":" in text else IPv4Address(text))


_OFFERED = (
    bit, union, ones, ip, len, range, sum, min, max, abs, ceil, floor, sorted, enumerate, zip,
)  # fmt: skip

FUNCTIONS = {function.__name__: function for function in _OFFERED}

_ALLOWED = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Store, ast.List, ast.Tuple, ast.Subscript,
    ast.Slice, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.ListComp,
    ast.comprehension, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


_PIECE = re.compile(r"\{([^{}]+)\}")


@lru_cache(maxsize=4096)
def _compiled(text: str) -> CodeType:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise DrawError(f"`{text.strip()}` is not an expression: {error.msg}") from error
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            what = type(node).__name__
            raise DrawError(f"`{text.strip()}`: {what} cannot be used in a scenario")
        if isinstance(node, ast.Call) and (
            not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords
        ):
            known = ", ".join(FUNCTIONS)
            raise DrawError(f"`{text.strip()}`: the functions are {known}")
    return compile(tree, "<scenario>", "eval")


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression. Raises DrawError."""
    try:
        # Comprehensions see globals only, so the names go there. The tree has been checked.
        return eval(_compiled(text), {"__builtins__": {}, **FUNCTIONS, **names})
    except DrawError:
        raise
    except Exception as error:  # whatever the expression does wrong is the scenario's mistake
        raise DrawError(f"`{text.strip()}`: {error}") from error


def value(written: Any, names: Mapping[str, Any]) -> Any:
    """What a value of the TOML file stands for: expressions computed, everything else as it is."""
    if isinstance(written, str) and written.startswith("="):
        return evaluate(written[1:], names)
    if isinstance(written, list):
        return [value(item, names) for item in written]
    return written


def filled(text: str, names: Mapping[str, Any]) -> str:
    """The text with its `{...}` computed. Raises DrawError."""
    return _PIECE.sub(lambda piece: shown(evaluate(piece[1], names)), text)


def shown(number: Any) -> str:
    """A value that was computed, for a sentence: never as 9.642e+04."""
    if not isinstance(number, float):
        return str(number)
    return f"{number:.0f}" if 10_000 <= abs(number) < 10**9 else f"{number:.4g}"


@lru_cache(maxsize=4096)
def _bound(each: str) -> tuple[str, ...]:
    """The names that `i in range(3)` binds. Raises DrawError."""
    try:
        tree = ast.parse(f"[0 for {each}]", mode="eval").body
    except SyntaxError as error:
        raise DrawError(f"`{each}`: write it as `i in range(3)`") from error
    if not isinstance(tree, ast.ListComp):
        raise DrawError(f"`{each}`: write it as `i in range(3)`")
    return tuple(
        node.id
        for generator in tree.generators
        for node in ast.walk(generator.target)
        if isinstance(node, ast.Name)
    )


def rounds(each: str | None, names: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The names for every round of `each`, such as `i in range(3)`; one round without it."""
    if each is None:
        yield dict(names)
        return
    bound = _bound(each)
    for found in evaluate(f"[({''.join(name + ',' for name in bound)}) for {each}]", names):
        yield {**names, **dict(zip(bound, found, strict=True))}


HIDDEN = "hidden"
"""The name that says whether students will never read what is drawn"""

SHOWN = "shown"
"""The key of what students read in place of what is drawn"""

AT_ENDS = 4
"""Of so many draws of a hidden case, one lies at an end of what it is drawn from"""


Pick = Callable[[str, Sequence[Any]], Any]
"""Which value of a list a name gets"""


def draw(
    table: Mapping[str, Any],
    chance: random.Random,
    given: Mapping[str, Any] | None = None,
    pick: Pick | None = None,
) -> dict[str, Any]:
    """The names of a scenario's [draw], in the order of the file, so that later ones may use
    earlier ones and those that are `given`. Each is a value, an expression, or drawn (see `drawn`),
    except that `pick` takes the place of chance where one is picked from a list. Raises DrawError.
    """
    names: dict[str, Any] = dict(given or {})
    for name, written in table.items():
        try:
            choose = partial(pick, name) if pick else None
            names[name] = drawn(written, names, chance, choose)
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise DrawError(f"draw.{name}: {error}") from error
    return names


def drawn(
    written: Any,
    names: Mapping[str, Any],
    chance: random.Random,
    choose: Callable[[Sequence[Any]], Any] | None = None,
) -> Any:
    """A value or an expression computed, or one of

    - `{ from = 1, to = 6 }`: a whole number, both ends included,
    - `{ pick = [...] }`: one of a list,
    - `{ some = 3, of = [...] }`: three different ones of a list, in the order drawn,
    - `{ bits = 64, ones = 3 }`: a number of 64 bits of which three are set,

    each of them with `shown`, which it is where students read it. In hidden cases the ends of a
    range and of a list are drawn more often than chance would. `choose` takes the one of a list, by
    chance unless it is given. Raises ValueError, TypeError, KeyError and OverflowError for what
    cannot be drawn.
    """
    if not isinstance(written, Mapping):
        return value(written, names)
    hidden = bool(names.get(HIDDEN))
    if SHOWN in written and not hidden:
        return value(written[SHOWN], names)
    given = {key: value(item, names) for key, item in written.items() if key != SHOWN}
    if set(given) == {"from", "to"}:
        return _between(given["from"], given["to"], chance, hidden)
    if set(given) == {"pick"}:
        return (choose or chance.choice)(list(given["pick"]))
    if set(given) == {"some", "of"}:
        return _some(given["some"], list(given["of"]), chance, hidden)
    if set(given) == {"bits", "ones"}:
        chosen = _some(given["ones"], list(range(given["bits"])), chance, hidden)
        return union(bit(number) for number in chosen)
    raise ValueError("a draw is { from, to }, { pick }, { some, of } or { bits, ones }")


def _between(low: int, high: int, chance: random.Random, hidden: bool) -> int:
    if hidden and low <= high and not chance.randrange(AT_ENDS):
        return chance.choice([low, min(low + 1, high), max(low, high - 1), high])
    return chance.randint(low, high)


def _some(count: int, of: list[Any], chance: random.Random, hidden: bool) -> list[Any]:
    chosen = chance.sample(of, count)
    if hidden and chosen and not chance.randrange(AT_ENDS):
        end = chance.choice([of[0], of[-1]])
        if end not in chosen:
            chosen[chance.randrange(count)] = end
    return chosen
