"""If these fail, Mininet scripts written for simple_switch_grpc do not start our switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from p4lab.p4runtime.command_line import CommandLineError, Options, parse
from p4lab.p4runtime.switch import SwitchError, source_of

TUTORIAL = (
    "-i 1@s1-eth1 -i 2@s1-eth2 --pcap /tmp/pcaps --nanolog ipc:///tmp/bm-0-log.ipc --device-id 0 "
    "build/basic.json --log-console -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 255"
)


def test_the_line_of_the_tutorials() -> None:
    options = parse(TUTORIAL.split())
    assert options == Options(
        program=Path("build/basic.json"),
        ports=((1, "s1-eth1"), (2, "s1-eth2")),
        device_id=0,
        address="0.0.0.0:50051",
        cpu_port=255,
        log_console=True,
        pcap=Path("/tmp/pcaps"),
        ignored=("--nanolog",),
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--no-p4", Options()),
        ("--no-p4 --interface 3@eth0", Options(ports=((3, "eth0"),))),
        ("--no-p4 -i3@eth0", Options(ports=((3, "eth0"),))),
        ("--no-p4 --device-id=7 --grpc-server-addr=h:1", Options(device_id=7, address="h:1")),
        ("--pcap prog.p4", Options(program=Path("prog.p4"), pcap=Path("."))),
        ("prog.p4 --pcap", Options(program=Path("prog.p4"), pcap=Path("."))),
        ("--pcap=caps prog.p4", Options(program=Path("prog.p4"), pcap=Path("caps"))),
        ("--drop-port 511 --bmv2-compat a.p4", Options(Path("a.p4"), bmv2_compat=True)),
        (
            "-L off --log-file log prog.p4",
            Options(Path("prog.p4"), log_file=Path("log"), ignored=("-L",)),
        ),
    ],
)
def test_other_lines(line: str, expected: Options) -> None:
    assert parse(line.split()) == expected


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("prog.p4 --priority-queues 9", "1 to 8"),
        ("prog.p4 --drop-port 510", "511 is needed"),
        ("prog.p4 --thrift-port 99999", "0 to 65535"),
        ("prog.p4 --debugger", "p4lab trace"),
        ("", "--no-p4"),
        ("a.p4 b.p4", "one program"),
        ("--no-p4 a.p4", "leave out a.p4"),
        ("--no-p4 -i eth0", "PORT@INTERFACE"),
        ("--no-p4 -i 511@eth0", "0 to 510"),
        ("--no-p4 --device-id x", "number"),
        ("--no-p4 --device-id", "value"),
        ("--no-p4 --nonsense", "no option"),
    ],
)
def test_what_is_refused(line: str, word: str) -> None:
    with pytest.raises(CommandLineError, match=word):
        parse(line.split())


def test_the_source_of_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = tmp_path / "build"
    build.mkdir()
    program = build / "basic.json"
    program.write_text('{"program": "basic.p4"}')
    with pytest.raises(SwitchError, match=r"basic\.p4"):
        source_of(program)
    (tmp_path / "basic.p4").write_text("")
    assert source_of(program) == tmp_path / "basic.p4"
    program.write_text('{"program": "/elsewhere/basic.p4"}')
    assert source_of(program) == tmp_path / "basic.p4"
    monkeypatch.chdir(tmp_path)
    assert source_of(Path("build/basic.json")).name == "basic.p4"
    program.write_text("no JSON")
    with pytest.raises(SwitchError, match="no JSON"):
        source_of(program)
    with pytest.raises(SwitchError, match="no such file"):
        source_of(tmp_path / "absent.json")
