// Another right answer: actions only take notes, and what they stand for is done behind the tables.

#ifndef FRR_P4
#define FRR_P4

#define TUNNELS
#include "../bier/bier.p4"
#include "../include/parser.p4"

const bit<8> IP_PROTOCOL_IPV4 = 4;    // IPv4 in IPv4 (RFC 2003)
const bit<8> IP_PROTOCOL_BIER = 254;  // BIER in IPv4: has no number, so one for experiments (RFC 3692)

const bit<8>  TUNNEL_TTL    = 64;
const bit<3>  DONT_FRAGMENT = 2;
const bit<16> IPV4_BYTES    = 20;
const bit<16> BIER_BYTES    = 12 + BSL / 8;

// A packet that was led away from its destination carries this mark (a code point for local use: RFC 2474,
// section 6). The next router with a failure must not lead it away once more, or two failures could
// make a loop.
const bit<6> DSCP_DETOUR = 3;

// ---- From bytes to headers -------------------------------------------------------------------------

parser FrrParser(packet_in packet, out headers_t hdr, in bit<9> ingress_port) {
    PacketParser() packet_parser;

    state start {
        transition select(ingress_port) {
            CPU_PORT: parse_packet_out;
            default:  parse_from_link;
        }
    }

    state parse_from_link {
        transition select(packet.lookahead<bit<112>>()[15:0]) {
            ETHERTYPE_HEARTBEAT: parse_heartbeat;
            default:             parse_packet;
        }
    }

    state parse_packet {
        packet_parser.apply(packet, hdr, ingress_port);
        transition accept;
    }

    // From the control plane to its own port: for the switch itself.
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition select(hdr.packet_out.egress_port) {
            CPU_PORT: parse_port_status;
            default:  parse_to_link;
        }
    }

    // Of what goes out, only heartbeats are looked into.
    state parse_to_link {
        transition select(packet.lookahead<bit<112>>()[15:0]) {
            ETHERTYPE_HEARTBEAT: parse_heartbeat;
            default:             accept;
        }
    }

    state parse_heartbeat {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.heartbeat);
        transition accept;
    }

    state parse_port_status {
        packet.extract(hdr.port_status);
        transition accept;
    }
}

// ---- Unicast: the routing underlay -----------------------------------------------------------------

control Unicast(inout headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    action route(bit<9> port) {
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        decision.ipv4_changed = true;
        decision.egress_port = port;
    }

    // The address is our own: this is the end of a tunnel.
    action deliver() {}

    action drop() {
        decision.drop = drop_reason_t.NO_ROUTE;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm @name("destination"); }
        actions = { route; deliver; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        bool expired = hdr.ipv4.ttl <= 1;

        if (!arrival.checksum_ok) {
            decision.drop = drop_reason_t.BAD_IPV4_CHECKSUM;
        } else {
            switch (routes.apply().action_run) {
                route: {
                    if (expired) {
                        decision.drop = drop_reason_t.IPV4_TTL_EXPIRED;
                    }
                }
                deliver: {
                    decision.egress_port = RECIRC_PORT;
                    if (hdr.ipv4.protocol == IP_PROTOCOL_BIER) {
                        hdr.ethernet.ether_type = ETHERTYPE_BIER;
                    } else if (hdr.ipv4.protocol != IP_PROTOCOL_IPV4) {
                        decision.drop = drop_reason_t.NOT_A_TUNNEL;
                    }
                    hdr.ipv4.setInvalid();
                }
            }
        }
    }
}

// ---- The whole router, as long as all links work ---------------------------------------------------

control FrrRouter(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,
                  out decision_t decision) {
    BierRouter() bier_router;
    Unicast() unicast;

    apply {
        decision.drop = drop_reason_t.NONE;
        decision.egress_port = 0;
        decision.mcast_grp = 0;
        decision.again = false;
        decision.ipv4_changed = false;

        if (hdr.port_status.isValid()) {
            decision.drop = drop_reason_t.NOTED;
        } else if (hdr.ipv4.isValid() && !hdr.bier.isValid() && hdr.ipv4.dst_addr[31:28] != 0xE
                   && hdr.ipv4.protocol != IP_PROTOCOL_IGMP) {
            unicast.apply(hdr, arrival, decision);
        } else {
            bier_router.apply(hdr, carried, arrival, decision);
        }
    }
}

// ---- Where a link is down --------------------------------------------------------------------------

// Called for a packet that FrrRouter wants to send to one port, when that port is down.
control Repair(inout headers_t hdr, inout carried_t carried, inout decision_t decision) {
    bit<1> detoured;

    bit<8>   new_protocol;
    bit<32>  new_src;
    bit<32>  new_dst;
    bit<BSL> through;
    bool     lead_away;

    // ---- BIER-FRR ----

    // The copy holds the receivers behind the next hop that failed. Those in the backup F-BM travel
    // through a tunnel to `dst`. The others wait for the next pass, which finds another tunnel for them.
    action tunnel_bier(bit<BSL> fbm, bit<32> src, bit<32> dst) {
        through = fbm;
        new_protocol = IP_PROTOCOL_BIER;
        new_src = src;
        new_dst = dst;
    }

    action lost() {
        decision.drop = drop_reason_t.PORT_DOWN;
    }

    // One entry per receiver that is behind a neighbour; the lowest bit of the copy wins.
    table bier_backup {
        key = {
            hdr.bier.bift_id:    exact   @name("bift_id");
            hdr.bier.bit_string: ternary @name("bit_string");
        }
        actions = { tunnel_bier; lost; }
        const default_action = lost();
        size = 4096;
    }

    // ---- IP-FRR ----

    // A neighbour that is nearer to the destination than this router (RFC 5286, inequality 2). Ways on
    // which the distance only shrinks have no loops, whatever else has failed.
    action downstream(bit<9> port) {
        decision.egress_port = port;
    }

    // Any other neighbour whose own way to the destination avoids the failure (inequality 1).
    action detour(bit<9> port) {
        lead_away = true;
        decision.egress_port = port;
    }

    // No such neighbour: through `port`, in a tunnel, to a router further off (RFC 7490).
    action tunnel_ip(bit<9> port, bit<32> src, bit<32> dst) {
        lead_away = true;
        new_protocol = IP_PROTOCOL_IPV4;
        new_src = src;
        new_dst = dst;
        decision.egress_port = port;
    }

    table ip_backup {
        key = {
            hdr.ipv4.dst_addr: lpm   @name("destination");
            detoured:          exact @name("detoured");
        }
        actions = { downstream; detour; tunnel_ip; lost; }
        const default_action = lost();
        size = 4096;
    }

    apply {
        new_protocol = 0;
        lead_away = false;
        bit<8> inner_class = 0;
        bit<16> inner_bytes = hdr.ipv4.total_len;

        if (hdr.bier.isValid()) {
            if (hdr.ipv4.isValid()) {
                if (bier_backup.apply().hit) {
                    carried.remaining = (carried.remaining & through)
                        | ((hdr.bier.bit_string | carried.remaining) & ~through);
                    hdr.bier.bit_string = through & hdr.bier.bit_string;
                    decision.egress_port = RECIRC_PORT;
                    inner_bytes = inner_bytes + BIER_BYTES;
                }
                decision.again = carried.remaining != 0;
            } else {
                // The length of the payload is unknown.
                decision.drop = drop_reason_t.BIER_PAYLOAD;
            }
        } else if (hdr.ipv4.isValid()) {
            detoured = 0;
            if (hdr.ipv4.diffserv[7:2] == DSCP_DETOUR) {
                detoured = 1;
            }
            ip_backup.apply();
            if (lead_away) {
                inner_class = (bit<8>)DSCP_DETOUR * 4;
                hdr.ipv4.diffserv = inner_class | (hdr.ipv4.diffserv & 3);
            }
        }

        if (new_protocol != 0) {
            hdr.tunnel.setValid();
            hdr.tunnel.dst_addr       = new_dst;
            hdr.tunnel.src_addr       = new_src;
            hdr.tunnel.protocol       = new_protocol;
            hdr.tunnel.ttl            = TUNNEL_TTL;
            hdr.tunnel.frag_offset    = 0;
            hdr.tunnel.flags          = DONT_FRAGMENT;
            hdr.tunnel.identification = 0;
            hdr.tunnel.total_len      = inner_bytes + IPV4_BYTES;
            hdr.tunnel.diffserv       = inner_class;
            hdr.tunnel.ihl            = 5;
            hdr.tunnel.version        = 4;
            hdr.ethernet.ether_type   = ETHERTYPE_IPV4;
        }
    }
}

#endif
