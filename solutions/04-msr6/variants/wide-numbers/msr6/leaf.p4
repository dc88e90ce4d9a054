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
            hdr.ipv6 = hdr.inner;
            hdr.inner.setInvalid();
            hdr.routing.setInvalid();
            hdr.segments.pop_front(SEGMENTS);
            decision.deliver = true;
        }
    }
}

#endif
