"""Builds p4lab's wheel with the labs in it, so that `pip install` needs no checkout.

    python provision/wheel.py [--out DIR] [BARE.whl]

maturin packs the engine and the Python package; this adds, below `p4lab/material`, what both find
in a checkout (src/p4lab/paths.py). The reference programs are in it, since checks compare with
them; `solutions/` is for instructors, who take a checkout. Needs maturin, wheel, Rust and git; a
BARE wheel, which maturin has made before, needs no Rust.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MATERIAL = (
    "docs",
    "editors",
    "hw",
    "labs",
    "notebooks",
    "p4",
    "pyproject.toml",
    "requirements.lock",
    "topologies",
    "wireshark",
)


def main() -> None:
    """Leaves one wheel in the folder. Raises CalledProcessError if a tool fails."""
    parser = argparse.ArgumentParser(description="Build p4lab's wheel with the labs in it.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the wheel goes")
    parser.add_argument("bare", nargs="?", type=Path, help="the wheel without the labs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch, "whole")
        bare = arguments.bare or _built(Path(scratch, "bare"))
        _run("wheel", "unpack", str(bare), "--dest", str(whole))
        (package,) = whole.iterdir()
        _add_material(package / "p4lab" / "material")
        arguments.out.mkdir(parents=True, exist_ok=True)
        _run("wheel", "pack", str(package), "--dest-dir", str(arguments.out))


def _built(into: Path) -> Path:
    manifest = ROOT / "crates" / "p4-py" / "Cargo.toml"
    _run("maturin", "build", "--release", "--locked", "-m", str(manifest), "--out", str(into))
    (wheel,) = into.glob("*.whl")
    return wheel


def _run(tool: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", tool, *arguments], check=True)


def _add_material(into: Path) -> None:
    """The files that git knows, so that nobody's work in progress is released."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *MATERIAL]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)


if __name__ == "__main__":
    main()
