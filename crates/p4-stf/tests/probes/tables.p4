// Checksums to update, digests, log_msg and assert, the deparser's order, and one field twice in a key.
#include <core.p4>
#include <v1model.p4>

header in_t {
    bit<8>  op;
    bit<8>  a;
    bit<16> b;
    bit<8>  c;
}

header sum_t {
    bit<16> odd;
    bit<16> zero;
    bit<16> ones;
    bit<16> not_done;
    bit<8>  narrow;
    bit<32> crc;
    bit<16> later;
}

header s_t {
    bit<8> x;
}

header hit_t {
    bit<8> v;
    bit<8> hit;
}

struct headers_t {
    in_t   i;
    sum_t  s;
    hit_t  t;
    s_t[4] stack;
}

struct meta_t { }

struct report_t {
    bit<8>  a;
    bit<16> b;
}

parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        packet.extract(h.i);
        transition accept;
    }
}

control V(inout headers_t h, inout meta_t m) {
    apply { }
}

control I(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    action set(bit<8> v) {
        h.t.v = v;
    }
    table same {
        key = {
            h.i.a: exact @name("first");
            h.i.a: ternary @name("second");
            h.i.b[7:4]: ternary @name("slice");
        }
        actions = { set; NoAction; }
        default_action = NoAction;
    }
    apply {
        sm.egress_spec = 2;
        h.s.setValid();
        h.s.not_done = 0x1234;
        h.t.setValid();
        if (same.apply().hit) { h.t.hit = 1; } else { h.t.hit = 0; }
        log_msg("a is {} and b is {}", { h.i.a, h.i.b });
        log_msg("nothing to say");
        assert(h.i.op != 0xff);
        assume(h.i.op != 0xfe);
        if (h.i.op == 2) {
            digest<report_t>(1, { h.i.a, h.i.b });
            digest<report_t>(1, { 8w1, h.i.b });
        } else if (h.i.op == 3) {
            digest<report_t>(1, { h.i.a, h.i.b });
            mark_to_drop(sm);
        } else if (h.i.op == 4) {
            h.stack[0].setValid();
            h.stack[0].x = 0xa0;
            h.stack[2].setValid();
            h.stack[2].x = 0xa2;
        }
    }
}

control E(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply { }
}

control C(inout headers_t h, inout meta_t m) {
    apply {
        update_checksum(true, { h.i.op, h.i.a, h.i.c }, h.s.odd, HashAlgorithm.csum16);
        update_checksum(true, { 16w0 }, h.s.zero, HashAlgorithm.csum16);
        update_checksum(true, { 24w0xffffff }, h.s.ones, HashAlgorithm.csum16);
        update_checksum(h.i.op == 9, { h.i.a }, h.s.not_done, HashAlgorithm.csum16);
        update_checksum(true, { h.i.a, h.i.b }, h.s.narrow, HashAlgorithm.xor16);
        update_checksum(true, { h.i.a, h.i.b }, h.s.crc, HashAlgorithm.crc32);
        update_checksum(true, { h.s.odd, h.s.zero }, h.s.later, HashAlgorithm.csum16);
    }
}

control D(packet_out packet, in headers_t h) {
    apply {
        packet.emit(h.t);
        packet.emit(h.stack);
        packet.emit(h.i);
        packet.emit(h.s);
        packet.emit(h.i);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
