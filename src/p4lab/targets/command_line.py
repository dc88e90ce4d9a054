"""bmv2's own command line, which does by Thrift what P4Runtime cannot do there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from p4lab.hosts.interfaces import set_up
from p4lab.targets import TargetError

PROGRAM = "simple_switch_CLI"
SECONDS = 60
_PROMPT = "RuntimeCmd: "


def is_there() -> bool:
    """Whether it is installed."""
    return shutil.which(PROGRAM) is not None


def ask(thrift_port: int, lines: Sequence[str]) -> list[str]:
    """The replies to lines, by the switch with this port in the network namespace of the caller.
    Raises TargetError if it is not reached."""
    set_up("lo", True)
    try:
        done = subprocess.run(
            [PROGRAM, "--thrift-port", str(thrift_port)],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"{PROGRAM} took more than {SECONDS} s") from None
    replies = [reply.strip() for reply in done.stdout.split(_PROMPT)[1:]]
    if len(replies) <= len(lines):  # behind the last one stands a prompt
        words = (done.stderr or done.stdout).strip().splitlines()
        raise TargetError(f"{PROGRAM}: {words[-1] if words else 'no answer'}")
    return replies[: len(lines)]
