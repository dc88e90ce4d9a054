"""The real simple_switch_CLI on our switch and on bmv2; lost: lines of a course that work with bmv2
do something else here. Needs bmv2's tools; what they said of each call is in test_thrift.py, too.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("thrift")

from bmv2_program import PROGRAM
from thrift_client import lab

CLI, SWITCH, COMPILER = (
    shutil.which(name) for name in ("simple_switch_CLI", "simple_switch", "p4c-bm2-ss")
)
START_SECONDS = 30

LINES = """
table_add I.direct I.fwd 00:00:00:00:00:01 1 0x123&&&0xfff 5 1->3 1&&&1 => 257 10
table_add I.direct I.fwd 00:00:00:00:00:01 1 0x123&&&0xfff 5 1->3 1&&&1 => 2 10
table_add direct fwd 00:00:00:00:00:02 0 0x103&&&0xf0f 5 0->511 0&&&0 => 0 11
table_add direct drop 00:00:00:00:00:03 0 0&&&0 5 0->511 0&&&0 => 0
table_add direct drop 00:00:00:00:00:04 0 0&&&0 5 0->511 0&&&0 => 0
table_add direct drop 00:00:00:00:00:05 0 0&&&0 5 0->511 0&&&0 => 0
table_add direct drop 00:00:00:00:00:05 0 0&&&0 5 0->511 => 0
table_num_entries direct
table_dump direct
table_dump_entry direct 1
table_dump_entry direct 77
table_dump_entry_from_key direct 00:00:00:00:00:02 0 0x103&&&0xf0f 5 0->511 0&&&0 11
table_set_default direct fwd 1
table_set_default direct fwd2 1 2
table_dump direct
table_reset_default direct
table_modify direct fwd 1 3
table_modify direct fwd 99 3
table_set_timeout selected 1 1000
table_delete direct 0
table_delete direct 0
table_dump direct
counter_read I.dc 1
counter_write I.dc 1 5 500
counter_read I.dc 1
counter_reset I.dc
counter_read I.dc 50
counter_write I.cnt 2 3 300
counter_read I.cnt 2
counter_read I.cnt 8
counter_reset I.cnt
meter_get_rates I.mtr 1
meter_set_rates I.mtr 1 0.5:1500 2:3000
meter_get_rates I.mtr 1
meter_set_rates I.mtr 1 2:1500 1:3000
meter_set_rates I.mtr 1 2:1500
meter_set_rates I.mtr 4 1:1500 2:3000
meter_array_set_rates I.mtr 0.25:100 0.5:200
meter_get_rates I.mtr 3
meter_set_rates I.dm 1 0.0001:10 0.001:20
meter_get_rates I.dm 1
register_write I.reg 3 4294967298
register_read I.reg 3
register_write I.reg 3 -1
register_read I.reg 3
register_write I.reg 16 1
register_read I.reg 16
register_read I.reg
register_reset I.reg
act_prof_create_member I.sel I.fwd2 1 00:00:00:00:00:0a
act_prof_create_member I.sel I.fwd2 2 00:00:00:00:00:0b
act_prof_create_member I.sel I.drop
act_prof_create_member I.sel I.fwd 2
act_prof_dump I.sel
act_prof_dump_member I.sel 9
act_prof_create_group I.sel
act_prof_dump_group I.sel 0
table_indirect_add_with_group I.selected 00:00:00:00:00:01/48 => 0
act_prof_add_member_to_group I.sel 0 0
act_prof_add_member_to_group I.sel 1 0
act_prof_add_member_to_group I.sel 1 0
act_prof_add_member_to_group I.sel 8 0
act_prof_add_member_to_group I.sel 1 8
table_indirect_add_with_group I.selected 00:00:00:00:00:01/48 => 0
table_indirect_add I.selected 00:00:00:00:0f:00/40 => 2
table_indirect_add I.selected 00:00:00:00:0f:00/40 => 2
table_indirect_add I.selected 00:00:00:00:0f:03/48 => 12
table_add I.selected I.drop 00:00:00:00:0f:03/48 =>
table_dump I.selected
table_indirect_set_default I.selected 1
table_dump I.selected
table_indirect_reset_default I.selected
act_prof_delete_group I.sel 0
act_prof_remove_member_from_group I.sel 1 0
act_prof_remove_member_from_group I.sel 1 0
table_indirect_delete I.selected 0
table_indirect_delete I.selected 1
table_indirect_delete I.selected 2
act_prof_delete_group I.sel 0
act_prof_dump I.sel
table_set_default keyless fwd2 1 2
table_dump keyless
table_dump fixed
table_add fixed drop 1 =>
table_delete fixed 0
table_clear direct
table_num_entries direct
mc_mgrp_create 1
mc_node_create 0 1 2
mc_node_create 5 3
mc_node_associate 1 0
mc_node_associate 1 0
mc_node_associate 1 1
mc_node_associate 2 1
mc_dump
mc_node_update 1 4 5
mc_dump
mc_node_dissociate 1 1
mc_node_dissociate 1 1
mc_node_destroy 1
mc_node_destroy 1
mc_mgrp_destroy 1
mc_dump
mirroring_add 100 2
mirroring_get 100
mirroring_add_mc 101 1
mirroring_get 101
mirroring_delete 100
mirroring_delete 100
set_queue_depth 10
set_queue_rate 100 1
set_crc32_parameters calc 0x04c11db7 0xffffffff 0xffffffff true true
set_crc16_parameters calc 0x04 0xff 0xff true true
pvs_get P.vs
pvs_clear P.vs
swap_configs
show_pvs
port_remove 9
reset_state
table_dump direct
register_read I.reg 3
"""


@pytest.mark.skipif(CLI is None, reason="simple_switch_CLI is not installed")
@pytest.mark.skipif(SWITCH is None or COMPILER is None, reason="bmv2 or p4c is not installed")
def test_the_command_line_says_the_same_of_both(tmp_path: Path) -> None:
    with lab(tmp_path) as own:
        ours = said(own.port)
    with bmv2(tmp_path) as port:
        theirs = said(port)
    assert len(theirs) > 300
    assert ours == theirs


def said(port: int) -> list[str]:
    """What the command line prints, without the names that each compiler gives its scalars."""
    command = [str(CLI), "--thrift-port", str(port)]
    done = subprocess.run(command, input=LINES, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [re.sub(r"^\* \S+ +:", "* KEY:", line) for line in done.stdout.splitlines()]


@contextmanager
def bmv2(folder: Path) -> Iterator[int]:
    source, config = folder / "all.p4", folder / "all.json"
    source.write_text(PROGRAM)
    subprocess.run([str(COMPILER), "-o", config, source], check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    address = f"ipc://{folder}/theirs.ipc"
    options = ["--thrift-port", str(port), "--notifications-addr", address, str(config)]
    switch = subprocess.Popen([str(SWITCH), *options], stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield port
    finally:
        switch.terminate()
        switch.wait()


def wait_for(port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"simple_switch has not begun within {START_SECONDS} seconds")
