"""Table writes over BF Runtime, one by one and in batches.

The client writes bytes that were made beforehand, since Python takes longer to make a message than
the server to carry it out. One by one, a client in Python is most of what is measured: so a native
one does the same, and both call a server that has nothing to do, which is the most that either can
reach on this machine. The promise is about the native one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from p4lab import _engine
from p4lab.bench.measure import Measure, Say, missing, of, part, ratios, repeats

GROUP = "BF Runtime"
# How many entries are written (in less than a second fewer), and how many per second we promise
ONE_BY_ONE, PER_SECOND = 5_000, 10_000.0
BATCH, IN_BATCHES, PER_SECOND_IN_BATCHES = 10_000, 200_000, 200_000.0
TABLE_SIZE = 250_000
SERVICE = "/bfrt_proto.BfRuntime/"
ALL_PIPES = 0xFFFF
INSERT = 1

_PROGRAM = """\
#include <core.p4>
#include <tna.p4>
header h_t {{ bit<32> key; }}
struct headers {{ h_t h; }}
struct meta {{ }}
parser IP(packet_in p, out headers h, out meta m, out ingress_intrinsic_metadata_t i) {{
    state start {{
        p.extract(i); p.advance(PORT_METADATA_SIZE); p.extract(h.h); transition accept;
    }}
}}
control I(inout headers h, inout meta m, in ingress_intrinsic_metadata_t i,
          in ingress_intrinsic_metadata_from_parser_t p,
          inout ingress_intrinsic_metadata_for_deparser_t d,
          inout ingress_intrinsic_metadata_for_tm_t tm) {{
    action forward(PortId_t to) {{ tm.ucast_egress_port = to; }}
    table t {{ key = {{ h.h.key : exact; }} actions = {{ forward; }} size = {size}; }}
    apply {{ t.apply(); }}
}}
control ID(packet_out p, inout headers h, in meta m,
           in ingress_intrinsic_metadata_for_deparser_t d) {{ apply {{ p.emit(h); }} }}
parser EP(packet_in p, out headers h, out meta m, out egress_intrinsic_metadata_t e) {{
    state start {{ p.extract(e); transition accept; }}
}}
control E(inout headers h, inout meta m, in egress_intrinsic_metadata_t e,
          in egress_intrinsic_metadata_from_parser_t p,
          inout egress_intrinsic_metadata_for_deparser_t d,
          inout egress_intrinsic_metadata_for_output_port_t o) {{ apply {{ }} }}
control ED(packet_out p, inout headers h, in meta m,
           in egress_intrinsic_metadata_for_deparser_t d) {{ apply {{ p.emit(h); }} }}
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"""


def writing(seconds: float, say: Say) -> Iterator[Measure]:
    """Inserts per second, one by one and in batches, as clients see them."""
    try:
        import grpc  # noqa: F401 # heavy: grpc, an extra of ours
    except ImportError as error:
        yield missing(GROUP, "inserts", "entries/s", f"not installed: {error.name}")
        return
    result = _engine.compile_text("bench.p4", _PROGRAM.format(size=TABLE_SIZE))
    if result.program is None:
        raise ValueError(result.render())
    runs = repeats(seconds)
    yield from _one_by_one(result, runs, part(ONE_BY_ONE, seconds), say)
    say(f"writing over BF Runtime, batches of {BATCH:,}")
    count = part(IN_BATCHES, seconds, BATCH)
    requests = _requests(result.bfrt(), BATCH, count)
    rates = [count / _to_switch(result.program, _python, requests) for _ in range(runs)]
    yield of(GROUP, f"inserts, batches of {BATCH:,}", "entries/s", rates, PER_SECOND_IN_BATCHES)


Client = Callable[[str, list[bytes]], float]
"""Writes messages one after the other to a server; gives the seconds"""


def _one_by_one(result: _engine.Compilation, runs: int, count: int, say: Say) -> Iterator[Measure]:
    """Both clients, with a switch and without, turn by turn."""
    assert result.program is not None
    requests = _requests(result.bfrt(), 1, count)
    clients: dict[str, Client] = {"a native client": _native, "a client in Python": _python}
    rates: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in clients}
    for _ in range(runs):
        for name, client in clients.items():
            say(f"writing over BF Runtime one by one, {name}")
            written, empty = rates[name]
            written.append(count / _to_switch(result.program, client, requests))
            empty.append(count / _to_nobody(client, requests))
    for name, (written, empty) in rates.items():
        goal = PER_SECOND if clients[name] is _native else None
        yield of(GROUP, f"inserts, one by one, {name}", "entries/s", written, goal)
        yield of(GROUP, f"empty calls, one by one, {name}", "calls/s", empty)
        yield of(GROUP, f"inserts / empty calls, {name}", "", ratios(written, empty))


def _to_switch(program: _engine.Program, client: Client, messages: list[bytes]) -> float:
    """The seconds of a client with a switch whose table is empty."""
    forwarder = _engine.Forwarder(program, [], _engine.Inbox())
    server = _engine.BfrtServer(["bench"], forwarder, "127.0.0.1:0")
    try:
        return client(server.address, messages)
    finally:
        server.close()
        forwarder.stop()


def _to_nobody(client: Client, messages: list[bytes]) -> float:
    server = _engine.EmptyServer("127.0.0.1:0")
    try:
        return client(server.address, messages)
    finally:
        server.close()


def _native(address: str, messages: list[bytes]) -> float:
    return _engine.bench_calls(address, SERVICE + "Write", messages)


def _python(address: str, messages: list[bytes]) -> float:
    import grpc

    with grpc.insecure_channel(address) as channel:
        grpc.channel_ready_future(channel).result(timeout=60)
        write = channel.unary_unary(SERVICE + "Write")
        start = time.perf_counter()
        for message in messages:
            write(message, timeout=60)
        return time.perf_counter() - start


def _requests(schema: str, batch: int, count: int) -> list[bytes]:
    """Serialized batches of so many inserts in all."""
    table = _table(schema)
    action = next(own["id"] for own in table["action_specs"] if own["name"] == "I.forward")
    target = _part(1, _number(2, ALL_PIPES))
    data = _part(3, _number(1, action) + _part(2, _number(1, 1) + _part(2, b"\0\1")))
    messages = []
    for first in range(0, count, batch):
        updates = []
        for key in range(first, first + batch):
            exact = _part(2, _part(1, key.to_bytes(4, "big")))
            match = _part(2, _part(1, _number(1, 1) + exact))
            entry = _part(1, _number(1, table["id"]) + match + data)
            updates.append(_part(3, _number(1, INSERT) + _part(2, entry)))
        messages.append(target + b"".join(updates))
    return messages


def _table(schema: str) -> dict[str, Any]:
    tables: list[dict[str, Any]] = json.loads(schema)["tables"]
    return next(own for own in tables if own["name"] == "pipe.I.t")


def _varint(value: int) -> bytes:
    """A number as Protobuf writes it, seven bits a byte."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _part(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content
