#include <core.p4>
bit<8> halved(in bit<8> x) {
    if (x == 0) { exit; }
    return x >> 1;
}
parser p(packet_in packet, in bit<8> x) {
    state start {
        if (x == 0) { exit; }
        transition accept;
    }
}
