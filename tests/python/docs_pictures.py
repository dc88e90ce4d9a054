"""Draws the pictures in docs/pictures: python tests/python/docs_pictures.py [NAME...]

All of them, or those of these names, such as fabric-5; look at what it made. Some take hours on two
cores. Those by a browser need Chromium, those that show times a machine that does nothing else, and
encodings the Topology Zoo's map of Cogentco in this folder (docs/encodings.md).
test_docs_pictures.py says if a picture is there that nothing draws.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import readme_pictures
from p4lab.paths import ROOT

FOLDER = ROOT / "docs" / "pictures"
FIT = ("fit", "-D", "BSL=256", "p4/bier/tna.p4", "--svg")

EXPERIMENTS: dict[tuple[str, ...], dict[str, str]] = {
    ("recirculation", "--arbitration", "all"): {"recirculation.png": "figure14.png"},
    ("provisioning",): {"provisioning.png": "figures15to17.png"},
    ("restoration", "--detection", "heartbeat"): {"heartbeat.svg": "restoration.svg"},
    ("protection", "--runs", "20"): {"protection-policies.png": "protection.png"},
    ("protection-jitter", "--runs", "20", "--pings", "500"): {
        "protection-jitter.png": "jitter.png"
    },
    ("protection-goodput", "--runs", "20"): {"protection-goodput.png": "goodput.png"},
    ("protection-cost", "--runs", "20"): {"protection-cost.png": "cost.png"},
    ("protection-skew",): {"protection-skew.png": "skew.png"},
    ("protection-failure", "--runs", "10"): {"protection-failure.png": "failure.png"},
    ("encodings", "--graphml", "Cogentco.graphml"): {
        f"encodings-{name}.png": f"encodings-{name}.png"
        for name in ("bytes", "size", "work", "state")
    },
    ("msr6-failure",): {"msr6-failure.png": "msr6-failure.png"},
    ("msr6-cost",): {"msr6-cost.png": "cost.png"},
    ("bng-latency",): {"bng-latency.png": "latency.png"},
    ("bng-setup",): {"bng-setup.png": "setup.png"},
    ("bng-policing",): {"bng-policing.png": "policing.png"},
    ("bng-tables",): {"bng-tables.png": "tables.png"},
    **{
        ("fabric", figure, "--threads", "2"): {f"fabric-{figure}.png": f"fabric-{figure}.png"}
        for figure in ("2c", "4ab", "4c", "5", "6", "9", "10", "13", "15-16", "mix")
    },
}
"""Arguments of `p4lab experiment`, and which of its figures are pictures here"""

BROWSER: dict[tuple[str, ...], tuple[str, ...]] = {
    ("pictures_fabric.py",): ("fabric-leaf", "fabric-deadlock", "fabric-rack"),
    ("pictures.py", "living"): ("living",),
    ("pictures.py", "01-bier"): ("topology", "bits", "packet", "sets", "table", "links"),
    ("pictures.py", "02-frr"): ("losses",),
    ("pictures.py", "03-protect"): ("circle", "times"),
    ("pictures.py", "04-msr6"): ("tree",),
}
"""Scripts in tests/browser with their arguments, and what they take pictures of"""


def pictures() -> set[str]:
    """The files that are drawn."""
    figures = {picture for drawn in EXPERIMENTS.values() for picture in drawn}
    views = {f"{name}.png" for names in BROWSER.values() for name in names}
    readme = {readme_pictures.path_of(name).name for name in readme_pictures.PICTURES}
    return figures | views | readme | {"fit.svg"}


def _wanted(files: Sequence[str], asked: Sequence[str]) -> bool:
    return not asked or any(Path(file).stem in asked for file in files)


def _run(*words: str) -> None:
    print(" ".join(words), flush=True)
    subprocess.run([sys.executable, *words], cwd=ROOT, check=True)


def _draw(arguments: Sequence[str], drawn: Mapping[str, str], asked: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as out:
        _run("-m", "p4lab", "experiment", *arguments, "--out", out)
        for picture, figure in drawn.items():
            if _wanted([picture], asked):
                shutil.copyfile(Path(out) / figure, FOLDER / picture)


def main() -> None:
    asked = sys.argv[1:]
    if unknown := set(asked) - {Path(name).stem for name in pictures()}:
        sys.exit(f"nothing draws {', '.join(sorted(unknown))}.")
    for name in readme_pictures.PICTURES:
        path = readme_pictures.path_of(name)
        if _wanted([path.name], asked):
            _run("tests/python/readme_pictures.py", name)
    if _wanted(["fit.svg"], asked):
        _run("-m", "p4lab", *FIT, str(FOLDER / "fit.svg"))
    for script, names in BROWSER.items():
        if _wanted(names, asked):
            _run(f"tests/browser/{script[0]}", *script[1:])
    for arguments, drawn in EXPERIMENTS.items():
        if _wanted(list(drawn), asked):
            _draw(arguments, drawn, asked)


if __name__ == "__main__":
    main()
