"""A lab and its system move in as a folder, without a change anywhere in the house.

If this fails, an instructor who follows the page has to edit p4lab itself: a list, a test, a Rust
file. The toy is an IPv4 router with one table (tests/toy), which no part of p4lab knows.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from cli_runner import ROOT, p4lab
from p4lab import registry
from p4lab.course import home

TOY = ROOT / "tests" / "toy"
LAB = "90-router"
SOLVED = TOY / "p4"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root")
needs_bmv2 = pytest.mark.skipif(
    shutil.which("simple_switch_grpc") is None or shutil.which("p4c-bm2-ss") is None,
    reason="bmv2 is not installed",
)


@pytest.fixture(autouse=True)
def course(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(home.ENVIRONMENT, str(TOY))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """What a student has who typed `p4lab start`."""
    done = p4lab("start", LAB, tmp_path / "mine")
    assert done.returncode == 0, done.stderr
    return tmp_path / "mine"


def test_the_lab_is_there_beside_the_others() -> None:
    assert LAB in home.names()
    done = p4lab("run", "99-nothing")
    assert LAB in done.stderr and "01-bier" in done.stderr


def test_a_course_is_named_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(home.ENVIRONMENT)
    assert p4lab("run", LAB).returncode == 2
    done = p4lab("--course", TOY, "run", LAB)
    assert done.returncode == 0, done.stdout + done.stderr
    told = p4lab("--course", TOY, "start", LAB, tmp_path / "mine").stdout
    assert f"p4lab --course {TOY} check {LAB}" in told, "what is printed can be typed"
    assert str(Path("labs") / LAB / "README.md") in told
    wrong = p4lab("--course", ROOT / "docs", "run", LAB)
    assert wrong.returncode == 2 and "has no folder labs" in wrong.stderr


@pytest.mark.parametrize("net", ["virtual", pytest.param("linux", marks=needs_root)])
def test_every_host_gets_its_packets(net: str) -> None:
    done = p4lab("run", LAB, "--net", net, "--json", "--packets", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    got = {(row["destination"], row["host"]): row["received"] for row in report["hosts"]}
    assert got["10.0.3.1", "h3"] == got["10.0.2.1", "h2"] == 20
    assert sum(got.values()) == 40, "and nobody else gets any"
    assert all(row["ideal"] is None for row in report["links"]), "there is no multicast tree"


def test_a_run_speaks_of_hosts_and_not_of_groups() -> None:
    text = p4lab("run", LAB).stdout
    assert "receiver" in text and "group" not in text and "subscri" not in text
    assert "IGMP" not in text and "ideal" not in text


@needs_root
@needs_bmv2
def test_it_runs_on_the_real_bmv2(work: Path) -> None:
    done = p4lab("run", LAB, "--net", "linux", "--target", "bmv2", "--packets", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    checked = p4lab("check", LAB, SOLVED, "--target", "bmv2")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_link_that_is_down_cuts_hosts_off() -> None:
    done = p4lab("run", LAB, "--down", "r2-r3")
    assert done.returncode == 1
    assert "h3 misses 100 of 100 packets of 10.0.3.1" in done.stdout


def test_a_trace_follows_the_packet_and_writes_addresses() -> None:
    done = p4lab("trace", LAB)
    assert done.returncode == 0, done.stderr
    for part in ("r1, port", "r2, port", "r3, port", "10.0.3.1", "02:00:00:00:02:"):
        assert part in done.stdout, part
    assert "bit" not in done.stdout.replace("bits", "bit").split("h1 sends")[0]


def test_the_starter_has_no_points_and_the_solution_all(work: Path) -> None:
    begun = p4lab("check", LAB, work)
    assert begun.returncode == 1 and "0/100" in begun.stdout
    shutil.copy(SOLVED / "router" / "router.p4", work / "router" / "router.p4")
    solved = p4lab("check", LAB, work)
    assert solved.returncode == 0 and "100/100" in solved.stdout


def test_a_wrong_port_is_told_with_addresses(work: Path) -> None:
    text = (SOLVED / "router" / "router.p4").read_text(encoding="utf-8")
    text = text.replace("hdr.ethernet.dst_addr = dst;", "hdr.ethernet.dst_addr = src;")
    (work / "router" / "router.p4").write_text(text, encoding="utf-8")
    done = p4lab("check", LAB, work)
    assert done.returncode == 1
    assert re.search(r"ethernet\.dst_addr\s+.*([0-9a-f]{2}:){5}[0-9a-f]{2}", done.stdout)
    assert "(bit" not in done.stdout


def test_a_class_is_graded(work: Path, tmp_path: Path) -> None:
    folder = tmp_path / "class"
    shutil.copytree(work, folder / "bob")
    shutil.copytree(SOLVED, folder / "ada")
    out = tmp_path / "grades"
    done = p4lab("grade", LAB, folder, "--out", out, "--seed-file", tmp_path / "seed")
    assert done.returncode == 0, done.stderr
    with (out / "grades.csv").open(encoding="utf-8") as file:
        points = {row["student"]: float(row["points"]) for row in csv.DictReader(file)}
    assert points == {"ada": 100, "bob": 0}


def test_its_grader_finds_every_mistake() -> None:
    done = p4lab("mutants", LAB)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("port", "not-counted", "last-hop", "one-assignment", "starter"):
        assert name in done.stdout


def test_the_same_as_data_is_what_a_pipeline_reads() -> None:
    done = p4lab("mutants", LAB, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    answers = {row["name"]: row for row in told["answers"]}
    assert told["lab"] == LAB and not any(row["problem"] for row in answers.values())
    assert answers["solution"]["points"] == answers["solution"]["max_points"] == 100
    assert set(answers["port"]["breaks"]) <= set(answers["port"]["failed"])


def test_the_starter_and_the_handout_are_cut_from_the_solution() -> None:
    done = p4lab("starter", LAB, "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_notebook_runs_and_shows_the_network(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SOLVED / "router" / "router.p4", work / "router" / "router.p4")
    monkeypatch.setenv("P4LAB_FOLDER", str(work))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    notebook = nbformat.read(TOY / "notebooks" / f"{LAB}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=60).execute()
    text = "\n".join(
        output.get("text", "") + output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    assert "h3 got the packet to 10.0.3.1" in text
    assert "The network says: 3" in text
    assert "100 of 100 points" in text
    assert "bits" not in text, "nothing here is a set of bits"
    assert "10.0.3.1" in text and "02:00:00:00:01:02" in text


def test_the_page_for_instructors_makes_the_same_lab() -> None:
    """What docs/instructors.md tells to write is what is tested here."""
    page = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    blocks = re.findall(
        r"^<!-- file (\S+) -->\n(`{3,})\w+\n(.*?)^\2$", page, re.DOTALL | re.MULTILINE
    )
    shown = {path: text for path, _, text in blocks}
    for path in ("labs/90-router/system.py", "topologies/chain.toml"):
        assert shown[f"mycourse/{path}"] == (TOY / path).read_text(encoding="utf-8"), path


def test_a_system_comes_from_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a group that shares a system among its courses has to copy it into each."""
    site, course = tmp_path / "site", tmp_path / "course"
    shutil.copytree(TOY, course)
    own = course / "labs" / LAB / "system.py"
    package = site / "toy_router"
    package.mkdir(parents=True)
    shutil.move(own, package / "__init__.py")
    info = site / "toy_router-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-router\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[p4lab.systems]\ntoy-router = toy_router:Router\n")
    monkeypatch.setenv(home.ENVIRONMENT, str(course))
    without = p4lab("run", LAB)
    assert without.returncode == 2
    assert "there is no system named 'toy-router'" in without.stderr
    done = p4lab("run", LAB, "--packets", "5", path=site)
    assert done.returncode == 0, done.stdout + done.stderr


def test_two_courses_may_call_their_systems_the_same(tmp_path: Path) -> None:
    """If this fails, the lab that was looked at first gets the other course's control plane."""
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        shutil.copy(TOY / "labs" / LAB / registry.OWN, folder)
    one, two = (registry.load_folder(folder) for folder in folders)
    assert one is not two
    for folder, own in zip(folders, (one, two), strict=True):
        assert registry.load_folder(folder) is registry.find("toy-router") is own
