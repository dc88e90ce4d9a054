"""Programs that some verbs and targets use."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path

from p4lab.doctor.finding import Finding
from p4lab.doctor.kernel import SYSTEM_FOLDERS

P4LANG_FIX = "Only for --target bmv2: docs/machine.md says where p4lang has packages."
SDE_FIX = "Only for Tofino: set SDE_INSTALL to an installed SDE (docs/hardware.md)."
SDE_COMPILERS = ("bf-p4c", "p4c")  # one of them
SDE_DRIVER = "bf_switchd"
SDE_MODEL = "tofino-model"
# As Debian, Ubuntu, Fedora and Google call it.
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def jupyterlab() -> Finding:
    """JupyterLab."""
    try:
        version = importlib.metadata.version("jupyterlab")
    except importlib.metadata.PackageNotFoundError:
        return Finding(
            "JupyterLab", "missing", "for the notebooks", "pip install 'p4lab[notebook]'"
        )
    return Finding("JupyterLab", "ok", version)


def mininet() -> Finding:
    """Mininet."""
    missing = [name for name in ("mnexec", "ifconfig", "ip") if _find(name) is None]
    fix = "sudo apt-get install mininet net-tools iproute2"
    if missing:
        return Finding("Mininet", "missing", f"no {', '.join(missing)}", fix)
    try:
        version = importlib.metadata.version("mininet")
    except importlib.metadata.PackageNotFoundError:
        return Finding("Mininet", "missing", "no Python module", "pip install 'p4lab[mininet]'")
    return Finding("Mininet", "ok", version)


def tshark() -> Finding:
    """Wireshark."""
    if _find("tshark") is None:
        fix = "Only to look at captures: sudo apt-get install tshark"
        return Finding("Wireshark", "missing", "no tshark", fix)
    return Finding("Wireshark", "ok", "tshark is there")


def chromium() -> Finding:
    """Chromium."""
    found = next((name for name in CHROMIUM if _find(name)), None)
    if found is None:
        fix = "Only for the browser tests of ./lab test: sudo apt-get install chromium"
        return Finding("Chromium", "missing", "no chromium", fix)
    return Finding("Chromium", "ok", f"{found} is there")


def p4c() -> Finding:
    """p4c."""
    return _program("p4c", "p4c-bm2-ss", P4LANG_FIX)


def simple_switch_grpc() -> Finding:
    """bmv2."""
    return _program("bmv2", "simple_switch_grpc", P4LANG_FIX)


def _program(name: str, command: str, fix: str) -> Finding:
    path = _find(command)
    if path is None:
        return Finding(name, "missing", f"no {command}", fix)
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, "broken", f"{path} does not start: {error}", fix)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no word"]
        return Finding(name, "broken", f"{path} --version fails: {said[0]}", fix)
    words = (done.stdout or done.stderr).split()
    version = next((word for word in words if word[0].isdigit()), "version unknown")
    return Finding(name, "ok", f"{command} {version}")


def tofino_sde() -> Finding:
    """Tofino SDE."""
    home = os.environ.get("SDE_INSTALL")
    if not home:
        return Finding("Tofino SDE", "missing", "SDE_INSTALL is not set", SDE_FIX)
    programs = Path(home) / "bin"
    missing = []
    if not any((programs / name).exists() for name in SDE_COMPILERS):
        missing.append(f"bin/{SDE_COMPILERS[0]}")
    if not (programs / SDE_DRIVER).exists():
        missing.append(f"bin/{SDE_DRIVER}")
    if missing:
        return Finding("Tofino SDE", "broken", f"no {', '.join(missing)} in {home}", SDE_FIX)
    if not (programs / SDE_MODEL).exists():
        return Finding("Tofino SDE", "ok", f"{home}, for switches; no {SDE_MODEL}")
    if platform.machine() != "x86_64":
        fix = "Use the engine here, or an x86_64 machine: the model is built for no other."
        return Finding("Tofino SDE", "broken", f"{home}, on {platform.machine()}", fix)
    return Finding("Tofino SDE", "ok", f"{home}, with {SDE_MODEL}")


def _find(command: str) -> str | None:
    """Its path, if it is to be found."""
    path = os.environ.get("PATH", os.defpath) + SYSTEM_FOLDERS
    return shutil.which(command, path=path)


PROBES = (jupyterlab, mininet, tshark, chromium, p4c, simple_switch_grpc, tofino_sde)
