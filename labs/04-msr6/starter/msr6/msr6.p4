// MSR6: multicast that carries its tree, so that no router has to know it.
//
// The router where an IPv6 multicast packet comes in (ingress) puts a tree in front of it, as a list of
// SIDs or as bits. Every router of the tree (transit) reads its own part, makes the copies that it asks
// for, and sends each to the next. At a leaf (egress) the packet comes out as it was.
//
// The drafts' layouts are not public. This encoding is p4lab's own profile, not an IETF format.
//
// This file knows nothing of the switch it runs on. The entry file beside it (v1model.p4) fills
// `arrival`, calls these controls, and does what `decision` says.

#ifndef MSR6_P4
#define MSR6_P4

#include "headers.p4"
#include "te.p4"
#include "rlb.p4"
#include "be.p4"
#include "leaf.p4"
#include "ingress.p4"

// ---- What every SID of this router asks of the header in which it stands --------------------------

// What RFC 8754 (4.3.1.1) asks of a segment routing header, before anything of it is believed.
control Guard(in msr6_headers_t hdr, in arrival_t arrival, in behaviour_t behaviour,
              inout decision_t decision) {
    apply {
        if (!arrival.is_whole) {
            decision.drop = drop_reason_t.CUT_OFF;
        } else if (!hdr.routing.isValid()) {
            // A leaf takes packets without a routing header, too.
            if (behaviour != behaviour_t.END_DT6) {
                decision.drop = drop_reason_t.UPPER_LAYER;
            }
        } else if (hdr.routing.routing_type != ROUTING_MSR6) {
            decision.drop = drop_reason_t.ROUTING_TYPE;
        }
        // TODO read: five more reasons: the length, the hop limit, and the two indices
        // TODO leave: what a leaf asks of Segments Left
    }
}

// ---- Multicast without a tree: to listeners of this router, or to all ports of a group ------------

control Listeners(inout msr6_headers_t hdr, inout decision_t decision) {
    action replicate(bit<16> mcast_grp) {
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        decision.mcast_grp = mcast_grp;
    }

    action drop() {
        decision.drop = drop_reason_t.NO_LISTENER;
    }

    table group_ports {
        key = { hdr.ipv6.dst_addr: exact @name("group"); }
        actions = { replicate; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        if (hdr.ipv6.dst_addr[127:120] != 0xFF) {
            decision.drop = drop_reason_t.NOT_MULTICAST;
        } else if (hdr.ipv6.dst_addr[115:112] <= 2 || hdr.ipv6.src_addr[127:118] == LINK_LOCAL_10) {
            decision.drop = drop_reason_t.LINK_LOCAL;
        } else if (hdr.ipv6.hop_limit <= 1) {
            decision.drop = drop_reason_t.HOP_LIMIT;
        } else {
            group_ports.apply();
        }
    }
}

// ---- The whole router ------------------------------------------------------------------------------

control Msr6Router(inout msr6_headers_t hdr, inout carried_t carried, in arrival_t arrival,
                   out decision_t decision) {
    Guard() guard;
    EndRl() end_rl;
    EndRlb() end_rlb;
    EndRgb() end_rgb;
    Leaf() end_dt6;
    Encapsulation() encapsulation;
    Listeners() listeners;

    behaviour_t behaviour = behaviour_t.NONE;
    bit<16> known_bits = 0;
    bit<16> transit_bits = 0;
    bool for_control = false;

    action rl() {
        behaviour = behaviour_t.END_RL;
    }

    action rlb(bit<16> known, bit<16> transits) {
        behaviour = behaviour_t.END_RLB;
        known_bits = known;
        transit_bits = transits;
    }

    action rgb() {
        behaviour = behaviour_t.END_RGB;
    }

    action dt6() {
        behaviour = behaviour_t.END_DT6;
    }

    // Locator, node and function of this router's SIDs. Arguments are not part of the look-up.
    table local_sids {
        key = { hdr.ipv6.dst_addr[127:32]: exact @name("sid"); }
        actions = { rl; rlb; rgb; dt6; NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    action route(bit<9> port) {
        decision.egress_port = port;
    }

    // To this router itself: a copy comes back and is handled like one from outside.
    action local() {
        decision.egress_port = RECIRC_PORT;
    }

    action no_route() {
        decision.drop = drop_reason_t.NO_ROUTE;
    }

    table ipv6_routes {
        key = { hdr.ipv6.dst_addr: lpm @name("destination"); }
        actions = { route; local; no_route; }
        const default_action = no_route();
        size = 4096;
    }

    apply {
        decision.drop = drop_reason_t.NONE;
        decision.deliver = false;
        decision.look_up = false;
        decision.egress_port = 0;
        decision.mcast_grp = 0;
        decision.again = false;
        decision.is_copy = false;

        if (hdr.packet_out.isValid()) {
            decision.egress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else if (!hdr.ipv6.isValid()) {
            decision.drop = drop_reason_t.UNKNOWN_PACKET;
        } else if (hdr.ipv6.dst_addr[127:120] == 0xFF) {
            if (hdr.icmpv6.isValid() && (hdr.icmpv6.type == MLD_REPORT || hdr.icmpv6.type == MLD_DONE
                                         || hdr.icmpv6.type == MLD_REPORT_V2)) {
                // Who joins and leaves which group is the control plane's business.
                for_control = true;
            } else if (hdr.ipv6.dst_addr[115:112] <= 2
                       || hdr.ipv6.src_addr[127:118] == LINK_LOCAL_10) {
                decision.drop = drop_reason_t.LINK_LOCAL;
            } else if (hdr.ipv6.next_header == NEXT_ROUTING) {
                decision.drop = drop_reason_t.ROUTED_MULTICAST;
            } else if (hdr.ipv6.hop_limit <= 1) {
                decision.drop = drop_reason_t.HOP_LIMIT;
            } else {
                if (carried.part == 0) {
                    carried.source_port = arrival.port;
                }
                encapsulation.apply(hdr, carried, decision);
            }
        } else if (hdr.ipv6.dst_addr[127:118] == LINK_LOCAL_10
                   || hdr.ipv6.src_addr[127:118] == LINK_LOCAL_10) {
            decision.drop = drop_reason_t.LINK_LOCAL;
        } else {
            local_sids.apply();
            if (behaviour == behaviour_t.NONE) {
                decision.look_up = true;
                if (hdr.ipv6.hop_limit <= 1) {
                    decision.drop = drop_reason_t.TIME_EXCEEDED;  // as any router does
                }
            } else {
                guard.apply(hdr, arrival, behaviour, decision);
                if (decision.drop == drop_reason_t.NONE) {
                    if (behaviour == behaviour_t.END_RL) {
                        end_rl.apply(hdr, carried, decision);
                    } else if (behaviour == behaviour_t.END_RLB) {
                        end_rlb.apply(hdr, known_bits, transit_bits, carried, decision);
                    } else if (behaviour == behaviour_t.END_RGB) {
                        end_rgb.apply(hdr, carried, decision);
                    } else {
                        end_dt6.apply(hdr, decision);
                    }
                }
            }
        }

        // A list may name any address, and these are none to send a copy to.
        if (decision.is_copy && !decision.deliver) {
            if (hdr.ipv6.dst_addr[127:120] == 0xFF) {
                decision.drop = drop_reason_t.ROUTED_MULTICAST;
            } else if (hdr.ipv6.dst_addr[127:118] == LINK_LOCAL_10) {
                decision.drop = drop_reason_t.LINK_LOCAL;
            }
        }

        if (decision.drop == drop_reason_t.NONE) {
            if (decision.look_up) {
                switch (ipv6_routes.apply().action_run) {
                    route: {
                        if (!decision.is_copy) {
                            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
                        }
                    }
                    local: {
                        if (!decision.is_copy) {
                            decision.drop = drop_reason_t.NO_SUCH_SID;
                        }
                    }
                    no_route: {
                        if (decision.is_copy) {
                            decision.drop = drop_reason_t.NO_WAY;
                        }
                    }
                }
            } else if (decision.deliver) {
                listeners.apply(hdr, decision);
            }
        }

        // One packet that came in is refused once, however many copies of it came back to this router.
        if (for_control || ((bit<8>)decision.drop >= FIRST_TOLD && !decision.is_copy
                            && !arrival.came_back)) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = arrival.port;
            hdr.packet_in.reason = ((bit<8>)decision.drop)[6:0];
            decision.egress_port = CPU_PORT;
        }
    }
}

// ---- On the way out ----------------------------------------------------------------------------------

// Runs once for every copy, when its port is known: Ethernet addresses for the next cable.
control Msr6Rewrite(inout msr6_headers_t hdr, in bit<9> port, in bit<9> source_port,
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
        // from the control plane.)
        if (hdr.ipv6.isValid() && !hdr.packet_in.isValid()) {
            port_mac.apply();
            if (hdr.ipv6.dst_addr[127:120] == 0xFF) {
                // In a multicast frame: 33-33 and the low 32 bits of the group (RFC 2464, section 7).
                hdr.ethernet.dst_addr = 16w0x3333 ++ hdr.ipv6.dst_addr[31:0];
            }
            // At the ingress only: elsewhere it is 0, and there is no port 0.
            if (port == source_port) {
                drop = drop_reason_t.BACK_TO_SOURCE;
            }
        }
    }
}

#endif
