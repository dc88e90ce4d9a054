"""The notebooks in the page: JupyterLite, with a kernel that asks no other host for anything.

It takes the Python of the page, and packages from files of the site, which a lock file of ours
names. The notebooks are those of the checkout, word for word."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name, parse_wheel_filename

from p4lab.paths import ROOT, STATE
from p4lab.website.toolchain import ran

FOLDER = "notebooks"
LOCK = ROOT / "web" / "requirements.lock"
PLUGIN = "@jupyterlite/pyodide-kernel-extension"
EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "anywidget", "p4lab")
"""Of JupyterLab, from this Python's environment"""

MOCKS = ("ipykernel", "piplite", "pyodide_kernel")
"""Wheels that come with the kernel; what it has besides takes the place of things for classic
notebooks"""

SHOWN = ("notebooks/*.ipynb", "labs/*/README.md", "labs/*/*.png", "docs/*.md")
"""Files of the checkout: the notebooks, and what their links lead to"""

PACKAGES = "packages.json"
DRIVE = "/drive"
"""Where the kernel finds the files that JupyterLab shows. It is made the user's home, so that
students' files are there"""


def write(site: Path, wheels: Iterable[Path]) -> None:
    """JupyterLite in a folder of the site, whose kernel starts with these wheels of the site.
    Raises BuildError."""
    tools = _tools()
    work, into = STATE / "notebooks", site / FOLDER
    for folder in (work, into):
        shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(parents=True)
    shared = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    kernel = tools / "share" / "jupyter" / "labextensions" / PLUGIN
    extensions = [*(shared / name for name in EXTENSIONS), kernel]
    files = kernel / "static" / "pypi"
    named = [file for file in sorted(files.glob("*.whl")) if file.name.startswith(MOCKS)]
    packages = {
        **_packages(wheels, "../python"),
        **_packages(named, f"extensions/{PLUGIN}/static/pypi"),
    }
    _json(work / "jupyter-lite.json", _settings(packages))
    for file in (file for pattern in SHOWN for file in ROOT.glob(pattern)):
        shown = work / "shown" / file.relative_to(ROOT)
        shown.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, shown)
    ran(
        [
            *(sys.executable, "-m", "jupyterlite_core", "build", "--output-dir", str(into)),
            *("--contents", "shown", "--apps", "lab", "--ignore-sys-prefix"),
            # What it leaves out of itself are names that ours have: docs, notebooks.
            "--LiteBuildConfig.ignore_contents=^$",
            *("--no-sourcemaps", "--no-unused-shared-packages", "--no-libarchive"),
            *(f"--LiteBuildConfig.federated_extensions={one}" for one in extensions),
        ],
        {**os.environ, "PYTHONPATH": str(tools)},
        work,
    )
    pyodide = json.loads((site / "python" / "pyodide-lock.json").read_text("utf-8"))
    _json(into / PACKAGES, {"info": pyodide["info"], "packages": packages})


def _tools() -> Path:
    """The packages that build it, in a folder of their own: nothing else needs them."""
    folder = STATE / "jupyterlite"
    made_of = folder / LOCK.name
    if not made_of.is_file() or made_of.read_bytes() != LOCK.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        ran([*pip, "--no-deps", "--target", str(folder), "-r", str(LOCK)], dict(os.environ))
        shutil.copyfile(LOCK, made_of)
    return folder


def _packages(wheels: Iterable[Path], place: str) -> dict[str, Any]:
    """Wheels as Pyodide's lock file has them: each in a folder, seen from where that file is. All
    of them are loaded at first, so none has to name others."""
    found = {}
    for wheel in wheels:
        name, version, _, _ = parse_wheel_filename(wheel.name)
        found[str(canonicalize_name(name))] = {
            "name": name,
            "version": str(version),
            "file_name": f"{place}/{wheel.name}",
            "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
            "package_type": "package",
            "install_dir": "site",
            "imports": [],
            "depends": [],
            "unvendored_tests": False,
        }
    return found


def _settings(packages: Iterable[str]) -> dict[str, Any]:
    """What JupyterLite is told."""
    kernel = {
        "pyodideUrl": "./../python/pyodide.mjs",
        "disablePyPIFallback": True,
        "loadPyodideOptions": {
            "lockFileURL": PACKAGES,
            "packages": sorted(packages),
            "convertNullToNone": True,  # as JSON has it: views send null
            "env": {"HOME": DRIVE, "IPYTHONDIR": "/tmp/ipython", "MPLCONFIGDIR": "/tmp/matplotlib"},
        },
    }
    settings = {"appName": "p4lab", "litePluginSettings": {f"{PLUGIN}:kernel": kernel}}
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": settings}


def _json(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, indent=1), "utf-8")
