// Sequence numbers: which one comes next, and which copies are new.
//
// The numbers lie on a circle. With SN_BITS bits there are 2^SN_BITS of them; after the last one,
// SN_MASK, comes 0. A `bit<32>` of P4 is such a circle as well: what goes beyond 32 bits is cut
// off. If SN_BITS is less than 32, the bits above must be cut off here: x & SN_MASK keeps the
// lowest SN_BITS.
//
// What the switch remembers between two packets lies in registers. policies/ reads them before it
// asks a rule of this file, and writes them when the rule has decided. The rule may change a
// parameter that is `inout`; what it leaves there is what the switch will remember.

#ifndef ACCEPT_P4
#define ACCEPT_P4

#include "headers.p4"

// The ingress (PTI): the number after `last`.
bit<32> next_sn(in bit<32> last) {
    bit<32> next = last + 1;
    next = next & SN_MASK;
    return next;
}

// How many steps it is from `last` on to `sn`: 0 if they are the same, at most SN_MASK.
bit<32> steps_ahead(in bit<32> last, in bit<32> sn) {
    bit<32> steps = 0;
    if (sn > last) {
        steps = sn - last;
    }
    steps = (sn - last) & SN_MASK;
    return steps;
}

// Whether what was accepted at `time` is forgotten, so that the next copy is new whatever its
// number is. Times are in microseconds; 0 means that nothing was accepted yet.
bool forgotten(in bit<48> time, in bit<48> now, in bit<32> reset_time) {
    bool is_forgotten = time == 0;
    if (reset_time != 0 && now - time > (bit<48>)reset_time) {
        is_forgotten = true;
    }
    return is_forgotten;
}

// The paper's rule. `last` is the highest number that was accepted. A copy is new if its number is
// ahead of `last`, but by no more than WINDOW steps: what seems to be further ahead lies behind.
control HighestRule(in bit<32> sn, inout bit<32> last, out verdict_t verdict) {
    apply {
        verdict = verdict_t.ROGUE;
        if (steps_ahead(sn, last) < WINDOW) {
            verdict = verdict_t.DUPLICATE;
        }
        bit<32> steps = steps_ahead(last, sn);
        if (steps >= 1 && steps <= WINDOW) {
            verdict = verdict_t.ACCEPTED;
            last = sn;
        }
    }
}

// The cell of a number in the registers: all connections have their slots there, one after another.
bit<32> slot_of(in bit<16> index, in bit<32> sn) {
    bit<32> cell = 0;
    cell = (bit<32>)index * HISTORY + (sn & (HISTORY - 1));
    return cell;
}

// The rule that loses nothing: a connection has HISTORY slots, and each number has its slot.
// `newest` is the newest number that was accepted in that slot. Other slots know nothing of it: so
// a packet that only the slower path has delivered is new, although later ones were here before.
control SlotRule(in bit<32> sn, inout bit<32> newest, out verdict_t verdict) {
    apply {
        verdict = verdict_t.ROGUE;  // older than what the slot holds: too late to know it
        if (sn == newest) {
            verdict = verdict_t.DUPLICATE;
        }
        bit<32> steps = steps_ahead(newest, sn);
        if (steps >= 1 && steps <= WINDOW) {
            verdict = verdict_t.ACCEPTED;
            newest = sn;
        }
    }
}

#endif
