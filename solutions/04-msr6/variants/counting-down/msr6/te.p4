// MSR6 TE: the tree is a list of SIDs, breadth first (End.RL).
//
// The argument of a node's SID says how many children it has and where the first of them is in the
// list. The others follow, at lower and lower indices:   n 8 | pointer 8 | 0 16

#ifndef MSR6_TE_P4
#define MSR6_TE_P4

#include "headers.p4"

control EndRl(inout msr6_headers_t hdr, inout carried_t carried, inout decision_t decision) {
    bit<8> n = hdr.ipv6.dst_addr[31:24];
    bit<8> pointer = hdr.ipv6.dst_addr[23:16];
    bit<8> left;

    apply {
        if (n == 0) {
            decision.drop = drop_reason_t.NO_COPY;
        } else if (pointer >= hdr.routing.segments_left) {
            decision.drop = drop_reason_t.POINTER;
        } else if (pointer + 1 < n) {
            decision.drop = drop_reason_t.TOO_MANY;
        } else {
            // `child` holds how many still wait, and 0 before the first pass.
            left = carried.child;
            if (left == 0) {
                left = n;
            }
            carried.child = left - 1;
            decision.again = carried.child != 0;
            decision.is_copy = true;
            decision.look_up = true;

            hdr.routing.segments_left = pointer + left - n;
            hdr.ipv6.dst_addr = hdr.segments[hdr.routing.segments_left].sid;
            if (hdr.ipv6.dst_addr[31:24] == 0) {
                hdr.routing.segments_left = 0;
            }
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        }
    }
}

#endif
