// MSR6 TE: the tree is a list of SIDs, breadth first (End.RL).
//
// The argument of a node's SID says how many children it has and where the first of them is in the
// list. The others follow, at lower and lower indices:   n 8 | pointer 8 | 0 16

#ifndef MSR6_TE_P4
#define MSR6_TE_P4

#include "headers.p4"

bit<8> children(in bit<128> sid) {
    return sid[31:24];
}

bit<8> first_child(in bit<128> sid) {
    return sid[23:16];
}

drop_reason_t trouble(in bit<8> n, in bit<8> first, in bit<8> left) {
    if (n == 0) {
        return drop_reason_t.NO_COPY;
    }
    if (first >= left) {
        return drop_reason_t.POINTER;
    }
    if (first < n - 1) {
        return drop_reason_t.TOO_MANY;
    }
    return drop_reason_t.NONE;
}

control EndRl(inout msr6_headers_t hdr, inout carried_t carried, inout decision_t decision) {
    action next_child(bit<8> n, bit<8> first) {
        bit<8> entry = first - carried.child;
        hdr.ipv6.dst_addr = hdr.segments[entry].sid;
        hdr.routing.segments_left = entry;
        carried.child = carried.child + 1;
        decision.again = carried.child < n;
    }

    action send_copy() {
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        decision.look_up = true;
        decision.is_copy = true;
    }

    apply {
        bit<8> n = children(hdr.ipv6.dst_addr);
        bit<8> first = first_child(hdr.ipv6.dst_addr);

        decision.drop = trouble(n, first, hdr.routing.segments_left);
        if (decision.drop == drop_reason_t.NONE) {
            next_child(n, first);
            if (children(hdr.ipv6.dst_addr) == 0) {
                hdr.routing.segments_left = 0;
            }
            send_copy();
        }
    }
}

#endif
