"""The network in virtual time: deterministic, in this process, without root."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from p4lab import _engine
from p4lab.command import command
from p4lab.model.attachment import Attachment
from p4lab.model.control import Controller, Count
from p4lab.model.entries import Entries, Update
from p4lab.model.layout import CPU_PORT
from p4lab.model.run import Address, Observed, Received, Stream
from p4lab.model.tables import Tables
from p4lab.network.base import NetworkError
from p4lab.network.cpu import CpuPort
from p4lab.network.igmp_host import IgmpHost
from p4lab.network.membership_host import MembershipHost
from p4lab.network.mld_host import MldHost
from p4lab.network.taken import Taken
from p4lab.packets import igmp, mld
from p4lab.packets.ip import multicast_mac, tagged
from p4lab.packets.pcapng import frames
from p4lab.packets.probe import Probe, probe_frame
from p4lab.topology import Host, Link, Topology

PICOSECONDS = 1000  # per nanosecond
# The simple IMIX (7:4:1), frames without checksum; a probe has at least 66 bytes instead of 60.
IMIX = ((66, 7), (590, 4), (1514, 1))
UDP_CHECKSUMS = {4: slice(40, 42), 6: slice(60, 62)}
"""Where a probe has its UDP checksum: after Ethernet and an IP header without options"""
CHECKSUM_PERIOD = 0xFFFF
"""Numbers this far apart add the same to the Internet checksum (RFC 1071)"""
MOST_ARRIVALS = 1500
"""At switches, for one packet sent: ten times what the largest of our networks needs"""
MOST_TRACED = 16_384
"""Packets that switches make of one packet sent while all of them trace, in some hundred MB"""
MILLISECOND = 1_000_000
_MADE = ("received", "clones", "replicas", "resubmitted", "recirculated")
GIVEN_UP = {
    "too_many_passes": "lets a packet go around too often",
    "too_many_packets": "makes too many packets of one",
}
"""What a switch counts when it stops a packet, and what it stops"""
LOOP = "very likely frames run in a loop"


class VirtualNetwork:
    """Switches, hosts and links in the engine; time passes only in `run_until`."""

    name = "virtual"

    def __init__(
        self,
        topology: Topology,
        program: _engine.Program,
        *,
        cpu_port: int = CPU_PORT,
        seed: int = 0,
        pcap: Path | None = None,
        engine: str | None = "interpreter",
        overhead: int | None = None,
        attachments: Mapping[str, Attachment] | None = None,
        takes_all: bool = False,
    ) -> None:
        """`cpu_port` is the number of the port to the control plane, `engine` as for
        `_engine.Switch`, `overhead` as for `_engine.Network.connect`; `attachments` are those of
        hosts that do not speak plain Ethernet, by name; with `takes_all` hosts take frames to any
        MAC address. Raises NetworkError if the folder for
        captures cannot be made, ValueError if there is no native code for the program.
        """
        self.topology = topology
        self.cpu = CpuPort.of(program, cpu_port)
        self.engine = _engine.Network(seed)
        self._nodes: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._links: dict[int, Link] = {}
        self._hosts: dict[str, dict[int, MembershipHost[Any]]] = {
            host.name: {4: IgmpHost(host), 6: MldHost(host)} for host in topology.hosts
        }
        self._attachments = dict(attachments or {})
        self._streams: list[Stream] = []
        self._silent: dict[int, str] = {}
        self._refused: dict[tuple[str, int, int], dict[str, int]] = {}
        self._tables = {router.name: Tables() for router in topology.routers}
        for router in topology.routers:
            node = self.engine.add_switch(
                router.name,
                program,
                cpu_port=cpu_port,
                seed=switch_seed(seed, router.number),
                engine=engine,
            )
            self._add(router.name, node)
        for host in topology.hosts:
            self._add(host.name, self.engine.add_host(host.name, host.mac))
            self.engine.read_ip(self._nodes[host.name])
            self.engine.set_promiscuous(self._nodes[host.name], takes_all)
            if host.name in self._attachments:
                self.engine.attach(self._nodes[host.name])
            else:
                self.engine.notify(self._nodes[host.name])
            for everybody in (igmp.ALL_SYSTEMS, mld.ALL_NODES):  # where queries go
                self.engine.join(self._nodes[host.name], multicast_mac(everybody))
        for link in topology.links:
            number = self.engine.connect(
                (self._nodes[link.a], link.a_port),
                (self._nodes[link.b], link.b_port),
                rate=link.rate,
                delay=link.delay_ns * PICOSECONDS,
                jitter=link.jitter_ns * PICOSECONDS,
                loss=link.loss,
                overhead=overhead,
            )
            self._links[number] = link
        self._captures = self._open_captures(pcap) if pcap else {}

    def _add(self, name: str, node: int) -> None:
        self._nodes[name] = node
        self._names[node] = name

    def _open_captures(self, folder: Path) -> dict[int, Path]:
        files = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for number, link in self._links.items():
                safe = re.sub(r"[^A-Za-z0-9._-]", "_", f"{link.a}-{link.b}")
                files[number] = folder / f"{safe}.pcapng"
                files[number].write_bytes(b"")
                self.engine.capture(number)
        except OSError as error:
            raise NetworkError(
                f"captures cannot be written to {folder}: {error.strerror}; give another folder."
            ) from error
        return files

    @property
    def now(self) -> int:
        return self.engine.now // PICOSECONDS

    def driver(self, router: str) -> VirtualDriver:
        """What writes a router's entries."""
        return VirtualDriver(self.engine, self._nodes[router], self._tables[router], self.cpu)

    def attach(self) -> None:
        """Hosts that have to dial in begin to."""
        for name, attachment in self._attachments.items():
            self._transmit(name, attachment.connect(self.now))

    def join(self, host: Host, group: Address) -> None:
        """The host subscribes by IGMP or MLD, now."""
        self.engine.join(self._nodes[host.name], multicast_mac(group))
        self._send(host.name, self._hosts[host.name][group.version].join(group))

    def leave(self, host: Host, group: Address) -> None:
        """The host unsubscribes by IGMP or MLD, now."""
        speaker = self._hosts[host.name][group.version]
        answers = speaker.leave(group)
        heard = {igmp.ALL_SYSTEMS, mld.ALL_NODES, *speaker.groups}
        if multicast_mac(group) not in map(multicast_mac, heard):  # groups may share one
            self.engine.leave(self._nodes[host.name], multicast_mac(group))
        self._send(host.name, answers)

    def set_link(self, link: Link, up: bool) -> None:
        """Take a link down or up, now."""
        self.engine.set_link(self._number(link), up)

    def node(self, name: str) -> int:
        """The number of a router or host, for methods of `_engine.Network`. Raises KeyError."""
        return self._nodes[name]

    def _number(self, link: Link) -> int:
        return next(number for number, known in self._links.items() if known == link)

    def start(self, stream: Stream, at: int) -> None:
        """The stream's source sends its packets from `at` on; if there was one of the same flow,
        after the last packet of that. A host that is not attached sends nothing, which is noted."""
        self._streams.append(stream)
        if stream.vlan is not None:
            for host in stream.receivers:
                self.engine.read_ip(self._nodes[host.name], tagged=True)
        try:
            templates = [self._wrap(stream.source, frame) for frame in self._templates(stream)]
        except ValueError as error:
            self._silent[stream.flow] = f"{stream.source.name}'s line sends nothing: {error}"
            return
        interval = stream.interval_ns * PICOSECONDS
        for number, template in enumerate(templates):
            self.engine.start_stream(
                self._nodes[stream.source.name],
                template,
                flow=stream.flow,
                sender=stream.source.id,
                start=at * PICOSECONDS + number * interval,
                interval=len(templates) * interval,
                count=len(range(number, stream.packets, len(templates))),
            )

    def frame(self, stream: Stream) -> bytes:
        """The first frame that a stream would send now, as it is on the cable of its source. Raises
        ValueError if that is not attached."""
        return self._wrap(stream.source, next(iter(self._templates(stream))))

    def _templates(self, stream: Stream) -> Iterator[bytes]:
        """The frames that a stream's packets are made from, in turn.

        The engine writes the number of a packet into its payload and lets its UDP checksum be. In
        IPv4 one template without a checksum will do. IPv6 has none without (RFC 8200, section 8.1):
        Linux drops such packets, and Wireshark marks them. So every packet has a template of its
        own, whose checksum is right for its number; and since that sum comes around again after
        CHECKSUM_PERIOD numbers, there are never more templates than that.
        """
        source, destination, flow = stream.source, stream.destination, stream.flow
        if destination.version == 4:
            frame = _without_checksum(probe_frame(source, destination, flow, 0, ttl=stream.ttl))
            yield frame if stream.vlan is None else tagged(frame, stream.vlan)
            return
        mine = (one for one in self._streams if (one.flow, one.source) == (flow, source))
        first = max(0, sum(one.packets for one in mine) - stream.packets)
        for number in range(first, first + min(stream.packets, CHECKSUM_PERIOD)):
            yield probe_frame(source, destination, flow, number)

    def load(
        self,
        source: Host,
        address: Address,
        flow: int,
        *,
        rate: int,
        lengths: Sequence[tuple[int, int]] = ((100, 1),),
        **how: Any,
    ) -> int:
        """The host sends a stream to a group or a host at `rate` bits per second, of probes with so
        many bytes and these weights in the mix; `how` is as for `_engine.Network.generate`, times
        in picoseconds. Gives the source's number. Raises ValueError.

        The packets have no UDP checksum, of IPv6 either: which number comes next in which frame of
        the mix is drawn while they are sent. The hosts of this network do not look at it."""
        mix = []
        for length, weight in lengths:
            frame = _without_checksum(probe_frame(source, address, flow, 0, length=length))
            mix.append((self._wrap(source, frame), weight))
        node = self._nodes[source.name]
        return self.engine.generate(node, mix, rate=rate, flow=flow, sender=source.id, **how)

    def set_tcp(
        self, host: Host, *, mtu: int = 1500, rate: int | None = None, gateway: int | None = None
    ) -> int:
        """Give a host a TCP at its address; the arguments are those of `_engine.Network.set_tcp`.
        Gives the host's number, for `_engine.Network.transfer`. Raises ValueError."""
        node = self._nodes[host.name]
        self.engine.set_tcp(node, int(host.ip), mtu=mtu, rate=rate, gateway=gateway)
        return node

    def measure(self, host: Host, *, window_ns: int = 0) -> None:
        """From now on the host measures what its card takes, rates in windows of so many
        nanoseconds; see `_engine.Network.measure`."""
        self.engine.measure(self._nodes[host.name], window=window_ns * PICOSECONDS)

    def measured(self, host: Host) -> dict[str, Any] | None:
        """What it has measured, see `_engine.Network.measured`; None if it does not."""
        return self.engine.measured(self._nodes[host.name])

    def set_link_at(self, link: Link, at: int, up: bool) -> None:
        """Take a link down or up at a moment to come; nobody but the switches at its ends is told.
        Raises ValueError for a moment that has passed."""
        self.engine.set_link_at(self._number(link), at * PICOSECONDS, up)

    def run_until(self, end: int, controller: Controller) -> None:
        """Let time pass up to `end`. Raises NetworkError if frames run in a loop."""
        while True:
            due = _earliest(controller, *self._attachments.values())
            target = end if due is None else min(end, max(due, self.now))
            try:
                event = self.engine.run_until(target * PICOSECONDS)
            except RuntimeError as error:
                raise NetworkError(f"{error}; {command()} trace shows where.") from error
            if event is not None:
                self._handle(event, controller)
            elif due is not None and due <= target:
                self._do_due(controller)
            elif target == end:
                break
        for number, path in self._captures.items():
            with path.open("ab") as file:
                file.write(self.engine.drain_capture(number))

    def _do_due(self, controller: Controller) -> None:
        due = controller.next_timer()
        if due is not None and due <= self.now:
            controller.timer(self.now)
        for name, attachment in self._attachments.items():
            due = attachment.next_timer()
            if due is not None and due <= self.now:
                self._transmit(name, attachment.timer(self.now))

    def _handle(self, event: tuple[str, int, int, bytes], controller: Controller) -> None:
        kind, node, time, data = event
        name = self._names[node]
        if kind == "packet_in":
            controller.packet_in(time // PICOSECONDS, name, self.cpu.packet_in(data))
            return
        inner = self._unwrapped(name, data) if name in self._attachments else data
        if inner is not None:
            for speaker in self._hosts[name].values():
                self._send(name, speaker.hear(inner))

    def _unwrapped(self, name: str, frame: bytes) -> bytes | None:
        """What is in a frame for an attached host, unless it is a probe: those are counted."""
        answers, inner, trouble = self._attachments[name].heard(self.now, frame)
        self._transmit(name, answers)
        if (probe := Probe.of(frame)) is None:
            return inner
        if inner is not None and self.engine.deliver(self._nodes[name], inner):
            return None
        reasons = self._refused.setdefault((name, probe.flow, probe.sender), {})
        trouble = trouble or "the packet in the frame is cut off"
        reasons[trouble] = reasons.get(trouble, 0) + 1
        return None

    def _send(self, host: str, answers: Sequence[tuple[int, bytes]]) -> None:
        """What the host says, inside of what its cable wants."""
        owner = self.topology.host(host)
        self._transmit(host, [(delay, self._wrap(owner, frame)) for delay, frame in answers])

    def _wrap(self, host: Host, frame: bytes) -> bytes:
        """A frame of the host as it is on its cable. Raises ValueError if it is not attached."""
        attachment = self._attachments.get(host.name)
        return attachment.wrap(frame) if attachment else frame

    def _transmit(self, host: str, answers: Sequence[tuple[int, bytes]]) -> None:
        for delay, frame in answers:
            self.engine.send_at(self._nodes[host], self.engine.now + delay * PICOSECONDS, frame)

    def settle(self, controller: Controller) -> None:
        """Nothing to wait for: these switches take none of the network's time."""

    def observed(self, streams: Sequence[Stream] | None = None) -> Observed:
        """What has been sent, received and carried so far, of all streams or of some."""
        chosen = self._streams if streams is None else streams
        sent = {s.flow: self.engine.sent(s.flow, s.source.id) for s in chosen}
        flows = None if streams is None else [(s.flow, s.source.id) for s in streams]
        taken = Taken(chosen)
        for name in self._hosts:
            for row in self.engine.report(self._nodes[name], flows):
                came = Received(row["received"], row["duplicates"])
                aside = dict(self._refused.get((name, row["flow"], row["sender"]), {}))
                aside[row["trouble"]] = row["unreadable"]
                aside["Ethernet has another destination"] = row["unwanted"]
                taken.add(name, row["flow"], came, aside)
        copies: dict[tuple[str, str], int] = defaultdict(int)
        for number, link in self._links.items():
            there, back = self.engine.link_stats(number)
            copies[link.a, link.b] = there["sent"]["probes"]
            copies[link.b, link.a] = back["sent"]["probes"]
        silent = dict.fromkeys(self._silent[s.flow] for s in chosen if s.flow in self._silent)
        return Observed(sent, taken.received, dict(copies), (*silent, *taken.notes))

    def record(self, link: Link) -> None:
        """From now on `recorded` knows what a link carries."""
        self.engine.capture(self._number(link))

    def recorded(self, link: Link) -> list[tuple[int, bytes]]:
        """Frames that a recorded link has carried either way since the last call, with the time in
        nanoseconds."""
        return list(frames(self.capture(link)))

    def capture(self, link: Link) -> bytes:
        """The same as a pcapng file, for `_engine.Network.replay` or for a file."""
        return self.engine.drain_capture(self._number(link))

    def watch(self, host: Host) -> None:
        """From now on `arrivals` knows what the cable of this host carries to it."""
        self.record(self.topology.link(host.name, host.router))

    def arrivals(self, host: Host) -> list[tuple[int, Probe]]:
        """Probes of others that have arrived at a watched host since the last call, with the
        time in nanoseconds."""
        link = self.topology.link(host.name, host.router)
        seen = ((time, Probe.of(frame)) for time, frame in self.recorded(link))
        return [(time, probe) for time, probe in seen if probe and probe.sender != host.id]

    def link_stats(self, link: Link) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a link has carried and dropped, from its first end to its second, and back; see
        `_engine.Network.link_stats`."""
        return self.engine.link_stats(self._number(link))

    def trace(self, on: bool = True) -> None:
        """From now on all switches keep what happens to their packets."""
        for router in self.topology.routers:
            self.engine.trace(self._nodes[router.name], on)

    def take_traces(self) -> dict[str, list[_engine.Arrival]]:
        """Traces by router since the last call, oldest first."""
        return {
            router.name: self.engine.take_traces(self._nodes[router.name])
            for router in self.topology.routers
        }

    def run_traced(
        self, end: int, controller: Controller, packets: int = 1
    ) -> tuple[dict[str, list[_engine.Arrival]], str]:
        """Lets time pass up to `end` after so many packets were sent, while all switches trace: the
        traces by router, and why it was stopped before, if it was.

        What multiplies in a loop would fill the memory with traces long before `run_until` sees
        that there are too many frames. So time passes in steps in which no frame crosses more than
        one link, and before each it is known how many frames will arrive. Once a switch has given a
        packet up, each frame under way may become as many as that one did.
        """
        delays = [link.delay_ns for link in self.topology.links if link.delay_ns]
        step = min(delays, default=MILLISECOND)
        found: dict[str, list[_engine.Arrival]] = {one.name: [] for one in self.topology.routers}
        growth = _Growth(self._stats(), packets)
        try:
            while (due := self.engine.next_event_time) is not None and due <= end * PICOSECONDS:
                then = due // PICOSECONDS + max(1, step - 1)
                self.run_until(min(end, then), controller)
                for router, traces in self.take_traces().items():
                    found[router].extend(traces)
                if problem := growth.problem(self._stats(), self._under_way()):
                    return found, problem
            self.run_until(end, controller)
        except NetworkError as error:
            return found, str(error)
        return found, ""

    def _stats(self) -> dict[str, dict[str, int]]:
        """What each switch has counted about itself."""
        return {
            router.name: self.engine.switch_stats(self._nodes[router.name])
            for router in self.topology.routers
        }

    def _under_way(self) -> int:
        """Frames on links between switches."""
        return sum(
            way["queued"] + way["in_flight"]
            for number, link in self._links.items()
            if not link.is_access
            for way in self.engine.link_stats(number)
        )

    def __enter__(self) -> VirtualNetwork:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is left behind: everything was in this object."""


class _Growth:
    """What becomes of some packets in all switches together, by what these count."""

    def __init__(self, counts: Mapping[str, Mapping[str, int]], packets: int) -> None:
        self._counts = counts
        self._packets = packets
        self._arrived = 0
        self._made = 0
        self._worst = 1
        self._given_up = ""

    def problem(self, counts: Mapping[str, Mapping[str, int]], under_way: int) -> str:
        """Why it should go no further, if so; `under_way` are the frames that will arrive."""
        for router, now in counts.items():
            new = {what: count - self._counts[router][what] for what, count in now.items()}
            made = sum(new[what] for what in _MADE)
            self._arrived += new["received"]
            self._made += made
            self._worst = max(self._worst, made)
            for what, said in GIVEN_UP.items():
                if new[what] and not self._given_up:
                    self._given_up = f"{router} {said}"
        self._counts = counts
        most, most_made = (self._packets * one for one in (MOST_ARRIVALS, MOST_TRACED))
        if self._given_up and self._made + under_way * self._worst > most_made:
            return f"{self._given_up}: {LOOP}."
        if self._arrived + under_way > most:
            return f"More than {most} packets: {LOOP}."
        if self._made > most_made:
            return f"More than {most_made} packets: {LOOP}."
        return ""


def _earliest(*waiting: Controller | Attachment) -> int | None:
    """When the first of them has something to do; None if none ever has."""
    return min((due for one in waiting if (due := one.next_timer()) is not None), default=None)


def switch_seed(seed: int, router: int) -> int:
    """The seed of a router's switch, by that of its network and its number."""
    return seed << 16 | router


def _without_checksum(frame: bytes) -> bytes:
    """A probe whose UDP checksum says that there is none."""
    place = UDP_CHECKSUMS[frame[14] >> 4]
    return frame[: place.start] + bytes(2) + frame[place.stop :]


class VirtualDriver:
    """Writes to one switch of a virtual network."""

    def __init__(self, engine: _engine.Network, node: int, tables: Tables, cpu: CpuPort) -> None:
        self._engine = engine
        self._node = node
        self._cpu = cpu
        self._tables = tables

    def write(self, updates: Sequence[Update]) -> None:
        """Apply all updates between two packets, or none and raise ValueError."""
        self._engine.write(self._node, updates)
        self._tables.note(updates)

    def entries(self) -> Entries:
        """What has been written to the switch, by whichever driver."""
        return self._tables.entries

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        """What these cells of a counter hold now. Raises ValueError."""
        return {cell: Count(*self._engine.read_counter(self._node, name, cell)) for cell in cells}

    def packet_out(self, port: int, frame: bytes) -> None:
        """Send a frame out of a port."""
        self._engine.send_from_cpu(self._node, self._cpu.packet_out(port, frame))
