"""Programs as a user who is not root, whoever runs the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import ROOT
from p4lab.classroom.rehearsal import NEEDED, opened

USER = 65534
# Without udev, as in many containers, root alone may open it; with udev everybody may.
OPEN_TUN = "mount -t tmpfs -o mode=755 net /dev/net; mknod -m 666 /dev/net/tun c 10 200"
P4LAB = (sys.executable, "-m", "p4lab")


def as_user(*words: object, see: tuple[Path, ...] = ()) -> list[str]:
    """The command line that runs another one as a user. What Python needs, and what is in the
    folders `see`, can be read, also where it is in folders that root alone may enter."""
    wanted = [str(word) for word in words]
    if os.geteuid() != 0:
        return wanted
    inside = f'exec setpriv --reuid={USER} --regid={USER} --clear-groups -- "$@"'
    tun = f"[ ! -e /dev/net/tun ] || {{ {OPEN_TUN}; }}"
    script = "\n".join(["set -e", tun, *opened([*NEEDED, *see]), inside])
    return ["unshare", "--mount", "sh", "-c", script, "sh", *wanted]


def environment() -> dict[str, str]:
    """For what a user runs."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": "/", "NO_COLOR": "1"}


def run_as_user(*words: object, see: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
    """The finished process. A traceback on standard error is always a failure."""
    done = subprocess.run(
        as_user(*words, see=see),
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def lacking() -> str:
    """Why a user can make no Linux hosts here; empty if one can."""
    try:
        words = [sys.executable, "-c", "from p4lab import rights; print(rights.refusal() or '')"]
        done = run_as_user(*words)
    except FileNotFoundError as error:
        return str(error)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()


needs_user_namespace = pytest.mark.skipif(
    bool(lacking()), reason=f"no user namespace with Linux hosts: {lacking()}"
)
