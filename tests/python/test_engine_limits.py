"""Without these, a judge would wait long for every packet that never comes to an end."""

import pytest

from p4lab import _engine

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
struct headers_t {}
struct meta_t {}
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control C(inout headers_t h, inout meta_t m) { apply {} }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply { resubmit_preserving_field_list(0); }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in headers_t h) { apply {} }
V1Switch(P(), C(), I(), E(), C(), D()) main;
"""


@pytest.mark.parametrize("passes", [1, 7, 128])
def test_a_packet_goes_around_as_often_as_it_may(passes):
    program = _engine.compile_text("loop.p4", PROGRAM).program
    switch = _engine.Switch(program, max_passes=passes)
    packets = switch.trace(1, bytes(64))["packets"]
    assert max(packet["pass"] for packet in packets) == passes
    assert packets[-1]["fate"]["kind"] == "dropped"
    usual = _engine.Switch(program).trace(1, bytes(64))["packets"]
    assert max(packet["pass"] for packet in usual) == 1024


def test_an_arriving_packet_becomes_as_many_as_it_may():
    program = _engine.compile_text("loop.p4", PROGRAM).program
    packets = _engine.Switch(program, max_packets=9).trace(1, bytes(64))["packets"]
    assert len(packets) == 9
