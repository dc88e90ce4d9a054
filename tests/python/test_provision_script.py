"""The provisioner on a machine of stand-ins: what it says, and above all when it fails.

It runs as root of a mount namespace in which the folders that it writes are empty ones of the test;
package managers and the network are stand-ins that write down how they were called. The real thing,
in a clean Debian, is tests/provision.sh.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What the provisioner writes outside of the lab's folder.
WRITES = (
    "/var/log",
    "/usr/local/bin",
    "/etc/systemd/system",
    "/etc/apt/sources.list.d",
    "/usr/share/keyrings",
)
STAND_INS = {
    "apt-get": 'echo "apt-get $*" >>"$CALLS"\n'
    '[ -z "$APT_SAYS" ] || { echo "$APT_SAYS"; exit 100; }',
    "apt-cache": 'case "$2" in cargo-web) echo "  Candidate: $CARGO_WEB" ;; '
    'rustup) echo "  Candidate: 1.26.0" ;; esac',
    "curl": 'echo "curl $*" >>"$CALLS"; case "$*" in *"$ARCHIVE"*) echo key ;; *) exit 22 ;; esac',
    "gpg": 'while [ "$1" != -o ]; do shift; done; read -r key && echo "$key" >"$2"',
    "systemctl": 'echo "systemctl $*" >>"$CALLS"',
    # The test's user is root of the namespace alone, who cannot become another.
    "runuser": 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
    "chown": ":",
    "cargo": "exit 1",
    "rustup": "exit 1",
}
LAB = """#!/bin/sh
echo "lab $*" >>"$CALLS"
case "$1" in
--help) [ -z "$LAB_SAYS" ] || { echo "$LAB_SAYS" >&2; exit 2; } ;;
doctor) echo "OK        system" ; exit "${DOCTOR-0}" ;;
esac
"""


@dataclass
class Machine:
    """A folder with p4lab, and folders in place of those of the system."""

    home: Path
    root: Path
    calls: Path
    command: list[str]

    def run(self, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, "bash", *options],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={
                "PATH": f"{self.home / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin",
                "CALLS": str(self.calls),
                "APT_SAYS": "",
                "LAB_SAYS": "",
                "CARGO_WEB": "(none)",
                "ARCHIVE": "no such archive",
                **env,
            },
        )

    def called(self) -> str:
        return self.calls.read_text() if self.calls.exists() else ""

    def wrote(self, path: str) -> str:
        file = self.root / path.lstrip("/")
        return file.read_text() if file.exists() else ""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for needed in ("apt-get", "dpkg", "unshare"):
        if shutil.which(needed) is None:
            pytest.skip(f"no {needed}: this is no Debian or Ubuntu")
    source, root, binaries = tmp_path / "source", tmp_path / "root", tmp_path / "bin"
    (source / "provision").mkdir(parents=True)
    binaries.mkdir()
    shutil.copy(ROOT / "provision/provision.sh", source / "provision")
    (source / "lab").write_text(LAB)
    (source / "lab").chmod(0o755)
    for name, body in STAND_INS.items():
        (binaries / name).write_text(f"#!/bin/sh\n{body}\n")
        (binaries / name).chmod(0o755)
    in_namespace = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*in_namespace, "true"], check=False).returncode:
        pytest.skip("this machine allows no mount namespace")
    home = subprocess.run(["getent", "passwd", "root"], capture_output=True, text=True, check=True)
    folders = [*WRITES, home.stdout.split(":")[5]]  # a token goes to root's home
    script = "set -e\n"
    for folder in folders:
        if not Path(folder).is_dir():
            pytest.skip(f"this system has no {folder}")
        (root / folder.lstrip("/")).mkdir(parents=True)
        script += f"mount --bind '{root}{folder}' '{folder}'\n"
    provisioner = f"'{source}/provision/provision.sh' --user root --into '{tmp_path}/into'"
    script += f'exec {provisioner} "$@"\n'
    return Machine(tmp_path, root, tmp_path / "calls", [*in_namespace, "bash", "-c", script])


def test_each_step_is_said_and_the_end_says_where_the_token_is(machine: Machine) -> None:
    done = machine.run("--seen-as", "127.0.0.1:9999", "--listen", "0.0.0.0")
    assert done.returncode == 0, done.stdout + done.stderr
    steps = [line.split("]")[0][1:] for line in done.stdout.splitlines() if line.startswith("[")]
    assert steps == [f"{number}/7" for number in range(1, 8)]
    assert "token" in done.stdout.split("ready:")[1]
    unit = machine.wrote("/etc/systemd/system/p4lab.service")
    assert "--listen 0.0.0.0 --port 8888 --token-file" in unit
    token = next(machine.root.rglob("token")).read_text()
    assert len(token) == 32 and token not in unit, "whoever lists processes must not see it"
    assert machine.wrote("/usr/local/bin/p4lab").endswith(f'exec "{machine.home}/into/lab" "$@"\n')


def test_a_class_is_made_of_its_roster(machine: Machine) -> None:
    roster = machine.home / "roster.csv"
    roster.write_text("id\nada\n")
    into = str(machine.home / "into")
    done = machine.run("--into", into, "--class", str(roster), "--", "--lab", "02-frr")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "node-configurable-http-proxy" in machine.called()
    assert f"lab class make {roster} --listen 127.0.0.1 --lab 02-frr" in machine.called()
    assert not machine.wrote("/etc/systemd/system/p4lab.service"), "the hub starts JupyterLabs"
    missing = machine.run("--class", "/nowhere.csv")
    assert missing.returncode == 2 and "there is no such roster" in missing.stderr
    stray = machine.run("--", "--lab", "02-frr")
    assert stray.returncode == 2 and "is for --class" in stray.stderr


def test_an_admins_umask_closes_the_lab_to_nobody(machine: Machine) -> None:
    source = machine.home / "source"
    (source / "labs").mkdir()
    for path in (source, source / "lab", source / "provision", source / "labs"):
        path.chmod(0o700)  # a checkout that was made with that umask, too
    machine.command[-1] = f"umask 077\n{machine.command[-1]}"
    assert machine.run().returncode == 0
    into = machine.home / "into"
    for path in (into, into / "lab", into / "labs"):
        assert path.stat().st_mode & 0o777 == 0o755, path


def test_run_again_it_keeps_the_lab_and_the_token(machine: Machine) -> None:
    assert machine.run().returncode == 0
    (machine.home / "into" / "mine.p4").write_text("// my evening")
    token = next(machine.root.rglob("token"))
    before = token.read_text()
    again = machine.run()
    assert again.returncode == 0 and "left as it is" in again.stdout
    assert (machine.home / "into" / "mine.p4").read_text() == "// my evening"
    assert token.read_text() == before and token.stat().st_mode & 0o777 == 0o600


def test_without_a_network_the_first_step_names_the_remedy(machine: Machine) -> None:
    done = machine.run(APT_SAYS="E: Could not resolve 'deb.example'")
    assert done.returncode != 0
    assert "step 1 (packages of" in done.stderr
    assert "Could not resolve 'deb.example'" in done.stderr
    assert "http_proxy" in done.stderr and "start the same command again" in done.stderr
    assert "[2/" not in done.stdout, "nothing runs after a failure"


def test_a_failed_set_up_speaks_for_itself(machine: Machine) -> None:
    done = machine.run(LAB_SAYS="lab: pip could not reach its index")
    assert done.returncode != 0
    assert "pip could not reach its index" in done.stderr
    assert "p4lab's own set-up" in done.stderr and "http_proxy" in done.stderr


def test_what_the_doctor_calls_broken_is_a_failure(machine: Machine) -> None:
    done = machine.run(DOCTOR="1")
    assert done.returncode != 0 and "p4lab doctor" in done.stderr and "ready" not in done.stdout


WITHOUT_BMV2 = pytest.mark.skipif(
    shutil.which("simple_switch_grpc", path="/usr/sbin:/usr/bin:/sbin:/bin") is not None,
    reason="p4lang's packages are installed here, so they are not looked for",
)


@WITHOUT_BMV2
def test_p4lang_packages_are_taken_where_an_archive_has_them(machine: Machine) -> None:
    done = machine.run(ARCHIVE="repositories/home:/p4lang/")
    assert done.returncode == 0
    listed = machine.wrote("/etc/apt/sources.list.d/p4lang.list")
    assert "repositories/home:/p4lang/" in listed and "signed-by=" in listed
    assert "p4lang-p4c p4lang-bmv2" in machine.called()
    assert "--target bmv2" not in done.stdout


@WITHOUT_BMV2
def test_without_p4lang_packages_a_note_says_so_and_all_goes_on(machine: Machine) -> None:
    done = machine.run()
    assert done.returncode == 0
    note = done.stdout.split("ready:")[1]
    assert "no packages that install" in note and "--target bmv2" in note
    assert machine.wrote("/etc/apt/sources.list.d/p4lang.list") == ""
    asked = [line for line in machine.called().splitlines() if line.startswith("curl")]
    assert any("p4lang:/latest" in line for line in asked) and len(asked) == 2
    assert "p4c" not in machine.run("--no-p4lang").stdout


@pytest.mark.parametrize(
    ("candidate", "expected", "not_expected"),
    [
        ("1.96.0+dfsg1-1~deb12u2", "cargo-web rustc-web", " rustup"),
        ("1.85.0+dfsg3-1~deb12u3", " rustup", "cargo-web"),
        ("(none)", " rustup", "cargo-web"),
    ],
)
def test_rust_comes_from_where_it_is_new_enough(
    machine: Machine, candidate: str, expected: str, not_expected: str
) -> None:
    assert machine.run(CARGO_WEB=candidate).returncode == 0
    assert expected in machine.called() and not_expected not in machine.called()


def test_a_wheelhouse_needs_no_rust(machine: Machine) -> None:
    wheelhouse = machine.home / "source" / "wheelhouse"
    wheelhouse.mkdir()
    (wheelhouse / "engine.digest").write_text("abc\n")
    assert machine.run().returncode == 0
    assert "rust" not in machine.called().replace("p4lab", "")
    assert (machine.home / "into" / "wheelhouse" / "engine.digest").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--desktop"], "unknown option --desktop"),
        (["--user"], "--user wants a name"),
        (["--user", "nobody-of-that-name"], "there is no user 'nobody-of-that-name'"),
    ],
)
def test_what_it_does_not_know_it_says(machine: Machine, options: list[str], sentence: str) -> None:
    done = machine.run(*options)
    assert done.returncode != 0 and sentence in done.stderr
    assert machine.called() == ""


def test_uploaded_without_its_folder_it_refuses(tmp_path: Path, machine: Machine) -> None:
    (machine.home / "source" / "lab").unlink()
    done = machine.run()
    assert done.returncode == 2 and "started where I lie" in done.stderr
