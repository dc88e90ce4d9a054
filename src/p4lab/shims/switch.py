"""`simple_switch_grpc` and `simple_switch`: our switch, called as theirs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from p4lab import __version__, bmv2json
from p4lab.p4runtime.command_line import CommandLineError, parse
from p4lab.p4runtime.switch import SwitchError, run_until_signalled

FAILED = 1
WITH_P4RUNTIME = "simple_switch_grpc"
COMPAT = "--bmv2-compat"


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
    try:
        options = parse(words)
        if tool != WITH_P4RUNTIME:
            options = replace(options, address=None)
        run_until_signalled(options)
    except (CommandLineError, SwitchError) as error:
        print(f"{tool}: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"{tool}: the switch cannot run: {error}", file=sys.stderr)
        return FAILED
    return 0
