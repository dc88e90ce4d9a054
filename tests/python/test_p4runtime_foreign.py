"""Clients of others, unchanged: p4runtime-shell and a PTF test, in an environment of their own
(they want old packages). If these fail, what courses already have does not work here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import p4runtime_switch as lab

# The generated code of p4runtime-shell's p4runtime package does not import with a newer protobuf.
PACKAGES = ("p4runtime-shell==0.0.6", "p4runtime==1.4.1", "protobuf==3.20.3", "ptf==0.12.0")
HERE = Path(__file__).parent
SECONDS = 300


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of an environment with these packages, made once and kept."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    home = lab.ROOT / ".lab" / f"foreign-{version}"
    interpreter = home / "bin" / "python"
    stamp = home / "packages"
    if stamp.is_file() and stamp.read_text() == " ".join(PACKAGES):
        return interpreter
    try:
        venv.create(home, clear=True)
        pip = [sys.executable, "-m", "pip", "--python", interpreter]
        # Most of what is installed is never imported.
        command = [*pip, "install", "--quiet", "--no-compile", *PACKAGES]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"no environment for foreign clients: {type(error).__name__}")
    if done.returncode != 0:
        pytest.skip("no environment for foreign clients: pip could not install them")
    stamp.write_text(" ".join(PACKAGES))
    return interpreter


def environment() -> dict[str, str]:
    return {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}


def test_p4runtime_shell(python: Path, tmp_path: Path) -> None:
    device_config = tmp_path / "everything.json"
    device_config.write_text('{"program": "everything.p4"}')
    with lab.serving() as address:
        done = subprocess.run(
            [python, HERE / "foreign_shell.py", address, lab.p4info(), device_config],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all done" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="interfaces need root")
@pytest.mark.skipif(shutil.which("ip") is None, reason="not installed: ip")
def test_ptf(python: Path, tmp_path: Path) -> None:
    with lab.veth_pairs(2) as pairs:
        ports = [word for at, (near, _) in enumerate(pairs, 1) for word in ("-i", f"{at}@{near}")]
        address = lab.free_address()
        with lab.switch_process(*ports, str(lab.PROGRAM), "--grpc-server-addr", address):
            interfaces = [
                word for at, (_, far) in enumerate(pairs, 1) for word in ("-i", f"{at}@{far}")
            ]
            parameters = f"grpcaddr='{address}';p4info='{lab.p4info()}'"
            done = subprocess.run(
                [
                    *(python, python.parent / "ptf", "--test-dir", HERE / "ptf_tests"),
                    *(*interfaces, "--test-params", parameters, "--disable-ipv6"),
                ],
                cwd=tmp_path,
                env=environment(),
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ForwardingTest" in done.stdout + done.stderr
