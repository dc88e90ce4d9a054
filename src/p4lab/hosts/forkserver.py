"""Starts the agents of all hosts: it imports what they need once and forks one for each, so that
what they have in common is in memory once.

Standard input is a socket on which each message starts an agent. It is one JSON object, and with it
come four descriptors: standard input, output and error of the agent, and the network namespace of
its host.

    {"interface": "h1-eth0", "number": n, "addresses": ["10.0.1.1", ...]}

The end of standard input ends all agents, whatever they are doing, and then this process.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from p4lab.hosts import agent, kernel

LONGEST = 4096  # bytes of a message
DESCRIPTORS = 4


def become_agent(order: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Makes the process that has just been forked one of its host, which it is until it ends."""
    *streams, namespace = descriptors
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    kernel.call("setns", namespace, kernel.CLONE_NEWNET)
    for descriptor in descriptors:
        os.close(descriptor)
    interface = order["interface"]
    Path("/proc/self/comm").write_text(interface)  # what ps and top call it
    addresses = [ip_address(one) for one in order["addresses"]]
    agent.serve(agent.Agent(interface, order["number"], addresses))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the network ends its agents, not the terminal
    orders = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    gc.freeze()  # what the collector leaves alone stays shared
    agents = []
    while True:
        message, descriptors, _, _ = socket.recv_fds(orders, LONGEST, DESCRIPTORS)
        if not message:
            break
        child = os.fork()
        if not child:
            orders.close()
            become_agent(json.loads(message), descriptors)
            return
        agents.append(child)
        for descriptor in descriptors:
            os.close(descriptor)
    for child in agents:
        os.kill(child, signal.SIGKILL)
    for child in agents:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
