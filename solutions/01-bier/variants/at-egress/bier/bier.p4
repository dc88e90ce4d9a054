// Another right answer: what concerns one copy happens on the way out. The BIER header and its TTL are
// changed in BierRewrite; a BitString without bits says that the header comes off there.

#ifndef BIER_P4
#define BIER_P4

#include "../include/headers.p4"

const bit<8> BIER_TTL = 64;

struct carried_t {
    bit<BSL> remaining;
    bit<1>   in_progress;
    bit<8>   set;
    bit<9>   source_port;
}

struct arrival_t {
    bit<9>  port;
    bool    checksum_ok;
    bit<20> entropy;
}

enum bit<8> drop_reason_t {
    NONE                 = 0,
    UNKNOWN_PACKET       = 1,
    NOT_MULTICAST        = 2,
    LINK_LOCAL           = 3,
    BAD_IPV4_CHECKSUM    = 4,
    IPV4_TTL_EXPIRED     = 5,
    GROUP_WITHOUT_BFER   = 6,
    BIER_VERSION         = 7,
    BIER_TTL_EXPIRED     = 8,
    NO_BIFT_ENTRY        = 9,
    BIER_PAYLOAD         = 10,
    GROUP_WITHOUT_MEMBER = 11,
    BACK_TO_SOURCE       = 12
}

struct decision_t {
    drop_reason_t drop;
    bit<9>        egress_port;
    bit<16>       mcast_grp;
    bool          again;
    bool          ipv4_changed;
}

control Bfir(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
             inout decision_t decision) {
    action encapsulate(bit<20> bift_id, bit<16> bfir_id, bit<BSL> bit_string, bit<1> more_sets) {
        hdr.bier.setValid();
        hdr.bier = {
            bift_id = bift_id, tc = 0, s = 1, ttl = BIER_TTL,
            nibble = 0, ver = 0, bsl = BSL_CODE, entropy = arrival.entropy,
            oam = 0, rsv = 0, dscp = 0, proto = BIER_PROTO_IPV4, bfir_id = bfir_id,
            bit_string = bit_string
        };
        hdr.ethernet.ether_type = ETHERTYPE_BIER;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        decision.ipv4_changed = true;
        decision.egress_port = RECIRC_PORT;
        decision.again = more_sets == 1;
    }

    action drop() {
        decision.drop = drop_reason_t.GROUP_WITHOUT_BFER;
    }

    table encap {
        key = {
            hdr.ipv4.dst_addr: exact @name("group");
            carried.set:       exact @name("set");
        }
        actions = { encapsulate; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        if (carried.set == 0) {
            carried.source_port = arrival.port;
        }
        if (hdr.ipv4.dst_addr[31:28] != 0xE) {
            decision.drop = drop_reason_t.NOT_MULTICAST;
        } else if (hdr.ipv4.dst_addr[27:8] == 0) {
            decision.drop = drop_reason_t.LINK_LOCAL;
        } else if (!arrival.checksum_ok) {
            decision.drop = drop_reason_t.BAD_IPV4_CHECKSUM;
        } else if (hdr.ipv4.ttl <= 1) {
            decision.drop = drop_reason_t.IPV4_TTL_EXPIRED;
        } else if (encap.apply().hit && decision.again) {
            carried.set = carried.set + 1;
        }
    }
}

control Bfer(inout headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    action replicate(bit<16> mcast_grp) {
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        decision.ipv4_changed = true;
        decision.mcast_grp = mcast_grp;
    }

    action drop() {
        decision.drop = drop_reason_t.GROUP_WITHOUT_MEMBER;
    }

    table group_ports {
        key = { hdr.ipv4.dst_addr: exact @name("group"); }
        actions = { replicate; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        if (!hdr.ipv4.isValid()) {
            decision.drop = drop_reason_t.BIER_PAYLOAD;
        } else if (!arrival.checksum_ok) {
            decision.drop = drop_reason_t.BAD_IPV4_CHECKSUM;
        } else if (hdr.ipv4.ttl <= 1) {
            decision.drop = drop_reason_t.IPV4_TTL_EXPIRED;
        } else {
            group_ports.apply();
        }
    }
}

control Bfr(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
            inout decision_t decision) {
    Bfer() bfer;

    action forward(bit<BSL> fbm, bit<9> port) {
        hdr.bier.bit_string = carried.remaining & fbm;
        carried.remaining = carried.remaining ^ hdr.bier.bit_string;
        decision.egress_port = port;
    }

    action decapsulate(bit<BSL> fbm) {
        carried.remaining = ~(~carried.remaining | fbm);
        hdr.bier.bit_string = 0;
    }

    action drop() {
        carried.remaining = 0;
        decision.drop = drop_reason_t.NO_BIFT_ENTRY;
    }

    table bift {
        key = {
            hdr.bier.bift_id:  exact   @name("bift_id");
            carried.remaining: ternary @name("remaining");
        }
        actions = { forward; decapsulate; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        if (carried.in_progress == 0) {
            carried.in_progress = 1;
            carried.remaining = hdr.bier.bit_string;
        }
        if (hdr.bier.ver != 0) {
            decision.drop = drop_reason_t.BIER_VERSION;
        } else if (hdr.bier.ttl == 0) {
            decision.drop = drop_reason_t.BIER_TTL_EXPIRED;
        } else {
            if (bift.apply().hit) {
                if (hdr.bier.bit_string == 0) {
                    bfer.apply(hdr, arrival, decision);
                } else if (hdr.bier.ttl == 1) {
                    decision.drop = drop_reason_t.BIER_TTL_EXPIRED;
                }
            }
            decision.again = !(carried.remaining == 0);
        }
    }
}

control BierRouter(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
                   out decision_t decision) {
    Bfir() bfir;
    Bfr() bfr;

    apply {
        decision.drop = drop_reason_t.NONE;
        decision.egress_port = 0;
        decision.mcast_grp = 0;
        decision.again = false;
        decision.ipv4_changed = false;

        if (hdr.packet_out.isValid()) {
            decision.egress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else if (hdr.bier.isValid()) {
            bfr.apply(hdr, carried, arrival, decision);
        } else if (!hdr.ipv4.isValid()) {
            decision.drop = drop_reason_t.UNKNOWN_PACKET;
        } else if (hdr.ipv4.protocol == IP_PROTOCOL_IGMP) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = arrival.port;
            hdr.packet_in._pad = 0;
            decision.egress_port = CPU_PORT;
        } else {
            bfir.apply(hdr, carried, arrival, decision);
        }
    }
}

control BierRewrite(inout headers_t hdr, in bit<9> port, in bit<9> source_port,
                    out drop_reason_t drop) {
    action rewrite(bit<48> src, bit<48> dst) {
        hdr.ethernet.src_addr = src;
        hdr.ethernet.dst_addr = dst;
    }

    table port_mac {
        key = { port: exact @name("port"); }
        actions = { rewrite; NoAction; }
        const default_action = NoAction();
        size = 512;
    }

    apply {
        drop = drop_reason_t.NONE;
        if (hdr.bier.isValid() && hdr.bier.bit_string == 0) {
            hdr.bier.setInvalid();
            hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        }
        bool to_host = hdr.ipv4.isValid() && !hdr.packet_in.isValid();
        if (hdr.bier.isValid()) {
            hdr.bier.ttl = hdr.bier.ttl - 1;
            to_host = false;
        }
        if (hdr.bier.isValid() || to_host) {
            port_mac.apply();
        }
        if (to_host) {
            hdr.ethernet.dst_addr = 0x01005E000000 | (bit<48>)(hdr.ipv4.dst_addr & 0x7FFFFF);
            if (port == source_port) {
                drop = drop_reason_t.BACK_TO_SOURCE;
            }
        }
    }
}

#endif
