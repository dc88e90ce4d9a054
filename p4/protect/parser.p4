// From bytes to headers, and back: IPv4 and IPv6, in a protection tunnel or not.

#ifndef PROTECT_PARSER_P4
#define PROTECT_PARSER_P4

#include "headers.p4"

// What the parser cannot read stays invalid: a header in which the packet ends, for example. The
// controls that follow ask isValid(). What lies behind the last header read is payload and leaves
// as it came.
parser ProtectParser(packet_in packet, out protect_headers_t hdr, in bit<9> ingress_port) {
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
            ETHERTYPE_IPV4: look_at_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default:        accept;
        }
    }

    // The first byte holds the version and the header length. A tunnel's header has no options.
    state look_at_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            0x45:         look_for_tunnel;
            0x46 .. 0x4F: parse_ipv4;
            default:      accept;
        }
    }

    // Look ten bytes ahead without moving on. The last of them is the protocol. The 14 bits in
    // front of it and of the TTL are not 0 in fragments: a tunnel has none.
    state look_for_tunnel {
        bit<80> ahead = packet.lookahead<bit<80>>();
        transition select(ahead[29:16], ahead[7:0]) {
            (0, IP_PROTOCOL_PROTECT): parse_tunnel;
            default:                  parse_ipv4;
        }
    }

    state parse_tunnel {
        packet.extract(hdr.tunnel);
        packet.extract(hdr.protection);
        transition select(hdr.protection.next_protocol) {
            IP_PROTOCOL_IPV4: look_at_inner_ipv4;
            IP_PROTOCOL_IPV6: parse_ipv6;
            default:          accept;
        }
    }

    state look_at_inner_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            0x45 .. 0x4F: parse_ipv4;
            default:      accept;
        }
    }

    state parse_ipv4 {
        bit<8> version_ihl = packet.lookahead<bit<8>>();
        bit<32> words = (bit<32>)version_ihl[3:0];
        packet.extract(hdr.ipv4, (words - 5) * 32);
        // Of a fragmented packet, only the first fragment has ports.
        transition select(hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (0, IP_PROTOCOL_TCP): parse_ports;
            (0, IP_PROTOCOL_UDP): parse_ports;
            default:              accept;
        }
    }

    state parse_ipv6 {
        transition select(packet.lookahead<bit<4>>()) {
            6:       extract_ipv6;
            default: accept;
        }
    }

    state extract_ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            IP_PROTOCOL_TCP: parse_ports;
            IP_PROTOCOL_UDP: parse_ports;
            default:         accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

// The valid headers, in this order, and then the payload.
control ProtectDeparser(packet_out packet, in protect_headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.tunnel);
        packet.emit(hdr.protection);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.ports);
    }
}

#endif
