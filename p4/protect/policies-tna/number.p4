// The ingress of a connection (PTI) on Tofino: its last sequence number, in one step.

#ifndef TNA_NUMBER_P4
#define TNA_NUMBER_P4

#include "../headers.p4"
#include "cell.p4"

control NextNumber(in bit<16> index, out bit<32> sn) {
    Register<bit<32>, bit<16>>(CONNECTIONS, 0) pti_last_sn;
    RegisterAction<bit<32>, bit<16>, bit<32>>(pti_last_sn) next = {
        void apply(inout bit<32> last, out bit<32> number) {
            last = last + 1;
            number = last;
        }
    };

    apply {
        sn = next.execute(index);
    }
}

#endif
