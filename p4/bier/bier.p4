// BIER: multicast without state per group in the core (RFC 8279).
//
// The router where a multicast packet enters (BFIR) writes the set of receiving routers (BFERs) into the
// packet: one bit each. Every router on the way (BFR) splits that set by next hop, with a table that has
// one entry per receiver, however many groups there are. The receiving routers take the header off.
//
// This file knows nothing of the switch it runs on. The entry file beside it (v1model.p4) fills
// `arrival`, calls these controls, and does what `decision` says.

#ifndef BIER_P4
#define BIER_P4

#include "../include/headers.p4"

const bit<8> BIER_TTL = 64;  // hops a fresh BIER packet may make

// A packet with several next hops goes through the pipeline once for each of them. This is what it
// remembers from one pass to the next.
// BEGIN QUOTE carried
struct carried_t {
    bit<BSL> remaining;    // receivers that still wait for their copy
    bit<1>   in_progress;  // 1: `remaining` holds, this is not the first pass of a BIER packet
    bit<8>   set;          // BFIR: the next set of receivers (SI) to make a BIER packet for
    bit<9>   source_port;  // BFIR: the port where the multicast packet came in, 0 on other routers
}
// END QUOTE

// What the switch knows about the packet when it arrives.
struct arrival_t {
    bit<9>  port;
    bool    checksum_ok;   // of the IPv4 header, if there is one
    bit<20> entropy;       // a number that all packets of a flow share
}

// Why a packet is given up. A trace shows the name.
enum bit<8> drop_reason_t {
    NONE                 = 0,
    UNKNOWN_PACKET       = 1,   // neither BIER nor IPv4, or cut off in the middle of a header
    NOT_MULTICAST        = 2,   // destination outside 224.0.0.0/4
    LINK_LOCAL           = 3,   // 224.0.0.0/24 never leaves its link
    BAD_IPV4_CHECKSUM    = 4,
    IPV4_TTL_EXPIRED     = 5,
    GROUP_WITHOUT_BFER   = 6,   // BFIR: nobody in the network wants this group
    BIER_VERSION         = 7,
    BIER_TTL_EXPIRED     = 8,
    NO_BIFT_ENTRY        = 9,   // unknown BIFT-id, or no receiver left that can be reached
    BIER_PAYLOAD         = 10,  // BFER: what follows the BIER header is not IPv4
    GROUP_WITHOUT_MEMBER = 11,  // BFER: no port wants this group
    BACK_TO_SOURCE       = 12,  // this copy would go back to the sender
    // With fast reroute (p4/bier-frr):
    NO_ROUTE             = 13,  // unicast: nobody has announced this destination
    NOT_A_TUNNEL         = 14,  // addressed to this router, but nothing that it understands
    PORT_DOWN            = 15,  // the link is down, and there is no way around it
    NOTED                = 16   // a message to the switch itself, which has done its work
}

// What the switch shall do with the packet.
// BEGIN QUOTE decision
struct decision_t {
    drop_reason_t drop;          // NONE: send it
    bit<9>        egress_port;   // to this port,
    bit<16>       mcast_grp;     // or, if not 0, to all ports of this group
    bool          again;         // send the packet, as it came in, through the pipeline once more
    bool          ipv4_changed;  // the IPv4 checksum has to be computed anew
}
// END QUOTE

// ---- BFIR: where multicast packets enter the BIER domain -------------------------------------------

control Bfir(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
             inout decision_t decision) {
    // Put a BIER header in front of the IPv4 header (RFC 8296, section 3). The result goes to the
    // recirculation port and comes back as a BIER packet, which is then forwarded like any other.
    // BEGIN QUOTE encapsulate
    action encapsulate(bit<20> bift_id, bit<16> bfir_id, bit<BSL> bit_string, bit<1> more_sets) {
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        decision.ipv4_changed = true;

        // BEGIN SOLUTION encapsulate: all fields of a BIER header, and the port that brings it back
        hdr.ethernet.ether_type = ETHERTYPE_BIER;
        hdr.bier.setValid();
        hdr.bier.bift_id    = bift_id;
        hdr.bier.tc         = 0;
        hdr.bier.s          = 1;
        hdr.bier.ttl        = BIER_TTL;
        hdr.bier.nibble     = 0;
        hdr.bier.ver        = 0;
        hdr.bier.bsl        = BSL_CODE;
        hdr.bier.entropy    = arrival.entropy;
        hdr.bier.oam        = 0;
        hdr.bier.rsv        = 0;
        hdr.bier.dscp       = 0;
        hdr.bier.proto      = BIER_PROTO_IPV4;
        hdr.bier.bfir_id    = bfir_id;
        hdr.bier.bit_string = bit_string;
        decision.egress_port = RECIRC_PORT;
        // END SOLUTION

        // A BitString names BSL receivers. If the group has more, in other sets, the packet as it came
        // in passes once more and gets the BIER header of the next set.
        // BEGIN SOLUTION sets: ask for that further pass, and remember which set it is for
        decision.again = (bool)more_sets;
        carried.set = carried.set + 1;
        // END SOLUTION
    }
    // END QUOTE

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
        } else if (hdr.ipv4.dst_addr[31:8] == 0xE00000) {
            decision.drop = drop_reason_t.LINK_LOCAL;
        } else if (!arrival.checksum_ok) {
            decision.drop = drop_reason_t.BAD_IPV4_CHECKSUM;
        } else if (hdr.ipv4.ttl <= 1) {
            decision.drop = drop_reason_t.IPV4_TTL_EXPIRED;
        } else {
            encap.apply();
        }
    }
}

// ---- BFER: where multicast packets leave the BIER domain -------------------------------------------

// Called when the BIER header is off: one copy for every port with a subscriber.
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

// ---- BFR: every router of the BIER domain ----------------------------------------------------------

// The forwarding procedure of RFC 8279, section 6.5. Its loop over the bits becomes passes through the
// pipeline: each pass serves one next hop, then the packet comes back with the bits that remain.
control Bfr(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
            inout decision_t decision) {
    Bfer() bfer;

    // The F-BM (forwarding bit mask) holds all receivers behind the same next hop. The copy keeps only
    // these, or a router further on would send duplicates. The packet loses them, or this router would
    // send the next hop another copy.
    // BEGIN QUOTE forward
    action forward(bit<BSL> fbm, bit<9> port) {
        // BEGIN SOLUTION forward: what the copy carries, and where it goes
        hdr.bier.bit_string = carried.remaining & fbm;
        hdr.bier.ttl = hdr.bier.ttl - 1;
        decision.egress_port = port;
        // END SOLUTION
        // BEGIN SOLUTION remaining: who still waits for a copy
        carried.remaining = carried.remaining & ~fbm;
        // END SOLUTION
    }
    // END QUOTE

    // The bit is our own: F-BM holds only this bit.
    // BEGIN QUOTE decapsulate
    action decapsulate(bit<BSL> fbm) {
        // BEGIN SOLUTION remaining: who still waits for a copy
        carried.remaining = carried.remaining & ~fbm;
        // END SOLUTION
        // BEGIN SOLUTION decapsulate: the packet as it was before it met BIER
        hdr.bier.setInvalid();
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        // END SOLUTION
    }
    // END QUOTE

    action drop() {
        carried.remaining = 0;
        decision.drop = drop_reason_t.NO_BIFT_ENTRY;
    }

    // One entry per receiver: its bit must be set in `remaining`, all other bits do not matter. The
    // priorities of the entries make the lowest bit win.
    // BEGIN QUOTE bift
    table bift {
        key = {
            hdr.bier.bift_id:  exact   @name("bift_id");
            carried.remaining: ternary @name("remaining");
        }
        actions = { forward; decapsulate; drop; }
        const default_action = drop();
        size = 4096;
    }
    // END QUOTE

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
                forward: {
                    // RFC 8296, section 2.1.1.2: a packet that arrives with TTL 1 is delivered here, if
                    // our bit is set, but goes no further. So only this copy is lost.
                    if (hdr.bier.ttl == 0) {
                        decision.drop = drop_reason_t.BIER_TTL_EXPIRED;
                    }
                }
                decapsulate: {
                    bfer.apply(hdr, arrival, decision);
                }
            }
            // BEGIN SOLUTION remaining: whether another pass is needed
            decision.again = carried.remaining != 0;
            // END SOLUTION
        }
    }
}

// ---- The whole router ------------------------------------------------------------------------------

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
            // Who joins and leaves which group is the control plane's business.
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = arrival.port;
            hdr.packet_in._pad = 0;
            decision.egress_port = CPU_PORT;
        } else {
            bfir.apply(hdr, carried, arrival, decision);
        }
    }
}

// ---- On the way out --------------------------------------------------------------------------------

// Runs once for every copy, when its port is known: Ethernet addresses for the next cable.
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
        // Packets to and from the control plane stay as they are. (The parser did not look into those
        // from the control plane.) BIER travels in unicast frames to the next BFR: RFC 8296, 2.2.3.
        if ((hdr.bier.isValid() || hdr.ipv4.isValid()) && !hdr.packet_in.isValid()) {
            port_mac.apply();
            if (!hdr.bier.isValid() && hdr.ipv4.dst_addr[31:28] == 0xE) {
                // To the hosts, in a multicast frame: 01-00-5E, a bit 0 and the low 23 bits of the
                // group (RFC 1112, section 6.4).
                hdr.ethernet.dst_addr = 25w0x200BC ++ hdr.ipv4.dst_addr[22:0];
                if (port == source_port) {
                    drop = drop_reason_t.BACK_TO_SOURCE;
                }
            }
        }
    }
}

#endif
