"""What the paper prints, typed in once, and where it contradicts itself."""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = (
    "Chrysos, Neeser, Vanderpool, Rudquist, Valk, Greenfield, Basso: Integration and QoS of "
    "Multicast Traffic in a Server-Rack Fabric with 640 100G Ports, ANCS 2014"
)

LOAD = 99.0
"""Gb/s of most flows"""
ZERO_LOAD = {
    (512, "local"): 0.143,
    (512, "remote"): 1.88,
    (1522, "local"): 0.35,
    (1522, "remote"): 2.1,
    (9022, "local"): 1.9,
    (9022, "remote"): 3.6,
}
"""Section 5.3: microseconds from server to server, by bytes of a frame"""
SYNC_SIZES = (512, 1522, 4096, 9022)
"""Bytes of figure 4's frames; the text names the first and the last"""
HEADERS = 100
ACKNOWLEDGED_NS = 3500
"""Section 4.1: after so long the remote copies are acknowledged"""
FIRST_AND_LAST = (80.0, 10.0)
"""Figure 5b, Gb/s, by the text"""
BROADCAST_JUMBO = 93.0
"""Figure 15: the most that Jumbo frames get"""
UNIFORM = {25.0: 76.0, 30.0: 83.0}
"""Figure 13a: Gb/s at destinations by load of a source"""
UNIFORM_DELAY = {5.0: 4.0}
"""Figure 13b: microseconds, "slightly above\""""


@dataclass(frozen=True)
class Contradiction:
    """A statement of the paper that another of its statements does not bear out."""

    where: str
    paper: str
    right: str
    why: str


CONTRADICTIONS = (
    Contradiction(
        "sections 3.1 and 4.1, figure 3: thresholds",
        "suspend above S_low and resume at S_hi, with 18 and 10",
        "suspend above 18, resume at 10",
        "figure 3a suspends at S_hi = S_low + 2, figure 7 has S_hi = S_low = 18; table 1 has the "
        "plain names block and resume",
    ),
    Contradiction(
        "section 3.1 and figure 4c: 10 free lines",
        "eviction begins below 10 free lines, and 16 lines are enough",
        "16 lines are enough only if all of them are used",
        "with 10 lines kept free 6 are left, and VOQs may be 18 cells apart",
    ),
    Contradiction(
        "section 4.1: expected throughput",
        "120 x 12.5 / 3500 = 42.6 Gb/s",
        "42.9 Gb/s",
        "of 100 Gb/s; 43.5 with the 121.76 ns that 1522 bytes take",
    ),
    Contradiction(
        "section 1: fan-out at full speed from 512 bytes on",
        "8 copies of 512 bytes at 100 Gb/s, one new frame every 6.6 ns",
        "from 660 bytes on (640 with 20 bytes between frames)",
        "8 x 6.6 = 52.8 ns, and 512 bytes take 41 ns",
    ),
    Contradiction(
        "section 4.1: figure 6's third period",
        "1 unicast flow between 2-4 ms",
        "between 3 and 4 ms",
        "three flows are there from 2 to 3 ms; the caption of figure 6 says 3 to 4",
    ),
    Contradiction(
        "section 4.1: tail drop without synchronisation",
        "99 Gb/s in 2-3 ms, but far from optimal in 1-3 ms",
        "far from optimal in 1-2 ms, it seems",
        "2-3 ms is part of 1-3 ms",
    ),
    Contradiction(
        "section 5: virtual lanes",
        "four surrogates, a first lane and one for each surrogate, so 4 lanes",
        "5 names, of which a surrogate needs 4",
        "the first lane is used at senders and receivers alone",
    ),
    Contradiction(
        "section 5.2: reach",
        "5 + 5 x 5 = 30 leaves, 150 terminals",
        "5 + 5 x 3 = 20 leaves, 100 terminals",
        "a surrogate with 5 local copies has 3 left; the experiment has 5 + 15 leaves",
    ),
    Contradiction(
        "equation 1: 804 terminals",
        "a flow is limited to 804 terminals",
        "640 - 1",
        "the tree would need 160 surrogates, and there are 127 in other leaves",
    ),
)
