"""The engine's Python side, in Rust (crates/p4-py). Numbers of any size are plain ints; times are
picoseconds. Errors: ValueError for what the caller got wrong, OSError for the system's refusals.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias, final

from typing_extensions import Self

from p4lab.model.entries import Match
from p4lab.model.state import Group, Member, Write
from p4lab.model.tna import Setting

@final
class Program:
    """A program ready to run, shared by all switches that run it."""

    def with_undefined(self, seed: int) -> Program:
        """The same for switches that fill what P4 leaves undefined with noise from `seed` and mark
        its reads in their traces (events of kind `undefined`: name, why)."""
    def is_same_code(self, other: Program) -> bool:
        """Whether both compile to the very same code, so that no packet tells them apart."""
    @property
    def summary(self) -> dict[str, Any]:
        """`package`, `blocks`, `headers`, `tables`, `actions`, `instances`, `custom_crcs`. A header
        has name, such as `hdr.ipv4`, and fields in wire order (name, width in bits, varbit). Custom
        CRCs are the calls whose parameters can be set: p4c's name for bmv2, width. It is
        the same object each time, and not to be changed."""

    def p4info(self, *, json: bool = False) -> str:
        """P4Info in protobuf's text format or as JSON; ValueError if there is none."""

@final
class Compilation:
    """What came of a source file."""

    @property
    def ok(self) -> bool: ...
    @property
    def diagnostics(self) -> list[dict[str, Any]]:
        """Each has severity, code, message, hint, file, line, column, end_line, end_column,
        labels."""
    @property
    def files(self) -> list[str]: ...
    @property
    def program(self) -> Program | None:
        """None if there is an error, or nothing to run: no `main`."""
    @property
    def p4info_diagnostics(self) -> list[dict[str, Any]]:
        """What stands in the way of P4Info in a program that is otherwise right."""
    def p4info(self, *, json: bool = False) -> str:
        """P4Info in protobuf's text format or as JSON; ValueError if there is none."""
    def bfrt(self) -> str:
        """What a TNA program shows to clients of BF Runtime, as bf-p4c's `bf-rt.json`; ValueError
        if there is no P4Info, or if the program is for another architecture."""
    def render(self, *, color: bool = False) -> str: ...

def compile(
    path: str,
    include_dirs: Sequence[str] = ...,
    defines: Sequence[tuple[str, str]] = ...,
    *,
    bmv2_compat: bool = False,
    lints: Sequence[str] = ...,
) -> Compilation:
    """Compiles the program in the file `path`; with bmv2's ways if `bmv2_compat`, which the
    switches that run it follow. `lints` names targets ("bmv2", "tofino") whose refusals are to be
    warnings; ValueError for others."""

def compile_text(
    name: str,
    text: str,
    files: dict[str, str] = ...,
    defines: Sequence[tuple[str, str]] = ...,
    *,
    lints: Sequence[str] = ...,
) -> Compilation:
    """Compiles a program given as text; `files` are what it may include, by path."""

def mutations(
    name: str,
    text: str,
    files: dict[str, str] = ...,
    defines: Sequence[tuple[str, str]] = ...,
    *,
    only: Sequence[str],
) -> list[dict[str, Any]]:
    """Wrong programs out of a right one: single edits inside the files `only`, in the order of the
    text. Each has file, line, start, end (in characters of the file), text (what stands there
    instead), operator and title. ValueError for a program that does not compile."""

def explain(code: str) -> dict[str, str] | None:
    """The page of a diagnostic's code: code, title, group, wrong, why, right, see (Markdown)."""

def explanations() -> list[dict[str, str]]:
    """All pages, errors before warnings."""

def nearest_codes(code: str) -> list[str]:
    """Existing codes that look most like `code`."""

def stf(
    program: Program,
    path: str,
    *,
    lax: bool = False,
    seed: int = 0,
    then: str = "",
    traced: bool = False,
) -> dict[str, Any]:
    """Runs an STF script, and the lines of `then` after it, on a fresh switch: script, passed,
    packets_sent, packets_received, findings, notes, text, unreadable; with `traced` also traces,
    one for each packet sent, as `Switch.trace` gives them."""

def conformance(
    path: str,
    *,
    manifest: str | None = None,
    only: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Judges a checkout of p4c; `p4lab conformance --help` names what the dictionary holds."""

def serve_lsp(
    include_dirs: Sequence[str],
    defines: Sequence[tuple[str, str]],
    *,
    cache: os.PathLike[str] | None = None,
    pages: str | None = None,
) -> bool:
    """Speaks the Language Server Protocol on standard input and output until the editor ends it:
    whether that was in order. Built-in files are put in `cache` for the editor to open; `pages` is
    a folder with a page for each code. Raises OSError."""

def format_text(text: str) -> str:
    """The program, formatted. Raises ValueError with "line:column: reason" if it cannot be read."""

@final
class Step:
    """A step of `Switch.trace`: a mapping like any other."""

    def __getitem__(self, key: str, /) -> Any: ...
    def get(self, key: str, default: Any = None) -> Any: ...
    def keys(self) -> list[str]: ...
    def items(self) -> list[tuple[str, Any]]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...

@final
class Arrival:
    """A packet that came to a switch of a network: a mapping with `time` (picoseconds), `port`,
    `data`, what was `sent` for it as (port, bytes), and `packets`, the trace, which is made when
    it is asked for."""

    def __getitem__(self, key: str, /) -> Any: ...
    def keys(self) -> list[str]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...

@final
class Switch:
    """One switch by itself."""

    def __new__(
        cls,
        program: Program,
        *,
        seed: int = 0,
        max_passes: int | None = None,
        max_packets: int | None = None,
        engine: str | None = ...,
    ) -> Self:
        """A packet that goes around more than `max_passes` times (1024), and what one arriving
        packet becomes beyond `max_packets` (16,384), is given up as a loop. `engine` is
        "interpreter", "jit" (native code; ValueError if there is none) or None for native code
        where it can be had. A program is compiled once; traces are always the interpreter's."""
    def write(self, updates: Sequence[Write]) -> None:
        """Applies all updates between two packets, or none of them and raises ValueError."""
    def set_cpu_port(self, port: int | None) -> None:
        """Says which port of a TNA switch leads to the CPU, else none does."""
    def set_loop(self, port: int, *, looped: bool = True) -> None:
        """Lets a front port of a TNA switch lead back to its own ingress, at once, or out again."""
    def set_port_metadata(self, port: int, bits: int) -> None:
        """Sets the 64 bits that stand in front of all packets of a port of a TNA switch."""
    def set_up(self, settings: Sequence[Setting], now: int = 0) -> None:
        """Sets what no table of a TNA switch holds: all of it, or raises ValueError."""
    def set_port(self, port: int, up: bool, now: int = 0) -> None:
        """Tells a TNA switch that a port lost its link, or has it again."""
    def advance(self, now: int) -> list[tuple[int, bytes]]:
        """Lets happen what happens by itself until `now`; gives what comes out, as `process`."""
    def generator_counts(self, pipe: int, app: int) -> dict[str, int] | None:
        """What an application of the packet generator has counted: `triggers`, `batches`,
        `packets`. None if there is none."""
    def take_digests(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """Digests since the last call, oldest first: name, and fields with their values."""
    def process(self, port: int, data: bytes, now: int = 0) -> list[tuple[int, bytes]]:
        """Sends a packet in; gives what comes out, in order, as (port, bytes)."""
    def trace(self, port: int, data: bytes, now: int = 0) -> dict[str, Any]:
        """The same, and everything that happened to the packet on the way: time, port, data, and
        `packets`, the packet and all made from it. Each has id, parent, kind, pass, ingress_port,
        steps, omitted and fate. A step has kind, text, its place in the source, and the fields of
        its kind; a fate has kind ("sent", "dropped", "replicated", "again") and its fields.

        Steps are mappings (`Step`) that are filled when somebody looks at them."""
    def read_counter(self, counter: str, index: int) -> tuple[int, int]:
        """Packets and bytes of a cell."""
    def read_register(self, register: str, index: int, pipe: int = 0) -> int:
        """A register's cell; every pipe of a TNA switch has its own."""
    def read_direct_counter(
        self, table: str, matches: Sequence[tuple[str, Match]], priority: int = 0
    ) -> tuple[int, int]:
        """Packets and bytes of an entry's direct counter."""
    def read_meter(self, meter: str, index: int) -> tuple[int, int, int, int] | None:
        """The rates of a meter's cell, in the order of a `MeterCell`."""
    def entries(self, table: str) -> list[dict[str, Any]]:
        """The entries of a table in the order in which they came: handle (the number that traces
        show), matches (by key), priority, action and args (by parameter)."""
    @property
    def stats(self) -> dict[str, int]: ...
    def bench(self, port: int, data: bytes, count: int) -> tuple[float, int]:
        """Sends `count` copies in; gives the seconds it took and how many packets came out."""

@final
class Network:
    """Switches and hosts joined by links; time passes only in `run_until`."""

    def __new__(cls, seed: int = 0) -> Self: ...
    def add_switch(
        self,
        name: str,
        program: Program,
        *,
        cpu_port: int | None = None,
        seed: int = 0,
        engine: str | None = ...,
    ) -> int:
        """Adds a switch; `engine` as for a `Switch`. Gives its node number."""
    def add_host(self, name: str, mac: int) -> int: ...
    def connect(
        self,
        a: tuple[int, int],
        b: tuple[int, int],
        *,
        rate: int | None = None,
        delay: int = 0,
        jitter: int = 0,
        loss: float = 0.0,
        queue: int | None = None,
        overhead: int | None = None,
    ) -> int:
        """Joins two ends, each a (node, port). `rate` in bits per second, `queue` in bytes;
        `overhead` is what each frame takes on the wire besides its own bytes: 20 for preamble and
        gap by default, 24 with the checksum, which frames here do not have."""
    def configure(
        self,
        link: int,
        *,
        rate: int | None = None,
        delay: int = 0,
        jitter: int = 0,
        loss: float = 0.0,
        queue: int | None = None,
        overhead: int | None = None,
    ) -> None: ...
    def set_link(self, link: int, up: bool) -> None: ...
    def set_link_at(self, link: int, time: int, up: bool) -> None:
        """Takes a link down or up at a moment to come."""
    def fail_at_random(
        self, link: int, *, up: int, down: int, stop: int, seed: int, start: int | None = None
    ) -> list[int]:
        """Lets a link fail and come back from `start` (now) to `stop`: it works for `up` and fails
        for `down` picoseconds on average, with exponential distributions, and works at the end.
        Gives the moments of all changes; the first takes it down, the second brings it back."""
    def set_port(
        self,
        node: int,
        port: int,
        queues: Sequence[tuple[int, int | None, int | None]],
        *,
        rate: int | None = None,
        burst: int | None = None,
    ) -> None:
        """Gives a port with a cable its queues, each (bytes that may wait, rate, burst), and all of
        them together a shaper. A frame of priority n (v1model's `standard_metadata.priority`)
        waits in queue n, or in the last; of those that may send, the last queue goes first. A
        shaper is a token bucket of `rate` bits per second of the frames' bytes (layer 2) and
        `burst` bytes; without both there is none."""
    def queue_stats(self, node: int, port: int) -> list[dict[str, int]]:
        """Of each queue of a port: offered, sent, dropped, waiting (frames; and with `_bytes`),
        peak_bytes, byte_time (bytes that waited times picoseconds: over a time, the mean), wait_sum
        and wait_max (picoseconds that sent frames have waited)."""
    def link_is_up(self, link: int) -> bool: ...
    def link_stats(self, link: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """From the first end to the second, and back: offered, sent, delivered (each frames, bytes,
        probes), drops (queue_full, link_down, cut, loss), queued, in_flight, peak_queue."""
    def capture(self, link: int) -> None: ...
    def drain_capture(self, link: int) -> bytes:
        """pcapng bytes since the last call, to be appended to a file."""
    def join(self, host: int, mac: int) -> None: ...
    def leave(self, host: int, mac: int) -> None: ...
    def set_promiscuous(self, host: int, promiscuous: bool) -> None: ...
    def notify(self, host: int) -> None:
        """From now on frames for this host that are not probes end `run_until`."""
    def read_ip(self, host: int, *, tagged: bool = False) -> None:
        """From now on a probe counts only if the host's kernel would read its headers, behind a
        VLAN tag if it may be `tagged`."""
    def attach(self, host: int) -> None:
        """From now on every frame that the host's card takes ends `run_until`; what is in it for
        the host comes by `deliver`."""
    def deliver(self, host: int, frame: bytes) -> bool:
        """A frame reaches an attached host. Whether it ends in a probe."""
    def send_at(self, host: int, time: int, frame: bytes) -> None: ...
    def start_stream(
        self,
        host: int,
        template: bytes,
        *,
        flow: int,
        sender: int,
        start: int,
        interval: int,
        count: int,
    ) -> None: ...
    def generate(
        self,
        node: int,
        template: bytes | Sequence[tuple[bytes, int]],
        *,
        rate: int,
        flow: int,
        sender: int = 0,
        port: int = 0,
        layer: Literal[1, 2] = 2,
        pattern: Literal["constant", "poisson", "on-off"] = "constant",
        start: int | None = None,
        stop: int | None = None,
        count: int | None = None,
        on: int | None = None,
        off: int | None = None,
        phases: Literal["exponential", "fixed"] = "exponential",
        overhead: int | None = None,
        priority: int = 0,
        seed: int | None = None,
    ) -> int:
        """Sends probes of one flow at `rate` bits per second; gives the source's number.

        `node` is a host, which sends on its cable, or a switch, which receives on `port` as if from
        a cable. `template` is a frame or a mix of frames with weights, each of at least 64 bytes,
        the last 24 of which are overwritten. The rate counts the frames' bytes (`layer` 2) or also
        `overhead` bytes for each (`layer` 1; by default that of the cable, 20 without one).

        "constant" keeps to the rate without drift; "poisson" draws exponential gaps between frames
        with the rate as mean; "on-off" is constant at the rate while on, and silent while off, for
        `on` and `off` picoseconds on average (`phases`): it sends on / (on + off) of the rate.
        From `start` (now) until before `stop`, and `count` frames at most; without both it never
        ends. Draws follow from `seed`, or from the network's seed and the source's number. Frames
        wait at a host's port by `priority`, see `set_port`."""
    def replay(
        self,
        node: int,
        capture: bytes,
        *,
        port: int = 0,
        start: int | None = None,
        speed: float = 1.0,
        flow: int | None = None,
        sender: int = 0,
    ) -> int:
        """Sends the frames of a pcap or pcapng file again, `speed` times as fast, the first at
        `start` (now); gives the source's number. They go as they are, or with `flow` each with a
        probe's number in its last 24 bytes. ValueError says at which byte the file is wrong."""
    def generated(self, source: int) -> dict[str, Any]:
        """What a source has sent: frames, bytes, wire_bytes, done."""
    def measure(self, host: int, *, window: int = 0) -> None:
        """From now on the host measures all frames that its card takes; with rates in windows of
        `window` picoseconds. Forgets what it measured before. Latencies are known of frames that
        left after the first call for any host."""
    def measured(self, host: int, percentiles: Sequence[float] = ...) -> dict[str, Any] | None:
        """What the host has measured since `measure`; None if it does not.

        since, until, window (picoseconds), overhead (bytes); of all frames: frames, bytes,
        wire_bytes, rate_l1 and rate_l2 (bits per second from `since` to `until`), and of each
        complete window (at most 1,048,576) window_frames, window_rates_l1, window_rates_l2.

        `flows` is a list with, for each flow of probes: flow, sender, the same, and received (first
        copies), duplicates, reordered (first copies that came after a higher number), lost (numbers
        between the least and the greatest that came that did not), first, last (times), variation
        (mean absolute difference of successive latencies, None if unknown), jitter (RFC 3550), both
        in picoseconds, and latency: None, or count, mean, min, max (exact), percentiles (nearest
        rank, by percent) and `error`, the largest relative error of these, 1/1024. A source's
        latest 1,048,576 frames have a latency; a flow that nobody here sends has no windows."""
    def set_tcp(
        self,
        host: int,
        address: int,
        *,
        mtu: int = 1500,
        rate: int | None = None,
        gateway: int | None = None,
    ) -> None:
        """Gives a host an IPv4 address (a 32-bit number) and a real TCP (docs/virtual-time.md).

        `mtu` is the length of its largest IPv4 packet in bytes (128 to 65,535): its segments carry
        40 bytes less, and no ICMP message changes that, so leave room for tunnels. `rate` in bits
        per second is what the host can make of frames (layer 2, acknowledgements too), None is what
        its cable carries. Frames go to the Ethernet address `gateway`, or to the other host's own.
        ValueError says what is wrong."""
    def transfer(
        self,
        sender: int,
        receiver: int,
        *,
        bytes: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        window: int = ...,
        buffer: int | None = None,
        congestion: Literal["none", "reno", "cubic"] = "cubic",
        ack_delay: int = 10_000_000_000,
    ) -> int:
        """Arranges a TCP connection between two hosts with a TCP; gives the transfer's number.

        The receiver connects at `start` (now), from a port of its own from 49152 on to port 5201,
        and the sender sends `bytes` (None: no end), but writes none from `stop` on. `window` is the
        receive window and `buffer` what the sender's stack holds until it is acknowledged (None: as
        much), in bytes, 256 to 2**30: a flow has at most the lesser of both in each round trip.
        An acknowledgement waits for a second segment for `ack_delay` picoseconds at most, but for
        the first 16 segments. ValueError says what is wrong."""
    def transferred(self, transfer: int) -> dict[str, Any]:
        """What has become of a transfer so far.

        written, acknowledged (bytes of the sender's program), delivered (bytes that the receiver's
        program has read), wrong (those of them that are not what was written: 0 unless a switch
        rewrites data and checksum), first and last (times of delivery, None before), segments (sent
        with data), retransmitted (those of them that were sent before, wholly), sender_sent,
        sender_received, receiver_sent, receiver_received (frames of this connection at the two
        hosts), done (the sender writes no more and the receiver has read all of it)."""
    def sent(self, flow: int, sender: int) -> int: ...
    def report(
        self, host: int, flows: Sequence[tuple[int, int]] | None = None
    ) -> list[dict[str, Any]]:
        """Of all flows, or of some, each a (flow, sender). Per flow: flow, sender, sent, received,
        duplicates, missing, out_of_order, unwanted, unreadable, trouble (why the first of those
        could not be read, or empty), first, last."""
    def node_stats(self, number: int) -> tuple[int, int]:
        """Frames that a node could not place: sent to a port without a cable, filtered."""
    def write(self, switch: int, updates: Sequence[Write]) -> None: ...
    def entries(self, switch: int, table: str) -> list[dict[str, Any]]:
        """As `Switch.entries`."""
    def set_queue(
        self,
        switch: int,
        *,
        port: int | None = None,
        priority: int | None = None,
        depth: int | None = None,
        rate: int | None = None,
    ) -> None:
        """Sets how many packets egress queues hold and how many leave them per second (0: no
        limit), of one port or all, of one priority or all. Without a rate nothing waits."""
    def set_loop(
        self,
        switch: int,
        port: int,
        *,
        looped: bool = True,
        rate: int | None = None,
        queue: int | None = None,
        overhead: int | None = None,
        latency: int = 0,
        arbitration: str = "tail-drop",
    ) -> None:
        """Lets a port of a TNA switch lead back to its own ingress, with `rate` in bits per second
        (None: at once), a queue of `queue` bytes, `overhead` bytes per packet on the wire (24) and
        `latency` picoseconds from the wire to ingress, or out to its cable again. `arbitration`
        says who gets the places of a full queue: "tail-drop", "equal-drop", "random",
        "looped-first" or "fresh-first" (docs/recirculation.md). Ports 68 to 71 of each pipe always
        lead back."""
    def loop_stats(self, switch: int, port: int) -> dict[str, int] | None:
        """What a looped port with a rate has counted: `offered`, `dropped`, `returned` (packets),
        the same with `_bytes`, and `peak`, the most bytes that waited. None if it is not looped."""
    def set_port_metadata(self, switch: int, port: int, bits: int) -> None:
        """Sets the 64 bits that stand in front of all packets of a port of a TNA switch."""
    def set_up(self, switch: int, settings: Sequence[Setting]) -> None:
        """As `Switch.set_up`, now. Ports go down and come back with their links."""
    def generator_counts(self, switch: int, pipe: int, app: int) -> dict[str, int] | None:
        """As `Switch.generator_counts`."""
    def take_digests(self, switch: int) -> list[tuple[str, list[tuple[str, int]]]]:
        """As `Switch.take_digests`."""
    def read_counter(self, switch: int, counter: str, index: int) -> tuple[int, int]: ...
    def read_direct_counter(
        self, switch: int, table: str, matches: Sequence[tuple[str, Match]], priority: int = 0
    ) -> tuple[int, int]: ...
    def read_register(self, switch: int, register: str, index: int, pipe: int = 0) -> int: ...
    def read_meter(
        self, switch: int, meter: str, index: int
    ) -> tuple[int, int, int, int] | None: ...
    def send_from_cpu(self, switch: int, data: bytes) -> None: ...
    def trace(self, switch: int, on: bool) -> None: ...
    def take_traces(self, switch: int) -> list[Arrival]: ...
    def switch_stats(self, switch: int) -> dict[str, int]: ...
    def fingerprint_on(self) -> None: ...
    @property
    def fingerprint(self) -> int | None: ...
    @property
    def now(self) -> int: ...
    @property
    def next_event_time(self) -> int | None: ...
    def run_until(
        self, end: int, *, threads: int = ...
    ) -> tuple[Literal["packet_in", "host_frame"], int, int, bytes] | None:
        """Lets time pass up to `end`, or until the caller must act on a frame: kind, node, time,
        frame. Raises RuntimeError when frames run in a loop. Several `threads` carry out parts of
        the network side by side, with the same results, where that pays and it is not
        `undivided`."""
    def undivided(self, end: int) -> str | None:
        """Why several threads would not share the work of `run_until`; None if they would."""

@final
class Inbox:
    """Where the frames for the controller arrive, and the clock that all its switches share."""

    def __new__(cls, capacity: int = 1024) -> Self:
        """Frames beyond `capacity` are dropped and counted: a switch waits for nobody."""
    def get(self, timeout: float) -> tuple[int, int, bytes] | None:
        """The next frame as (switch, time, frame); None after `timeout` seconds without one."""
    @property
    def now(self) -> int: ...

@final
class Forwarder:
    """A switch on Linux interfaces, in a thread of its own."""

    def __new__(
        cls,
        program: Program | None,
        ports: Sequence[tuple[int, str]],
        inbox: Inbox,
        *,
        switch: int = 0,
        cpu_port: int | None = None,
        seed: int = 0,
        backend: str | None = None,
        engine: str | None = ...,
    ) -> Self:
        """`ports` are numbers and interface names, `switch` the number that `inbox` tells. Without
        a program everything is dropped until a P4Runtime client brings one.
        `backend` is "af_xdp", "tpacket_v3" or "socket"; None takes the fastest that works.
        Needs root; raises OSError."""
    @property
    def backends(self) -> dict[int, tuple[str, str | None]]:
        """By port: its back end, and why not a faster one."""
    def write(self, updates: Sequence[Write]) -> None: ...
    def read_counter(self, counter: str, index: int) -> tuple[int, int]:
        """Packets and bytes of a cell."""
    def send_from_cpu(self, data: bytes) -> None: ...
    def set_port(self, port: int, up: bool) -> None:
        """Takes a port down, or up again; the servers in front of the switch hear of it, too."""
    def set_loop(self, port: int) -> None:
        """Lets a port of a TNA switch lead back to its ingress."""
    def place(self, pipelines: Sequence[str | None]) -> None:
        """What runs in each of the four pipes of a TNA switch, by name; None: nothing. Raises
        ValueError for a name that the program does not have."""
    def join(self, program: Program, pipelines: Sequence[str | None]) -> None:
        """Lets another program run in those of the four pipes of a TNA switch for which it says a
        pipeline. Raises ValueError for a pipe that is taken, or a name that it does not have."""
    def emulate(
        self,
        port: int,
        *,
        rate: int | None = None,
        delay: int = 0,
        jitter: int = 0,
        loss: float = 0.0,
        queue: int | None = None,
        both: bool = False,
        seed: int = 0,
    ) -> None:
        """Gives the link at a port properties as `Network.connect` does: for what the switch
        sends, and with `both` also for what it receives."""
    def stats(self) -> dict[str, Any]:
        """`ports`: by number received, sent (each frames, bytes, probes) and drops by reason;
        `no_port`, `cpu_full`."""
    def trace(self, on: bool) -> None: ...
    def take_traces(self) -> list[dict[str, Any]]: ...
    def stop(self) -> dict[str, Any]:
        """Ends the thread; gives its last `stats`. Further calls raise OSError."""

def stage_graph(
    path: str,
    include_dirs: Sequence[str] = ...,
    defines: Sequence[tuple[str, str]] = ...,
) -> str:
    """What the program asks of a chip's stages, as JSON (docs/fit.md). Raises ValueError, with the
    text to show, for a program with errors or for one of no chip."""

def stage_graph_of_text(
    name: str,
    text: str,
    files: dict[str, str] = ...,
    defines: Sequence[tuple[str, str]] = ...,
) -> str:
    """The same of a program given as text; `files` are what it may include, by path."""

class _Solver(Protocol):
    def forget(self) -> None:
        """Other terms follow, numbered from 0 again."""
    def ask(
        self,
        nodes: list[tuple[Any, ...]],
        facts: list[int],
        assumptions: list[int],
        seconds: float,
    ) -> list[tuple[int, int, int | None]] | bool | None:
        """Whether the assumptions can hold together with all facts so far: None: no; False: not
        known; else the values of unknowns and applied functions."""

def prove(
    reference: Program, student: Program, solver: _Solver, bounds: Any, seconds: float
) -> dict[str, Any]:
    """Compares two v1model programs within bounds (p4lab.prove.compare.Bounds), for at most so many
    seconds of one core: verdict (equal, different, undecided), why, example, stages. An example has
    port, packet, updates, registers (name, leaf, index, value) and sent, for each program a list of
    (port, bytes); `after` and `counts` are cells of registers and counters that differ afterwards.
    If it `is_undefined`, it takes other values than zeros where P4 leaves them undefined. Raises
    ValueError for programs that cannot be compared."""

def follow(
    program: Program, solver: _Solver, bounds: Any, seconds: float, most: int
) -> list[dict[str, Any]]:
    """A packet for each path of a program, at most `most`, as the example of `prove`."""

def cover(
    reference: Program, student: Program, solver: _Solver, bounds: Any, seconds: float
) -> dict[str, Any]:
    """Packets for the branches of two programs: `visits`, each as the example of `prove`, which
    says nothing of what is sent, and with `is_supposed` (only if registers that the student's
    program alone has hold what is not said); `branches` of both programs, each with file, line,
    column, what and fate ("taken", "supposed", "refused", "unmet"); a `difference` or None, as the
    example of `prove`; and `why` not everything was tried."""

def sample(
    program: Program, solver: _Solver, bounds: Any, seconds: float, most: int, seed: int
) -> list[dict[str, Any]]:
    """Random packets and states near those of a program's paths, at most `most`, as the example of
    `prove`: what the program's terms come to with these numbers."""

@final
class P4RuntimeServer:
    """P4Runtime 1.5 over gRPC, in threads of its own, for switches on Linux interfaces."""

    def __new__(
        cls,
        address: str = "127.0.0.1:9559",
        *,
        folders: Sequence[str | os.PathLike[str]] = ...,
        include_dirs: Sequence[str] = ...,
        bmv2_compat: bool = False,
    ) -> Self:
        """Listens on HOST:PORT; port 0 takes a free one. A client may send P4 source text as its
        device configuration, or p4c's JSON, whose source is then looked for in `folders` and
        compiled with `include_dirs`. Raises OSError, and ValueError for what is not an address."""
    @property
    def address(self) -> str:
        """HOST:PORT; raises OSError once closed."""
    def add(self, device_id: int, forwarder: Forwarder) -> None:
        """Makes a switch a device. From now on packets to its CPU port and digests go to the
        clients, not to its inbox."""
    def close(self) -> None:
        """Ends all connections; the switches go on with what they have."""

@final
class BfrtServer:
    """BF Runtime over gRPC, in threads of its own, for a TNA switch on Linux interfaces."""

    def __new__(cls, names: Sequence[str], forwarder: Forwarder, address: str) -> Self:
        """Listens on HOST:PORT; port 0 takes a free one. Clients bind to the programs under these
        names: the forwarder's own first, then those that have joined. Raises OSError, and
        ValueError for what is not an address or no program of TNA."""
    @property
    def address(self) -> str:
        """HOST:PORT; raises OSError once closed."""
    def close(self) -> None:
        """Ends all connections; the switch goes on with what it has."""

@final
class EmptyServer:
    """A server like BfrtServer that has no switch and answers every call at once."""

    def __new__(cls, address: str) -> Self: ...
    @property
    def address(self) -> str:
        """HOST:PORT; raises OSError once closed."""
    def close(self) -> None:
        """Ends all connections."""

def bench_calls(address: str, path: str, messages: Sequence[bytes]) -> float:
    """Seconds that calls of a method take, one after the other over one connection, with these
    serialized messages, by a native client. Raises OSError for a call that fails."""

@final
class Runtime:
    """What a runtime API beside P4Runtime reads and writes of a switch on Linux interfaces.

    Refusals are ValueErrors of two arguments: a sentence, and its kind: unknown, duplicate,
    not found, full, const table, const default, index, no member, no group, empty group, in use,
    table type, action scope, no key, rates, counter or meter (a table without one), other.
    """

    def __new__(cls, forwarder: Forwarder) -> Self: ...
    @property
    def now(self) -> int:
        """Picoseconds since the switch's clock began."""
    def write(self, updates: Sequence[Write]) -> None: ...
    def entries(self, table: str) -> list[dict[str, Any]]:
        """As `Switch.entries`, and target (a `Member` or `Group`, or None), packets and bytes (of
        the direct counter), rates (of the direct meter; None: green), idle_timeout and
        idle_since (picoseconds; None: there is none)."""
    def entry(self, table: str, handle: int) -> dict[str, Any]:
        """The entry with this number."""
    def find(
        self, table: str, matches: Sequence[tuple[str, Match]], priority: int
    ) -> dict[str, Any]:
        """The entry with this key."""
    def default(self, table: str) -> tuple[str, dict[str, int]] | Member | Group:
        """A table's default action with its arguments, or the member or group."""
    def members(self, profile: str) -> list[tuple[int, str, dict[str, int]]]: ...
    def member_groups(self, profile: str) -> list[tuple[int, list[int]]]: ...
    def counter(self, counter: str, index: int) -> tuple[int, int]:
        """Packets and bytes."""
    def register(self, register: str, index: int) -> int: ...
    def registers(self, register: str) -> list[int]:
        """All cells."""
    def meter(self, meter: str, index: int) -> tuple[int, int, int, int] | None: ...
    def set_queue(
        self,
        *,
        port: int | None = None,
        priority: int | None = None,
        depth: int | None = None,
        rate: int | None = None,
    ) -> None:
        """As `Network.set_queue`."""
    def set_crc(
        self,
        name: str,
        width: int,
        polynomial: int,
        initial: int,
        xor: int,
        *,
        reflect_data: bool,
        reflect_remainder: bool,
    ) -> None:
        """Gives a custom CRC of the program other parameters."""
    def keep_digests(self) -> None:
        """From now on `take_digests` has those that P4Runtime's clients get, too."""
    def take_digests(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """As `Switch.take_digests`."""

def bench_table(
    program: Program, kind: str, entries: int, batch: int, lookups: int
) -> dict[str, float]:
    """Fills the one table of `program`, whose one key of 32 bits matches by `kind` (exact, lpm,
    ternary or range), looks keys up and empties it: `inserts_per_second`, `lookup_ns`,
    `deletes_per_second`."""

def bench_forwarder(
    frame: bytes,
    seconds: float,
    *,
    rate: float | None = None,
    program: Program | None = None,
    updates: Sequence[Write] | None = None,
    backend: str | None = None,
    command: Sequence[str] | None = None,
    engine: str | None = ...,
) -> dict[str, Any]:
    """Puts copies of `frame` on a veth pair, `rate` a second or a flood of them, and counts what
    comes out of another: `seconds`, `offered`, `forwarded`, `busy` (processor time in seconds).
    Between the two is a switch of ours (`program`, on interfaces port0 and port1), another program
    (`command`), or a loop that copies frames.
    Needs root (OSError)."""

def fabric_parameters() -> str:
    """The file of all parameters of a fabric, with the source of each."""

# What a place is ("voq", "egress", "pool"), its two ports, and its lane
_Place: TypeAlias = tuple[str, int, int, int]
# Who waits for whom, for which flow and number of a frame
_Waiting: TypeAlias = tuple[_Place, _Place, int, int]

@final
class Fabric:
    """A server-rack fabric in virtual time: leaves and spines. Ports are leaf x 8 + place."""

    def __new__(
        cls,
        leaves: int,
        *,
        parameters: str = "",
        scenario: str = "",
        seed: int = 1,
        warm: int = 0,
        interval: int = 50_000_000,
        watched: int = 0,
    ) -> Self:
        """`parameters` is TOML with what differs from `fabric_parameters`, over what a `scenario`
        sets. ValueError with the line, as "line 3: ...", for what is not possible."""
    def add(
        self,
        tree: Sequence[tuple[int, Sequence[int]]],
        bytes: int,
        mbps: int,
        *,
        lossless: bool = False,
        poisson: bool = False,
        start: int = 0,
        stop: int = ...,
    ) -> int:
        """Adds a flow; gives its number. `tree` has the sender first, and for each port that makes
        copies where they go. ValueError for what is not a tree."""
    def decide_by(
        self,
        *,
        suspend: Sequence[int] | None = None,
        drop: Sequence[tuple[int, Sequence[int]]] = ...,
        notify: Sequence[int] | None = None,
    ) -> None:
        """Tables in the place of what the parameters say: `suspend` is 0 or 1 for each cell ahead,
        of a VOQ that is not suspended and then of one that is; `drop` has for a frame's buffer
        units what is dropped by those that wait, 0 nothing, 1 the new copy, 2 the oldest; `notify`
        has weights. ValueError for tables of another size."""
    def run(self, end: int, events: int = ..., *, threads: int = ...) -> str:
        """Lets time pass until `end`, or for so many events and those of the same window:
        "reached", "paused" or "deadlock". What happens does not depend on `threads`."""
    def audit(self) -> None:
        """RuntimeError if packets, cells or credits do not add up."""
    @property
    def now(self) -> int: ...
    @property
    def fingerprint(self) -> int: ...
    def sinks(self) -> list[dict[str, Any]]:
        """What each receiver got of each flow: flow, port, level, frames, gbps, delay (None
        without frames), missing, disordered, and `series` in bytes an interval."""
    def totals(self) -> dict[str, int]:
        """Counters of the whole run, by name."""
    def delays(self) -> list[tuple[int, int | None, int | None]]:
        """Frames, mean and 99th percentile of the delay, by the surrogates that were passed."""
    def cache(self) -> list[int]:
        """Lines in use of the watched leaf's cache, one number an interval."""
    def stuck(self) -> list[tuple[int, int]]:
        """Ports that hold something, as leaf and place."""
    def snapshot(self, leaf: int) -> dict[str, Any]:
        """A leaf at this moment: `voqs` and `ports` (dicts), the cells in its `cache` (flow, port,
        number, cell, copies to come), cells `waiting`, which have passed a spine and not yet its
        crossbar, and lines that its cache has `evicted`. ValueError if there is no such leaf."""
    def loads(self) -> tuple[list[tuple[int, int, int, int, int]], list[int]]:
        """What each leaf has carried: cells within it, into links and out of links, bytes to
        servers and back into surrogates. And the cells that have crossed each spine."""
    def offer(self, flow: int) -> bool:
        """The server of a flow sends a frame now; False if it cannot."""
    def waits(self) -> list[_Waiting]:
        """Who waits for whom."""
    def circle(self) -> list[_Waiting]:
        """A shortest circle of those that wait, in order; empty if there is none."""
    def explore(
        self, frames: int, step: int, states: int, *, runs: int = 0, seed: int = 1
    ) -> dict[str, Any]:
        """Tries all ways in which up to so many frames can come, from here until the fabric is
        empty; with `runs`, so many random ones. ValueError for a fabric that sends by itself or
        draws."""
