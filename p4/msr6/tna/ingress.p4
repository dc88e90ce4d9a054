// The ingress of a tree on TNA: what ingress.p4 does, in tables that the chip can hold.

#ifndef MSR6_TNA_INGRESS_P4
#define MSR6_TNA_INGRESS_P4

#include "headers.p4"

control Encapsulation(inout msr6_headers_t hdr, inout ingress_metadata_t md) {
    // An action of one stage takes 128 bytes at most from its entry. So a tree has a number, under
    // which two more tables hold its list.
    action encapsulate(bit<16> tree, bit<128> source, bit<128> destination, bit<8> last_entry,
                       bit<16> mtu, bit<1> more) {
        md.target = target_t.TREE;
        md.tree = tree;
        md.last_entry = last_entry;
        md.too_many = md.bytes |-| mtu;
        md.more = more;
        md.mirror_within = within_t.NEXT_PART;
        hdr.ipv6.setValid();
        hdr.ipv6.version = hdr.inner.version;
        hdr.ipv6.traffic_class = hdr.inner.traffic_class;
        hdr.ipv6.flow_label = hdr.inner.flow_label;
        hdr.ipv6.next_header = NEXT_ROUTING;
        hdr.ipv6.hop_limit = FRESH_HOP_LIMIT;
        hdr.ipv6.src_addr = source;
        hdr.ipv6.dst_addr = destination;
        hdr.inner.hop_limit = hdr.inner.hop_limit - 1;
    }

    action no_tree() {
        md.target = target_t.LISTENERS;
    }

    table trees {
        key = {
            hdr.inner.dst_addr: exact @name("group");
            md.part:            exact @name("part");
        }
        actions = { encapsulate; no_tree; }
        const default_action = no_tree();
        size = 1024;
    }

    action sids_0(bit<128> sid_0, bit<128> sid_1, bit<128> sid_2, bit<128> sid_3) {
        hdr.segments[0].sid = sid_0;
        hdr.segments[1].sid = sid_1;
        hdr.segments[2].sid = sid_2;
        hdr.segments[3].sid = sid_3;
    }

    table tree_sids_0 {
        key = { md.tree: exact @name("tree"); }
        actions = { sids_0; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    action sids_4(bit<128> sid_4, bit<128> sid_5, bit<128> sid_6, bit<128> sid_7) {
        hdr.segments[4].sid = sid_4;
        hdr.segments[5].sid = sid_5;
        hdr.segments[6].sid = sid_6;
        hdr.segments[7].sid = sid_7;
    }

    table tree_sids_4 {
        key = { md.tree: exact @name("tree"); }
        actions = { sids_4; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    // What follows from the number of entries. `bytes` counts one of the two IPv6 headers.
    action lengths(bit<8> last_entry, bit<8> entries, bit<8> hdr_ext_len, bit<16> routing_bytes) {
        hdr.routing.setValid();
        hdr.routing.next_header = NEXT_IPV6;
        hdr.routing.hdr_ext_len = hdr_ext_len;
        hdr.routing.routing_type = ROUTING_MSR6;
        hdr.routing.segments_left = entries;
        hdr.routing.last_entry = last_entry;
        hdr.routing.flags = 0;
        hdr.routing.tag = 0;
        hdr.ipv6.payload_len = md.bytes + routing_bytes;
    }

    table tree_lengths {
        key = { md.last_entry: exact @name("last_entry"); }
        actions = { lengths; NoAction; }
        const default_action = NoAction();
        const entries = {
            0: lengths(0, 1, 2, 24);
            1: lengths(1, 2, 4, 40);
            2: lengths(2, 3, 6, 56);
            3: lengths(3, 4, 8, 72);
            4: lengths(4, 5, 10, 88);
            5: lengths(5, 6, 12, 104);
            6: lengths(6, 7, 14, 120);
            7: lengths(7, 8, 16, 136);
        }
        size = 8;
    }

    action list_of_1() {
        hdr.segments[0].setValid();
    }

    action list_of_2() {
        list_of_1();
        hdr.segments[1].setValid();
    }

    action list_of_3() {
        list_of_2();
        hdr.segments[2].setValid();
    }

    action list_of_4() {
        list_of_3();
        hdr.segments[3].setValid();
    }

    action list_of_5() {
        list_of_4();
        hdr.segments[4].setValid();
    }

    action list_of_6() {
        list_of_5();
        hdr.segments[5].setValid();
    }

    action list_of_7() {
        list_of_6();
        hdr.segments[6].setValid();
    }

    action list_of_8() {
        list_of_7();
        hdr.segments[7].setValid();
    }

    // The same for which entries there are.
    table tree_entries {
        key = { md.last_entry: exact @name("last_entry"); }
        actions = {
            list_of_1; list_of_2; list_of_3; list_of_4;
            list_of_5; list_of_6; list_of_7; list_of_8;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            0: list_of_1();
            1: list_of_2();
            2: list_of_3();
            3: list_of_4();
            4: list_of_5();
            5: list_of_6();
            6: list_of_7();
            7: list_of_8();
        }
        size = 8;
    }

    apply {
        trees.apply();
        if (md.target == target_t.TREE) {
            tree_sids_0.apply();
            tree_sids_4.apply();
            tree_lengths.apply();
            tree_entries.apply();
        }
    }
}

#endif
