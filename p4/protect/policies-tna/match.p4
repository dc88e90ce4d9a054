// The match algorithm of IEEE 802.1CB on Tofino: a copy is a duplicate if its number is that of the
// last one. Both halves of the cell are compared at the same time.

#include "../headers.p4"
#include "cell.p4"

control Accept(in bit<16> index, in bit<32> sn, in bit<32> now, out bit<1> accepted) {
    Register<cell_t, bit<16>>(CONNECTIONS, { 0, 0 }) pte_last;
    RegisterAction<cell_t, bit<16>, bit<1>>(pte_last) differs = {
        void apply(inout cell_t last, out bit<1> ok) {
            ok = 0;
            if (last.sn != sn || (int<32>)(now - last.time) > RESET_TICKS) {
                last.sn = sn;
                last.time = now;
                ok = 1;
            }
        }
    };

    apply {
        accepted = differs.execute(index);
    }
}
