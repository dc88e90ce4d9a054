"""The SDE's programs: where they are, what is missing, and the command lines that start them.

Sources: the run scripts of open-p4studio 9.13 (2025) for the options, its bf_switchd for the form
of the configuration file.
"""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from p4lab.targets import TargetError
from p4lab.targets.tofino.rack import BFRT_PORT, SwitchSetup

COMPILER = "bf-p4c"
OPEN_COMPILER = "p4c"  # what open-p4studio may call it
MODEL = "tofino-model"
DRIVER = "bf_switchd"
CLIENT_PACKAGE = "grpc"
CHIP_TOFINO_1 = "2"
COMPILE_SECONDS = 600
STATUS_PORT = 7777
HUGE_PAGES = 196  # for one driver, as run_switchd.sh has it
# The model's chip has four pipes. Chips with two take those that they have: the SDE's own
# configurations name four, too.
PIPES = (0, 1, 2, 3)

REMEDY = (
    "Install the SDE (open-p4studio has compiler, drivers and model; ports of a real Tofino 1 need "
    "Intel's SDE with the board's BSP) and set SDE_INSTALL to its folder: docs/hardware.md. The "
    "target engine needs nothing, and --dry-run shows every step without it."
)


@dataclass(frozen=True)
class Sde:
    """An installed SDE."""

    home: Path

    @property
    def compiler(self) -> str | None:
        """The compiler for the chip; None if there is none."""
        places = (self.home / "bin" / name for name in (COMPILER, OPEN_COMPILER))
        return next((str(place) for place in places if place.exists()), None)

    @property
    def environment(self) -> dict[str, str]:
        """What its programs need around them, as the SDE's own scripts have it."""
        found = [f"{self.home}/lib", os.environ.get("LD_LIBRARY_PATH", ""), "/usr/local/lib"]
        libraries = ":".join(filter(None, [*self._dependencies(), *found]))
        path = f"{self.home}/bin:{os.environ.get('PATH', os.defpath)}"
        return {
            **os.environ,
            "SDE_INSTALL": str(self.home),
            "LD_LIBRARY_PATH": libraries,
            "PATH": path,
        }

    def _dependencies(self) -> list[str]:
        """Where libraries are that it was built with, if these have a folder of their own."""
        try:
            text = (self.home / "share" / "environment").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return []
        lines = (line.partition("=") for line in text.splitlines())
        return [
            str((self.home / place.strip()).resolve() / "lib")
            for name, _, place in lines
            if name.strip() == "SDE_DEPENDENCIES"
        ]


def missing(target: str, *, start: bool = True, own: bool = False) -> list[str]:
    """What is not installed of what a target needs. Without `start` the driver runs already, with
    `own` it is our own switch that runs: then nothing of the SDE is needed."""
    lacks = find_spec(CLIENT_PACKAGE) is None
    found = ["gRPC for Python (pip install 'p4lab[p4runtime]')"] if lacks else []
    if own or (target == "wedge" and not start):
        return found
    home = os.environ.get("SDE_INSTALL")
    if not home:
        return [*found, "the Tofino SDE (SDE_INSTALL is not set)"]
    needed = [MODEL] if target == "tofino-model" else []
    found += [] if Sde(Path(home)).compiler else [COMPILER]
    found += [name for name in (*needed, DRIVER) if not (Path(home) / "bin" / name).exists()]
    if target == "tofino-model" and platform.machine() != "x86_64":
        found.append(f"an x86_64 machine (the model runs on no {platform.machine()})")
    return found


def listens(address: str, patience: float) -> bool:
    """Whether somebody answers there, within so many seconds."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=patience).close()
    except (OSError, OverflowError):
        return False
    return True


def find(target: str) -> Sde:
    """The SDE. Raises TargetError with what is missing."""
    if names := missing(target):
        raise TargetError(f"the target {target} needs {', '.join(names)}. {REMEDY}")
    return Sde(Path(os.environ["SDE_INSTALL"]))


def huge_pages() -> str:
    """What to say of a driver that does not come up while there are too few huge pages for it; ""
    if there are enough, or nobody knows."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return ""
    counts = dict(re.findall(r"^HugePages_(Total|Free): +(\d+)", text, re.MULTILINE))
    free, total = int(counts.get("Free", HUGE_PAGES)), int(counts.get("Total", 0))
    if free >= HUGE_PAGES:
        return ""
    return (
        f"A driver needs {HUGE_PAGES} huge pages of 2 MiB, and {free} are free: "
        f"sudo sysctl -w vm.nr_hugepages={total + HUGE_PAGES} (that many for each driver)"
    )


# ---- The compiler ------------------------------------------------------------------------------


def compile_command(
    compiler: str, program: Path, defines: Sequence[tuple[str, str]], folder: Path
) -> list[str]:
    """What compiles a program for Tofino 1 into a folder."""
    command = [compiler, "--std", "p4-16", "--target", "tofino", "--arch", "tna", "-g"]
    command += [f"-D{name}={value}" for name, value in defines]
    command += ["--bf-rt-schema", str(folder / "bf-rt.json"), "-o", str(folder), str(program)]
    return command


def compile_program(
    sde: Sde, program: Path, defines: Sequence[tuple[str, str]], folder: Path
) -> None:
    """Compiles with bf-p4c. Raises TargetError with what it said."""
    folder.mkdir(parents=True, exist_ok=True)
    command = compile_command(sde.compiler or COMPILER, program, defines, folder)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMPILE_SECONDS,
            check=False,
            env=sde.environment,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"{COMPILER} took more than {COMPILE_SECONDS} s") from None
    except OSError as error:
        raise TargetError(f"{command[0]} does not start: {error}") from error
    if done.returncode != 0 or not (folder / "bf-rt.json").is_file():
        said = (done.stderr or done.stdout).strip()
        raise TargetError(f"{COMPILER} does not accept {program}:\n{said}")


# ---- The model and the driver --------------------------------------------------------------------


def ports_json(interfaces: Sequence[tuple[int, str]]) -> str:
    """The model's file of ports: which interface is at which port of the chip."""
    rows = [json.dumps({"device_port": port, "if": name}) for port, name in sorted(interfaces)]
    return '{"PortToIf": [\n  ' + ",\n  ".join(rows) + "\n]}\n"


def switchd_json(name: str, folder: Path, *, chip: bool) -> str:
    """bf_switchd's configuration for a program that was compiled into a folder; with `chip` for
    a real one, which has a platform library."""
    asic = {
        "id": "asic-0",
        "chip_family": "Tofino",
        "instance": 0,
        "pcie_sysfs_prefix": "/sys/devices/pci0000:00/0000:00:03.0/0000:05:00.0",
        "pcie_domain": 0,
        "pcie_bus": 5,
        "pcie_fn": 0,
        "pcie_dev": 0,
        "pcie_int_mode": 1,
        "sds_fw_path": "share/tofino_sds_fw/avago/firmware",
    }
    pipeline = {
        "p4_pipeline_name": "pipe",
        "context": str(folder / "pipe" / "context.json"),
        "config": str(folder / "pipe" / "tofino.bin"),
        "pipe_scope": list(PIPES),
        "path": str(folder),
    }
    program = {
        "program-name": name,
        "bfrt-config": str(folder / "bf-rt.json"),
        "p4_pipelines": [pipeline],
    }
    device: dict[str, object] = {"device-id": 0, "p4_programs": [program]}
    if chip:
        device["agent0"] = "lib/libpltfm_mgr.so"
    config = {"chip_list": [asic], "instance": 0, "p4_devices": [device]}
    text = json.dumps(config, indent=2) + "\n"
    return re.sub(r"\[\s+([\d,\s]+?)\s+\]", _in_one_line, text)


def _in_one_line(numbers: re.Match[str]) -> str:
    return "[" + " ".join(numbers[1].split()) + "]"


def model_command(home: str, config: str, ports: str) -> list[str]:
    """What starts the model: one chip, quiet (its log costs most of its time)."""
    command = [f"{home}/bin/{MODEL}", "-d", "1", "-k", "1", "--chip-type", CHIP_TOFINO_1]
    command += ["--install-dir", home, "--p4-target-config", config, "-f", ports]
    return [*command, "--port-monitor", "--logs-disable"]


def switchd_command(home: str, config: str, port: int = BFRT_PORT) -> list[str]:
    """What starts the driver, without a shell; its ports are ours to add. `port` is where it
    listens; SDEs before 9.13 know no other than their own."""
    command = [f"{home}/bin/{DRIVER}", "--install-dir", home, "--conf-file", config]
    command += ["--init-mode=cold", "--skip-port-add", "--status-port", str(STATUS_PORT)]
    command += [] if port == BFRT_PORT else ["--bfrt-grpc-port", str(port)]
    return [*command, "--background"]


def model_interfaces(setup: SwitchSetup, cpu: str) -> list[tuple[int, str]]:
    """Which interface is at which port of the model: those of the topology, and the CPU's."""
    cables = [(port.dev_port, f"{setup.router}-eth{number}") for number, port in setup.cables]
    return [*cables, (setup.chassis.cpu_ethernet[0], cpu)]
