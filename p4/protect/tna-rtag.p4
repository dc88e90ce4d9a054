// 1+1 protection on Ethernet for TNA: the R-TAG of rtag.p4 with the policies of Tofino.
//
// As in tna-tunnel.p4, tables with constant entries ask what rtag.p4 asks one `if` after another,
// and where a frame would go is looked up before the policy has answered.

#ifndef TNA_RTAG_P4
#define TNA_RTAG_P4

#include "headers.p4"
#include "policies-tna/policy.p4"

const bit<12> NO_VLAN = 0;  // a frame without a tag, or with one that only says a priority

// From ingress to egress, in front of the frame.
header internal_t {
    bit<16> index;          // of the stream that is copied here
}

struct switch_headers_t {
    internal_t        internal;
    protect_headers_t packet;
}

// What happens to a frame that nothing speaks against.
enum bit<8> fate_t {
    NONE      = 0,
    PROTECTED = 1,
    BRIDGED   = 2
}

struct ingress_metadata_t {
    bit<12>       vid;             // of the frame, or of the stream that it is a copy of
    bit<48>       dst_addr;        // the same
    bit<32>       now;             // ticks
    bit<32>       sn;              // in the upper half
    bool          is_cut;          // the frame ends within a tag
    bit<1>        is_received;     // a copy of a stream that ends here
    bit<1>        is_judged;       // the acceptance policy was asked,
    bit<1>        is_accepted;     // and took it
    bit<16>       pte_index;
    bit<16>       path;
    bit<1>        has_stream;      // its stream is copied here
    bit<16>       pti_index;
    bit<16>       mcast_grp;
    bit<1>        has_port;
    bit<9>        egress_port;
    bit<9>        back;            // 0: to where it came from
    bit<32>       number;
    drop_reason_t drop;
    fate_t        fate;
    bit<16>       cell;            // of the counters
}

struct egress_metadata_t {
    drop_reason_t drop;
    bit<12>       vid;
}

// ---- Ingress ------------------------------------------------------------------------------------

parser EntryParser(packet_in packet, out switch_headers_t hdr, out ingress_metadata_t md,
                   out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        md.vid = NO_VLAN;
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
            ETHERTYPE_VLAN: parse_vlan;
            ETHERTYPE_RTAG: parse_rtag;
            default:        accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.packet.vlan);
        md.vid = hdr.packet.vlan.vid;
        transition select(hdr.packet.vlan.ether_type) {
            ETHERTYPE_RTAG: parse_rtag;
            default:        accept;
        }
    }

    state parse_rtag {
        packet.extract(hdr.packet.rtag);
        transition accept;
    }
}

// Does the frame itself speak against it, and is it a copy that the policy has to judge?
control Check(in protect_headers_t hdr, inout ingress_metadata_t md) {
    action refuse(drop_reason_t reason) {
        md.drop = reason;
    }

    action judge() {
        md.is_judged = 1;
    }

    table check {
        key = {
            hdr.ethernet.isValid(): ternary @name("has_ethernet");
            md.is_cut:              ternary @name("is_cut");
            md.is_received:         ternary @name("is_received");
            hdr.rtag.isValid():     ternary @name("has_rtag");
            hdr.rtag.ether_type:    ternary @name("ether_type");
        }
        actions = { refuse; judge; NoAction; }
        const default_action = NoAction();
        const entries = {
            (false, _, _, _, _): refuse(drop_reason_t.UNKNOWN_PACKET);
            (_, true, _, _, _): refuse(drop_reason_t.MALFORMED);
            (_, _, 1, false, _): refuse(drop_reason_t.NO_TAG);
            (_, _, 1, true, ETHERTYPE_RTAG): refuse(drop_reason_t.TUNNEL_IN_TUNNEL);
            (_, _, 1, true, _): judge();
        }
        size = 8;
    }

    apply {
        check.apply();
    }
}

// What becomes of a frame, when everything about it is known.
control Decide(inout ingress_metadata_t md) {
    action refuse(drop_reason_t reason) {
        md.drop = reason;
    }

    action take(fate_t fate) {
        md.fate = fate;
    }

    table decide {
        key = {
            md.drop:        ternary @name("drop");
            md.is_judged:   ternary @name("is_judged");
            md.is_accepted: ternary @name("is_accepted");
            md.has_stream:  ternary @name("has_stream");
            md.has_port:    ternary @name("has_port");
            md.back:        ternary @name("back");
        }
        actions = { refuse; take; NoAction; }
        const default_action = NoAction();
        const entries = {
            (drop_reason_t.NONE, 1, 0, _, _, _): refuse(drop_reason_t.DUPLICATE);
            (drop_reason_t.NONE, _, _, 1, _, _): take(fate_t.PROTECTED);
            (drop_reason_t.NONE, _, _, _, 0, _): refuse(drop_reason_t.UNKNOWN_STREAM);
            (drop_reason_t.NONE, _, _, _, _, 0): refuse(drop_reason_t.BACK_TO_SOURCE);
            (drop_reason_t.NONE, _, _, _, _, _): take(fate_t.BRIDGED);
        }
        size = 8;
    }

    apply {
        decide.apply();
    }
}

// As in tna-tunnel.p4.
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

    // The reset time is that of the program (RESET_US): see policies-tna/cell.p4.
    action member(bit<16> index, bit<16> path, bit<32> reset_time, bit<48> dst_addr, bit<12> vlan) {
        md.is_received = 1;
        md.pte_index = index;
        md.path = path;
        md.dst_addr = dst_addr;
        md.vid = vlan;
    }

    table member_streams {
        key = {
            md.vid:                       exact @name("vlan");
            hdr.packet.ethernet.dst_addr: exact @name("dst_addr");
        }
        actions = { member; NoAction; }
        const default_action = NoAction();
        size = 2048;
    }

    // The R-TAG goes, and the VLAN becomes that of the stream: four cases, with and without a tag
    // before and after.
    action change_vlan() {
        hdr.packet.ethernet.dst_addr = md.dst_addr;
        hdr.packet.vlan.ether_type = hdr.packet.rtag.ether_type;
        hdr.packet.vlan.vid = md.vid;
        hdr.packet.rtag.setInvalid();
    }

    action pop_vlan() {
        hdr.packet.vlan.setInvalid();
        hdr.packet.ethernet.dst_addr = md.dst_addr;
        hdr.packet.ethernet.ether_type = hdr.packet.rtag.ether_type;
        hdr.packet.rtag.setInvalid();
    }

    action push_vlan() {
        hdr.packet.vlan.setValid();
        hdr.packet.ethernet.dst_addr = md.dst_addr;
        hdr.packet.ethernet.ether_type = ETHERTYPE_VLAN;
        hdr.packet.vlan.pcp = 0;
        hdr.packet.vlan.dei = 0;
        hdr.packet.vlan.ether_type = hdr.packet.rtag.ether_type;
        hdr.packet.vlan.vid = md.vid;
        hdr.packet.rtag.setInvalid();
    }

    action no_vlan() {
        hdr.packet.ethernet.dst_addr = md.dst_addr;
        hdr.packet.ethernet.ether_type = hdr.packet.rtag.ether_type;
        hdr.packet.rtag.setInvalid();
    }

    // ---- PTI

    action replicate(bit<16> index, bit<16> mcast_grp) {
        md.has_stream = 1;
        md.pti_index = index;
        md.mcast_grp = mcast_grp;
    }

    table streams {
        key = {
            md.vid:      exact @name("vlan");
            md.dst_addr: exact @name("dst_addr");
        }
        actions = { replicate; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    action push_rtag_behind_vlan() {
        hdr.packet.rtag.setValid();
        hdr.packet.rtag.reserved = 0;
        hdr.packet.rtag.sn = md.number[15:0];
        hdr.packet.rtag.ether_type = hdr.packet.vlan.ether_type;
        hdr.packet.vlan.ether_type = ETHERTYPE_RTAG;
    }

    action push_rtag() {
        hdr.packet.rtag.setValid();
        hdr.packet.rtag.reserved = 0;
        hdr.packet.rtag.sn = md.number[15:0];
        hdr.packet.rtag.ether_type = hdr.packet.ethernet.ether_type;
        hdr.packet.ethernet.ether_type = ETHERTYPE_RTAG;
    }

    // ---- Every bridge

    action forward(bit<9> port) {
        md.has_port = 1;
        md.egress_port = port;
    }

    action drop() {
        md.has_port = 0;
    }

    table bridge {
        key = {
            md.vid:      exact @name("vlan");
            md.dst_addr: exact @name("dst_addr");
        }
        actions = { forward; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        md.is_cut = false;
        md.is_received = 0;
        md.is_judged = 0;
        md.is_accepted = 0;
        md.pte_index = 0;
        md.path = 0;
        md.has_stream = 0;
        md.pti_index = 0;
        md.has_port = 0;
        md.egress_port = 0;
        md.drop = drop_reason_t.NONE;
        md.fate = fate_t.NONE;

        if (hdr.packet.packet_out.isValid()) {
            ig_tm_md.ucast_egress_port = hdr.packet.packet_out.egress_port;
            hdr.packet.packet_out.setInvalid();
            ig_tm_md.bypass_egress = 1;
        } else {
            md.now = ig_intr_md.ingress_mac_tstamp[47:16] + FIRST_TICK;
            md.sn = hdr.packet.rtag.sn ++ 16w0;
            md.dst_addr = hdr.packet.ethernet.dst_addr;
            if (ig_prsr_md.parser_err != 0) {
                md.is_cut = true;
            }

            member_streams.apply();
            check.apply(hdr.packet, md);

            // A frame that has an R-TAG which is not for this switch is a copy already.
            if (md.is_received == 1 || !hdr.packet.rtag.isValid()) {
                streams.apply();
            }
            bridge.apply();
            md.back = md.egress_port ^ ig_intr_md.ingress_port;

            if (md.is_judged == 1) {
                accept.apply(md.pte_index, md.sn, md.now, md.is_accepted);
            }
            decide.apply(md);

            if (md.is_accepted == 1) {
                if (hdr.packet.vlan.isValid()) {
                    if (md.vid == NO_VLAN) {
                        pop_vlan();
                    } else {
                        change_vlan();
                    }
                } else {
                    if (md.vid == NO_VLAN) {
                        no_vlan();
                    } else {
                        push_vlan();
                    }
                }
            }

            hdr.internal.setValid();
            hdr.internal.index = md.pti_index;
            if (md.fate == fate_t.PROTECTED) {
                next_number.apply(md.pti_index, md.number);
                if (hdr.packet.vlan.isValid()) {
                    push_rtag_behind_vlan();
                } else {
                    push_rtag();
                }
                ig_tm_md.mcast_grp_a = md.mcast_grp;
            } else if (md.fate == fate_t.BRIDGED) {
                ig_tm_md.ucast_egress_port = md.egress_port;
            } else {
                ig_dprsr_md.drop_ctl = 1;
            }
        }
        count.apply(md);
    }
}

control IngressDeparser(packet_out packet, inout switch_headers_t hdr, in ingress_metadata_t md,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
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
        transition select(hdr.packet.ethernet.ether_type) {
            ETHERTYPE_VLAN: parse_vlan;
            default:        accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.packet.vlan);
        transition accept;
    }
}

// Runs once for every copy, when its port is known; as ProtectRewrite in rtag.p4.
control ProtectEgress(inout switch_headers_t hdr, inout egress_metadata_t md,
                      in egress_intrinsic_metadata_t eg_intr_md,
                      in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                      inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                      inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    Counter<bit<64>, bit<8>>(32, CounterType_t.PACKETS_AND_BYTES) dropped_copies;
    Counter<bit<64>, bit<9>>(512, CounterType_t.PACKETS_AND_BYTES) sent;  // by port

    action set_path(bit<48> dst_addr, bit<12> vlan) {
        hdr.packet.ethernet.dst_addr = dst_addr;
        md.vid = vlan;
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

    action pop_vlan() {
        hdr.packet.ethernet.ether_type = hdr.packet.vlan.ether_type;
        hdr.packet.vlan.setInvalid();
    }

    action push_vlan() {
        hdr.packet.vlan.setValid();
        hdr.packet.vlan.pcp = 0;
        hdr.packet.vlan.dei = 0;
        hdr.packet.vlan.vid = md.vid;
        hdr.packet.vlan.ether_type = hdr.packet.ethernet.ether_type;
        hdr.packet.ethernet.ether_type = ETHERTYPE_VLAN;
    }

    action change_vlan() {
        hdr.packet.vlan.vid = md.vid;
    }

    apply {
        md.vid = NO_VLAN;
        if (eg_intr_md.egress_rid != 0) {
            paths.apply();
            if (hdr.packet.vlan.isValid()) {
                if (md.vid == NO_VLAN) {
                    pop_vlan();
                } else {
                    change_vlan();
                }
            } else if (md.vid != NO_VLAN) {
                push_vlan();
            }
        }
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
    apply {
        packet.emit(hdr.packet);
    }
}

#endif
