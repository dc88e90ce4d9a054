"""The house's arrows point down, and nobody knows a system.

If these fail, a system that moves in later finds walls that were built around another one, or
`p4lab fmt` starts as slowly as a notebook.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from p4lab.paths import ROOT

SOURCES = sorted((ROOT / "src" / "p4lab").rglob("*.py"))

HEAVY = {"IPython", "bitwuzla", "distributed", "finsy", "google", "grpc", "ipywidgets"}
HEAVY |= {
    "jupyterhub",
    "jupyterlab",
    "ltiauthenticator",
    "matplotlib",
    "mininet",
    "networkx",
    "numpy",
    "playwright",
    "rich",
    "scapy",
}
"""What takes long to import, or need not be installed: to be imported where it is used"""

REASON = "# heavy: "
"""Beside the first import in a function of a file: what it brings that others shall not wait for"""


def test_the_contracts_of_pyproject_toml(capfd: pytest.CaptureFixture[str]) -> None:
    """What is said on failure names the import and its line."""
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    told = capfd.readouterr().out
    assert status == 0, told
    assert " 0 broken" in told


def inner_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and module of every import in a function, by the line."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    inside = {
        node
        for function in ast.walk(tree)
        if isinstance(function, functions)
        for node in ast.walk(function)
    }
    found = []
    for node in inside:
        if isinstance(node, ast.ImportFrom):
            found.append((node.lineno, node.module or "."))
        elif isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
    return iter(sorted(found))


def complaints(text: str) -> list[str]:
    """What is wrong with a file's imports in functions."""
    found = list(inner_imports(ast.parse(text)))
    ours = {"p4lab", *HEAVY}
    wrong = [
        f"line {line}: {name} belongs to the top of the file"
        for line, name in found
        if name.split(".")[0] not in ours
    ]
    reasons = [number for number, line in enumerate(text.splitlines(), 1) if REASON in line]
    if found and not reasons:
        wrong.append(f"line {found[0][0]}: no `{REASON}...` says what this import keeps out")
    if reasons and not found:
        wrong.append(f"line {reasons[0]}: nothing is imported in a function any more")
    return wrong


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT / "src")))
def test_imports_stand_at_the_top_but_for_heavy_ones(file: Path) -> None:
    assert complaints(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("def f():\n    import json\n", 2),
        ("def f():\n    import json  # heavy: it is not\n", 1),
        ("def f():\n    from p4lab.network import cpu\n", 1),
        ("def f():\n    from p4lab.network import cpu  # heavy: Mininet\n", 0),
        ("async def f():\n    if True:\n        import rich.console  # heavy: rich\n", 0),
        ("import json  # heavy: no\n", 1),
        ("import json\n\n\nclass A:\n    import csv\n", 0),
    ],
)
def test_the_rule_itself(text: str, number: int) -> None:
    assert len(complaints(text)) == number


def test_no_heavy_library_is_of_pythons_own() -> None:
    assert not HEAVY & sys.stdlib_module_names
