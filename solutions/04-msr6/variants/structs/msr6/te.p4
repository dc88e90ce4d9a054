// MSR6 TE: the tree is a list of SIDs, breadth first (End.RL).
//
// The argument of a node's SID says how many children it has and where the first of them is in the
// list. The others follow, at lower and lower indices:   n 8 | pointer 8 | 0 16

#ifndef MSR6_TE_P4
#define MSR6_TE_P4

#include "headers.p4"

// What the argument of a replicating SID says.
struct list_argument_t {
    bit<8> n;
    bit<8> pointer;
}

control EndRl(inout msr6_headers_t hdr, inout carried_t carried, inout decision_t decision) {
    list_argument_t own;
    list_argument_t theirs;

    apply {
        own = { hdr.ipv6.dst_addr[31:24], hdr.ipv6.dst_addr[23:16] };

        if (own.n == 0) {
            decision.drop = drop_reason_t.NO_COPY;
            return;
        }
        if (own.pointer >= hdr.routing.segments_left) {
            decision.drop = drop_reason_t.POINTER;
            return;
        }
        if (own.n > 1 && own.pointer < own.n - 1) {
            decision.drop = drop_reason_t.TOO_MANY;
            return;
        }

        // The entry of this pass is where the packet is now.
        hdr.routing.segments_left = own.pointer - carried.child;
        hdr.ipv6.dst_addr = hdr.segments[hdr.routing.segments_left].sid;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit |-| 1;
        theirs = { hdr.ipv6.dst_addr[31:24], hdr.ipv6.dst_addr[23:16] };
        if (theirs.n == 0) {
            hdr.routing.segments_left = 0;
        }
        carried.child = carried.child + 1;
        decision.again = carried.child != own.n;
        decision.look_up = true;
        decision.is_copy = true;
    }
}

#endif
