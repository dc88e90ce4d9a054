"""`p4lab trace` where 1,200 lines are too many: one router, one field, who set a bit."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab


def shown(*options: str) -> str:
    done = p4lab("trace", "01-bier", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_router_and_one_field() -> None:
    text = shown("--router", "r5", "--field", "bier.ttl")
    assert "r5, port" in text and not re.search(r"r[12346789], port", text)
    changes = [line for line in text.splitlines() if " -> " in line]
    assert changes and all("hdr.bier.ttl: " in line for line in changes)
    assert len(text.splitlines()) < 40


def test_who_set_a_field_is_told_backwards_and_only_along_the_packets_own_way() -> None:
    """r5 makes two copies of what came in. The first one's bits are none of the second one's way,
    though the trace has them before it."""
    head, *lines = shown("--why", "bier.bit_string").splitlines()
    assert head.startswith("bier.bit_string, on the way to h")
    changes = [line for line in lines if not line.startswith("      ")]
    values = [re.search(r": (\{.*?\}) -> (\{.*?\}) ", line) for line in changes]
    pairs = [(found[1], found[2]) for found in values if found]
    assert len(pairs) == len(changes) >= 3
    for (before, _), (_, earlier) in itertools.pairwise(pairs):
        assert before == earlier
    assert pairs[-1][0] == "{}" and changes[-1].startswith("  r6, ")
    assert "encap [group=239.1.1.1, set=0]" in lines[-1]


def test_who_set_a_bit() -> None:
    (number,) = re.search(r"-> \{(\d+)", shown("--why", "bier.bit_string")).groups()
    lines = shown("--why", f"bier.bit_string:{number}").splitlines()
    assert lines[0].startswith(f"bit {number} of bier.bit_string")
    line = (
        (ROOT / "p4/bier/bier.p4").read_text().splitlines()[int(lines[-2].rsplit(":")[-1][:-1]) - 1]
    )
    assert "hdr.bier.bit_string = bit_string;" in line


def test_a_field_may_be_named_as_the_source_names_it() -> None:
    assert shown("--why", "hdr.bier.ttl") == shown("--why", "bier.ttl")


def test_metadata_begin_anew_at_every_switch() -> None:
    lines = shown("--why", "carried.remaining", "--router", "r5").splitlines()
    assert len(lines) > 2
    assert all(line.startswith(("  r5, ", "      run by")) for line in lines[1:])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--router", "r99"], "tree10 has no router r99; it has r1,"),
        (["--why", "ttl"], "ttl may be bier.ttl or ipv4.ttl"),
        (["--why", "bier.tttl"], "is called bier.tttl; choose from"),
        (["--why", "hdr.bier.tttl"], "is called hdr.bier.tttl; choose from"),
        (["--field", "nothing"], "is called nothing; choose from"),
        (["--why", "bier.ttl:x"], "write a field, such as bier.bit_string, or one bit"),
    ],
)
def test_what_is_not_there_is_said(options: list[str], said: str) -> None:
    done = p4lab("trace", "01-bier", *options)
    assert done.returncode == 2 and said in done.stderr


@pytest.mark.parametrize("verb", ["trace", "check", "watch"])
def test_a_folder_is_not_called_missing(verb: str, tmp_path: Path) -> None:
    done = p4lab(verb, tmp_path)
    assert done.returncode == 2 and f"{tmp_path} is a folder, not a lab" in done.stderr
    (tmp_path / "topology.json").write_text("{}")
    done = p4lab(verb, tmp_path)
    assert done.returncode == 2 and f"{tmp_path} is an exercise's folder" in done.stderr
    assert f"run {tmp_path}" in done.stderr
    done = p4lab(verb, tmp_path / "none")
    assert done.returncode == 2 and "none: no such folder" in done.stderr


def test_help_does_not_promise_to_trace_an_exercise() -> None:
    assert "topology.json" in p4lab("run", "--help").stdout
    assert "topology.json" not in p4lab("trace", "--help").stdout
