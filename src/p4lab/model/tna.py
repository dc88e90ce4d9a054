"""What no table of a TNA switch holds (docs/tna.md): each class is one setting.

Numbers of ports are those of the chip, times nanoseconds unless a name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Node:
    """One replication id and where its copies go: ports, and one port of each LAG. Packets with the
    exclusion id `xid` get none of them."""

    rid: int
    ports: tuple[int, ...]
    xid: int | None = None
    lags: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Multicast:
    """The nodes of a group; of nodes in a tuple of their own `level1_mcast_hash` picks one. None
    removes the group."""

    group: int
    nodes: tuple[Node | tuple[Node, ...], ...] | None


@dataclass(frozen=True, slots=True)
class Lag:
    """The ports of a link aggregation group."""

    lag: int
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Prune:
    """The ports that get no copies of packets with a `level2_exclusion_id`."""

    exclusion: int
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GlobalRid:
    """The replication id for which pruning does not look at nodes; None: there is none."""

    rid: int | None


@dataclass(frozen=True, slots=True)
class Coalescing:
    """Samples of several mirrors in one packet, behind a header of 4, 8, 12 or 16 bytes, the first
    of which becomes their number. `timeout` in microseconds; `extracted` bytes of each mirror (0:
    as `coalesce_length` says)."""

    header: bytes = b""
    timeout: int = 0
    extracted: int = 0


@dataclass(frozen=True, slots=True)
class MirrorSession:
    """Where mirrors of a session go. `coalescing` is for the sessions 1016 to 1023."""

    enabled: bool = True
    direction: Literal["ingress", "egress", "both"] = "both"
    port: int | None = None
    queue: int = 0
    groups: tuple[int, ...] = ()
    hashes: tuple[int, int] = (0, 0)
    exclusions: tuple[int, int] = (0, 0)
    rid: int = 0
    copy_to_cpu: bool = False
    max_length: int | None = None
    coalescing: Coalescing | None = None


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror session; None removes it."""

    session: int
    to: MirrorSession | None


@dataclass(frozen=True, slots=True)
class Once:
    """An application begins once, after so long."""

    after: int


@dataclass(frozen=True, slots=True)
class Periodic:
    """An application begins again and again."""

    period: int


@dataclass(frozen=True, slots=True)
class PortDown:
    """An application begins when a port goes down."""


@dataclass(frozen=True, slots=True)
class Recirculation:
    """An application begins when a packet comes back whose first 32 bits have this pattern."""

    pattern: int
    mask: int


@dataclass(frozen=True, slots=True)
class Application:
    """What the packet generator sends: `batches` of `packets_per_batch`, each the bytes of `packet`
    behind a header of 6, as if from the port `source` of the pipe. Jitter makes gaps longer, on
    average by so much."""

    trigger: Once | Periodic | PortDown | Recirculation
    packet: bytes = b""
    source: int = 68
    next_source: bool = False
    batches: int = 1
    packets_per_batch: int = 1
    batch_gap: int = 0
    packet_gap: int = 0
    batch_jitter: int = 0
    packet_jitter: int = 0


@dataclass(frozen=True, slots=True)
class Generator:
    """An application of a pipe's packet generator; None removes it."""

    pipe: int
    app: int
    application: Application | None


@dataclass(frozen=True, slots=True)
class PortMetadata:
    """The 64 bits in front of all packets of a port."""

    port: int
    bits: int


@dataclass(frozen=True, slots=True)
class LowPass:
    """How a low-pass filter follows a rate or samples that rise and fall; what it gives is divided
    by 2 to the power of `scale_down`."""

    mode: Literal["rate", "sample"]
    rise: int
    fall: int
    scale_down: int = 0


@dataclass(frozen=True, slots=True)
class Lpf:
    """A cell of an `Lpf`, or all without a number; None: it gives what it gets."""

    name: str
    cell: int | None
    config: LowPass | None


@dataclass(frozen=True, slots=True)
class EarlyDrop:
    """Random early detection: what share is dropped when the mean is `most`; up to `least` nothing,
    above `most` everything."""

    time_constant: int
    least: int
    most: int
    probability: float


@dataclass(frozen=True, slots=True)
class Wred:
    """A cell of a `Wred`, or all without a number; None: nothing is dropped."""

    name: str
    cell: int | None
    config: EarlyDrop | None


Setting = (
    Multicast
    | Lag
    | Prune
    | GlobalRid
    | Mirror
    | Generator
    | PortMetadata
    | Lpf
    | Wred
)  # fmt: skip
