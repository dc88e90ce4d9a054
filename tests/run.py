"""Runs every test of the project: one line a step, then what passed, failed and was skipped.

`./lab test provision` runs the provisioner alone, from nothing: in a clean root with everything
fetched and the engine built there. The run of all tests has the provisioner among them, but gives
it this folder's wheels and engine (a wheelhouse), which takes minutes less.

`./lab test --changed` runs the tests that are nearest to what was changed since the last commit
(tests/nearest.py), for less than two minutes; `./lab test --changed COMMIT`, since another one.

Other arguments are given to pytest alone (`./lab test -k bier`); the Rust steps then do not run.

All that needs a processor and little else runs beside pytest, which waits for hosts and browsers
much of the time: Rust's steps, the provisioner, the lab as a page, and a second run of pytest with
the tests that are marked `beside` (tests/conftest.py). They give way to it, since some of its tests
watch clocks. What failed is tried once more at the end, on a quiet machine (tests/again.py).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import again
import nearest

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / ".lab"
PROVISION = str(ROOT / "tests" / "provision.sh")
GIVE_WAY = 10  # niceness of what runs beside pytest
GIVE_SOME_WAY = 5  # of its second run: what students hand in may take so long by the clock, too
CHANGED_SECONDS = 90  # in which `--changed` begins tests: it is to be done in two minutes
ELSEWHERE = "x86_64-pc-windows-gnu"  # a system without Linux interfaces
CLIPPY = "cargo clippy"
NO_TARGET = f"Rust's library for {ELSEWHERE} is missing: rustup target add {ELSEWHERE}"
EMBEDDED = "embedded"  # tests that start Python (crates/p4-py)
NO_LIBPYTHON = (
    "Python's library for tests of the binding in Rust is missing (Debian: libpython3-dev)"
)
UNBUILT = "the page is not built"  # what tests of the page say where they are skipped
PAGE = [
    str(file.relative_to(ROOT))
    for file in sorted((ROOT / "tests" / "browser").glob("test_*.py"))
    if UNBUILT in file.read_text("utf-8")
]
NO_NPM = "the lab as a page is bundled with npm (Debian: npm)"
LONGEST = 80 * 60  # seconds for one step, so that no test can keep us for ever
PYTEST = (sys.executable, "-m", "pytest")
SOME_FAILED = 1  # exit status of pytest that ran to its end
CANNOT_RUN = 77  # exit status of tests/provision.sh where it lacks something; it says what


@dataclass
class Tally:
    """What a test runner counted; `reasons` says why tests were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    failures: list[again.Failure] = field(default_factory=list)
    """Those among `failed` that may be tried again"""

    def add(self, other: Tally) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.reasons += other.reasons
        self.failures += other.failures


def cargo_tally(log: str) -> Tally:
    """Adds up the closing lines of every test binary."""
    tally = Tally()
    for passed, failed, ignored in re.findall(
        r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", log, re.MULTILINE
    ):
        tally.add(Tally(int(passed), int(failed), int(ignored)))
    tally.reasons.update(re.findall(r"^test .* \.\.\. ignored, (.+)$", log, re.MULTILINE))
    tally.failures = again.of_cargo(log)
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


@dataclass(frozen=True)
class Ended:
    """A step that has run, and what it printed."""

    status: int
    log: str

    @property
    def ok(self) -> bool:
        return self.status == 0


def run(name: str, command: Sequence[str], env: dict[str, str], **as_user: int) -> Ended:
    """Runs one step with its output in `.lab/test-NAME.log`, shown where it fails. Its line is
    printed at its end, whole, since steps run beside each other.

    The output goes straight into the file: a pipe would stay open as long as any process that the
    step has left behind, and we would wait for all of them."""
    start = time.monotonic()
    path = LOGS / f"test-{name.replace(' ', '-')}.log"
    path.unlink(missing_ok=True)
    with path.open("wb") as log:
        step = subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            **as_user,
        )
        timer = threading.Timer(LONGEST, step.kill)
        timer.start()
        try:
            _, status, used = os.wait4(step.pid, 0)
            step.returncode = os.waitstatus_to_exitcode(status)
        finally:
            timer.cancel()
            if step.returncode is None:
                step.kill()
                step.wait()
    took = time.monotonic() - start
    verdict = "ok" if step.returncode == 0 else "FAILED"
    if took >= LONGEST:
        verdict = "FAILED: it was ended, for it took too long,"
    text = path.read_text("utf-8", errors="replace")
    busy = used.ru_utime + used.ru_stime  # of all processes that were waited for
    lines = [f"  {name:<28}{verdict:<8}{took:5.0f} s, of a processor {busy:5.0f} s"]
    if verdict != "ok":
        lines += text.splitlines()[-150:]
    print("\n".join(lines) + "\n", end="", flush=True)
    return Ended(step.returncode, text)


def bytecode_step(env: dict[str, str]) -> bool:
    """Our modules compiled once. As root in somebody's folder Python keeps no bytecode (./lab), nor
    does it in many containers, and each of a thousand processes would compile them for itself."""
    command = [sys.executable, "-m", "compileall", "-q", "src/p4lab", "tests"]
    return run("bytecode", command, env, **owner()).ok


def rust_steps(env: dict[str, str]) -> tuple[bool, Tally]:
    """Checks the engine's format, lints it, compiles it for a system other than Linux and tests it.

    With --release, what the engine was built from is reused. Releases do not check arithmetic for
    overflow; the fuzzers do (docs/fuzzing.md)."""
    user = owner()
    all_ok, tally = True, Tally()
    built = ("--release", "--locked")
    # No `--all-targets`: to make the binding itself, Cargo would take the engine's away, of which a
    # wheel is made. As a test it is the same code.
    linted = ("--no-run", "--tests", "--benches", "--examples")
    without = {}  # arguments of a step, and what it lacks here
    if not has_target(ELSEWHERE, env):
        without[ELSEWHERE] = NO_TARGET
    if libpython().suffix != ".so" or not libpython().is_file():
        without[EMBEDDED] = NO_LIBPYTHON
    for name, arguments in (
        ("cargo fmt", ["fmt", "--all", "--check"]),
        (CLIPPY, ["test", "--workspace", *linted, *built]),
        ("cargo check, no Linux", ["check", "--workspace", *built, "--target", ELSEWHERE]),
        ("cargo test", ["test", "--workspace", *built, "--no-fail-fast"]),
        (
            "cargo test of the binding",
            ["test", "-p", "p4-py", "--test", EMBEDDED, *built, "--no-fail-fast"],
        ),
    ):
        lacks = [why for argument, why in without.items() if argument in arguments]
        if lacks:
            tally.add(Tally(skipped=1, reasons=Counter(lacks)))
            continue
        given = env if ELSEWHERE in arguments else as_built(env)
        if name.startswith(CLIPPY):
            given["RUSTC_WORKSPACE_WRAPPER"] = str(Path(__file__).with_name("lint.sh"))
        done = run(name, ["nice", f"-n{GIVE_WAY}", "cargo", *arguments], given, **user)
        if arguments[0] == "test" and not name.startswith(CLIPPY):
            counted = cargo_tally(done.log)
            tally.add(counted)
            all_ok &= done.ok or bool(counted.failures)
        else:
            all_ok &= done.ok
    return all_ok, tally


def as_built(env: dict[str, str]) -> dict[str, str]:
    """For Cargo's steps: what tests is compiled quickly, and Python is as maturin told the engine's
    build of it. Otherwise the binding would be compiled once more here, and again for a wheel."""
    own = {
        "RUSTC_WRAPPER": str(Path(__file__).with_name("rustc.sh")),
        "LIBPYTHON": str(libpython()),
        "PYTHONPATH": str(ROOT / "src"),
    }
    for told in (ROOT / "target" / "maturin").glob("pyo3-config-*.txt"):
        own["PYO3_CONFIG_FILE"] = str(told)
    return {**env, **own}


def libpython() -> Path:
    """Python as a library for programs that are not Python, where it would be."""
    folder, name = map(sysconfig.get_config_var, ("LIBDIR", "LDLIBRARY"))
    return Path(folder or "", name or "")


def has_target(target: str, env: dict[str, str]) -> bool:
    """Whether Rust's standard library is there for a system."""
    command = ["rustc", "--print", "target-libdir", "--target", target]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    return done.returncode == 0 and Path(done.stdout.strip()).is_dir()


def marked_files() -> list[str]:
    """The files with tests that are marked `beside`; to read all others takes ten seconds."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(file) for file in files if "pytest.mark.beside(" in file.read_text("utf-8")]


def run_pytest(name: str, command: Sequence[str], env: dict[str, str]) -> tuple[bool, Tally]:
    """Whether it was carried out as it should be, up to the tests that may be tried again."""
    with tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch, "failures")
        done = run(name, command, {**env, "P4LAB_TEST_FAILURES": str(written)})
        tally = pytest_tally(done.log)
        if done.status == SOME_FAILED:
            tally.failures = again.of_pytest(written, tally.failed, PYTEST)
            tally.failed = len(tally.failures) or tally.failed
    return done.ok or bool(tally.failures), tally


def python_steps(env: dict[str, str], arguments: list[str]) -> tuple[bool, Tally]:
    """Lints and tests of the Python side; notebooks and, as root, Mininet are among the tests."""
    if arguments:
        done = run("pytest", [*PYTEST, *arguments], env)
        return done.ok, pytest_tally(done.log)
    all_ok, tally = True, Tally()
    files = ["src", "tests"]
    for name, verb in (("ruff check", ["check"]), ("ruff format", ["format", "--check"])):
        all_ok &= run(name, [sys.executable, "-m", "ruff", *verb, "--no-cache", *files], env).ok
    pytest = [*PYTEST, "--durations=40", *(f"--ignore={file}" for file in PAGE)]
    # durations are in its log
    marked = ["nice", f"-n{GIVE_SOME_WAY}", *pytest, "-m", "beside", *marked_files()]
    with tempfile.TemporaryDirectory() as claims, ThreadPoolExecutor() as runs:
        shared = {**env, "P4LAB_TEST_CLAIMS": claims}
        started = [
            runs.submit(run_pytest, "pytest", pytest, shared),
            runs.submit(run_pytest, "pytest beside", marked, shared),
        ]
        for one in started:
            ok, counted = one.result()
            all_ok &= ok
            tally.add(counted)
    return all_ok, tally


def page_steps(env: dict[str, str]) -> tuple[bool, Tally]:
    """The lab as a page: built, then tried in a browser."""
    if shutil.which("npm") is None:
        return True, Tally(skipped=1, reasons=Counter([NO_NPM]))
    build = ["nice", f"-n{GIVE_WAY}", sys.executable, "-m", "p4lab", "build-web", "--draft"]
    if not run("the page", build, env, **owner()).ok:
        return False, Tally()
    return run_pytest("pytest of the page", [*PYTEST, *PAGE], env)


def changed_steps(env: dict[str, str], since: str) -> tuple[bool, Tally]:
    """Lints, and the tests nearest to what was changed; of Rust, those of the changed crates."""
    try:
        files = nearest.changed(since)
    except subprocess.CalledProcessError:
        print(f"git knows no commit {since}: ./lab test --changed COMMIT")
        return False, Tally()
    if not files:
        print(f"  nothing differs from {since}")
        return True, Tally()
    done = [
        run(
            "ruff check", [sys.executable, "-m", "ruff", "check", "--no-cache", "src", "tests"], env
        ).ok
    ]
    chosen = nearest.nearest(files)
    print(f"  {len(files)} files changed; {len(chosen)} files with tests, the nearest first")
    limited = {**env, "P4LAB_TEST_SECONDS": str(CHANGED_SECONDS)}
    ended = run("pytest", [*PYTEST, *map(str, chosen)], limited)
    tally = pytest_tally(ended.log)
    left = [line for line in ended.log.splitlines() if line.startswith("left to")]
    print("".join(f"  {line}\n" for line in left), end="")
    done.append(ended.ok)
    if packages := [f"-p{crate}" for crate in nearest.crates(files)]:
        command = ["cargo", "test", "--release", "--locked", *packages]
        ended = run("cargo test", command, as_built(env), **owner())
        done.append(ended.ok)
        tally.add(cargo_tally(ended.log))
    return all(done), tally


def provision_steps(env: dict[str, str]) -> tuple[bool, Tally]:
    """The provisioner in a clean Debian root, with the wheels and the engine of this folder."""
    could = subprocess.run([PROVISION, "--check"], capture_output=True, text=True, env=env)
    if could.returncode == CANNOT_RUN:
        return True, Tally(skipped=1, reasons=Counter([could.stdout.strip()]))
    with tempfile.TemporaryDirectory() as scratch:
        user = owner()
        if user:
            os.chown(scratch, user["user"], user["group"])
        wheelhouse, user_data = f"{scratch}/wheelhouse", f"{scratch}/user-data"
        packed = run("wheelhouse", [str(ROOT / "provision/wheelhouse"), wheelhouse], env, **user)
        quickly = {**env, "XZ_OPT": "-0"}
        printed = run("cloud-init", [str(ROOT / "provision/cloud-init")], quickly)
        if not (packed.ok and printed.ok):
            return False, Tally(failed=1)
        Path(user_data).write_text(printed.log)
        given = ["--wheelhouse", wheelhouse, "--user-data", user_data]
        ok = run("provision", ["nice", f"-n{GIVE_WAY}", PROVISION, *given], env).ok
    return ok, Tally(passed=int(ok), failed=int(not ok))


def provision_from_nothing(env: dict[str, str]) -> int:
    """The same with nothing given; its output is shown as it comes."""
    status = subprocess.run([PROVISION], env=env, stdin=subprocess.DEVNULL, check=False).returncode
    counts = [status == 0, status not in (0, CANNOT_RUN), status == CANNOT_RUN]
    print("\n{:d} passed, {:d} failed, {:d} skipped".format(*counts))
    return 1 if counts[1] else 0


def all_steps(env: dict[str, str]) -> tuple[bool, Tally]:
    """Everything at once: the provisioner waits for the network, pytest for hosts and browsers."""
    compiled = bytecode_step(env)
    print("  running Rust's steps, the provisioner, the page and Python's together", flush=True)
    with ThreadPoolExecutor() as beside:
        steps = [
            beside.submit(python_steps, env, []),
            beside.submit(page_steps, env),
            beside.submit(rust_steps, env),
            beside.submit(provision_steps, env),
        ]
        done = [step.result() for step in steps]
    tally = Tally()
    for _, counted in done:
        tally.add(counted)
    all_ok = compiled and all(ok for ok, _ in done)
    return try_again(tally, env) and all_ok, tally


def try_again(tally: Tally, env: dict[str, str]) -> bool:
    """Whether all tests that failed pass alone, on a machine with nothing else to do."""

    def passes(failure: again.Failure) -> bool:
        cargo = failure.command[0] == "cargo"
        given, user = (as_built(env), owner()) if cargo else (env, {})
        done = run("again", failure.command, given, **user)
        counted = (cargo_tally if cargo else pytest_tally)(done.log)
        return done.ok and counted.passed == 1  # a test that is skipped now has not passed

    unsteady, failed = again.sorted_out(tally.failures, passes)
    print("".join(f"{line}\n" for line in again.told(unsteady, failed)), end="")
    tally.passed += len(unsteady)
    tally.failed -= len(unsteady)
    return not failed


def main() -> int:
    # A shell's background jobs ignore Ctrl-C, and so would all that the tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    env = dict(os.environ)
    home_cargo = Path.home() / ".cargo" / "bin"
    if shutil.which("cargo") is None:
        env["PATH"] = f"{env['PATH']}{os.pathsep}{home_cargo}"
    arguments = sys.argv[1:]
    if arguments == ["provision"]:
        return provision_from_nothing(env)
    if arguments[:1] == ["--changed"]:
        all_ok, tally = changed_steps(env, *(arguments[1:2] or ["HEAD"]))
    else:
        all_ok, tally = all_steps(env) if not arguments else python_steps(env, arguments)
    for reason, number in sorted(tally.reasons.items()):
        print(f"  skipped {number}: {reason}")
    if not all_ok and tally.failed == 0:
        tally.failed = 1  # a step that is not a test failed
    print(f"\n{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 0 if all_ok else 1


if __name__ == "__main__":
    sys.exit(main())
