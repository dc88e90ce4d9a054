"""How a scenario is written as TOML, by whoever makes one: names, texts, tables in a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

MOST = 1 << 63
"""TOML's numbers end here; larger ones are written as text"""


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def inline(values: Iterable[tuple[str, str]]) -> str:
    """A table in a line, of names and what is written for their values."""
    pairs = ", ".join(f"{key(name)} = {value}" for name, value in values)
    return f"{{ {pairs} }}" if pairs else "{}"


def is_named(full: str, name: str) -> bool:
    """Whether a name, such as `table`, is the end of a full one, such as `Ingress.table`."""
    return full == name or full.endswith(f".{name}")


def brief(full: str, known: Iterable[str]) -> str:
    """The shortest end of a full name that is no other's."""
    parts = full.split(".")
    others = [other for other in known if other != full]
    ends = (".".join(parts[start:]) for start in range(len(parts) - 1, -1, -1))
    return next((end for end in ends if not any(is_named(one, end) for one in others)), full)
