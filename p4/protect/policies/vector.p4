// The vector recovery algorithm of IEEE 802.1CB: the highest number so far, and for each of the
// HISTORY numbers up to it one bit that says whether it was there. Bit 0 is that of the highest.

#include "../accept.p4"

control Accept(in bit<16> index, in bit<32> sn, in bit<48> now, in bit<32> reset_time,
               out verdict_t verdict) {
    register<bit<32>>(CONNECTIONS) pte_last_sn;
    register<bit<48>>(CONNECTIONS) pte_last_time;        // when one was accepted; 0: never
    register<bit<HISTORY>>(CONNECTIONS) pte_history;

    bit<32> last;
    bit<48> time;
    bit<HISTORY> history;
    bit<32> ahead;
    bit<32> behind;

    apply {
        @atomic {
            pte_last_sn.read(last, (bit<32>)index);
            pte_last_time.read(time, (bit<32>)index);
            pte_history.read(history, (bit<32>)index);
            ahead = steps_ahead(last, sn);
            behind = steps_ahead(sn, last);
            verdict = verdict_t.ROGUE;
            if (forgotten(time, now, reset_time)) {
                // Any number begins a new history.
                last = sn;
                history = 1;
                verdict = verdict_t.ACCEPTED;
            } else if (behind < HISTORY) {
                verdict = verdict_t.DUPLICATE;
                if (((history >> (bit<8>)behind) & 1) == 0) {
                    history = history | ((bit<HISTORY>)1 << (bit<8>)behind);
                    verdict = verdict_t.ACCEPTED;
                }
            } else if (ahead < HISTORY) {
                last = sn;
                history = (history << (bit<8>)ahead) | 1;
                verdict = verdict_t.ACCEPTED;
            }
            pte_last_sn.write((bit<32>)index, last);
            pte_history.write((bit<32>)index, history);
            if (verdict == verdict_t.ACCEPTED) {
                pte_last_time.write((bit<32>)index, now);
            }
        }
    }
}
