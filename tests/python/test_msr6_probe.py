"""Without these, `p4lab doctor` sends who lacks SRv6 to the wrong shop, or to none."""

from __future__ import annotations

from pathlib import Path

import pytest

from linux_stacks import NoNamespacesError, open_room
from p4lab.systems.msr6 import probes


def test_it_says_what_this_machine_can_do():
    """Seen by other means: a namespace of the tests' own, and a route written by hand."""
    try:
        with open_room() as room:
            stack = room.stack()
            room.cable(stack, "eth0", 0x020000000001)
            route = "ip -6 route add 5f00::1 encap seg6local action End.DT6 table local dev eth0"
            can = stack.try_to(*route.split()).returncode == 0
    except NoNamespacesError:
        can = False
    found = probes.seg6local()
    assert (found.name, found.state) == ("seg6local", "ok" if can else "missing")
    assert found.fix or can


def test_a_kernel_without_srv6(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probes, "KNOB", Path("/proc/sys/net/ipv6/conf/all/no_such_knob"))
    found = probes.seg6local()
    assert (found.state, found.fix) == ("missing", probes.KERNEL_FIX)
    assert "segment routing" in found.detail


@pytest.mark.parametrize(
    "command, said, fix",
    [
        ("link", "unshare: unshare failed: Operation not permitted", probes.ROOT_FIX),
        ("link", "sh: 1: ip: not found", probes.PACKAGES_FIX),
        ("sysctl", "sh: 1: sysctl: not found", probes.PACKAGES_FIX),
        ("seg6local", "Error: lwt encapsulation type not supported.", probes.KERNEL_FIX),
    ],
)
def test_what_fails_has_its_own_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, said: str, fix: str
):
    """The kernel's and the shell's own words, as they were seen."""
    monkeypatch.setattr(probes, "KNOB", tmp_path)
    monkeypatch.setattr(probes, "in_namespace", lambda line: said if command in line else None)
    found = probes.seg6local()
    assert (found.state, found.detail, found.fix) == ("missing", said, fix)
