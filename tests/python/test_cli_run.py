"""`p4lab run`, `trace` and `bench` as a user meets them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli_runner import ROOT, p4lab
from p4lab import registry
from p4lab.cli import app
from p4lab.course import home
from p4lab.topology import names


@pytest.mark.parametrize("topology", names())
@pytest.mark.parametrize("bsl", [64, 256])
def test_every_topology_is_served_exactly_once(topology: str, bsl: int) -> None:
    done = p4lab("run", "01-bier", "--topology", topology, "--bsl", bsl, "--packets", 20, "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"], report["problems"]) == (0, True, [])
    assert (report["network"], report["bsl"]) == ("virtual", bsl)
    subscribed = [row for row in report["hosts"] if row["subscribed"]]
    assert subscribed and all(row["received"] == 20 for row in subscribed)
    assert all(row["copies"] <= row["ideal"] for row in report["links"])


def test_the_same_seed_gives_the_same_run() -> None:
    runs = [p4lab("run", "01-bier", "--packets", 5, "--seed", 9, "--json") for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout


@pytest.mark.parametrize("lab", ["01-bier", "02-frr", "05-recirculation"])
def test_every_engine_runs_a_lab_to_the_same_packets(lab: str, tmp_path: Path) -> None:
    runs = {}
    for engine in ("interpreter", "native", "auto"):
        folder = tmp_path / engine
        done = p4lab("run", lab, "--packets", 30, "--engine", engine, "--pcap", folder, "--json")
        assert done.returncode == 0, done.stderr
        captures = {file.name: file.read_bytes() for file in folder.iterdir()}
        assert len(captures) > 3
        runs[engine] = done.stdout, captures
    assert runs["native"] == runs["interpreter"] == runs["auto"]


def test_the_table_and_the_verdict() -> None:
    done = p4lab("run", "01-bier", "--topology", "paper", "--packets", 3)
    assert done.returncode == 0
    assert "01-bier on paper (virtual)" in done.stdout and "ideal" in done.stdout


def test_captures_are_one_readable_file_per_link(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    done = p4lab("run", "01-bier", "--topology", "paper", "--packets", 3, "--pcap", folder)
    assert done.returncode == 0
    files = sorted(folder.glob("*.pcapng"))
    assert len(files) == 7 and all(file.stat().st_size > 100 for file in files)
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed")
    read = subprocess.run(
        [tshark, "-r", str(folder / "r1-r2.pcapng"), "-T", "fields", "-e", "eth.type"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert read.stdout.split().count("0xab37") >= 3


@pytest.mark.parametrize("verb", ["__main__", "cli.run_verb", "grading.judge", "tracing"])
def test_a_verb_starts_without_what_only_pictures_and_notebooks_need(verb: str) -> None:
    """Each of these would make a student wait at every `p4lab check` and `p4lab run`."""
    heavy = {"IPython", "ipywidgets", "matplotlib", "networkx", "numpy", "scapy"}
    program = f"import sys, p4lab.cli, p4lab.{verb}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("words", [["--bsl", "128"], ["--bsl=128"], ["--bsl", "64", "--bsl=128"]])
def test_a_systems_options_stand_anywhere_after_its_lab(words: list[str]) -> None:
    """Without them a lab has one size, and a folder of one's own could be taken for a value."""
    rest = ["--packets", 1, "--topology", "paper", "--json"]
    for arguments in ([*words, *rest], [*rest, *words]):
        report = json.loads(p4lab("run", "01-bier", *arguments).stdout)
        assert (report["bsl"], report["ok"]) == (128, True)


def test_the_help_lists_a_systems_options_and_the_verbs_of_systems() -> None:
    help_of_lab = p4lab("run", "01-bier", "--help").stdout
    assert "Options of 01-bier, for its system bier:\n  --bsl 64|128|256" in help_of_lab
    assert "--bsl" not in p4lab("run", "--help").stdout
    verbs = p4lab("--help").stdout
    for system in registry.all_systems():
        assert all(f" {verb} " in verbs for verb in system.verbs)
    experiments = p4lab("experiment", "--help").stdout
    assert " restoration " in experiments and "(figure 11)" in experiments


SYSTEM = """
from p4lab.model.system import System

class Humming(System):
    name = "humming"
    verbs = {"hum": "humming_verbs:hum", "lost": "humming_verbs:lost"}
    experiments = {"tune": "humming_verbs:tune"}
"""
VERBS = """
def hum(loud: bool = False) -> None:
    \"\"\"Hum a tune,
    for those who listen.

    More is not in the list.\"\"\"
    print("HMM" if loud else "hmm")

def tune(key: str = "c") -> None:
    \"\"\"Find the key.\"\"\"
    print(f"key {key}")
"""


@pytest.fixture
def humming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course with a system that brings verbs; its file."""
    own = tmp_path / "labs" / "90-hum" / "system.py"
    own.parent.mkdir(parents=True)
    own.with_name("lab.toml").write_text("")
    own.write_text(SYSTEM)
    (tmp_path / "humming_verbs.py").write_text(VERBS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(home.ENVIRONMENT, str(tmp_path))
    monkeypatch.setattr(registry, "_folders", {})
    return own


def test_a_course_brings_verbs_and_experiments(humming: Path) -> None:
    """Nothing in p4lab names them, and what cannot be imported spoils nothing else."""
    invoke = CliRunner().invoke
    assert invoke(app, ["hum", "--loud"]).stdout == "HMM\n"
    assert invoke(app, ["experiment", "tune", "--key", "d"]).stdout == "key d\n"
    listed = " ".join(invoke(app, ["--help"]).stdout.split())
    assert "Hum a tune, for those who listen." in listed and "More is not" not in listed
    assert "Find the key." in invoke(app, ["experiment", "--help"]).stdout
    lost = invoke(app, ["lost"])
    assert lost.exit_code == 2 and "lost is in humming_verbs:lost" in lost.stderr


def test_two_verbs_of_one_name_are_a_sentence(humming: Path) -> None:
    humming.write_text(SYSTEM.replace('"hum"', '"fmt"'))
    done = CliRunner().invoke(app, ["--help"])
    assert done.exit_code == 2 and "the system humming has a verb fmt" in done.stderr
    assert "Traceback" not in done.output


BAD = [
    (["02-nothing"], "there is no lab named '02-nothing'"),
    (["exercises/none"], "exercises/none: no such folder"),
    (["01-bier", "--topology", "nowhere"], "there is no topology 'nowhere'"),
    (["01-bier", "--bsl", "65"], "64, 128 or 256"),
    (["01-bier", "--bsl"], "--bsl needs a value; 01-bier has --bsl 64|128|256"),
    (["01-bier", "--sbl", "64"], "did you mean --bsl?"),
    (["01-bier", "--pakets", "5"], "no option --pakets; did you mean --packets? p4lab run has"),
    (["01-bier", "--colour", "5"], "the lab's system, bier, has --bsl 64|128|256"),
    (["--jsn", "01-bier"], "did you mean --json?"),
    (["--bsl", "128"], "as in: p4lab run LAB --bsl VALUE"),
    (["01-bier", "--packets", "0"], "at least 1 packet"),
    (["01-bier", "--net", "carrier-pigeon"], "choose from virtual and linux"),
    (["01-bier", "--engine", "steam"], "choose from interpreter, native, auto"),
    (["01-bier", "--engine", "native", "--target", "bmv2"], "leave it out"),
    (["01-bier", "--pcap", "/proc/nothing"], "captures cannot be written"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD)
def test_bad_input_is_a_sentence_and_status_2(arguments: list[str], sentence: str) -> None:
    done = p4lab("run", *arguments)
    assert done.returncode == 2 and sentence in done.stderr


TAKES_A_TOPOLOGY = {
    "run": ("run", "01-bier", "--topology"),
    "trace": ("trace", "01-bier", "--topology"),
    "gateway": ("gateway", "--secret", __file__),
    "storm": ("experiment", "storm", "--topology"),
}


@pytest.mark.parametrize("verb", TAKES_A_TOPOLOGY)
@pytest.mark.parametrize("written", ["rng", "nowhere/rng.toml"])
def test_a_topology_that_is_not_there_has_no_line(verb: str, written: str) -> None:
    done = p4lab(*TAKES_A_TOPOLOGY[verb], written)
    assert (done.returncode, done.stdout) == (2, "")
    known = f"there is no topology {written!r}: give a .toml file or one of bng, "
    assert done.stderr.startswith(f"p4lab: {known}")
    assert done.stderr.endswith("(did you mean 'ring'?).\n")


def test_a_topology_with_an_unknown_node_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        'name = "t"\ndescription = "d"\n'
        '[[router]]\nname = "r1"\nnumber = 1\n[[link]]\na = "r1"\nb = "r9"\n'
    )
    done = p4lab("run", "01-bier", "--topology", file)
    assert done.returncode == 2 and "t.toml:" in done.stderr and "r9" in done.stderr


def test_a_misspelt_number_of_a_router_is_told(tmp_path: Path) -> None:
    """A number that no system knew would be left out of the run without a word."""
    file = tmp_path / "own.toml"
    own = (ROOT / "topologies" / "tree10.toml").read_text("utf-8")
    file.write_text(own.replace("{ number = 3 }", "{ number = 3, bfrid = 30 }"), "utf-8")
    done = p4lab("run", "01-bier", "--topology", file)
    assert done.returncode == 2
    assert "router r3 has bfrid, which no system knows; choose from bfr_id" in done.stderr


def test_a_misspelt_number_is_told_before_what_would_follow_from_it(tmp_path: Path) -> None:
    """The others have theirs by their own numbers, which one of them may equal."""
    file = tmp_path / "own.toml"
    own = (ROOT / "topologies" / "tree10.toml").read_text("utf-8")
    for number, told in (
        ("bfrid", "router r3 has bfrid, which no system knows; choose from bfr_id"),
        ("bfr_id", "routers r3 and r4 both have bfr_id 4 (r4 by its number): give one another"),
    ):
        file.write_text(own.replace("{ number = 3 }", f"{{ number = 3, {number} = 4 }}"), "utf-8")
        done = p4lab("run", "01-bier", "--topology", file)
        assert done.returncode == 2 and told in done.stderr
        assert "bfrid 4" not in done.stderr


def test_a_trace_reaches_every_receiver_through_tables_and_copies() -> None:
    done = p4lab("trace", "01-bier", "--topology", "paper", "--json")
    assert done.returncode == 0, done.stderr
    reached, kinds, tables = set(), set(), set()

    def walk(hop: dict) -> None:
        reached.update(hop["delivered"].values())
        for packet in hop["packets"]:
            kinds.add(packet["kind"])
            tables.update(step["table"] for step in packet["steps"] if step["kind"] == "table")
            assert packet["fate"] is not None, packet
        for following in hop["next"].values():
            walk(following)

    first = json.loads(done.stdout)
    walk(first)
    assert first["source"] == "h1" and reached == {"h2", "h3", "h4"}
    assert {"original", "recirculated", "ingress clone", "replica"} <= kinds
    assert {name.rsplit(".", 1)[1] for name in tables} >= {"encap", "bift", "group_ports"}


def test_a_trace_reads_as_a_story() -> None:
    done = p4lab("trace", "01-bier", "--topology", "paper")
    assert done.returncode == 0
    assert "h1 sends" in done.stdout and "sent on port" in done.stdout
    assert "bier.p4:" in done.stdout
    for told in ("group=239.1.1.1", "remaining: {2, 3, 4} -> {3}", "dst_addr=01:00:5e:01:01:01"):
        assert told in done.stdout, "receivers and addresses as one writes them"
    assert p4lab("trace", "01-bier", "--stream", 9).returncode == 2


def test_a_student_runs_the_program_in_their_own_folder(tmp_path: Path) -> None:
    assert p4lab("start", "01-bier", tmp_path).returncode == 0
    done = p4lab("run", "01-bier", tmp_path, "--topology", "paper", "--packets", 2)
    assert done.returncode == 1  # the starter forwards nothing yet
    assert "misses 2 of 2 packets" in done.stdout
    traced = p4lab("trace", "01-bier", tmp_path, "--topology", "paper")
    assert "sent on port 0 to nobody" in traced.stdout

    mine = tmp_path / "bier" / "bier.p4"
    mine.write_text(mine.read_text().replace("table group_ports", "table ports_of_group"))
    done = p4lab("run", "01-bier", tmp_path, "--topology", "paper")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert p4lab("run", "01-bier", tmp_path / "nowhere").returncode == 2


def test_bench_prints_every_measure() -> None:
    done = p4lab("bench", "--seconds", 0.05, "--json")
    assert done.returncode == 0, done.stderr
    measures = json.loads(done.stdout)["measures"]
    assert len(measures) >= 9
    for row in measures:
        assert (row["value"] is None) == bool(row["note"])
        assert row["value"] is None or row["value"] > 0


def test_a_table_of_measures_can_be_read_in_a_pipe(capsys) -> None:
    """A pipe has 80 columns for want of a better number: names and figures were wrapped there."""
    from p4lab.bench import Measure
    from p4lab.cli.bench_verb import _table
    from p4lab.cli.console import print_whole

    name = "p4/msr6/v1model.p4 with a name that needs much room in its row"
    measures = [Measure("compiling", name, "packets/s", 1_234_567.0, 1_200_000.0, 1_300_000.0, 9e5)]
    print_whole(_table(measures))
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "p4/msr6" in line]
    assert name in row and "1,300,000 packets/s" in row and row.rstrip().endswith("met")
