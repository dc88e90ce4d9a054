// The paper's rule on Tofino with a window smaller than half of the circle. It needs both
// comparisons that the chip has for a cell, so there is no lazy reset.

#include "../headers.p4"
#include "cell.p4"

control Accept(in bit<16> index, in bit<32> sn, in bit<32> now, out bit<1> accepted) {
    Register<bit<32>, bit<16>>(CONNECTIONS, 0) pte_last_sn;
    RegisterAction<bit<32>, bit<16>, bit<1>>(pte_last_sn) within = {
        void apply(inout bit<32> last, out bit<1> ok) {
            ok = 0;
            if ((int<32>)(sn - last) > 0 && (int<32>)(sn - last) <= (WINDOW << SN_SHIFT)) {
                last = sn;
                ok = 1;
            }
        }
    };

    apply {
        accepted = within.execute(index);
    }
}
