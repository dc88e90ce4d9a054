// On the way out: Ethernet addresses for cables, and a header for the control plane.

#ifndef MSR6_TNA_EGRESS_P4
#define MSR6_TNA_EGRESS_P4

#include "headers.p4"

control Msr6Egress(inout egress_headers_t hdr, inout egress_metadata_t md,
                   in egress_intrinsic_metadata_t eg_intr_md,
                   in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                   inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                   inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    Counter<bit<64>, bit<8>>(64, CounterType_t.PACKETS_AND_BYTES) dropped_copies;  // by reason
    // What was sent, by port. Of recirculation ports: how often packets had to come back.
    Counter<bit<64>, bit<9>>(512, CounterType_t.PACKETS_AND_BYTES) sent;

    action rewrite(bit<48> src, bit<48> dst) {
        hdr.ethernet.src_addr = src;
        hdr.ethernet.dst_addr = dst;
    }

    table port_mac {
        key = { eg_intr_md.egress_port: exact @name("port"); }
        actions = { rewrite; NoAction; }
        const default_action = NoAction();
        size = 512;
    }

    apply {
        if (hdr.internal.within == within_t.FORWARDED) {
            port_mac.apply();
            if (hdr.ipv6.dst_addr[127:120] == 0xFF) {
                // In a multicast frame: 33-33 and the low 32 bits of the group (RFC 2464, 7).
                hdr.ethernet.dst_addr = 16w0x3333 ++ hdr.ipv6.dst_addr[31:0];
            }
            if (eg_intr_md.egress_port == hdr.internal.port) {
                md.drop = drop_reason_t.BACK_TO_SOURCE;
            }
            hdr.internal.setInvalid();
        } else if (hdr.internal.within == within_t.AS_IS) {
            hdr.internal.setInvalid();
        } else if (hdr.internal.within == within_t.TOLD) {
            hdr.packet_in.setValid();
            hdr.packet_in.reason = hdr.internal.part[6:0];
        }
        // In an action of its own: it has to be shifted, and the reason has not.
        if (hdr.packet_in.isValid()) {
            hdr.packet_in.ingress_port = hdr.internal.port;
            hdr.internal.setInvalid();
        }

        if (md.drop != drop_reason_t.NONE) {
            eg_dprsr_md.drop_ctl = 1;
            dropped_copies.count((bit<8>)md.drop);
        } else {
            sent.count(eg_intr_md.egress_port);
        }
    }
}

#endif
