"""The agents of real hosts (p4lab.hosts), as their network sees them: who starts and ends them, and
the pipes to each."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from p4lab.network.base import NetworkError
from p4lab.topology import Host


class ForkServer:
    """The process that starts the agents of a network (p4lab.hosts.forkserver)."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "p4lab.hosts.forkserver"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
            )

    def start(self, host: Host, inside: int, interface: str, ipv6: bool) -> HostAgent:
        """An agent for a host, at an interface of it; the process `inside` is in its namespace.
        Raises NetworkError."""
        order = {
            "interface": interface,
            "number": host.id,
            "addresses": [str(host.ip), *([str(host.ip6)] if ipv6 else [])],
        }
        pipes = [os.pipe() for _ in range(3)]
        (its_input, to), (answers, its_output), (errors, its_error) = pipes
        agent = HostAgent(host, to, answers, errors)
        given = [its_input, its_output, its_error]
        try:
            given.append(os.open(f"/proc/{inside}/ns/net", os.O_RDONLY))
            socket.send_fds(self._orders, [json.dumps(order).encode()], given)
        except OSError as error:
            agent.close()
            raise NetworkError(f"no program can be started in host {host.name}: {error}") from error
        finally:
            for descriptor in given:
                os.close(descriptor)
        return agent

    def stop(self) -> None:
        """Ends all agents."""
        self._orders.close()
        self._process.wait()


class HostAgent:
    """The pipes to the agent in a host."""

    def __init__(self, host: Host, to: int, answers: int, errors: int) -> None:
        """Its standard input, output and error are at the other ends of these descriptors."""
        self.host = host
        self._to = os.fdopen(to, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb")
        self._errors = os.fdopen(errors, "rb")
        self._unanswered = 1  # it says when it is ready

    def tell(self, command: dict[str, Any]) -> None:
        """Sends a command without waiting for the answer. Raises NetworkError."""
        try:
            self._to.write(json.dumps(command).encode() + b"\n")
        except OSError as error:
            raise NetworkError(self._obituary()) from error
        self._unanswered += 1

    def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        """Sends a command and waits for its answer. Raises NetworkError."""
        self.tell(command)
        return self.answers()

    def answers(self) -> dict[str, Any]:
        """Waits for what was not answered yet, and gives the last; first of all the agent says
        that it is ready. Raises NetworkError."""
        answer: dict[str, Any] = {}
        while self._unanswered:
            line = self._answers.readline()
            if not line:
                raise NetworkError(self._obituary())
            answer = json.loads(line)
            self._unanswered -= 1
        return answer

    def close(self) -> None:
        """Lets go of it, which ends it."""
        for pipe in (self._to, self._answers, self._errors):
            pipe.close()

    def _obituary(self) -> str:
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"the program in host {self.host.name} has ended: {lines[-1] if lines else '?'}"
