// MSR6 TE: the tree is a list of SIDs, breadth first (End.RL).
//
// The argument of a node's SID says how many children it has and where the first of them is in the
// list. The others follow, at lower and lower indices:   n 8 | pointer 8 | 0 16

#ifndef MSR6_TE_P4
#define MSR6_TE_P4

#include "headers.p4"

control EndRl(inout msr6_headers_t hdr, inout carried_t carried, inout decision_t decision) {
    apply {
        bit<16> n = (bit<16>)(hdr.ipv6.dst_addr >> 24) & 0xFF;
        bit<16> pointer = (bit<16>)(hdr.ipv6.dst_addr >> 16) & 0xFF;
        bit<16> left = (bit<16>)hdr.routing.segments_left;

        if (!(n > 0)) {
            decision.drop = drop_reason_t.NO_COPY;
        } else if (!(left > pointer)) {
            decision.drop = drop_reason_t.POINTER;
        } else if (!(n <= pointer + 1)) {
            decision.drop = drop_reason_t.TOO_MANY;
        }

        if (decision.drop == drop_reason_t.NONE) {
            bit<16> entry = pointer - (bit<16>)carried.child;
            bit<128> sid = hdr.segments[(bit<8>)entry].sid;
            hdr.ipv6.dst_addr = sid;
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit + 255;
            hdr.routing.segments_left = (bit<8>)(sid >> 24) != 0 ? (bit<8>)entry : 0;
            decision.again = (bit<16>)carried.child + 1 != n;
            carried.child = carried.child + 1;
            decision.look_up = true;
            decision.is_copy = true;
        }
    }
}

#endif
