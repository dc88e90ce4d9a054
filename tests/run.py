"""Runs every test of the project: one line a step, then what passed, failed and was skipped.

Arguments are given to pytest alone (`./lab test -k bier`); the Rust steps then do not run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / ".lab"


@dataclass
class Tally:
    """What a test runner counted; `reasons` says why tests were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.reasons += other.reasons


def cargo_tally(log: str) -> Tally:
    """Adds up the closing lines of every test binary."""
    tally = Tally()
    for passed, failed, ignored in re.findall(
        r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", log, re.MULTILINE
    ):
        tally.add(Tally(int(passed), int(failed), int(ignored)))
    tally.reasons.update(re.findall(r"^test .* \.\.\. ignored, (.+)$", log, re.MULTILINE))
    return tally


def pytest_tally(log: str) -> Tally:
    """Reads pytest's closing line and its short summary of skips (`-ra`)."""
    closing = log.rstrip().rsplit("\n", 1)[-1]

    def count(word: str) -> int:
        found = re.search(rf"(\d+) {word}", closing)
        return int(found[1]) if found else 0

    tally = Tally(count("passed"), count("failed") + count("error"), count("skipped"))
    for number, reason in re.findall(r"^SKIPPED \[(\d+)\] \S+ (.+)$", log, re.MULTILINE):
        tally.reasons[reason] += int(number)
    return tally


def owner() -> dict[str, int]:
    """As root the Rust steps run as the folder's owner, whose `target` they write."""
    uid, gid = ROOT.stat().st_uid, ROOT.stat().st_gid
    return {"user": uid, "group": gid} if os.geteuid() == 0 and uid != 0 else {}


def run(name: str, command: list[str], env: dict[str, str], **as_user: int) -> tuple[bool, str]:
    """Runs one step with its output in `.lab/test-NAME.log`, shown where it fails."""
    print(f"  {name:<28}", end="", flush=True)
    start = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        **as_user,
    )
    log = LOGS / f"test-{name.replace(' ', '-')}.log"
    log.unlink(missing_ok=True)
    log.write_text(done.stdout)
    print(
        f"{'ok' if done.returncode == 0 else 'FAILED':<8}{time.monotonic() - start:5.0f} s",
        flush=True,
    )
    if done.returncode != 0:
        print("\n".join(done.stdout.splitlines()[-150:]), flush=True)
    return done.returncode == 0, done.stdout


def rust_steps(env: dict[str, str]) -> tuple[bool, Tally]:
    """Format, lints and tests of the engine."""
    user = owner()
    all_ok, log = True, ""
    for name, arguments in (
        ("cargo fmt", ["fmt", "--all", "--check"]),
        (
            "cargo clippy",
            ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        ),
        ("cargo test", ["test", "--workspace", "--locked", "--no-fail-fast"]),
    ):
        ok, log = run(name, ["cargo", *arguments], env, **user)
        all_ok &= ok
    return all_ok, cargo_tally(log)


def python_steps(env: dict[str, str], arguments: list[str]) -> tuple[bool, Tally]:
    """Lints and tests of the Python side; notebooks and, as root, Mininet are among the tests."""
    all_ok = True
    if not arguments:
        files = ["src", "tests"]
        for name, verb in (("ruff check", ["check"]), ("ruff format", ["format", "--check"])):
            all_ok &= run(name, [sys.executable, "-m", "ruff", *verb, "--no-cache", *files], env)[0]
    ok, log = run("pytest", [sys.executable, "-m", "pytest", *arguments], env)
    return all_ok and ok, pytest_tally(log)


def main() -> int:
    env = dict(os.environ)
    home_cargo = Path.home() / ".cargo" / "bin"
    if shutil.which("cargo") is None:
        env["PATH"] = f"{env['PATH']}{os.pathsep}{home_cargo}"
    arguments = sys.argv[1:]
    tally, all_ok = Tally(), True
    if not arguments:
        all_ok, tally = rust_steps(env)
    ok, more = python_steps(env, arguments)
    all_ok &= ok
    tally.add(more)
    for reason, number in sorted(tally.reasons.items()):
        print(f"  skipped {number}: {reason}")
    if not all_ok and tally.failed == 0:
        tally.failed = 1  # a step that is no test failed
    print(f"\n{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 0 if all_ok else 1


if __name__ == "__main__":
    sys.exit(main())
