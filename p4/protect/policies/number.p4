// The ingress of a connection (PTI): its last sequence number. The first packet gets 1.

#ifndef NUMBER_P4
#define NUMBER_P4

#include "../accept.p4"

control NextNumber(in bit<16> index, out bit<32> sn) {
    register<bit<32>>(CONNECTIONS) pti_last_sn;

    apply {
        @atomic {
            pti_last_sn.read(sn, (bit<32>)index);
            sn = next_sn(sn);
            pti_last_sn.write((bit<32>)index, sn);
        }
    }
}

#endif
