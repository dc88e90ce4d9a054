// A plain IPv6 router on TNA: MSR6 is measured against it (p4lab experiment msr6-cost). It has the
// tables and the checks that every router of ../tna.p4 has for packets without a tree, and nothing
// of trees. Who wants a group is known in every router on the way (group_ports), and the packet
// replication engine makes all copies at once.

#define TOFINO

#include <core.p4>
#include <tna.p4>

#include "../headers.p4"

// From ingress to egress.
header came_in_t {
    bit<7> _pad;
    bit<9> port;
}

struct plain_headers_t {
    came_in_t  came_in;
    ethernet_t ethernet;
    ipv6_t     ipv6;
}

struct ingress_metadata_t {
    bool          is_cut;         // the packet ends within a header
    bit<1>        found;          // a table knows where it goes
    bit<9>        egress_port;
    bit<16>       mcast_grp;
    drop_reason_t drop;
}

struct egress_metadata_t {
    drop_reason_t drop;
}

parser PlainParser(packet_in packet, out plain_headers_t hdr, out ingress_metadata_t md,
                   out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
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
        transition accept;
    }
}

control PlainIngress(inout plain_headers_t hdr, inout ingress_metadata_t md,
                     in ingress_intrinsic_metadata_t ig_intr_md,
                     in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                     inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                     inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Counter<bit<64>, bit<8>>(64, CounterType_t.PACKETS_AND_BYTES) dropped;  // by reason

    action route(bit<9> port) {
        md.found = 1;
        md.egress_port = port;
    }

    action drop() {
    }

    table ipv6_routes {
        key = { hdr.ipv6.dst_addr: lpm @name("destination"); }
        actions = { route; drop; }
        const default_action = drop();
        size = 1024;
    }

    action replicate(bit<16> mcast_grp) {
        md.found = 1;
        md.mcast_grp = mcast_grp;
    }

    table group_ports {
        key = { hdr.ipv6.dst_addr: exact @name("group"); }
        actions = { replicate; drop; }
        const default_action = drop();
        size = 1024;
    }

    action give_up(drop_reason_t reason) {
        md.drop = reason;
    }

    // Does the header speak against the packet?
    table check {
        key = {
            hdr.ipv6.isValid():         ternary @name("has_ipv6");
            md.is_cut:                  ternary @name("is_cut");
            hdr.ipv6.src_addr[127:112]: ternary @name("source");
            hdr.ipv6.dst_addr[127:112]: ternary @name("destination");
            hdr.ipv6.hop_limit:         ternary @name("hop_limit");
            md.found:                   ternary @name("found");
        }
        actions = { give_up; NoAction; }
        const default_action = NoAction();
        const entries = {
            (false, _, _, _, _, _): give_up(drop_reason_t.UNKNOWN_PACKET);
            (_, true, _, _, _, _): give_up(drop_reason_t.CUT_OFF);
            (_, _, 0xFE80 &&& 0xFFC0, _, _, _): give_up(drop_reason_t.LINK_LOCAL);
            (_, _, _, 0xFE80 &&& 0xFFC0, _, _): give_up(drop_reason_t.LINK_LOCAL);
            (_, _, _, 0xFF00 &&& 0xFF0E, _, _): give_up(drop_reason_t.LINK_LOCAL);
            (_, _, _, 0xFF02 &&& 0xFF0F, _, _): give_up(drop_reason_t.LINK_LOCAL);
            (_, _, _, _, 0 &&& 0xFE, _): give_up(drop_reason_t.HOP_LIMIT);
            (_, _, _, 0xFF00 &&& 0xFF00, _, 0): give_up(drop_reason_t.NO_LISTENER);
            (_, _, _, _, _, 0): give_up(drop_reason_t.NO_ROUTE);
        }
        size = 16;
    }

    apply {
        if (ig_prsr_md.parser_err != 0) {
            md.is_cut = true;
        }
        hdr.came_in.setValid();
        hdr.came_in.port = ig_intr_md.ingress_port;
        if (hdr.ipv6.dst_addr[127:120] == 0xFF) {
            group_ports.apply();
        } else {
            ipv6_routes.apply();
        }
        check.apply();
        if (md.drop != drop_reason_t.NONE) {
            ig_dprsr_md.drop_ctl = 1;
            dropped.count((bit<8>)md.drop);
        } else {
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            if (hdr.ipv6.dst_addr[127:120] == 0xFF) {
                ig_tm_md.mcast_grp_a = md.mcast_grp;
            } else {
                ig_tm_md.ucast_egress_port = md.egress_port;
            }
        }
    }
}

control PlainIngressDeparser(packet_out packet, inout plain_headers_t hdr,
                             in ingress_metadata_t md,
                             in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        packet.emit(hdr);
    }
}

parser PlainEgressParser(packet_in packet, out plain_headers_t hdr, out egress_metadata_t md,
                         out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        packet.extract(hdr.came_in);
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv6);
        transition accept;
    }
}

control PlainEgress(inout plain_headers_t hdr, inout egress_metadata_t md,
                    in egress_intrinsic_metadata_t eg_intr_md,
                    in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                    inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                    inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    Counter<bit<64>, bit<8>>(64, CounterType_t.PACKETS_AND_BYTES) dropped_copies;  // by reason
    Counter<bit<64>, bit<9>>(512, CounterType_t.PACKETS_AND_BYTES) sent;           // by port

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
        if (hdr.ipv6.dst_addr[127:120] == 0xFF) {
            // In a multicast frame: 33-33 and the low 32 bits of the group (RFC 2464, 7).
            hdr.ethernet.dst_addr = 16w0x3333 ++ hdr.ipv6.dst_addr[31:0];
            if (eg_intr_md.egress_port == hdr.came_in.port) {
                md.drop = drop_reason_t.BACK_TO_SOURCE;
            }
        }
        hdr.came_in.setInvalid();
        if (md.drop != drop_reason_t.NONE) {
            eg_dprsr_md.drop_ctl = 1;
            dropped_copies.count((bit<8>)md.drop);
        } else {
            sent.count(eg_intr_md.egress_port);
        }
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
