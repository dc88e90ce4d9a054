// IPv4 through IPv6: the first router puts an IPv6 header on, the last takes it off.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  payload_len;
    bit<8>   protocol;
    bit<8>   hop_limit;
    bit<128> src_addr;
    bit<128> dst_addr;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  diffserv;
    bit<16> total_len;
    bit<32> fragments;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

struct headers_t {
    ethernet_t ethernet;
    ipv6_t     ipv6;
    ipv4_t     ipv4;
}

struct metadata_t {
    bit<64> bit_count; // a number, whatever its name and width may suggest
}

parser Read(packet_in packet, out headers_t hdr, inout metadata_t meta,
            inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: ipv4;
            0x86dd: ipv6;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.protocol) {
            4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control Route(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }
    action encapsulate(bit<128> src, bit<128> dst) {
        hdr.ethernet.ether_type = 0x86dd;
        hdr.ipv6.setValid();
        hdr.ipv6.version = 6;
        hdr.ipv6.payload_len = hdr.ipv4.total_len;
        hdr.ipv6.protocol = 4;
        hdr.ipv6.hop_limit = 64;
        hdr.ipv6.src_addr = src;
        hdr.ipv6.dst_addr = dst;
    }
    action deliver(bit<9> port, bit<48> mac) {
        hdr.ethernet.dst_addr = mac;
        standard.egress_spec = port;
    }
    action decapsulate() {
        hdr.ipv6.setInvalid();
        hdr.ethernet.ether_type = 0x0800;
    }
    action onwards(bit<9> port) {
        meta.bit_count = meta.bit_count + 0x1234567890;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        standard.egress_spec = port;
    }
    table ends {
        key = {
            hdr.ipv6.dst_addr: exact;
        }
        actions = {
            decapsulate;
            onwards;
            drop;
        }
        default_action = drop();
    }
    table routes {
        key = {
            hdr.ipv4.dst_addr: lpm;
        }
        actions = {
            encapsulate;
            deliver;
            drop;
        }
        default_action = drop();
    }
    apply {
        if (!hdr.ipv4.isValid()) {
            drop();
            return;
        }
        if (!hdr.ipv6.isValid()) {
            routes.apply();
        }
        if (hdr.ipv6.isValid()) {
            ends.apply();
            if (!hdr.ipv6.isValid()) {
                routes.apply();
            }
        }
    }
}

control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control Write(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(Read(), Verify(), Route(), Leave(), Update(), Write()) main;
