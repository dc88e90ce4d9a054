#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> value; }
struct headers_t { h_t h; }
struct metadata_t { }
parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                inout standard_metadata_t sm) {
    state start { packet.extract(hdr.h); transition accept; }
}
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action send(bit<9> port) { sm.egress_spec = port; }
    table route { key = { hdr.h.kind : exact; } actions = { send; NoAction; } }
    apply { route.apply(); hdr.h.value = hdr.h.value + 1; }
}
control MyChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply { }
}
control MyDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(MyParser(), MyChecksum(), MyIngress(), MyEgress(), MyChecksum(), MyDeparser()) main;
