"""A program that learns sources, and clients with a stream, for tests of the server."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bfrt_chip import Caller
from p4lab.targets.tofino.messages import msg

LEARNER = """
#include <core.p4>
#include <tna.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers_t { ethernet_t ethernet; }
struct none_t {}
struct learnt_t { bit<48> src; }
parser IP(packet_in p, out headers_t h, out none_t m, out ingress_intrinsic_metadata_t i) {
    state start {
        p.extract(i); p.advance(PORT_METADATA_SIZE); p.extract(h.ethernet); transition accept;
    }
}
control I(inout headers_t h, inout none_t m, in ingress_intrinsic_metadata_t i,
          in ingress_intrinsic_metadata_from_parser_t p,
          inout ingress_intrinsic_metadata_for_deparser_t d,
          inout ingress_intrinsic_metadata_for_tm_t tm) {
    action forward(PortId_t to) { tm.ucast_egress_port = to; }
    table t { key = { h.ethernet.dst : exact; } actions = { forward; } size = 65536; }
    apply { t.apply(); d.digest_type = 1; }
}
control ID(packet_out p, inout headers_t h, in none_t m,
           in ingress_intrinsic_metadata_for_deparser_t d) {
    Digest<learnt_t>() learnt;
    apply { if (d.digest_type == 1) { learnt.pack({h.ethernet.src}); } p.emit(h); }
}
parser EP(packet_in p, out headers_t h, out none_t m, out egress_intrinsic_metadata_t e) {
    state start { p.extract(e); transition accept; }
}
control E(inout headers_t h, inout none_t m, in egress_intrinsic_metadata_t e,
          in egress_intrinsic_metadata_from_parser_t p,
          inout egress_intrinsic_metadata_for_deparser_t d,
          inout egress_intrinsic_metadata_for_output_port_t o) { apply {} }
control ED(packet_out p, inout headers_t h, in none_t m,
           in egress_intrinsic_metadata_for_deparser_t d) { apply {} }
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"""
CPU_PORT = 192  # in pipe 1
ALL_PIPES = 0xFFFF


@dataclass(frozen=True)
class Learner:
    """A switch that learns sources, and what a client has to know of it."""

    address: str
    forwarder: Any
    table: int
    action: int

    def batch(self, keys: Iterable[int], *, atomicity: int = 0, port: int = 7) -> Any:
        """A request that inserts entries."""
        request = msg.WriteRequest(atomicity=atomicity)
        request.target.pipe_id = ALL_PIPES
        for key in keys:
            entry = request.updates.add(type=1).entity.table_entry
            entry.table_id = self.table
            entry.key.fields.add(field_id=1).exact.value = key.to_bytes(6, "big")
            entry.data.action_id = self.action
            entry.data.fields.add(field_id=1).stream = port.to_bytes(2, "big")
        return request

    def usage(self, client: Any) -> int:
        request = msg.ReadRequest()
        request.entities.add().table_usage.table_id = self.table
        [answer] = client.Read(request)
        return answer.entities[0].table_usage.usage


class Subscriber(Caller):
    """A client with a stream."""

    def __init__(self, address: str, number: int, **wants: bool) -> None:
        super().__init__(address)
        self._ends: Any = queue.SimpleQueue()

        def requests() -> Iterator[Any]:
            request = msg.StreamMessageRequest(client_id=number)
            for name, wanted in wants.items():
                setattr(request.subscribe.notifications, f"enable_{name}_notifications", wanted)
            request.subscribe.device_id = 0
            yield request
            self._ends.get()

        self.stream = self.StreamChannel(requests())
        assert next(self.stream).subscribe.status.code == 0

    def close(self) -> None:
        self._ends.put(None)
        self.stream.cancel()
        self.channel.close()
