// The match algorithm of IEEE 802.1CB: a copy is a duplicate if its number is that of the last one.
// Good for packets far apart, whose copies all arrive before the next packet is sent.

#include "../accept.p4"

control Accept(in bit<16> index, in bit<32> sn, in bit<48> now, in bit<32> reset_time,
               out verdict_t verdict) {
    register<bit<32>>(CONNECTIONS) pte_last_sn;
    register<bit<48>>(CONNECTIONS) pte_last_time;  // when that was accepted; 0: never

    bit<32> last;
    bit<48> time;

    apply {
        @atomic {
            pte_last_sn.read(last, (bit<32>)index);
            pte_last_time.read(time, (bit<32>)index);
            verdict = verdict_t.ACCEPTED;
            if (sn == last && !forgotten(time, now, reset_time)) {
                verdict = verdict_t.DUPLICATE;
            } else {
                pte_last_sn.write((bit<32>)index, sn);
                pte_last_time.write((bit<32>)index, now);
            }
        }
    }
}
