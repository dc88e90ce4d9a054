"""Lines for simple_switch_CLI in the folder of an exercise, carried out at a switch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

from p4lab.network import NetworkError

ADDRESS = "127.0.0.1"


def check_thrift() -> None:
    """Raises NetworkError where nothing can speak Thrift."""
    if find_spec("thrift") is None:
        raise NetworkError("cli_input needs Thrift: pip install thrift")


def carry_out(file: Path, port: int) -> Iterator[str]:
    """Carries out the lines of a file at the switch that speaks Thrift at `port`; gives what is
    wrong with some of them. As with p4-utils, the others are carried out nevertheless."""
    from p4lab.shims.remote import Known, Remote  # heavy: thrift, which need not be installed
    from p4lab.shims.switch_cli import Console  # heavy: thrift

    with Remote(ADDRESS, port) as remote:
        console = Console(remote, Known.of(remote("bm_get_config")))
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith(("#", "//")):
                continue
            with redirect_stdout(StringIO()):
                ended, wrong = console.attempt(line)
            if wrong is not None:
                yield f"{file.name}:{number}: {wrong}"
            if ended:
                return
