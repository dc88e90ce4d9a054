"""Pools: what a subscriber gets for whom the RADIUS server names no address of its own."""

from __future__ import annotations

from collections import deque
from ipaddress import IPv4Network, IPv6Network

from p4lab.systems.bng.entries import Net


class PoolError(ValueError):
    """A pool that cannot be, or that is empty."""


class Pool:
    """All networks of `length` bits in a larger one; of IPv4 with /32 without its first and last.

    What was given back longest ago is used again first, so that late packets find no one.
    """

    __slots__ = ("_free", "_next", "_taken", "end", "first", "length", "step", "version")

    def __init__(self, network: IPv4Network | IPv6Network, length: int) -> None:
        """Raises PoolError if nothing fits."""
        if not network.prefixlen <= length <= network.max_prefixlen:
            raise PoolError(f"{network} holds no networks of {length} bits.")
        self.version, self.length = network.version, length
        self.step = 1 << network.max_prefixlen - length
        self.first = int(network.network_address)
        self.end = self.first + network.num_addresses
        if self.version == 4 and length == 32 and network.num_addresses > 2:
            self.first, self.end = self.first + 1, self.end - 1
        self._next = self.first
        self._free: deque[int] = deque()
        self._taken: set[int] = set()

    def __len__(self) -> int:
        """How many can still be taken."""
        return (self.end - self.first) // self.step - len(self._taken)

    def take(self) -> Net:
        """One that no one has. Raises PoolError if all are taken."""
        while self._next < self.end:
            address, self._next = self._next, self._next + self.step
            if address not in self._taken:
                return self._give(address)
        while self._free:
            address = self._free.popleft()
            if address not in self._taken:
                return self._give(address)
        raise PoolError("the pool is empty.")

    def take_this(self, net: Net) -> None:
        """Take a certain one, so that no one else gets it. One that is not of the pool is not the
        pool's business."""
        if self._has(net):
            self._taken.add(net.address)

    def give_back(self, net: Net) -> None:
        """Nobody has it any more."""
        if self._has(net) and net.address in self._taken:
            self._taken.remove(net.address)
            self._free.append(net.address)

    def _give(self, address: int) -> Net:
        self._taken.add(address)
        return Net(self.version, address, self.length)

    def _has(self, net: Net) -> bool:
        return net[::2] == (self.version, self.length) and self.first <= net.address < self.end
