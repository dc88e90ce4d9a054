"""What stands in the place of the SDE's programs: `python -m bfrt_fake.programs NAME ARGUMENTS`.

The compiler asks the engine's and notes the files, the model forwards nothing, the driver is a BFRT
server with our engine behind it. All three take the options that the real ones take, and no others.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from bfrt_fake import info
from p4lab import _engine
from p4lab.targets.tofino.schema import Program


def compiler(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    for option in ("--std", "--target", "--arch", "--bf-rt-schema", "-o"):
        parser.add_argument(option, required=True)
    parser.add_argument("-g", action="store_true")
    parser.add_argument("-D", action="append")
    parser.add_argument("program", type=Path)
    given = parser.parse_args(words)
    assert (given.std, given.target, given.arch) == ("p4-16", "tofino", "tna")
    name = str(given.program.resolve())
    defines = [tuple(define.split("=")) for define in given.D or ()]
    compilation = _engine.compile(name, [], defines)
    if compilation.program is None:
        sys.exit(compilation.render())
    # Its files as they are now: who has them compiled may take them away.
    paths = [Path(file).resolve() for file in compilation.files if Path(file).exists()]
    root = given.program.resolve().parents[1]
    files = {str(path.relative_to(root)): path.read_text() for path in paths}
    program = str(given.program.resolve().relative_to(root))
    told = {"program": program, "defines": defines, "files": files}
    Path(given.bf_rt_schema).write_text(json.dumps(told))


def model(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    for option in ("-d", "-k", "-f", "--chip-type", "--install-dir", "--p4-target-config"):
        parser.add_argument(option, required=True)
    parser.add_argument("--port-monitor", action="store_true")
    parser.add_argument("--logs-disable", action="store_true")
    given = parser.parse_args(words)
    json.loads(Path(given.f).read_text())
    # The driver finds the model's ports beside its own configuration.
    config = Path(given.p4_target_config)
    config.with_suffix(".model").write_text(given.f)
    signal.pause()


def driver(words: list[str]) -> None:
    from bfrt_fake.engine_switch import EngineSwitch
    from bfrt_fake.server import Server
    from bfrt_fake.switch import Switch

    parser = argparse.ArgumentParser()
    for option in ("--install-dir", "--conf-file", "--init-mode", "--status-port"):
        parser.add_argument(option, required=True)
    parser.add_argument("--bfrt-grpc-port", default="50052")
    parser.add_argument("--skip-port-add", action="store_true")
    parser.add_argument("--background", action="store_true")
    given = parser.parse_args(words)
    file = Path(given.conf_file)
    (told,) = json.loads(file.read_text())["p4_devices"][0]["p4_programs"]
    source = json.loads(Path(told["bfrt-config"]).read_text())
    text, defines = source["files"][source["program"]], [tuple(d) for d in source["defines"]]
    program = _engine.compile_text(source["program"], text, source["files"], defines).program
    assert program is not None
    p4 = info.of_program(Program.of(program), "EntryParser", "".join(source["files"].values()))
    name, chip = told["program-name"], info.of_chip()
    ports = file.with_name(f"{file.stem}-ports.json")
    if ports.exists():  # a model has interfaces
        rows = json.loads(ports.read_text())["PortToIf"]
        interfaces = {row["device_port"]: row["if"] for row in rows}
        switch: Switch = EngineSwitch(name, p4, chip, program, interfaces)
    else:
        switch = Switch(name, p4, chip)
    with Server(switch, f"0.0.0.0:{given.bfrt_grpc_port}"):
        signal.pause()


PROGRAMS = {"bf-p4c": compiler, "tofino-model": model, "bf_switchd": driver}


def install(folder: Path) -> None:
    """An SDE's folder with these programs and the stand-in for its client."""
    here = Path(__file__).resolve().parents[1]
    source = here.parents[1] / "src"
    package = folder / "lib/python3.10/site-packages/tofino/bfrt_grpc"
    package.mkdir(parents=True)
    (folder / "bin").mkdir()
    files = {
        "__init__.py": "",
        "client.py": "from bfrt_fake.standin import *\n",
        "bfruntime_pb2.py": "from bfrt_fake.messages import msg\nWriteRequest = msg.WriteRequest\n",
    }
    for name, text in files.items():
        (package / name).write_text(f"import sys; sys.path.append({str(here)!r})\n{text}")
    for name in PROGRAMS:
        script = folder / "bin" / name
        start = f'exec {sys.executable} -m bfrt_fake.programs {name} "$@"'
        script.write_text(f"#!/bin/sh\nPYTHONPATH={source}:{here} {start}\n")
        script.chmod(0o755)


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](sys.argv[2:])
