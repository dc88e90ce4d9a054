// Who says NoMatch: a select without a case that fits, which bmv2 keeps to itself, or the program.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> op; bit<8> a; bit<8> result; }
struct headers { h_t h; h_t second; }
struct meta_t { }

parser P(packet_in p, out headers h, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        p.extract(h.h);
        transition select(h.h.op) {
            1: by_select;
            2: by_verify;
            3: by_variable;
            4: deeper;
            default: accept;
        }
    }
    state by_select { transition select(h.h.a) { 7: accept; } }
    state by_verify { verify(h.h.a == 7, error.NoMatch); transition accept; }
    state by_variable {
        error e = error.NoMatch;
        if (h.h.a == 9) { e = error.StackOutOfBounds; }
        verify(h.h.a == 7, e);
        transition accept;
    }
    state deeper {
        p.extract(h.second);
        verify(h.second.op != 2, error.NoMatch);
        transition select(h.second.op) { 1: accept; 2: accept; }
    }
}

control V(inout headers h, inout meta_t m) { apply { } }

control I(inout headers h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 2;
        h.h.result = 0xff;
        if (sm.parser_error == error.NoError) { h.h.result = 0; }
        else if (sm.parser_error == error.NoMatch) { h.h.result = 2; }
        else if (sm.parser_error == error.StackOutOfBounds) { h.h.result = 3; }
    }
}

control E(inout headers h, inout meta_t m, inout standard_metadata_t sm) { apply { } }
control C(inout headers h, inout meta_t m) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
