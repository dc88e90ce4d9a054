"""The workflow that makes releases, as far as it runs here.

If this fails, no wheel is ever released: each is tried on its own platform first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

from p4lab.paths import PACKAGE, ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"


def test_what_a_wheel_is_tried_with_works(tmp_path: Path) -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]
    [step] = [one for one in jobs["wheel"]["steps"] if one.get("name", "").startswith("try it")]
    lines = [line for line in step["run"].splitlines() if not line.startswith("python -m pip")]
    assert any(line.startswith("p4lab check") for line in lines)
    program = tmp_path / "bin" / "p4lab"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m p4lab "$@"\n', "utf-8")
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(PACKAGE.parent),
        "RUNNER_TEMP": str(tmp_path),
    }
    # As GitHub starts a step's bash.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", "\n".join(lines)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mylab01" / "bier" / "bier.p4").is_file()
