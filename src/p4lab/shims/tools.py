"""What a shim runs: the tool's name, then the words that it was called with."""

from __future__ import annotations

import sys

from p4lab.shims import compiler, switch

COMPILERS = ("p4c-bm2-ss", "p4c")
SWITCHES = ("simple_switch_grpc", "simple_switch")
CONSOLE = "simple_switch_CLI"
TOOLS = (*COMPILERS, *SWITCHES)


def main() -> None:
    """Ends the process with the tool's status."""
    tool, *words = sys.argv[1:]
    if tool == CONSOLE:
        from p4lab.shims import switch_cli  # heavy: thrift, which need not be installed

        sys.exit(switch_cli.main(words))
    run = compiler.main if tool in COMPILERS else switch.main
    sys.exit(run(tool, words))
