"""If these fail, two teams that share a chip, each with a program in pipes of its own, write into
each other's tables or hear of each other's packets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import grpc
import pytest

from bfrt_chip import Caller
from bfrt_learner import LEARNER, Learner, Subscriber
from p4lab import _engine
from p4lab.targets.tofino.messages import msg

CPU_PORT = 64
"""Where tests send frames from: in pipe 0"""
NAMES = ("one", "two")
PIPES = {"one": (0, 2), "two": (1, 3)}


def placed(name: str) -> list[str | None]:
    return ["pipe" if pipe in PIPES[name] else None for pipe in range(4)]


@pytest.fixture
def chip(tmp_path) -> Iterator[Learner]:
    """The same program twice: every table and every id is there two times."""
    (tmp_path / "one.p4").write_text(LEARNER)
    result = _engine.compile(str(tmp_path / "one.p4"))
    assert result.program is not None
    [table] = [own for own in json.loads(result.bfrt())["tables"] if own["name"] == "pipe.I.t"]
    forwarder = _engine.Forwarder(result.program, [], _engine.Inbox(), cpu_port=CPU_PORT)
    forwarder.place(placed("one"))
    forwarder.join(result.program, placed("two"))
    server = _engine.BfrtServer(NAMES, forwarder, "127.0.0.1:0")
    yield Learner(server.address, forwarder, table["id"], table["action_specs"][0]["id"])
    server.close()
    forwarder.stop()


def of(request: Any, name: str) -> Any:
    """The request, about a program."""
    request.p4_name = name
    return request


def usage(chip: Learner, client: Any, name: str) -> int:
    request = of(msg.ReadRequest(), name)
    request.entities.add().table_usage.table_id = chip.table
    [answer] = client.Read(request)
    return answer.entities[0].table_usage.usage


def bound(address: str, number: int, name: str) -> Subscriber:
    """A client that is told of its program's digests."""
    client = Subscriber(address, number, learn=True)
    request = msg.SetForwardingPipelineConfigRequest(client_id=number)
    request.config.add(p4_name=name)
    client.SetForwardingPipelineConfig(request)
    return client


def test_each_program_has_its_tables(chip):
    client = Caller(chip.address)
    client.Write(of(chip.batch(range(3)), "one"))
    client.Write(of(chip.batch(range(5)), "two"))
    assert [usage(chip, client, name) for name in NAMES] == [3, 5]
    with pytest.raises(grpc.RpcError) as refused:
        client.Write(chip.batch([9]))
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "one and two" in refused.value.details()
    client.channel.close()
    # Who has bound to a program need not name it.
    own = bound(chip.address, 4, "two")
    request = chip.batch([9])
    request.client_id = 4
    own.Write(request)
    assert [usage(chip, own, name) for name in NAMES] == [3, 6]
    own.close()


def test_packets_and_digests_are_those_of_the_pipe(chip):
    """A frame from pipe 0 meets the first program; where this sends it, a looped port of pipe 1,
    the second, which drops it."""
    one, two = (bound(chip.address, number, name) for number, name in enumerate(NAMES, 1))
    one.Write(of(chip.batch([1], port=133), "one"))
    chip.forwarder.set_loop(133)

    def send(source: int) -> None:
        frame = (1).to_bytes(6, "big") + source.to_bytes(6, "big") + bytes(50)
        chip.forwarder.send_from_cpu(frame)

    def learnt(client: Any) -> tuple[int, int]:
        digest = next(client.stream).digest
        [own] = digest.data
        return digest.target.pipe_id, int.from_bytes(own.fields[0].stream, "big")

    send(5)
    assert (learnt(one), learnt(two)) == ((0, 5), (1, 5))
    for client in (one, two):
        client.close()


def test_the_chips_tables_are_those_of_both(chip):
    client = Caller(chip.address)
    config = client.GetForwardingPipelineConfig(msg.GetForwardingPipelineConfigRequest())
    scopes = {own.p4_name: tuple(own.profiles[0].pipe_scope) for own in config.config}
    assert scopes == PIPES
    tables = json.loads(config.non_p4_config.bfruntime_info)["tables"]
    node = replace(chip, table=next(own["id"] for own in tables if own["name"] == "$pre.node"))
    request = of(msg.WriteRequest(), "one")
    entry = request.updates.add(type=1).entity.table_entry
    entry.table_id = node.table
    entry.key.fields.add(field_id=1).exact.value = (3).to_bytes(4, "big")
    entry.data.fields.add(field_id=1).stream = bytes(2)  # $MULTICAST_RID
    client.Write(request)
    assert [usage(node, client, name) for name in NAMES] == [1, 1]
    client.channel.close()


def test_a_warm_restart_keeps_programs_in_their_pipes(chip):
    client = Caller(chip.address)
    client.Write(of(chip.batch(range(3)), "two"))
    config = client.GetForwardingPipelineConfig(msg.GetForwardingPipelineConfigRequest())
    request = msg.SetForwardingPipelineConfigRequest(action=3)
    request.config.extend(config.config[:1])
    with pytest.raises(grpc.RpcError) as refused:
        client.SetForwardingPipelineConfig(request)
    assert "one and two" in refused.value.details()
    assert usage(chip, client, "two") == 3
    request.config.extend(config.config[1:])
    client.SetForwardingPipelineConfig(request)
    assert usage(chip, client, "two") == 0
    again = client.GetForwardingPipelineConfig(msg.GetForwardingPipelineConfigRequest())
    assert again.config == config.config
    client.channel.close()


def started(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "p4lab", "switch", "--arch", "tna", *map(str, words)]
    command += ["--grpc-server-addr", "127.0.0.1:0"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


def test_the_command_takes_programs_and_their_pipes(tmp_path):
    programs = [
        {
            "program-name": name,
            "p4_pipelines": [{"p4_pipeline_name": "pipe", "pipe_scope": list(PIPES[name])}],
        }
        for name in NAMES
    ]
    conf = tmp_path / "chip.conf"
    conf.write_text(json.dumps({"p4_devices": [{"p4_programs": programs}]}))
    files = [tmp_path / f"{name}.p4" for name in NAMES]
    for file in files:
        file.write_text(LEARNER)
    with started("--conf", conf, *files) as switch:
        assert switch.stdout is not None
        client = Caller(switch.stdout.readline().split()[-1])
        request = msg.GetForwardingPipelineConfigRequest()
        told = client.GetForwardingPipelineConfig(request).config
        assert {own.p4_name: tuple(own.profiles[0].pipe_scope) for own in told} == PIPES
        client.channel.close()
        switch.terminate()
    other = tmp_path / "three.p4"
    other.write_text(LEARNER)
    with started("--conf", conf, files[0], other) as switch:
        assert switch.wait(timeout=60) == 2
        assert switch.stderr is not None
        assert "it has no program three" in switch.stderr.read()


def test_two_programs_want_one_pipe(chip):
    program = _engine.compile_text("three.p4", LEARNER).program
    with pytest.raises(ValueError, match="pipe 3"):
        chip.forwarder.join(program, [None, None, None, "pipe"])
    with pytest.raises(ValueError, match="no pipeline tube"):
        chip.forwarder.join(program, ["tube", None, None, None])
