// A table of slots on Tofino: HISTORY cells for each connection, and each number has its own for a
// while. One cell is read, compared and written in one step, however long the history is.

#include "../headers.p4"
#include "cell.p4"

#if HISTORY == 4
#define SLOT_BITS 2
#elif HISTORY == 16
#define SLOT_BITS 4
#elif HISTORY == 64
#define SLOT_BITS 6
#elif HISTORY == 256
#define SLOT_BITS 8
#else
#error "on Tofino HISTORY must be 4, 16, 64 or 256"
#endif

const bit<32> SLOTS = 65536;  // of all connections: so there are 65536 / HISTORY of them

control Accept(in bit<16> index, in bit<32> sn, in bit<32> now, out bit<1> accepted) {
    Register<cell_t, bit<16>>(SLOTS, { 0, 0 }) slot;
    RegisterAction<cell_t, bit<16>, bit<1>>(slot) ahead = {
        void apply(inout cell_t newest, out bit<1> ok) {
            ok = 0;
            if ((int<32>)(newest.sn - sn) < 0
                || (int<32>)(now - newest.time) > RESET_TICKS) {
                newest.sn = sn;
                newest.time = now;
                ok = 1;
            }
        }
    };

    apply {
        accepted = ahead.execute(index[15 - SLOT_BITS:0] ++ sn[SN_SHIFT + SLOT_BITS - 1:SN_SHIFT]);
    }
}
