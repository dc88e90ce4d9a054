//! Numbers and operators (specification 8.5 to 8.11).

use super::check;

#[test]
fn saturating_arithmetic() {
    check(
        "const bit<8> most = 8w250 |+| 10;
        const bit<8> least = 3 |-| 8w10;
        const bool right = static_assert(most == 255 && least == 0, \"saturates\");
        control c(inout bit<8> x, inout int<8> y) {
            apply {
                x = x |+| 1;
                x = 1 |-| x;
                y = y |+| y;
                x |+|= 3;
                y |-|= 1;
            }
        }",
    );
    check(
        "const int big = 1 |+| 2; //~ E0308
        control c(inout bit<8> x, inout bit<16> y, inout bool b) {
            apply {
                x = x |+| y; //~ E0308
                b = b |-| b; //~ E0308
                b |+|= true; //~ E0308
            }
        }",
    );
}

#[test]
fn numbers_of_any_size() {
    check(
        "const int huge = 1 << 200;
        const int third = huge / 3 - huge % 3;
        const bit<256> wide = (bit<256>) third;
        const bool large = huge > 0 && -huge < 0;
        const bit<8> cut = (bit<8>) (huge + 5);
        const bool kept = static_assert(cut == 5, \"the low bits are kept\");
        const bit<4> sliced = 0x1234[11:8];
        const bool two = static_assert(sliced == 2, \"a slice of a number\");
        const int shifted = (5 << 3) >> 1;
        const bool right = static_assert(shifted == 20, \"shifts\");
        extern void take(int n);
        control c(inout bit<8> x, inout int<16> y)(int n) {
            apply {
                x = x + 3 * 4;
                y = y - 70 + n;
                x = 2 ++ 6w3; //~ E0308
                take(huge);
                x = (bit<8>) n;
            }
        }",
    );
    check(
        "const int negative = -7 / 2; //~ E0504
        const int rest = 7 % -2; //~ E0504
        const int none = 7 / 0; //~ E0502
        const int flipped = ~5; //~ E0308
        const int back = 1 << -1; //~ E0503
        int number() { return 1; } //~ E0310
        header h_t { int n; } //~ E0315
        control c(in int n, inout bit<8> x) { //~ E0310
            int local = 3; //~ E0302
            apply { x = x + true; } //~ E0308
        }",
    );
}

#[test]
fn widths_and_signs_do_not_mix() {
    check(
        "control c(inout bit<8> x, inout int<8> y, inout bit<16> z, inout bool b) {
            apply {
                z = x ++ x;
                z = (bit<16>) x;
                y = (int<8>) x;
                z = (bit<16>) (int<16>) y;
                x = z[15:8];
                z[7:0] = x;
                z = z << x;
                y = y >> 3;
                b = (bool) x[0:0];
                x = (bit<8>) (bit<1>) b;
                x = -x;
                x = ~x & 0xf0 | (x ^ 1);
                b = !b && x <= 3 || y > -1;
                x = b ? x : 3;
                x = z[x[2:0] +: 8];
                z = 5 ++ z[10:0] == 0 ? z : z; //~ E0308
            }
        }",
    );
    check(
        "control c(inout bit<8> x, inout int<8> y, inout bit<16> z, inout bool b) {
            apply {
                z = x; //~ E0302
                y = x; //~ E0302
                x = x + y; //~ E0308
                b = x; //~ E0302
                b = (bool) x; //~ E0323
                y = (int<8>) z; //~ E0323
                x = z[7:8]; //~ E0307
                x = z[16:9]; //~ E0307
                x = z[x:0]; //~ E0501
                z = z << y; //~ E0503
                x = !x; //~ E0308
                b = ~b; //~ E0308
                b = x == z; //~ E0308
                b = b < b; //~ E0308
                if (x) { z = 0; } //~ E0302
                x = b ? x : z; //~ E0302
                y = y / y; //~ E0308
                x = x / y; //~ E0308
            }
        }",
    );
}

#[test]
fn division_is_for_constants() {
    check(
        "const bit<8> seventh = 100 / 7;
        control c(inout bit<16> x)(bit<16> n) {
            apply {
                x = x / 8;
                x = x % 16;
                x = 16w100 / 7 + n / 3;
                x = x / 10; //~ E0508
                x %= x; //~ E0508
                x /= 0; //~ E0502
            }
        }",
    );
}
