// From bytes to headers, and back.

#ifndef PARSER_P4
#define PARSER_P4

#include "headers.p4"

// A parser is a state machine that walks along the packet. What it cannot read stays invalid: a packet
// that ends inside a header, for example. The controls that follow ask isValid() and give such a packet
// up. What lies behind the last header read is payload and leaves as it came.
parser PacketParser(packet_in packet, out headers_t hdr, in bit<9> ingress_port) {
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
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_BIER: parse_bier;
            default:        accept;
        }
    }

    state parse_bier {
        packet.extract(hdr.bier);
        transition select(hdr.bier.proto) {
            BIER_PROTO_IPV4: parse_ipv4;
            default:         accept;
        }
    }

    // The first byte holds the version (4) and the header length. Look at it without moving on: the
    // length must be known before the header can be read. Shorter than 5, or not 4: not IPv4.
    state parse_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            0x45 .. 0x4F: extract_ipv4;
            default:      accept;
        }
    }

    state extract_ipv4 {
        bit<8> version_ihl = packet.lookahead<bit<8>>();
        bit<32> words = (bit<32>)version_ihl[3:0];
        packet.extract(hdr.ipv4, (words - 5) * 32);
        transition accept;
    }
}

// The valid headers, in this order, and then the payload.
control PacketDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
#ifdef TUNNELS
        packet.emit(hdr.heartbeat);
        packet.emit(hdr.tunnel);
#endif
        packet.emit(hdr.bier);
        packet.emit(hdr.ipv4);
    }
}

#endif
