// MSR6 TE: the tree is a list of SIDs, breadth first (End.RL).
//
// The argument of a node's SID says how many children it has and where the first of them is in the
// list. The others follow, at lower and lower indices:   n 8 | pointer 8 | 0 16

#ifndef MSR6_TE_P4
#define MSR6_TE_P4

#include "headers.p4"

control EndRl(inout msr6_headers_t hdr, inout carried_t carried, inout decision_t decision) {
    bit<8> n = 0;
    bit<8> pointer = 0;
    bit<8> entry;

    apply {
        // BEGIN QUOTE read
        // BEGIN SOLUTION read: how many children (`n`), and where the first one is (`pointer`)
        n = hdr.ipv6.dst_addr[31:24];
        pointer = hdr.ipv6.dst_addr[23:16];
        // END SOLUTION

        // Pointers that only go down cannot lead back, so nobody can write a loop.
        // BEGIN SOLUTION read: three reasons: no child, a loop, children beyond the end
        if (n == 0) {
            decision.drop = drop_reason_t.NO_COPY;
        } else if (pointer >= hdr.routing.segments_left) {
            decision.drop = drop_reason_t.POINTER;
        } else if (n - 1 > pointer) {
            decision.drop = drop_reason_t.TOO_MANY;
        }
        // END SOLUTION
        // END QUOTE

        // BEGIN QUOTE replicate
        if (decision.drop == drop_reason_t.NONE) {
            // BEGIN SOLUTION replicate: whose turn is it (`entry`), and is there another pass?
            entry = pointer - carried.child;
            carried.child = carried.child + 1;
            decision.again = carried.child < n;
            // END SOLUTION

            // BEGIN SOLUTION replicate: make the packet the copy for it, and say how to send it
            hdr.ipv6.dst_addr = hdr.segments[entry].sid;
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            hdr.routing.segments_left = entry;
            // A SID without children is that of a leaf.
            if (hdr.ipv6.dst_addr[31:24] == 0) {
                hdr.routing.segments_left = 0;
            }
            decision.look_up = true;
            decision.is_copy = true;
            // END SOLUTION
        }
        // END QUOTE
    }
}

#endif
