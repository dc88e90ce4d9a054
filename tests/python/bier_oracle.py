"""What BIER should do, written from the RFCs without the code under test, and random networks."""

from __future__ import annotations

import string
from collections import Counter

from hypothesis import strategies as st

from p4lab.topology import Topology


def lookup(entries, table, **fields):
    """Action and parameters of the row that a switch would pick: ternary, largest priority."""
    rows = [
        entry
        for entry in entries
        if getattr(entry, "table", None) == table
        and all(
            fields[name] & getattr(match, "mask", -1) == match.value for name, match in entry.match
        )
    ]
    if not rows:
        return None, {}
    best = max(rows, key=lambda row: row.priority)
    assert [row.priority for row in rows].count(best.priority) == 1, "two rows could win"
    return best.action, dict(best.params)


def forward(entries_of, neighbour, router, bift_id, bit_string, links: Counter, got: Counter):
    """RFC 8279, section 6.5, step by step; counts copies per link and deliveries per router."""
    while bit_string:
        action, row = lookup(entries_of[router], "bift", bift_id=bift_id, remaining=bit_string)
        if action is None:
            return
        if action == "decapsulate":
            got[router] += 1
        else:
            far = neighbour(router, row["port"])
            links[router, far] += 1
            assert links[router, far] < 100, "a loop"
            forward(entries_of, neighbour, far, bift_id, bit_string & row["fbm"], links, got)
        bit_string &= ~row["fbm"]


def send(topology: Topology, entries_of, host: str, group: int):
    """A packet's whole way, BFIR and BFER included: copies per directed link, frames per host."""
    source = topology.host(host)
    links: Counter = Counter({(host, source.router): 1})
    hosts: Counter = Counter()
    index, more = 0, 1
    while more:
        action, row = lookup(entries_of[source.router], "encap", group=group, set=index)
        if action is None:
            assert index == 0, "the chain of sets is broken"
            break
        got: Counter = Counter()
        forward(
            entries_of,
            topology.neighbour,
            source.router,
            row["bift_id"],
            row["bit_string"],
            links,
            got,
        )
        for router, times in got.items():
            deliver(topology, entries_of[router], router, group, source, times, links, hosts)
        index, more = index + 1, row["more_sets"]
    return links, hosts


def deliver(topology, entries, router, group, source, times, links, hosts):
    """The BFER's part: replicate to the group's ports, not back to where it came from."""
    _, row = lookup(entries, "group_ports", group=group)
    groups = {e.group_id: e.replicas for e in entries if type(e).__name__ == "MulticastGroup"}
    for port, _ in groups[row["mcast_grp"]]:
        host = topology.neighbour(router, port)
        if host != source.name:
            links[router, host] += times
            hosts[host] += times


@st.composite
def networks(draw, max_routers=9):
    """Connected random networks: a random tree, some more links, up to two hosts per router.

    Router numbers are not in the order of the rows and BFR-ids are spread over several sets.
    """
    count = draw(st.integers(2, max_routers))
    numbers = draw(st.permutations(range(1, count + 1)))
    ids = draw(st.lists(st.integers(1, 600), min_size=count, max_size=count, unique=True))
    links = {(draw(st.integers(0, i - 1)), i) for i in range(1, count)}
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    links |= {
        tuple(sorted(pair)) for pair in draw(st.sets(pairs, max_size=8)) if len(set(pair)) > 1
    }
    costs = st.integers(1, 3)
    hosts_per_router = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    return Topology.from_data(
        {
            "name": "random",
            "description": "",
            "router": [{"number": n, "bfr_id": i} for n, i in zip(numbers, ids, strict=True)],
            "host": [
                {"name": f"h{n}{string.ascii_lowercase[k]}", "router": f"r{n}"}
                for n, amount in zip(numbers, hosts_per_router, strict=True)
                for k in range(amount)
            ],
            "link": [
                {"a": f"r{numbers[a]}", "b": f"r{numbers[b]}", "cost": draw(costs)}
                for a, b in sorted(links)
            ],
        }
    )
