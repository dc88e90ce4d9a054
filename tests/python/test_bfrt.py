"""If these fail, controllers written for an SDE do not find our switch in bf_switchd's place: they
cannot subscribe, learn the program's tables, write entries or read them back."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from typer.testing import CliRunner

from bfrt_fake.messages import METHODS, PACKAGE, SERVICE, msg
from p4lab import _engine
from p4lab.cli import app
from p4lab.course.home import HERE
from p4lab.p4runtime.command_line import CommandLineError, parse

PROGRAM = HERE.root / "p4" / "bier" / "tna.p4"
TABLE = "pipe.BierIngress.bfr.bift"


class Client:
    """The calls of the service."""

    def __init__(self, address: str) -> None:
        self.channel = grpc.insecure_channel(address)
        for name, request, answer in METHODS:
            streams = [word.startswith(">") for word in (request, answer)]
            way = "_".join("stream" if streaming else "unary" for streaming in streams)
            call = getattr(self.channel, way)(
                f"/{PACKAGE}.{SERVICE}/{name}",
                request_serializer=getattr(msg, request.lstrip(">")).SerializeToString,
                response_deserializer=getattr(msg, answer.lstrip(">")).FromString,
            )
            setattr(self, name, call)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    program = _engine.compile(str(PROGRAM)).program
    forwarder = _engine.Forwarder(program, [], _engine.Inbox())
    server = _engine.BfrtServer("bier", forwarder, "127.0.0.1:0")
    yield server.address
    server.close()
    forwarder.stop()


@pytest.fixture
def client(address: str) -> Iterator[Any]:
    client = Client(address)
    yield client
    client.channel.close()


def test_a_client_subscribes_and_its_number_is_its_own(client, address):
    def subscribe(who: Any, number: int) -> Any:
        def requests() -> Iterator[Any]:
            request = msg.StreamMessageRequest(client_id=number)
            request.subscribe.device_id = 0
            yield request
            ends.get()

        ends: Any = queue.SimpleQueue()
        stream = who.StreamChannel(requests())
        return next(stream).subscribe.status.code, stream, ends

    code, stream, ends = subscribe(client, 7)
    assert code == 0
    other = Client(address)
    assert subscribe(other, 7)[0] == grpc.StatusCode.ALREADY_EXISTS.value[0]
    assert subscribe(other, 8)[0] == 0
    ends.put(None)
    stream.cancel()
    other.channel.close()


def test_a_client_learns_the_tables(client, tmp_path):
    """What the server sends is what `compile --bfrt` writes."""
    config = client.GetForwardingPipelineConfig(msg.GetForwardingPipelineConfigRequest())
    [program] = config.config
    assert program.p4_name == "bier"
    out = tmp_path / "bf-rt.json"
    done = CliRunner().invoke(app, ["compile", str(PROGRAM), "--bfrt", str(out)])
    assert done.exit_code == 0, done.output
    assert json.loads(program.bfruntime_info) == json.loads(out.read_text())
    names = [table["name"] for table in json.loads(out.read_text())["tables"]]
    assert TABLE in names


def test_another_program_is_not_there(client):
    request = msg.SetForwardingPipelineConfigRequest()
    request.config.add(p4_name="bier")
    client.SetForwardingPipelineConfig(request)
    request.config[0].p4_name = "other"
    with pytest.raises(grpc.RpcError) as refused:
        client.SetForwardingPipelineConfig(request)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    assert "bier" in refused.value.details()


def test_only_programs_of_tna_have_it(tmp_path):
    router = HERE.root / "p4" / "bier" / "v1model.p4"
    done = CliRunner().invoke(app, ["compile", str(router), "--bfrt", str(tmp_path / "x")])
    assert done.exit_code == 2
    assert "Tofino" in done.output
    forwarder = _engine.Forwarder(_engine.compile(str(router)).program, [], _engine.Inbox())
    with pytest.raises(ValueError, match="Tofino"):
        _engine.BfrtServer("bier", forwarder, "127.0.0.1:0")
    forwarder.stop()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--arch", "psa", "x.p4"], "v1model or tna"),
        (["--arch", "tna", "--thrift-port", "1", "x.p4"], "bmv2"),
        (["--arch", "tna", "--no-p4"], "needs a program"),
    ],
)
def test_what_does_not_fit_is_said(words, said):
    with pytest.raises(CommandLineError, match=said):
        parse(words)


def test_the_command_takes_bf_switchds_place():
    """`p4lab switch --arch tna` listens, and ends when it is told to."""
    words = ["switch", "--arch", "tna", "--grpc-server-addr", "127.0.0.1:0", str(PROGRAM)]
    with subprocess.Popen(
        [sys.executable, "-m", "p4lab", *words], stdout=subprocess.PIPE, text=True
    ) as switch:
        assert switch.stdout is not None
        line = switch.stdout.readline()
        assert line.startswith("Server listening on 127.0.0.1:")
        client = Client(line.split()[-1])
        config = client.GetForwardingPipelineConfig(msg.GetForwardingPipelineConfigRequest())
        assert config.config[0].p4_name == Path(PROGRAM).stem
        switch.send_signal(signal.SIGINT)
        assert switch.wait(timeout=30) == 0
