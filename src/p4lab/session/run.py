"""A run from beginning to end, step by step: start, converge, fail, send, observe.

    with open_run(plan) as session:
        session.converge()
        session.fail()
        session.send()
        report = session.report()

Everybody who lets packets flow does it with these steps: `p4lab run` and `trace`, checks of whole
networks, notebooks, experiments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, Generic, TypeVar

from p4lab import _engine, registry
from p4lab.engine import load_program
from p4lab.model.control import Controller, ControlPlane, Driver
from p4lab.model.layout import Layouts
from p4lab.model.report import Report
from p4lab.model.run import Observed, Plan, Stream
from p4lab.model.system import Seen
from p4lab.network.base import Network, NetworkError
from p4lab.network.virtual import VirtualNetwork

MILLISECOND = 1_000_000
STEP = 50 * MILLISECOND  # how often the control plane is asked while it converges
PATIENCE = 20_000 * MILLISECOND  # for all that it has to hear
DRAIN = 500 * MILLISECOND  # for the last packets to arrive
NOTICED = 500 * MILLISECOND  # for real switches to hear of their ports
RERUN_PACKETS = 2  # of each stream, where a report asks what the reference does

Net = TypeVar("Net", bound=Network, covariant=True)


class UnheardError(NetworkError):
    """What hosts say of their groups does not come to the control plane."""


class Session(Generic[Net]):
    """A plan on a network that is up, with its control plane."""

    def __init__(
        self,
        plan: Plan,
        net: Net,
        *,
        layouts: Layouts | None = None,
        driver: Callable[[str], Driver] | None = None,
        plane: ControlPlane | None = None,
        controller: Callable[[ControlPlane], Controller] | None = None,
    ) -> None:
        """`layouts` are those of chips. `driver` writes entries in the place of the network's own,
        `plane` is another control plane than the system's, and `controller` makes what stands in
        front of the control plane and hears the network. Raises NumberError."""
        self.plan = plan
        self.net = net
        self.system = registry.find(plan.system)
        self.plane = plane or self.system.control_plane(plan, driver or net.driver, layouts)
        self.controller: Controller = controller(self.plane) if controller else self.plane
        self.unheard = ""
        """What did not come to the control plane, if so"""
        self._layouts = layouts

    def start(self) -> None:
        """The control plane writes what it can. Raises RefusedError."""
        self.plane.start(self.net.now)

    def converge(self, patience: int = PATIENCE) -> None:
        """Hosts that dial in do, then every receiver joins its group, and time passes until the
        control plane knows all that it must. Raises UnheardError after `patience` nanoseconds."""
        self.net.attach()
        self._wait_for(self.system.detached, "{}.", patience)
        for stream in self.plan.streams:
            if stream.destination.is_multicast:
                for host in stream.receivers:
                    self.net.join(host, stream.destination)
        self._wait_for(self.system.waiting, "{} did not reach the control plane.", patience)

    def _wait_for(
        self, missing_of: Callable[[Plan, Any], str], sentence: str, patience: int
    ) -> None:
        deadline = self.net.now + patience
        while missing := missing_of(self.plan, self.plane):
            if self.net.now >= deadline:
                raise UnheardError(sentence.format(missing))
            self.net.run_until(self.net.now + STEP, self.controller)

    def converge_or_go_on(self) -> str:
        """Converges; or says what went wrong with that, after which the run goes on."""
        try:
            self.converge()
        except UnheardError as error:
            self.unheard = str(error)
        return self.unheard

    def fail(self) -> None:
        """The plan's links fail. Routers that can see it do, the controller hears nothing."""
        for link in self.plan.down:
            self.net.set_link(link, False)
            self._see(link)
        if self.plan.down:
            self.net.run_until(self.net.now + NOTICED, self.controller)

    def _see(self, link: Any) -> None:
        """Tells the switches, unless who stands in front of the control plane does it itself."""
        seen = getattr(self.controller, "link_seen", self.plane.link_seen)
        seen(link, False)

    def send(self, streams: tuple[Stream, ...] | None = None) -> int:
        """The plan's streams, or others, all at once, and time for the last packet to arrive.
        Gives the moment of the first packet."""
        start = self.begin(streams)
        self.net.run_until(self.end(start, streams), self.controller)
        self.net.settle(self.controller)
        return start

    def begin(self, streams: tuple[Stream, ...] | None = None) -> int:
        """Streams begin; gives the moment of their first packet, in nanoseconds."""
        start = self.net.now + MILLISECOND
        for stream in self.plan.streams if streams is None else streams:
            self.net.start(stream, start)
        return start

    def end(self, start: int, streams: tuple[Stream, ...] | None = None) -> int:
        """When all of it has arrived that will."""
        chosen = self.plan.streams if streams is None else streams
        longest = max(stream.packets * stream.interval_ns for stream in chosen)
        travel = sum(link.delay_ns for link in self.plan.topology.links)
        return start + longest + travel + DRAIN

    def report(self, target: str = "engine", notes: tuple[str, ...] = ()) -> Report:
        """What was observed beside what the plan should have led to, and notes on how."""
        found = self.system.report(self.plan, self._seen(target, notes))
        return found.with_problems(self.unheard) if self.unheard else found

    def problem(self, target: str = "engine") -> str:
        """What is wrong first with what was observed; empty if nothing is."""
        problems = self.system.problems(self.plan, self._seen(target))
        return self.unheard or (problems[0] if problems else "")

    def _seen(self, target: str, notes: tuple[str, ...] = ()) -> Seen:
        collected = self.system.collect(self.plan, self.net.driver, self._layouts)
        observed = self.net.observed()
        observed = replace(observed, notes=(*notes, *observed.notes))
        return Seen(self.net.name, target, observed, collected, reference_run)


def carry_out(session: Session[Network]) -> None:
    """All steps up to the last packet, for a session that is not started. Raises NetworkError if
    what hosts say does not come to the control plane, ValueError for entries that do not fit."""
    session.start()
    session.converge()
    session.fail()
    session.send()


def trial(session: Session[Network], target: str = "engine") -> str:
    """Lets the plan happen, and says what goes wrong first; empty if nothing does. Raises as
    `carry_out` does."""
    carry_out(session)
    return session.problem(target)


@lru_cache(maxsize=256)
def reference_run(plan: Plan) -> Observed:
    """What a network in virtual time sees of a plan with the lab's reference program and a few
    packets of each stream. Raises as `carry_out` does."""
    streams = tuple(
        replace(stream, packets=min(stream.packets, RERUN_PACKETS)) for stream in plan.streams
    )
    short = replace(plan, program=plan.reference, streams=streams)
    with open_virtual(short) as session:
        carry_out(session)
        return session.net.observed()


@contextmanager
def open_virtual(plan: Plan, program: Any = None) -> Iterator[Session[VirtualNetwork]]:
    """A session on a network in virtual time, not started; `program` is another compiled program
    than the plan's. Raises ProgramError, NumberError."""
    compiled = program or load_program(
        plan.program, plan.defines, bmv2_compat=plan.bmv2_compat, undefined=plan.undefined
    )
    with virtual_network(plan, compiled) as net:
        yield Session(plan, net)


def virtual_network(plan: Plan, program: _engine.Program) -> VirtualNetwork:
    """The plan's network in virtual time, on whose switches a compiled program runs."""
    system = registry.find(plan.system)
    cpu_port = system.cpu_port(program.summary["package"])
    return VirtualNetwork(
        plan.topology,
        program,
        cpu_port=cpu_port,
        seed=plan.seed,
        attachments=system.attachments(plan),
        takes_all=system.takes_all,
    )
