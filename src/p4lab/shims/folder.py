"""The folder of shims: small scripts under the names of p4c's and bmv2's programs."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from p4lab.paths import SHIMS_MARK, without_shims
from p4lab.shims.switch import COMPAT
from p4lab.shims.tools import CONSOLE, SWITCHES, TOOLS

PYTHON_FOLDER = Path(__file__).parent / "python"
"""The packages that controllers import: P4Runtime's messages, bmv2's clients, under their names"""
PACKAGE = Path(__file__).resolve().parents[2]
NEEDED = ("mininet.net", "grpc", "p4.v1.p4runtime_pb2", "p4.tmp.p4config_pb2", "scapy", "psutil")
"""What the tutorials' scripts import"""
RUN = (
    "import sys; sys.path[0] = {package!r}; "
    "from p4lab.shims.tools import main; main()"
)  # fmt: skip
SUDO = """#!/bin/sh
# There is no sudo on this machine, and you are root: `sudo NAME=VALUE... COMMAND`.
while [ $# -gt 0 ]; do
    case $1 in
    -u | -g) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
exec env "$@"
"""


class ShimsError(Exception):
    """Why there can be no folder, in one sentence."""


def make_shims(folder: Path, *, bmv2_compat: bool = True) -> list[str]:
    """Fills the folder; gives the names of the programs in it. Raises ShimsError and OSError."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / SHIMS_MARK).is_file():
        raise ShimsError(f"{folder} has other files: name a folder that is empty or not there yet.")
    path = without_shims(os.environ.get("PATH", ""))
    scripts = {tool: _tool(tool, bmv2_compat) for tool in TOOLS}
    if not _has_all(shutil.which("python3", path=path)):
        scripts |= {name: _python() for name in ("python3", "python")}
    if find_spec("thrift") is not None and shutil.which(CONSOLE, path=path) is None:
        scripts[CONSOLE] = _tool(CONSOLE, False)
    if os.geteuid() == 0 and shutil.which("sudo") is None:
        scripts["sudo"] = SUDO
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, text in scripts.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    (folder / SHIMS_MARK).write_text("", encoding="utf-8")
    return list(scripts)


def on_path(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with the folder first on the path, and no other folder of shims."""
    places = [str(folder.resolve()), without_shims(environment.get("PATH", ""))]
    path = os.pathsep.join([*places, "/usr/sbin", "/sbin"])
    return {**environment, "PATH": path}


def _has_all(python: str | None) -> bool:
    """Whether a Python has what the tutorials' scripts import."""
    if python is None:
        return False
    test = "import " + ", ".join(NEEDED)
    done = subprocess.run([python, "-c", test], capture_output=True, check=False)
    return done.returncode == 0


def _tool(tool: str, bmv2_compat: bool) -> str:
    words = [sys.executable, "-c", RUN.format(package=str(PACKAGE)), tool]
    if bmv2_compat and tool in SWITCHES:
        words.append(COMPAT)
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def _python() -> str:
    """Our Python with P4Runtime's messages and bmv2's clients, in front of what the user has asked
    for."""
    packages = shlex.quote(f"{PYTHON_FOLDER}{os.pathsep}{PACKAGE}")
    return (
        "#!/bin/sh\n"
        f'export PYTHONPATH={packages}"${{PYTHONPATH:+:$PYTHONPATH}}"\n'
        f'exec {shlex.quote(sys.executable)} "$@"\n'
    )
