"""A line that is forgotten lets packets multiply without end. Who wrote that has to see it, and
quickly: with the memory of the machine gone, nobody sees anything.

Each test runs in a process that may have little memory, and fails there if something grows.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from p4lab.course.home import HERE
from p4lab.notebook import open_lab
from p4lab.paths import ROOT
from p4lab.tracing import FIRST_PASSES

pytestmark = pytest.mark.beside(seconds=20)

MEMORY = 1_200_000  # KB of addresses: an interpreter with all of p4lab has half of that
SECONDS = 60  # on a busy machine; alone it takes two or three

AGAIN = ("te.p4", "decision.again = carried.child < n;", "decision.again = true;")
CHILD = ("te.p4", "carried.child = carried.child + 1;", "")
BITS = ("rlb.p4", "carried.bits = carried.bits & ~own;", "")
TRACE = ("-m", "p4lab", "trace", "01-bier", "--topology", "paper")
LOOP = "r1 lets a packet go around too often: very likely frames run in a loop."


def looping(folder: Path, file: str, old: str, new: str) -> Path:
    """A folder with the solution of lab 04, in which a piece is another."""
    shutil.copytree(HERE.sources / "msr6", folder / "msr6")
    place = folder / "msr6" / file
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new))
    return folder


def limited(*arguments: object, given: str = "", status: int = 0) -> str:
    """What Python says with these arguments, in little memory, before it ends with this status;
    `given` is what it can read."""
    done = subprocess.run(
        ["bash", "-c", f'ulimit -v {MEMORY}; exec "$@"', "-", sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "COLUMNS": "200"},
        input=given,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize(
    ("mistake", "encoding"), [(AGAIN, "te"), (CHILD, "te"), (BITS, "rlb")], ids=str
)
def test_a_trace_of_a_loop_shows_its_first_passes(
    tmp_path: Path, mistake: tuple[str, str, str], encoding: str
) -> None:
    folder = looping(tmp_path, *mistake)
    said = limited("-m", "p4lab", "trace", "04-msr6", folder, "--encoding", encoding, status=1)
    assert said.startswith(f"{LOOP}\n")
    assert f"pass {FIRST_PASSES})" in said and f"pass {FIRST_PASSES + 1})" not in said
    assert re.search(r"and so on: 2,0\d\d more packets", said)
    assert len(said.splitlines()) < 3000


def test_a_trace_says_of_a_packet_that_one_switch_gave_up_that_it_runs_in_a_loop(
    tmp_path: Path,
) -> None:
    """The rest of the network goes on then, and each host gets its copy."""
    for name in ("bier", "include"):
        shutil.copytree(HERE.sources / name, tmp_path / name)
    program = tmp_path / "bier" / "bier.p4"
    own = "decision.again = carried.remaining != 0;"
    program.write_text(program.read_text().replace(own, "decision.again = true;"))
    first = json.loads(limited(*TRACE, tmp_path, "--json", status=1))
    asked = limited(*TRACE, tmp_path, "--why", "bier.ttl", status=1)
    assert first["problem"] == LOOP and first["left_out"] > 1000
    assert asked.startswith(f"{LOOP}\nbier.ttl, on the way to ")


LIVING = """
import sys
from pathlib import Path
from p4lab.notebook.live import Live

live = Live("04-msr6", sys.argv[1])
file = Path(sys.argv[1]) / "msr6" / "te.p4"
live.look()
network = live.view.views["network"]
print(live.view.trouble, network.data["summary"], live._lab.sent.passes("r1"))
print([event["text"] for event in network.data["events"]][1])
file.write_text(sys.stdin.read())
live.look()
print(live.view.trouble, live.view.views["network"].data["summary"])
"""


def test_the_living_network_says_that_frames_run_in_a_loop_and_goes_on(tmp_path: Path) -> None:
    folder = looping(tmp_path, *AGAIN)
    right = (HERE.sources / "msr6" / "te.p4").read_text() + "\n"
    said = limited("-c", LIVING, folder, given=right)
    *_, first, event, last = said.splitlines()
    assert first.strip() == f"{LOOP} 1025"
    assert "the network was stopped before it arrived" in event and "lost on" not in event
    assert last.strip() == "h8, h9, h10 and h11 got the packet to ff3e::4:1."


def test_what_sends_many_copies_is_no_loop() -> None:
    """The limits are those of loops: what a lab asks for, several times over, is far from them."""
    lab = open_lab("04-msr6", folder=HERE.sources)
    sent = lab.send(packets=20)
    assert sent.ok and not any(hop.left_out for hop in sent.all_hops())
