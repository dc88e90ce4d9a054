"""p4/bier on the engine against RFC 8279, on random networks, memberships and BitStrings.

A student takes what the engine shows for what BIER does. Here the engine forwards frames from
switch to switch, and what arrives is compared with what the RFC's rule says must arrive: every
addressed router that can be reached gets the packet exactly once, nobody else gets it, and no
link carries it twice.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bier_cables import (
    BSLS,
    GROUP,
    Cables,
    a_stream_reaches_its_subscribers_once,
    any_bit_string_is_delivered_as_the_rfc_says,
    everyone,
    members_of,
)
from bier_oracle import networks
from p4lab.control.listeners import Member
from p4lab.packets.probe import probe_frame
from p4lab.systems.bier.entries import bier_entries
from p4lab.topology import Topology


def wired(topology: Topology, bsl: int, members: frozenset[Member]) -> Cables:
    cables = Cables(topology, bsl)
    for name, entries in bier_entries(topology, members, bsl).items():
        cables.add(name, "v1model.p4", entries)
    return cables


@settings(max_examples=60)
@given(topology=networks(), bsl=st.sampled_from(BSLS), data=st.data())
def test_a_stream_reaches_its_subscribers_once(topology, bsl, data) -> None:
    if not topology.hosts:
        return
    listeners = data.draw(st.sets(st.sampled_from(topology.hosts)))
    source = data.draw(st.sampled_from(topology.hosts))
    cables = wired(topology, bsl, members_of(listeners))
    a_stream_reaches_its_subscribers_once(cables, source, listeners)


@settings(max_examples=60)
@given(topology=networks(), bsl=st.sampled_from(BSLS), data=st.data())
def test_any_bit_string_is_delivered_as_the_rfc_says(topology, bsl, data) -> None:
    cables = wired(topology, bsl, everyone(topology))
    any_bit_string_is_delivered_as_the_rfc_says(cables, data)


@pytest.mark.parametrize("bsl", BSLS)
@pytest.mark.parametrize("name", ["paper", "rfc8279", "ring", "tree10", "fanout64", "sets"])
def test_the_shipped_topologies(name: str, bsl: int) -> None:
    topology = Topology.load(name)
    source = topology.hosts[0]
    cables = wired(topology, bsl, everyone(topology))
    cables.inject(source.router, source.port, probe_frame(source, GROUP, 1, 0))
    assert cables.hosts == Counter(h.name for h in topology.hosts if h != source)
