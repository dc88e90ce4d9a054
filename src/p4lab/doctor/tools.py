"""Programs that some verbs and targets use."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
from pathlib import Path

from p4lab.doctor import Finding

P4LANG_FIX = "Only for --target bmv2: install p4lang's packages (github.com/p4lang/p4c, README)."
SDE_FIX = "Only for Tofino: set SDE and SDE_INSTALL to an installed SDE."


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
    missing = [
        name for name in ("bf-p4c", "tofino-model") if not (Path(home) / "bin" / name).exists()
    ]
    if missing:
        return Finding("Tofino SDE", "broken", f"no {', '.join(missing)} in {home}/bin", SDE_FIX)
    return Finding("Tofino SDE", "ok", home)


def _find(command: str) -> str | None:
    """Its path; users' PATHs often lack the folders where ip and ethtool are."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    return shutil.which(command, path=path)


PROBES = (jupyterlab, mininet, tshark, p4c, simple_switch_grpc, tofino_sde)
