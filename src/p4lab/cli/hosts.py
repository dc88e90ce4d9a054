"""What verbs do before they make Linux hosts."""

from __future__ import annotations

import typer

from p4lab import rights
from p4lab.cli.errors import fail
from p4lab.network.base import NAMES


def choose_network(name: str) -> None:
    """Ends the verb with status 2 if there is no such network or Linux hosts cannot be made. To be
    called first of all: without root, a verb that needs Linux hosts begins again from the start,
    in a user namespace."""
    if name not in NAMES:
        fail(f"there is no network called {name!r}; choose from {' and '.join(NAMES)}.")
    if name == "linux":
        linux_hosts()


def linux_hosts() -> None:
    """As `choose_network` does for Linux hosts. Says by what right they are made."""
    if refused := hosts_refused():
        fail(refused)


def hosts_refused() -> str:
    """As `linux_hosts`, for a verb that can do something without them: why they cannot be made, and
    the remedy; empty if they can."""
    try:
        rung = rights.enter()
    except rights.RightsError as error:
        return str(error)
    typer.echo(rights.TOLD[rung], err=True)
    return ""
