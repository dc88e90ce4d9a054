"""What hosts have taken of streams: what their kernels can read, and not what merely reaches a
card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from p4lab.model.run import Received, Stream


class Taken:
    """Adds up what hosts report of `streams`."""

    def __init__(self, streams: Iterable[Stream]) -> None:
        self._wanted = {(host.name, stream.flow) for stream in streams for host in stream.receivers}
        self.received: dict[tuple[str, int], Received] = {}
        self._unread: dict[str, dict[str, int]] = {}

    def add(self, host: str, flow: int, taken: Received, aside: Mapping[str, int]) -> None:
        """`taken` is what a host received; `aside` are packets that only reached its card, by the
        reason. To a host that is to get nothing they count all the same: they should not be
        there."""
        if (host, flow) in self._wanted:
            for trouble, count in aside.items():
                if count:
                    hosts = self._unread.setdefault(trouble, {})
                    hosts[host] = hosts.get(host, 0) + count
        else:
            taken = Received(taken.unique + sum(aside.values()), taken.duplicates)
        if taken.unique or taken.duplicates:
            before = self.received.get((host, flow), Received(0, 0))
            unique, duplicates = taken.unique + before.unique, taken.duplicates + before.duplicates
            self.received[host, flow] = Received(unique, duplicates)

    @property
    def notes(self) -> tuple[str, ...]:
        """What hosts could not read, a sentence for each reason."""
        return tuple(_said(trouble, hosts) for trouble, hosts in self._unread.items())


def _said(trouble: str, hosts: Mapping[str, int]) -> str:
    if len(hosts) == 1:
        ((name, count),) = hosts.items()
        packets, them = ("a packet", "it") if count == 1 else (f"{count} packets", "them")
        return f"{name} got {packets}, but could not read {them}: {trouble}."
    shown = [f"{name} ({count})" for name, count in hosts.items()]
    *most, last = [*shown[:4], f"{len(shown) - 4} more"] if len(shown) > 5 else shown
    return f"{', '.join(most)} and {last} got packets, but could not read them: {trouble}."
