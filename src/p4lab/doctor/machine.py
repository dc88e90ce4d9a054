"""The machine and the Python that p4lab runs in."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
from importlib import import_module
from pathlib import Path

from p4lab.doctor.finding import Finding

GIGABYTE = 1 << 30
MEMORY_NEEDED = 1 * GIGABYTE  # the largest lab in virtual time, JupyterLab and a browser tab
DISK_NEEDED = 2 * GIGABYTE  # virtual environment and engine build
PYTHON_NEEDED = (3, 10)
MEMINFO = Path("/proc/meminfo")
ARCHITECTURES = ("x86_64", "aarch64")
JUPYTERLAB_PORT = 8888
P4RUNTIME_PORT = 9559


def system() -> Finding:
    """system."""
    machine, release = platform.machine(), platform.release()
    name = f"{_distribution()}, Linux {release}, {machine}"
    if sys.platform != "linux":
        return Finding("system", "broken", platform.platform(), "Use Linux, or the VM: vagrant up")
    if machine not in ARCHITECTURES:
        return Finding(
            "system", "missing", f"{name}: not tried by us", "Nothing to do if ./lab test passes."
        )
    return Finding("system", "ok", name)


def _distribution() -> str:
    try:
        fields = platform.freedesktop_os_release()
    except OSError:
        return "unknown distribution"
    return fields.get("PRETTY_NAME", "unknown distribution")


def python() -> Finding:
    """Python."""
    found = f"{platform.python_version()} in {sys.prefix}"
    if sys.version_info < PYTHON_NEEDED:
        fix = "Install Python 3.10 or newer, then start ./lab."
        return Finding("Python", "broken", found, fix)
    if sys.prefix == sys.base_prefix:
        fix = "Nothing to do if you meant that; ./lab keeps its packages in .venv."
        return Finding("Python", "missing", f"{found}, no environment of its own", fix)
    return Finding("Python", "ok", found)


def engine() -> Finding:
    """engine."""
    try:
        _engine = import_module("p4lab._engine")  # it may be missing: that is the question
    except ImportError as error:
        return Finding("engine", "broken", str(error), "Start ./lab once: it builds the engine.")
    result = _engine.compile_text("doctor.p4", "#include <core.p4>\n")
    if not result.ok:
        return Finding("engine", "broken", "does not compile an empty program", "rm -r .lab; ./lab")
    return Finding("engine", "ok", "compiles")


def memory() -> Finding:
    """memory."""
    free = _available_memory()
    detail = f"{free / GIGABYTE:.1f} GB free, {os.cpu_count()} cores"
    if free < MEMORY_NEEDED:
        return Finding("memory", "broken", detail, "Close programs: a lab needs 1 GB.")
    return Finding("memory", "ok", detail)


def _available_memory() -> int:
    for line in MEMINFO.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


def disk() -> Finding:
    """disk."""
    free = shutil.disk_usage(Path.cwd()).free
    detail = f"{free / GIGABYTE:.1f} GB free here"
    if free < DISK_NEEDED:
        return Finding("disk", "broken", detail, "Free 2 GB: packages and the engine want that.")
    return Finding("disk", "ok", detail)


def jupyterlab_port() -> Finding:
    """port of JupyterLab."""
    fix = "Nothing to do: JupyterLab takes the next free port and says which."
    return _port("port 8888", JUPYTERLAB_PORT, "for JupyterLab", fix)


def p4runtime_port() -> Finding:
    """port of P4Runtime."""
    fix = f"Find out who listens there: ss -ltnp 'sport = :{P4RUNTIME_PORT}'"
    return _port("port 9559", P4RUNTIME_PORT, "for P4Runtime", fix)


def _port(name: str, port: int, user: str, fix: str) -> Finding:
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError as error:
            return Finding(name, "missing", f"{user}: {(error.strerror or '').lower()}", fix)
    return Finding(name, "ok", f"{user}: free")


PROBES = (system, python, engine, memory, disk, jupyterlab_port, p4runtime_port)
