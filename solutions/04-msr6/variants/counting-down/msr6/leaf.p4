// The leaf of a tree: the packet inside comes out.

#ifndef MSR6_LEAF_P4
#define MSR6_LEAF_P4

#include "headers.p4"

// Takes off what the ingress put in front. What comes out is for listeners of this router.
control Leaf(inout msr6_headers_t hdr, inout decision_t decision) {
    apply {
        if (!hdr.inner.isValid()) {
            decision.drop = drop_reason_t.UPPER_LAYER;
        } else {
            hdr.routing.setInvalid();
            hdr.segments[15].setInvalid();
            hdr.segments[14].setInvalid();
            hdr.segments[13].setInvalid();
            hdr.segments[12].setInvalid();
            hdr.segments[11].setInvalid();
            hdr.segments[10].setInvalid();
            hdr.segments[9].setInvalid();
            hdr.segments[8].setInvalid();
            hdr.segments[7].setInvalid();
            hdr.segments[6].setInvalid();
            hdr.segments[5].setInvalid();
            hdr.segments[4].setInvalid();
            hdr.segments[3].setInvalid();
            hdr.segments[2].setInvalid();
            hdr.segments[1].setInvalid();
            hdr.segments[0].setInvalid();
            hdr.ipv6 = hdr.inner;
            hdr.inner.setInvalid();
            decision.deliver = true;
        }
    }
}

#endif
