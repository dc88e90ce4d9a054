"""Tables on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST = 400  # characters
CUT = "…"


def print_whole(*tables: RenderableType) -> None:
    """Prints tables; what is too wide for the terminal as wide as it is. Better a line that the
    terminal wraps than a number without its end."""
    from rich.console import Console  # heavy: rich

    terminal = Console(emoji=False)
    anything = terminal.options.update(max_width=MOST)
    for table in tables:
        with terminal.capture() as printed:
            terminal.print(table)
        whole = CUT not in printed.get()
        width = terminal.width if whole else terminal.measure(table, options=anything).maximum
        Console(width=width).print(table)
