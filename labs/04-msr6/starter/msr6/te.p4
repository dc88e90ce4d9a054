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
        // TODO read: how many children (`n`), and where the first one is (`pointer`)

        // Pointers that only go down cannot lead back, so nobody can write a loop.
        // TODO read: three reasons: no child, a loop, children beyond the end

        if (decision.drop == drop_reason_t.NONE) {
            // TODO replicate: whose turn is it (`entry`), and is there another pass?

            // TODO replicate: make the packet the copy for it, and say how to send it
        }
    }
}

#endif
