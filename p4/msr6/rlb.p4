// MSR6 TE with RLB, replication through a local bit string (End.RLB).
//
// A bit of the argument stands for an adjacency of this router, bit 1 (the lowest) for the first. Only
// those that lead to a further router of the tree need an entry of the list: the first at the pointer,
// the others at lower and lower indices, in the order of the bits.   bits 16 | pointer 8 | 0 8

#ifndef MSR6_RLB_P4
#define MSR6_RLB_P4

#include "headers.p4"
#include "leaf.p4"

// How many bits are set.
bit<8> ones(in bit<16> bits) {
    return (bit<8>)bits[0:0] + (bit<8>)bits[1:1] + (bit<8>)bits[2:2] + (bit<8>)bits[3:3]
        + (bit<8>)bits[4:4] + (bit<8>)bits[5:5] + (bit<8>)bits[6:6] + (bit<8>)bits[7:7]
        + (bit<8>)bits[8:8] + (bit<8>)bits[9:9] + (bit<8>)bits[10:10] + (bit<8>)bits[11:11]
        + (bit<8>)bits[12:12] + (bit<8>)bits[13:13] + (bit<8>)bits[14:14] + (bit<8>)bits[15:15];
}

// `known` are the bits that stand for an adjacency here, `transits` those of them that need an entry.
control EndRlb(inout msr6_headers_t hdr, in bit<16> known, in bit<16> transits,
               inout carried_t carried, inout decision_t decision) {
    Leaf() here;
    bit<16> bits = 0;
    bit<8>  pointer = 0;
    bit<8>  wanted;

    // BEGIN QUOTE adjacencies
    // To a further router: its SID is the next entry of the list.
    action transit(bit<16> own, bit<9> port) {
        // BEGIN SOLUTION bits: this bit is done, its entry is used; the copy, but for its address
        carried.bits = carried.bits & ~own;
        decision.egress_port = port;
        hdr.routing.segments_left = carried.next;
        carried.next = carried.next - 1;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        // END SOLUTION
    }

    // To a host that takes the headers off by itself.
    action leaf(bit<16> own, bit<9> port, bit<128> sid) {
        // BEGIN SOLUTION bits: this bit is done, and no entry is used; the whole copy
        carried.bits = carried.bits & ~own;
        decision.egress_port = port;
        hdr.ipv6.dst_addr = sid;
        hdr.routing.segments_left = 0;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        // END SOLUTION
    }

    // This router has listeners of its own.
    action local(bit<16> own) {
        // BEGIN SOLUTION bits: this bit is done
        carried.bits = carried.bits & ~own;
        // END SOLUTION
    }
    // END QUOTE

    action drop() {
        carried.bits = 0;
        decision.drop = drop_reason_t.NO_WAY;
    }

    // One entry per adjacency: its bit must be set in `bits`, all other bits do not matter. The
    // priorities of the entries make the lowest bit win.
    table adjacencies {
        key = { carried.bits: ternary @name("bits"); }
        actions = { transit; leaf; local; drop; }
        const default_action = drop();
        size = 64;
    }

    apply {
        // BEGIN QUOTE guard
        // BEGIN SOLUTION bits: take `bits` and `pointer` from the argument
        bits = hdr.ipv6.dst_addr[31:16];
        pointer = hdr.ipv6.dst_addr[15:8];
        // END SOLUTION

        // Whoever skips a bit that stands for nothing does not know whether it had an entry: all
        // further copies might go astray.
        // BEGIN SOLUTION bits: four reasons: no bit, an unknown one, and the two of the pointer
        wanted = ones(bits & transits);
        if (bits == 0) {
            decision.drop = drop_reason_t.NO_COPY;
        } else if (bits & ~known != 0) {
            decision.drop = drop_reason_t.NO_ADJACENCY;
        } else if (wanted != 0 && pointer >= hdr.routing.segments_left) {
            decision.drop = drop_reason_t.POINTER;
        } else if (wanted != 0 && wanted - 1 > pointer) {
            decision.drop = drop_reason_t.TOO_MANY;
        }
        // END SOLUTION
        // END QUOTE

        if (decision.drop == drop_reason_t.NONE) {
            if (carried.in_progress == 0) {
                carried.in_progress = 1;
                carried.bits = bits;
                carried.next = pointer;
            }
            decision.is_copy = true;
            // BEGIN QUOTE passes
            switch (adjacencies.apply().action_run) {
                transit: {
                    // BEGIN SOLUTION bits: the address of the copy
                    hdr.ipv6.dst_addr = hdr.segments[hdr.routing.segments_left].sid;
                    // END SOLUTION
                }
                local: {
                    here.apply(hdr, decision);
                }
            }
            // BEGIN SOLUTION bits: is there another pass?
            decision.again = carried.bits != 0;
            // END SOLUTION
            // END QUOTE
        }
    }
}

#endif
