// 1+1 protection on Ethernet: the R-TAG of IEEE 802.1CB in the place of the tunnel.
//
// The parser and the controls have the names and the parameters of those in parser.p4 and
// protect.p4, and v1model.p4 takes these instead if ENCAPSULATION says so. A stream is known by its
// VLAN and its destination address (802.1CB: null stream identification). Each of its copies, a
// member stream, has a VLAN and an address of its own, so the bridges on the way keep them apart
// (active destination MAC and VLAN stream identification).
//
//     Ethernet | [VLAN] | data                                             outside
//     Ethernet | [VLAN] | F1C1, reserved 16, SN 16, EtherType | data       between PTI and PTE

#ifndef RTAG_P4
#define RTAG_P4

#include "headers.p4"

const bit<12> NO_VLAN = 0;  // a frame without a tag, or with one that only says a priority

// ---- From bytes to headers, and back ------------------------------------------------------------

parser ProtectParser(packet_in packet, out protect_headers_t hdr, in bit<9> ingress_port) {
    state start {
        transition select(ingress_port) {
            CPU_PORT: parse_packet_out;
            default:  parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_VLAN: parse_vlan;
            ETHERTYPE_RTAG: parse_rtag;
            default:        accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether_type) {
            ETHERTYPE_RTAG: parse_rtag;
            default:        accept;
        }
    }

    state parse_rtag {
        packet.extract(hdr.rtag);
        transition accept;
    }
}

control ProtectDeparser(packet_out packet, in protect_headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.rtag);
    }
}

// ---- Tags ---------------------------------------------------------------------------------------

// Gives the frame this VLAN, with or without a tag before.
control SetVlan(inout protect_headers_t hdr, in bit<12> vid) {
    apply {
        if (vid == NO_VLAN) {
            if (hdr.vlan.isValid()) {
                hdr.ethernet.ether_type = hdr.vlan.ether_type;
                hdr.vlan.setInvalid();
            }
        } else {
            if (!hdr.vlan.isValid()) {
                hdr.vlan.setValid();
                hdr.vlan.pcp = 0;
                hdr.vlan.dei = 0;
                hdr.vlan.ether_type = hdr.ethernet.ether_type;
                hdr.ethernet.ether_type = ETHERTYPE_VLAN;
            }
            hdr.vlan.vid = vid;
        }
    }
}

// The R-TAG stands behind the VLAN tag, if there is one.
control PushRtag(inout protect_headers_t hdr, in bit<32> sn) {
    apply {
        hdr.rtag.setValid();
        hdr.rtag.reserved = 0;
        hdr.rtag.sn = (bit<16>)sn;
        if (hdr.vlan.isValid()) {
            hdr.rtag.ether_type = hdr.vlan.ether_type;
            hdr.vlan.ether_type = ETHERTYPE_RTAG;
        } else {
            hdr.rtag.ether_type = hdr.ethernet.ether_type;
            hdr.ethernet.ether_type = ETHERTYPE_RTAG;
        }
    }
}

control PopRtag(inout protect_headers_t hdr) {
    apply {
        if (hdr.vlan.isValid()) {
            hdr.vlan.ether_type = hdr.rtag.ether_type;
        } else {
            hdr.ethernet.ether_type = hdr.rtag.ether_type;
        }
        hdr.rtag.setInvalid();
    }
}

// ---- PTE: where member streams end --------------------------------------------------------------

control Pte(inout protect_headers_t hdr, in arrival_t arrival, inout decision_t decision,
            inout bit<12> vid) {
    PopRtag() pop_rtag;
    SetVlan() set_vlan;
    Accept() accept;
    bit<32> reset = 0;
    bit<48> stream_addr = 0;
    bit<12> stream_vid = 0;

    // A copy of a stream that ends here: which place the stream has in the registers, on which path
    // the copy came, after how many microseconds any number is taken (0: never), and the address
    // and VLAN that the stream had before it was copied.
    action member(bit<16> index, bit<16> path, bit<32> reset_time, bit<48> dst_addr, bit<12> vlan) {
        decision.received = true;
        decision.pte_index = index;
        decision.path = path;
        reset = reset_time;
        stream_addr = dst_addr;
        stream_vid = vlan;
    }

    table member_streams {
        key = {
            vid:                   exact @name("vlan");
            hdr.ethernet.dst_addr: exact @name("dst_addr");
        }
        actions = { member; NoAction; }
        const default_action = NoAction();
        size = 2048;
    }

    apply {
        member_streams.apply();
        if (decision.received) {
            if (!hdr.rtag.isValid()) {
                decision.drop = drop_reason_t.NO_TAG;
            } else if (hdr.rtag.ether_type == ETHERTYPE_RTAG) {
                decision.drop = drop_reason_t.TUNNEL_IN_TUNNEL;
            } else {
                accept.apply(decision.pte_index, (bit<32>)hdr.rtag.sn & SN_MASK, arrival.now, reset,
                             decision.verdict);
                if (decision.verdict == verdict_t.DUPLICATE) {
                    decision.drop = drop_reason_t.DUPLICATE;
                } else if (decision.verdict == verdict_t.ROGUE) {
                    decision.drop = drop_reason_t.ROGUE;
                } else {
                    pop_rtag.apply(hdr);
                    hdr.ethernet.dst_addr = stream_addr;
                    set_vlan.apply(hdr, stream_vid);
                    vid = stream_vid;
                }
            }
        }
    }
}

// ---- PTI: where streams are copied --------------------------------------------------------------

control Pti(inout protect_headers_t hdr, in bit<12> vid, inout decision_t decision) {
    NextNumber() next_number;
    PushRtag() push_rtag;
    bit<16> connection_group = 0;
    bit<32> sn = 0;

    action replicate(bit<16> index, bit<16> mcast_grp) {
        decision.protected = true;
        decision.pti_index = index;
        connection_group = mcast_grp;
    }

    table streams {
        key = {
            vid:                   exact @name("vlan");
            hdr.ethernet.dst_addr: exact @name("dst_addr");
        }
        actions = { replicate; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    apply {
        streams.apply();
        if (decision.protected) {
            next_number.apply(decision.pti_index, sn);
            push_rtag.apply(hdr, sn);
            decision.mcast_grp = connection_group;
        }
    }
}

// ---- The whole switch ---------------------------------------------------------------------------

control ProtectRouter(inout protect_headers_t hdr, in arrival_t arrival, out decision_t decision) {
    Pte() pte;
    Pti() pti;
    bit<12> vid = NO_VLAN;

    action forward(bit<9> port) {
        decision.egress_port = port;
    }

    action drop() {
        decision.drop = drop_reason_t.UNKNOWN_STREAM;
    }

    table bridge {
        key = {
            vid:                   exact @name("vlan");
            hdr.ethernet.dst_addr: exact @name("dst_addr");
        }
        actions = { forward; drop; }
        const default_action = drop();
        size = 4096;
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

        if (hdr.vlan.isValid()) {
            vid = hdr.vlan.vid;
        }

        if (hdr.packet_out.isValid()) {
            decision.egress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else if (!hdr.ethernet.isValid()) {
            decision.drop = drop_reason_t.UNKNOWN_PACKET;
        } else if (hdr.ethernet.ether_type == ETHERTYPE_VLAN && !hdr.vlan.isValid()) {
            decision.drop = drop_reason_t.MALFORMED;
        } else if (!hdr.rtag.isValid() && (hdr.ethernet.ether_type == ETHERTYPE_RTAG
                                           || hdr.vlan.isValid()
                                           && hdr.vlan.ether_type == ETHERTYPE_RTAG)) {
            decision.drop = drop_reason_t.MALFORMED;
        } else {
            pte.apply(hdr, arrival, decision, vid);
            // A frame that has an R-TAG is a copy already.
            if (decision.drop == drop_reason_t.NONE && !hdr.rtag.isValid()) {
                pti.apply(hdr, vid, decision);
            }
            if (decision.drop == drop_reason_t.NONE && !decision.protected) {
                bridge.apply();
                if (decision.egress_port == arrival.port) {
                    decision.drop = drop_reason_t.BACK_TO_SOURCE;
                }
            }
        }
    }
}

// ---- On the way out -----------------------------------------------------------------------------

control ProtectRewrite(inout protect_headers_t hdr, in bit<9> port, in bit<16> path,
                       in bit<16> index, inout drop_reason_t drop) {
    SetVlan() set_vlan;
    bit<12> path_vid = 0;

    // Each path leads to another address, in another VLAN.
    action set_path(bit<48> dst_addr, bit<12> vlan) {
        hdr.ethernet.dst_addr = dst_addr;
        path_vid = vlan;
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

    apply {
        if (path != 0) {
            paths.apply();
            set_vlan.apply(hdr, path_vid);
        }
    }
}

#endif
