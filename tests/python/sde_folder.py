"""A folder that looks like an installed SDE, and whose programs are ours.

The compiler is p4lab's, and bf_switchd is `p4lab switch --arch tna`. They take the options that the
SDE's take, and no others.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from p4lab.targets.tofino.simulators import OwnSwitch

NAMES = ("bf-p4c", "tofino-model", "bf_switchd")


def install(folder: Path) -> None:
    """Makes the folder."""
    here = Path(__file__).resolve()
    source = here.parents[2] / "src"
    (folder / "bin").mkdir(parents=True)
    for name in NAMES:
        script = folder / "bin" / name
        start = f'exec {sys.executable} {here} {name} "$@"'
        script.write_text(f"#!/bin/sh\nPYTHONPATH={source} {start}\n")
        script.chmod(0o755)


def compiler(words: list[str]) -> None:
    """What the driver is to run lies beside bf-rt.json."""
    parser = argparse.ArgumentParser()
    for option in ("--std", "--target", "--arch", "--bf-rt-schema", "-o"):
        parser.add_argument(option, required=True)
    parser.add_argument("-g", action="store_true")
    parser.add_argument("-D", action="append", default=[])
    parser.add_argument("program", type=Path)
    given = parser.parse_args(words)
    assert (given.std, given.target, given.arch) == ("p4-16", "tofino", "tna")
    defines = [tuple(define.split("=")) for define in given.D]
    OwnSwitch().compile(given.program, defines, Path(given.o), "compiled")
    Path(given.bf_rt_schema).write_text("{}")


def model(words: list[str]) -> None:
    """Says which ports it has, and waits: the switch in the driver's place forwards."""
    parser = argparse.ArgumentParser()
    for option in ("-d", "-k", "-f", "--chip-type", "--install-dir", "--p4-target-config"):
        parser.add_argument(option, required=True)
    parser.add_argument("--port-monitor", action="store_true")
    parser.add_argument("--logs-disable", action="store_true")
    given = parser.parse_args(words)
    assert json.loads(Path(given.f).read_text())["PortToIf"]
    signal.pause()


def driver(words: list[str]) -> None:
    """Our switch, with the program of the configuration, between the model's interfaces."""
    parser = argparse.ArgumentParser()
    for option in ("--install-dir", "--conf-file", "--init-mode", "--status-port"):
        parser.add_argument(option, required=True)
    parser.add_argument("--bfrt-grpc-port", default="50052")
    parser.add_argument("--skip-port-add", action="store_true")
    parser.add_argument("--background", action="store_true")
    given = parser.parse_args(words)
    config = Path(given.conf_file)
    (program,) = json.loads(config.read_text())["p4_devices"][0]["p4_programs"]
    folder = Path(program["bfrt-config"]).parent
    named = folder / f"{program['program-name']}.p4"
    # Drivers of several switches start at once, and none may read what another has half written.
    whole = folder / f"{os.getpid()}.p4"
    whole.write_text((folder / "compiled.p4").read_text())
    whole.replace(named)
    start = [sys.executable, "-m", "p4lab", "switch", "--arch", "tna", "--backend", "socket"]
    start += ["--grpc-server-addr", f"0.0.0.0:{given.bfrt_grpc_port}"]
    ports = config.with_name(f"{config.stem}-ports.json")
    start += ["--ports-json", str(ports)] if ports.exists() else []
    os.execv(start[0], [*start, str(named)])


if __name__ == "__main__":
    dict(zip(NAMES, (compiler, model, driver), strict=True))[sys.argv[1]](sys.argv[2:])
