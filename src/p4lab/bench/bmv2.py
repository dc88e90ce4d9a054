"""bmv2 under the same load, where it is on the machine. Nothing of it is built here."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from p4lab.bench.programs import NEXT_HOP, OUT_PORT, ROUTES, network

SWITCHES = ("simple_switch_grpc", "simple_switch")
COMPILER = "p4c-bm2-ss"
COMPILE_SECONDS = 120
# What the routes are put in for: builds of bmv2 differ in their control channels.
NO_ROUTES = "size = 1024;"


@dataclass(frozen=True)
class Bmv2:
    """A switch and a program compiled for it."""

    switch: str
    program: Path

    @property
    def name(self) -> str:
        """The switch's file name."""
        return Path(self.switch).name

    def command(self) -> list[str]:
        """What runs it on interfaces port0 and port1."""
        command = [self.switch, "-i", "0@port0", "-i", "1@port1"]
        if self.name == "simple_switch":  # the other one, built without nanomsg, does not know it
            command += ["--notifications-addr", f"ipc://{self.program.parent}/notifications.ipc"]
        return [*command, str(self.program)]


def with_routes(text: str) -> str:
    """The router with its routes in it."""
    if NO_ROUTES not in text:
        raise ValueError(f"the router's table has no {NO_ROUTES!r} to replace")
    routes = "".join(
        f"            {network(index):#010x} &&& 0xffffff00: "
        f"forward({NEXT_HOP:#014x}, {OUT_PORT});\n"
        for index in range(ROUTES)
    )
    return text.replace(NO_ROUTES, f"const entries = {{\n{routes}        }}")


@contextmanager
def compiled(source: Path) -> Iterator[Bmv2 | str]:
    """The program on bmv2 as long as the context lasts, or a sentence that says what is missing."""
    switch = next(filter(None, map(shutil.which, SWITCHES)), None)
    compiler = shutil.which(COMPILER)
    if not (switch and compiler):
        names = {" or ".join(SWITCHES): switch, COMPILER: compiler}
        yield f"not installed: {', '.join(name for name, path in names.items() if not path)}"
        return
    with tempfile.TemporaryDirectory(prefix="p4lab-bench-") as folder:
        routed, program = Path(folder) / "router.p4", Path(folder) / "router.json"
        routed.write_text(with_routes(source.read_text()))
        done = subprocess.run(
            [compiler, "--arch", "v1model", "-o", str(program), str(routed)],
            capture_output=True,
            text=True,
            timeout=COMPILE_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            yield f"{COMPILER} failed: {' '.join(done.stderr.split())[:200]}"
            return
        yield Bmv2(switch, program)
