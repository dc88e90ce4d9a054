// Another right answer: many small controls and actions, and a table with fixed entries that tells which
// packets a BFIR takes.

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

// One hop more, so the checksum is no longer right.
action one_ipv4_hop(inout ipv4_t ipv4, inout decision_t decision) {
    ipv4.ttl = ipv4.ttl - 1;
    decision.ipv4_changed = true;
}

action served(inout carried_t carried, inout decision_t decision, in bit<BSL> receivers) {
    carried.remaining = carried.remaining & ~receivers;
    decision.again = carried.remaining != 0;
}

// Which IPv4 packets are multicast that may travel.
control Admission(in ipv4_t ipv4, in bool checksum_ok, inout decision_t decision) {
    action refuse(drop_reason_t reason) {
        decision.drop = reason;
    }

    table admission {
        key = {
            ipv4.dst_addr: ternary;
            checksum_ok:   ternary;
            ipv4.ttl:      ternary;
        }
        actions = { refuse; NoAction; }
        const default_action = refuse(drop_reason_t.NOT_MULTICAST);
        const entries = {
            (0xE0000000 &&& 0xFFFFFF00, _, _):     refuse(drop_reason_t.LINK_LOCAL);
            (0xE0000000 &&& 0xF0000000, false, _): refuse(drop_reason_t.BAD_IPV4_CHECKSUM);
            (0xE0000000 &&& 0xF0000000, _, 0 &&& 0xFE): refuse(drop_reason_t.IPV4_TTL_EXPIRED);
            (0xE0000000 &&& 0xF0000000, _, _): NoAction();
        }
    }

    apply {
        admission.apply();
    }
}

// What is the same in all BIER headers that a router makes.
control FreshHeader(inout headers_t hdr) {
    apply {
        hdr.bier.setValid();
        hdr.bier.tc     = 0;
        hdr.bier.s      = 1;
        hdr.bier.ttl    = BIER_TTL;
        hdr.bier.nibble = 0;
        hdr.bier.ver    = 0;
        hdr.bier.bsl    = BSL_CODE;
        hdr.bier.oam    = 0;
        hdr.bier.rsv    = 0;
        hdr.bier.dscp   = 0;
        hdr.bier.proto  = BIER_PROTO_IPV4;
    }
}

control Bfir(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
             inout decision_t decision) {
    Admission() admission;
    FreshHeader() fresh_header;

    action encapsulate(bit<20> bift_id, bit<16> bfir_id, bit<BSL> bit_string, bit<1> more_sets) {
        hdr.bier.bift_id    = bift_id;
        hdr.bier.bfir_id    = bfir_id;
        hdr.bier.bit_string = bit_string;
        hdr.bier.entropy    = arrival.entropy;
        decision.again      = more_sets == 1;
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
        admission.apply(hdr.ipv4, arrival.checksum_ok, decision);
        if (decision.drop == drop_reason_t.NONE) {
            // Before the table, so that an entry only fills in the rest.
            fresh_header.apply(hdr);
            if (encap.apply().hit) {
                one_ipv4_hop(hdr.ipv4, decision);
                hdr.ethernet.ether_type = ETHERTYPE_BIER;
                decision.egress_port = RECIRC_PORT;
            }
            if (decision.again) {
                carried.set = carried.set + 1;
            }
        }
    }
}

control Bfer(inout headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    action replicate(bit<16> mcast_grp) {
        one_ipv4_hop(hdr.ipv4, decision);
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
        hdr.bier.setInvalid();
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        if (!hdr.ipv4.isValid()) {
            decision.drop = drop_reason_t.BIER_PAYLOAD;
            return;
        }
        if (!arrival.checksum_ok) {
            decision.drop = drop_reason_t.BAD_IPV4_CHECKSUM;
        } else if (hdr.ipv4.ttl <= 1) {
            decision.drop = drop_reason_t.IPV4_TTL_EXPIRED;
        } else {
            group_ports.apply();
        }
    }
}

// One hop more for a copy that leaves.
control BierHop(inout bier_t bier, inout decision_t decision) {
    apply {
        bier.ttl = bier.ttl - 1;
        if (bier.ttl == 0) {
            decision.drop = drop_reason_t.BIER_TTL_EXPIRED;
        }
    }
}

control Bfr(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
            inout decision_t decision) {
    BierHop() hop;
    Bfer() bfer;

    action forward(bit<BSL> fbm, bit<9> port) {
        // What waits goes into the packet, then the F-BM keeps those that lie behind this port.
        hdr.bier.bit_string = carried.remaining;
        hdr.bier.bit_string = hdr.bier.bit_string & fbm;
        served(carried, decision, fbm);
        decision.egress_port = port;
    }

    action decapsulate(bit<BSL> fbm) {
        served(carried, decision, fbm);
    }

    action drop() {
        served(carried, decision, ~(bit<BSL>)0);
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
            switch (bift.apply().action_run) {
                forward:     { hop.apply(hdr.bier, decision); }
                decapsulate: { bfer.apply(hdr, arrival, decision); }
                default:     {}
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
