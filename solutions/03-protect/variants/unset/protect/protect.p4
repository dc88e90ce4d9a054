// 1+1 protection for IP (P4-Protect): two copies of every packet over two paths, and the first of
// them that arrives goes on.
//
// The switch where protected traffic enters (protection tunnel ingress, PTI) gives each packet a
// number and sends it through two tunnels at the same time. The switch at the end of both
// (protection tunnel egress, PTE) takes the packet out of its tunnel, forwards the first copy of
// each number and drops the other one. The routers between them see nothing but IPv4 packets.
//
//     Ethernet | IPv4 | TCP ...                                            outside
//     Ethernet | IPv4 of the tunnel | protection header | IPv4 | TCP ...   between PTI and PTE
//
// This program is PTI, PTE and plain router at the same time. This file knows nothing of the switch
// it runs on. The entry file beside it (v1model.p4) fills `arrival`, calls these controls, does
// what `decision` says, and brings the two controls that own registers: NextNumber and Accept.

#ifndef PROTECT_P4
#define PROTECT_P4

#include "headers.p4"

// ---- PTE: where copies leave their tunnels ------------------------------------------------------

// Whether what is in the tunnel is a packet. This is asked first, so that nobody can move the
// window of a connection with something that is not a copy.
control CheckPayload(in protect_headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    bit<16> in_front = 0;  // bytes that the tunnel's length counts, and that of the packet does not

    apply {
        // a |-| b is a - b, or 0 if b is larger.
        if (hdr.ipv4.isValid()) {
            in_front = hdr.tunnel.total_len |-| hdr.ipv4.total_len;
        } else if (hdr.ipv6.isValid()) {
            in_front = hdr.tunnel.total_len |-| hdr.ipv6.payload_len;
        }

        if (hdr.protection.next_protocol == IP_PROTOCOL_IPV4) {
            if (!hdr.ipv4.isValid() || in_front != TUNNEL_BYTES || !arrival.ipv4_length_ok) {
                decision.drop = drop_reason_t.MALFORMED;
            } else if (!arrival.ipv4_checksum_ok) {
                decision.drop = drop_reason_t.BAD_IPV4_CHECKSUM;
            }
        } else if (hdr.protection.next_protocol == IP_PROTOCOL_IPV6) {
            if (!hdr.ipv6.isValid() || in_front != TUNNEL_BYTES + IPV6_BYTES) {
                decision.drop = drop_reason_t.MALFORMED;
            }
        }
        if (hdr.protection.next_protocol != IP_PROTOCOL_IPV4
            && hdr.protection.next_protocol != IP_PROTOCOL_IPV6) {
            decision.drop = drop_reason_t.NEXT_PROTOCOL;
        } else if (decision.drop == drop_reason_t.NONE && hdr.ipv4.isValid()
                   && hdr.ipv4.protocol == IP_PROTOCOL_PROTECT) {
            decision.drop = drop_reason_t.TUNNEL_IN_TUNNEL;
        }
    }
}

control Decapsulate(inout protect_headers_t hdr) {
    apply {
        if (hdr.protection.next_protocol == IP_PROTOCOL_IPV6) {
            hdr.ethernet.ether_type = ETHERTYPE_IPV6;
        }
        hdr.tunnel.setInvalid();
        hdr.protection.setInvalid();
    }
}

// Called for packets to an address where a tunnel ends. One that may go on has left its tunnel when
// this control returns.
control Pte(inout protect_headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    CheckPayload() check_payload;
    Decapsulate() decapsulate;
    Accept() accept;
    bit<32> reset = 0;

    // A connection that ends here: which place it has in the registers, and after how many
    // microseconds without an accepted copy it takes any number (0: never).
    action connection(bit<16> index, bit<32> reset_time) {
        decision.received = true;
        decision.pte_index = index;
        reset = reset_time;
    }

    action unknown() {
        decision.drop = drop_reason_t.UNKNOWN_CID;
    }

    table connections {
        key = { hdr.protection.cid: exact @name("cid"); }
        actions = { connection; unknown; }
        const default_action = unknown();
        size = 1024;
    }

    apply {
        if (!hdr.tunnel.isValid()) {
            decision.drop = drop_reason_t.NOT_A_TUNNEL;
        } else if (!hdr.protection.isValid()) {
            decision.drop = drop_reason_t.MALFORMED;
        } else {
            connections.apply();
        }

        if (decision.drop == drop_reason_t.NONE) {
            check_payload.apply(hdr, arrival, decision);
        }

        if (decision.drop == drop_reason_t.NONE) {
            accept.apply(decision.pte_index, hdr.protection.sn & SN_MASK, arrival.now, reset,
                         decision.verdict);
            if (decision.verdict == verdict_t.DUPLICATE) {
                decision.drop = drop_reason_t.DUPLICATE;
            } else if (decision.verdict == verdict_t.ROGUE) {
                decision.drop = drop_reason_t.ROGUE;
            } else {
                decapsulate.apply(hdr);
            }
        }
    }
}

// ---- PTI: where packets enter their tunnels -----------------------------------------------------

// Packets of flows that nobody protects leave this control as they came.
control Pti(inout protect_headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    NextNumber() next_number;

    // The connection of a protected flow: what the control plane says of it.
    bool    has_connection   = false;
    bit<24> connection_cid   = 0;
    bit<32> connection_src   = 0;
    bit<16> connection_mtu   = 0;
    bit<16> connection_group = 0;

    bit<16> src_port = 0;
    bit<16> dst_port = 0;
    bit<8>  next_protocol = 0;
    bit<16> bytes = 0;    // of the IP packet
    bit<8>  hops = 0;     // that it may still make
    bit<32> sn = 0;

    // `index` is the place of the connection in the registers of this switch. The PTE may use
    // another one; both know the connection by its `cid`. `mtu`: how long an IP packet may be on
    // both paths.
    action protect(bit<16> index, bit<24> cid, bit<32> src_addr, bit<16> mtu, bit<16> mcast_grp) {
        has_connection = true;
        decision.pti_index = index;
        connection_cid = cid;
        connection_src = src_addr;
        connection_mtu = mtu;
        connection_group = mcast_grp;
    }

    table protected_flows {
        key = {
            hdr.ipv4.src_addr: ternary @name("src_addr");
            hdr.ipv4.dst_addr: ternary @name("dst_addr");
            hdr.ipv4.protocol: ternary @name("protocol");
            src_port:          ternary @name("src_port");
            dst_port:          ternary @name("dst_port");
        }
        actions = { protect; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    table protected_flows_v6 {
        key = {
            hdr.ipv6.src_addr:    ternary @name("src_addr");
            hdr.ipv6.dst_addr:    ternary @name("dst_addr");
            hdr.ipv6.next_header: ternary @name("protocol");
            src_port:             ternary @name("src_port");
            dst_port:             ternary @name("dst_port");
        }
        actions = { protect; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    // Two headers in front of the packet: the outer IPv4 header, and the protection header behind
    // it. The destination is filled in later, when each copy knows its path.
    action tag() {
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.tunnel.setValid();
        hdr.tunnel.version        = 4;
        hdr.tunnel.ihl            = 5;
        hdr.tunnel.diffserv       = 0;
        hdr.tunnel.total_len      = TUNNEL_BYTES + bytes;
        hdr.tunnel.identification = 0;  // free to choose, since nobody may fragment it (RFC 6864)
        hdr.tunnel.flags          = DONT_FRAGMENT;
        hdr.tunnel.frag_offset    = 0;
        hdr.tunnel.ttl            = TUNNEL_TTL;
        hdr.tunnel.protocol       = IP_PROTOCOL_PROTECT;
        hdr.tunnel.src_addr       = connection_src;
        decision.tunnel_changed   = true;
        hdr.protection.setValid();
        hdr.protection.cid           = connection_cid;
        hdr.protection.sn            = sn;
        hdr.protection.next_protocol = next_protocol;
    }

    action replicate() {
        decision.mcast_grp = connection_group;
    }

    // The control plane gets the packet as it came, and tells the sender.
    action too_long() {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = arrival.port;
        hdr.packet_in._pad = 0;
        decision.egress_port = CPU_PORT;
    }

    apply {
        if (hdr.ports.isValid()) {
            src_port = hdr.ports.src_port;
            dst_port = hdr.ports.dst_port;
        }

        if (hdr.ipv4.isValid()) {
            next_protocol = IP_PROTOCOL_IPV4;
            bytes = hdr.ipv4.total_len;
            hops = hdr.ipv4.ttl;
            protected_flows.apply();
        } else {
            next_protocol = IP_PROTOCOL_IPV6;
            bytes = IPV6_BYTES |+| hdr.ipv6.payload_len;
            hops = hdr.ipv6.hop_limit;
            protected_flows_v6.apply();
        }

        if (has_connection) {
            // a |+| b is a + b, or the highest number that 16 bits hold if that is less; a |-| b is
            // a - b, or 0 if b is larger.
            bit<16> too_many = 0;
            too_many = TUNNEL_BYTES |+| bytes;
            too_many = too_many |-| connection_mtu;
            if (hops <= 1) {
                decision.drop = drop_reason_t.TTL_EXPIRED;
            } else if (too_many != 0) {
                too_long();
            } else {
                // The PTI is a router as well: one hop less for the packet itself.
                if (hdr.ipv4.isValid()) {
                    hdr.ipv4.ttl = hops - 1;
                    decision.ipv4_changed = true;
                } else {
                    hdr.ipv6.hop_limit = hops - 1;
                }
                decision.protected = true;
                next_number.apply(decision.pti_index, sn);
                tag();
                replicate();
            }
        }
    }
}

// ---- Every router -------------------------------------------------------------------------------

// The header in front: is the packet as long as it says, is the checksum right?
control CheckHeaders(in protect_headers_t hdr, in arrival_t arrival, inout decision_t decision) {
    apply {
        if (hdr.tunnel.isValid()) {
            if (!arrival.tunnel_checksum_ok) {
                decision.drop = drop_reason_t.BAD_IPV4_CHECKSUM;
            } else if (!arrival.is_whole) {
                decision.drop = drop_reason_t.MALFORMED;
            }
        } else if (hdr.ipv4.isValid()) {
            if (!arrival.ipv4_checksum_ok) {
                decision.drop = drop_reason_t.BAD_IPV4_CHECKSUM;
            } else if (!arrival.is_whole || !arrival.ipv4_length_ok) {
                decision.drop = drop_reason_t.MALFORMED;
            }
        } else if (hdr.ipv6.isValid()) {
            if (!arrival.is_whole) {
                decision.drop = drop_reason_t.MALFORMED;
            }
        } else {
            decision.drop = drop_reason_t.UNKNOWN_PACKET;
        }
    }
}

// Plain forwarding, by the destination of the header in front.
control Forward(inout protect_headers_t hdr, in bit<32> ipv4_destination,
                inout decision_t decision) {
    action route(bit<9> port) {
        decision.egress_port = port;
    }

    action drop() {
        decision.drop = drop_reason_t.NO_ROUTE;
    }

    table ipv4_routes {
        key = { ipv4_destination: lpm @name("destination"); }
        actions = { route; drop; }
        const default_action = drop();
        size = 4096;
    }

    table ipv6_routes {
        key = { hdr.ipv6.dst_addr: lpm @name("destination"); }
        actions = { route; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        // A packet that comes with 1 may be for this router, but goes no further.
        if (hdr.tunnel.isValid()) {
            if (hdr.tunnel.ttl <= 1) {
                decision.drop = drop_reason_t.TTL_EXPIRED;
            }
            hdr.tunnel.ttl = hdr.tunnel.ttl - 1;
            decision.tunnel_changed = true;
        } else if (hdr.ipv4.isValid()) {
            if (hdr.ipv4.ttl <= 1) {
                decision.drop = drop_reason_t.TTL_EXPIRED;
            }
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            decision.ipv4_changed = true;
        } else {
            if (hdr.ipv6.hop_limit <= 1) {
                decision.drop = drop_reason_t.TTL_EXPIRED;
            }
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        }

        if (decision.drop == drop_reason_t.NONE) {
            if (hdr.tunnel.isValid() || hdr.ipv4.isValid()) {
                ipv4_routes.apply();
            } else {
                ipv6_routes.apply();
            }
        }
    }
}

// ---- The whole switch ---------------------------------------------------------------------------

control ProtectRouter(inout protect_headers_t hdr, in arrival_t arrival, out decision_t decision) {
    CheckHeaders() check_headers;
    Pte() pte;
    Pti() pti;
    Forward() forward;
    bit<32> ipv4_destination = 0;

    // One of this switch's own addresses. Each tunnel has an address of its own, so the address
    // says which path a copy has taken: 1 or 2.
    action arrived_on(bit<16> path) {
        decision.path = path;
    }

    table tunnel_end {
        key = { ipv4_destination: exact @name("dst_addr"); }
        actions = { arrived_on; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    apply {
        decision.drop = drop_reason_t.NONE;
        decision.egress_port = NO_PORT;
        decision.mcast_grp = 0;
        decision.tunnel_changed = false;
        decision.ipv4_changed = false;
        decision.protected = false;
        decision.pti_index = 0;
        decision.received = false;
        decision.pte_index = 0;
        decision.path = 0;
        decision.verdict = verdict_t.NOT_ASKED;

        if (hdr.packet_out.isValid()) {
            decision.egress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else {
            check_headers.apply(hdr, arrival, decision);

            // Does a tunnel end here? Then the packet that was in it goes on like any other.
            if (hdr.tunnel.isValid()) {
                ipv4_destination = hdr.tunnel.dst_addr;
            } else if (hdr.ipv4.isValid()) {
                ipv4_destination = hdr.ipv4.dst_addr;
            }
            if (decision.drop == drop_reason_t.NONE && ipv4_destination != 0) {
                if (tunnel_end.apply().hit) {
                    pte.apply(hdr, arrival, decision);
                    if (hdr.ipv4.isValid()) {
                        ipv4_destination = hdr.ipv4.dst_addr;
                    }
                }
            }

            // Is its flow protected? A packet in a tunnel never is: one tunnel is enough.
            if (decision.drop == drop_reason_t.NONE && !hdr.tunnel.isValid()) {
                pti.apply(hdr, arrival, decision);
            }

            if (decision.drop == drop_reason_t.NONE && !decision.protected
                && !hdr.packet_in.isValid()) {
                forward.apply(hdr, ipv4_destination, decision);
            }
        }
    }
}

// ---- On the way out -----------------------------------------------------------------------------

// Runs once for every copy, when its port is known. `path` is the number that the multicast group
// gives this copy, 1 or 2, and 0 for packets that were not copied.
control ProtectRewrite(inout protect_headers_t hdr, in bit<9> port, in bit<16> path,
                       in bit<16> index, inout drop_reason_t drop) {
    // Each path leads to another address of the PTE.
    action set_path(bit<32> dst_addr) {
        hdr.tunnel.dst_addr = dst_addr;
    }

    action no_path() {
        drop = drop_reason_t.NO_PATH;
    }

    table paths {
        key = {
            index: exact @name("index");
            path:  exact @name("path");
        }
        actions = { set_path; no_path; }
        const default_action = no_path();
        size = 2048;
    }

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
        if (path != 0) {
            paths.apply();
        }
        // Packets to and from the control plane stay as they are. (The parser did not look into
        // those from the control plane.)
        if (hdr.ethernet.isValid() && !hdr.packet_in.isValid()) {
            port_mac.apply();
        }
    }
}

#endif
