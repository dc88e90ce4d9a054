#include <core.p4>
header h_t { bit<8> x; }
parser p(packet_in packet, in h_t h) {
    state start {
        transition select(h, 5) {
            (_, _): accept;
        }
    }
}
