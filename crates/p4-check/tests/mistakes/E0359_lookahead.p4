#include <core.p4>
header varied_t { bit<8> length; varbit<320> options; }
parser p(packet_in packet) {
    state start {
        packet.lookahead<varied_t>();
        transition accept;
    }
}
