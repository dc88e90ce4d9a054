#include <core.p4>
header h_t { bit<8> x; }
control c(packet_in packet, inout h_t h) {
    apply {
        packet.extract(h);
        verify(h.x > 0, error.NoMatch);
    }
}
