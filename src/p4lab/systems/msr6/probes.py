"""What `p4lab doctor` says of MSR6: whether Linux hosts of this machine can be leaves."""

from __future__ import annotations

import shlex
from pathlib import Path

from p4lab.doctor.finding import Finding
from p4lab.doctor.kernel import ROOT_FIX, in_namespace
from p4lab.systems.msr6.linux import leaf_commands
from p4lab.systems.msr6.sids import HOSTS, leaf

NAME = "seg6local"
KNOB = Path("/proc/sys/net/ipv6/conf/all/seg6_enabled")
KERNEL_FIX = (
    "Only for MSR6 with --net linux: use a kernel with CONFIG_IPV6_SEG6_LWTUNNEL, "
    "or the VM: vagrant up"
)
PACKAGES_FIX = "sudo apt-get install iproute2 procps"


def seg6local() -> Finding:
    """seg6local."""
    if not KNOB.exists():
        return Finding(NAME, "missing", "this kernel has no IPv6 segment routing", KERNEL_FIX)
    up = "ip link set p4lab0 up"
    said = in_namespace(up)
    if said is not None:
        return Finding(NAME, "missing", said, PACKAGES_FIX if _lacks(said) else ROOT_FIX)
    commands = leaf_commands(leaf(HOSTS + 1).address, "p4lab0")
    said = in_namespace(" && ".join([up, *(shlex.join(command) for command in commands)]))
    if said is None:
        return Finding(NAME, "ok", "Linux hosts can be leaves of MSR6 (End.DT6)")
    return Finding(NAME, "missing", said, PACKAGES_FIX if _lacks(said) else KERNEL_FIX)


def _lacks(said: str) -> bool:
    """Whether a shell's complaint is that it does not find a program."""
    return "not found" in said
