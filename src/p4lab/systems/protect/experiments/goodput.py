"""Figure 3 of the paper: TCP goodput of one to four pairs of hosts over two lines of 100 Gb/s.

Clients at one switch download from servers at the other, with 15 TCP flows for each pair. Hosts
have a real TCP, in virtual time (docs/virtual-time.md). Plain and unprotected traffic takes one of
the two lines; protected traffic takes both, and both carry all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from p4lab.experiment.goodput import PARALLEL, goodput_windows, parallel
from p4lab.network.base import NetworkError
from p4lab.network.virtual import PICOSECONDS
from p4lab.spread.sweep import Sweep, Task
from p4lab.systems.protect.connections import TUNNEL_BYTES
from p4lab.systems.protect.experiments.setup import (
    MODES,
    US,
    Cable,
    Mode,
    between,
    in_mode,
    opened,
    plan_of,
    two_paths,
)
from p4lab.systems.protect.settings import ProtectSettings

PAIRS = (1, 2, 3, 4)
GIGABIT = 10**9
LINE = 100 * GIGABIT
HOST_RATE = 28 * GIGABIT
"""What a host can make: our assumption. The paper says that three pairs do not fill the line, and
four do, so it is more than 25 and less than 33 Gb/s."""
PATH_MTU = 1500
TCP_IP_BYTES = 40
ETHERNET_BYTES = 14
ON_THE_WIRE = 24  # preamble, gap and FCS, of each frame
PAPER_GBPS = {4: 90.0}  # "around 90 Gb/s"; nothing else is told in numbers

DELAY = 5 * US  # of each path, one way
ACCESS = US
WINDOW = 64 << 10  # bytes of a flow: enough for its share of the line, and 60 of them fit a queue
SPREAD = 20 * US  # within which flows begin
WARM_UP = 300 * US
MEASURED = 400 * US
SETTINGS = ProtectSettings(accept="highest")


def host_mtu(mode: Mode) -> int:
    """How long packets of hosts may be: protected ones leave room for the tunnel's headers."""
    return PATH_MTU - (TUNNEL_BYTES if mode == "protected" else 0)


def by_formula(mode: Mode, pairs: int, host_rate: float = HOST_RATE) -> float:
    """Goodput of all pairs in bits per second, from lengths alone: what hosts can make, or what the
    line carries."""
    mtu = host_mtu(mode)
    payload = mtu - TCP_IP_BYTES
    made = pairs * host_rate * payload / (mtu + ETHERNET_BYTES)
    on_line = PATH_MTU if mode == "protected" else mtu
    return min(made, LINE * payload / (on_line + ETHERNET_BYTES + ON_THE_WIRE))


@dataclass(frozen=True)
class Outcome:
    """One run: goodput of all pairs together in bits per second."""

    network: str
    mode: Mode
    pairs: int
    seed: int
    goodput: float


def run(mode: Mode, pairs: int, seed: int, host_rate: int = HOST_RATE) -> Outcome:
    """In virtual time. Raises NetworkError if data was lost or changed on the way, ProgramError."""
    path = Cable(DELAY)
    topology = two_paths(path, path, pairs=pairs, rate=LINE, access_ns=ACCESS)
    plan = in_mode(plan_of(topology, seed, between(topology, pairs), SETTINGS), mode)
    with opened(plan, protected=mode == "protected", engine=None, overhead=ON_THE_WIRE) as session:
        net = session.net
        nodes = {
            host.name: net.set_tcp(
                host,
                mtu=host_mtu(mode),
                rate=host_rate if host.router == "r1" else None,
                gateway=host.gateway_mac,
            )
            for host in topology.hosts
        }
        flows = {
            f"pair {pair}": parallel(
                net.engine,
                nodes[f"h{2 * pair - 1}"],
                nodes[f"h{2 * pair}"],
                PARALLEL,
                within=SPREAD * PICOSECONDS,
                seed=seed,
                window=WINDOW,
            )
            for pair in range(1, pairs + 1)
        }
        net.run_until(net.now + WARM_UP, session.plane)
        seen = goodput_windows(net.engine, flows, MEASURED * PICOSECONDS)()
        numbers = [number for group in flows.values() for number in group]
        for found in map(net.engine.transferred, numbers):
            if found["retransmitted"] or found["wrong"]:
                raise NetworkError(f"a flow has lost data: {found}")
    return Outcome("virtual", mode, pairs, seed, sum(seen.values()))


def measure(
    runs: int, seed: int, run_one: Callable[[Mode, int, int, int], Outcome], last: int, sweep: Sweep
) -> list[Outcome]:
    """Every mode and number of pairs so many times; `run_one`, a function of a module, gets mode,
    pairs, seed and `last`. Raises NetworkError, ProgramError, SweepError."""
    return sweep.all(
        [
            Task(f"{mode}, {pairs} pairs, seed {own}", run_one, (mode, pairs, own, last))
            for mode in MODES
            for pairs in PAIRS
            for own in range(seed, seed + runs)
        ]
    )
