// Parsers: lookahead and advance, loops, extracting twice, sub-parsers, varbits, verify, reject, no match.
#include <core.p4>
#include <v1model.p4>

header ask_t {
    bit<8> op;
}

header byte_t {
    bit<8> x;
}

header pair_t {
    bit<16> x;
}

header bits_t {
    bit<8> n;
    varbit<32> v;
}

header saw_t {
    bit<8>  error_code;
    bit<8>  state;
    bit<8>  valid;
    bit<16> seen;
    bit<16> length;
}

struct headers_t {
    ask_t  ask;
    saw_t  saw;
    byte_t a;
    byte_t b;
    pair_t c;
    bits_t v;
}

struct meta_t {
    bit<8>  state;
    bit<16> seen;
    bit<8>  rounds;
}

error { Mine }

parser Sub(packet_in packet, out byte_t a, inout meta_t m) {
    state start {
        packet.extract(a);
        m.seen = (bit<16>)a.x;
        transition accept;
    }
}

parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    Sub() sub;
    state start {
        packet.extract(h.ask);
        transition select(h.ask.op) {
            1: look;
            2: skip;
            3: loop;
            4: twice;
            5: below;
            6: variable;
            7: check;
            8: refuse;
            9: nothing;
            10: ignore;
            11: made;
            12: unread;
            13: look_far;
            default: accept;
        }
    }
    state look {
        m.state = 1;
        m.seen = packet.lookahead<bit<16>>();
        packet.extract(h.a);
        m.state = 2;
        transition accept;
    }
    state look_far {
        m.state = 1;
        m.seen = (bit<16>)packet.lookahead<bit<32>>()[15:0];
        m.state = 2;
        transition accept;
    }
    state skip {
        m.state = 3;
        packet.advance(16);
        packet.extract(h.a);
        m.state = 4;
        transition accept;
    }
    state loop {
        m.rounds = m.rounds + 1;
        m.state = m.rounds;
        transition select(m.rounds) {
            200: accept;
            default: loop;
        }
    }
    state twice {
        packet.extract(h.a);
        packet.extract(h.a);
        m.state = 5;
        transition accept;
    }
    state below {
        sub.apply(packet, h.a, m);
        m.state = 6;
        transition accept;
    }
    state variable {
        bit<8> n = packet.lookahead<bit<8>>();
        packet.extract(h.v, (bit<32>)n);
        m.state = 7;
        transition accept;
    }
    state check {
        packet.extract(h.a);
        verify(h.a.x == 1, error.Mine);
        packet.extract(h.b);
        m.state = 8;
        transition accept;
    }
    state refuse {
        packet.extract(h.a);
        m.state = 9;
        transition reject;
    }
    state nothing {
        packet.extract(h.a);
        m.state = 10;
        transition select(h.a.x) {
            1: accept;
        }
    }
    state ignore {
        packet.extract<pair_t>(_);
        packet.extract(h.a);
        m.state = 11;
        transition accept;
    }
    state made {
        h.c.setValid();
        h.c.x = 0xcafe;
        packet.extract(h.a);
        m.state = 12;
        transition accept;
    }
    state unread {
        m.state = 13;
        transition accept;
    }
}

control V(inout headers_t h, inout meta_t m) {
    apply { }
}

control I(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 2;
        h.saw.setValid();
        if (sm.parser_error == error.NoError) { h.saw.error_code = 0; }
        else if (sm.parser_error == error.PacketTooShort) { h.saw.error_code = 1; }
        else if (sm.parser_error == error.NoMatch) { h.saw.error_code = 2; }
        else if (sm.parser_error == error.StackOutOfBounds) { h.saw.error_code = 3; }
        else if (sm.parser_error == error.HeaderTooShort) { h.saw.error_code = 4; }
        else if (sm.parser_error == error.ParserInvalidArgument) { h.saw.error_code = 6; }
        else if (sm.parser_error == error.Mine) { h.saw.error_code = 7; }
        else { h.saw.error_code = 0xff; }
        h.saw.state = m.state;
        h.saw.seen = m.seen;
        h.saw.length = (bit<16>)sm.packet_length;
        h.saw.valid = 0;
        if (h.a.isValid()) { h.saw.valid = h.saw.valid | 1; }
        if (h.b.isValid()) { h.saw.valid = h.saw.valid | 2; }
        if (h.c.isValid()) { h.saw.valid = h.saw.valid | 4; }
        if (h.v.isValid()) { h.saw.valid = h.saw.valid | 8; }
    }
}

control E(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply { }
}

control C(inout headers_t h, inout meta_t m) {
    apply { }
}

control D(packet_out packet, in headers_t h) {
    apply {
        packet.emit(h.ask);
        packet.emit(h.saw);
        packet.emit(h.c);
        packet.emit(h.a);
        packet.emit(h.v);
        packet.emit(h.b);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
