// lpm keys of 128 bits among the entries of a program: the length of a prefix
#include <core.p4>
#include <v1model.p4>
header i_t { bit<128> a; }
header o_t { bit<8> f1; bit<8> f2; }
struct hdrs { i_t i; o_t o; }
struct meta_t {  }
parser P(packet_in b, out hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  state start { b.extract(h.i); transition accept; }
}
control V(inout hdrs h, inout meta_t m) { apply {  } }
control I(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  action s1(bit<8> x) { h.o.f1 = x; }
  table t1 { key = { h.i.a : lpm; } actions = { s1; NoAction; } default_action = NoAction();
    const entries = { 0x20010db8000000000000000000000000 &&& 0xffffffff000000000000000000000000 : s1(1); 0x20010db8000000000000000000000001 : s1(2); } }
  action s2(bit<8> x) { h.o.f2 = x; }
  table t2 { key = { h.i.a[79:0] : lpm; } actions = { s2; NoAction; } default_action = NoAction();
    const entries = { 0x00010000000000000000 &&& 0xffff0000000000000000 : s2(1); } }
  apply {
    sm.egress_spec = 2; h.o.setValid(); h.o.f1 = 0; h.o.f2 = 0;
    t1.apply(); t2.apply();
  }
}
control E(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {  }
}
control C(inout hdrs h, inout meta_t m) { apply {  } }
control D(packet_out b, in hdrs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
