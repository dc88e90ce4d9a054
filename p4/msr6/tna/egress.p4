// On the way out: Ethernet addresses for cables, and what a packet needs that comes back.

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
        hdr.packet.ethernet.src_addr = src;
        hdr.packet.ethernet.dst_addr = dst;
    }

    table port_mac {
        key = { eg_intr_md.egress_port: exact @name("port"); }
        actions = { rewrite; NoAction; }
        const default_action = NoAction();
        size = 512;
    }

    apply {
        hdr.came_with.setInvalid();
        if (hdr.internal.within == within_t.FORWARDED) {
            port_mac.apply();
            if (hdr.packet.ipv6.dst_addr[127:120] == 0xFF) {
                // In a multicast frame: 33-33 and the low 32 bits of the group (RFC 2464, 7).
                hdr.packet.ethernet.dst_addr = 16w0x3333 ++ hdr.packet.ipv6.dst_addr[31:0];
            }
            if (eg_intr_md.egress_port == hdr.internal.port) {
                md.drop = drop_reason_t.BACK_TO_SOURCE;
            }
            hdr.internal.setInvalid();
        } else if (hdr.internal.within == within_t.AS_IS) {
            hdr.internal.setInvalid();
        } else if (hdr.internal.within == within_t.TOLD) {
            hdr.packet.packet_in.setValid();
            hdr.packet.packet_in.ingress_port = hdr.internal.port;
            hdr.packet.packet_in.reason = hdr.internal.part[6:0];
            hdr.internal.setInvalid();
        } else if (hdr.internal.within == within_t.NEXT_COPY) {
            hdr.packet.ipv6.dst_addr[31:16] = hdr.next_copy.high;
            hdr.packet.ipv6.dst_addr[15:8] = hdr.next_copy.low;
#ifdef WITH_BE
        } else if (hdr.internal.within == within_t.NEXT_BITS) {
            hdr.packet.segments[0].sid = hdr.next_bits.bit_string;
#endif
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
