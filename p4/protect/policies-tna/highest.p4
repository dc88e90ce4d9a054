// The paper's rule on Tofino, with W = 2^31, in one step: the sign of a difference of 32 bits says
// which of two numbers is ahead. (The paper's equations (4) to (7) and its two register actions are
// not needed.) The cell's other half is the time, for the lazy reset.

#include "../headers.p4"
#include "cell.p4"

control Accept(in bit<16> index, in bit<32> sn, in bit<32> now, out bit<1> accepted) {
    Register<cell_t, bit<16>>(CONNECTIONS, { 0, 0 }) pte_last;
    RegisterAction<cell_t, bit<16>, bit<1>>(pte_last) ahead = {
        void apply(inout cell_t last, out bit<1> ok) {
            ok = 0;
            if ((int<32>)(last.sn - sn) < 0
                || (int<32>)(now - last.time) > RESET_TICKS) {
                last.sn = sn;
                last.time = now;
                ok = 1;
            }
        }
    };

    apply {
        accepted = ahead.execute(index);
    }
}
