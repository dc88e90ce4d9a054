"""Without these `./lab test --changed` would be quick because it leaves out the test that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

import nearest


@pytest.mark.parametrize(
    ("changed", "test", "among"),
    [
        ("src/p4lab/grading/networks.py", "test_checks_networks.py", 15),
        ("src/p4lab/systems/msr6/sids.py", "test_msr6_sids.py", 5),
        ("src/p4lab/cli/fmt_verb.py", "test_cli_fmt.py", 40),  # by the command alone
        ("tests/python/bng_hdlc.py", "test_bng_pppoe_interop.py", 2),
        ("tests/python/test_igmp.py", "test_igmp.py", 1),
        ("labs/03-protect/checks/router.toml", "test_lab03_in_browser.py", 40),
    ],
)
def test_what_a_change_may_break_comes_early(changed: str, test: str, among: int) -> None:
    assert test in [path.name for path in nearest.nearest([changed])][:among]


def test_a_test_that_imports_a_module_comes_before_one_that_does_not() -> None:
    """By the text of the files, which the map of imports is made from in another way."""
    found = nearest.nearest(["src/p4lab/control/p4info.py"])
    direct = ["p4lab.control.p4info" in path.read_text("utf-8") for path in found]
    assert any(direct) and direct == sorted(direct, reverse=True)


def test_nothing_changed_and_what_no_test_knows() -> None:
    always = sorted(nearest.ALWAYS)
    assert [
        path.name for path in nearest.nearest(["-".join(("no", "test", "names", "it"))])
    ] == always
    assert nearest.crates(["crates/p4-ir/src/lib.rs", "crates/p4-ir/a/b", "docs/crates.md"]) == [
        "p4-ir"
    ]
    assert all(Path(nearest.ROOT, "tests", "python", name).is_file() for name in always)
