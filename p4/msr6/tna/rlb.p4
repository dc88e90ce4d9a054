// MSR6 TE with RLB on TNA: what rlb.p4 asks and does, one adjacency a pass.

#ifndef MSR6_TNA_RLB_P4
#define MSR6_TNA_RLB_P4

#include "headers.p4"
#include "list.p4"

// How many bits of a byte are set, as entries: for four bytes from `at` on, for 16, 64, and all.
// `ones` are set in all of these.
#define ONES_2(act, at, ones) \
    at: act(ones); at + 1: act(ones + 1); at + 2: act(ones + 1); at + 3: act(ones + 2);
#define ONES_4(act, at, ones) \
    ONES_2(act, at, ones) ONES_2(act, at + 4, ones + 1) \
    ONES_2(act, at + 8, ones + 1) ONES_2(act, at + 12, ones + 2)
#define ONES_6(act, at, ones) \
    ONES_4(act, at, ones) ONES_4(act, at + 16, ones + 1) \
    ONES_4(act, at + 32, ones + 1) ONES_4(act, at + 48, ones + 2)
#define ONES_8(act) \
    ONES_6(act, 0, 0) ONES_6(act, 64, 1) ONES_6(act, 128, 1) ONES_6(act, 192, 2)

// The adjacency of the lowest bit gets its copy; what waits for others is a packet without that
// bit.
control EndRlb(inout msr6_headers_t hdr, inout ingress_metadata_t md) {
    TakeEntry() next_sid;

    action transit(bit<16> own, bit<9> port) {
        md.next_high = md.bits & ~own;
        md.next_low = md.rlb_pointer - 1;
        md.takes_entry = 1;
        md.egress_port = port;
        md.target = target_t.PORT;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
    }

    action leaf(bit<16> own, bit<9> port, bit<128> sid) {
        md.next_high = md.bits & ~own;
        md.next_low = md.rlb_pointer;
        md.egress_port = port;
        md.target = target_t.PORT;
        hdr.ipv6.dst_addr = sid;
        hdr.routing.segments_left = 0;
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
    }

    action local(bit<16> own) {
        md.next_high = md.bits & ~own;
        md.next_low = md.rlb_pointer;
        md.target = target_t.LISTENERS;
    }

    action drop() {
        md.next_high = 0;
        md.target = target_t.NOWHERE;
    }

    table adjacencies {
        key = { md.bits: ternary @name("bits"); }
        actions = { transit; leaf; local; drop; }
        const default_action = drop();
        size = 64;
    }

    // How many of the bits need an entry. The chip adds no 16 bits up in one step, but two tables
    // know how many bits of a byte are set.
    action first_count(bit<8> ones) {
        md.rlb_excess = ones - md.rlb_pointer;
    }

    action second_count(bit<8> ones) {
        md.rlb_excess = md.rlb_excess + ones;
    }

    table ones_low {
        key = { md.transits[7:0]: exact @name("transits"); }
        actions = { first_count; }
        const entries = { ONES_8(first_count) }
        size = 256;
    }

    table ones_high {
        key = { md.transits[15:8]: exact @name("transits"); }
        actions = { second_count; }
        const entries = { ONES_8(second_count) }
        size = 256;
    }

    apply {
        ones_low.apply();
        ones_high.apply();
        adjacencies.apply();
        if (md.takes_entry == 1) {
            next_sid.apply(hdr, md.rlb_pointer);
        }
        if (md.next_high != 0) {
            md.more = 1;
        }
    }
}

// May all of the bits be copied?
control CheckRlb(inout ingress_metadata_t md) {
    action tell(drop_reason_t reason) {
        md.drop = reason;
        md.refused = 1;
        md.told = 1;
    }

    action go_on() {
    }

    table check_rlb {
        key = {
            md.bits:       ternary @name("bits");
            md.unknown:    ternary @name("unknown");
            md.transits:   ternary @name("transits");
            md.rlb_below:  ternary @name("below");
            md.rlb_excess: ternary @name("excess");
        }
        actions = { go_on; tell; }
        const default_action = tell(drop_reason_t.NO_ADJACENCY);
        const entries = {
            (0, _, _, _, _): tell(drop_reason_t.NO_COPY);
            (_, 0, 0, _, _): go_on();
            (_, 0, _, 0, _): tell(drop_reason_t.POINTER);
            (_, 0, _, _, 0 &&& 0xFE): go_on();
            (_, 0, _, _, 0x80 &&& 0x80): go_on();  // less than 0: the pointer is below 8
            (_, 0, _, _, _): tell(drop_reason_t.TOO_MANY);
        }
        size = 8;
    }

    apply {
        check_rlb.apply();
    }
}

#endif
