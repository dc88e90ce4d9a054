"""`p4lab gateway` before there is a switch: mistakes are named, and a flood fills no memory.

If these fail, an operator gets a traceback, or one subscriber's flood takes the process's memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from p4lab.model.control import PacketIn
from p4lab.systems.bng.process import AT_ONCE, ROOM, ROOM_OF_A_LINE, Inbox
from p4lab.systems.bng.verbs import gateway


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"topology": "rfc8279"}, "has 6 routers, and a gateway is one"),
        ({"topology": "nowhere"}, "there is no topology 'nowhere'"),
        ({"secret": Path("nowhere")}, "nowhere: no such file with a secret"),
        ({"secret": Path("empty")}, "empty: there is no secret in it"),
        ({"pool": "10.0.0.1/8"}, "--pool: 10.0.0.1/8 has host bits set; write a prefix"),
        ({"coa": "3799"}, "--coa 3799: write HOST:PORT"),
        ({"radius": "1:2:3:4"}, "--radius 1:2:3:4: write HOST, HOST:PORT or HOST:PORT:PORT"),
        ({"classes": ["gold"]}, "--class gold: write NAME:DOWN:UP"),
        ({"classes": ["gold:fast:10 Mbit/s"]}, "100 Mbit/s"),
        ({"core": "web nobody"}, "--core nobody: there is no such host in bng"),
        ({"state": Path("other")}, "is another gateway running, or is it another file?"),
        ({"program": Path("bng.json")}, "bng.p4info.txtpb"),
    ],
)
def test_a_mistake_is_named(
    said: dict[str, Any],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("secret", "s"), ("empty", "\n"), ("other", "no store"), ("bng.json", "")):
        Path(name).write_text(text)
    with pytest.raises(typer.Exit) as ended:
        gateway(**{"topology": "bng", "secret": Path("secret"), **said})
    assert ended.value.exit_code == 2
    told = capsys.readouterr().err
    assert reason in told and told.count("\n") == 1


def packet(number: int, line: int) -> PacketIn:
    return PacketIn(number, b"", b"\0\0" + line.to_bytes(2, "big") + b"\0\0")


def test_a_flood_from_one_line_leaves_room_for_the_others() -> None:
    inbox = Inbox()
    for number in range(5000):
        inbox.put(packet(number, 1))
    inbox.put(packet(0, 2))
    assert inbox.lost == 5000 - ROOM_OF_A_LINE
    lines = [one.header[3] for one in inbox.take()]
    assert lines == [1] * ROOM_OF_A_LINE + [2]
    inbox.put(packet(0, 1))
    assert len(inbox.take()) == 1 and inbox.take() == []
    inbox.close()


def test_packets_keep_their_order_and_a_flood_from_all_lines_is_cut_off() -> None:
    inbox = Inbox()
    for number in range(ROOM + 5):
        inbox.put(packet(number, number % 1000))
    taken = [one.port for _ in range(ROOM // AT_ONCE) for one in inbox.take()]
    assert taken == list(range(ROOM)) and inbox.lost == 5
    assert inbox.take() == []
    inbox.close()
