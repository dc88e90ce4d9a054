#include <core.p4>
struct meta_t { bit8 a; uint16_t b; int32 c; }
header h_t { bit<8> a; }
parser p(packet_in packet, out h_t hdr, out bool b) {
    state start {
        extract(hdr);
        b = True;
        transition accept;
    }
}
control d(packet_out packet, in h_t hdr) {
    apply { emit(hdr); }
}
