// Another right answer: actions only note what the entry says; the apply blocks do the work with it.

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
    bit<20> entry_bift_id;
    bit<16> entry_bfir_id;
    bit<BSL> entry_bits;
    bool entry_has_successor;

    action encapsulate(bit<20> bift_id, bit<16> bfir_id, bit<BSL> bit_string, bit<1> more_sets) {
        entry_bift_id = bift_id;
        entry_bfir_id = bfir_id;
        entry_bits = bit_string;
        entry_has_successor = more_sets == 1;
    }

    action drop() {}

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
        entry_bift_id = 0;
        entry_bfir_id = 0;
        entry_bits = 0;
        entry_has_successor = false;

        if (carried.set == 0) {
            carried.source_port = arrival.port;
        }
        if (hdr.ipv4.dst_addr & 0xF0000000 != 0xE0000000) {
            decision.drop = drop_reason_t.NOT_MULTICAST;
            return;
        }
        if (hdr.ipv4.dst_addr & 0xFFFFFF00 == 0xE0000000) {
            decision.drop = drop_reason_t.LINK_LOCAL;
            return;
        }
        if (!arrival.checksum_ok) {
            decision.drop = drop_reason_t.BAD_IPV4_CHECKSUM;
            return;
        }
        if (hdr.ipv4.ttl == 0 || hdr.ipv4.ttl == 1) {
            decision.drop = drop_reason_t.IPV4_TTL_EXPIRED;
            return;
        }
        if (!encap.apply().hit) {
            decision.drop = drop_reason_t.GROUP_WITHOUT_BFER;
            return;
        }

        hdr.bier.setValid();
        hdr.bier.bit_string = entry_bits;
        hdr.bier.bfir_id = entry_bfir_id;
        hdr.bier.bift_id = entry_bift_id;
        hdr.bier.entropy = arrival.entropy;
        hdr.bier.ttl = BIER_TTL;
        hdr.bier.bsl = BSL_CODE;
        hdr.bier.proto = BIER_PROTO_IPV4;
        hdr.bier.s = 1;
        hdr.bier.tc = 0;
        hdr.bier.nibble = 0;
        hdr.bier.ver = 0;
        hdr.bier.oam = 0;
        hdr.bier.rsv = 0;
        hdr.bier.dscp = 0;
        hdr.ethernet.ether_type = ETHERTYPE_BIER;

        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        decision.ipv4_changed = true;
        decision.egress_port = RECIRC_PORT;
        if (entry_has_successor) {
            carried.set = carried.set + 1;
            decision.again = true;
        }
    }
}

control Bfer(inout headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    bit<16> entry_group;

    action replicate(bit<16> mcast_grp) {
        entry_group = mcast_grp;
    }

    action drop() {}

    table group_ports {
        key = { hdr.ipv4.dst_addr: exact @name("group"); }
        actions = { replicate; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        entry_group = 0;
        if (!hdr.ipv4.isValid()) {
            decision.drop = drop_reason_t.BIER_PAYLOAD;
        } else if (!arrival.checksum_ok) {
            decision.drop = drop_reason_t.BAD_IPV4_CHECKSUM;
        } else if (hdr.ipv4.ttl <= 1) {
            decision.drop = drop_reason_t.IPV4_TTL_EXPIRED;
        } else if (group_ports.apply().miss) {
            decision.drop = drop_reason_t.GROUP_WITHOUT_MEMBER;
        } else {
            decision.mcast_grp = entry_group;
            decision.ipv4_changed = true;
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        }
    }
}

control Bfr(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
            inout decision_t decision) {
    Bfer() bfer;
    bit<BSL> served;
    bit<9> out_port;

    action forward(bit<BSL> fbm, bit<9> port) {
        served = fbm;
        out_port = port;
    }

    action decapsulate(bit<BSL> fbm) {
        served = fbm;
    }

    action drop() {}

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
        served = 0;
        out_port = 0;
        if (carried.in_progress == 0) {
            carried.remaining = hdr.bier.bit_string;
        }
        carried.in_progress = 1;

        if (hdr.bier.ver != 0) {
            decision.drop = drop_reason_t.BIER_VERSION;
            return;
        }
        if (hdr.bier.ttl == 0) {
            decision.drop = drop_reason_t.BIER_TTL_EXPIRED;
            return;
        }

        switch (bift.apply().action_run) {
            forward: {
                if (hdr.bier.ttl == 1) {
                    decision.drop = drop_reason_t.BIER_TTL_EXPIRED;
                } else {
                    decision.egress_port = out_port;
                    hdr.bier.ttl = hdr.bier.ttl - 1;
                    hdr.bier.bit_string = carried.remaining & served;
                }
            }
            decapsulate: {
                hdr.ethernet.ether_type = ETHERTYPE_IPV4;
                hdr.bier.setInvalid();
                bfer.apply(hdr, arrival, decision);
            }
            drop: {
                decision.drop = drop_reason_t.NO_BIFT_ENTRY;
                return;
            }
        }
        carried.remaining = carried.remaining & ~served;
        if (carried.remaining != 0) {
            decision.again = true;
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
