// `h = { ... }` where the list reads h: swapped fields, one field kept, another header, a call in the list
#include <core.p4>
#include <v1model.p4>
header i_t { bit<8> a; bit<8> b; }
header o_t { bit<8> f1; bit<8> f2; bit<8> f3; bit<8> f4; }
header s_t { bit<8> x; bit<8> y; }
struct pair { bit<8> x; bit<8> y; }
struct hdrs { i_t i; o_t o; s_t[5] s; }
struct meta_t {  }
bit<8> g(inout bit<8> x) { x = x + 1; return 10; }  // a side effect and a value
parser P(packet_in b, out hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  state start { b.extract(h.i); transition accept; }
}
control V(inout hdrs h, inout meta_t m) { apply {  } }
control I(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {
    sm.egress_spec = 2; h.o.setValid(); h.o.f1 = 0; h.o.f2 = 0; h.o.f3 = 0; h.o.f4 = 0;
    h.s[0].setValid(); h.s[1].setValid(); h.s[2].setValid();
    h.s[0] = { h.i.a, h.i.b }; h.s[0] = { h.s[0].y, h.s[0].x };           // swapped
    h.s[1] = { h.i.b, h.i.a }; h.s[1] = { h.s[1].x + 1, 5 };             // one field kept
    h.s[2] = { h.s[0].x, h.s[1].x };                                     // others alone
    pair s = { h.i.a, h.i.b }; s = { s.y, s.x }; h.o.f1 = s.x;            // no header
    h.s[3] = { h.i.a, h.i.b }; h.s[3] = { g(h.i.a), h.s[3].x };          // with a call
    h.s[4] = { h.i.a, h.i.b }; h.s[4] = { h.s[4].x == 1 ? h.s[4].y : 9, 7 };
    h.o.f2 = h.s[0].x; h.o.f3 = h.s[1].x;
    if (h.s[0].isValid()) { h.o.f4 = 1; } if (h.s[1].isValid()) { h.o.f4 = h.o.f4 + 2; }
  }
}
control E(inout hdrs h, inout meta_t m, inout standard_metadata_t sm) {
  apply {  }
}
control C(inout hdrs h, inout meta_t m) { apply {  } }
control D(packet_out b, in hdrs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
