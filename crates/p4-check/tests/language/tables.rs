//! Tables and value sets (specification 14.2, 13.11).

use super::check;

#[test]
fn value_sets() {
    check(
        "struct pair_t { @match(ternary) bit<8> x; @match(exact) bit<16> y; }
        enum bit<8> kind_t { a = 1, b = 2 }
        parser p(packet_in packet, in bit<8> x, in bit<16> y, in kind_t kind) {
            value_set<bit<8>>(4) numbers;
            @name(\"pairs\") value_set<pair_t>(2 + 2) pairs;
            value_set<tuple<bit<8>, bit<16>>>(8) tuples;
            value_set<kind_t>(1) kinds;
            state start {
                transition select(x) { numbers: accept; 0 .. 3: both; _: reject; }
            }
            state both {
                transition select(x, y) { pairs: accept; tuples: accept; (numbers, 3): kind; }
            }
            state kind { transition select(kind) { kinds: accept; } }
        }",
    );
    check(
        "parser p(packet_in packet, in bit<8> x, in bit<16> y) {
            value_set<bit<8>>(4) numbers;
            value_set<int>(4) any; //~ E0318
            value_set<bit<8>>(x) late; //~ E0509
            state start {
                transition select(y) { numbers: accept; } //~ E0302
            }
            state other { transition select(x, y) { numbers: accept; } } //~ E0405
        }
        control c(inout bit<8> x) {
            value_set<bit<8>>(4) numbers; //~ E0110
            apply {}
        }",
    );
}

#[test]
fn tables_whole() {
    check(
        "match_kind { range, optional }
        header h_t { bit<32> a; bit<8> b; bool c; }
        control c(inout h_t h, inout bit<9> port) {
            action forward(bit<9> out_port, bit<8> b) { port = out_port; h.b = b; }
            action shift(in bit<8> by, bit<9> more) { port = more << by; }
            action drop() { port = 511; }
            table t {
                key = {
                    h.a : lpm;
                    h.b : ternary @name(\"b\");
                    h.a[7:0] : exact;
                    h.isValid() : optional;
                    h.b + 1 : range @name(\"sum\");
                }
                actions = { forward; shift(h.b); drop; @defaultonly NoAction; }
                default_action = shift(h.b, 3);
                entries = {
                    priority = 10 : (0x0a000000 &&& 0xff000000, _, 3, true, 1 .. 5) : forward(1, 2);
                    (_, 5, 3, _, _) : drop();
                    const priority = 30 : (0, 1 &&& 1, 3, false, 4 .. 4) : shift(7);
                }
                size = 1024;
                largest_priority_wins = true;
                priority_delta = 5;
            }
            table keyless { actions = { drop; } default_action = drop; }
            apply {
                if (t.apply().hit) { keyless.apply(); }
                switch (t.apply().action_run) { forward: {} default: { drop(); } }
                bool missed = t.apply().miss;
            }
        }",
    );
    check(
        "header h_t { bit<32> a; bit<8> b; }
        control c(inout h_t h, inout bit<9> port) {
            action forward(bit<9> out_port) { port = out_port; }
            action drop() { port = 511; }
            action own(in bit<8> x, bit<8> y) {}
            table a {
                key = { h : exact; } //~ E0409
                actions = { forward; nothing; } //~ E0201
                default_action = drop; //~ E0413
            }
            table b {
                key = { h.a : exact; h.b : closest; } //~ E0410
                actions = { forward; forward; } //~ E0411
                default_action = forward; //~ E0332
            }
            table d { key = { h.a : exact; } } //~ E0407
            table e { //~ E0408
                actions = { drop; }
                entries = { 1 : drop; }
            }
            table f {
                key = { h.a : exact; h.b : lpm; }
                actions = { forward; drop; own(h.b); }
                const entries = {
                    (1, 2) : forward(1, 2); //~ E0332
                    (1) : drop; //~ E0405
                    (true, 2) : drop; //~ E0302
                    (2, 1 .. 2) : drop; //~ E0421
                    (5, 5) : own(1, 2); //~ E0422
                    (7, port[7:0]) : drop; //~ E0501
                }
            }
            table g {
                key = { h.a + 1 : exact; h.a & 0xf : exact; 0xf & h.a : exact; } //~ E0418
                key = { h.a : exact; } //~ E0406
                actions = { drop; }
            }
            action nested() { f.apply(); } //~ E0335
            apply { f.apply(1); f(); } //~ E0330 E0332
        }
        parser p(packet_in packet) { state start { transition accept; } }",
    );
}
