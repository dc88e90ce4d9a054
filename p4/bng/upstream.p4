// From a subscriber to the core.
//
// Packets that set up or end sessions go to the control plane. Nothing else passes unless it
// belongs to a session and comes from an address of that session.

#ifndef BNG_UPSTREAM_P4
#define BNG_UPSTREAM_P4

#include "headers.p4"
#include "check.p4"

// The part of a subscriber's frame that tells where it comes from. With labels in front it is the inner
// Ethernet header, and the second tag names a service; with QinQ both tags together name the line.
struct access_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;   // after the last tag: PPPoE discovery, or a packet of a session
    bit<20> label0;
    bit<20> label1;
    bit<12> outer_vid;
    bit<12> inner_vid;
    bit<12> service_vid;
}

// Where an upstream packet goes.
struct route_t {
    bool    found;
    bool    is_local;     // to the gateway itself
    bit<9>  port;
    bool    has_labels;   // the core wants two labels, these:
    bit<20> label0;
    bit<20> label1;
}

control ReadAccess(in bng_headers_t hdr, out access_t access) {
    apply {
        access.label0 = 0;
        access.label1 = 0;
        access.inner_vid = 0;
        access.service_vid = 0;
        access.dst_addr = hdr.ethernet.dst_addr;
        access.src_addr = hdr.ethernet.src_addr;
        access.outer_vid = hdr.outer_tag.vid;
        access.ether_type = hdr.outer_tag.ether_type;
        if (hdr.inner_tag.isValid()) {
            access.ether_type = hdr.inner_tag.ether_type;
        }
        if (hdr.inner.isValid()) {
            access.label0 = hdr.label0.label;
            access.label1 = hdr.label1.label;
            access.dst_addr = hdr.inner.dst_addr;
            access.src_addr = hdr.inner.src_addr;
            if (hdr.inner_tag.isValid()) {
                access.service_vid = hdr.inner_tag.vid;
            }
        } else {
            access.inner_vid = hdr.inner_tag.vid;
        }
    }
}

// The line that a frame comes from, and the session that its addresses belong to.
control FindSession(in bng_headers_t hdr, in access_t access, in bit<9> port,
                    out bit<16> found_line, out bit<16> found_session, out bit<8> found_service) {
    action known_line(bit<16> line) {
        found_line = line;
    }

    action unknown_line() {
        found_line = 0;
    }

    table lines {
        key = {
            port:             exact @name("port");
            access.label0:    exact @name("label0");
            access.label1:    exact @name("label1");
            access.outer_vid: exact @name("outer_vid");
            access.inner_vid: exact @name("inner_vid");
        }
        actions = { known_line; unknown_line; }
        const default_action = unknown_line();
        size = SESSIONS;
    }

    action known_session(bit<16> session, bit<8> service) {
        found_session = session;
        found_service = service;
    }

    action unknown_session() {
        found_session = 0;
        found_service = 0;
    }

    table sessions {
        key = {
            found_line:           exact @name("line");
            access.service_vid:   exact @name("service_vid");
            access.src_addr:      exact @name("mac");
            hdr.pppoe.session_id: exact @name("session_id");
        }
        actions = { known_session; unknown_session; }
        const default_action = unknown_session();
        size = SESSIONS;
    }

    apply {
        found_line = 0;
        found_session = 0;
        found_service = 0;
        lines.apply();
        if (found_line != 0 && access.ether_type == ETHERTYPE_SESSION) {
            sessions.apply();
        }
    }
}

control FindRoute(in bng_headers_t hdr, in bit<8> service, inout route_t route) {
    action to_ip(bit<9> port) {
        route.found = true;
        route.port = port;
    }

    action to_mpls(bit<9> port, bit<20> label0, bit<20> label1) {
        route.found = true;
        route.port = port;
        route.has_labels = true;
        route.label0 = label0;
        route.label1 = label1;
    }

    action local() {
        route.found = true;
        route.is_local = true;
    }

    action no_route() {
        route.found = false;
    }

    table ipv4_routes {
        key = {
            service:           exact @name("service");
            hdr.ipv4.dst_addr: lpm   @name("destination");
        }
        actions = { to_ip; to_mpls; local; no_route; }
        const default_action = no_route();
        size = 1024;
    }

    table ipv6_routes {
        key = {
            service:           exact @name("service");
            hdr.ipv6.dst_addr: lpm   @name("destination");
        }
        actions = { to_ip; to_mpls; local; no_route; }
        const default_action = no_route();
        size = 1024;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            ipv4_routes.apply();
        } else {
            ipv6_routes.apply();
        }
    }
}

// Control or data? Two questions, since some control packets belong to no session yet.
// BEGIN QUOTE demultiplex
control Demultiplex(in bng_headers_t hdr, in arrival_t arrival, in access_t access,
                    inout decision_t decision) {
    apply {
        // BEGIN SOLUTION demultiplex: what may come without a session? Set decision.reason
        if (decision.line == 0) {
            decision.reason = reason_t.UNKNOWN_LINE;
        } else if (access.ether_type == ETHERTYPE_DISCOVERY) {
            decision.reason = reason_t.DISCOVERY;
            if (access.dst_addr != arrival.mac && access.dst_addr != BROADCAST) {
                decision.reason = reason_t.WRONG_MAC;
            }
        } else if (access.dst_addr != arrival.mac) {
            decision.reason = reason_t.WRONG_MAC;
        } else if (!hdr.ppp.isValid()) {
            decision.reason = reason_t.MALFORMED;
        } else if (hdr.ppp.protocol[15:15] == 1) {
            decision.reason = reason_t.PPP_CONTROL;
        }
        // END SOLUTION
    }
}

// And which packets of a session are for the control plane?
control DemultiplexSession(in bng_headers_t hdr, inout decision_t decision) {
    apply {
        // BEGIN SOLUTION demultiplex: which packets of a session are for the control plane?
        if (hdr.ppp.protocol != PPP_IPV4 && hdr.ppp.protocol != PPP_IPV6) {
            decision.reason = reason_t.PROTOCOL;
        } else if (hdr.ipv4.isValid() && hdr.ipv4.protocol == IP_PROTOCOL_IGMP) {
            decision.reason = reason_t.IGMP;
        } else if (hdr.ipv6.isValid() && (hdr.ipv6.dst_addr[127:112] == 0xFF02 ||
                                          hdr.ipv6.dst_addr[127:118] == 0x3FA)) {
            decision.reason = reason_t.LINK_LOCAL;   // ff02::/16, fe80::/10
        }
        // END SOLUTION
    }
}
// END QUOTE

control Upstream(inout bng_headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    ReadAccess() read_access;
    FindSession() find_session;
    Demultiplex() demultiplex;
    DemultiplexSession() demultiplex_session;
    CheckIp() check_ip;
    FindRoute() find_route;

    access_t access;
    route_t  route = { false, false, NO_PORT, false, 0, 0 };
    bit<8>   service = 0;    // which routes the session uses
    bit<16>  bytes = 0;      // of the IP packet
    bit<8>   hops = 0;       // that it may still make
    bool     to_many = false;  // its destination is a group, or broadcast
    reason_t wrong = reason_t.NONE;

    // Only the packet itself goes on, with one hop less.
    // BEGIN QUOTE terminate
    action terminate() {
        // BEGIN SOLUTION terminate: take off everything between Ethernet and the IP packet
        hdr.label0.setInvalid();
        hdr.label1.setInvalid();
        hdr.inner.setInvalid();
        hdr.outer_tag.setInvalid();
        hdr.inner_tag.setInvalid();
        hdr.pppoe.setInvalid();
        hdr.ppp.setInvalid();
        // END SOLUTION
    }

    action push_labels() {
        // BEGIN SOLUTION terminate: put on the two labels of the route
        hdr.label0.setValid();
        hdr.label0.label = route.label0;
        hdr.label0.tc = 0;
        hdr.label0.s = 0;
        hdr.label0.ttl = LABEL_TTL;
        hdr.label1.setValid();
        hdr.label1.label = route.label1;
        hdr.label1.tc = 0;
        hdr.label1.s = 1;
        hdr.label1.ttl = LABEL_TTL;
        hdr.ethernet.ether_type = ETHERTYPE_MPLS;
        // END SOLUTION
    }
    // END QUOTE

    apply {
        read_access.apply(hdr, access);
        find_session.apply(hdr, access, arrival.port, decision.line, decision.session, service);

        if (!hdr.pppoe.isValid()) {
            decision.reason = reason_t.UNKNOWN_PACKET;
        } else {
            demultiplex.apply(hdr, arrival, access, decision);
        }

        if (decision.reason == reason_t.NONE) {
            // BEGIN SOLUTION anti-spoof: what if line, MAC address and session id do not belong together?
            if (decision.session == 0) {
                decision.reason = reason_t.UNKNOWN_SESSION;
            }
            // END SOLUTION
        }
        if (decision.reason == reason_t.NONE) {
            demultiplex_session.apply(hdr, decision);
        }
        if (decision.reason == reason_t.NONE) {
            check_ip.apply(hdr, arrival, bytes, wrong);
            decision.reason = wrong;
            if (wrong == reason_t.NONE && hdr.pppoe.len < (bytes |+| PPP_BYTES)) {
                decision.reason = reason_t.MALFORMED;
            }
        }

        if (decision.reason == reason_t.NONE) {
            // BEGIN QUOTE anti-spoof
            // BEGIN SOLUTION anti-spoof: whose address is it?
            if (arrival.owner != decision.session) {
                decision.reason = reason_t.SPOOFED;
            }
            // END SOLUTION
            // END QUOTE
        }

        if (decision.reason == reason_t.NONE) {
            find_route.apply(hdr, service, route);
            if (hdr.ipv4.isValid()) {
                hops = hdr.ipv4.ttl;
                to_many = hdr.ipv4.dst_addr[31:29] == 7;        // 224.0.0.0/3
            } else {
                hops = hdr.ipv6.hop_limit;
                to_many = hdr.ipv6.dst_addr[127:120] == 0xFF;   // ff00::/8
            }
            if (to_many) {
                decision.reason = reason_t.MULTICAST;
            } else if (!route.found) {
                decision.reason = reason_t.NO_ROUTE;
            } else if (route.is_local) {
                decision.reason = reason_t.LOCAL;
            } else {
                // BEGIN SOLUTION terminate: does it have a hop left?
                if (hops <= 1) {
                    decision.reason = reason_t.TTL_EXPIRED;
                }
                // END SOLUTION
            }
        }

        if (decision.reason == reason_t.NONE) {
            decision.egress_port = route.port;
            terminate();
            if (hdr.ipv4.isValid()) {
                // BEGIN SOLUTION terminate: the TTL, the checksum and the EtherType
                hdr.ipv4.ttl = hops - 1;
                decision.ipv4_changed = true;
                hdr.ethernet.ether_type = ETHERTYPE_IPV4;
                // END SOLUTION
            } else {
                // BEGIN SOLUTION terminate: the same for IPv6
                hdr.ipv6.hop_limit = hops - 1;
                hdr.ethernet.ether_type = ETHERTYPE_IPV6;
                // END SOLUTION
            }
            if (route.has_labels) {
                push_labels();
            }
        }
    }
}

#endif
