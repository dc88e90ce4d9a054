// MSR6 TE on TNA: what te.p4 asks and does, one child a pass.

#ifndef MSR6_TNA_TE_P4
#define MSR6_TNA_TE_P4

#include "headers.p4"
#include "list.p4"

// The first child gets its copy; what waits for others is a packet with n and pointer one lower.
control EndRl(inout msr6_headers_t hdr, inout ingress_metadata_t md) {
    TakeEntry() child;

    action tell(drop_reason_t reason) {
        md.drop = reason;
        md.refused = 1;
        md.told = 1;
    }

    action last_child() {
    }

    action more_children() {
        md.more = 1;
    }

    table check_rl {
        key = {
            md.n:         ternary @name("n");
            md.rl_below:  ternary @name("below");
            md.rl_excess: ternary @name("excess");
        }
        actions = { last_child; more_children; tell; }
        const default_action = tell(drop_reason_t.TOO_MANY);
        const entries = {
            (0, _, _): tell(drop_reason_t.NO_COPY);
            (_, 0, _): tell(drop_reason_t.POINTER);
            (1, _, _): last_child();
            (_, _, 0 &&& 0xFE): more_children();
        }
        size = 8;
    }

    apply {
        check_rl.apply();
        child.apply(hdr, md.rl_pointer);
        // A SID without children is that of a leaf.
        if (hdr.ipv6.dst_addr[31:24] == 0) {
            hdr.routing.segments_left = 0;
        }
    }
}

#endif
