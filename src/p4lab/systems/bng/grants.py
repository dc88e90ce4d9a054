"""What a caller is granted: the addresses and limits that its profile names, or those of pools."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from p4lab.systems.bng.addresses.pools import Pool, PoolError
from p4lab.systems.bng.api import Api
from p4lab.systems.bng.callers import Caller
from p4lab.systems.bng.entries import DELEGATED_BITS, HOST_BITS, LINK_BITS, Net
from p4lab.systems.bng.options import Options
from p4lab.systems.bng.radius.profile import Profile

KINDS = ((4, HOST_BITS[4]), (6, LINK_BITS), (6, DELEGATED_BITS))
"""Version and length of what a subscriber gets: address, prefix of the link, prefix to delegate"""


class Grants:
    """Who has which address is known to the API; here is who gets one, and what is free."""

    def __init__(self, options: Options, api: Api) -> None:
        self._api = api
        networks = zip((options.hosts, options.links, options.delegations), KINDS, strict=True)
        self._unnamed = {
            kind: Pool(network, kind[1]) for network, kind in networks if network is not None
        }
        self._named = {name: Pool(*each) for name, each in options.pools.items()}
        self._pools = (*self._unnamed.values(), *self._named.values())

    def give(self, caller: Caller, profile: Profile, vacate: Callable[[Net], None]) -> str:
        """Give a caller what its profile says; why that cannot be, or nothing.

        `vacate` frees an address that somebody has, or raises PoolError.
        """
        if profile.service and profile.service not in self._api.known.bandwidths:
            return f"there is no class {profile.service}."
        wanted = (
            profile.address is not None and Net(4, profile.address, 32),
            profile.prefix is not None and Net(6, *profile.prefix),
            profile.delegated is not None and Net(6, *profile.delegated),
        )
        pools = (profile.pool, profile.prefix_pool, profile.delegated_pool)
        found: list[Net | None] = []
        try:
            for net, kind, pool in zip(wanted, KINDS, pools, strict=True):
                found.append(self._this(net, kind, vacate) if net else self._any(kind, pool))
        except PoolError as error:
            self._give_back(net for net in found if net)
            return str(error)
        caller.address, caller.prefix, caller.delegated = found
        caller.bandwidth, caller.classes = profile.service or "", profile.classes
        caller.session_timeout = profile.session_timeout or 0
        caller.idle, caller.interim = profile.idle_timeout or 0, profile.interim or 0
        return ""

    def take_again(self, caller: Caller) -> None:
        """What a caller has from before a restart is nobody else's."""
        self._reserve(caller.granted)

    def release(self, caller: Caller) -> None:
        """A caller has nothing any more."""
        self._give_back(caller.granted)
        caller.forget()

    def _this(self, net: Net, kind: tuple[int, int], vacate: Callable[[Net], None]) -> Net:
        """A certain address."""
        if net[::2] != kind:
            raise PoolError(f"a prefix of {net.length} bits cannot be had here.")
        vacate(net)
        self._reserve((net,))
        return net

    def _any(self, kind: tuple[int, int], name: str | None) -> Net | None:
        """An address from the pool of that name, or from that for its version and length, if there
        is one. Raises PoolError for a pool that is not there or empty."""
        if name is None:
            pool = self._unnamed.get(kind)
            return None if pool is None else pool.take()
        named = self._named.get(name)
        if named is None or (named.version, named.length) != kind:
            raise PoolError(f"there is no pool {name} of /{kind[1]}.")
        return named.take()

    def _reserve(self, nets: Iterable[Net]) -> None:
        for net in nets:
            for pool in self._pools:
                pool.take_this(net)

    def _give_back(self, nets: Iterable[Net]) -> None:
        for net in nets:
            for pool in self._pools:
                pool.give_back(net)
