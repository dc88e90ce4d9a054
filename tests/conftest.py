"""How two runs of pytest share the tests (tests/run.py starts them), and how one ends in time.

The first run takes all tests in their order, the second only those marked `beside(seconds=N)`: they
need a processor for about that long and nothing else of the machine. Both come to these last, the
longest first, and who comes first to a file takes it. Files of one `group` are taken together: they
read what is made once. A run of pytest by hand takes all tests and changes no order.

Where P4LAB_TEST_SECONDS says so, no test begins after so many seconds, and what takes longer by
itself is left out from the beginning; the end says how many were left.

Where P4LAB_TEST_FAILURES names a file, what failed is written there, for it to be tried again.
"""

from __future__ import annotations

import gc
import json
import os
import time
from functools import cache
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

# Taken out of the environment: some tests run pytest themselves.
CLAIMS = os.environ.pop("P4LAB_TEST_CLAIMS", None)
FAILURES = os.environ.pop("P4LAB_TEST_FAILURES", None)
SECONDS = float(os.environ.pop("P4LAB_TEST_SECONDS", "inf"))
# Going through everything that tests import, Python's garbage collector took 6 % of a run.
gc.set_threshold(50_000, 20, 50)
_BEGUN = time.monotonic()
_LEFT: list[str] = []


def _order(item: pytest.Item) -> tuple[bool, float, str]:
    marker = item.get_closest_marker("beside")
    return (False, 0.0, "") if marker is None else (True, -marker.kwargs["seconds"], _unit(item))


def _unit(item: pytest.Item) -> str:
    """The name of what is taken as a whole with a test that is marked."""
    marker = item.get_closest_marker("beside")
    assert marker is not None
    return str(marker.kwargs.get("group", item.path.name))


@cache
def _is_taken(unit: str) -> bool:
    """Whether this run gets a unit: it has made the file of that name."""
    assert CLAIMS is not None
    try:
        (Path(CLAIMS) / unit).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CLAIMS is not None:
        items.sort(key=_order)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Runs a test, or leaves it to the other run, which counts it, or to a run that has more time.

    Pytest is told which test really follows: it leaves up the fixtures that the next one needs, and
    a test that finds others there fails."""
    if not _is_ours(item):
        return True
    if nextitem is not None and not _is_ours(nextitem):
        items = item.session.items
        nextitem = next((one for one in items[items.index(nextitem) :] if _is_ours(one)), None)
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    runtestprotocol(item, nextitem=nextitem)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@cache
def _is_ours(item: pytest.Item) -> bool:
    """Whether this run carries out a test. What is said once holds."""
    if _takes_too_long(item):
        _LEFT.append(item.nodeid)
        return False
    if CLAIMS is None or item.get_closest_marker("beside") is None:
        return True
    return _is_taken(_unit(item))


def _takes_too_long(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("beside")
    needed = 0.0 if marker is None else marker.kwargs["seconds"]
    return needed > SECONDS or time.monotonic() - _BEGUN > SECONDS


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if FAILURES is not None and report.failed:
        with open(FAILURES, "a", encoding="utf-8") as written:
            line = json.dumps({"test": report.nodeid, "told": report.longreprtext})
            written.write(f"{line}\n")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _LEFT:
        terminalreporter.line(f"left to a run of all tests, for want of time: {len(_LEFT)}")
