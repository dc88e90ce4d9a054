// Another right answer: a length above 65535, which no packet can have, stays at 65535.
// BIER with fast reroute: the router that sees a link fail repairs the traffic itself, at once, and does
// not wait for the control plane.
//
// BIER-FRR tunnels the copy for a next hop that cannot be reached through the unicast network: to that
// next hop (link protection), or to the routers behind it (node protection). IP-FRR takes unicast packets,
// these tunnels among them, around the failed link by a loop-free alternate (RFC 5286), or through a
// tunnel to a router from where the way is free (remote LFA, RFC 7490).
//
// The BIER router itself is that of bier.p4. As there, nothing here knows the switch it runs on: the
// entry file asks for the state of the port that FrrRouter chose, and tells it to Repair.

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
                    if (hdr.ipv4.protocol == IP_PROTOCOL_BIER) {
                        hdr.ethernet.ether_type = ETHERTYPE_BIER;
                        hdr.ipv4.setInvalid();
                        decision.egress_port = RECIRC_PORT;
                    } else if (hdr.ipv4.protocol == IP_PROTOCOL_IPV4) {
                        hdr.ipv4.setInvalid();
                        decision.egress_port = RECIRC_PORT;
                    } else {
                        decision.drop = drop_reason_t.NOT_A_TUNNEL;
                    }
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

    // A whole IPv4 header, so that every router on the way will take it.
    action encapsulate(bit<8> protocol, bit<16> payload_bytes, bit<6> dscp, bit<32> src, bit<32> dst) {
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.tunnel.setValid();
        hdr.tunnel.version        = 4;
        hdr.tunnel.ihl            = 5;
        hdr.tunnel.diffserv       = dscp ++ 2w0;
        hdr.tunnel.total_len      = IPV4_BYTES |+| payload_bytes;
        hdr.tunnel.identification = 0;  // free to choose, since nobody may fragment it (RFC 6864)
        hdr.tunnel.flags          = DONT_FRAGMENT;
        hdr.tunnel.frag_offset    = 0;
        hdr.tunnel.ttl            = TUNNEL_TTL;
        hdr.tunnel.protocol       = protocol;
        hdr.tunnel.hdr_checksum   = 0;  // the entry file computes it
        hdr.tunnel.src_addr       = src;
        hdr.tunnel.dst_addr       = dst;
    }

    // ---- BIER-FRR ----

    // The copy holds the receivers behind the next hop that failed. Those in the backup F-BM travel
    // through a tunnel to `dst`. The others wait for the next pass, which finds another tunnel for them.
    action tunnel_bier(bit<BSL> fbm, bit<32> src, bit<32> dst) {
        carried.remaining = carried.remaining | (hdr.bier.bit_string & ~fbm);
        hdr.bier.bit_string = hdr.bier.bit_string & fbm;
        encapsulate(IP_PROTOCOL_BIER, BIER_BYTES + hdr.ipv4.total_len, 0, src, dst);
        decision.egress_port = RECIRC_PORT;
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
        hdr.ipv4.diffserv = DSCP_DETOUR ++ hdr.ipv4.diffserv[1:0];
        decision.egress_port = port;
    }

    // No such neighbour: through `port`, in a tunnel, to a router further off (RFC 7490).
    action tunnel_ip(bit<9> port, bit<32> src, bit<32> dst) {
        hdr.ipv4.diffserv = DSCP_DETOUR ++ hdr.ipv4.diffserv[1:0];
        encapsulate(IP_PROTOCOL_IPV4, hdr.ipv4.total_len, DSCP_DETOUR, src, dst);
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
        if (hdr.bier.isValid()) {
            if (hdr.ipv4.isValid()) {
                bier_backup.apply();
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
        }
    }
}

#endif
