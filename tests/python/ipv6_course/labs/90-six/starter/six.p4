// IPv6: routes to hosts, copies to groups, and MLD for the control plane.

#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

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
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src_addr;
    bit<128> dst_addr;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> port;
    bit<7> pad;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> port;
    bit<7> pad;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    ipv6_t       ipv6;
}

struct metadata_t {}

parser SixParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            CPU_PORT: from_cpu;
            default: ethernet;
        }
    }

    state from_cpu {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x86DD: ipv6;
            default: accept;
        }
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        transition accept;
    }
}

control SixIngress(inout headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action route(bit<9> port, bit<48> mac) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.dst_addr = mac;
    }

    action replicate(bit<16> mcast_grp) {
        standard_metadata.mcast_grp = mcast_grp;
    }

    table routes {
        key = { hdr.ipv6.dst_addr: lpm @name("dst"); }
        actions = { route; drop; }
        const default_action = drop();
    }

    table group_ports {
        key = { hdr.ipv6.dst_addr: exact @name("group"); }
        actions = { replicate; drop; }
        const default_action = drop();
    }

    apply {
        if (hdr.packet_out.isValid()) {
            standard_metadata.egress_spec = hdr.packet_out.port;
            hdr.packet_out.setInvalid();
        } else if (!hdr.ipv6.isValid() || hdr.ipv6.hop_limit == 0) {
            drop();
        } else if (hdr.ipv6.next_header == 0) {
            // Hop-by-Hop options: MLD has some, and nothing else here.
            hdr.packet_in.setValid();
            hdr.packet_in.port = standard_metadata.ingress_port;
            standard_metadata.egress_spec = CPU_PORT;
        } else if (hdr.ipv6.hop_limit == 1) {
            drop();
        } else {
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            if (hdr.ipv6.dst_addr[127:120] == 0xFF) {
                group_ports.apply();
            } else {
                routes.apply();
            }
        }
    }
}

control SixEgress(inout headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    counter(512, CounterType.packets_and_bytes) sent;

    apply {
        if (standard_metadata.mcast_grp != 0
                && standard_metadata.egress_port == standard_metadata.ingress_port) {
            mark_to_drop(standard_metadata);
        } else {
            sent.count((bit<32>) standard_metadata.egress_port);
        }
    }
}

control VerifyNothing(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control UpdateNothing(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SixDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv6);
    }
}

V1Switch(SixParser(), VerifyNothing(), SixIngress(), SixEgress(), UpdateNothing(),
         SixDeparser()) main;
