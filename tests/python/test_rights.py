"""Linux hosts without root: a user gets what root gets, and otherwise one sentence.

If these fail, a lab with real hosts needs a machine of one's own, or a run that was killed leaves
programs behind on a machine that others use.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cli_runner import ROOT, p4lab
from little_exercise import write
from test_exercise import START
from unprivileged import P4LAB, as_user, environment, needs_user_namespace, run_as_user

TOOLS = ("mnexec", "ifconfig", "ip", "ethtool")
absent = [tool for tool in TOOLS if shutil.which(tool) is None]
needs_tools = pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="there is no root to compare with")
IN_NAMESPACE = "Linux hosts in a user namespace, without root\n"
REFUSING = ROOT / "tests/python/refusing.py"

LABS = [
    ("01-bier", "--topology", "rfc8279"),
    ("02-frr",),
    ("03-protect",),
    ("04-msr6",),
]


def verdict(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """A report without what depends on time: switches also count their queries, and which of two
    paths brings a packet first is left to the kernel."""
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    del found["counters"]
    for connection in found.get("protected", []):
        for kind in ("counted", "reference"):
            counts = [path.pop(kind) for path in connection["paths"]]
            connection[kind] = {name: sum(one[name] for one in counts) for name in counts[0]}
    return found


@needs_tools
@needs_user_namespace
@needs_root
@pytest.mark.beside(seconds=12, group="rights")
@pytest.mark.parametrize("words", LABS, ids=lambda words: words[0])
def test_a_user_sees_what_root_sees(words: tuple[str, ...]) -> None:
    wanted = (*words, "--net", "linux", "--packets", "20", "--json")
    with ThreadPoolExecutor(1) as beside:
        later = beside.submit(p4lab, "run", *wanted)
        user, root = run_as_user(*P4LAB, "run", *wanted), later.result()
    assert verdict(user) == verdict(root)
    assert user.stderr == IN_NAMESPACE
    assert root.stderr == "Linux hosts, made as root\n"


@pytest.fixture
def exercise(tmp_path: Path) -> Path:
    """A folder in the form of p4lang/tutorials that everybody may read."""
    folder = tmp_path / "exercise"
    folder.mkdir()
    write(folder)
    return folder


@needs_tools
@needs_user_namespace
@pytest.mark.skipif(shutil.which("ping") is None, reason="not installed: ping")
@pytest.mark.beside(seconds=4, group="rights")
def test_an_exercise_runs_and_is_reached_from_another_terminal(exercise: Path) -> None:
    """Its hosts answer as root's do, its shells open with no sudo, and controllers find the
    switches at the machine's own address, which is not in the user namespace."""
    grpc, proto = pytest.importorskip("grpc"), pytest.importorskip("finsy.proto")
    command = as_user(*P4LAB, "run", exercise, "--cli", see=(exercise,))
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment(), cwd=ROOT
    ) as running:
        assert running.stdin is not None and running.stdout is not None and running.stderr
        told: list[str] = []
        while not told or told[-1] not in (START, ""):
            told.append(running.stdout.readline().strip("\n"))
            told = told if told[-1].strip() or running.poll() is not None else told[:-1]
        if START not in told:
            pytest.fail(running.stderr.read())
        assert "4 of 6 pings were answered" in told
        stub = proto.p4r_grpc.P4RuntimeStub(grpc.insecure_channel("127.0.0.1:50052"))
        request = proto.p4r.ReadRequest(device_id=1)
        request.entities.add().table_entry.table_id = 0
        read = [entity for answer in stub.Read(request, timeout=20) for entity in answer.entities]
        assert len(read) == 2, "the entries of s2"
        running.stdin.write("h1 ping -c 1 h2\nxterm h1\n")
        running.stdin.flush()
        shell = next(line.split("#")[0] for line in running.stdout if "nsenter" in line)
        inside = subprocess.run(
            as_user(*shell.replace(" bash", " ip -brief address").split()),
            capture_output=True,
            text=True,
            check=False,
        )
        assert "10.0.1.1/24" in inside.stdout, inside.stderr
        running.stdin.close()
        assert IN_NAMESPACE in running.stderr.read()
    assert running.returncode == 0


@needs_tools
@needs_user_namespace
@pytest.mark.beside(seconds=3, group="rights")
def test_a_program_in_a_host_has_its_own_interfaces() -> None:
    """A subscriber's PPP runs in a host: it needs a TUN interface and raw frames."""
    done = run_as_user(sys.executable, ROOT / "tests/python/host_program.py", "once")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["tun", "packet", "0"]


def marked(mark: str) -> list[str]:
    """Programs whose environment has this in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it has just ended
    return found


@needs_tools
@needs_user_namespace
@pytest.mark.beside(seconds=4, group="rights")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_killed_leaves_nothing(number: signal.Signals) -> None:
    """No shell, agent or program of a host, and so none of the namespaces that they hold."""
    mark = f"P4LAB_MARK={os.getpid()}-{number}"
    name, value = mark.split("=")
    process = subprocess.Popen(
        as_user(sys.executable, ROOT / "tests/python/host_program.py", "stay"),
        env={**environment(), name: value},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    there = marked(mark)
    for word in ("p4lab.hosts", "mininet:", "sleep"):
        assert any(word in command for command in there), there
    process.send_signal(number)
    process.wait(timeout=30)
    process.stdout.close()
    deadline = time.monotonic() + 10
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert marked(mark) == []


NO_NAMESPACES = """echo 0 >/proc/sys/user/max_user_namespaces
exec setpriv --bounding-set=-all --inh-caps=-all "$@" """


@needs_user_namespace
def test_a_kernel_without_user_namespaces_is_named_with_its_remedy(exercise: Path) -> None:
    nested = ["unshare", "--user", "--map-root-user", "sh", "-c", NO_NAMESPACES, "sh"]
    reason = "users get none here (sysctl user.max_user_namespaces is 0)"
    remedy = "allow it with `sudo sysctl user.max_user_namespaces=10000`"
    for words in (["run", "01-bier", "--net", "linux"], ["run", exercise], ["doctor"]):
        done = run_as_user(*nested, *P4LAB, *words, see=(exercise,))
        if words == ["doctor"]:
            lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
            at = lines.index("optional user namespace sysctl user.max_user_namespaces is 0")
            assert remedy in lines[at + 1]
            assert any(line.startswith("OK virtual time") for line in lines)
            continue
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("p4lab: ") and done.stderr.count("\n") == 1
        assert reason in done.stderr and remedy in done.stderr
        assert ("its programs compile" in done.stderr) == (exercise in words)


@needs_user_namespace
def test_a_container_that_refuses_is_named_with_its_remedy() -> None:
    refused = [sys.executable, REFUSING, *P4LAB, "run", "01-bier", "--net", "linux"]
    done = run_as_user(*refused)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a filter of system calls refuses it, as in a container" in done.stderr
    assert "start it with sudo, or start the container with --privileged." in done.stderr


@needs_user_namespace
@needs_root
def test_ubuntus_apparmor_is_named_with_its_remedy() -> None:
    """The kernel here has no such setting: a file stands in its place, and a filter refuses."""
    knob = "kernel.apparmor_restrict_unprivileged_userns"
    script = f"mount -t tmpfs none /proc/sys/kernel; echo 1 >/proc/sys/{knob.replace('.', '/')}\n"
    refused = [sys.executable, REFUSING, *P4LAB, "run", "01-bier", "--net", "linux"]
    command = ["unshare", "--mount", "sh", "-c", script + '"$@"', "sh", *as_user(*refused)]
    done = subprocess.run(
        command, env=environment(), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"(sysctl {knob} is 1)" in done.stderr
    assert f"start it with sudo, or allow it with `sudo sysctl {knob}=0`." in done.stderr
