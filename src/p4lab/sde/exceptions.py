"""The methods that need not pass, each with its reason."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from p4lab.sde.checkout import SdeError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN = Path(__file__).with_name("exceptions.toml")
EVERY = "*"
"""In place of a method: the example is not run"""

NOT_RUN = "not_run"
"""The table of methods that are not even tried"""


@dataclass(frozen=True)
class Excepted:
    """The methods of an example that need not pass, by name, each with its reason."""

    methods: Mapping[str, str] = field(default_factory=dict)
    not_run: frozenset[str] = frozenset()

    @property
    def left_out(self) -> str | None:
        """Why the example is not run; None if it is."""
        return self.methods.get(EVERY)


Exceptions = Mapping[str, Excepted]
"""By example"""


def read_exceptions(file: Path) -> Exceptions:
    """The manifest. Raises SdeError with the place of what is wrong."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SdeError(f"{file} cannot be read: {error}") from error
    return {example: _excepted(file, example, methods) for example, methods in data.items()}


def _excepted(file: Path, example: str, methods: Any) -> Excepted:
    if not isinstance(methods, dict):
        raise SdeError(f"{file}: {example} is to be a table, [{example}].")
    not_run = methods.pop(NOT_RUN, {})
    if not isinstance(not_run, dict):
        raise SdeError(f"{file}: {example}.{NOT_RUN} is to be a table.")
    every = {**methods, **not_run}
    for method, reason in every.items():
        if not isinstance(reason, str) or not reason.strip():
            raise SdeError(f"{file}: {example}.{method} has no reason.")
    return Excepted(every, frozenset(not_run))
