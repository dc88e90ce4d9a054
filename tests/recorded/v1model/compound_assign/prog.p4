// `a op= g(a)`: is a read before or after g has changed it?
#include <core.p4>
#include <v1model.p4>
header i_t { bit<8> a; bit<8> b; }
header o_t { bit<8> f1; bit<8> f2; bit<8> f3; bit<8> f4; }
struct hdrs { i_t i; o_t o; }
struct meta_t {  }
bit<8> g(inout bit<8> x) { x = x + 1; return 10; }  // a side effect and a value
parser P(packet_in b, out hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  state start { b.extract(h.i); transition accept; }
}
control V(inout hdrs h, inout meta_t m) { apply {  } }
control I(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {
    sm.egress_spec = 2; h.o.setValid(); h.o.f1 = 0; h.o.f2 = 0; h.o.f3 = 0; h.o.f4 = 0;
    bit<8> v = h.i.a; v += g(v); h.o.f1 = v;
    bit<8> w = h.i.a; w = w + g(w); h.o.f2 = w;
    h.i.b -= g(h.i.b); h.o.f3 = h.i.b;
    bit<8> y = h.i.a; y[3:0] |= g(y)[3:0]; h.o.f4 = y;
  }
}
control E(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {  }
}
control C(inout hdrs h, inout meta_t m) { apply {  } }
control D(packet_out b, in hdrs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
