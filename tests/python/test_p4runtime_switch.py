"""`p4lab switch` as a process on real interfaces. If these fail, Mininet scripts written for
simple_switch_grpc start our switch and no packet gets through."""

from __future__ import annotations

import asyncio
import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import p4runtime_switch as lab
from p4lab.p4runtime.command_line import parse
from p4lab.p4runtime.switch import SwitchError, run

fy = pytest.importorskip("finsy")
p4entity = pytest.importorskip("finsy.p4entity")

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="interfaces need root"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="not installed: ip"),
]

FRAME = bytes.fromhex("0000000000050000000000060800") + bytes(50)


def write(address: str, *updates: object, device: int = 0, blob: Path | None = None) -> None:
    async def run() -> None:
        info = lab.p4info() if blob else None
        options = fy.SwitchOptions(device_id=device, p4info=info, p4blob=blob)
        async with fy.Switch("s1", address, options) as switch:
            await switch.write(list(updates))

    asyncio.run(asyncio.wait_for(run(), 60))


def forward(port: int) -> object:
    action = fy.Action("forward", port=port)
    return fy.P4TableEntry("l2", match=fy.Match({"dst": 5}), action=action)


def words(pairs: list[tuple[str, str]], address: str, *more: str) -> list[str]:
    ports = [word for at, (near, _) in enumerate(pairs, 1) for word in ("-i", f"{at}@{near}")]
    return [*ports, *more, "--", "--grpc-server-addr", address, "--cpu-port", "510"]


def records(path: Path) -> list[bytes]:
    """The frames of a pcap file."""
    data = path.read_bytes()
    assert struct.unpack_from("<IHH", data) == (0xA1B2C3D4, 2, 4)
    frames, at = [], 24
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        frames.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return frames


def test_a_packet_gets_through_and_is_captured(tmp_path: Path) -> None:
    with lab.veth_pairs(2) as pairs:
        address = lab.free_address()
        line = words(pairs, address, "--pcap", str(tmp_path), str(lab.PROGRAM))
        with lab.switch_process(*line):
            write(address, +forward(2))
            one, two = lab.Wire(pairs[0][1]), lab.Wire(pairs[1][1])
            one.send(FRAME)
            assert two.receive() == FRAME
            time.sleep(0.5)  # captures are written five times a second
        near, far = pairs[0][0], pairs[1][0]
        assert FRAME in records(tmp_path / f"{near}_in.pcap")
        assert FRAME in records(tmp_path / f"{far}_out.pcap")
        one.close()
        two.close()


def test_a_switch_waits_for_its_program() -> None:
    with lab.veth_pairs(2) as pairs:
        address = lab.free_address()
        with lab.switch_process(*words(pairs, address, "--no-p4", "--device-id", "3")):
            write(address, +forward(2), device=3, blob=lab.PROGRAM)
            one, two = lab.Wire(pairs[0][1]), lab.Wire(pairs[1][1])
            one.send(FRAME)
            assert two.receive() == FRAME
            one.close()
            two.close()


def test_backups_follow_the_interfaces() -> None:
    with lab.veth_pairs(3) as pairs:
        address = lab.free_address()
        with lab.switch_process(*words(pairs, address, str(lab.PROGRAM))):
            backup = p4entity.P4BackupReplica(3, instance=0)
            replica = p4entity.P4Replica(2, instance=0, backup_replicas=[backup])
            spread = fy.P4TableEntry("acl", action=fy.Action("spread", group=1), priority=1)
            write(address, +fy.P4MulticastGroupEntry(1, replicas=[replica]), +spread)
            wires = [lab.Wire(far) for _, far in pairs]
            wires[0].send(FRAME)
            assert wires[1].receive() is not None
            subprocess.run(["ip", "link", "set", pairs[1][1], "down"], check=True)
            deadline = time.monotonic() + 10
            while True:
                wires[0].send(FRAME)
                if wires[2].receive(0.3) is not None:
                    break
                assert time.monotonic() < deadline, "the backup does not stand in"
            for wire in wires:
                wire.close()


def test_what_cannot_run_says_so(tmp_path: Path) -> None:
    def refused(word: str, *line: str) -> None:
        with pytest.raises((SwitchError, OSError), match=word):
            run(parse(line), threading.Event())

    refused("nowhere0", str(lab.PROGRAM), "-i", "1@nowhere0")
    refused("such file", str(tmp_path / "absent.p4"))
    broken = tmp_path / "broken.p4"
    broken.write_text("#include <v1model.p4>\nmain")
    refused("broken.p4", str(broken))
    refused("HOST:PORT", "--no-p4", "--grpc-server-addr", "nonsense")
    with lab.serving() as address:
        refused(address, "--no-p4", "--grpc-server-addr", address)


def test_the_verb_ends_with_a_sentence() -> None:
    command = [sys.executable, "-m", "p4lab", "switch", "x.p4", "--debugger"]
    env = {**os.environ, "PYTHONPATH": str(lab.ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == 2
    assert "p4lab trace" in done.stderr
