// 1+1 protection in IPv4 tunnels for TNA.
//
// What protect.p4 asks one `if` after another would take 19 stages, each waiting for the one
// before. Here two tables with constant entries ask all of it at once, and where a packet would go
// is looked up before the policy has answered. From ingress to egress go bytes only, so what egress
// must know stands in front of the packet.

#ifndef TNA_TUNNEL_P4
#define TNA_TUNNEL_P4

#include "headers.p4"
#include "policies-tna/policy.p4"

// From ingress to egress, in front of the packet.
header internal_t {
    bit<8>  has_tunnel;  // 1: a tunnel's header follows Ethernet, and egress computes its checksum
    bit<16> index;       // of the connection that begins here
}

struct switch_headers_t {
    internal_t        internal;
    protect_headers_t packet;
}

// What happens to a packet that nothing speaks against.
enum bit<8> fate_t {
    NONE      = 0,
    PROTECTED = 1,
    TOO_LONG  = 2,
    ROUTED    = 3,
    ANY_PORT  = 4   // where the control plane wants it
}

struct ingress_metadata_t {
    // From the parser.
    bit<32>       destination;            // of the IPv4 header in front
    bit<16>       src_port;
    bit<16>       dst_port;
    bool          tunnel_checksum_wrong;
    bool          ipv4_checksum_wrong;    // of the packet's own header
    // From ingress.
    bit<32>       now;                    // ticks
    bool          is_cut;                 // the packet ends within a header
    bit<16>       missing;                // bytes that the packet is shorter than its IPv4 header
    bit<16>       in_front;               // bytes that the tunnel counts, its packet not
    bit<16>       path;                   // on which a copy came, 0: not for this switch
    bit<1>        is_known;               // the CID is
    bit<16>       pte_index;
    bit<1>        is_received;            // a copy of a connection that ends here,
    bit<1>        is_judged;              // the acceptance policy was asked,
    bit<1>        is_accepted;            // and took it
    bit<1>        in_transit;             // a copy on its way to another egress
    bit<1>        by_ipv6;                // the packet is routed by its IPv6 header
    bit<1>        has_connection;         // its flow is protected here
    bit<16>       pti_index;
    bit<24>       cid;
    bit<32>       src_addr;
    bit<16>       mtu;
    bit<16>       mcast_grp;
    bit<16>       bytes;                  // of the IP packet,
    bit<16>       bytes_in_tunnel;        // and with two more headers
    bit<16>       too_many;               // of these, for the MTU
    bit<8>        hops;                   // that it may still make
    bit<1>        has_route;
    bit<9>        egress_port;
    bit<32>       sn;
    bit<8>        next_protocol;
    drop_reason_t drop;
    fate_t        fate;
    bool          ipv4_changed;
    bit<16>       cell;                   // of the counters
}

struct egress_metadata_t {
    drop_reason_t drop;
}

// ---- Ingress ------------------------------------------------------------------------------------

parser EntryParser(packet_in packet, out switch_headers_t hdr, out ingress_metadata_t md,
                   out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() tunnel_checksum;
    Checksum() ipv4_checksum;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        md.tunnel_checksum_wrong = false;
        md.ipv4_checksum_wrong = false;
        md.destination = 0;
        md.src_port = 0;
        md.dst_port = 0;
        transition select(ig_intr_md.ingress_port) {
            CPU_PORT: parse_packet_out;
            default:  parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet.packet_out);
        transition accept;
    }

    state parse_ethernet {
        packet.extract(hdr.packet.ethernet);
        transition select(hdr.packet.ethernet.ether_type) {
            ETHERTYPE_IPV4: look_at_ipv4;
            ETHERTYPE_IPV6: look_at_ipv6;
            default:        accept;
        }
    }

    state look_at_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            0x45:         look_for_tunnel;
            0x46 .. 0x4F: parse_ipv4_with_options;
            default:      accept;
        }
    }

    state look_for_tunnel {
        bit<80> ahead = packet.lookahead<bit<80>>();
        transition select(ahead[29:16], ahead[7:0]) {
            (0, IP_PROTOCOL_PROTECT): parse_tunnel;
            default:                  parse_ipv4;
        }
    }

    state parse_tunnel {
        packet.extract(hdr.packet.tunnel);
        tunnel_checksum.add(hdr.packet.tunnel);
        md.tunnel_checksum_wrong = tunnel_checksum.verify();
        md.destination = hdr.packet.tunnel.dst_addr;
        packet.extract(hdr.packet.protection);
        transition select(hdr.packet.protection.next_protocol) {
            IP_PROTOCOL_IPV4: look_at_inner_ipv4;
            IP_PROTOCOL_IPV6: look_at_ipv6;
            default:          accept;
        }
    }

    state look_at_inner_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            0x45:         parse_inner_ipv4;
            0x46 .. 0x4F: parse_ipv4_with_options;
            default:      accept;
        }
    }

    state parse_ipv4 {
        md.destination = packet.lookahead<bit<160>>()[31:0];
        transition parse_inner_ipv4;
    }

    state parse_inner_ipv4 {
        packet.extract(hdr.packet.ipv4);
        ipv4_checksum.add(hdr.packet.ipv4);
        md.ipv4_checksum_wrong = ipv4_checksum.verify();
        transition select(hdr.packet.ipv4.frag_offset, hdr.packet.ipv4.protocol) {
            (0, IP_PROTOCOL_TCP): parse_ports;
            (0, IP_PROTOCOL_UDP): parse_ports;
            default:              accept;
        }
    }

    // The options stay in the payload, and the checksum units cannot follow: such packets go
    // nowhere.
    state parse_ipv4_with_options {
        packet.extract(hdr.packet.ipv4);
        md.ipv4_checksum_wrong = true;
        transition accept;
    }

    state look_at_ipv6 {
        transition select(packet.lookahead<bit<4>>()) {
            6:       parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.packet.ipv6);
        transition select(hdr.packet.ipv6.next_header) {
            IP_PROTOCOL_TCP: parse_ports;
            IP_PROTOCOL_UDP: parse_ports;
            default:         accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.packet.ports);
        md.src_port = hdr.packet.ports.src_port;
        md.dst_port = hdr.packet.ports.dst_port;
        transition accept;
    }
}

// Does the header in front speak against the packet, or what is in its tunnel? One table answers
// what protect.p4 asks one `if` after another: each `if` would wait for the one before it, and the
// chip has twelve stages.
control Check(in protect_headers_t hdr, inout ingress_metadata_t md) {
    action go_on() {
    }

    action refuse(drop_reason_t reason) {
        md.drop = reason;
    }

    action refuse_copy(drop_reason_t reason) {
        md.drop = reason;
        md.is_received = 1;
    }

    action judge() {
        md.is_received = 1;
        md.is_judged = 1;
    }

    table check {
        key = {
            hdr.tunnel.isValid():         ternary @name("has_tunnel");
            md.tunnel_checksum_wrong:     ternary @name("tunnel_checksum_wrong");
            md.is_cut:                    ternary @name("is_cut");
            md.path:                      ternary @name("path");
            md.is_known:                  ternary @name("is_known");
            hdr.protection.next_protocol: ternary @name("next_protocol");
            hdr.ipv4.isValid():           ternary @name("has_ipv4");
            hdr.ipv6.isValid():           ternary @name("has_ipv6");
            md.in_front:                  ternary @name("in_front");
            md.missing:                   ternary @name("missing");
            md.ipv4_checksum_wrong:       ternary @name("ipv4_checksum_wrong");
            hdr.ipv4.protocol:            ternary @name("protocol");
        }
        actions = { go_on; refuse; refuse_copy; judge; }
        const default_action = refuse(drop_reason_t.UNKNOWN_PACKET);
        const entries = {
            // In a tunnel, on its way to somebody else or at its end.
            (true, _, true, _, _, _, _, _, _, _, _, _): refuse(drop_reason_t.MALFORMED);
            (true, true, _, _, _, _, _, _, _, _, _, _): refuse(drop_reason_t.BAD_IPV4_CHECKSUM);
            (true, _, _, 0, _, _, _, _, _, _, _, _): go_on();
            (true, _, _, _, 0, _, _, _, _, _, _, _): refuse(drop_reason_t.UNKNOWN_CID);
            (true, _, _, _, _, IP_PROTOCOL_IPV4, true, _, TUNNEL_BYTES, 0,
             false, IP_PROTOCOL_PROTECT): refuse_copy(drop_reason_t.TUNNEL_IN_TUNNEL);
            (true, _, _, _, _, IP_PROTOCOL_IPV4, true, _, TUNNEL_BYTES, 0, false, _): judge();
            (true, _, _, _, _, IP_PROTOCOL_IPV4, true, _, TUNNEL_BYTES, 0,
             true, _): refuse_copy(drop_reason_t.BAD_IPV4_CHECKSUM);
            (true, _, _, _, _, IP_PROTOCOL_IPV4, _, _, _, _,
             _, _): refuse_copy(drop_reason_t.MALFORMED);
            (true, _, _, _, _, IP_PROTOCOL_IPV6, _, true, TUNNEL_BYTES + IPV6_BYTES, _,
             _, _): judge();
            (true, _, _, _, _, IP_PROTOCOL_IPV6, _, _, _, _,
             _, _): refuse_copy(drop_reason_t.MALFORMED);
            (true, _, _, _, _, _, _, _, _, _, _, _): refuse_copy(drop_reason_t.NEXT_PROTOCOL);
            // Not in a tunnel.
            (false, _, true, _, _, _, true, _, _, _, _, _): refuse(drop_reason_t.MALFORMED);
            (false, _, _, _, _, _, true, _, _, _, true, _): refuse(drop_reason_t.BAD_IPV4_CHECKSUM);
            (false, _, _, 0, _, _, true, _, _, 0, _, _): go_on();
            (false, _, _, _, _, _, true, _, _, 0, _, _): refuse(drop_reason_t.NOT_A_TUNNEL);
            (false, _, _, _, _, _, true, _, _, _, _, _): refuse(drop_reason_t.MALFORMED);
            (false, _, true, _, _, _, _, true, _, _, _, _): refuse(drop_reason_t.MALFORMED);
            (false, _, _, _, _, _, _, true, _, _, _, _): go_on();
        }
        size = 32;
    }

    apply {
        check.apply();
    }
}

// What becomes of a packet, when everything about it is known: one table again.
control Decide(inout ingress_metadata_t md) {
    action refuse(drop_reason_t reason) {
        md.drop = reason;
    }

    action take(fate_t fate) {
        md.fate = fate;
    }

    table decide {
        key = {
            md.drop:           ternary @name("drop");
            md.is_judged:      ternary @name("is_judged");
            md.is_accepted:    ternary @name("is_accepted");
            md.hops:           ternary @name("hops");
            md.has_connection: ternary @name("has_connection");
            md.too_many:       ternary @name("too_many");
            md.has_route:      ternary @name("has_route");
        }
        actions = { refuse; take; NoAction; }
        const default_action = NoAction();
        const entries = {
            (drop_reason_t.NONE, 1, 0, _, _, _, _): refuse(drop_reason_t.DUPLICATE);
            (drop_reason_t.NONE, _, _, 0 &&& 0xFE, _, _, _): refuse(drop_reason_t.TTL_EXPIRED);
            (drop_reason_t.NONE, _, _, _, 1, 0, _): take(fate_t.PROTECTED);
            (drop_reason_t.NONE, _, _, _, 1, _, _): take(fate_t.TOO_LONG);
            (drop_reason_t.NONE, _, _, _, _, _, 1): take(fate_t.ROUTED);
            (drop_reason_t.NONE, _, _, _, _, _, _): refuse(drop_reason_t.NO_ROUTE);
        }
        size = 8;
    }

    apply {
        decide.apply();
    }
}

// What becomes of connections, and why packets were given up, as in v1model.p4.
control Count(inout ingress_metadata_t md) {
    Counter<bit<64>, bit<16>>(CONNECTIONS, CounterType_t.PACKETS_AND_BYTES) protected_packets;
    Counter<bit<64>, bit<16>>(CONNECTIONS * 2, CounterType_t.PACKETS_AND_BYTES) received;
    Counter<bit<64>, bit<16>>(CONNECTIONS * 2, CounterType_t.PACKETS_AND_BYTES) accepted;
    Counter<bit<64>, bit<16>>(CONNECTIONS * 2, CounterType_t.PACKETS_AND_BYTES) discarded;
    Counter<bit<64>, bit<8>>(32, CounterType_t.PACKETS_AND_BYTES) dropped;

    apply {
        md.cell = md.pte_index + md.pte_index;
        md.cell = md.cell + md.path;
        md.cell = md.cell - 1;

        if (md.drop != drop_reason_t.NONE) {
            dropped.count((bit<8>)md.drop);
        }
        if (md.fate == fate_t.PROTECTED) {
            protected_packets.count(md.pti_index);
        }
        if (md.is_received == 1) {
            received.count(md.cell);
        }
        if (md.is_judged == 1) {
            if (md.is_accepted == 1) {
                accepted.count(md.cell);
            } else {
                discarded.count(md.cell);
            }
        }
    }
}

control ProtectIngress(inout switch_headers_t hdr, inout ingress_metadata_t md,
                       in ingress_intrinsic_metadata_t ig_intr_md,
                       in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                       inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                       inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Check() check;
    Accept() accept;
    Decide() decide;
    NextNumber() next_number;
    Count() count;

    // ---- PTE

    action arrived_on(bit<16> path) {
        md.path = path;
    }

    table tunnel_end {
        key = { md.destination: exact @name("dst_addr"); }
        actions = { arrived_on; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    // The reset time is that of the program (RESET_US): see policies-tna/last.p4.
    action connection(bit<16> index, bit<32> reset_time) {
        md.is_known = 1;
        md.pte_index = index;
    }

    action unknown() {
        md.is_known = 0;
    }

    table connections {
        key = { hdr.packet.protection.cid: exact @name("cid"); }
        actions = { connection; unknown; }
        const default_action = unknown();
        size = 1024;
    }

    action decapsulate_ipv4() {
        hdr.packet.tunnel.setInvalid();
        hdr.packet.protection.setInvalid();
    }

    action decapsulate_ipv6() {
        hdr.packet.tunnel.setInvalid();
        hdr.packet.protection.setInvalid();
        hdr.packet.ethernet.ether_type = ETHERTYPE_IPV6;
    }

    // ---- PTI

    action protect(bit<16> index, bit<24> cid, bit<32> src_addr, bit<16> mtu, bit<16> mcast_grp) {
        md.has_connection = 1;
        md.pti_index = index;
        md.cid = cid;
        md.src_addr = src_addr;
        md.mtu = mtu;
        md.mcast_grp = mcast_grp;
    }

    table protected_flows {
        key = {
            hdr.packet.ipv4.src_addr: ternary @name("src_addr");
            hdr.packet.ipv4.dst_addr: ternary @name("dst_addr");
            hdr.packet.ipv4.protocol: ternary @name("protocol");
            md.src_port:              ternary @name("src_port");
            md.dst_port:              ternary @name("dst_port");
        }
        actions = { protect; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    table protected_flows_v6 {
        key = {
            hdr.packet.ipv6.src_addr:    ternary @name("src_addr");
            hdr.packet.ipv6.dst_addr:    ternary @name("dst_addr");
            hdr.packet.ipv6.next_header: ternary @name("protocol");
            md.src_port:                 ternary @name("src_port");
            md.dst_port:                 ternary @name("dst_port");
        }
        actions = { protect; NoAction; }
        const default_action = NoAction();
        size = 512;
    }

    action tag() {
        hdr.packet.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.packet.tunnel.setValid();
        hdr.packet.tunnel.version        = 4;
        hdr.packet.tunnel.ihl            = 5;
        hdr.packet.tunnel.diffserv       = 0;
        hdr.packet.tunnel.total_len      = md.bytes_in_tunnel;
        hdr.packet.tunnel.identification = 0;
        hdr.packet.tunnel.flags          = DONT_FRAGMENT;
        hdr.packet.tunnel.frag_offset    = 0;
        hdr.packet.tunnel.ttl            = TUNNEL_TTL;
        hdr.packet.tunnel.protocol       = IP_PROTOCOL_PROTECT;
        hdr.packet.tunnel.hdr_checksum   = 0;
        hdr.packet.tunnel.src_addr       = md.src_addr;
        hdr.packet.tunnel.dst_addr       = 0;
        hdr.packet.protection.setValid();
        hdr.packet.protection.cid           = md.cid;
        hdr.packet.protection.sn            = md.sn;
        hdr.packet.protection.next_protocol = md.next_protocol;
        ig_tm_md.mcast_grp_a = md.mcast_grp;
    }

    // ---- Every router

    action route(bit<9> port) {
        md.has_route = 1;
        md.egress_port = port;
    }

    action drop() {
        md.has_route = 0;
    }

    table ipv4_routes {
        key = { md.destination: lpm @name("destination"); }
        actions = { route; drop; }
        const default_action = drop();
        size = 4096;
    }

    table ipv6_routes {
        key = { hdr.packet.ipv6.dst_addr: lpm @name("destination"); }
        actions = { route; drop; }
        const default_action = drop();
        size = 1024;
    }

    apply {
        md.is_cut = false;
        md.path = 0;
        md.is_known = 0;
        md.pte_index = 0;
        md.is_received = 0;
        md.is_judged = 0;
        md.is_accepted = 0;
        md.in_transit = 0;
        md.by_ipv6 = 0;
        md.has_connection = 0;
        md.pti_index = 0;
        md.mtu = 0;
        md.has_route = 0;
        md.drop = drop_reason_t.NONE;
        md.fate = fate_t.NONE;
        md.ipv4_changed = false;
        hdr.internal.setValid();
        hdr.internal.has_tunnel = 0;

        if (hdr.packet.packet_out.isValid()) {
            md.fate = fate_t.ANY_PORT;
            ig_tm_md.ucast_egress_port = hdr.packet.packet_out.egress_port;
            hdr.packet.packet_out.setInvalid();
            hdr.internal.setInvalid();
            ig_tm_md.bypass_egress = 1;
        } else {
            // What can be computed before anybody has looked anything up.
            md.now = ig_intr_md.ingress_mac_tstamp[47:16] + FIRST_TICK;
            if (ig_prsr_md.parser_err != 0) {
                md.is_cut = true;
            }
            if (hdr.packet.ipv4.isValid()) {
                md.missing = 20 |-| hdr.packet.ipv4.total_len;
                md.in_front = hdr.packet.tunnel.total_len |-| hdr.packet.ipv4.total_len;
                md.bytes = hdr.packet.ipv4.total_len;
                md.hops = hdr.packet.ipv4.ttl;
                md.next_protocol = IP_PROTOCOL_IPV4;
            } else {
                md.in_front = hdr.packet.tunnel.total_len |-| hdr.packet.ipv6.payload_len;
                md.bytes = IPV6_BYTES |+| hdr.packet.ipv6.payload_len;
                md.hops = hdr.packet.ipv6.hop_limit;
                md.next_protocol = IP_PROTOCOL_IPV6;
            }
            md.bytes_in_tunnel = TUNNEL_BYTES |+| md.bytes;

            tunnel_end.apply();
            if (hdr.packet.tunnel.isValid()) {
                connections.apply();
            }
            check.apply(hdr.packet, md);

            // A copy on its way to somebody else: only its outer header counts. Of any other packet
            // it is the one within; where that goes is looked up now, whatever the policy will say.
            if (hdr.packet.tunnel.isValid() && md.path == 0) {
                md.in_transit = 1;
                md.hops = hdr.packet.tunnel.ttl;
            } else if (hdr.packet.ipv4.isValid()) {
                md.destination = hdr.packet.ipv4.dst_addr;
                protected_flows.apply();
            } else {
                md.by_ipv6 = 1;
                protected_flows_v6.apply();
            }
            md.too_many = md.bytes_in_tunnel |-| md.mtu;
            if (md.by_ipv6 == 0) {
                ipv4_routes.apply();
            } else {
                ipv6_routes.apply();
            }

            if (md.is_judged == 1) {
                accept.apply(md.pte_index, hdr.packet.protection.sn, md.now, md.is_accepted);
            }
            decide.apply(md);

            if (md.is_accepted == 1) {
                if (md.by_ipv6 == 0) {
                    decapsulate_ipv4();
                } else {
                    decapsulate_ipv6();
                }
            }

            if (md.fate == fate_t.PROTECTED) {
                next_number.apply(md.pti_index, md.sn);
                if (md.by_ipv6 == 0) {
                    hdr.packet.ipv4.ttl = hdr.packet.ipv4.ttl - 1;
                    md.ipv4_changed = true;
                } else {
                    hdr.packet.ipv6.hop_limit = hdr.packet.ipv6.hop_limit - 1;
                }
                tag();
                hdr.internal.has_tunnel = 1;
            } else if (md.fate == fate_t.TOO_LONG) {
                hdr.packet.packet_in.setValid();
                hdr.packet.packet_in._pad = 0;
                ig_tm_md.ucast_egress_port = CPU_PORT;
                hdr.internal.setInvalid();
                ig_tm_md.bypass_egress = 1;
            } else if (md.fate == fate_t.ROUTED) {
                if (md.in_transit == 1) {
                    hdr.packet.tunnel.ttl = hdr.packet.tunnel.ttl - 1;
                    hdr.internal.has_tunnel = 1;
                } else if (md.by_ipv6 == 0) {
                    hdr.packet.ipv4.ttl = hdr.packet.ipv4.ttl - 1;
                    md.ipv4_changed = true;
                } else {
                    hdr.packet.ipv6.hop_limit = hdr.packet.ipv6.hop_limit - 1;
                }
                ig_tm_md.ucast_egress_port = md.egress_port;
            } else {
                ig_dprsr_md.drop_ctl = 1;
            }
            hdr.internal.index = md.pti_index;

            // In an action of its own: a constant and a value that has to be shifted do not go
            // together.
            if (md.fate == fate_t.TOO_LONG) {
                hdr.packet.packet_in.ingress_port = ig_intr_md.ingress_port;
            }
        }
        count.apply(md);
    }
}

control IngressDeparser(packet_out packet, inout switch_headers_t hdr, in ingress_metadata_t md,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Checksum() checksum;

    apply {
        // Only where a field was changed: a new checksum would hide damage done on the way.
        if (md.ipv4_changed) {
            hdr.packet.ipv4.hdr_checksum = checksum.update({
                hdr.packet.ipv4.version, hdr.packet.ipv4.ihl, hdr.packet.ipv4.diffserv,
                hdr.packet.ipv4.total_len, hdr.packet.ipv4.identification, hdr.packet.ipv4.flags,
                hdr.packet.ipv4.frag_offset, hdr.packet.ipv4.ttl, hdr.packet.ipv4.protocol,
                hdr.packet.ipv4.src_addr, hdr.packet.ipv4.dst_addr });
        }
        packet.emit(hdr.internal);
        packet.emit(hdr.packet);
    }
}

// ---- Egress -------------------------------------------------------------------------------------

parser CopyParser(packet_in packet, out switch_headers_t hdr, out egress_metadata_t md,
                  out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        md.drop = drop_reason_t.NONE;
        packet.extract(hdr.internal);
        packet.extract(hdr.packet.ethernet);
        transition select(hdr.internal.has_tunnel) {
            1:       parse_tunnel;
            default: accept;
        }
    }

    state parse_tunnel {
        packet.extract(hdr.packet.tunnel);
        transition accept;
    }
}

// Runs once for every copy, when its port is known; as ProtectRewrite in protect.p4.
control ProtectEgress(inout switch_headers_t hdr, inout egress_metadata_t md,
                      in egress_intrinsic_metadata_t eg_intr_md,
                      in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                      inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                      inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    Counter<bit<64>, bit<8>>(32, CounterType_t.PACKETS_AND_BYTES) dropped_copies;
    Counter<bit<64>, bit<9>>(512, CounterType_t.PACKETS_AND_BYTES) sent;  // by port

    action set_path(bit<32> dst_addr) {
        hdr.packet.tunnel.dst_addr = dst_addr;
    }

    action no_path() {
        md.drop = drop_reason_t.NO_PATH;
    }

    table paths {
        key = {
            hdr.internal.index:    exact @name("index");
            eg_intr_md.egress_rid: exact @name("path");
        }
        actions = { set_path; no_path; }
        const default_action = no_path();
        size = 2048;
    }

    action rewrite(bit<48> src, bit<48> dst) {
        hdr.packet.ethernet.src_addr = src;
        hdr.packet.ethernet.dst_addr = dst;
    }

    table port_mac {
        key = { eg_intr_md.egress_port: exact @name("port"); }
        actions = { rewrite; NoAction; }
        const default_action = NoAction();
        size = 512;
    }

    apply {
        if (eg_intr_md.egress_rid != 0) {
            paths.apply();
        }
        port_mac.apply();
        if (md.drop != drop_reason_t.NONE) {
            eg_dprsr_md.drop_ctl = 1;
            dropped_copies.count((bit<8>)md.drop);
        } else {
            sent.count(eg_intr_md.egress_port);
        }
    }
}

control EgressDeparser(packet_out packet, inout switch_headers_t hdr, in egress_metadata_t md,
                       in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Checksum() checksum;

    apply {
        if (hdr.packet.tunnel.isValid()) {
            hdr.packet.tunnel.hdr_checksum = checksum.update({
                hdr.packet.tunnel.version, hdr.packet.tunnel.ihl, hdr.packet.tunnel.diffserv,
                hdr.packet.tunnel.total_len, hdr.packet.tunnel.identification,
                hdr.packet.tunnel.flags, hdr.packet.tunnel.frag_offset, hdr.packet.tunnel.ttl,
                hdr.packet.tunnel.protocol, hdr.packet.tunnel.src_addr,
                hdr.packet.tunnel.dst_addr });
        }
        packet.emit(hdr.packet);
    }
}

#endif
