// What becomes of a packet, when everything about it is known. What upstream.p4 and downstream.p4
// ask in one `if` after another would take a stage for each; here the first entry that holds is the
// first objection there.

#ifndef BNG_TNA_DECIDE_P4
#define BNG_TNA_DECIDE_P4

#include "headers.p4"

control DecideUpstream(in bng_headers_t hdr, inout ingress_metadata_t md) {
    action refuse(reason_t reason) {
        md.reason = reason;
    }

    action forward() {
        md.fate = within_t.TO_CORE;
    }

    // Ternary keys know "is 0" and not "is not 0": what must be 0 comes first, in more and more
    // narrow entries, and what is left has something else there.
    table decide_upstream {
        key = {
            hdr.pppoe.isValid():    ternary @name("has_pppoe");
            md.line:                ternary @name("line");
            md.is_discovery:        ternary @name("is_discovery");
            md.dst_mac:             ternary @name("dst_mac");
            md.mac_difference:      ternary @name("mac_difference");
            hdr.ppp.isValid():      ternary @name("has_ppp");
            hdr.ppp.protocol:       ternary @name("protocol");
            md.has_session:         ternary @name("has_session");
            hdr.ipv4.isValid():     ternary @name("has_ipv4");
            hdr.ipv6.isValid():     ternary @name("has_ipv6");
            hdr.ipv4.protocol:      ternary @name("ip_protocol");
            md.ipv4_first:          ternary @name("ipv4_first");
            md.ipv6_first:          ternary @name("ipv6_first");
            md.missing:             ternary @name("missing");
            md.ipv4_checksum_wrong: ternary @name("checksum_wrong");
            md.short:               ternary @name("short");
            md.owner_difference:    ternary @name("owner_difference");
            md.has_route:           ternary @name("has_route");
            md.is_local:            ternary @name("is_local");
            md.hops:                ternary @name("hops");
        }
        actions = { refuse; forward; }
        const default_action = refuse(reason_t.WRONG_MAC);
        const entries = {
            (false, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.UNKNOWN_PACKET);
            (_, 0, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.UNKNOWN_LINE);
            (_, _, 1, _, 0, _, _, _, _, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.DISCOVERY);
            (_, _, 1, BROADCAST, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.DISCOVERY);
            (_, _, 1, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.WRONG_MAC);
            (_, _, _, _, 0, false, _, _, _, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.MALFORMED);
            (_, _, _, _, 0, _, 0x8000 &&& 0x8000, _, _, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.PPP_CONTROL);
            (_, _, _, _, 0, _, _, 0, _, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.UNKNOWN_SESSION);
            // IPv4.
            (_, _, _, _, 0, _, _, _, true, _, IP_PROTOCOL_IGMP, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.IGMP);
            (_, _, _, _, 0, _, _, _, true, _, _, 0xE0 &&& 0xE0, _, 0, 0, 0, 0, _, _,
             _): refuse(reason_t.MULTICAST);
            (_, _, _, _, 0, _, _, _, true, _, _, _, _, 0, 0, 0, 0, 0, _,
             _): refuse(reason_t.NO_ROUTE);
            (_, _, _, _, 0, _, _, _, true, _, _, _, _, 0, 0, 0, 0, _, 1, _): refuse(reason_t.LOCAL);
            (_, _, _, _, 0, _, _, _, true, _, _, _, _, 0, 0, 0, 0, _, _,
             0 &&& 0xFE): refuse(reason_t.TTL_EXPIRED);
            (_, _, _, _, 0, _, _, _, true, _, _, _, _, 0, 0, 0, 0, _, _, _): forward();
            (_, _, _, _, 0, _, _, _, true, _, _, _, _, 0, 0, 0, _, _, _,
             _): refuse(reason_t.SPOOFED);
            (_, _, _, _, 0, _, _, _, true, _, _, _, _, 0, 0, _, _, _, _,
             _): refuse(reason_t.MALFORMED);
            (_, _, _, _, 0, _, _, _, true, _, _, _, _, 0, _, _, _, _, _,
             _): refuse(reason_t.BAD_CHECKSUM);
            (_, _, _, _, 0, _, _, _, true, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.MALFORMED);
            // IPv6.
            (_, _, _, _, 0, _, _, _, _, true, _, _, 0xFF02, _, _, _, _, _, _,
             _): refuse(reason_t.LINK_LOCAL);
            (_, _, _, _, 0, _, _, _, _, true, _, _, 0xFE80 &&& 0xFFC0, _, _, _, _, _, _,
             _): refuse(reason_t.LINK_LOCAL);
            (_, _, _, _, 0, _, _, _, _, true, _, _, 0xFF00 &&& 0xFF00, _, _, 0, 0, _, _,
             _): refuse(reason_t.MULTICAST);
            (_, _, _, _, 0, _, _, _, _, true, _, _, _, _, _, 0, 0, 0, _,
             _): refuse(reason_t.NO_ROUTE);
            (_, _, _, _, 0, _, _, _, _, true, _, _, _, _, _, 0, 0, _, 1, _): refuse(reason_t.LOCAL);
            (_, _, _, _, 0, _, _, _, _, true, _, _, _, _, _, 0, 0, _, _,
             0 &&& 0xFE): refuse(reason_t.TTL_EXPIRED);
            (_, _, _, _, 0, _, _, _, _, true, _, _, _, _, _, 0, 0, _, _, _): forward();
            (_, _, _, _, 0, _, _, _, _, true, _, _, _, _, _, 0, _, _, _,
             _): refuse(reason_t.SPOOFED);
            (_, _, _, _, 0, _, _, _, _, true, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.MALFORMED);
            // Announced as IP, but none.
            (_, _, _, _, 0, _, PPP_IPV4, _, _, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.MALFORMED);
            (_, _, _, _, 0, _, PPP_IPV6, _, _, _, _, _, _, _, _, _, _, _, _,
             _): refuse(reason_t.MALFORMED);
            (_, _, _, _, 0, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(reason_t.PROTOCOL);
        }
        size = 64;
    }

    apply {
        decide_upstream.apply();
    }
}

control DecideDownstream(in bng_headers_t hdr, inout ingress_metadata_t md) {
    action refuse(reason_t reason) {
        md.reason = reason;
    }

    action forward() {
        md.fate = within_t.SUBSCRIBER;
    }

    action replicate() {
        md.fate = within_t.GROUP;
    }

    table decide_downstream {
        key = {
            md.is_arp:              ternary @name("is_arp");
            hdr.pppoe.isValid():    ternary @name("has_pppoe");
            hdr.ipv4.isValid():     ternary @name("has_ipv4");
            hdr.ipv6.isValid():     ternary @name("has_ipv6");
            hdr.ipv4.protocol:      ternary @name("ip_protocol");
            md.ipv4_first:          ternary @name("ipv4_first");
            md.ipv6_first:          ternary @name("ipv6_first");
            md.missing:             ternary @name("missing");
            md.ipv4_checksum_wrong: ternary @name("checksum_wrong");
            md.mac_difference:      ternary @name("mac_difference");
            md.dst_mac:             ternary @name("dst_mac");
            md.mcast_grp:           ternary @name("mcast_grp");
            md.has_subscriber:      ternary @name("has_subscriber");
            md.hops:                ternary @name("hops");
            md.excess:              ternary @name("excess");
        }
        actions = { refuse; forward; replicate; }
        const default_action = refuse(reason_t.UNKNOWN_PACKET);
        const entries = {
            (1, _, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(reason_t.ARP);
            (_, true, _, _, _, _, _, _, _, _, _, _, _, _, _): refuse(reason_t.UNKNOWN_PACKET);
            // IPv4.
            (_, _, true, _, IP_PROTOCOL_IGMP, _, _, 0, 0, _, _, _, _, _, _): refuse(reason_t.IGMP);
            (_, _, true, _, _, 0xE0 &&& 0xF0, _, 0, 0, 0, _, 0, _, _,
             _): refuse(reason_t.NO_SUBSCRIBER);
            (_, _, true, _, _, 0xE0 &&& 0xF0, _, 0, 0, 0, _, _, _, 0 &&& 0xFE,
             _): refuse(reason_t.MULTICAST);
            (_, _, true, _, _, 0xE0 &&& 0xF0, _, 0, 0, 0, _, _, _, _, 0): replicate();
            (_, _, true, _, _, 0xE0 &&& 0xF0, _, 0, 0, 0, _, _, _, _,
             _): refuse(reason_t.MULTICAST);
            (_, _, true, _, _, 0xE0 &&& 0xF0, _, 0, 0, _, 0x010000000000 &&& 0x010000000000, 0,
             _, _, _): refuse(reason_t.NO_SUBSCRIBER);
            (_, _, true, _, _, 0xE0 &&& 0xF0, _, 0, 0, _, 0x010000000000 &&& 0x010000000000, _,
             _, 0 &&& 0xFE, _): refuse(reason_t.MULTICAST);
            (_, _, true, _, _, 0xE0 &&& 0xF0, _, 0, 0, _, 0x010000000000 &&& 0x010000000000, _,
             _, _, 0): replicate();
            (_, _, true, _, _, 0xE0 &&& 0xF0, _, 0, 0, _, 0x010000000000 &&& 0x010000000000, _,
             _, _, _): refuse(reason_t.MULTICAST);
            (_, _, true, _, _, 0xE0 &&& 0xF0, _, 0, 0, _, _, _, _, _,
             _): refuse(reason_t.WRONG_MAC);
            (_, _, true, _, _, _, _, 0, 0, 0, _, _, 0, _, _): refuse(reason_t.NO_SUBSCRIBER);
            (_, _, true, _, _, _, _, 0, 0, 0, _, _, _, 0 &&& 0xFE, _): refuse(reason_t.TTL_EXPIRED);
            (_, _, true, _, _, _, _, 0, 0, 0, _, _, _, _, 0): forward();
            (_, _, true, _, _, _, _, 0, 0, 0, _, _, _, _, _): refuse(reason_t.TOO_BIG);
            (_, _, true, _, _, _, _, 0, 0, _, _, _, _, _, _): refuse(reason_t.WRONG_MAC);
            (_, _, true, _, _, _, _, 0, _, _, _, _, _, _, _): refuse(reason_t.BAD_CHECKSUM);
            (_, _, true, _, _, _, _, _, _, _, _, _, _, _, _): refuse(reason_t.MALFORMED);
            // IPv6.
            (_, _, _, true, _, _, 0xFF02, _, _, _, _, _, _, _, _): refuse(reason_t.LINK_LOCAL);
            (_, _, _, true, _, _, 0xFE80 &&& 0xFFC0, _, _, _, _, _, _, _,
             _): refuse(reason_t.LINK_LOCAL);
            (_, _, _, true, _, _, 0xFF00 &&& 0xFF00, _, _, 0, _, 0, _, _,
             _): refuse(reason_t.NO_SUBSCRIBER);
            (_, _, _, true, _, _, 0xFF00 &&& 0xFF00, _, _, 0, _, _, _, 0 &&& 0xFE,
             _): refuse(reason_t.MULTICAST);
            (_, _, _, true, _, _, 0xFF00 &&& 0xFF00, _, _, 0, _, _, _, _, 0): replicate();
            (_, _, _, true, _, _, 0xFF00 &&& 0xFF00, _, _, 0, _, _, _, _,
             _): refuse(reason_t.MULTICAST);
            (_, _, _, true, _, _, 0xFF00 &&& 0xFF00, _, _, _,
             0x010000000000 &&& 0x010000000000, 0, _, _, _): refuse(reason_t.NO_SUBSCRIBER);
            (_, _, _, true, _, _, 0xFF00 &&& 0xFF00, _, _, _,
             0x010000000000 &&& 0x010000000000, _, _, 0 &&& 0xFE, _): refuse(reason_t.MULTICAST);
            (_, _, _, true, _, _, 0xFF00 &&& 0xFF00, _, _, _,
             0x010000000000 &&& 0x010000000000, _, _, _, 0): replicate();
            (_, _, _, true, _, _, 0xFF00 &&& 0xFF00, _, _, _,
             0x010000000000 &&& 0x010000000000, _, _, _, _): refuse(reason_t.MULTICAST);
            (_, _, _, true, _, _, 0xFF00 &&& 0xFF00, _, _, _, _, _, _, _,
             _): refuse(reason_t.WRONG_MAC);
            (_, _, _, true, _, _, _, _, _, 0, _, _, 0, _, _): refuse(reason_t.NO_SUBSCRIBER);
            (_, _, _, true, _, _, _, _, _, 0, _, _, _, 0 &&& 0xFE, _): refuse(reason_t.TTL_EXPIRED);
            (_, _, _, true, _, _, _, _, _, 0, _, _, _, _, 0): forward();
            (_, _, _, true, _, _, _, _, _, 0, _, _, _, _, _): refuse(reason_t.TOO_BIG);
            (_, _, _, true, _, _, _, _, _, _, _, _, _, _, _): refuse(reason_t.WRONG_MAC);
        }
        size = 64;
    }

    apply {
        decide_downstream.apply();
    }
}

#endif
