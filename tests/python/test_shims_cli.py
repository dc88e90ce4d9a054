"""Our simple_switch_CLI prints what bmv2's printed of the same lines (1.15, to the same switch).

If these fail, lines of commands of courses from before P4Runtime do something else, or scripts that
read what was printed find nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("thrift")

from p4lab.shims import folder
from p4lab.shims.remote import Known, Remote, RemoteError
from p4lab.shims.switch_cli import Console, main
from thrift_client import lab

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<16> kind; bit<32> addr; bit<8> tos; bit<9> p; bit<7> q; }
struct hs { h_t h; }
struct ms { bit<4> m; }
parser P(packet_in p, out hs hdr, inout ms meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout hs hdr, inout ms meta) { apply { } }
control In(inout hs hdr, inout ms meta, inout standard_metadata_t sm) {
    counter(4, CounterType.packets_and_bytes) c;
    meter(4, MeterType.bytes) mt;
    register<bit<32>>(4) r;
    action drop() { mark_to_drop(sm); }
    action fwd(bit<48> mac, bit<9> port) {
        sm.egress_spec = port;
        c.count(0);
        r.write(0, (bit<32>)mac[31:0]);
        bit<2> color;
        mt.execute_meter(0, color);
        meta.m = (bit<4>)color;
    }
    table ex {
        key = { hdr.h.kind: exact; meta.m: exact; }
        actions = { fwd; drop; }
        default_action = drop();
    }
    table lp {
        key = { hdr.h.addr: lpm; }
        actions = { fwd; drop; NoAction; }
        default_action = NoAction();
    }
    table te { key = { hdr.h.tos: ternary; hdr.h.p: range; } actions = { fwd; drop; } }
    apply { ex.apply(); lp.apply(); te.apply(); }
}
control E(inout hs hdr, inout ms meta, inout standard_metadata_t sm) { apply { } }
control C(inout hs hdr, inout ms meta) { apply { } }
control D(packet_out p, in hs hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), In(), E(), C(), D()) main;
"""

Say = Callable[[str], list[str]]


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Say]:
    """Gives what a line prints."""
    with lab(tmp_path, PROGRAM) as own, Remote("127.0.0.1", own.port) as remote:
        console = Console(remote, Known.of(remote("bm_get_config")))

        def one(line: str) -> list[str]:
            assert not console.onecmd(line)
            return capsys.readouterr().out.splitlines()

        yield one


def test_entries(say: Say) -> None:
    assert say("table_add ex fwd 0x800 3 => 08:00:00:00:01:11 1") == [
        "Adding entry to exact match table ex",
        "match key:           EXACT-08:00\tEXACT-03",
        "action:              fwd",
        "runtime data:        08:00:00:00:01:11\t00:01",
        "Entry has been added with handle 0",
    ]
    assert say("table_add In.lp fwd 10.0.1.1/32 => 08:00:00:00:01:11 1")[1] == (
        "match key:           LPM-0a:00:01:01/32"
    )
    assert say("table_add te fwd 0x10&&&0xf0 1->5 => 1 2 7")[1] == (
        "match key:           TERNARY-10 &&& f0\tRANGE-00:01 -> 00:05"
    )
    assert say("table_modify ex fwd 0 1 2") == ["Modifying entry 0 for exact match table ex"]
    assert say("table_dump te") == [
        "==========",
        "TABLE ENTRIES",
        "**********",
        "Dumping entry 0x0",
        "Match key:",
        "* h.tos               : TERNARY   10 &&& f0",
        "* h.p                 : RANGE     0001 -> 0005",
        "Priority: 7",
        "Action entry: In.fwd - 01, 02",
        "==========",
        "Dumping default entry",
        "Action entry: NoAction - ",
        "==========",
    ]
    assert say("table_num_entries ex") == ["1"]
    assert say("table_delete ex 0") == ["Deleting entry 0 from ex"]
    assert say("table_delete ex 0")[1] == "Invalid table operation (INVALID_HANDLE)"
    assert say("table_set_default lp drop")[0] == "Setting default action of lp"
    assert say("table_clear te") == []
    assert say("table_num_entries te") == ["0"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("table_add te drop 0x10&&&0xf0 1->5 =>", "could not extract a valid priority"),
        ("table_add nothere drop 1 =>", "Error: Invalid table name (nothere)"),
        ("table_add ex drop 1 =>", "Error: Table ex needs 2 key fields"),
        ("table_add ex drop 1 300 =>", "Error while parsing 300"),
        ("table_add ex NoAction 1 2 =>", "has no action NoAction"),
        ("table_add ex fwd 1 2 => 1", "needs 2 parameters"),
        ("table_add lp drop 10.0.0.1 =>", "VALUE/LENGTH"),
        ("table_add ex", "is not written so"),
        ("register_read r x", "is not written so"),
        ("counter_read nothere 0", "Invalid counter name (nothere)"),
        ("nonsense 1", "*** Unknown syntax: nonsense 1"),
    ],
)
def test_a_wrong_line_is_told_and_the_next_may_follow(say: Say, line: str, said: str) -> None:
    assert said in "\n".join(say(line))
    assert say("table_num_entries ex") == ["0"]


def test_arrays(say: Say) -> None:
    assert say("register_write r 1 77") == []
    assert say("register_read r 1") == ["r[1]= 77"]
    assert say("register_read In.r")[1] == "In.r= 0, 77, 0, 0"
    assert say("register_reset r") == []
    assert say("register_read r 1") == ["r[1]= 0"]
    assert say("counter_read c 0") == ["c[0]= (0 bytes, 0 packets)"]
    assert say("meter_set_rates mt 0 0.5:100 1:200") == []
    assert say("meter_get_rates mt 0") == [
        "0: info rate = 0.5, burst size = 100",
        "1: info rate = 1.0, burst size = 200",
    ]
    assert say("register_write r 9 1") == ["Invalid register operation (INVALID_INDEX)"]


def test_multicast_mirroring_and_queues(say: Say) -> None:
    assert say("mc_mgrp_create 1") == ["Creating multicast group 1"]
    assert say("mc_node_create 5 1 2 3") == [
        "Creating node with rid 5 , port map 1110 and lag map ",
        "node was created with handle 0",
    ]
    assert say("mc_node_associate 1 0") == ["Associating node 0 to multicast group 1"]
    assert "  -> (L1h=0, rid=5) -> (ports=[1, 2, 3], lags=[])" in say("mc_dump")
    assert say("mirroring_add 100 3") == []
    assert say("mirroring_get 100") == ["MirroringSessionConfig(port=3, mgid=None)"]
    assert say("set_queue_depth 32") == []
    assert say("set_queue_rate 100 1") == []
    assert say("set_queue_rate 100 1 2") == []


def test_what_the_program_has(say: Say) -> None:
    assert say("table_info lp") == [
        "In.lp                          [implementation=None, mk=h.addr(lpm, 32)]",
        "*" * 80,
        "In.drop                        []",
        "In.fwd                         [mac(48),\tport(9)]",
        "NoAction                       []",
    ]
    assert len(say("show_tables")) == 3
    assert say("switch_info")[0] == "device_id                : 3"


def test_without_a_switch_it_says_where_it_looked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RemoteError, match=r"127\.0\.0\.1:1"):
        Remote("127.0.0.1", 1)
    assert main(["--thrift-ip", "127.0.0.1", "--thrift-port", "1"]) == 1
    assert "no switch speaks Thrift" in capsys.readouterr().err


def test_bmv2s_own_is_left_in_front(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert "simple_switch_CLI" in folder.make_shims(tmp_path / "shims")
    real = tmp_path / "bin" / "simple_switch_CLI"
    real.parent.mkdir()
    shutil.copy("/bin/true", real)
    monkeypatch.setenv("PATH", f"{real.parent}:/usr/bin:/bin")
    assert "simple_switch_CLI" not in folder.make_shims(tmp_path / "shims")
