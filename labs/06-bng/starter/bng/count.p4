// What is billed, and what became of the rest: packets and bytes.

#ifndef BNG_COUNT_P4
#define BNG_COUNT_P4

#include "headers.p4"

control Count(in decision_t decision) {
    counter(SESSIONS, CounterType.packets_and_bytes) upstream_sent;
    counter(SESSIONS, CounterType.packets_and_bytes) downstream_sent;
    counter(SESSIONS, CounterType.packets_and_bytes) policed;
    counter(128, CounterType.packets_and_bytes) punted;
    counter(128, CounterType.packets_and_bytes) dropped;

    bit<32> session = (bit<32>)decision.session;
    bit<32> reason = (bit<32>)(bit<8>) decision.reason;

    apply {
        if (decision.reason == reason_t.NONE) {
            // TODO count: who pays for this packet, and for which direction?
        } else if (reason < (bit<32>)FIRST_DROPPED) {
            punted.count(reason);
        } else {
            dropped.count(reason);
            // TODO count: which packets were over a rate of their session?
        }
    }
}

// In egress, where each subscriber of a group has a copy of its own.
control CountCopy(in decision_t decision, in bit<16> session) {
    counter(SESSIONS, CounterType.packets_and_bytes) multicast_sent;

    apply {
        // TODO count: copies of multicast
    }
}

#endif
