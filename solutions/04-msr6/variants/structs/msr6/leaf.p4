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
            hdr.ipv6.version = hdr.inner.version;
            hdr.ipv6.traffic_class = hdr.inner.traffic_class;
            hdr.ipv6.flow_label = hdr.inner.flow_label;
            hdr.ipv6.payload_len = hdr.inner.payload_len;
            hdr.ipv6.next_header = hdr.inner.next_header;
            hdr.ipv6.hop_limit = hdr.inner.hop_limit;
            hdr.ipv6.src_addr = hdr.inner.src_addr;
            hdr.ipv6.dst_addr = hdr.inner.dst_addr;
            hdr.inner.setInvalid();
            hdr.routing.setInvalid();
            hdr.segments.pop_front(SEGMENTS);
            decision.deliver = true;
        }
    }
}

#endif
