"""Mininet's command line for an exercise: `nodes`, `net`, `h1 ping h2`, `pingall`, `iperf`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from mininet.cli import CLI
from mininet.log import lg, output, setLogLevel
from mininet.net import Mininet

from p4lab import rights

IPERF_STARTS = 0.5  # seconds until its server listens
IPERF_PATIENCE = 10
"""Seconds beyond those of the test; a client that has not come through then never will"""


class Console(CLI):
    """Reads commands from standard input, a terminal or a pipe, until it ends or says `exit`. What
    they print goes to standard output."""

    def __init__(self, hosts: Sequence[Any], switches: Sequence[Any], links: Sequence[Any]) -> None:
        sys.stdout.flush()
        lg.handlers[0].setStream(sys.stdout)
        setLogLevel("output")  # what the commands print
        built = _Built(hosts, switches, links)
        if sys.stdin.isatty():
            super().__init__(built)
            return
        # Programs in hosts read what is typed while they run. Lines of a pipe are commands, all of
        # them, so they get a pipe in which nothing ever comes.
        self.prompt = ""
        quiet, never = os.pipe()
        with os.fdopen(quiet) as stdin, os.fdopen(never, "w"):
            super().__init__(built, stdin=stdin)

    def precmd(self, line: str) -> str:
        """Shows a command that nobody sees as it is typed."""
        if not self.prompt and line != "EOF":
            output(f"{CLI.prompt}{line}\n")
        return line

    def do_xterm(self, line: str, term: str = "xterm") -> None:
        """Spawn xterm(s) for the given node(s).
        Usage: xterm node1 node2 ..."""
        if os.environ.get("DISPLAY"):
            super().do_xterm(line, term)
            return
        known = [self.mn[name] for name in line.split() if name in self.mn] or self.mn.hosts
        output("There is no display. In another terminal, each of these is a shell in a host:\n")
        for node in known:
            output(f"  {rights.shell(node.pid)}   # {node.name}\n")


class _Built(Mininet):
    """Nodes that others have made, as Mininet's commands ask for them."""

    def __init__(self, hosts: Sequence[Any], switches: Sequence[Any], links: Sequence[Any]) -> None:
        # Not Mininet's own: it changes limits of the machine.
        self.hosts = list(hosts)
        self.switches = list(switches)
        self.controllers: list[Any] = []
        self.links = list(links)
        self.terms: list[Any] = []
        self.topo = None
        self.nameToNode = {node.name: node for node in [*hosts, *switches]}

    def iperf(
        self,
        hosts: Sequence[Any] | None = None,
        l4Type: str = "TCP",
        udpBw: str = "10M",
        fmt: str | None = None,
        seconds: int = 5,
        port: int = 5001,
    ) -> list[str]:
        """Bandwidth between two hosts, as the server and the client see it. Mininet's own ends
        every iperf of the machine, and waits for ever for a server behind a firewall."""
        client, server = hosts or (self.hosts[0], self.hosts[-1])
        output(f"*** Iperf: testing {l4Type} bandwidth between {client} and {server}\n")
        if shutil.which("iperf") is None:
            output("*** There is no iperf: apt-get install iperf\n")
            return []
        words = ["iperf", "-p", str(port), *(["-u"] if l4Type == "UDP" else [])]
        words += ["-f", fmt] if fmt else []
        asked = [*words, "-c", server.IP(), "-t", str(seconds)]
        asked += ["-b", udpBw] if l4Type == "UDP" else []
        serving = _start(server, [*words, "-s"])
        time.sleep(IPERF_STARTS)
        asking = _start(client, asked)
        try:
            said = asking.communicate(timeout=seconds + IPERF_PATIENCE)[0]
        except subprocess.TimeoutExpired:
            asking.kill()
            asking.communicate()
            said = ""
        time.sleep(IPERF_STARTS)
        serving.terminate()
        heard = serving.communicate()[0]
        if "/sec" not in said:
            output(f"*** {client} did not get through to {server} on port {port}\n")
            return []
        result = [self._parseIperf(text) for text in (heard, said)]
        output(f"*** Results: {result}\n")
        return result


def _start(host: Any, words: Sequence[str]) -> subprocess.Popen[str]:
    started: subprocess.Popen[str] = host.popen(
        list(words), text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return started
