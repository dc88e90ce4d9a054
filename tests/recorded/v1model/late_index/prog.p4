// `s[i].f = g(i)`: which element, if g changes i?
#include <core.p4>
#include <v1model.p4>
header i_t { bit<8> a; bit<8> b; }
header e_t { bit<8> x; }
struct hdrs { i_t i; e_t[4] e; e_t[4] o; }
struct meta_t {  }
bit<8> g(inout bit<8> x) { x = x + 1; return 0xaa; }  // a side effect and a value
parser P(packet_in b, out hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  state start {
    b.extract(h.i); b.extract(h.e.next); b.extract(h.e.next); b.extract(h.e.next); b.extract(h.e.next);
    b.extract(h.o.next); b.extract(h.o.next); b.extract(h.o.next); b.extract(h.o.next);
    transition accept;
  }
}
control V(inout hdrs h, inout meta_t m) { apply {  } }
control I(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {
    sm.egress_spec = 2;
    h.e[(bit<32>)(h.i.a & 3)].x = g(h.i.a);
    h.o[(bit<32>)(h.i.b & 3)].x += g(h.i.b);
  }
}
control E(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {  }
}
control C(inout hdrs h, inout meta_t m) { apply {  } }
control D(packet_out b, in hdrs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
