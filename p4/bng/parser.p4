// From bytes to headers, and back: access lines with labels or with two tags, and the core.

#ifndef BNG_PARSER_P4
#define BNG_PARSER_P4

#include "headers.p4"

// What the parser cannot read stays invalid: a header in which the packet ends, for example. The
// controls that follow ask isValid(). Whether a frame with these headers may come in on its port is
// not asked here.
parser BngParser(packet_in packet, out bng_headers_t hdr, in bit<9> ingress_port) {
    state start {
        transition select(ingress_port) {
            CPU_PORT: parse_packet_out;
            default:  parse_ethernet;
        }
    }

    // The control plane has decided where this packet goes. Nothing else needs to read it.
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_MPLS: parse_label0;
            ETHERTYPE_QINQ: parse_s_tag;
            ETHERTYPE_VLAN: parse_s_tag;
            ETHERTYPE_IPV4: look_at_ipv4;
            ETHERTYPE_IPV6: look_at_ipv6;
            default:        accept;
        }
    }

    // Core: one label or two, then IP. Access: two labels, then Ethernet. Labels do not say what
    // follows them. The first four bits do: of IPv4 they are 4, of IPv6 6, and the gateway's own
    // addresses begin with neither.
    state parse_label0 {
        packet.extract(hdr.label0);
        transition select(hdr.label0.s) {
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
        packet.extract(hdr.label1);
        transition select(hdr.label1.s) {
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
        packet.extract(hdr.inner);
        transition select(hdr.inner.ether_type) {
            ETHERTYPE_VLAN: parse_line_tag;
            default:        accept;
        }
    }

    // After the line's tag there may be one of a service.
    state parse_line_tag {
        packet.extract(hdr.outer_tag);
        transition select(hdr.outer_tag.ether_type) {
            ETHERTYPE_VLAN:      parse_inner_tag;
            ETHERTYPE_DISCOVERY: look_at_discovery;
            ETHERTYPE_SESSION:   look_at_session;
            default:             accept;
        }
    }

    state parse_s_tag {
        packet.extract(hdr.outer_tag);
        transition select(hdr.outer_tag.ether_type) {
            ETHERTYPE_VLAN: parse_inner_tag;
            default:        accept;
        }
    }

    state parse_inner_tag {
        packet.extract(hdr.inner_tag);
        transition select(hdr.inner_tag.ether_type) {
            ETHERTYPE_DISCOVERY: look_at_discovery;
            ETHERTYPE_SESSION:   look_at_session;
            default:             accept;
        }
    }

    // Version 1 and type 1: nothing else is PPPoE.
    state look_at_discovery {
        transition select(packet.lookahead<bit<8>>()) {
            0x11:    parse_discovery;
            default: accept;
        }
    }

    state parse_discovery {
        packet.extract(hdr.pppoe);
        transition accept;
    }

    state look_at_session {
        transition select(packet.lookahead<bit<8>>()) {
            0x11:    parse_session;
            default: accept;
        }
    }

    state parse_session {
        packet.extract(hdr.pppoe);
        transition select(hdr.pppoe.code) {
            0:       parse_ppp;
            default: accept;
        }
    }

    state parse_ppp {
        packet.extract(hdr.ppp);
        transition select(hdr.ppp.protocol) {
            PPP_IPV4: look_at_ipv4;
            PPP_IPV6: look_at_ipv6;
            default:  accept;
        }
    }

    // The first byte holds the version and the header length.
    state look_at_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            0x45 .. 0x4F: parse_ipv4;
            default:      accept;
        }
    }

    state parse_ipv4 {
        bit<8> version_ihl = packet.lookahead<bit<8>>();
        bit<32> words = (bit<32>)version_ihl[3:0];
        packet.extract(hdr.ipv4, (words - 5) * 32);
        transition accept;
    }

    state look_at_ipv6 {
        transition select(packet.lookahead<bit<4>>()) {
            6:       parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        transition accept;
    }
}

// The valid headers, in this order, and then the payload.
control BngDeparser(packet_out packet, in bng_headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.label0);
        packet.emit(hdr.label1);
        packet.emit(hdr.inner);
        packet.emit(hdr.outer_tag);
        packet.emit(hdr.inner_tag);
        packet.emit(hdr.pppoe);
        packet.emit(hdr.ppp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
    }
}

#endif
