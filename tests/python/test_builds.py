"""Without this, tests compile half of the engine once more, and everybody waits for that."""

from __future__ import annotations

import subprocess

from p4lab.paths import ROOT

ENGINE = ("-p", "p4-py", "--edges", "normal,build")
TESTS = ("--workspace", "--edges", "normal,build,dev")


def features(arguments: tuple[str, ...]) -> dict[str, str]:
    """What a build asks of each package, by its name and version."""
    command = ["cargo", "tree", "--locked", "--no-dedupe", "--prefix", "none", *arguments]
    told = subprocess.run(
        [*command, "--format", "{p}|{f}"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return dict(line.split("|", 1) for line in told.splitlines() if line)


def test_tests_ask_of_each_package_what_the_engine_asks() -> None:
    """Cargo compiles a package anew for other features, and all that stands on it."""
    engine, tests = features(ENGINE), features(TESTS)
    other = {name: (engine[name], tests[name]) for name in engine if engine[name] != tests[name]}
    assert len(engine) > 100
    assert other == {}
