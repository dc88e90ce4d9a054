// Another right answer: the whole BIER header in one assignment, functions for the bit strings,
// conditional expressions instead of if, and minus and xor where others write & ~.

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

// The bits that an entry takes out of those that wait.
bit<BSL> taken(in bit<BSL> waiting, in bit<BSL> fbm) {
    return waiting & fbm;
}

// Those that are left. What is subtracted is a part of `waiting`, so nothing is borrowed.
bit<BSL> left(in bit<BSL> waiting, in bit<BSL> fbm) {
    return waiting - (waiting & fbm);
}

control Bfir(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
             inout decision_t decision) {
    action encapsulate(bit<20> bift_id, bit<16> bfir_id, bit<BSL> bit_string, bit<1> more_sets) {
        hdr.bier = {
            bift_id,
            0, 1, BIER_TTL,                        // tc, s, ttl
            0, 0, BSL_CODE, arrival.entropy,       // nibble, ver, bsl, entropy
            0, 0, 0, BIER_PROTO_IPV4, bfir_id,     // oam, rsv, dscp, proto, bfir_id
            bit_string
        };
        hdr.ethernet.ether_type = ETHERTYPE_BIER;
        hdr.ipv4.ttl = hdr.ipv4.ttl + 0xFF;
        carried.set = carried.set + (bit<8>)more_sets;
        decision = {
            drop = drop_reason_t.NONE,
            egress_port = RECIRC_PORT,
            mcast_grp = 0,
            again = (bool)more_sets,
            ipv4_changed = true
        };
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
        carried.source_port = carried.set == 0 ? arrival.port : carried.source_port;
        decision.drop =
            hdr.ipv4.dst_addr[31:28] != 14 ? drop_reason_t.NOT_MULTICAST :
            (hdr.ipv4.dst_addr >> 8 == 0xE00000 ? drop_reason_t.LINK_LOCAL :
             (!arrival.checksum_ok ? drop_reason_t.BAD_IPV4_CHECKSUM :
              (hdr.ipv4.ttl < 2 ? drop_reason_t.IPV4_TTL_EXPIRED : drop_reason_t.NONE)));
        if (decision.drop == drop_reason_t.NONE) {
            encap.apply();
        }
    }
}

control Bfer(inout headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    action replicate(bit<16> mcast_grp) {
        hdr.ipv4.ttl = hdr.ipv4.ttl |-| 1;
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
        decision.drop =
            !hdr.ipv4.isValid() ? drop_reason_t.BIER_PAYLOAD :
            (!arrival.checksum_ok ? drop_reason_t.BAD_IPV4_CHECKSUM :
             (hdr.ipv4.ttl < 2 ? drop_reason_t.IPV4_TTL_EXPIRED : drop_reason_t.NONE));
        if (decision.drop == drop_reason_t.NONE) {
            group_ports.apply();
        }
    }
}

control Bfr(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
            inout decision_t decision) {
    Bfer() bfer;

    action forward(bit<BSL> fbm, bit<9> port) {
        decision.egress_port = port;
        decision.drop = hdr.bier.ttl == 1 ? drop_reason_t.BIER_TTL_EXPIRED : drop_reason_t.NONE;
        hdr.bier.ttl = hdr.bier.ttl - 1;
        hdr.bier.bit_string = taken(carried.remaining, fbm);
        carried.remaining = left(carried.remaining, fbm);
        decision.again = carried.remaining > 0;
    }

    action decapsulate(bit<BSL> fbm) {
        carried.remaining = carried.remaining ^ fbm;
        decision.again = carried.remaining > 0;
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.bier = (bier_t) {#};
    }

    action drop() {
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
        carried.remaining = carried.in_progress == 1 ? carried.remaining : hdr.bier.bit_string;
        carried.in_progress = 1;
        decision.drop =
            hdr.bier.ver != 0 ? drop_reason_t.BIER_VERSION :
            (hdr.bier.ttl == 0 ? drop_reason_t.BIER_TTL_EXPIRED : drop_reason_t.NONE);
        if (decision.drop == drop_reason_t.NONE) {
            bift.apply();
            if (!hdr.bier.isValid()) {
                bfer.apply(hdr, arrival, decision);
            }
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
        if ((hdr.bier.isValid() || hdr.ipv4.isValid()) && !hdr.packet_in.isValid()) {
            port_mac.apply();
            if (!hdr.bier.isValid()) {
                hdr.ethernet.dst_addr = 25w0x200BC ++ hdr.ipv4.dst_addr[22:0];
                if (port == source_port) {
                    drop = drop_reason_t.BACK_TO_SOURCE;
                }
            }
        }
    }
}

#endif
