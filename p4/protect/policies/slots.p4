// A table of slots: HISTORY registers for each connection, and each number has its own for a while.
// One register is read and written for each copy, however long the history is.

#include "../accept.p4"

control Accept(in bit<16> index, in bit<32> sn, in bit<48> now, in bit<32> reset_time,
               out verdict_t verdict) {
    register<bit<32>>(CONNECTIONS * HISTORY) slot_sn;
    register<bit<48>>(CONNECTIONS * HISTORY) slot_time;  // when that was accepted; 0: never

    SlotRule() rule;
    bit<32> cell;
    bit<32> newest;
    bit<48> time;

    apply {
        cell = slot_of(index, sn);
        @atomic {
            slot_sn.read(newest, cell);
            slot_time.read(time, cell);
            if (forgotten(time, now, reset_time)) {
                // Nobody was in this slot, or so long ago that the numbers may have begun anew.
                newest = sn;
                verdict = verdict_t.ACCEPTED;
            } else {
                rule.apply(sn, newest, verdict);
            }
            slot_sn.write(cell, newest);
            if (verdict == verdict_t.ACCEPTED) {
                slot_time.write(cell, now);
            }
        }
    }
}
