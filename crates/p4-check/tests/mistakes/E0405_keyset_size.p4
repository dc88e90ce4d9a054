#include <core.p4>
parser p(packet_in packet, in bit<8> a, in bit<8> b) {
    state start {
        transition select(a, b) {
            (1, 2, 3): accept;
            4: accept;
            default: reject;
        }
    }
}
