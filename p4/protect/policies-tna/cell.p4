// What the policies of Tofino share: a number with the time when it was accepted, in one cell.

#ifndef TNA_CELL_P4
#define TNA_CELL_P4

// Lazy reset: after so many microseconds without an accepted copy any number is taken. The chip
// compares with constants only, so this holds for all connections.
#ifndef RESET_US
#define RESET_US 1000000
#endif
#if RESET_US < 132
#error "RESET_US must be at least 132: two ticks of the clock"
#endif

// The chip's clock counts nanoseconds. A tick is 2^16 of them, so that 32 bits last for 78 hours.
const int<32> RESET_TICKS = RESET_US * 1000 / 65536;

// The clock begins here, so that a cell of zeros is too old from the first packet on.
const bit<32> FIRST_TICK = (bit<32>)RESET_TICKS + 1;

// A register compares whole cells of 32 bits. A shorter number is put at their upper end: the sign
// of a difference then says the same, and what goes beyond the upper end is cut off.
#if ENCAPSULATION == ENCAPSULATION_RTAG
#if SN_BITS != 16
#error "on Tofino SN_BITS must be 16 with R-TAG"
#endif
#elif SN_BITS != 32
#error "on Tofino SN_BITS must be 32"
#endif
#define SN_SHIFT (32 - SN_BITS)

struct cell_t {
    bit<32> sn;    // in its upper SN_BITS
    bit<32> time;  // in ticks
}

#endif
