// fields of invalid headers as keys, their bytes being 5: a field, masked, computed with, sliced, of a stack element
#include <core.p4>
#include <v1model.p4>
header i_t { bit<8> a; }
header o_t { bit<8> f1; bit<8> f2; bit<8> f3; bit<8> f4; bit<8> f5; bit<8> f6; }
header j_t { bit<8> x; }
struct hdrs { i_t i; o_t o; j_t j; j_t[2] s; }
struct meta_t {  }
parser P(packet_in b, out hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  state start { b.extract(h.i); transition accept; }
}
control V(inout hdrs h, inout meta_t m) { apply {  } }
control I(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  action s1(bit<8> x) { h.o.f1 = x; }
  table t1 { key = { h.j.x : exact @name("k"); } actions = { s1; NoAction; } default_action = NoAction();
    const entries = { 0 : s1(1); 5 : s1(2); } }
  action s2(bit<8> x) { h.o.f2 = x; }
  table t2 { key = { h.j.x & 0x0f : ternary @name("k"); } actions = { s2; NoAction; } default_action = NoAction();
    const entries = { 0 : s2(1); 5 : s2(2); } }
  action s3(bit<8> x) { h.o.f3 = x; }
  table t3 { key = { h.j.x ^ h.i.a : exact @name("k"); } actions = { s3; NoAction; } default_action = NoAction();
    const entries = { 0 : s3(1); 5 : s3(2); } }
  action s4(bit<8> x) { h.o.f4 = x; }
  table t4 { key = { h.j.x[3:0] : exact @name("k"); } actions = { s4; NoAction; } default_action = NoAction();
    const entries = { 0 : s4(1); 5 : s4(2); } }
  action s5(bit<8> x) { h.o.f5 = x; }
  table t5 { key = { h.s[0].x : exact @name("k"); } actions = { s5; NoAction; } default_action = NoAction();
    const entries = { 0 : s5(1); 5 : s5(2); } }
  action s6(bit<8> x) { h.o.f6 = x; }
  table t6 { key = { h.s[0].x & 0x0f : exact @name("k"); } actions = { s6; NoAction; } default_action = NoAction();
    const entries = { 0 : s6(1); 5 : s6(2); 0x10 : s6(3); } }
  apply {
    sm.egress_spec = 2; h.o.setValid(); h.o.f1 = 0; h.o.f2 = 0; h.o.f3 = 0; h.o.f4 = 0; h.o.f5 = 0; h.o.f6 = 0;
    h.j.setValid(); h.j.x = h.i.a; h.j.setInvalid();
    h.s[0].setValid(); h.s[0].x = h.i.a; h.s[0].setInvalid();
    t1.apply(); t2.apply(); t3.apply(); t4.apply(); t5.apply(); t6.apply();
  }
}
control E(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {  }
}
control C(inout hdrs h, inout meta_t m) { apply {  } }
control D(packet_out b, in hdrs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
