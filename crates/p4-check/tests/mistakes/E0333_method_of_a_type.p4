#include <core.p4>
header h_t { bit<8> a; }
control c(packet_out packet, in h_t h) {
    apply { packet_out.emit(h); }
}
