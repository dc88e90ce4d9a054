// From bytes to headers and back, on TNA.

#ifndef MSR6_TNA_PARSER_P4
#define MSR6_TNA_PARSER_P4

#include "headers.p4"

// Not Msr6Parser of ../parser.p4: a multicast packet without a tree lies in `inner` here, and
// `ipv6` is invalid. So a tree is put in front of it and taken away without moving its fields.
parser EntryParser(packet_in packet, out ingress_headers_t hdr, out ingress_metadata_t md,
                   out ingress_intrinsic_metadata_t ig_intr_md) {
    ParserCounter() left;  // entries of the list

    state start {
        packet.extract(ig_intr_md);
        md.port = port_metadata_unpack<port_metadata_t>(packet);
        md.is_multicast = 0;
        md.hops = 0;
        md.segments_left = 0;
        md.has_list = 0;
        md.n = 0;
        md.rl_pointer = 0;
        md.bits = 0;
        md.rlb_pointer = 0;
        transition select(ig_intr_md.ingress_port, md.port.looped) {
            (CPU_PORT, _):        parse_packet_out;
            (0x044 &&& 0x07C, _): parse_came_with;  // 68 to 71 of any pipe
            (_, 1):               parse_came_with;  // a front port in loopback
            default:              parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet.packet_out);
        transition accept;
    }

    state parse_came_with {
        packet.extract(hdr.came_with);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.packet.ethernet);
        transition select(hdr.packet.ethernet.ether_type) {
            ETHERTYPE_IPV6: look_at_ipv6;
            default:        accept;
        }
    }

    // The version, and the first byte of the destination.
    state look_at_ipv6 {
        bit<200> ahead = packet.lookahead<bit<200>>();
        transition select(ahead[199:196], ahead[7:0]) {
            (6, 0xFF): parse_multicast;
            (6, _):    parse_ipv6;
            default:   accept;
        }
    }

    state parse_multicast {
        packet.extract(hdr.packet.inner);
        md.is_multicast = 1;
        md.hops = hdr.packet.inner.hop_limit;
        transition select(hdr.packet.inner.next_header) {
            NEXT_HOP_BY_HOP: parse_hop_by_hop;
            default:         accept;
        }
    }

    state parse_hop_by_hop {
        packet.extract(hdr.packet.hop_by_hop);
        transition select(hdr.packet.hop_by_hop.next_header, hdr.packet.hop_by_hop.hdr_ext_len) {
            (NEXT_ICMPV6, 0): parse_icmpv6;
            default:          accept;
        }
    }

    state parse_icmpv6 {
        packet.extract(hdr.packet.icmpv6);
        transition accept;
    }

    state parse_ipv6 {
        packet.extract(hdr.packet.ipv6);
        md.hops = hdr.packet.ipv6.hop_limit;
        md.n = hdr.packet.ipv6.dst_addr[31:24];
        md.rl_pointer = hdr.packet.ipv6.dst_addr[23:16];
        md.bits = hdr.packet.ipv6.dst_addr[31:16];
        md.rlb_pointer = hdr.packet.ipv6.dst_addr[15:8];
        transition select(hdr.packet.ipv6.next_header) {
            NEXT_IPV6:    look_at_inner;
            NEXT_ROUTING: parse_routing;
            default:      accept;
        }
    }

    state parse_routing {
        packet.extract(hdr.packet.routing);
        md.segments_left = hdr.packet.routing.segments_left;
        left.set(hdr.packet.routing.hdr_ext_len, 255, 1, 3, 0);  // half of it, 4 bits
        transition select(hdr.packet.routing.routing_type, hdr.packet.routing.hdr_ext_len) {
            (ROUTING_MSR6, 0 &&& 0xF1):      parse_list;  // even, and less than 16
            (ROUTING_MSR6, LONGEST_EXT_LEN): parse_list;
            default:                         accept;
        }
    }

    state parse_list {
        md.has_list = 1;
        transition any_segment_left;
    }

    state any_segment_left {
        transition select(left.is_zero()) {
            true:    look_behind_list;
            default: parse_segment;
        }
    }

    state parse_segment {
        packet.extract(hdr.packet.segments.next);
        left.decrement(1);
        transition any_segment_left;
    }

    state look_behind_list {
        transition select(hdr.packet.routing.next_header) {
            NEXT_IPV6: look_at_inner;
            default:   accept;
        }
    }

    state look_at_inner {
        transition select(packet.lookahead<bit<4>>()) {
            6:       parse_inner;
            default: accept;
        }
    }

    state parse_inner {
        packet.extract(hdr.packet.inner);
        transition accept;
    }
}

control IngressDeparser(packet_out packet, inout ingress_headers_t hdr, in ingress_metadata_t md,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Mirror() mirror;

    // A mirror is the packet as it came in. So nobody has to undo what was done to it.
    apply {
        if (ig_dprsr_md.mirror_type == MIRROR_COPY) {
            mirror.emit<mirrored_copy_t>(md.mirror_session, {
                md.mirror_within, md.looped, md.next_part, md.zeros, md.source_port,
                md.next_high, md.next_low });
        }
#ifdef WITH_BE
        if (ig_dprsr_md.mirror_type == MIRROR_BITS) {
            mirror.emit<mirrored_bits_t>(md.mirror_session, {
                md.mirror_within, md.looped, md.next_part, md.zeros, md.source_port,
                md.remaining });
        }
#endif
        if (ig_dprsr_md.mirror_type == MIRROR_TOLD) {
            mirror.emit<mirrored_told_t>(md.tell_session, {
                md.told_within, md.looped, md.drop, md.told_zeros, md.came_in });
        }
        packet.emit(hdr.internal);
        packet.emit(hdr.packet);
    }
}

// Reads what egress looks at or changes, and no more. What a mirror brings for a packet that comes
// back takes the place of what is there, which is not read: the deparser writes the packet so.
parser CopyParser(packet_in packet, out egress_headers_t hdr, out egress_metadata_t md,
                  out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        md.drop = drop_reason_t.NONE;
        packet.extract(hdr.internal);
        transition select(hdr.internal.within, hdr.internal.looped) {
            (within_t.FORWARDED, _): parse_forwarded;
            (within_t.NEXT_PART, 0): skip_copy;
            (within_t.NEXT_PART, _): skip_copy_and_older;
            (within_t.NEXT_COPY, 0): parse_copy;
            (within_t.NEXT_COPY, _): parse_copy_and_skip_older;
#ifdef WITH_BE
            (within_t.NEXT_BITS, 0): parse_bits;
            (within_t.NEXT_BITS, _): parse_bits_and_skip_older;
#endif
            default:                 accept;
        }
    }

    state parse_forwarded {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv6);
        transition accept;
    }

    // Nothing is replaced. What was in front of the packet when it came in, still is.
    state skip_copy {
        packet.advance(COPY_BITS);
        transition accept;
    }

    state skip_copy_and_older {
        packet.advance(COPY_BITS + INTERNAL_BITS);
        transition accept;
    }

    state parse_copy {
        packet.extract(hdr.next_copy);
        transition skip_argument;
    }

    state parse_copy_and_skip_older {
        packet.extract(hdr.next_copy);
        packet.advance(INTERNAL_BITS);
        transition skip_argument;
    }

    state skip_argument {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv6_front);
        packet.advance(COPY_BITS);
        transition accept;
    }

#ifdef WITH_BE
    state parse_bits {
        packet.extract(hdr.next_bits);
        transition skip_bit_string;
    }

    state parse_bits_and_skip_older {
        packet.extract(hdr.next_bits);
        packet.advance(INTERNAL_BITS);
        transition skip_bit_string;
    }

    state skip_bit_string {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv6);
        packet.extract(hdr.routing);
        packet.advance(BIT_STRING_BITS);
        transition accept;
    }
#endif
}

control EgressDeparser(packet_out packet, inout egress_headers_t hdr, in egress_metadata_t md,
                       in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.internal);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv6_front);
        packet.emit(hdr.next_copy);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.routing);
        packet.emit(hdr.next_bits);
    }
}

#endif
