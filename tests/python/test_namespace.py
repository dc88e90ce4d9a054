"""If these fail, a switch takes its ports for dead, or sends on a cable that was pulled."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest

from p4lab.hosts.interfaces import is_running, set_up
from p4lab.network.namespace import apart

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a cable of one's own needs root"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="ip is not installed"),
]

PATIENCE = 10  # seconds, for a kernel that is busy


@pytest.fixture
def cable() -> Iterator[None]:
    """Interfaces `here` and `there` in a namespace that /sys does not show."""
    with apart():
        add = "ip link add here type veth peer name there"
        subprocess.run(add.split(), check=True)
        yield


def test_an_interface_runs_while_both_ends_of_its_cable_are_up(cable: None) -> None:
    assert not is_running("here")
    set_up("here", True)
    assert not is_running("here")
    for up in (True, False, True):
        set_up("there", up)
        assert _becomes(up)


def test_an_interface_that_was_taken_away_does_not_run(cable: None) -> None:
    set_up("here", True)
    set_up("there", True)
    assert _becomes(True)
    subprocess.run(["ip", "link", "del", "there"], check=True)
    assert not is_running("here")


def _becomes(up: bool) -> bool:
    """Whether `here` does; the kernel works out the state of a link a little later."""
    end = time.monotonic() + PATIENCE
    while is_running("here") != up and time.monotonic() < end:
        time.sleep(0.01)
    return is_running("here") == up
