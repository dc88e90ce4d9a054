// lpm keys whose width is no multiple of 8: what does a prefix of n bits compare?
#include <core.p4>
#include <v1model.p4>
header i_t { bit<16> a; }
header o_t { bit<8> f1; bit<8> f2; bit<8> f3; bit<8> f4; }
struct hdrs { i_t i; o_t o; }
struct meta_t {  }
parser P(packet_in b, out hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  state start { b.extract(h.i); transition accept; }
}
control V(inout hdrs h, inout meta_t m) { apply {  } }
control I(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  action s1(bit<8> x) { h.o.f1 = x; }
  table t1 { key = { h.i.a[11:0] : lpm; } actions = { s1; NoAction; } default_action = NoAction();
    const entries = { 0x120 &&& 0xff0 : s1(1); 0x100 &&& 0xf00 : s1(2); 0x123 : s1(3); 0x800 &&& 0x800 : s1(4); } }
  action s2(bit<8> x) { h.o.f2 = x; }
  table t2 { key = { h.i.a[7:0] : lpm; } actions = { s2; NoAction; } default_action = NoAction();
    const entries = { 0x20 &&& 0xf0 : s2(1); 0x00 &&& 0x80 : s2(2); 0x23 : s2(3); } }
  action s3(bit<8> x) { h.o.f3 = x; }
  table t3 { key = { h.i.a[3:0] : lpm; } actions = { s3; NoAction; } default_action = NoAction();
    const entries = { 0x8 &&& 0x8 : s3(1); 0x4 &&& 0xc : s3(2); 0x1 : s3(3); _ : s3(4); } }
  action s4(bit<8> x) { h.o.f4 = x; }
  table t4 { key = { h.i.a[14:0] : lpm; } actions = { s4; NoAction; } default_action = NoAction();
    const entries = { 0x4000 &&& 0x4000 : s4(1); 0x2000 &&& 0x6000 : s4(2); 0x0003 &&& 0x7ffe : s4(3); } }
  apply {
    sm.egress_spec = 2; h.o.setValid(); h.o.f1 = 0; h.o.f2 = 0; h.o.f3 = 0; h.o.f4 = 0;
    t1.apply(); t2.apply(); t3.apply(); t4.apply();
  }
}
control E(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {  }
}
control C(inout hdrs h, inout meta_t m) { apply {  } }
control D(packet_out b, in hdrs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
