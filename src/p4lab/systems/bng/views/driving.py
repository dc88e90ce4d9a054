"""A server sends to all subscribers at once while their classes change: how much is offered to each
of them, how much arrives, and what is agreed, window by window."""

from __future__ import annotations

from dataclasses import dataclass, field

from p4lab import _engine
from p4lab.model.run import Plan
from p4lab.network.virtual import PICOSECONDS
from p4lab.session.run import MILLISECOND, Session, virtual_network
from p4lab.systems.bng.api import bandwidth
from p4lab.systems.bng.lines import Subscription, subscriptions
from p4lab.systems.bng.plane import GatewayControlPlane
from p4lab.topology import Host

WINDOW = 20 * MILLISECOND
FRAME = 1000
"""Bytes of a frame as the server sends it, which is what the meters see"""
PATIENCE = 1000 * MILLISECOND
SECOND = 1000 * MILLISECOND


@dataclass(frozen=True)
class Window:
    """`start` is in nanoseconds since the first window; the rest in bits per second. `limit` is
    None where nothing is agreed."""

    start: int
    offered: float
    delivered: float
    limit: int | None


@dataclass
class Drive:
    """One subscriber's windows; `index` is the number of its session, None if it is not online."""

    subscription: Subscription
    index: int | None
    limit: int | None
    windows: list[Window] = field(default_factory=list)


class Traffic:
    """The network of a plan with a program, in which time passes only in `run`. `drives` is by the
    subscriber's name; `problem` says why nobody gets anything, if so."""

    def __init__(self, plan: Plan, program: _engine.Program, limit: int | None) -> None:
        self.problem = ""
        self.program = program
        self._net = virtual_network(plan, program)
        self._session = Session(plan, self._net)
        self._server = _server(plan)
        self._flow = 0
        plane = self._session.plane
        assert isinstance(plane, GatewayControlPlane)
        self._plane = plane
        try:
            self._session.start()
            self.problem = self._dial_in()
        except ValueError as error:  # a program without what the control plane needs
            self.problem = str(error)
        self._start = self._net.now
        self.drives = {
            one.host.name: Drive(one, plane.session_of(one.host.name), limit)
            for one in subscriptions(plan.topology, plan.settings)
        }
        for name in self.drives:
            self.agree(name, limit)

    def _dial_in(self) -> str:
        self._net.attach()
        plan, plane, system = self._session.plan, self._plane, self._session.system
        while (missing := system.detached(plan, plane)) and self._net.now < PATIENCE:
            self._net.run_until(self._net.now + WINDOW, self._session.controller)
        return f"{missing}." if missing else ""

    @property
    def elapsed(self) -> int:
        """Nanoseconds since the first window."""
        return self._net.now - self._start

    def agree(self, name: str, limit: int | None) -> None:
        """Agrees on another speed with a subscriber: bits per second, or no limit."""
        drive = self.drives[name]
        drive.limit = limit
        if drive.index is None:
            return
        api = self._plane.gateway.api
        if limit is not None:
            api.add_class(bandwidth(f"{limit} bit/s", limit))
        api.change_class(drive.index, "" if limit is None else f"{limit} bit/s")
        self._plane.gateway.flush(self._net.now)

    def run(self, offered: int, windows: int) -> None:
        """The server sends so many bits per second to each subscriber for some windows."""
        end = self._net.now + windows * WINDOW
        for drive in self.drives.values():
            self._send(drive, offered, end)
        for _ in range(windows):
            start, before = self.elapsed, self._received()
            self._net.run_until(self._net.now + WINDOW, self._session.controller)
            after = self._received()
            for name, drive in self.drives.items():
                delivered = (after[name] - before[name]) * FRAME * 8 * SECOND / WINDOW
                drive.windows.append(Window(start, offered, delivered, drive.limit))

    def _send(self, drive: Drive, offered: int, end: int) -> None:
        self._flow += 1
        self._net.load(
            self._server,
            drive.subscription.host.ip,
            self._flow,
            rate=offered,
            lengths=((FRAME, 1),),
            stop=end * PICOSECONDS,
        )

    def _received(self) -> dict[str, int]:
        """Packets that each subscriber has got so far, of all flows."""
        return {name: self._packets_at(name) for name in self.drives}

    def _packets_at(self, name: str) -> int:
        rows = self._net.engine.report(self._net.node(name), None)
        return sum(row["received"] for row in rows)


def _server(plan: Plan) -> Host:
    """The first host on the side of the Internet."""
    servers = plan.settings.core_hosts
    return next(host for host in plan.topology.hosts if host.name in servers)
