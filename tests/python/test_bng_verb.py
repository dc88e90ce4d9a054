"""`p4lab gateway` before there is a switch: mistakes are named, and a flood fills no memory.

If these fail, an operator gets a traceback, or one subscriber's flood takes the process's memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from p4lab.model.control import PacketIn
from p4lab.systems.bng.process import AT_ONCE, ROOM, Inbox
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


def test_packets_keep_their_order_and_a_flood_is_cut_off() -> None:
    inbox = Inbox()
    for number in range(ROOM + 5):
        inbox.put(PacketIn(number, b""))
    taken = [packet.port for _ in range(ROOM // AT_ONCE) for packet in inbox.take()]
    assert taken == list(range(ROOM)) and inbox.lost == 5
    assert inbox.take() == []
    inbox.close()
