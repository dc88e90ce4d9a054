// From bytes to headers, and back.

#ifndef MSR6_PARSER_P4
#define MSR6_PARSER_P4

#include "headers.p4"

// What the parser cannot read stays invalid. What lies behind the last header read is payload and
// leaves as it came: so a router forwards packets to other routers whatever their list looks like.
parser Msr6Parser(packet_in packet, out msr6_headers_t hdr, in bit<9> ingress_port) {
    bit<8> entries;

    state start {
        transition select(ingress_port) {
            CPU_PORT: parse_packet_out;
            default:  parse_ethernet;
        }
    }

    // The control plane has said where this packet goes. Nobody needs to look into it.
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV6: look_at_ipv6;
            default:        accept;
        }
    }

    state look_at_ipv6 {
        transition select(packet.lookahead<bit<4>>()) {
            6:       parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.dst_addr[127:120], hdr.ipv6.next_header) {
            (0xFF, NEXT_HOP_BY_HOP): parse_hop_by_hop;
            (0xFF, _):               accept;
            (_, NEXT_IPV6):          look_at_inner;
            (_, NEXT_ROUTING):       parse_routing;
            default:                 accept;
        }
    }

    state parse_hop_by_hop {
        packet.extract(hdr.hop_by_hop);
        transition select(hdr.hop_by_hop.next_header, hdr.hop_by_hop.hdr_ext_len) {
            (NEXT_ICMPV6, 0): parse_icmpv6;
            default:          accept;
        }
    }

    state parse_icmpv6 {
        packet.extract(hdr.icmpv6);
        transition accept;
    }

    state parse_routing {
        packet.extract(hdr.routing);
        entries = hdr.routing.hdr_ext_len >> 1;
        transition select(hdr.routing.routing_type, hdr.routing.hdr_ext_len) {
            (ROUTING_MSR6, 0):               look_behind_list;
            (ROUTING_MSR6, 0 &&& 0xE1):      parse_segment;   // even, and less than 32
            (ROUTING_MSR6, LONGEST_EXT_LEN): parse_segment;
            default:                         accept;
        }
    }

    state parse_segment {
        packet.extract(hdr.segments.next);
        entries = entries - 1;
        transition select(entries) {
            0:       look_behind_list;
            default: parse_segment;
        }
    }

    state look_behind_list {
        transition select(hdr.routing.next_header) {
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
        packet.extract(hdr.inner);
        transition accept;
    }
}

// The valid headers, in this order, and then the payload.
control Msr6Deparser(packet_out packet, in msr6_headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.routing);
        packet.emit(hdr.segments);
        packet.emit(hdr.inner);
        packet.emit(hdr.hop_by_hop);
        packet.emit(hdr.icmpv6);
    }
}

#endif
