// The core library of P4_16: what every architecture relies on (specification, appendix D).

#ifndef _CORE_P4_
#define _CORE_P4_

error {
    NoError,                // nothing went wrong
    PacketTooShort,         // extract or advance beyond the end of the packet
    NoMatch,                // no case of a select fits
    StackOutOfBounds,       // next or last of a header stack that has none
    HeaderTooShort,         // a varbit field cannot hold what is extracted into it
    ParserTimeout,          // the parser took too long
    ParserInvalidArgument   // an operation got a value the target does not support
}

// The packet as a parser sees it: bytes and a cursor.
extern packet_in {
    // Fills a header of fixed size, or the next element of a stack, and moves on.
    void extract<T>(out T hdr);
    // Fills a header with one varbit field, which takes the given number of bits.
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);
    // Reads without moving on.
    T lookahead<T>();
    // Skips bits.
    void advance(in bit<32> sizeInBits);
    // Bytes of the whole packet.
    bit<32> length();
}

// The packet as a deparser builds it.
extern packet_out {
    // Appends the header if it is valid; all valid headers of a stack, union or struct.
    void emit<T>(in T hdr);
}

// Goes on if `check` holds, otherwise to state reject with the error given.
extern void verify(in bool check, in error toSignal);

// Does nothing; the default action of tables that name none.
@noWarn("unused")
action NoAction() {}

match_kind {
    exact,      // the same value
    ternary,    // the same where the mask has ones
    lpm         // the longest prefix wins
}

// Stops the compiler with the message if `check` is false; true otherwise.
extern bool static_assert(bool check, string message);
extern bool static_assert(bool check);

#endif
