//! Parsers, controls, packages and externs (specification 11, 13, 14, 16).

use super::check;

#[test]
fn parsers_in_parsers() {
    check(
        "header h_t { bit<8> x; bit<8> more; }
        struct headers_t { h_t[8] stack; h_t last; }
        parser inner(packet_in packet, out h_t h, in bit<8> before)(bit<8> limit, bool strict) {
            bit<8> seen = before + limit;
            state start {
                packet.extract(h);
                transition select(h.more, strict) {
                    (limit, true): reject;
                    (0 .. 3, _): accept;
                    (0xf0 &&& 0xf0, false): accept;
                    default: other;
                }
            }
            state other { verify(h.x != 0, error.NoMatch); transition accept; }
        }
        parser plain(packet_in packet, out h_t h) {
            state start { packet.extract(h); transition accept; }
        }
        parser outer(packet_in packet, out headers_t hdr) {
            inner(3, true) strict;
            inner(limit = 9, strict = false) lax;
            state start {
                strict.apply(packet, hdr.last, 0);
                transition select(packet.lookahead<bit<8>>()) { 1: again; _: accept; }
            }
            state again {
                lax.apply(packet, hdr.stack.next, hdr.last.x);
                plain.apply(packet, hdr.last);
                packet.advance(8);
                transition start;
            }
        }",
    );
    check(
        "header h_t { bit<8> x; }
        parser inner(packet_in packet, out h_t h)(bit<8> limit) {
            state start { transition accept; }
        }
        parser plain(packet_in packet, out h_t h)(in bit<8> limit) { //~ E0310
            state start { transition accept; }
        }
        control side(inout h_t h) { apply {} }
        parser outer(packet_in packet, out h_t h, in bit<8> n) {
            inner() none; //~ E0332
            inner(n) late; //~ E0501
            inner(true) typed; //~ E0302
            inner(1) right;
            side() foreign; //~ E0343
            state start {
                inner.apply(packet, h); //~ E0336
                right.apply(packet); //~ E0332
                right.apply(packet, n); //~ E0324
                right.apply(packet, n, n); //~ E0324 E0332
                transition nowhere; //~ E0403
            }
            state accept { transition start; } //~ E0401
        }
        parser endless(packet_in packet) {
            state start { transition middle; } 
            state middle { transition select(8w1) { true: accept; _: reject; } } //~ E0302
        }",
    );
}

#[test]
fn controls_in_controls() {
    check(
        "control counter(inout bit<8> x)(bit<8> step, bit<8> start) {
            bit<8> local = start;
            action add() { x = x + step; }
            table t { key = { x : exact; } actions = { add; NoAction; } size = 4; }
            apply { t.apply(); x = x + local; }
        }
        control simple(inout bit<8> x) { apply { x = 0; } }
        control outer(inout bit<8> x) {
            counter(1, 0) one;
            counter(step = 2, start = 3) two;
            simple() three;
            apply {
                one.apply(x);
                if (x == 3) { two.apply(x = x); }
                three.apply(x);
                simple.apply(x);
            }
        }
        control C(inout bit<8> x);
        package Pack(C a, C b, bit<8> n);
        Pack(outer(), counter(7, 7), 3) main;",
    );
    check(
        "control counter(inout bit<8> x)(bit<8> step) { apply { x = x + step; } }
        parser foreign(packet_in packet) { state start { transition accept; } }
        control holder(inout bit<8> x)(foreign f) { apply {} } //~ E0310
        control outer(inout bit<8> x) {
            foreign() parsing; //~ E0343
            counter(1) one;
            action a() { one.apply(x); } //~ E0335
            apply {
                counter(2) late; //~ E0343
                counter.apply(x); //~ E0336
                one.apply(x, x); //~ E0332
                one.apply(1); //~ E0324
                one = one; //~ E0324
                outer.apply(x); //~ E0207
            }
        }
        counter(1) alone; //~ E0364
        control C(inout bit<16> x);
        package Pack(C a);
        Pack(counter(1)) main; //~ E0326",
    );
}

#[test]
fn externs_with_abstract_methods() {
    check(
        "extern Balancer<T> {
            Balancer(bit<8> ways);
            abstract bit<9> pick(in T packet);
            @optional abstract void seen(inout T packet);
            bit<9> run(in T packet);
        }
        control c(inout bit<16> x, inout bit<9> port) {
            Balancer<bit<16>>(4) balancer = {
                bit<9> pick(in bit<16> packet) {
                    bit<9> low = packet[8:0];
                    return low & 3;
                }
            };
            apply { port = balancer.run(x); }
        }",
    );
    check(
        "extern Balancer {
            Balancer();
            abstract bit<9> pick(in bit<16> packet);
        }
        extern Plain { Plain(); void run(); }
        Balancer() missing; //~ E0355
        Balancer() wrong = {
            bit<9> pick(in bit<8> packet) { return 1; } //~ E0356
        };
        Balancer() out_of_it = {
            bit<9> pick(inout bit<16> packet) { return 1; } //~ E0356
        };
        Balancer() more = {
            bit<9> pick(in bit<16> packet) { return 1; }
            void other() {} //~ E0354
        };
        Plain() plain = { //~ E0353
            void run() {}
        };
        control c(inout bit<16> x)(Balancer b) { apply {} }
        control C(inout bit<16> x);
        package Pack(C c);
        Pack(c(Balancer())) main; //~ E0355",
    );
}

#[test]
fn extern_methods_and_overloads() {
    check(
        "extern Hash {
            Hash(bit<8> kind);
            Hash();
            bit<16> get(in bit<8> x);
            bit<16> get(in bit<8> x, in bit<8> y);
            void set(in bit<8> x, @optional in bit<8> y);
            void limit(in bit<8> most = 255);
        }
        extern void send(in bit<8> x);
        extern void send(in bit<8> x, in bool now);
        control c(inout bit<8> x, inout bit<16> y) {
            Hash() a;
            Hash(3) b;
            apply {
                y = a.get(x) + b.get(x, 1);
                a.set(x);
                a.set(x, x);
                a.limit();
                b.limit(7);
                send(x);
                send(x, true);
                send(now = false, x = x);
            }
        }",
    );
    check(
        "extern Hash { Hash(); bit<16> get(in bit<8> x); }
        extern None { void run(); }
        control c(inout bit<8> x, inout bit<16> y, in bit<16> z) {
            Hash() a;
            None() none; //~ E0342
            Hash(1) b; //~ E0332
            Hash bare; //~ E0352
            apply {
                y = a.put(x); //~ E0333
                y = a.get(); //~ E0332
                y = a.get(z); //~ E0302
                y = Hash.get(x); //~ E0333
                a(); //~ E0330
            }
        }",
    );
}

#[test]
fn annotations() {
    check(
        "@deprecated(\"use other\") extern void old();
        @free[1, 2 + 3, \"text\", true] struct s_t { @field[width=8, name=\"x\"] bit<8> x; }
        @anything(goes: here (even { this }) 3 < 4) control c(@inside inout s_t s) {
            @name(\"renamed\") @hidden action a(@unused bit<8> x) { s.x = x; }
            @name(\".top\") @max_size(10) table t {
                key = { s.x : exact @name(\"first\"); }
                actions = { @tableonly a; @defaultonly NoAction; }
                default_action = NoAction;
            }
            apply { @atomic { t.apply(); } }
        }
        @pragma_like enum e_t { one, two }
        parser p(packet_in packet) { @name(\"begin\") state start { transition accept; } }",
    );
    check(
        "@once[1] @once[2] struct s_t { bit<8> x; } //~ E0366
        @twice[a=1, a=2] struct t_t { bit<8> x; } //~ E0366
        @value[s_t] struct u_t { bit<8> x; } //~ E0105
        @name(3) struct v_t { bit<8> x; } //~ E0368
        control c(inout bit<8> x) {
            action a() {}
            table t {
                key = { x : exact; }
                actions = { @defaultonly a; NoAction; }
                const entries = { 1 : a(); } //~ E0415
            }
            apply { t.apply(); }
        }",
    );
}

#[test]
fn what_methods_see() {
    check(
        "extern Cell { Cell(); abstract void step(inout bit<8> x); void again(); }
        control c(inout bit<8> x) {
            Cell() cell = {
                void step(inout bit<8> x) { this.again(); x = x + 1; }
            };
            apply { cell.again(); }
        }
        control d(inout bit<8> x) { apply { this.again(); } } //~ E0205",
    );
}
