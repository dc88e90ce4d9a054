// A relay of IEEE 802.1CB between tunnels: what has come once goes on to all ports of a group, with
// the number that it has; what comes again is dropped. The lab's switch gives new numbers wherever
// it copies, so paths that meet on the way and part again need this one. Parser, headers and the
// acceptance policy are the lab's own.

#include <core.p4>
#include <v1model.p4>

#include "../../p4/protect/headers.p4"
#include "../../p4/protect/parser.p4"
#include "../../p4/protect/policies/slots.p4"

struct metadata_t { }

parser EntryParser(packet_in packet, out protect_headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    ProtectParser() protect_parser;

    state start {
        protect_parser.apply(packet, hdr, standard_metadata.ingress_port);
        transition accept;
    }
}

control Nothing(inout protect_headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Relay(inout protect_headers_t hdr, inout metadata_t meta,
              inout standard_metadata_t standard_metadata) {
    Accept() accept;
    verdict_t verdict = verdict_t.NOT_ASKED;

    apply {
        if (hdr.protection.isValid()) {
            accept.apply(0, hdr.protection.sn, standard_metadata.ingress_global_timestamp + 1, 0,
                         verdict);
        }
        if (verdict == verdict_t.ACCEPTED) {
            standard_metadata.mcast_grp = 1;
        } else {
            mark_to_drop(standard_metadata);
        }
    }
}

control Nowhere(inout protect_headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    apply { }
}

control EntryDeparser(packet_out packet, in protect_headers_t hdr) {
    ProtectDeparser() deparser;

    apply {
        deparser.apply(packet, hdr);
    }
}

V1Switch(EntryParser(), Nothing(), Relay(), Nowhere(), Nothing(), EntryDeparser()) main;
