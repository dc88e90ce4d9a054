// `_` among the entries of a range key of 8, 31, 32, 33, 40, 48, 63, 64, 65 and 128 bits
#include <core.p4>
#include <v1model.p4>
header i_t { bit<8> a1; bit<31> a2; bit<32> a3; bit<33> a4; bit<40> a5; bit<48> a6; bit<63> a7; bit<64> a8; bit<65> a9; bit<128> a10; }
header o_t { bit<8> f1; bit<8> f2; bit<8> f3; bit<8> f4; bit<8> f5; bit<8> f6; bit<8> f7; bit<8> f8; bit<8> f9; bit<8> f10; }
struct hdrs { i_t i; o_t o; }
struct meta_t {  }
parser P(packet_in b, out hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  state start { b.extract(h.i); transition accept; }
}
control V(inout hdrs h, inout meta_t m) { apply {  } }
control I(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  action s1(bit<8> x) { h.o.f1 = x; }
  table t1 { key = { h.i.a1 : range; } actions = { s1; NoAction; } default_action = NoAction();
    const entries = { 0 .. 5 : s1(1); 7 : s1(2); 252 .. 254 : s1(3); _ : s1(4); } }
  action s2(bit<8> x) { h.o.f2 = x; }
  table t2 { key = { h.i.a2 : range; } actions = { s2; NoAction; } default_action = NoAction();
    const entries = { 0 .. 5 : s2(1); 7 : s2(2); 2147483644 .. 2147483646 : s2(3); _ : s2(4); } }
  action s3(bit<8> x) { h.o.f3 = x; }
  table t3 { key = { h.i.a3 : range; } actions = { s3; NoAction; } default_action = NoAction();
    const entries = { 0 .. 5 : s3(1); 7 : s3(2); 4294967292 .. 4294967294 : s3(3); _ : s3(4); } }
  action s4(bit<8> x) { h.o.f4 = x; }
  table t4 { key = { h.i.a4 : range; } actions = { s4; NoAction; } default_action = NoAction();
    const entries = { 0 .. 5 : s4(1); 7 : s4(2); 8589934588 .. 8589934590 : s4(3); _ : s4(4); } }
  action s5(bit<8> x) { h.o.f5 = x; }
  table t5 { key = { h.i.a5 : range; } actions = { s5; NoAction; } default_action = NoAction();
    const entries = { 0 .. 5 : s5(1); 7 : s5(2); 1099511627772 .. 1099511627774 : s5(3); _ : s5(4); } }
  action s6(bit<8> x) { h.o.f6 = x; }
  table t6 { key = { h.i.a6 : range; } actions = { s6; NoAction; } default_action = NoAction();
    const entries = { 0 .. 5 : s6(1); 7 : s6(2); 281474976710652 .. 281474976710654 : s6(3); _ : s6(4); } }
  action s7(bit<8> x) { h.o.f7 = x; }
  table t7 { key = { h.i.a7 : range; } actions = { s7; NoAction; } default_action = NoAction();
    const entries = { 0 .. 5 : s7(1); 7 : s7(2); 9223372036854775804 .. 9223372036854775806 : s7(3); _ : s7(4); } }
  action s8(bit<8> x) { h.o.f8 = x; }
  table t8 { key = { h.i.a8 : range; } actions = { s8; NoAction; } default_action = NoAction();
    const entries = { 0 .. 5 : s8(1); 7 : s8(2); 18446744073709551612 .. 18446744073709551614 : s8(3); _ : s8(4); } }
  action s9(bit<8> x) { h.o.f9 = x; }
  table t9 { key = { h.i.a9 : range; } actions = { s9; NoAction; } default_action = NoAction();
    const entries = { 0 .. 5 : s9(1); 7 : s9(2); 36893488147419103228 .. 36893488147419103230 : s9(3); _ : s9(4); } }
  action s10(bit<8> x) { h.o.f10 = x; }
  table t10 { key = { h.i.a10 : range; } actions = { s10; NoAction; } default_action = NoAction();
    const entries = { 0 .. 5 : s10(1); 7 : s10(2); 340282366920938463463374607431768211452 .. 340282366920938463463374607431768211454 : s10(3); _ : s10(4); } }
  apply {
    sm.egress_spec = 2; h.o.setValid(); h.o.f1 = 0; h.o.f2 = 0; h.o.f3 = 0; h.o.f4 = 0; h.o.f5 = 0; h.o.f6 = 0; h.o.f7 = 0; h.o.f8 = 0; h.o.f9 = 0; h.o.f10 = 0;
    t1.apply(); t2.apply(); t3.apply(); t4.apply(); t5.apply(); t6.apply(); t7.apply(); t8.apply(); t9.apply(); t10.apply();
  }
}
control E(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {  }
}
control C(inout hdrs h, inout meta_t m) { apply {  } }
control D(packet_out b, in hdrs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
