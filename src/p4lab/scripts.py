"""STF scripts: the macros with which their programs are compiled."""

from __future__ import annotations

from pathlib import Path

HEAD = "# defines:"


def defines_of(script: Path) -> list[tuple[str, str]]:
    """The macros that the first line of a script names, as in `# defines: BSL=64 TUNNELS`; none
    where it names none. A macro without a value is 1, as with -D. Raises OSError."""
    with script.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    if not first.startswith(HEAD):
        return []
    pairs = (item.partition("=") for item in first.removeprefix(HEAD).split())
    return [(name, value if equals else "1") for name, equals, value in pairs]
