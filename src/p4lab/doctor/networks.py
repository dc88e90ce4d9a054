"""Which networks there are for this user, from what asks for nothing to what asks for most: in
virtual time, of Linux hosts in a user namespace, of Linux hosts made by root."""

from __future__ import annotations

import os

from p4lab import rights
from p4lab.course.labs import load_plan
from p4lab.doctor.finding import Finding
from p4lab.doctor.kernel import ROOT_FIX, in_namespace
from p4lab.session.run import open_virtual, trial

NO_MORE = "Only for --net linux: start the container with --privileged."
ENOUGH = "Nothing to do where there is a user namespace; else start with sudo."


def virtual_time() -> Finding:
    """virtual time."""
    plan = load_plan("01-bier", topology="rfc8279", packets=1)
    with open_virtual(plan) as session:
        problem = trial(session)
    if problem:
        return Finding("virtual time", "broken", problem, "rm -r .lab; ./lab")
    return Finding("virtual time", "ok", "a network of switches carries packets")


def user_namespace() -> Finding:
    """user namespace."""
    refused = rights.refusal()
    if refused is None and rights.held() == "root":  # who is refused nothing
        refused = rights.forbidden()
    if refused is None:
        return Finding("user namespace", "ok", "Linux hosts without root (--net linux)")
    fix = f"Only for --net linux without root: {refused.remedy}."
    return Finding("user namespace", "missing", refused.reason, fix)


def root() -> Finding:
    """root."""
    held = rights.held()
    if held is None and os.geteuid() == 0:
        return Finding("root", "missing", "without the right to make networks", NO_MORE)
    if held != "root":
        told = "you are root of a user namespace" if held else "you are not root"
        return Finding("root", "missing", told, ENOUGH)
    said = in_namespace("true")
    if said is not None:
        return Finding("root", "missing", said, ROOT_FIX)
    return Finding("root", "ok", "Linux hosts (--net linux)")


PROBES = (virtual_time, user_namespace, root)
