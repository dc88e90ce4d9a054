//! Statements (specification 12).

use super::check;

#[test]
fn loops() {
    check(
        "header h_t { bit<8> x; }
        struct headers_t { h_t[4] stack; }
        bit<8> sum(in bit<8> n) {
            bit<8> total = 0;
            for (bit<8> i = 0; i < n; i = i + 1) {
                if (i == 3) { continue; }
                total = total + i;
                if (total > 100) { break; }
            }
            return total;
        }
        control c(inout headers_t hdr, inout bit<8> x) {
            action twice() { for (bit<8> i in 1 .. 2) { x = x + i; } }
            apply {
                for (bit<8> i in 0 .. 7) { x += i; }
                for (bit<8> i = 0, bit<8> j = 9; i < j; i += 1, j -= 1) { x = x + j; }
                for (;x < 8;) { x = x + 1; }
                for (h_t h in hdr.stack) { x = x + h.x; }
                for (bit<8> i in (list<bit<8>>) { 1, 5, 7 }) { if (i == x) { return; } exit; }
                twice();
                for (bit<8> i in 0 .. 3) for (bit<8> j in i .. 3) { x = x ^ j; }
            }
        }",
    );
    check(
        "control c(inout bit<8> x, inout bool b) {
            apply {
                break; //~ E0346
                continue; //~ E0346
                for (bit<8> i in x) { x = i; } //~ E0350
                for (bit<16> i in 8w0 .. 7) { x = 1; } //~ E0302
                for (bit<8> i = 0; i + 1; i = i + 1) { x = i; } //~ E0302
                x = i; //~ E0201
                for (x in 0 .. 7) { b = true; } //~ E0350
            }
        }",
    );
}

#[test]
fn switches_on_values() {
    check(
        "enum color_t { red, green, blue }
        enum bit<8> kind_t { a = 1, b = 2 }
        const bit<8> seven = 7;
        control c(inout bit<8> x, in color_t color, in kind_t kind, in bool yes) {
            apply {
                switch (x) {
                    0: { x = 1; }
                    1:
                    2: { x = 3; }
                    seven: { x = 8; }
                    3 + 1: { x = 9; }
                    default: { x = 0; }
                }
                switch (color) { color_t.red: { x = 1; } color_t.blue: { return; } }
                switch (kind) { kind_t.a: { x = 1; } default: {} }
                switch (x[3:0] ++ x[7:4]) { 0x12: { exit; } }
                switch (yes) { true: { x = 4; } } //~ E0404
            }
        }",
    );
    check(
        "enum color_t { red, green }
        struct s_t { bit<8> x; }
        control c(inout bit<8> x, in color_t color, in s_t s) {
            action a() {}
            table t { actions = { a; NoAction; } }
            apply {
                switch (x) {
                    1: { x = 1; }
                    1: { x = 2; } //~ E0349
                    x: { x = 3; } //~ E0501
                    true: { x = 4; } //~ E0302
                    default: {}
                    3: { x = 5; } //~ E0349
                }
                switch (color) { 1: { x = 1; } } //~ E0302
                switch (s) { default: {} } //~ E0404
                switch (t.apply().action_run) {
                    a: {}
                    b: {} //~ E0413
                    1: {} //~ E0413
                }
                switch (t.apply().hit) { true: {} } //~ E0404
            }
        }
        parser p(packet_in packet, in bit<8> x) {
            state start {
                switch (x) { default: {} } //~ E0119
                transition accept;
            }
        }",
    );
}

#[test]
fn operators_that_assign() {
    check(
        "header h_t { bit<8> x; }
        struct m_t { bit<8>[4] numbers; }
        control c(inout h_t h, inout m_t m, inout int<16> y, in bit<4> n) {
            apply {
                h.x += 1; h.x -= h.x; h.x *= 3;
                h.x &= 0xf; h.x |= 1; h.x ^= h.x;
                h.x <<= 2; h.x >>= n; h.x /= 4; h.x %= 2;
                h.x |+|= 200; h.x |-|= 1;
                h.x[3:0] += 1;
                m.numbers[n] += h.x;
                y += -3; y >>= 1;
            }
        }",
    );
    check(
        "control c(inout bit<8> x, in bit<8> y, inout bit<16> z, inout bool b, inout int<8> s) {
            apply {
                x += z; //~ E0302
                y += 1; //~ E0324
                b &= true; //~ E0308
                x <<= s; //~ E0503
                3 += x; //~ E0112
                x += b; //~ E0302
            }
        }",
    );
}

#[test]
fn exit_and_return() {
    check(
        "bit<8> positive(in int<8> x) {
            if (x < 0) { return 0; } else { return (bit<8>) x; }
        }
        void nothing(inout bit<8> x) { if (x == 0) { return; } x = 1; }
        control c(inout bit<8> x) {
            action a() { if (x == 1) { exit; } return; }
            table t { key = { x : exact; } actions = { a; NoAction; } }
            apply {
                nothing(x);
                if (!t.apply().hit) { exit; }
                if (x == 2) { return; }
                x = positive(3);
            }
        }",
    );
    check(
        "bit<8> some(in int<8> x) { //~ E0316
            if (x < 0) { return 0; }
        }
        bit<8> ends() { exit; } //~ E0347
        void nothing() { return 1; } //~ E0351
        bit<8> value() { return; } //~ E0351
        control c(inout bit<8> x) {
            action a() { return x; } //~ E0351
            apply { a(); return 1; } //~ E0351
        }
        parser p(packet_in packet) {
            state start {
                exit; //~ E0119
                transition accept;
            }
        }",
    );
}

#[test]
fn side_effects_and_calls() {
    check(
        "extern bit<8> next(inout bit<8> state);
        bit<8> twice(inout bit<8> x) { x = x * 2; return x; }
        control c(inout bit<8> x, inout bit<8> y) {
            action set(inout bit<8> where, bit<8> what) { where = what; }
            apply {
                x = twice(y) + next(x) * twice(x);
                if (next(x) == 1 && twice(y) == 2) { twice(x); }
                set(x, 3);
                set(where = y, what = 4);
                set(x, next(y));
            }
        }",
    );
    check(
        "bit<8> twice(inout bit<8> x) { x = x * 2; return x; }
        void read(in bit<8> x, out bit<8> y) { y = x; }
        const bit<8> one = 1;
        control c(inout bit<8> x, in bit<8> z) {
            apply {
                x = twice(z); //~ E0324
                x = twice(3); //~ E0324
                x = twice(one); //~ E0324
                x = twice(x + 1); //~ E0324
                read(1, x);
                read(1, _);
                read(_, x); //~ E0339
                read(1); //~ E0332
                read(1, x, 2); //~ E0332
                read(x = 1, z = x); //~ E0332 E0338
                read(x = 1, y = x);
                x = read(1, x); //~ E0302
                one = 2; //~ E0324
            }
        }",
    );
}
