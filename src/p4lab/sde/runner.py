"""Runs PTF's program, which is the first argument, in the tests' Python, not in ours: so that it
ends with the first method that fails, since its own option `--failfast` has no effect; and with
what tests of the SDE count on: that `random.sample` takes sets, as it did until Python 3.11, and
that a packet reads bytes as one like itself, as those of the SDE's own packet library do."""

import collections.abc
import functools
import random
import runpy
import sys
from typing import Any

import scapy.packet
import xmlrunner

_sample = random.sample


def sample(population: Any, k: int, **more: Any) -> Any:
    """random.sample as in Python 3.10."""
    if isinstance(population, collections.abc.Set):
        population = tuple(population)
    return _sample(population, k, **more)


def load_bytes(packet: Any, data: bytes) -> Any:
    """A packet whose first layer is that of `packet`, from these bytes."""
    return type(packet)(data)


if __name__ == "__main__":
    random.sample = sample
    setattr(scapy.packet.Packet, "load_bytes", load_bytes)  # noqa: B010 # it has none to be assigned
    del sys.path[0]  # this folder: what PTF and tests import is not here
    xmlrunner.XMLTestRunner = functools.partial(xmlrunner.XMLTestRunner, failfast=True)
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
