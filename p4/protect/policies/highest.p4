// The paper's rule: the highest number so far, and a window ahead of it.

#include "../accept.p4"

control Accept(in bit<16> index, in bit<32> sn, in bit<48> now, in bit<32> reset_time,
               out verdict_t verdict) {
    register<bit<32>>(CONNECTIONS) pte_last_sn;
    register<bit<48>>(CONNECTIONS) pte_last_time;  // when that was accepted; 0: never

    HighestRule() rule;
    bit<32> last;
    bit<48> time;

    apply {
        @atomic {
            pte_last_sn.read(last, (bit<32>)index);
            pte_last_time.read(time, (bit<32>)index);
            if (forgotten(time, now, reset_time)) {
                // The first one, or the first one after a long silence.
                last = sn;
                verdict = verdict_t.ACCEPTED;
            } else {
                rule.apply(sn, last, verdict);
            }
            pte_last_sn.write((bit<32>)index, last);
            if (verdict == verdict_t.ACCEPTED) {
                pte_last_time.write((bit<32>)index, now);
            }
        }
    }
}
