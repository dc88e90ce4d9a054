"""`./lab` and `p4lab notebook`: a student sees the notebook, a script is not kept waiting."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
import typer

from p4lab.cli import notebook_verb, welcome
from p4lab.course.labs import LabError
from p4lab.notebook import copies, server
from p4lab.paths import ROOT

SECONDS = 120


def test_without_a_terminal_the_first_screen_is_all() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "p4lab"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert done.stdout == welcome.screen()


def test_in_a_terminal_the_notebook_is_served_until_ctrl_c(tmp_path: Path) -> None:
    """The address that is shown answers, with its token only; Ctrl-C leaves nothing running."""
    (tmp_path / "p4lab").mkdir()
    program = (
        "import sys; from pathlib import Path; from p4lab.course import home;"
        "from p4lab.notebook import server;"
        f"home.work_folder = server.work_folder = lambda: Path({str(tmp_path / 'p4lab')!r});"
        "from p4lab.cli import welcome; welcome.show()"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["PYTHONPATH"] = str(ROOT / "src")
        os.environ.pop("DISPLAY", None)
        os.environ.pop("WAYLAND_DISPLAY", None)
        # As in a terminal of one's own; a shell's background jobs ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-c", program])
    try:
        said = read_until(terminal, r"(http://\S+)\?token=(\S+)\r\n[\s\S]*open it there")
        found = re.search(r"(http://127\.0\.0\.1:\d+)(/lab/\S+)\?token=(\S+)", said)
        assert found, said
        url, path, token = found.groups()
        assert path.endswith("/p4lab-01-bier"), "a workspace of the lab's own"
        assert (tmp_path / "p4lab/01-bier/bier/bier.p4").is_file(), "the editor shows it"
        with urllib.request.urlopen(f"{url}/api/contents?token={token}", timeout=30) as answer:
            assert b"01-bier.ipynb" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{url}/api/contents", timeout=30)
        os.write(terminal, b"\x03")
        read_until(terminal, r"\Z(?!)")
        assert ended(pid) == 0
        with pytest.raises(OSError):
            urllib.request.urlopen(f"{url}/api", timeout=5)
    finally:
        os.close(terminal)
        if subprocess.run(["ps", "-p", str(pid)], capture_output=True).returncode == 0:
            os.kill(pid, signal.SIGTERM)


# What a JupyterLab is to the verb: it answers anybody at /api, and at the rest who has its token.
STAND_IN = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.path.startswith("/api?") or self.path.endswith("token=" + sys.argv[2])
        self.send_response(200 if known else 403)
        self.end_headers()
HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


class StandIn(server.Server):
    def start(self, log: Path, **environment: str) -> subprocess.Popen[bytes]:
        with log.open("wb") as file:
            command = [sys.executable, "-c", STAND_IN, str(self.port), self.token]
            return subprocess.Popen(command, stdout=file, stderr=file)


def test_who_starts_at_the_same_time_as_another_gets_the_next_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The port was free when it was chosen, and then the other was faster."""
    port = server.free_port()
    others = StandIn(tmp_path, tmp_path / "a.ipynb", port, "theirs")
    mine = StandIn(tmp_path, tmp_path / "a.ipynb", port, "mine")
    other = others.start(tmp_path / "other.log")
    shown: list[server.Server] = []
    monkeypatch.setattr(notebook_verb, "student_server", lambda *_: mine)
    monkeypatch.setattr(notebook_verb, "work_folder", lambda: tmp_path)

    def show(_: str, found: server.Server, __: bool) -> None:
        shown.append(found)
        raise KeyboardInterrupt

    monkeypatch.setattr(notebook_verb, "_tell", show)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert others.await_ready(other)
        notebook_verb.notebook("01-bier")
        assert [one.token for one in shown] == ["mine"] and shown[0].port > port
        with pytest.raises(typer.Exit):
            notebook_verb.notebook("01-bier", port=port)
        assert len(shown) == 1, "a port that was asked for is not changed"
    finally:
        signal.signal(signal.SIGTERM, before)
        other.kill()
        other.wait()


def ended(pid: int) -> int:
    """The exit status of a process that is about to end."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    raise AssertionError("it does not end")


def read_until(terminal: int, pattern: str) -> str:
    """What a program wrote up to a pattern, or to its end."""
    text = ""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and not re.search(pattern, text):
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not data:
            break
        text += data.decode(errors="replace")
    return text


def test_a_jupyterlab_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else `p4lab notebook` hangs after its last Ctrl-C, and the terminal with it."""
    monkeypatch.setattr(server, "END_SECONDS", 0.2)
    deaf = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline()
    server.end(process)
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL


def test_a_students_notebook_is_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "work_folder", lambda: tmp_path / "mine")
    copy, _ = server.own_notebook("01-bier")
    copy.write_text("my work")
    assert server.own_notebook("01-bier") == (copy, "")
    assert copy.read_text() == "my work"
    with pytest.raises(LabError, match="no notebook of a lab '99-nothing'; choose from 00-p4"):
        server.own_notebook("99-nothing")


def notebook_of(*cells: str, outputs: list[str] | None = None) -> str:
    made = [{"cell_type": "code", "source": cell, "outputs": outputs or []} for cell in cells]
    return json.dumps({"cells": made})


def test_a_newer_notebook_gets_to_who_has_only_run_the_older(tmp_path: Path) -> None:
    original = tmp_path / "01.ipynb"
    original.write_text(notebook_of("a"))
    copy, _ = copies.own(original, tmp_path / "mine")
    copy.write_text(notebook_of("a", outputs=["ran"]))
    original.write_text(notebook_of("a", "b"))
    assert "is 01.ipynb now" in copies.own(original, tmp_path / "mine")[1]
    assert copy.read_text() == original.read_text()
    assert copies.own(original, tmp_path / "mine")[1] == ""


def test_a_newer_notebook_is_laid_beside_one_that_was_written_in(tmp_path: Path) -> None:
    original = tmp_path / "01.ipynb"
    original.write_text(notebook_of("a"))
    copy, _ = copies.own(original, tmp_path / "mine")
    copy.write_text(notebook_of("a", "mine"))
    original.write_text(notebook_of("a", "b"))
    said = copies.own(original, tmp_path / "mine")[1]
    assert said == "The lab has a newer notebook: 01.new.ipynb. Yours stays as it is."
    assert copy.read_text() == notebook_of("a", "mine")
    assert (tmp_path / "mine" / "01.new.ipynb").read_text() == original.read_text()
    assert copies.own(original, tmp_path / "mine")[1] == "", "it is said once"


def test_a_wrong_lab_is_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "p4lab", "notebook", "99-nothing"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode != 0
    assert "there is no notebook of a lab '99-nothing'" in done.stderr
    assert "Traceback" not in done.stderr
