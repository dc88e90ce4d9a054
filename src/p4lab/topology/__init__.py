"""Networks as data: routers, hosts and links from a TOML file in `topologies/`.

    topology = Topology.load("paper")
    topology.port("r1", "r2")

The schema of the file is `p4lab.topology.file.TopologyFile`.
"""

from p4lab.topology.file import TopologyError, names
from p4lab.topology.model import NO_FAILURES, Failures, Host, Link, Router, Topology
from p4lab.topology.tomls import Problem

__all__ = [
    "NO_FAILURES",
    "Failures",
    "Host",
    "Link",
    "Problem",
    "Router",
    "Topology",
    "TopologyError",
    "names",
]
