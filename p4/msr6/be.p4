// MSR6 BE: a global bit string behind one SID (End.RGB), with the rules of BIER (RFC 8279, 6.5).
//
// The list has one entry, a BitString: a bit for each receiving router or host, bit 1 the lowest. The
// argument says which set of 128 receivers that is.   SI 8 | 0 24

#ifndef MSR6_BE_P4
#define MSR6_BE_P4

#include "headers.p4"
#include "leaf.p4"

control EndRgb(inout msr6_headers_t hdr, inout carried_t carried, inout decision_t decision) {
    Leaf() here;

    // The F-BM (forwarding bit mask) holds all receivers behind the same next hop. The copy keeps
    // only these, and the packet loses them.
    action forward(bit<128> fbm, bit<9> port, bit<128> sid) {
        hdr.segments[0].sid = carried.bit_string & fbm;
        carried.bit_string = carried.bit_string & ~fbm;
        hdr.ipv6.dst_addr = sid;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        decision.egress_port = port;
    }

    // A host that takes the headers off by itself.
    action leaf(bit<128> fbm, bit<9> port, bit<128> sid) {
        hdr.segments[0].sid = carried.bit_string & fbm;
        carried.bit_string = carried.bit_string & ~fbm;
        hdr.ipv6.dst_addr = sid;
        hdr.routing.segments_left = 0;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        decision.egress_port = port;
    }

    // The bit is our own: F-BM holds only this bit.
    action decapsulate(bit<128> fbm) {
        carried.bit_string = carried.bit_string & ~fbm;
    }

    action drop() {
        carried.bit_string = 0;
        decision.drop = drop_reason_t.NO_BIFT_ENTRY;
    }

    // One entry per receiver, the lowest bit first, as in lab 01.
    table bift {
        key = {
            hdr.ipv6.dst_addr[31:24]: exact   @name("set");
            carried.bit_string:       ternary @name("bit_string");
        }
        actions = { forward; leaf; decapsulate; drop; }
        const default_action = drop();
        size = 4096;
    }

    apply {
        if (hdr.routing.segments_left == 0) {
            decision.drop = drop_reason_t.SEGMENTS_LEFT;
        } else if (hdr.segments[0].sid == 0) {
            decision.drop = drop_reason_t.NO_COPY;
        } else {
            if (carried.in_progress == 0) {
                carried.in_progress = 1;
                carried.bit_string = hdr.segments[0].sid;
            }
            decision.is_copy = true;
            switch (bift.apply().action_run) {
                decapsulate: {
                    here.apply(hdr, decision);
                }
            }
            decision.again = carried.bit_string != 0;
        }
    }
}

#endif
