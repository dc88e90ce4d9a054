// An entry of the list as the next destination.

#ifndef MSR6_TNA_LIST_P4
#define MSR6_TNA_LIST_P4

#include "headers.p4"

// On the chip each entry has its own place among the fields, and an instruction names that place.
// So there is an action for each entry, and a table chooses.
control TakeEntry(inout msr6_headers_t hdr, in bit<8> entry) {
    action take_0() {
        hdr.ipv6.dst_addr = hdr.segments[0].sid;
        hdr.routing.segments_left = 0;
    }

    action take_1() {
        hdr.ipv6.dst_addr = hdr.segments[1].sid;
        hdr.routing.segments_left = 1;
    }

    action take_2() {
        hdr.ipv6.dst_addr = hdr.segments[2].sid;
        hdr.routing.segments_left = 2;
    }

    action take_3() {
        hdr.ipv6.dst_addr = hdr.segments[3].sid;
        hdr.routing.segments_left = 3;
    }

    action take_4() {
        hdr.ipv6.dst_addr = hdr.segments[4].sid;
        hdr.routing.segments_left = 4;
    }

    action take_5() {
        hdr.ipv6.dst_addr = hdr.segments[5].sid;
        hdr.routing.segments_left = 5;
    }

    action take_6() {
        hdr.ipv6.dst_addr = hdr.segments[6].sid;
        hdr.routing.segments_left = 6;
    }

    action take_7() {
        hdr.ipv6.dst_addr = hdr.segments[7].sid;
        hdr.routing.segments_left = 7;
    }

    // Beyond the list: the guards refuse such a packet.
    table list_entry {
        key = { entry: exact @name("entry"); }
        actions = {
            take_0; take_1; take_2; take_3; take_4; take_5; take_6; take_7; NoAction;
        }
        const default_action = NoAction();
        const entries = {
            0: take_0();
            1: take_1();
            2: take_2();
            3: take_3();
            4: take_4();
            5: take_5();
            6: take_6();
            7: take_7();
        }
        size = 8;
    }

    apply {
        list_entry.apply();
    }
}

#endif
