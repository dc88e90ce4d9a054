// A plain IP router on v1model: protection is measured against it (p4lab experiment). It has the
// tables and the checks that every router of ../protect.p4 has, and nothing of connections.

#include <core.p4>
#include <v1model.p4>

#include "../headers.p4"

const bit<32> ETHERNET_BYTES = 14;

struct plain_headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ipv6_t     ipv6;
}

struct metadata_t {}

parser PlainParser(packet_in packet, out plain_headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: look_at_ipv4;
            ETHERTYPE_IPV6: look_at_ipv6;
            default:        accept;
        }
    }

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

#define IPV4_FIELDS { \
    hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, \
    hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, \
    hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.options }

control Verify(inout plain_headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_FIELDS, hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control PlainIngress(inout plain_headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    counter(32, CounterType.packets_and_bytes) dropped;
    drop_reason_t reason = drop_reason_t.NONE;
    bit<32> bytes = 0;

    action route(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action drop() {
        reason = drop_reason_t.NO_ROUTE;
    }

    table ipv4_routes {
        key = { hdr.ipv4.dst_addr: lpm @name("destination"); }
        actions = { route; drop; }
        const default_action = drop();
        size = 4096;
    }

    table ipv6_routes {
        key = { hdr.ipv6.dst_addr: lpm @name("destination"); }
        actions = { route; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            bytes = (bit<32>)hdr.ipv4.total_len;
            if (standard_metadata.checksum_error != 0) {
                reason = drop_reason_t.BAD_IPV4_CHECKSUM;
            } else if (hdr.ipv4.total_len < (bit<16>)hdr.ipv4.ihl << 2) {
                reason = drop_reason_t.MALFORMED;
            } else if (hdr.ipv4.ttl <= 1) {
                reason = drop_reason_t.TTL_EXPIRED;
            }
        } else if (hdr.ipv6.isValid()) {
            bytes = (bit<32>)hdr.ipv6.payload_len + (bit<32>)IPV6_BYTES;
            if (hdr.ipv6.hop_limit <= 1) {
                reason = drop_reason_t.TTL_EXPIRED;
            }
        } else {
            reason = drop_reason_t.UNKNOWN_PACKET;
        }
        if (ETHERNET_BYTES + bytes > standard_metadata.packet_length) {
            reason = drop_reason_t.MALFORMED;
        }

        if (reason == drop_reason_t.NONE) {
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                ipv4_routes.apply();
            } else {
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
                ipv6_routes.apply();
            }
        }
        if (reason != drop_reason_t.NONE) {
            dropped.count((bit<32>)(bit<8>) reason);
            mark_to_drop(standard_metadata);
        }
    }
}

control PlainEgress(inout plain_headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    counter(512, CounterType.packets_and_bytes) sent;  // by port

    action rewrite(bit<48> src, bit<48> dst) {
        hdr.ethernet.src_addr = src;
        hdr.ethernet.dst_addr = dst;
    }

    table port_mac {
        key = { standard_metadata.egress_port: exact @name("port"); }
        actions = { rewrite; NoAction; }
        const default_action = NoAction();
        size = 512;
    }

    apply {
        port_mac.apply();
        sent.count((bit<32>)standard_metadata.egress_port);
    }
}

control Update(inout plain_headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_FIELDS, hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control PlainDeparser(packet_out packet, in plain_headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
    }
}

V1Switch(PlainParser(), Verify(), PlainIngress(), PlainEgress(), Update(), PlainDeparser()) main;
