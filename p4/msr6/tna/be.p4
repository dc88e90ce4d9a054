// MSR6 BE on TNA: what be.p4 asks and does, one next hop a pass.

#ifndef MSR6_TNA_BE_P4
#define MSR6_TNA_BE_P4

#include "headers.p4"

// The next hop of the lowest bit gets its copy. What remains goes on a mirror's header, and egress
// puts it into the packet that comes back.
control EndRgb(inout msr6_headers_t hdr, inout ingress_metadata_t md) {
    action forward(bit<128> fbm, bit<9> port, bit<128> sid) {
        md.remaining = hdr.segments[0].sid & ~fbm;
        hdr.segments[0].sid = hdr.segments[0].sid & fbm;
        hdr.ipv6.dst_addr = sid;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        md.egress_port = port;
        md.target = target_t.PORT;
    }

    action leaf(bit<128> fbm, bit<9> port, bit<128> sid) {
        md.remaining = hdr.segments[0].sid & ~fbm;
        hdr.segments[0].sid = hdr.segments[0].sid & fbm;
        hdr.ipv6.dst_addr = sid;
        hdr.routing.segments_left = 0;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        md.egress_port = port;
        md.target = target_t.PORT;
    }

    action decapsulate(bit<128> fbm) {
        md.remaining = hdr.segments[0].sid & ~fbm;
        md.target = target_t.LISTENERS;
    }

    action drop() {
        md.remaining = 0;
        md.target = target_t.NOWHERE;
    }

    table bift {
        key = {
            hdr.ipv6.dst_addr[31:24]: exact   @name("set");
            hdr.segments[0].sid:      ternary @name("bit_string");
        }
        actions = { forward; leaf; decapsulate; drop; }
        const default_action = drop();
        size = 1024;
    }

    // An `if` reads at most 4 bytes, a table compares any number of bits with zero.
    action more() {
        md.more = 1;
    }

    action nothing() {
    }

    table anything_left {
        key = { md.remaining: ternary @name("remaining"); }
        actions = { more; nothing; }
        const default_action = more();
        const entries = { 0: nothing(); }
        size = 2;
    }

    // Is this a BitString with receivers?
    action tell(drop_reason_t reason) {
        md.drop = reason;
        md.refused = 1;
        md.told = 1;
    }

    table check_rgb {
        key = {
            md.segments_left:    ternary @name("segments_left");
            hdr.segments[0].sid: ternary @name("bit_string");
        }
        actions = { tell; NoAction; }
        const default_action = NoAction();
        const entries = {
            (0, _): tell(drop_reason_t.SEGMENTS_LEFT);
            (_, 0): tell(drop_reason_t.NO_COPY);
        }
        size = 2;
    }

    apply {
        check_rgb.apply();
        bift.apply();
        anything_left.apply();
    }
}

#endif
