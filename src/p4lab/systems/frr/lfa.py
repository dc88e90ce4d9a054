"""Alternates for unicast: loop-free (RFC 5286) and remote loop-free (RFC 7490) ones.

S is the router that computes, E its next hop towards the destination D, N another neighbour of S,
P the end of a tunnel. All inequalities are strict, so that no path of equal cost can lead back over
what has failed, whichever of them a router picks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from p4lab.control.igp import Igp, underlay
from p4lab.topology import NO_FAILURES, Failures, Topology


@dataclass(frozen=True)
class Alternate:
    """Where S sends a packet for D when it cannot send it to E.

    `tunnel` is the router at whose address the packet is tunnelled (a remote alternate), None for
    a neighbour that takes the packet as it is. `downstream`: N is nearer to D than S (RFC 5286,
    inequality 2). `node_protecting`: good also if E itself has failed (inequality 3).
    """

    neighbour: str
    tunnel: str | None
    downstream: bool
    node_protecting: bool


@dataclass(frozen=True)
class _View:
    """One (S, E, D) and the working neighbours of S, as the inequalities see them."""

    igp: Igp
    s: str
    e: str
    d: str
    neighbours: tuple[tuple[str, int], ...]

    def distance(self, a: str, b: str) -> int:
        return self.igp.distances[a][b]

    def loop_free(self, n: str) -> bool:
        """RFC 5286, inequality 1."""
        return self.distance(n, self.d) < self.distance(n, self.s) + self.distance(self.s, self.d)

    def downstream(self, n: str) -> bool:
        """RFC 5286, inequality 2."""
        return self.distance(n, self.d) < self.distance(self.s, self.d)

    def avoids_e(self, n: str, d: str) -> bool:
        """RFC 5286, inequality 3: no shortest path from `n` to `d` passes through E."""
        return self.distance(n, d) < self.distance(n, self.e) + self.distance(self.e, d)


def alternate(
    topology: Topology, source: str, destination: str, down: Failures = NO_FAILURES
) -> Alternate | None:
    """The best alternate of router `source` for router `destination`; None where there is none.

    Node-protecting ones come first, then neighbours before tunnels, then downstream neighbours,
    then the shortest way.
    """
    view = _view(topology, source, destination, down)
    if view is None:
        return None
    candidates = list(_neighbours(view))
    if not any(candidate.node_protecting for candidate in candidates):
        candidates += _remote(view)
    numbers = {router.name: router.number for router in topology.routers}

    def rank(candidate: Alternate) -> tuple[int, ...]:
        n, p = candidate.neighbour, candidate.tunnel or candidate.neighbour
        length = view.distance(n, p) + view.distance(p, view.d) + dict(view.neighbours)[n]
        return (
            not candidate.node_protecting,
            candidate.tunnel is not None,
            not candidate.downstream,
            length,
            numbers[p],
            numbers[n],
        )

    return min(candidates, key=rank, default=None)


def neighbour_alternate(
    topology: Topology, source: str, destination: str, down: Failures = NO_FAILURES
) -> Alternate | None:
    """The best alternate that needs no tunnel; None where there is none.

    Node-protecting ones come first, then downstream neighbours, then the shortest way.
    """
    view = _view(topology, source, destination, down)
    if view is None:
        return None

    def rank(candidate: Alternate) -> tuple[bool, bool, int]:
        n = candidate.neighbour
        length = dict(view.neighbours)[n] + view.distance(n, view.d)
        return (not candidate.node_protecting, not candidate.downstream, length)

    return min(_neighbours(view), key=rank, default=None)  # of equals the lowest number


def downstream_alternate(
    topology: Topology, source: str, destination: str, down: Failures = NO_FAILURES
) -> Alternate | None:
    """The best neighbour nearer to `destination` than `source`: for packets on a detour already.

    On such ways the distance to the destination only shrinks, so they have no loop whatever else
    has failed (RFC 5286, section 3.5).
    """
    view = _view(topology, source, destination, down)
    if view is None:
        return None
    candidates = [candidate for candidate in _neighbours(view) if candidate.downstream]

    def rank(candidate: Alternate) -> tuple[int, int]:
        n = candidate.neighbour
        return (
            not candidate.node_protecting,
            dict(view.neighbours)[n] + view.distance(n, view.d),
        )

    return min(candidates, key=rank, default=None)  # the first, of the lowest number, among equals


def _view(topology: Topology, source: str, destination: str, down: Failures) -> _View | None:
    igp = underlay(topology, down)
    primary = igp.next_hop(source, destination)
    if primary is None:
        return None
    neighbours = tuple(
        (neighbour.name, link.cost)
        for neighbour, link in topology.neighbours(source)
        if not down.has(link) and neighbour.name != primary
    )
    return _View(igp, source, primary, destination, neighbours)


def _neighbours(view: _View) -> Iterator[Alternate]:
    for n, _ in view.neighbours:
        if view.loop_free(n):
            node = view.d == view.e or view.avoids_e(n, view.d)
            yield Alternate(n, None, view.downstream(n), node)


def _remote(view: _View) -> Iterator[Alternate]:
    """Tunnel ends: PQ nodes for the link, and beyond RFC 7490 (as in RFC 8102) for the node E.

    Links cost the same in both directions, so the distances from S, E and D are also those to them.
    """
    from_s, from_e, from_d = (view.igp.distances[router] for router in (view.s, view.e, view.d))
    s_e, e_d = from_s[view.e], from_e[view.d]
    for n, _ in view.neighbours:
        n_s, n_e = from_s[n], from_e[n]
        for p, n_p in view.igp.distances[n].items():
            p_e = from_e[p]
            if p in (view.s, n, view.d) or n_p >= n_s + s_e + p_e:
                continue  # not in the extended P-space of S through N (section 5.2.1.2)
            node = n_p < n_e + p_e and from_d[p] < p_e + e_d  # RFC 5286, inequality 3, twice
            if node or p_e < from_s[p] + s_e:  # in the Q-space of E (section 5.2.2)
                yield Alternate(n, p, False, node or view.d == view.e)
