"""Programs as a user who is not root, whoever runs the tests."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_runner import ROOT

USER = 65534
P4LAB = (sys.executable, "-m", "p4lab")
NEEDED = (ROOT, Path(sys.prefix), Path(sys.base_prefix))
HELD = Path("/mnt")  # where folders are kept for a moment


def as_user(*words: object, see: tuple[Path, ...] = ()) -> list[str]:
    """The command line that runs another one as a user. What Python needs, and what is in the
    folders `see`, can be read, also where it is in folders that root alone may enter."""
    wanted = [str(word) for word in words]
    if os.geteuid() != 0:
        return wanted
    inside = f'exec setpriv --reuid={USER} --regid={USER} --clear-groups -- "$@"'
    script = "\n".join(["set -e", *_opened([*NEEDED, *see]), inside])
    return ["unshare", "--mount", "sh", "-c", script, "sh", *wanted]


def _opened(folders: list[Path]) -> Iterator[str]:
    """Commands that leave of closed folders what is asked for."""
    closed: dict[Path, list[Path]] = {}
    for folder in dict.fromkeys(folder.resolve() for folder in folders):
        chain = [folder, *folder.parents]
        shut = [each for each in chain if not each.stat().st_mode & 0o001]
        if shut:
            closed.setdefault(shut[-1], []).append(folder)
    if closed:
        yield f"mount -t tmpfs none {HELD}"
    for place, inner in closed.items():
        for number, folder in enumerate(inner):
            hold = HELD / f"{number}"
            yield f"mkdir -p {hold}; mount --rbind {shlex.quote(str(folder))} {hold}"
        yield f"mount -t tmpfs -o mode=755 none {shlex.quote(str(place))}"
        for number, folder in enumerate(inner):
            name = shlex.quote(str(folder))
            yield f"mkdir -p {name}; mount --rbind {HELD / str(number)} {name}"
            yield f"umount -l {HELD / str(number)}"


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
