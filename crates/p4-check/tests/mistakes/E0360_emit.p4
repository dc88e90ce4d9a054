#include <core.p4>
header h_t { bit<8> x; }
control deparser(packet_out packet, in h_t h) {
    apply { packet.emit(h.x); }
}
