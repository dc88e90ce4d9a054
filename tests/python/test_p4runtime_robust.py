"""Hostile and careless clients. If these fail, one of them can take the switch from the others."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import p4runtime_switch as lab

grpc = pytest.importorskip("grpc")
p4r = pytest.importorskip("finsy.proto").p4r

SERVICE = "/p4.v1.P4Runtime/"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Client:
    """A client by hand, which can say anything."""

    def __init__(self, address: str) -> None:
        self.channel = grpc.insecure_channel(address)
        self._go_on = threading.Event()
        self._answers: Iterator[bytes] | None = None

    def call(self, method: str, message: bytes, timeout: float = 30.0) -> bytes:
        return self.channel.unary_unary(SERVICE + method)(message, timeout=timeout)

    def stream(self, requests: Iterator[bytes]) -> Iterator[bytes]:
        return self.channel.stream_stream(SERVICE + "StreamChannel")(requests, timeout=60)

    def become_primary(self, election_id: int) -> Iterator[bytes]:
        """Arbitrates and stays; gives what the stream says from then on."""

        def requests() -> Iterator[bytes]:
            update = p4r.MasterArbitrationUpdate(device_id=lab.DEVICE)
            update.election_id.low = election_id
            yield p4r.StreamMessageRequest(arbitration=update).SerializeToString()
            self._go_on.wait(60)

        answers = self._answers = self.stream(requests())  # a stream that is forgotten ends
        first = p4r.StreamMessageResponse.FromString(next(answers))
        assert first.arbitration.status.code == 0, first
        return answers

    def close(self) -> None:
        self._go_on.set()
        self.channel.close()


def batch(election_id: int, count: int, first: int = 0) -> bytes:
    """Inserts into l2; with the ids of the program's P4Info."""
    request = p4r.WriteRequest(device_id=lab.DEVICE)
    request.election_id.low = election_id
    table, action = ids()
    for dst in range(first, first + count):
        update = request.updates.add(type=p4r.Update.INSERT)
        entry = update.entity.table_entry
        entry.table_id = table
        entry.match.add(field_id=1).exact.value = dst.to_bytes(6, "big")
        entry.action.action.action_id = action
        entry.action.action.params.add(param_id=1, value=b"\x02")
    return request.SerializeToString()


def ids() -> tuple[int, int]:
    from google.protobuf import text_format

    info = pytest.importorskip("finsy.proto").p4i.P4Info()
    text_format.Parse(lab.p4info().read_text(), info)
    tables = {table.preamble.alias: table.preamble.id for table in info.tables}
    actions = {action.preamble.alias: action.preamble.id for action in info.actions}
    return tables["l2"], actions["forward"]


def works(client: Client, dst: int, election_id: int = 100) -> float:
    """A write of another client goes through; how long it took, for a message."""
    start = time.monotonic()
    client.call("Write", batch(election_id, 1, first=dst))
    return time.monotonic() - start


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    roomy = tmp_path / "roomy.p4"
    roomy.write_text(lab.PROGRAM.read_text().replace("size = 100;", "size = 100000;"))
    with lab.serving(roomy) as address:
        yield address


@pytest.fixture
def good(address: str) -> Iterator[Client]:
    client = Client(address)
    client.become_primary(100)
    yield client
    client.close()


def test_garbage_on_the_socket(address: str, good: Client) -> None:
    seed = random.randrange(1 << 32)
    noise = random.Random(seed)
    print(f"seed {seed}")
    for number in range(40):
        host, port = address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=10) as wire:
            start = PREFACE if number % 2 else b""
            with suppress(OSError):  # the server may hang up first
                wire.sendall(start + noise.randbytes(noise.randrange(1, 5000)))
        if number % 10 == 0:
            works(good, number)


def test_garbage_in_messages(address: str, good: Client) -> None:
    seed = random.randrange(1 << 32)
    noise = random.Random(seed)
    print(f"seed {seed}")
    bad = Client(address)
    valid = batch(100, 3, first=50)
    methods = ("Write", "Read", "SetForwardingPipelineConfig", "GetForwardingPipelineConfig")
    for _ in range(200):
        message = bytearray(valid)
        for _ in range(noise.randrange(1, 12)):
            message[noise.randrange(len(message))] = noise.randrange(256)
        cut = noise.randrange(len(message)) if noise.random() < 0.3 else len(message)
        reader = bad.channel.unary_stream(SERVICE + "Read")
        method = noise.choice(methods)
        try:
            if method == "Read":
                list(reader(bytes(message[:cut]), timeout=30))
            else:
                bad.call(method, bytes(message[:cut]))
        except grpc.RpcError as error:
            assert error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL), (
                error
            )
    with pytest.raises(grpc.RpcError):
        list(bad.stream(iter([noise.randbytes(200)])))
    with pytest.raises(grpc.RpcError, match="no method"):
        bad.call("Nonsense", b"")
    bad.close()
    works(good, 1)


def test_a_disconnect_in_the_middle_of_a_batch(address: str, good: Client) -> None:
    """Ten thousand updates, and the client is gone before or while they are done."""
    message = batch(100, 10_000, first=10_000)
    for wait in (0.0, 0.002, 0.01, 0.03):
        bad = Client(address)
        pending = bad.channel.unary_unary(SERVICE + "Write").future(message)
        time.sleep(wait)
        pending.cancel()
        bad.close()
        works(good, int(wait * 1000))
        message = batch(100, 10_000, first=20_000 + int(wait * 10**7))


def test_a_flood_on_the_stream(address: str, good: Client) -> None:
    """Packets, acknowledgements and nonsense as fast as they go; the answers are not read."""
    flooding = threading.Event()

    def requests() -> Iterator[bytes]:
        update = p4r.MasterArbitrationUpdate(device_id=lab.DEVICE)
        update.election_id.low = 1
        yield p4r.StreamMessageRequest(arbitration=update).SerializeToString()
        packet = p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=bytes(1000)))
        ack = p4r.StreamMessageRequest(digest_ack=p4r.DigestListAck(digest_id=1))
        messages = [packet.SerializeToString(), ack.SerializeToString(), b""]
        while not flooding.is_set():
            yield from messages

    floods = [Client(address) for _ in range(3)]
    # Ids have to differ, so the later ones are refused, and flood on with new streams.
    streams = [flood.stream(requests()) for flood in floods]
    time.sleep(0.5)
    longest = max(works(good, dst) for dst in range(20))
    flooding.set()
    for stream, flood in zip(streams, floods, strict=True):
        stream.cancel()
        flood.close()
    print(f"the slowest write took {longest:.3f} s")


def test_a_lost_primary_is_noticed(address: str) -> None:
    first, second = Client(address), Client(address)
    first.become_primary(5)
    second.become_primary(6)
    with pytest.raises(grpc.RpcError) as refused:
        first.call("Write", batch(5, 1))
    assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
    second.call("Write", batch(6, 1))
    second.close()
    third = Client(address)
    third.become_primary(6)
    third.call("Write", batch(6, 1, first=1))
    first.close()
    third.close()
