#include <core.p4>
header h_t { bit<8> x; }
control c(packet_out packet, inout h_t h) {
    apply {
        packet.send(h);
        h.isInvalid();
    }
}
