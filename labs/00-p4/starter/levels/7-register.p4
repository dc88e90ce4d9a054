// Level 7: a register.
//
// A register keeps numbers from packet to packet. Each port may send three packets; what it sends
// after that is dropped. The first three leave on port 2.

const bit<8> ALLOWED = 3;

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    register<bit<8>>(512) sent;

    apply {
        std.egress_spec = 2;
        // TODO register: sent.read(VARIABLE, INDEX), sent.write(INDEX, VALUE); cells begin at 0
    }
}
