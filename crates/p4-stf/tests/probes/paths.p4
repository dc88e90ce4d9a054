// Ways of a packet: what happens at the end of ingress and egress. Op 0 is dropped.
#include <core.p4>
#include <v1model.p4>

header ask_t {
    bit<8> op;
    bit<8> mark;
}

header saw_t {
    bit<8>  ingress_kind;
    bit<8>  egress_kind;
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<16> rid;
    bit<16> length;
    bit<8>  kept;
    bit<8>  lost;
    bit<8>  parsed;
}

struct headers_t {
    ask_t ask;
    saw_t saw;
}

struct meta_t {
    @field_list(1) bit<8> kept;
    bit<8> lost;
    @field_list(1) bit<8> passes;
    bit<8> parsed;
    bit<8> kind;
}

parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        packet.extract(h.ask);
        m.parsed = h.ask.mark + 1;
        transition accept;
    }
}

control V(inout headers_t h, inout meta_t m) {
    apply { }
}

control I(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        m.kind = (bit<8>)sm.instance_type;
        if (h.ask.op == 0) {
            mark_to_drop(sm);
        } else if (sm.instance_type == 4) { // recirculated
            sm.egress_spec = 7;
            if (h.ask.op == 41) {
                h.ask.mark = 0xee;
                resubmit_preserving_field_list(1);
            }
        } else if (sm.instance_type == 6) { // resubmitted
            sm.egress_spec = 10;
        } else {
            m.kept = 0x4b;
            m.lost = 0x4e;
            sm.egress_spec = 2;
            if (h.ask.op == 1) { clone(CloneType.I2E, 5); sm.mcast_grp = 1; }
            else if (h.ask.op == 2) { sm.mcast_grp = 1; clone(CloneType.I2E, 5); mark_to_drop(sm); }
            else if (h.ask.op == 3) { sm.mcast_grp = 99; }
            else if (h.ask.op == 4) { sm.mcast_grp = 2; }
            else if (h.ask.op == 5) { sm.mcast_grp = 3; }
            else if (h.ask.op == 6) { clone(CloneType.I2E, 77); }
            else if (h.ask.op == 7) { clone(CloneType.I2E, 5); clone(CloneType.I2E, 6); }
            else if (h.ask.op == 8) { clone(CloneType.I2E, 5); clone(CloneType.I2E, 77); }
            else if (h.ask.op == 9) { clone(CloneType.I2E, 0); }
            else if (h.ask.op == 10) { clone(CloneType.I2E, 0x8005); }
            else if (h.ask.op == 11) { clone(CloneType.I2E, 9); }
            else if (h.ask.op == 20) { h.ask.mark = 0x99; h.saw.setValid(); clone_preserving_field_list(CloneType.I2E, 5, 1); m.kept = 0x55; }
            else if (h.ask.op == 21) { h.ask.mark = 0x99; clone(CloneType.I2E, 5); }
            else if (h.ask.op == 22) { clone_preserving_field_list(CloneType.I2E, 5, 1); clone(CloneType.I2E, 5); }
            else if (h.ask.op == 30) { sm.egress_spec = 511; }
            else if (h.ask.op == 31) { sm.egress_spec = 510; }
            else if (h.ask.op == 32) { mark_to_drop(sm); sm.egress_spec = 9; }
            else if (h.ask.op == 33) { sm.egress_port = 4; }
            else if (h.ask.op == 34) { sm.egress_spec = 3; sm.egress_spec = 9; }
            else if (h.ask.op == 40) { resubmit_preserving_field_list(1); h.ask.mark = 0x77; }
        }
    }
}

control E(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        if (sm.instance_type == 0 && m.kind == 0) {
            if (h.ask.op == 12) { clone(CloneType.E2E, 77); }
            else if (h.ask.op == 13) { clone(CloneType.E2E, 5); clone(CloneType.E2E, 6); }
            else if (h.ask.op == 14) { clone_preserving_field_list(CloneType.E2E, 9, 1); }
            else if (h.ask.op == 41 || h.ask.op == 42) { h.ask.mark = 0xaa; recirculate_preserving_field_list(1); }
        }
        h.saw.setValid();
        h.saw.ingress_kind = m.kind;
        h.saw.egress_kind = (bit<8>)sm.instance_type;
        h.saw.ingress_port = (bit<16>)sm.ingress_port;
        h.saw.egress_port = (bit<16>)sm.egress_port;
        h.saw.rid = sm.egress_rid;
        h.saw.length = (bit<16>)sm.packet_length;
        h.saw.kept = m.kept;
        h.saw.lost = m.lost;
        h.saw.parsed = m.parsed;
    }
}

control C(inout headers_t h, inout meta_t m) {
    apply { }
}

control D(packet_out packet, in headers_t h) {
    apply {
        packet.emit(h.ask);
        packet.emit(h.saw);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
