// A plain IP router on TNA: protection is measured against it (p4lab experiment). It has the tables
// and the checks that every router of ../tna.p4 has, and nothing of connections.

#define TOFINO

#include <core.p4>
#include <tna.p4>

#include "../headers.p4"

struct plain_headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ipv6_t     ipv6;
}

struct ingress_metadata_t {
    bool          checksum_wrong;
    bit<16>       missing;   // bytes that the packet is shorter than its IPv4 header
    bool          has_route;
    bit<9>        egress_port;
    drop_reason_t drop;
}

struct egress_metadata_t {}

parser PlainParser(packet_in packet, out plain_headers_t hdr, out ingress_metadata_t md,
                   out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() checksum;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        md.checksum_wrong = false;
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: look_at_ipv4;
            ETHERTYPE_IPV6: look_at_ipv6;
            default:        accept;
        }
    }

    state look_at_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            0x45:         parse_ipv4;
            0x46 .. 0x4F: parse_ipv4_with_options;
            default:      accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        checksum.add(hdr.ipv4);
        md.checksum_wrong = checksum.verify();
        transition accept;
    }

    // The checksum units cannot follow: such packets go nowhere.
    state parse_ipv4_with_options {
        packet.extract(hdr.ipv4);
        md.checksum_wrong = true;
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

control PlainIngress(inout plain_headers_t hdr, inout ingress_metadata_t md,
                     in ingress_intrinsic_metadata_t ig_intr_md,
                     in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                     inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                     inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Counter<bit<64>, bit<8>>(32, CounterType_t.PACKETS_AND_BYTES) dropped;

    action route(bit<9> port) {
        md.has_route = true;
        md.egress_port = port;
    }

    action drop() {
        md.has_route = false;
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

    action give_up(drop_reason_t reason) {
        md.drop = reason;
    }

    // Does the header in front speak against the packet?
    table check {
        key = {
            hdr.ipv4.isValid(): exact;
            hdr.ipv6.isValid(): exact;
            md.checksum_wrong:  ternary;
            md.missing:         ternary;
            hdr.ipv4.ttl:       ternary;
            hdr.ipv6.hop_limit: ternary;
        }
        actions = { give_up; NoAction; }
        const default_action = NoAction();
        const entries = {
            (false, false, _, _, _, _):                   give_up(drop_reason_t.UNKNOWN_PACKET);
            (true, false, true, _, _, _):                 give_up(drop_reason_t.BAD_IPV4_CHECKSUM);
            (true, false, false, 0 &&& 0, 0 &&& 0xFE, _): give_up(drop_reason_t.TTL_EXPIRED);
            (true, false, false, 0, _, _):                NoAction();
            (true, false, false, _, _, _):                give_up(drop_reason_t.MALFORMED);
            (false, true, _, _, _, 0 &&& 0xFE):           give_up(drop_reason_t.TTL_EXPIRED);
        }
        size = 8;
    }

    apply {
        md.drop = drop_reason_t.NONE;
        md.has_route = false;
        md.egress_port = 0;
        md.missing = 16w20 |-| hdr.ipv4.total_len;
        if (hdr.ipv4.isValid()) {
            ipv4_routes.apply();
        } else {
            ipv6_routes.apply();
        }
        check.apply();
        if (md.drop == drop_reason_t.NONE && !md.has_route) {
            md.drop = drop_reason_t.NO_ROUTE;
        }
        if (md.drop != drop_reason_t.NONE) {
            ig_dprsr_md.drop_ctl = 1;
            dropped.count((bit<8>)md.drop);
        } else {
            ig_tm_md.ucast_egress_port = md.egress_port;
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            } else {
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            }
        }
    }
}

control PlainIngressDeparser(packet_out packet, inout plain_headers_t hdr,
                             in ingress_metadata_t md,
                             in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Checksum() checksum;

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.hdr_checksum = checksum.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
                hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        }
        packet.emit(hdr);
    }
}

parser PlainEgressParser(packet_in packet, out plain_headers_t hdr, out egress_metadata_t md,
                         out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control PlainEgress(inout plain_headers_t hdr, inout egress_metadata_t md,
                    in egress_intrinsic_metadata_t eg_intr_md,
                    in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                    inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                    inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    Counter<bit<64>, bit<9>>(512, CounterType_t.PACKETS_AND_BYTES) sent;  // by port

    action rewrite(bit<48> src, bit<48> dst) {
        hdr.ethernet.src_addr = src;
        hdr.ethernet.dst_addr = dst;
    }

    table port_mac {
        key = { eg_intr_md.egress_port: exact @name("port"); }
        actions = { rewrite; NoAction; }
        const default_action = NoAction();
        size = 512;
    }

    apply {
        port_mac.apply();
        sent.count(eg_intr_md.egress_port);
    }
}

control PlainEgressDeparser(packet_out packet, inout plain_headers_t hdr, in egress_metadata_t md,
                            in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply {
        packet.emit(hdr);
    }
}

Pipeline(PlainParser(), PlainIngress(), PlainIngressDeparser(), PlainEgressParser(), PlainEgress(),
         PlainEgressDeparser()) pipe;
Switch(pipe) main;
