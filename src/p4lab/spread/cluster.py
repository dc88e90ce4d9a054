"""A Dask cluster, and results in the order in which they come."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from typing import TypeVar

CONNECT_SECONDS = 10

Result = TypeVar("Result")
What = TypeVar("What", bound=Hashable)


class ClusterError(Exception):
    """There is no cluster to work with; the message says what to do."""


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The Dask cluster with a scheduler at `address`, such as tcp://10.0.0.1:8786. Raises
    ClusterError."""
    try:
        from distributed import Client  # heavy: a cluster
    except ImportError as error:
        raise ClusterError("--dask needs Dask: pip install 'p4lab[dask]'.") from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address}; start one with: dask scheduler"
        ) from error
    with client:
        yield client.get_executor(pure=False)


def results(futures: Mapping[Future[Result], What]) -> Iterator[tuple[What, Result]]:
    """What each future is of, and its result, as they come. The first error, and the end of this
    iterator, end all that has not begun."""
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


def collect(
    futures: Mapping[Future[Result], What], heard: Callable[[What, Result], None]
) -> dict[What, Result]:
    """The results by what they are of; each is heard as it comes. The first error ends all that has
    not begun."""
    found = {}
    for what, result in results(futures):
        found[what] = result
        heard(what, result)
    return found
