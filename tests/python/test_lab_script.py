"""The `lab` script on a machine of stand-ins: what it installs, when, and what it says.

The stand-ins for python3, cargo and apt-get write down how they were called, so a start takes
milliseconds and needs no network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What the script itself may use of the machine; python3 and cargo are not among it.
TOOLS = (
    "awk bash cat chmod cmp cp cut date dirname env find flock getent grep head id mkdir mv nice "
    "printf rm sed setpriv sh sha256sum sleep sort stat tail touch uname xargs"
).split()

ALL = ["venv", "builder", "packages", "first part"]  # the work of a first start

PYTHON = """#!/bin/sh
echo "python $*" | sed "s#$ROOT#ROOT#g" >>"$CALLS"
case "$*" in
"-V") echo Python 3.12.0 ;;
"-m venv "*) mkdir -p "$ROOT/.venv/bin" && cp "$0" "$ROOT/.venv/bin/python" ;;
*"-m maturin"*) [ ! -e "$ROOT/slow" ] || sleep 4
    [ ! -e "$ROOT/broken" ] || { echo "error[E0425]: no such thing"; exit 1; }
    sleep 0.2; touch "$ROOT/src/p4lab/_engine.abi3.so" ;;
*"-r $ROOT/requirements.lock") [ ! -e "$ROOT/offline" ] ||
    { echo "no route to the index"; exit 1; } ;;
*"--no-deps"*p4lab) mkdir -p "$ROOT/.venv/site/p4lab"
    echo ready-made >"$ROOT/.venv/site/p4lab/_engine.abi3.so" ;;
*sysconfig*) echo "$ROOT/.venv/site" ;;
*platform.machine*) echo "Python 3.12, x86_64" ;;
*p4lab.cli.reading*) case "$*" in *" --bad"*) echo refused >&2; exit 2 ;; esac; exit 78 ;;
*p4lab.__main__*) shift 2; echo "p4lab got:$(printf ' <%s>' "$@")" ;;
esac
"""


@dataclass
class Machine:
    """A folder with the script, and a PATH that holds nothing but what a test puts there."""

    root: Path
    bin: Path
    calls: Path

    def add(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def start(
        self, *arguments: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        env = {
            "PATH": str(self.bin),
            "HOME": str(self.root / "home"),
            "ROOT": str(self.root),
            "CALLS": str(self.calls),
        }
        command = [str(self.bin / "bash"), str(self.root / "lab"), *arguments]
        return subprocess.Popen(command, env=env, stdout=stdout, stderr=stderr, text=True, cwd="/")

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def on_a_terminal(self, *arguments: str) -> str:
        """What somebody sees who types it."""
        terminal, screen = os.openpty()
        self.start(*arguments, stdout=screen, stderr=screen).wait(timeout=60)
        os.close(screen)
        seen = os.read(terminal, 10_000).decode()
        os.close(terminal)
        return seen

    def work(self) -> list[str]:
        """What was installed or built since the last call, as short words in the order below:
        packages come while the engine is built."""
        text = self.calls.read_text() if self.calls.exists() else ""
        self.calls.unlink(missing_ok=True)
        marks = {
            "apt-get": "apt",
            "-m venv": "venv",
            "requirements.lock maturin": "builder",
            "-r ROOT/requirements.lock": "packages",
            "-r ROOT/requirements-test.lock": "test's packages",
            "-r ROOT/requirements-class.lock": "a class's packages",
            "--no-deps": "ready-made",
            "-m maturin .*--no-default-features": "first part",
            "-m maturin .*Cargo.toml$": "engine",
        }
        lines = text.splitlines()
        return [word for mark, word in marks.items() for line in lines if re.search(mark, line)]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    root = tmp_path / "p4 lab"
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (root / "crates" / "p4-py").mkdir(parents=True)
    (root / "docs" / "errors").mkdir(parents=True)
    (root / "src" / "p4lab").mkdir(parents=True)
    for name in (
        *("Cargo.toml", "Cargo.lock", "pyproject.toml"),
        *("requirements.lock", "requirements-class.lock", "requirements-test.lock"),
    ):
        (root / name).write_text(f"{name}\n")
    (root / "crates" / "p4-py" / "lib.rs").write_text("// engine\n")
    shutil.copy(ROOT / "lab", root / "lab")
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, f"this machine has no {tool}"
        (binaries / tool).symlink_to(found)
    made = Machine(root, binaries, tmp_path / "calls")
    made.add("python3", PYTHON)
    made.add("cargo", "#!/bin/sh\necho 'cargo 1.95.0 (abc 2026-01-01)'\n")
    return made


def test_a_fresh_clone_is_set_up_and_the_verb_runs(machine: Machine) -> None:
    status, out, err = machine.run("run", "01-bier", "a b")
    assert (status, out) == (0, "p4lab got: <run> <01-bier> <a b>\n")
    assert machine.work() == ALL
    steps = [line.split("  ")[1] for line in err.splitlines()]
    assert steps == [
        "virtual environment",
        "what builds the engine",
        "engine, what a first run needs",
        "Python packages, meanwhile",
    ]


@pytest.mark.parametrize(
    "arguments", [("run", "01-bier", "--net", "linux"), ("doctor",), ("switch", "x.p4")]
)
def test_the_rest_of_the_engine_comes_for_those_who_need_it(
    machine: Machine, arguments: tuple[str, ...]
) -> None:
    """Native code, interfaces and servers take longer to build than all that a first lab needs."""
    machine.run("notebook")
    machine.work()
    assert machine.run("check", "01-bier", ".")[2] == ""
    assert machine.work() == []
    status, out, err = machine.run(*arguments)
    assert (status, out) == (0, f"p4lab got: {' '.join(f'<{one}>' for one in arguments)}\n")
    assert "engine (release build)" in err
    assert machine.work() == ["engine"]
    machine.run("notebook")
    assert machine.work() == [], "nobody loses what has been built"
    (machine.root / "crates" / "p4-py" / "lib.rs").write_text("// changed\n")
    machine.run("notebook")
    assert machine.work() == ["engine"]


def test_what_is_refused_is_refused_before_the_rest_of_the_engine_is_built(
    machine: Machine,
) -> None:
    machine.run("notebook")
    machine.work()
    assert machine.run("bench", "scale", "--bad") == (2, "", "refused\n")
    assert machine.work() == []


def test_who_begins_with_the_rack_has_the_engine_of_its_fabric(machine: Machine) -> None:
    """Lab 07's simulator is not in the part that other labs begin with."""
    for lab, system in (("07-fabric", "fabric"), ("01-bier", "bier")):
        (machine.root / "labs" / lab).mkdir(parents=True)
        (machine.root / "labs" / lab / "lab.toml").write_text(f'system = "{system}"\n')
    machine.run("run", "01-bier")
    assert "first part" in machine.work()
    machine.run("run", "07-fabric")
    assert machine.work() == ["engine"]


def test_the_rest_of_the_engine_comes_while_a_notebook_is_open(machine: Machine) -> None:
    """The next kernel runs native code, and nobody has waited for it."""
    machine.run("run", "01-bier")
    machine.work()
    (machine.root / "slow").touch()
    seen = machine.on_a_terminal("notebook")
    assert "p4lab got: <notebook>" in seen, "it is open before the rest is there"
    deadline = time.monotonic() + 30
    while "maturin" not in (machine.calls.read_text() if machine.calls.exists() else ""):
        assert time.monotonic() < deadline, "the rest is not begun"
        time.sleep(0.05)  # it gives way to everybody
    assert machine.run("trace", "01-bier")[2] == "", "nor is the rest waited for by others"
    err = machine.run("doctor")[2]
    assert "another ./lab sets up this folder; waiting for it" in err
    assert "engine (release build)" not in err
    assert machine.work() == ["engine"]


def test_the_second_start_does_nothing_but_start(machine: Machine) -> None:
    machine.run()
    machine.work()
    assert machine.run("compile", "x.p4")[2] == ""
    assert machine.work() == []


def test_what_only_tests_need_is_not_waited_for_before_a_lab(machine: Machine) -> None:
    """It is a third of all packages, and most people never run a test."""
    machine.run("run", "01-bier")
    assert machine.work() == ALL
    machine.run("test", "-k", "bier")
    assert machine.work() == ["test's packages", "a class's packages", "engine"]
    machine.run("test", "-k", "bier")
    assert machine.work() == []


def test_packages_behind_a_link_are_left_alone(machine: Machine, tmp_path: Path) -> None:
    """In a second worktree `.venv` may lead to the first one's: set-up would empty it for all."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "kept").touch()
    (machine.root / ".venv").symlink_to(shared)
    status, _, err = machine.run("run", "01-bier")
    assert status == 2 and "is a link" in err
    assert machine.work() == [] and (shared / "kept").exists()


def test_a_change_rebuilds_only_what_is_made_of_it(machine: Machine) -> None:
    machine.run()
    machine.work()
    (machine.root / "crates" / "p4-py" / "lib.rs").write_text("// changed\n")
    machine.run()
    assert machine.work() == ["first part"]
    (machine.root / "requirements.lock").write_text("other==2\n")
    machine.run()
    assert machine.work() == ALL
    (machine.root / "src" / "p4lab" / "_engine.abi3.so").unlink()
    machine.run()
    assert machine.work() == ["first part"]


def test_a_moved_folder_gets_its_environment_anew(machine: Machine) -> None:
    machine.run()
    machine.work()
    machine.root = machine.root.rename(machine.root.parent / "elsewhere")
    assert machine.run()[0] == 0
    assert machine.work() == ALL


def test_a_failed_step_shows_its_log_and_is_tried_again(machine: Machine) -> None:
    (machine.root / "broken").touch()
    status, out, err = machine.run()
    assert (status, out) == (2, "")
    assert "engine, what a first run needs" in err and "error[E0425]: no such thing" in err
    (machine.root / "broken").unlink()
    machine.work()
    assert machine.run()[0] == 0
    assert machine.work() == ["first part"]


def test_two_starts_at_once_set_up_once(machine: Machine) -> None:
    both = [machine.start(), machine.start()]
    assert [process.communicate(timeout=60) and process.returncode for process in both] == [0, 0]
    assert machine.work() == ALL


def test_who_waits_for_another_start_sees_the_time(machine: Machine) -> None:
    """The first look finds the lock taken, so does the next, and then it is free."""
    (machine.bin / "flock").unlink()
    tries = machine.bin / "tries"
    machine.add("flock", f'#!/bin/sh\necho once >>{tries}; [ "$(grep -c once {tries})" -ge 3 ]\n')
    status, _, err = machine.run()
    assert status == 0 and machine.work() == ALL
    assert "waiting for it)\n  (still waiting, " in err


def test_where_no_file_can_be_locked_it_says_so_and_goes_on(machine: Machine) -> None:
    """As on NFS without its lock daemon."""
    (machine.bin / "flock").unlink()
    machine.add("flock", "#!/bin/sh\necho 'flock: 9: No locks available' >&2; exit 71\n")
    status, _, err = machine.run()
    assert status == 0 and machine.work() == ALL
    assert err.count("no file can be locked here") == 1 and "flock:" not in err
    assert "another ./lab sets up" not in err
    assert machine.run() == (0, "p4lab got: <>\n", ""), "once it is set up nothing is said"


def test_what_others_use_is_open_to_them_whatever_the_umask(machine: Machine) -> None:
    before = os.umask(0o077)
    try:
        assert machine.run()[0] == 0
    finally:
        os.umask(before)
    for name in (".venv", ".lab", ".lab/engine.stamp", "src/p4lab/_engine.abi3.so"):
        assert (machine.root / name).stat().st_mode & 0o044 == 0o044, name


def test_python_starts_under_any_path_in_any_locale(machine: Machine) -> None:
    """In ASCII it reads no .pth file with such a path: it would not even start."""
    root = machine.root.rename(machine.root.with_name("p4 läb"))
    machine.add("python3", PYTHON.replace("\n", '\n[ "$PYTHONUTF8" = 1 ] || exit 1\n', 1))
    there = Machine(root, machine.bin, machine.calls)
    assert there.run("doctor")[:2] == (0, "p4lab got: <doctor>\n")
    assert there.run("doctor") == (0, "p4lab got: <doctor>\n", "")


def test_packages_that_do_not_come_are_said_and_tried_again(machine: Machine) -> None:
    (machine.root / "offline").touch()
    status, out, err = machine.run()
    assert (status, out) == (2, "")
    assert "Python packages" in err and "no route to the index" in err
    (machine.root / "offline").unlink()
    machine.work()
    assert machine.run()[0] == 0
    assert machine.work() == ALL


@pytest.mark.parametrize("version", [None, "1.94.1", "0.99.0"])
def test_without_rust_it_says_what_to_do(machine: Machine, version: str | None) -> None:
    if version is None:
        (machine.bin / "cargo").unlink()
    else:
        machine.add("cargo", f"#!/bin/sh\necho 'cargo {version}'\n")
    status, _, err = machine.run()
    assert status == 2
    assert "Rust 1.95 or newer (cargo) is missing" in err and "rustup" in err


def test_what_apt_may_install_is_installed(machine: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root installs packages without being asked for a password")
    python = machine.bin / "python3"
    python.rename(machine.bin / "later")
    machine.add(
        "apt-get",
        '#!/bin/sh\necho "apt-get $*" >>"$CALLS"\n'
        f'[ "$1" = update ] || cp "{machine.bin}/later" "{python}"\n',
    )
    assert machine.run()[0] == 0
    assert machine.work() == ["apt", "apt", *ALL]


def test_an_installation_that_changes_nothing_ends(machine: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root installs packages without being asked for a password")
    (machine.bin / "python3").unlink()
    machine.add("apt-get", "#!/bin/sh\nexit 0\n")
    status, _, err = machine.run()
    assert status == 2 and "Python 3.10 or newer is still missing" in err


def test_as_root_nothing_of_roots_stays_in_a_users_folder(machine: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can act for another user")
    nobody = 65534
    for parent in (machine.root.parent, *list(machine.root.parents)[1:3]):
        parent.chmod(0o755 if parent != machine.root.parent else 0o777)
    for path in (machine.root, *machine.root.rglob("*")):
        os.chown(path, nobody, nobody)
    status, _, err = machine.run()
    assert status == 0, err
    owners = {path.stat().st_uid for path in machine.root.rglob("*")}
    assert owners == {nobody}


@pytest.fixture
def wheelhouse(machine: Machine) -> Path:
    """A wheelhouse beside the script, for this machine and these sources."""
    machine.run()
    folder = machine.root / "wheelhouse"
    folder.mkdir()
    (folder / "made-for").write_text("Python 3.12, x86_64\n")
    shutil.copy(machine.root / ".lab" / "engine.stamp", folder / "engine.digest")
    for name in ("requirements.lock", "requirements-class.lock"):
        shutil.copy(machine.root / name, folder)
    shutil.rmtree(machine.root / ".venv")
    shutil.rmtree(machine.root / ".lab")
    (machine.root / "src" / "p4lab" / "_engine.abi3.so").unlink()
    machine.work()
    return folder


def test_a_wheelhouse_takes_the_place_of_network_and_rust(
    machine: Machine, wheelhouse: Path
) -> None:
    (machine.bin / "cargo").unlink()
    status, _, err = machine.run("doctor")
    assert status == 0, err
    calls = machine.calls.read_text()
    assert calls.count("-m pip") == calls.count("--no-index --find-links ROOT/wheelhouse") == 2
    assert "maturin" not in calls and "engine (from the wheelhouse)" in err
    engine = machine.root / "src" / "p4lab" / "_engine.abi3.so"
    assert engine.read_text() == "ready-made\n"
    site = machine.root / ".venv" / "site"
    assert (site / "p4lab.pth").read_text() == f"{machine.root}/src\n", "there is one p4lab only"
    assert not (site / "p4lab").exists()


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("made-for", "Python 3.10, x86_64\n", "is for Python 3.10, x86_64; here is Python 3.12"),
        ("requirements.lock", "other==3\n", "has other versions than this requirements.lock"),
        (
            "requirements-class.lock",
            "other==3\n",
            "other versions than this requirements-class.lock",
        ),
        ("made-for", None, "is not a wheelhouse"),
    ],
)
def test_a_wheelhouse_that_does_not_fit_is_refused(
    machine: Machine, wheelhouse: Path, file: str, text: str | None, sentence: str
) -> None:
    (wheelhouse / file).unlink()
    if text is not None:
        (wheelhouse / file).write_text(text)
    status, _, err = machine.run("doctor")
    assert status == 2 and sentence in err and "provision/wheelhouse" in err
    assert machine.work() == []


def test_an_engine_of_other_sources_is_built_and_said(machine: Machine, wheelhouse: Path) -> None:
    (wheelhouse / "engine.digest").write_text("of another day\n")
    status, _, err = machine.run("doctor")
    assert status == 0 and "is of other sources" in err
    assert machine.work() == [*ALL[:-1], "engine"]


def test_users_share_a_folder_that_they_cannot_write(machine: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can act for another user")
    for parent in (machine.root.parent, *list(machine.root.parents)[1:3]):
        parent.chmod(0o755)
    machine.run("doctor")
    machine.work()

    def as_nobody() -> tuple[int, str, str]:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        env = {"PATH": str(machine.bin), "ROOT": str(machine.root), "CALLS": "/dev/null"}
        done = subprocess.run(
            [*command, str(machine.bin / "bash"), str(machine.root / "lab"), "doctor"],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    assert as_nobody() == (0, "p4lab got: <doctor>\n", "")
    (machine.root / "crates" / "p4-py" / "lib.rs").write_text("// changed\n")
    status, _, err = as_nobody()
    assert status == 2 and "Its owner has to start ./lab in it once." in err
