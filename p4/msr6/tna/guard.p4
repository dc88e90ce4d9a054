// What every packet is asked, and what becomes of it.
//
// What msr6.p4 asks in one `if` after another would take a stage for each. Here tables with
// constant entries ask all of it at once: the first entry that holds is the first objection of
// msr6.p4. Nobody has to wait for them: what is refused is mirrored to the control plane, and a
// mirror is the packet as it came in, whatever was done to it since.

#ifndef MSR6_TNA_GUARD_P4
#define MSR6_TNA_GUARD_P4

#include "headers.p4"

// The differences that the tables below look at.
control Measure(in msr6_headers_t hdr, inout ingress_metadata_t md) {
    action measure() {
        md.last_doubled = hdr.routing.last_entry |+| hdr.routing.last_entry;
        md.over = md.segments_left |-| hdr.routing.last_entry;
        md.rl_below = md.segments_left |-| md.rl_pointer;
        md.rl_excess = md.n |-| md.rl_pointer;
        md.rlb_below = md.segments_left |-| md.rlb_pointer;
        md.bytes = hdr.inner.payload_len |+| IPV6_BYTES;
    }

    action measure_room() {
        md.room = hdr.routing.hdr_ext_len |-| md.last_doubled;
    }

    apply {
        measure();
        measure_room();
    }
}

// What RFC 8754 (4.3.1.1) asks of a segment routing header; as Guard in msr6.p4.
control HeaderGuard(in msr6_headers_t hdr, inout ingress_metadata_t md) {
    action go_on() {
    }

    action refuse(drop_reason_t reason) {
        md.drop = reason;
        md.refused = 1;
        md.told = 0;
    }

    action tell(drop_reason_t reason) {
        md.drop = reason;
        md.refused = 1;
        md.told = 1;
    }

    table check_header {
        key = {
            hdr.ipv6.src_addr[127:112]: ternary @name("source");
            md.is_cut:                  ternary @name("is_cut");
            hdr.routing.isValid():      ternary @name("has_routing");
            md.behaviour:               ternary @name("behaviour");
            hdr.routing.routing_type:   ternary @name("routing_type");
            hdr.routing.hdr_ext_len:    ternary @name("hdr_ext_len");
            md.has_list:                ternary @name("has_list");
            md.hops:                    ternary @name("hop_limit");
            md.room:                    ternary @name("room");
            md.segments_left:           ternary @name("segments_left");
            md.over:                    ternary @name("over");
        }
        actions = { go_on; refuse; tell; }
        const default_action = tell(drop_reason_t.ROUTING_TYPE);
        const entries = {
            (0xFE80 &&& 0xFFC0, _, _, _, _, _, _, _, _, _, _): refuse(drop_reason_t.LINK_LOCAL);
            (_, true, _, _, _, _, _, _, _, _, _): refuse(drop_reason_t.CUT_OFF);
            // A leaf takes packets without a routing header, too.
            (_, _, false, behaviour_t.END_DT6, _, _, _, _, _, _, _): go_on();
            (_, _, false, _, _, _, _, _, _, _, _): tell(drop_reason_t.UPPER_LAYER);
            (_, _, _, _, ROUTING_MSR6, 1 &&& 1, _, _, _, _, _): tell(drop_reason_t.HDR_EXT_LEN);
            (_, _, _, _, ROUTING_MSR6, _, 0, _, _, _, _): tell(drop_reason_t.TOO_LONG);
            (_, _, _, behaviour_t.END_RL, ROUTING_MSR6, _, _, 0 &&& 0xFE, _, _,
             _): tell(drop_reason_t.TIME_EXCEEDED);
            (_, _, _, behaviour_t.END_RLB, ROUTING_MSR6, _, _, 0 &&& 0xFE, _, _,
             _): tell(drop_reason_t.TIME_EXCEEDED);
            (_, _, _, behaviour_t.END_RGB, ROUTING_MSR6, _, _, 0 &&& 0xFE, _, _,
             _): tell(drop_reason_t.TIME_EXCEEDED);
            (_, _, _, _, ROUTING_MSR6, _, _, _, 0, _, _): tell(drop_reason_t.LAST_ENTRY);
            (_, _, _, behaviour_t.END_DT6, ROUTING_MSR6, _, _, _, _, 0, _): go_on();
            (_, _, _, behaviour_t.END_DT6, ROUTING_MSR6, _, _, _, _, _,
             _): tell(drop_reason_t.SEGMENTS_LEFT);
            (_, _, _, _, ROUTING_MSR6, _, _, _, _, _, 0 &&& 0xFE): go_on();
            (_, _, _, _, ROUTING_MSR6, _, _, _, _, _, _): tell(drop_reason_t.SEGMENTS_LEFT);
        }
        size = 16;
    }

    apply {
        check_header.apply();
    }
}

// The same for packets that are for no SID of this router.
control PlainGuard(in msr6_headers_t hdr, inout ingress_metadata_t md) {
    action go_on() {
    }

    action refuse(drop_reason_t reason) {
        md.drop = reason;
        md.refused = 1;
    }

    action tell(drop_reason_t reason) {
        md.drop = reason;
        md.refused = 1;
        md.told = 1;
    }

    table check_plain {
        key = {
            hdr.ipv6.isValid():         ternary @name("has_ipv6");
            md.is_cut:                  ternary @name("is_cut");
            hdr.ipv6.src_addr[127:112]: ternary @name("source");
            hdr.ipv6.dst_addr[127:112]: ternary @name("destination");
            md.hops:                    ternary @name("hop_limit");
        }
        actions = { go_on; refuse; tell; }
        const default_action = refuse(drop_reason_t.UNKNOWN_PACKET);
        const entries = {
            (true, true, _, _, _): refuse(drop_reason_t.CUT_OFF);
            (true, _, 0xFE80 &&& 0xFFC0, _, _): refuse(drop_reason_t.LINK_LOCAL);
            (true, _, _, 0xFE80 &&& 0xFFC0, _): refuse(drop_reason_t.LINK_LOCAL);
            (true, _, _, _, 0 &&& 0xFE): tell(drop_reason_t.TIME_EXCEEDED);
            (true, _, _, _, _): go_on();
        }
        size = 8;
    }

    apply {
        check_plain.apply();
    }
}

// The same for multicast packets without a tree.
control GroupGuard(in msr6_headers_t hdr, inout ingress_metadata_t md) {
    action go_on() {
    }

    action refuse(drop_reason_t reason) {
        md.drop = reason;
        md.refused = 1;
    }

    action tell(drop_reason_t reason) {
        md.drop = reason;
        md.refused = 1;
        md.told = 1;
    }

    table check_group {
        key = {
            md.is_cut:                   ternary @name("is_cut");
            hdr.icmpv6.isValid():        ternary @name("has_icmpv6");
            hdr.icmpv6.type:             ternary @name("type");
            hdr.inner.src_addr[127:112]: ternary @name("source");
            hdr.inner.dst_addr[127:112]: ternary @name("group");
            hdr.inner.next_header:       ternary @name("next_header");
            md.hops:                     ternary @name("hop_limit");
            md.target:                   ternary @name("target");
            md.too_many:                 ternary @name("too_many");
            md.part:                     ternary @name("part");
        }
        actions = { go_on; refuse; tell; }
        const default_action = refuse(drop_reason_t.NO_WAY);  // a part of its tree is missing
        const entries = {
            (true, _, _, _, _, _, _, _, _, _): refuse(drop_reason_t.CUT_OFF);
            // Who joins and leaves which group is the control plane's business.
            (_, true, MLD_REPORT, _, _, _, _, _, _, _): tell(drop_reason_t.NONE);
            (_, true, MLD_DONE, _, _, _, _, _, _, _): tell(drop_reason_t.NONE);
            (_, true, MLD_REPORT_V2, _, _, _, _, _, _, _): tell(drop_reason_t.NONE);
            (_, _, _, 0xFE80 &&& 0xFFC0, _, _, _, _, _, _): refuse(drop_reason_t.LINK_LOCAL);
            (_, _, _, _, 0xFF00 &&& 0xFF0E, _, _, _, _, _): refuse(drop_reason_t.LINK_LOCAL);
            (_, _, _, _, 0xFF02 &&& 0xFF0F, _, _, _, _, _): refuse(drop_reason_t.LINK_LOCAL);
            (_, _, _, _, _, NEXT_ROUTING, _, _, _, _): refuse(drop_reason_t.ROUTED_MULTICAST);
            (_, _, _, _, _, _, 0 &&& 0xFE, _, _, _): refuse(drop_reason_t.HOP_LIMIT);
            (_, _, _, _, _, _, _, target_t.TREE, 0, _): go_on();
            (_, _, _, _, _, _, _, target_t.TREE, _, _): tell(drop_reason_t.TOO_BIG);
            (_, _, _, _, _, _, _, _, _, 0): go_on();
        }
        size = 16;
    }

    apply {
        check_group.apply();
    }
}

// What becomes of the packet, or of this copy of it, when everything about it is known.
control Decide(inout ingress_headers_t hdr, inout ingress_metadata_t md,
               inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
               inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    action give_up() {
        ig_dprsr_md.drop_ctl = 1;
    }

    action lose(drop_reason_t reason) {
        md.drop = reason;
        ig_dprsr_md.drop_ctl = 1;
    }

    action tell(drop_reason_t reason) {
        md.drop = reason;
        md.told = 1;
        ig_dprsr_md.drop_ctl = 1;
    }

    action send() {
        ig_tm_md.ucast_egress_port = md.egress_port;
    }

    // The port is the one whose turn it is.
    action send_around() {
        hdr.internal.within = within_t.LOOPED;
    }

    // The packet as it was before it got its tree.
    action send_to_listeners() {
        ig_tm_md.mcast_grp_a = md.mcast_grp;
        hdr.packet.inner.hop_limit = hdr.packet.inner.hop_limit - 1;
        hdr.packet.ipv6.setInvalid();
        hdr.packet.routing.setInvalid();
        hdr.packet.segments[0].setInvalid();
        hdr.packet.segments[1].setInvalid();
        hdr.packet.segments[2].setInvalid();
        hdr.packet.segments[3].setInvalid();
        hdr.packet.segments[4].setInvalid();
        hdr.packet.segments[5].setInvalid();
        hdr.packet.segments[6].setInvalid();
        hdr.packet.segments[7].setInvalid();
    }

    table decide {
        key = {
            md.refused:                         ternary @name("refused");
            md.target:                          ternary @name("target");
            md.behaviour:                       ternary @name("behaviour");
            hdr.packet.ipv6.isValid():          ternary @name("has_ipv6");
            hdr.packet.ipv6.dst_addr[127:112]:  ternary @name("destination");
            hdr.packet.inner.isValid():         ternary @name("has_inner");
            hdr.packet.inner.src_addr[127:112]: ternary @name("source");
            hdr.packet.inner.dst_addr[127:112]: ternary @name("group");
            hdr.packet.inner.hop_limit:         ternary @name("group_hop_limit");
            md.has_listeners:                   ternary @name("has_listeners");
        }
        actions = { give_up; lose; tell; send; send_around; send_to_listeners; }
        const default_action = lose(drop_reason_t.NOT_MULTICAST);
        const entries = {
            (1, _, _, _, _, _, _, _, _, _): give_up();
            // A list may name any address, and these are none to send a copy to.
            (_, _, _, true, 0xFF00 &&& 0xFF00, _, _, _, _, _): lose(drop_reason_t.ROUTED_MULTICAST);
            (_, _, _, true, 0xFE80 &&& 0xFFC0, _, _, _, _, _): lose(drop_reason_t.LINK_LOCAL);
            (_, target_t.PORT, _, _, _, _, _, _, _, _): send();
            (_, target_t.TREE, _, _, _, _, _, _, _, _): send_around();
            // To this router itself: to a SID that it does not have, or a copy that comes back.
            (_, target_t.HERE, behaviour_t.NONE, _, _, _, _, _, _,
             _): lose(drop_reason_t.NO_SUCH_SID);
            (_, target_t.HERE, _, _, _, _, _, _, _, _): send_around();
            (_, target_t.NOWHERE, behaviour_t.NONE, _, _, _, _, _, _,
             _): tell(drop_reason_t.NO_ROUTE);
            (_, target_t.NOWHERE, behaviour_t.END_RGB, _, _, _, _, _, _,
             _): lose(drop_reason_t.NO_BIFT_ENTRY);
            (_, target_t.NOWHERE, _, _, _, _, _, _, _, _): lose(drop_reason_t.NO_WAY);
            // To listeners.
            (_, _, behaviour_t.END_DT6, _, _, false, _, _, _, _): tell(drop_reason_t.UPPER_LAYER);
            (_, _, _, _, _, false, _, _, _, _): lose(drop_reason_t.UPPER_LAYER);
            (_, _, _, _, _, _, _, 0xFF00 &&& 0xFF0E, _, _): lose(drop_reason_t.LINK_LOCAL);
            (_, _, _, _, _, _, _, 0xFF02 &&& 0xFF0F, _, _): lose(drop_reason_t.LINK_LOCAL);
            (_, _, _, _, _, _, 0xFE80 &&& 0xFFC0, 0xFF00 &&& 0xFF00, _,
             _): lose(drop_reason_t.LINK_LOCAL);
            (_, _, _, _, _, _, _, 0xFF00 &&& 0xFF00, 0 &&& 0xFE, _): lose(drop_reason_t.HOP_LIMIT);
            (_, _, _, _, _, _, _, 0xFF00 &&& 0xFF00, _, 0): lose(drop_reason_t.NO_LISTENER);
            (_, _, _, _, _, _, _, 0xFF00 &&& 0xFF00, _, 1): send_to_listeners();
        }
        size = 32;
    }

    apply {
        decide.apply();
    }
}

#endif
