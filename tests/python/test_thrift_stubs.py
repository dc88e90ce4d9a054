"""What controllers for bmv2 import, against our switch; lost: p4-utils does not even start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("thrift")
pytest.importorskip("mininet")

from cli_runner import ROOT
from thrift_client import lab

CONTROLLER = """
import sys
import nnpy
from bm_runtime.simple_pre_lag import SimplePreLAG
from bm_runtime.standard import Standard
from bm_runtime.standard.ttypes import *
from bmpy_utils import get_json_config, thrift_connect
from mininet.log import LEVELS, lg, warning
from sswitch_runtime import SimpleSwitch

services = [
    ("standard", Standard.Client),
    ("simple_switch", SimpleSwitch.Client),
    ("simple_pre_lag", SimplePreLAG.Client),
    (None, None),
]
own, switch, groups, nobody = thrift_connect("127.0.0.1", int(sys.argv[1]), services)
assert nobody is None and "warn" in LEVELS and lg.ch
assert '"I.selected"' in get_json_config(own)
key = [BmMatchParam(type=BmMatchParamType.EXACT, exact=BmMatchParamExact(b"\\0" * 6))]
try:
    own.bm_mt_add_entry(0, "I.nowhere", key, "I.drop", [], BmAddEntryOptions(priority=0))
except InvalidTableOperation as error:
    assert TableOperationErrorCode._VALUES_TO_NAMES[error.code] == "INVALID_TABLE_NAME"
own.bm_register_write(0, "I.reg", 3, 77)
assert own.bm_register_read(0, "I.reg", 3) == 77
groups.bm_mc_mgrp_create(0, 5)
switch.mirroring_session_add(7, SimpleSwitch.MirroringSessionConfig(port=2, mgid=0))
assert switch.mirroring_session_get(7).port == 2
socket = nnpy.Socket(nnpy.AF_SP, nnpy.SUB)
socket.connect(own.bm_mgmt_get_info().notifications_socket)
socket.setsockopt(nnpy.SUB, nnpy.SUB_SUBSCRIBE, "LEA|")
print("listening", flush=True)
print("heard", socket.recv()[:4].decode())
"""


def test_a_controller_for_bmv2_reaches_the_switch(tmp_path: Path) -> None:
    python = f"{ROOT / 'src/p4lab/shims/python'}:{ROOT / 'src'}"
    with lab(tmp_path) as switch:
        words = [sys.executable, "-c", CONTROLLER, str(switch.port)]
        with subprocess.Popen(
            words, env={"PYTHONPATH": python}, stdout=subprocess.PIPE, text=True
        ) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "listening\n"
            source = 1
            while running.poll() is None:  # the server has its own time to notice a subscriber
                switch.packet(source)
                source += 1
                try:
                    running.wait(0.2)
                except subprocess.TimeoutExpired:
                    continue
            assert running.stdout.read() == "heard LEA|\n"
