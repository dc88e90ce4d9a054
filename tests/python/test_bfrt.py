"""If these fail, controllers written for an SDE do not find our switch in bf_switchd's place: they
cannot subscribe, learn the program's tables, write entries or read them back."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from typer.testing import CliRunner

from bfrt_chip import Caller
from bfrt_learner import CPU_PORT, LEARNER, Learner, Subscriber
from p4lab import _engine
from p4lab.cli import app
from p4lab.course.home import HERE
from p4lab.network import namespace
from p4lab.p4runtime.command_line import CommandLineError, parse
from p4lab.targets.tofino.messages import ENUMS, PACKAGE, SERVICE, msg, rows

PROGRAM = HERE.root / "p4" / "bier" / "tna.p4"
TABLE = "pipe.BierIngress.bfr.bift"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    program = _engine.compile(str(PROGRAM)).program
    forwarder = _engine.Forwarder(program, [], _engine.Inbox())
    server = _engine.BfrtServer(["bier"], forwarder, "127.0.0.1:0")
    yield server.address
    server.close()
    forwarder.stop()


@pytest.fixture
def client(address: str) -> Iterator[Any]:
    client = Caller(address)
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
    other = Caller(address)
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
        _engine.BfrtServer(["bier"], forwarder, "127.0.0.1:0")
    forwarder.stop()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--arch", "psa", "x.p4"], "v1model or tna"),
        (["--arch", "tna", "--thrift-port", "1", "x.p4"], "bmv2"),
        (["--arch", "tna", "--no-p4"], "needs a program"),
        (["--arch", "tna", "x.p4", "y.p4"], "several programs need --conf"),
        (["--arch", "tna", "--conf", "c", "x.p4", "y.p4", "a/y.p4"], "two programs are called y"),
        (["--backend", "pcap", "x.p4"], "af_xdp, tpacket_v3, socket, not pcap"),
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
        client = Caller(line.split()[-1])
        config = client.GetForwardingPipelineConfig(msg.GetForwardingPipelineConfigRequest())
        assert config.config[0].p4_name == Path(PROGRAM).stem
        switch.send_signal(signal.SIGINT)
        assert switch.wait(timeout=30) == 0


@pytest.fixture
def learner(tmp_path) -> Iterator[Learner]:
    source = tmp_path / "learner.p4"
    source.write_text(LEARNER)
    result = _engine.compile(str(source))
    assert result.program is not None, result.render()
    [table] = [own for own in json.loads(result.bfrt())["tables"] if own["name"] == "pipe.I.t"]
    forwarder = _engine.Forwarder(result.program, [], _engine.Inbox(), cpu_port=CPU_PORT)
    server = _engine.BfrtServer(["learner"], forwarder, "127.0.0.1:0")
    yield Learner(server.address, forwarder, table["id"], table["action_specs"][0]["id"])
    server.close()
    forwarder.stop()


def test_digests_reach_the_clients_that_want_them(learner):
    wants, other = Subscriber(learner.address, 1, learn=True), Subscriber(learner.address, 2)
    for source in (5, 6):
        learner.forwarder.send_from_cpu(bytes(6) + source.to_bytes(6, "big") + bytes(50))
    learnt: list[int] = []
    while len(learnt) < 2:
        digest = next(wants.stream).digest
        assert digest.target.pipe_id == CPU_PORT >> 7
        learnt += [int.from_bytes(own.fields[0].stream, "big") for own in digest.data]
    assert learnt == [5, 6]
    # What the other one is told next is the restart: no digest came before.
    _restart(wants)
    assert next(other.stream).WhichOneof("update") == "set_forwarding_pipeline_config_response"
    for client in (wants, other):
        client.close()


def _restart(client: Any) -> None:
    config = client.GetForwardingPipelineConfig(msg.GetForwardingPipelineConfigRequest())
    request = msg.SetForwardingPipelineConfigRequest(action=2)
    request.config.extend(config.config)
    client.SetForwardingPipelineConfig(request)
    client.SetForwardingPipelineConfig(msg.SetForwardingPipelineConfigRequest(action=4))


def test_a_warm_restart_begins_with_empty_tables(learner):
    client = Subscriber(learner.address, 1)
    client.Write(learner.batch(range(10)))
    with pytest.raises(grpc.RpcError) as refused:
        client.SetForwardingPipelineConfig(msg.SetForwardingPipelineConfigRequest(action=4))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    config = client.GetForwardingPipelineConfig(msg.GetForwardingPipelineConfigRequest())
    request = msg.SetForwardingPipelineConfigRequest(action=2)
    request.config.extend(config.config)
    client.SetForwardingPipelineConfig(request)
    assert learner.usage(client) == 0
    client.Write(learner.batch([3]))
    client.SetForwardingPipelineConfig(msg.SetForwardingPipelineConfigRequest(action=4))
    assert learner.usage(client) == 1
    told = [next(client.stream).set_forwarding_pipeline_config_response for _ in range(2)]
    types = [own.set_forwarding_pipeline_config_response_type for own in told]
    assert types == [0, 1]
    client.close()


def test_the_chips_own_tables_are_there(client):
    config = client.GetForwardingPipelineConfig(msg.GetForwardingPipelineConfigRequest())
    tables = {own["name"]: own for own in json.loads(config.non_p4_config.bfruntime_info)["tables"]}
    assert {"$PORT", "$pre.mgid", "$mirror.cfg", "tf1.pktgen.app_cfg"} <= set(tables)
    device = tables["tf1.dev.device_configuration"]
    request = msg.ReadRequest()
    entry = request.entities.add().table_entry
    entry.table_id, entry.is_default_entry = device["id"], True
    [answer] = client.Read(request)
    names = {own["singleton"]["id"]: own["singleton"]["name"] for own in device["data"]}
    data = {names[own.field_id]: own for own in answer.entities[0].table_entry.data.fields}
    assert int.from_bytes(data["num_pipes"].stream, "big") == 4
    assert list(data["recirc_port_list"].int_arr_val.val)[:5] == [68, 69, 70, 71, 196]


@pytest.mark.skipif(os.geteuid() != 0, reason="interfaces need root")
def test_a_port_that_loses_its_link_is_down_for_clients():
    program = _engine.compile(str(PROGRAM)).program

    def switch() -> _engine.Forwarder:
        with namespace.apart():  # of this thread: the server is outside
            subprocess.run("ip link add front0 type veth peer name front1".split(), check=True)
            return _engine.Forwarder(program, [(7, "front0")], _engine.Inbox())

    with ThreadPoolExecutor(1) as apart:
        forwarder = apart.submit(switch).result()
    server = _engine.BfrtServer(["bier"], forwarder, "127.0.0.1:0")
    try:
        client = Caller(server.address)
        config = client.GetForwardingPipelineConfig(msg.GetForwardingPipelineConfigRequest())
        info = json.loads(config.non_p4_config.bfruntime_info)["tables"]
        table = next(own for own in info if own["name"] == "$PORT")
        fields = {own["singleton"]["name"]: own["singleton"]["id"] for own in table["data"]}
        request = msg.WriteRequest()
        update = request.updates.add(type=1)
        entry = update.entity.table_entry
        entry.table_id = table["id"]
        key = entry.key.fields.add(field_id=table["key"][0]["id"])
        key.exact.value = (7).to_bytes(4, "big")
        entry.data.fields.add(field_id=fields["$PORT_ENABLE"], bool_val=True)
        client.Write(request)

        def is_up() -> bool:
            read = msg.ReadRequest()
            asked = read.entities.add().table_entry
            asked.table_id = table["id"]
            asked.key.CopyFrom(entry.key)
            [answer] = client.Read(read)
            shown = answer.entities[0].table_entry.data.fields
            return next(own.bool_val for own in shown if own.field_id == fields["$PORT_UP"])

        assert is_up()
        forwarder.set_port(7, False)
        assert not is_up()
        forwarder.set_port(7, True)
        assert is_up()
    finally:
        server.close()
        forwarder.stop()


@pytest.mark.parametrize(
    "garbage",
    [
        b"\0" * 4096,
        b"GET / HTTP/1.1\r\nHost: switch\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(range(256)) * 16,
    ],
)
def test_garbage_on_the_socket_disturbs_nobody(learner, garbage):
    client = Caller(learner.address)
    client.Write(learner.batch(range(5)))
    host, port = learner.address.rsplit(":", 1)
    hangs_up_first = contextlib.suppress(OSError)
    with hangs_up_first, socket.create_connection((host, int(port)), timeout=10) as odd:
        odd.sendall(garbage)
        odd.shutdown(socket.SHUT_WR)
        while odd.recv(4096):
            pass
    # No message, either: what is not a request is an error of its sender alone.
    raw = client.channel.unary_unary(f"/{PACKAGE}.{SERVICE}/Write")
    with pytest.raises(grpc.RpcError):
        raw(b"\xff" * 100)
    client.Write(learner.batch(range(5, 10)))
    assert learner.usage(client) == 10
    client.channel.close()


@pytest.mark.parametrize("atomicity", [1, 2])
def test_a_client_that_dies_in_a_batch_leaves_all_of_it_or_nothing(learner, atomicity):
    count = 20_000
    dying, other = Caller(learner.address), Caller(learner.address)
    call = dying.Write.future(learner.batch(range(count), atomicity=atomicity))
    other.Write(learner.batch([count]))
    call.cancel()
    dying.channel.close()
    # The switch does one thing after the other: this comes after what is left of the batch.
    other.Write(learner.batch([count + 1]))
    assert learner.usage(other) in (2, count + 2)
    other.channel.close()


def test_two_clients_on_one_table_each_get_their_share(learner):
    """Every key is won by one of the two, and is told to the other to be there."""
    keys = range(400)

    def insert(port: int, order: Iterable[int]) -> list[int]:
        own, won = Caller(learner.address), []
        for key in order:
            try:
                own.Write(learner.batch([key], port=port))
                won.append(key)
            except grpc.RpcError as refused:
                assert refused.code() is grpc.StatusCode.UNKNOWN
                assert "already" in refused.details()
        own.channel.close()
        return won

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(insert, 1, keys)
        two = pool.submit(insert, 2, reversed(keys))
        wins = [one.result(), two.result()]
    assert sorted(wins[0] + wins[1]) == list(keys)
    client, request = Caller(learner.address), msg.ReadRequest()
    request.entities.add().table_entry.table_id = learner.table
    [answer] = client.Read(request)
    found = {}
    for own in answer.entities:
        key = int.from_bytes(own.table_entry.key.fields[0].exact.value, "big")
        found[key] = int.from_bytes(own.table_entry.data.fields[0].stream, "big")
    assert found == {key: port for port, won in zip((1, 2), wins, strict=True) for key in won}
    client.channel.close()


def test_the_messages_are_those_of_the_sde() -> None:
    """Names, numbers, types and oneofs, against the SDE's generated module."""
    home = Path(os.environ.get("SDE_INSTALL", "/nowhere"))
    found = sorted(home.glob("lib/python3*/site-packages/tofino/bfrt_grpc"), reverse=True)
    if not found:
        pytest.skip("no SDE with its BFRT client is installed (SDE_INSTALL)")
    # A process of its own: both have messages of the same names.
    done = subprocess.run(
        [sys.executable, "-c", DESCRIBED],
        env={**os.environ, "PYTHONPATH": str(found[0])},
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named 'google.rpc'" in done.stderr:
        pytest.skip("the SDE's messages need the package googleapis-common-protos")
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    for name, fields in rows().items():
        for field, *own in fields if name not in ("Status", "Any") else ():
            assert theirs[name][field] == own, (name, field)
    for name, values in ENUMS.items():
        assert theirs[name] == list(values)


DESCRIBED = """
import json
from bfruntime_pb2 import DESCRIPTOR
SCALARS = {13: "uint32", 5: "int32", 8: "bool", 9: "string", 12: "bytes", 2: "float"}
told = {}
def short(kind):
    if hasattr(kind, "values") and kind.containing_type is None:
        return "int32"  # on the wire it is
    name = kind.full_name if kind else ""
    return name.removeprefix(DESCRIPTOR.package + ".").rpartition("google.rpc.")[2]
def describe(message):
    told[short(message)] = {
        field.name: [
            field.number,
            SCALARS.get(field.type) or short(field.message_type or field.enum_type),
            field.label == field.LABEL_REPEATED,
            field.containing_oneof.name if field.containing_oneof else "",
        ]
        for field in message.fields
    }
    for inner in message.nested_types:
        describe(inner)
    for enum in message.enum_types:
        told[short(enum)] = [value.name for value in enum.values]
for message in DESCRIPTOR.message_types_by_name.values():
    describe(message)
print(json.dumps(told))
"""
