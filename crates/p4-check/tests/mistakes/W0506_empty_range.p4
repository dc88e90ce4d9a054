#include <core.p4>
parser p(packet_in packet, in bit<8> x) {
    state start {
        transition select(x) {
            9 .. 5: reject;
            default: accept;
        }
    }
}
