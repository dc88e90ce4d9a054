"""`simple_switch_grpc` and `simple_switch`: our switch, called as theirs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from p4lab import __version__, bmv2json
from p4lab.p4runtime.command_line import CommandLineError, Options, parse
from p4lab.p4runtime.switch import SwitchError, run_until_signalled

FAILED = 1
WITH_P4RUNTIME = "simple_switch_grpc"
THRIFT_PORT = 9090  # bmv2's, unless told
COMPAT = "--bmv2-compat"
QUEUES = "--priority-queues"
COMM_BYTES = 15  # as the kernel keeps of a name
_COMM = Path("/proc/self/comm")
"""The name by which scripts end a switch: `pkill simple_switch`"""


def main(tool: str, words: Sequence[str]) -> int:
    """Runs a switch until it is told to end; gives the exit status."""
    asked = set(words)
    if asked & {"-v", "--version"}:
        print(f"p4lab {__version__}")
        return 0
    if "--json-version" in asked:
        print(".".join(map(str, bmv2json.VERSION)))
        return 0
    if asked & {"-h", "--help"}:
        print(f"{tool}: p4lab's switch in its place. Options: p4lab switch --help")
        return 0
    with suppress(OSError):  # a system without /proc: scripts do not find the switch, but it runs
        _COMM.write_text(tool[:COMM_BYTES])
    try:
        run_until_signalled(_as(tool, parse(words)))
    except (CommandLineError, SwitchError) as error:
        print(f"{tool}: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"{tool}: the switch cannot run: {error}", file=sys.stderr)
        return FAILED
    return 0


def _as(tool: str, options: Options) -> Options:
    """What a tool does unless told: simple_switch has Thrift and no P4Runtime."""
    if tool != WITH_P4RUNTIME:
        port = THRIFT_PORT if options.thrift_port is None else options.thrift_port
        options = replace(options, address=None, thrift_port=port)
    elif options.thrift_port is not None and find_spec("thrift") is None:
        print(f"{tool}: no --thrift-port, for want of the Python package thrift", file=sys.stderr)
        options = replace(options, thrift_port=None)
    if options.bmv2_compat and QUEUES in options.ignored:
        # The switch that does all as bmv2 has one queue, as bmv2 has without this option.
        print(f"{tool}: {QUEUES} is there, and {COMPAT} left out", file=sys.stderr)
        options = replace(options, bmv2_compat=False)
    return options
