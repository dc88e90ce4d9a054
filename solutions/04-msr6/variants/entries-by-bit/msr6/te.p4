// MSR6 TE: the tree is a list of SIDs, breadth first (End.RL).
//
// The argument of a node's SID says how many children it has and where the first of them is in the
// list. The others follow, at lower and lower indices:   n 8 | pointer 8 | 0 16

#ifndef MSR6_TE_P4
#define MSR6_TE_P4

#include "headers.p4"

control EndRl(inout msr6_headers_t hdr, inout carried_t carried, inout decision_t decision) {
    bit<8> entry;

    apply {
        entry = hdr.ipv6.dst_addr[23:16] - carried.child;
        if (hdr.ipv6.dst_addr[31:24] == 0) {
            decision.drop = drop_reason_t.NO_COPY;
        } else if (hdr.ipv6.dst_addr[23:16] >= hdr.routing.segments_left) {
            decision.drop = drop_reason_t.POINTER;
        } else if ((bit<9>)hdr.ipv6.dst_addr[31:24] > (bit<9>)hdr.ipv6.dst_addr[23:16] + 1) {
            decision.drop = drop_reason_t.TOO_MANY;
        } else {
            carried.child = carried.child + 1;
            if (carried.child < hdr.ipv6.dst_addr[31:24]) {
                decision.again = true;
            }
            decision.is_copy = true;
            decision.look_up = true;
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            hdr.ipv6.dst_addr = hdr.segments[entry].sid;
            switch (hdr.ipv6.dst_addr[31:24]) {
                0:       { hdr.routing.segments_left = 0; }
                default: { hdr.routing.segments_left = entry; }
            }
        }
    }
}

#endif
