"""What the system refuses is one sentence and status 2, whichever verb it happens to."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab


def run(*arguments: str | bytes, stdout: object = subprocess.PIPE, **env: str):
    """The finished process, in an environment of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "p4lab", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **env},
        timeout=300,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize(
    "arguments",
    [[], ["--help"], ["explain", "E0305"], ["run", "01-bier", "--packets", "2"]],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_said_once(arguments: list[str], unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = run(*arguments, stdout=full, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 2
    assert done.stderr.decode() == "p4lab: the output: No space left on device.\n"


def test_a_closed_output_is_no_error(tmp_path: Path) -> None:
    command = ["bash", "-c", 'exec "$@" >&-', "bash", sys.executable, "-m", "p4lab"]
    done = subprocess.run([*command, "explain", "E0305"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_capture_that_finds_no_room_names_its_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [*(sys.executable, "-m", "p4lab", "run", "01-bier", "--packets", "2"), "--pcap", tmp_path],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, f"p4lab: {tmp_path}: File too large.\n")


def test_who_reads_no_further_hears_nothing_of_it() -> None:
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as closed:
        done = run("explain", "E0305", stdout=closed)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_a_terminal_without_unicode_gets_what_it_can_show(env: dict[str, str]) -> None:
    for arguments in (["run", "01-bier", "--packets", "2"], ["fit", str(ROOT / "p4/bier/tna.p4")]):
        done = run(*arguments, **env)
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii() or env["PYTHONIOENCODING"] == "latin-1"


def test_a_narrow_terminal_loses_no_number() -> None:
    arguments = ["run", "01-bier", "--packets", "1234", "--topology", "paper"]
    shown = run(*arguments, COLUMNS="30").stdout.decode()
    assert "…" not in shown and "received" in shown and shown.count("1234") >= 8


def test_a_formatted_program_is_utf8_on_every_terminal(tmp_path: Path) -> None:
    """Else `p4lab fmt --stdout a.p4 > b.p4` would lose an author's comments."""
    program = tmp_path / "a.p4"
    program.write_text("// für Ω\nconst bit<8> A = 1;\n", encoding="utf-8")
    done = run("fmt", "--stdout", str(program), PYTHONIOENCODING="ascii")
    assert done.stdout == program.read_bytes()


def test_an_argument_that_is_no_text_is_named() -> None:
    done = run("explain", b"E\xff")
    assert done.returncode == 2 and b"'E\\udcff' is not text" in done.stderr


# {file} is a file where a folder is wanted, {bytes} one that is not text.
BAD = [
    (["run", "01-bier", "--packets", "10000001"], "at most 10,000,000 packets"),
    (["run", "01-bier", "--topology", "rign"], "did you mean 'ring'?"),
    (["run", "01-bier", "--down", "r1-r99"], "there is r1-r2, r1-r6"),
    (["run", "01-bier", "--pcap", "{file}"], "give another folder"),
    (["run", "{folder}"], "p4lab run 01-bier DIR"),
    (["start", "01-bier", "{file}"], "Not a directory."),
    (["notebook", "--token-file", "{folder}"], "Is a directory."),
    (["notebook", "--token-file", "{bytes}"], "is not a token"),
    (["notebook", "--listen", "203.0.113.7"], "give an address of this machine"),
    (["notebook", "--listen", "no.such.name.invalid"], "give an address of this machine"),
    (["grade", "01-bier", "{class}", "--seed", "1", "--out", "{file}/x"], "give another folder"),
    (["experiment", "restoration", "--out", "{file}"], "give another folder"),
    (["experiment", "recirculation", "--out", "{file}/x"], "give another folder"),
    (["experiment", "provisioning", "--out", "{file}"], "give another folder"),
    (["experiment", "restoration", "--ip-ms", "nan"], "--ip-ms nan: give milliseconds from 0"),
    (["experiment", "restoration", "--bier-ms", "inf"], "--bier-ms inf: give milliseconds"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD)
def test_bad_input_is_said_before_anything_is_done(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    places = {name: tmp_path / name for name in ("file", "bytes", "folder", "class")}
    places["file"].write_text("")
    places["bytes"].write_bytes(bytes(range(128, 256)))
    places["folder"].mkdir()
    (places["class"] / "ada").mkdir(parents=True)
    done = p4lab(*[word.format(**places) for word in arguments], timeout=60)
    told = " ".join(done.stderr.split())
    assert (done.returncode, done.stdout) == (2, "") and sentence in told, done.stderr
    assert "Errno" not in told
