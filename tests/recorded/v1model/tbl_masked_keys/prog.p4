// keys `field & constant` of every kind: do the other bits of an entry matter?
#include <core.p4>
#include <v1model.p4>
header i_t { bit<16> a; }
header o_t { bit<8> f1; bit<8> f2; bit<8> f3; bit<8> f4; bit<8> f5; bit<8> f6; }
struct hdrs { i_t i; o_t o; }
struct meta_t {  }
parser P(packet_in b, out hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  state start { b.extract(h.i); transition accept; }
}
control V(inout hdrs h, inout meta_t m) { apply {  } }
control I(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  action s1(bit<8> x) { h.o.f1 = x; }
  table t1 { key = { h.i.a & 0x0ff0 : exact; } actions = { s1; NoAction; } default_action = NoAction();
    const entries = { 0x0123 : s1(1); 0x3450 : s1(2); } }
  action s2(bit<8> x) { h.o.f2 = x; }
  table t2 { key = { h.i.a & 0xff00 : ternary; } actions = { s2; NoAction; } default_action = NoAction();
    const entries = { 0x01ff : s2(1); 0x0200 &&& 0xff00 : s2(2); 0x0301 &&& 0x0301 : s2(3); } }
  action s3(bit<8> x) { h.o.f3 = x; }
  table t3 { key = { h.i.a & 0xff00 : lpm; } actions = { s3; NoAction; } default_action = NoAction();
    const entries = { 0x0111 &&& 0xffff : s3(1); 0x0210 &&& 0xfff0 : s3(2); } }
  action s4(bit<8> x) { h.o.f4 = x; }
  table t4 { key = { h.i.a[15:4] & 0x0f0 : exact; } actions = { s4; NoAction; } default_action = NoAction();
    const entries = { 0x120 : s4(1); 0x0f0 : s4(2); 0x030 : s4(3); } }
  action s5(bit<8> x) { h.o.f5 = x; }
  table t5 { key = { h.i.a & 0xff00 : range; } actions = { s5; NoAction; } default_action = NoAction();
    const entries = { 0x0180 .. 0x01ff : s5(1); 0x0210 .. 0x0220 : s5(2); } }
  action s6(bit<8> x) { h.o.f6 = x; }
  table t6 { key = { h.i.a & 0x0ff0 : optional; } actions = { s6; NoAction; } default_action = NoAction();
    const entries = { 0x0101 : s6(1); 0x0211 : s6(2); } }
  apply {
    sm.egress_spec = 2; h.o.setValid(); h.o.f1 = 0; h.o.f2 = 0; h.o.f3 = 0; h.o.f4 = 0; h.o.f5 = 0; h.o.f6 = 0;
    t1.apply(); t2.apply(); t3.apply(); t4.apply(); t5.apply(); t6.apply();
  }
}
control E(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {  }
}
control C(inout hdrs h, inout meta_t m) { apply {  } }
control D(packet_out b, in hdrs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
