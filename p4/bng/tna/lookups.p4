// What is known about a packet: interface, line, session, owner, route, subscriber, class. None of
// these tables asks whether the packet may pass; they are all asked before.

#ifndef BNG_TNA_LOOKUPS_P4
#define BNG_TNA_LOOKUPS_P4

#include "headers.p4"

control FindInterface(inout ingress_metadata_t md) {
    action access(bit<48> mac) {
        md.side = 1;
        md.mac_difference = md.dst_mac ^ mac;
    }

    action core(bit<48> mac) {
        md.side = 2;
        md.mac_difference = md.dst_mac ^ mac;
    }

    action unknown_interface() {
        md.reason = reason_t.UNKNOWN_INTERFACE;
    }

    table interfaces {
        key = {
            md.port:      exact @name("port");
            md.interface: exact @name("label");
        }
        actions = { access; core; unknown_interface; }
        const default_action = unknown_interface();
        size = 1024;
    }

    apply {
        interfaces.apply();
    }
}

// How long the packet is, by its own header. `short` and `missing` are 0 if nothing is.
control Measure(in bng_headers_t hdr, inout ingress_metadata_t md) {
    action measure_ipv4() {
        md.bytes = hdr.ipv4.total_len;
        md.ppp_bytes = hdr.ipv4.total_len |+| PPP_BYTES;
        md.header_bytes = (bit<16>)hdr.ipv4.ihl << 2;
    }

    action measure_ipv6() {
        md.bytes = hdr.ipv6.payload_len |+| IPV6_BYTES;
        md.ppp_bytes = hdr.ipv6.payload_len |+| (IPV6_BYTES + PPP_BYTES);
    }

    action compare() {
        md.short = md.ppp_bytes |-| hdr.pppoe.len;
        md.missing = md.header_bytes |-| md.bytes;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            measure_ipv4();
        } else if (hdr.ipv6.isValid()) {
            measure_ipv6();
        }
        compare();
    }
}

control FindSession(in bng_headers_t hdr, inout ingress_metadata_t md) {
    action known_line(bit<16> line) {
        md.line = line;
    }

    action unknown_line() {
    }

    table lines {
        key = {
            md.port:           exact @name("port");
            md.label0:         exact @name("label0");
            md.label1:         exact @name("label1");
            hdr.outer_tag.vid: exact @name("outer_vid");
            md.inner_vid:      exact @name("inner_vid");
        }
        actions = { known_line; unknown_line; }
        const default_action = unknown_line();
        size = SESSIONS;
    }

    action known_session(bit<16> session, bit<8> service) {
        md.session = session;
        md.has_session = 1;
        md.service = service;
    }

    action unknown_session() {
    }

    table sessions {
        key = {
            md.line:              exact @name("line");
            md.service_vid:       exact @name("service_vid");
            md.src_mac:           exact @name("mac");
            hdr.pppoe.session_id: exact @name("session_id");
        }
        actions = { known_session; unknown_session; }
        const default_action = unknown_session();
        size = SESSIONS;
    }

    apply {
        lines.apply();
        if (md.is_discovery == 0) {
            sessions.apply();
        }
    }
}

control FindOwner(in bng_headers_t hdr, inout ingress_metadata_t md) {
    action owner(bit<16> session) {
        md.owner = session;
    }

    action no_owner() {
    }

    table ipv4_hosts {
        key = { md.ipv4: exact @name("address"); }
        actions = { owner; no_owner; }
        const default_action = no_owner();
        size = SESSIONS;
    }

    table ipv4_prefixes {
        key = { md.ipv4: lpm @name("address"); }
        actions = { owner; no_owner; }
        const default_action = no_owner();
        size = 4096;
    }

    table ipv6_links {
        key = { md.ipv6_64: exact @name("prefix"); }
        actions = { owner; no_owner; }
        const default_action = no_owner();
        size = SESSIONS;
    }

    table ipv6_delegations {
        key = { md.ipv6_56: exact @name("prefix"); }
        actions = { owner; no_owner; }
        const default_action = no_owner();
        size = SESSIONS;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (!ipv4_hosts.apply().hit) {
                ipv4_prefixes.apply();
            }
        } else if (hdr.ipv6.isValid()) {
            if (!ipv6_links.apply().hit) {
                ipv6_delegations.apply();
            }
        }
    }
}

control FindRoute(in bng_headers_t hdr, inout ingress_metadata_t md) {
    action to_ip(bit<9> port) {
        md.has_route = 1;
        md.egress_port = port;
    }

    action to_mpls(bit<9> port, bit<20> label0, bit<20> label1) {
        md.has_route = 1;
        md.egress_port = port;
        md.has_labels = 1;
        md.core_label0 = label0;
        md.core_label1 = label1;
    }

    action local() {
        md.has_route = 1;
        md.is_local = 1;
    }

    action no_route() {
    }

    table ipv4_routes {
        key = {
            md.service:        exact @name("service");
            hdr.ipv4.dst_addr: lpm   @name("destination");
        }
        actions = { to_ip; to_mpls; local; no_route; }
        const default_action = no_route();
        size = 1024;
    }

    table ipv6_routes {
        key = {
            md.service:        exact @name("service");
            hdr.ipv6.dst_addr: lpm   @name("destination");
        }
        actions = { to_ip; to_mpls; local; no_route; }
        const default_action = no_route();
        size = 1024;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            ipv4_routes.apply();
        } else if (hdr.ipv6.isValid()) {
            ipv6_routes.apply();
        }
    }
}

control FindSubscriber(in bng_headers_t hdr, inout ingress_metadata_t md) {
    action subscriber(bit<9> port, bit<16> mtu) {
        md.has_subscriber = 1;
        md.egress_port = port;
        md.excess = md.bytes |-| mtu;
    }

    action no_subscriber() {
    }

    table subscribers {
        key = { md.owner: exact @name("session"); }
        actions = { subscriber; no_subscriber; }
        const default_action = no_subscriber();
        size = SESSIONS;
    }

    action replicate(bit<16> mcast_grp, bit<16> mtu) {
        md.mcast_grp = mcast_grp;
        md.excess = md.bytes |-| mtu;
    }

    action no_group() {
    }

    table ipv4_groups {
        key = { md.ipv4: exact @name("group"); }
        actions = { replicate; no_group; }
        const default_action = no_group();
        size = 1024;
    }

    table ipv6_groups {
        key = { hdr.ipv6.dst_addr: exact @name("group"); }
        actions = { replicate; no_group; }
        const default_action = no_group();
        size = 1024;
    }

    action class_of(bit<2> class, bit<3> priority) {
        md.class = class;
        md.priority = priority;
    }

    table classes {
        key = { md.dscp: exact @name("dscp"); }
        actions = { class_of; }
        default_action = class_of(0, 0);
        size = 64;
    }

    apply {
        classes.apply();
        if (md.ipv4_first[7:4] == 14) {
            ipv4_groups.apply();
        } else if (md.ipv6_first[15:8] == 0xFF) {
            ipv6_groups.apply();
        } else {
            subscribers.apply();
        }
    }
}

#endif
