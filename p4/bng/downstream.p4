// From the core to a subscriber: whose is it, and which headers does the line want?

#ifndef BNG_DOWNSTREAM_P4
#define BNG_DOWNSTREAM_P4

#include "headers.p4"
#include "check.p4"

// ---- Ingress: the session, its class, its MTU ---------------------------------------------------

control FindClass(in bit<6> dscp, inout decision_t decision) {
    action class_of(bit<2> class, bit<3> priority) {
        decision.class = class;
        decision.priority = priority;
    }

    table classes {
        key = { dscp: exact @name("dscp"); }
        actions = { class_of; }
        default_action = class_of(0, 0);
        size = 64;
    }

    apply {
        classes.apply();
    }
}

// A packet for a group. Nobody tells a sender of multicast what became of it.
control Multicast(in bng_headers_t hdr, in bit<16> bytes, in bit<8> hops,
                  inout decision_t decision) {
    bit<16> shortest_mtu = 0;

    action replicate(bit<16> mcast_grp, bit<16> mtu) {
        decision.mcast_grp = mcast_grp;
        shortest_mtu = mtu;
    }

    action no_group() {
        decision.reason = reason_t.NO_SUBSCRIBER;
    }

    table ipv4_groups {
        key = { hdr.ipv4.dst_addr: exact @name("group"); }
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

    apply {
        if (hdr.ipv4.isValid()) {
            ipv4_groups.apply();
        } else {
            ipv6_groups.apply();
        }
        if (decision.reason == reason_t.NONE && (bytes > shortest_mtu || hops <= 1)) {
            decision.reason = reason_t.MULTICAST;
        }
    }
}

control Downstream(inout bng_headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    CheckIp() check_ip;
    FindClass() find_class;
    Multicast() multicast;

    bit<16>  bytes = 0;        // of the IP packet
    bit<16>  session_mtu = 0;  // the longest that its session takes
    bit<8>   hops = 0;         // that it may still make
    bit<6>   dscp = 0;
    bool     to_many = false;  // its destination is a group
    bool     stays = false;    // or an address that never leaves its link
    reason_t wrong = reason_t.NONE;

    action subscriber(bit<9> port, bit<16> mtu) {
        decision.egress_port = port;
        session_mtu = mtu;
    }

    action no_subscriber() {
        decision.reason = reason_t.NO_SUBSCRIBER;
    }

    table subscribers {
        key = { decision.session: exact @name("session"); }
        actions = { subscriber; no_subscriber; }
        const default_action = no_subscriber();
        size = SESSIONS;
    }

    apply {
        if (hdr.ethernet.ether_type == ETHERTYPE_ARP) {
            decision.reason = reason_t.ARP;
        } else if (hdr.pppoe.isValid() || !(hdr.ipv4.isValid() || hdr.ipv6.isValid())) {
            decision.reason = reason_t.UNKNOWN_PACKET;
        } else {
            check_ip.apply(hdr, arrival, bytes, wrong);
            decision.reason = wrong;
        }

        if (hdr.ipv4.isValid()) {
            hops = hdr.ipv4.ttl;
            dscp = hdr.ipv4.diffserv[7:2];
            to_many = hdr.ipv4.dst_addr[31:28] == 14;       // 224.0.0.0/4
            if (hdr.ipv4.protocol == IP_PROTOCOL_IGMP && decision.reason == reason_t.NONE) {
                decision.reason = reason_t.IGMP;
            }
        } else if (hdr.ipv6.isValid()) {
            hops = hdr.ipv6.hop_limit;
            dscp = hdr.ipv6.traffic_class[7:2];
            to_many = hdr.ipv6.dst_addr[127:120] == 0xFF;   // ff00::/8
            stays = hdr.ipv6.dst_addr[127:112] == 0xFF02 || hdr.ipv6.dst_addr[127:118] == 0x3FA;
            if (stays && decision.reason == reason_t.NONE) {
                decision.reason = reason_t.LINK_LOCAL;
            }
        }

        // A group's frame has a group's address (behind labels, the gateway's).
        if (decision.reason == reason_t.NONE && hdr.ethernet.dst_addr != arrival.mac
            && !(to_many && hdr.ethernet.dst_addr[40:40] == 1)) {
            decision.reason = reason_t.WRONG_MAC;
        }

        if (decision.reason == reason_t.NONE) {
            find_class.apply(dscp, decision);
            if (to_many) {
                multicast.apply(hdr, bytes, hops, decision);
            } else {
                decision.session = arrival.owner;
                subscribers.apply();
                if (decision.reason == reason_t.NONE) {
                    // BEGIN SOLUTION downstream: what if it has no hop left, or is longer than session_mtu?
                    if (hops <= 1) {
                        decision.reason = reason_t.TTL_EXPIRED;
                    } else if (bytes > session_mtu) {
                        decision.reason = reason_t.TOO_BIG;
                    }
                    // END SOLUTION
                }
            }
        }

        if (decision.reason == reason_t.NONE) {
            // BEGIN SOLUTION downstream: decrement the TTL or the hop limit
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.ttl = hops - 1;
                decision.ipv4_changed = true;
            } else {
                hdr.ipv6.hop_limit = hops - 1;
            }
            // END SOLUTION
        }
    }
}

// ---- Egress: the headers of the line ------------------------------------------------------------

// How to reach the subscriber of a session.
struct tunnel_t {
    bool    has_labels;     // in front: two labels and the subscriber's Ethernet header
    bool    has_inner_tag;  // a tag after the outer one: of the service, or QinQ's C-tag
    bit<20> label0;
    bit<20> label1;
    bit<12> outer_vid;
    bit<12> inner_vid;
    bit<16> session_id;
    bit<48> mac;            // of the subscriber
}

control ToSubscriber(inout bng_headers_t hdr, in bit<16> session, in bit<3> priority,
                     out bool is_known) {
    tunnel_t tunnel;

    action by_labels(bit<20> label0, bit<20> label1, bit<12> line_vid, bit<16> session_id,
                     bit<48> mac) {
        tunnel.has_labels = true;
        tunnel.has_inner_tag = false;
        tunnel.label0 = label0;
        tunnel.label1 = label1;
        tunnel.outer_vid = line_vid;
        tunnel.inner_vid = 0;
        tunnel.session_id = session_id;
        tunnel.mac = mac;
    }

    action by_labels_service(bit<20> label0, bit<20> label1, bit<12> line_vid,
                             bit<12> service_vid, bit<16> session_id, bit<48> mac) {
        tunnel.has_labels = true;
        tunnel.has_inner_tag = true;
        tunnel.label0 = label0;
        tunnel.label1 = label1;
        tunnel.outer_vid = line_vid;
        tunnel.inner_vid = service_vid;
        tunnel.session_id = session_id;
        tunnel.mac = mac;
    }

    action by_tags(bit<12> outer_vid, bit<12> inner_vid, bit<16> session_id, bit<48> mac) {
        tunnel.has_labels = false;
        tunnel.has_inner_tag = true;
        tunnel.label0 = 0;
        tunnel.label1 = 0;
        tunnel.outer_vid = outer_vid;
        tunnel.inner_vid = inner_vid;
        tunnel.session_id = session_id;
        tunnel.mac = mac;
    }

    action no_tunnel() {
        is_known = false;
        tunnel.has_labels = false;
        tunnel.has_inner_tag = false;
        tunnel.label0 = 0;
        tunnel.label1 = 0;
        tunnel.outer_vid = 0;
        tunnel.inner_vid = 0;
        tunnel.session_id = 0;
        tunnel.mac = 0;
    }

    table tunnels {
        key = { session: exact @name("session"); }
        actions = { by_labels; by_labels_service; by_tags; no_tunnel; }
        const default_action = no_tunnel();
        size = SESSIONS;
    }

    apply {
        is_known = true;
        // The labels of the core end here.
        hdr.label0.setInvalid();
        hdr.label1.setInvalid();
        tunnels.apply();

        // From the inside out: PPPoE and PPP, tags, and whatever is in front of those.
        // BEGIN QUOTE push
        // BEGIN SOLUTION downstream: PPPoE and PPP. What counts as PPPoE's length?
        hdr.pppoe.setValid();
        hdr.pppoe.version = 1;
        hdr.pppoe.type = 1;
        hdr.pppoe.code = 0;
        hdr.pppoe.session_id = tunnel.session_id;
        hdr.ppp.setValid();
        if (hdr.ipv4.isValid()) {
            hdr.ppp.protocol = PPP_IPV4;
            hdr.pppoe.len = hdr.ipv4.total_len + PPP_BYTES;
        } else {
            hdr.ppp.protocol = PPP_IPV6;
            hdr.pppoe.len = hdr.ipv6.payload_len + IPV6_BYTES + PPP_BYTES;
        }
        // END SOLUTION

        // BEGIN SOLUTION downstream: one tag or two, with the priority of the packet's class
        hdr.outer_tag.setValid();
        hdr.outer_tag.pcp = priority;
        hdr.outer_tag.dei = 0;
        hdr.outer_tag.vid = tunnel.outer_vid;
        hdr.outer_tag.ether_type = ETHERTYPE_SESSION;
        if (tunnel.has_inner_tag) {
            hdr.outer_tag.ether_type = ETHERTYPE_VLAN;
            hdr.inner_tag.setValid();
            hdr.inner_tag.pcp = priority;
            hdr.inner_tag.dei = 0;
            hdr.inner_tag.vid = tunnel.inner_vid;
            hdr.inner_tag.ether_type = ETHERTYPE_SESSION;
        }
        // END SOLUTION

        if (tunnel.has_labels) {
            // BEGIN SOLUTION downstream: the subscriber's Ethernet header, and two labels in front
            hdr.inner.setValid();
            hdr.inner.dst_addr = tunnel.mac;
            hdr.inner.src_addr = 0;   // `links` sets it
            hdr.inner.ether_type = ETHERTYPE_VLAN;
            hdr.label0.setValid();
            hdr.label0.label = tunnel.label0;
            hdr.label0.tc = priority;
            hdr.label0.s = 0;
            hdr.label0.ttl = LABEL_TTL;
            hdr.label1.setValid();
            hdr.label1.label = tunnel.label1;
            hdr.label1.tc = priority;
            hdr.label1.s = 1;
            hdr.label1.ttl = LABEL_TTL;
            hdr.ethernet.ether_type = ETHERTYPE_MPLS;
            // END SOLUTION
        } else {
            // BEGIN SOLUTION downstream: with QinQ the only Ethernet header is the subscriber's
            hdr.ethernet.dst_addr = tunnel.mac;
            hdr.ethernet.ether_type = ETHERTYPE_QINQ;
            // END SOLUTION
        }
        // END QUOTE
    }
}

#endif
