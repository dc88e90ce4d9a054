// From bytes to headers and back, on TNA.

#ifndef BNG_TNA_PARSER_P4
#define BNG_TNA_PARSER_P4

#include "headers.p4"

// As BngParser, but the parser also copies what the tables match on: whose address counts depends
// on the side from which the packet comes, and a stage that chooses would make all tables wait.
parser IngressParser(packet_in packet, out ingress_headers_t hdr, out ingress_metadata_t md,
                     out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() ipv4_checksum;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        md.port = ig_intr_md.ingress_port;
        md.interface = 0;
        md.label0 = 0;
        md.label1 = 0;
        md.inner_vid = 0;
        md.service_vid = 0;
        md.dst_mac = 0;
        md.src_mac = 0;
        md.is_discovery = 0;
        md.is_arp = 0;
        md.ipv4_checksum_wrong = 0;
        md.ipv4 = 0;
        md.ipv6_56 = 0;
        md.ipv6_64 = 0;
        md.ipv6_first = 0;
        md.ipv4_first = 0;
        md.dscp = 0;
        md.hops = 0;
        transition select(ig_intr_md.ingress_port) {
            CPU_PORT: parse_packet_out;
            default:  parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet.packet_out);
        transition accept;
    }

    state parse_ethernet {
        packet.extract(hdr.packet.ethernet);
        md.dst_mac = hdr.packet.ethernet.dst_addr;
        md.src_mac = hdr.packet.ethernet.src_addr;
        transition select(hdr.packet.ethernet.ether_type) {
            ETHERTYPE_MPLS: parse_label0;
            ETHERTYPE_QINQ: parse_s_tag;
            ETHERTYPE_VLAN: parse_s_tag;
            ETHERTYPE_IPV4: look_at_ipv4;
            ETHERTYPE_IPV6: look_at_ipv6;
            ETHERTYPE_ARP:  found_arp;
            default:        accept;
        }
    }

    state found_arp {
        md.is_arp = 1;
        transition accept;
    }

    state parse_label0 {
        packet.extract(hdr.packet.label0);
        md.interface = hdr.packet.label0.label;
        transition select(hdr.packet.label0.s) {
            0:       parse_label1;
            default: look_behind_label;
        }
    }

    state look_behind_label {
        transition select(packet.lookahead<bit<4>>()) {
            4:       look_at_ipv4;
            6:       look_at_ipv6;
            default: accept;
        }
    }

    state parse_label1 {
        packet.extract(hdr.packet.label1);
        transition select(hdr.packet.label1.s) {
            1:       look_behind_labels;
            default: accept;
        }
    }

    state look_behind_labels {
        transition select(packet.lookahead<bit<4>>()) {
            4:       look_at_ipv4;
            6:       look_at_ipv6;
            default: parse_inner;
        }
    }

    state parse_inner {
        packet.extract(hdr.packet.inner);
        md.label0 = hdr.packet.label0.label;
        md.label1 = hdr.packet.label1.label;
        md.dst_mac = hdr.packet.inner.dst_addr;
        md.src_mac = hdr.packet.inner.src_addr;
        transition select(hdr.packet.inner.ether_type) {
            ETHERTYPE_VLAN: parse_line_tag;
            default:        accept;
        }
    }

    state parse_line_tag {
        packet.extract(hdr.packet.outer_tag);
        transition select(hdr.packet.outer_tag.ether_type) {
            ETHERTYPE_VLAN:      parse_service_tag;
            ETHERTYPE_DISCOVERY: look_at_discovery;
            ETHERTYPE_SESSION:   look_at_session;
            default:             accept;
        }
    }

    state parse_service_tag {
        packet.extract(hdr.packet.inner_tag);
        md.service_vid = hdr.packet.inner_tag.vid;
        transition select(hdr.packet.inner_tag.ether_type) {
            ETHERTYPE_DISCOVERY: look_at_discovery;
            ETHERTYPE_SESSION:   look_at_session;
            default:             accept;
        }
    }

    state parse_s_tag {
        packet.extract(hdr.packet.outer_tag);
        transition select(hdr.packet.outer_tag.ether_type) {
            ETHERTYPE_VLAN: parse_c_tag;
            default:        accept;
        }
    }

    state parse_c_tag {
        packet.extract(hdr.packet.inner_tag);
        md.inner_vid = hdr.packet.inner_tag.vid;
        transition select(hdr.packet.inner_tag.ether_type) {
            ETHERTYPE_DISCOVERY: look_at_discovery;
            ETHERTYPE_SESSION:   look_at_session;
            default:             accept;
        }
    }

    state look_at_discovery {
        md.is_discovery = 1;
        transition select(packet.lookahead<bit<8>>()) {
            0x11:    parse_discovery;
            default: accept;
        }
    }

    state parse_discovery {
        packet.extract(hdr.packet.pppoe);
        transition accept;
    }

    state look_at_session {
        transition select(packet.lookahead<bit<8>>()) {
            0x11:    parse_session;
            default: accept;
        }
    }

    state parse_session {
        packet.extract(hdr.packet.pppoe);
        transition select(hdr.packet.pppoe.code) {
            0:       parse_ppp;
            default: accept;
        }
    }

    state parse_ppp {
        packet.extract(hdr.packet.ppp);
        transition select(hdr.packet.ppp.protocol) {
            PPP_IPV4: look_at_ipv4_upstream;
            PPP_IPV6: look_at_ipv6_upstream;
            default:  accept;
        }
    }

    // Of a subscriber's packet, the source address is looked up.
    state look_at_ipv4_upstream {
        md.ipv4 = packet.lookahead<bit<128>>()[31:0];
        transition look_behind_ipv4;
    }

    state look_at_ipv6_upstream {
        md.ipv6_64 = packet.lookahead<bit<128>>()[63:0];
        md.ipv6_56 = packet.lookahead<bit<120>>()[55:0];
        transition look_behind_ipv6;
    }

    // Of a packet from the core, the destination.
    state look_at_ipv4 {
        md.ipv4 = packet.lookahead<bit<160>>()[31:0];
        transition look_behind_ipv4;
    }

    state look_at_ipv6 {
        md.ipv6_64 = packet.lookahead<bit<256>>()[63:0];
        md.ipv6_56 = packet.lookahead<bit<248>>()[55:0];
        transition look_behind_ipv6;
    }

    state look_behind_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            0x45:         parse_ipv4;
            0x46 .. 0x4F: parse_ipv4_with_options;
            default:      accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.packet.ipv4);
        ipv4_checksum.add(hdr.packet.ipv4);
        md.ipv4_checksum_wrong = (bit<1>)ipv4_checksum.verify();
        transition found_ipv4;
    }

    // The checksum units cannot follow options. The next router will look.
    state parse_ipv4_with_options {
        packet.extract(hdr.packet.ipv4);
        transition found_ipv4;
    }

    state found_ipv4 {
        md.hops = hdr.packet.ipv4.ttl;
        md.dscp = hdr.packet.ipv4.diffserv[7:2];
        md.ipv4_first = hdr.packet.ipv4.dst_addr[31:24];
        transition accept;
    }

    state look_behind_ipv6 {
        transition select(packet.lookahead<bit<4>>()) {
            6:       parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.packet.ipv6);
        md.hops = hdr.packet.ipv6.hop_limit;
        md.dscp = hdr.packet.ipv6.traffic_class[7:2];
        md.ipv6_first = hdr.packet.ipv6.dst_addr[127:112];
        transition accept;
    }
}

control IngressDeparser(packet_out packet, inout ingress_headers_t hdr, in ingress_metadata_t md,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        packet.emit(hdr.internal);
        packet.emit(hdr.packet);
    }
}

parser EgressParser(packet_in packet, out egress_headers_t hdr, out egress_metadata_t md,
                    out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        packet.extract(hdr.internal);
        md.session = hdr.internal.session;
        md.label = hdr.internal.label0;
        transition select(hdr.internal.within) {
            within_t.AS_IS: accept;
            within_t.GROUP: parse_copy;
            default:        parse_ethernet;
        }
    }

    // The instance of a copy is the session that it is for.
    state parse_copy {
        md.session = eg_intr_md.egress_rid;
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control EgressDeparser(packet_out packet, inout egress_headers_t hdr, in egress_metadata_t md,
                       in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.label0);
        packet.emit(hdr.label1);
        packet.emit(hdr.inner);
        packet.emit(hdr.outer_tag);
        packet.emit(hdr.inner_tag);
        packet.emit(hdr.pppoe);
        packet.emit(hdr.ppp);
    }
}

#endif
