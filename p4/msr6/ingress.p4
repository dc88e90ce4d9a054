// The ingress: where multicast packets get the tree that they carry.

#ifndef MSR6_INGRESS_P4
#define MSR6_INGRESS_P4

#include "headers.p4"

// Puts IPv6, a routing header and its list in front of a multicast packet (RFC 2473). The result goes
// to the recirculation port and comes back as a packet for this router's own SID `destination`, which
// makes its copies like that of any other. A tree that does not fit into one list has several packets:
// the packet as it came in passes once more for each.
control Encapsulation(inout msr6_headers_t hdr, inout carried_t carried, inout decision_t decision) {
    bit<8>  last = 0;
    bit<16> longest = 0xFFFF;
    bool    found = false;

    action encapsulate(bit<128> source, bit<128> destination, bit<8> last_entry, bit<16> mtu,
                       bit<1> more,
                       bit<128> sid_0,
                       bit<128> sid_1,
                       bit<128> sid_2,
                       bit<128> sid_3,
                       bit<128> sid_4,
                       bit<128> sid_5,
                       bit<128> sid_6,
                       bit<128> sid_7,
                       bit<128> sid_8,
                       bit<128> sid_9,
                       bit<128> sid_10,
                       bit<128> sid_11,
                       bit<128> sid_12,
                       bit<128> sid_13,
                       bit<128> sid_14,
                       bit<128> sid_15) {
        found = true;
        last = last_entry;
        longest = mtu;
        decision.again = (bool)more;
        hdr.inner = hdr.ipv6;
        hdr.ipv6.src_addr = source;
        hdr.ipv6.dst_addr = destination;
        hdr.routing.setValid();
        hdr.routing.next_header = NEXT_IPV6;
        hdr.routing.hdr_ext_len = (last_entry + 1) << 1;
        hdr.routing.routing_type = ROUTING_MSR6;
        hdr.routing.segments_left = last_entry + 1;
        hdr.routing.last_entry = last_entry;
        hdr.routing.flags = 0;
        hdr.routing.tag = 0;
        hdr.segments[0].setValid();
        hdr.segments[1].setValid();
        hdr.segments[2].setValid();
        hdr.segments[3].setValid();
        hdr.segments[4].setValid();
        hdr.segments[5].setValid();
        hdr.segments[6].setValid();
        hdr.segments[7].setValid();
        hdr.segments[8].setValid();
        hdr.segments[9].setValid();
        hdr.segments[10].setValid();
        hdr.segments[11].setValid();
        hdr.segments[12].setValid();
        hdr.segments[13].setValid();
        hdr.segments[14].setValid();
        hdr.segments[15].setValid();
        hdr.segments[0].sid = sid_0;
        hdr.segments[1].sid = sid_1;
        hdr.segments[2].sid = sid_2;
        hdr.segments[3].sid = sid_3;
        hdr.segments[4].sid = sid_4;
        hdr.segments[5].sid = sid_5;
        hdr.segments[6].sid = sid_6;
        hdr.segments[7].sid = sid_7;
        hdr.segments[8].sid = sid_8;
        hdr.segments[9].sid = sid_9;
        hdr.segments[10].sid = sid_10;
        hdr.segments[11].sid = sid_11;
        hdr.segments[12].sid = sid_12;
        hdr.segments[13].sid = sid_13;
        hdr.segments[14].sid = sid_14;
        hdr.segments[15].sid = sid_15;
    }

    // A tree for the group, and which of its packets. `mtu` is the longest packet that fits with any
    // of its lists in front.
    table trees {
        key = {
            hdr.ipv6.dst_addr: exact @name("group");
            carried.part:      exact @name("part");
        }
        actions = { encapsulate; NoAction; }
        const default_action = NoAction();
        size = 4096;
    }

    apply {
        trees.apply();
        if (!found && carried.part == 0) {
            // Nobody behind other routers, or no tree at all: plain multicast.
            decision.deliver = true;
        } else if (!found) {
            decision.drop = drop_reason_t.NO_WAY;  // a part is missing
        } else if (hdr.inner.payload_len > longest - IPV6_BYTES) {
            // The sender is told, and wants to see its packet as it was.
            decision.drop = drop_reason_t.TOO_BIG;
            decision.again = false;
            hdr.ipv6 = hdr.inner;
            hdr.inner.setInvalid();
            hdr.routing.setInvalid();
            hdr.segments[0].setInvalid();
            last = 0;
        } else {
            hdr.inner.hop_limit = hdr.inner.hop_limit - 1;
            hdr.ipv6.hop_limit = FRESH_HOP_LIMIT;
            hdr.ipv6.next_header = NEXT_ROUTING;
            hdr.ipv6.payload_len = hdr.inner.payload_len + IPV6_BYTES + ROUTING_BYTES
                + ((bit<16>)hdr.routing.hdr_ext_len << 3);
            carried.part = carried.part + 1;
            decision.egress_port = RECIRC_PORT;
        }

        if (found) {
            if (last < 1) { hdr.segments[1].setInvalid(); }
            if (last < 2) { hdr.segments[2].setInvalid(); }
            if (last < 3) { hdr.segments[3].setInvalid(); }
            if (last < 4) { hdr.segments[4].setInvalid(); }
            if (last < 5) { hdr.segments[5].setInvalid(); }
            if (last < 6) { hdr.segments[6].setInvalid(); }
            if (last < 7) { hdr.segments[7].setInvalid(); }
            if (last < 8) { hdr.segments[8].setInvalid(); }
            if (last < 9) { hdr.segments[9].setInvalid(); }
            if (last < 10) { hdr.segments[10].setInvalid(); }
            if (last < 11) { hdr.segments[11].setInvalid(); }
            if (last < 12) { hdr.segments[12].setInvalid(); }
            if (last < 13) { hdr.segments[13].setInvalid(); }
            if (last < 14) { hdr.segments[14].setInvalid(); }
            if (last < 15) { hdr.segments[15].setInvalid(); }
        }
    }
}

#endif
