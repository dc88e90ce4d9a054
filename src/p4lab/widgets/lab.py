"""What views need of the lab that they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from p4lab import _engine
from p4lab.model.entries import Update
from p4lab.model.notation import Notation
from p4lab.model.run import Plan
from p4lab.model.system import System
from p4lab.topology import Topology
from p4lab.widgets.sent import Ends, Sent


class Lab(Protocol):
    """A running lab, as `p4lab.notebook` has it."""

    sent: Sent | None
    """What was sent last"""

    @property
    def plan(self) -> Plan: ...

    @property
    def system(self) -> System:
        """Who knows what its packets carry."""

    @property
    def notation(self) -> Notation:
        """How its values are written."""

    @property
    def topology(self) -> Topology: ...

    @property
    def program(self) -> _engine.Program:
        """The program that runs."""

    @property
    def down(self) -> frozenset[Ends]:
        """The links that are down."""

    @property
    def own_files(self) -> frozenset[str]:
        """The files that a student writes, as traces name them."""

    def source(self, file: str) -> str:
        """The text of a file that a trace names; empty if it is built in or gone."""

    def send(self, stream: int = 1, packets: int = 1) -> Sent:
        """Sends packets of a stream of the plan, counted from 1."""

    def renew(self) -> None:
        """Compiles the files anew if they have changed; the network begins anew then."""

    def is_old(self, sent: Sent) -> bool:
        """Whether the program has changed since something was sent."""

    def errors(self) -> str:
        """What the compiler says of the files as they are now; empty if they compile."""

    def to_show(self, sent: Sent | None) -> Sent:
        """What a view shows: what it was given, else what was sent last, anew if the program has
        changed since. Raises ValueError for packets of another lab."""

    def set_link(self, a: str, b: str, up: bool, *, tell: bool = False, seen: bool = True) -> None:
        """Takes the link between two nodes down or up. The routers at its ends see it if `seen`,
        the control plane hears of it if told."""

    def entries(self, router: str, table: str) -> list[dict[str, Any]]:
        """The rows of a table of a running switch. Raises ValueError."""

    def write(self, router: str, updates: list[Update]) -> None:
        """Changes rows of a running switch, all or none. Raises ValueError."""

    def watch(self, watcher: Callable[[], None]) -> None:
        """Calls `watcher` whenever something was sent, a row written or a link switched."""
