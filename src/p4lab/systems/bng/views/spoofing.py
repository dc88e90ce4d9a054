"""A subscriber sends in the name of another one: what the program makes of each attempt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from p4lab import _engine
from p4lab.errors import ArgumentError
from p4lab.model.run import Plan
from p4lab.network.virtual import PICOSECONDS
from p4lab.packets.probe import probe_frame
from p4lab.session.run import MILLISECOND, Session, virtual_network
from p4lab.systems.bng.lines import Subscription
from p4lab.systems.bng.notation import ENUM
from p4lab.systems.bng.plane import GatewayControlPlane
from p4lab.systems.bng.ppp.codes import IPV4
from p4lab.systems.bng.pppoe.packets import SESSION, data
from p4lab.topology import Host

PATIENCE, STEP = 1000 * MILLISECOND, 20 * MILLISECOND
TRAVEL = 100 * MILLISECOND
ETHERNET_BYTES = 14


@dataclass(frozen=True)
class Attempt:
    """One packet. What it says is `whose` session id, MAC address and IP address it has; all come
    in on the line of `who`. `reason` is a name of `reason_t`, given at `file` and `line`; both are
    empty where the program gives none."""

    title: str
    whose: tuple[str, str, str]
    arrived: bool
    reason: str
    file: str
    line: int


@dataclass(frozen=True)
class Spoofing:
    """All attempts of a subscriber in the name of another; `problem` says why there are none."""

    who: str
    whom: str
    server: str
    attempts: tuple[Attempt, ...]
    problem: str = ""


def spoof(plan: Plan, program: _engine.Program, who: str, whom: str) -> Spoofing:
    """Both dial in, and one sends. Raises ValueError for a name that no subscriber has."""
    net = virtual_network(plan, program)
    session = Session(plan, net)
    plane = session.plane
    assert isinstance(plane, GatewayControlPlane)
    known = {one.host.name: one for one in plane.subscriptions}
    for name in (who, whom):
        if name not in known:
            raise ArgumentError(f"{name} is not a subscriber; choose from {', '.join(known)}.")
    server = next(host for host in plan.topology.hosts if host.name in plan.settings.core_hosts)
    try:
        session.start()
        net.attach()
        while {who, whom} - plane.online and net.now < PATIENCE:
            net.run_until(net.now + STEP, session.controller)
    except ValueError as error:  # a program without what the control plane needs
        return Spoofing(who, whom, server.name, (), str(error))
    if missing := sorted({who, whom} - plane.online):
        return Spoofing(who, whom, server.name, (), f"{' and '.join(missing)} cannot dial in.")
    net.trace()
    frames = list(_frames(plane, known[who], known[whom], server))
    for number, (_, _, frame) in enumerate(frames):
        at = net.now + number * MILLISECOND
        net.engine.send_at(net.node(who), at * PICOSECONDS, frame)
    net.run_until(net.now + TRAVEL, session.controller)
    (router,) = plan.topology.routers
    seen = {item["data"]: item["packets"] for item in net.take_traces()[router.name]}
    attempts = tuple(
        _attempt(title, whose, seen.get(frame, ()), server) for title, whose, frame in frames
    )
    return Spoofing(who, whom, server.name, attempts)


def _frames(
    plane: GatewayControlPlane, own: Subscription, other: Subscription, server: Host
) -> Iterator[tuple[str, tuple[str, str, str], bytes]]:
    """An honest packet, and three that are not, all on the line of the first."""
    sessions = plane.gateway.api.known.sessions.values()
    ids = {session.mac: session.pppoe_id for session in sessions}
    me, victim = own.host.name, other.host.name
    cases = (
        (f"all of it {me}'s own", own, own, own),
        (f"{victim}'s IP address", own, own, other),
        (f"{victim}'s session id and IP address", other, own, other),
        (f"{victim}'s session id, MAC and IP address", other, other, other),
    )
    for flow, (title, in_session, with_mac, with_address) in enumerate(cases, 1):
        packet = probe_frame(with_address.host, server.ip, flow, 0)[ETHERNET_BYTES:]
        inside = data(ids[in_session.host.mac], IPV4, packet)
        mac = with_mac.host.mac.to_bytes(6, "big")
        gateway = own.host.gateway_mac.to_bytes(6, "big")
        used = (in_session, with_mac, with_address)
        whose = tuple(me if one is own else victim for one in used)
        yield title, (whose[0], whose[1], whose[2]), own.line.frame(gateway, mac, SESSION, inside)


def _attempt(title: str, whose: tuple[str, str, str], packets: Any, server: Host) -> Attempt:
    """What the traces say of a packet."""
    ports = [packet["fate"]["port"] for packet in packets if _is_sent(packet)]
    reason, file, line = "", "", 0
    for packet in packets:
        for step in packet["steps"]:
            if step["kind"] == "change" and str(step["after"]).startswith(ENUM):
                reason = str(step["after"]).removeprefix(ENUM)
                file, line = step["file"], step["line"]
    return Attempt(title, whose, server.port in ports, reason, file, line)


def _is_sent(packet: Mapping[str, Any]) -> bool:
    return bool(packet["fate"]) and packet["fate"]["kind"] == "sent"
