// Accept every copy: what happens without elimination.

#include "../accept.p4"

control Accept(in bit<16> index, in bit<32> sn, in bit<48> now, in bit<32> reset_time,
               out verdict_t verdict) {
    apply {
        verdict = verdict_t.ACCEPTED;
    }
}
