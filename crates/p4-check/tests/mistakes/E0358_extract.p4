#include <core.p4>
header fixed_t { bit<8> x; }
header varied_t { bit<8> length; varbit<320> options; }
struct headers_t { fixed_t fixed; varied_t varied; }
parser p(packet_in packet, out headers_t hdr) {
    state start {
        packet.extract(hdr);
        packet.extract(hdr.varied);
        packet.extract(hdr.fixed, 32);
        transition accept;
    }
}
