"""What every network offers, and what it wants of a controller."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from p4lab.errors import Plain
from p4lab.model.control import Controller, CountingDriver
from p4lab.model.run import Address, Observed, Stream
from p4lab.topology import Host, Link

NAMES = ("virtual", "linux")

ENGINES = {"interpreter": "interpreter", "native": "jit", "auto": None}
"""What runs the programs of our switches: names for users, and those of `_engine.Switch`"""


class NetworkError(Plain, Exception):
    """A network that cannot be built or run; the message says what is missing and what to do."""


class Network(Protocol):
    """A running network. Use it as a context manager: leaving it leaves nothing behind."""

    name: str

    @property
    def now(self) -> int:
        """Nanoseconds since the network began."""

    def driver(self, router: str) -> CountingDriver:
        """What writes a router's entries and reads its counters."""

    def attach(self) -> None:
        """Hosts that have to dial in before they can send begin to."""

    def join(self, host: Host, group: Address) -> None:
        """The host subscribes to the group, by IGMP or by MLD."""

    def leave(self, host: Host, group: Address) -> None:
        """The host unsubscribes."""

    def set_link(self, link: Link, up: bool) -> None:
        """Takes a link down, which loses what is on it, or up again, both directions at once.

        The network tells nobody: whoever notices says so to the control plane.
        """

    def start(self, stream: Stream, at: int) -> None:
        """The stream's source sends its packets from the moment `at` on."""

    def run_until(self, end: int, controller: Controller) -> None:
        """Let time pass up to `end`; the controller acts on frames and timers meanwhile."""

    def settle(self, controller: Controller) -> None:
        """Lets time pass until what is under way has arrived, as far as switches may be slower than
        the streams."""

    def observed(self, streams: Sequence[Stream] | None = None) -> Observed:
        """What has been sent, received and carried so far: of all streams, or of some, where the
        others cost nothing."""

    def __enter__(self) -> Network: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
