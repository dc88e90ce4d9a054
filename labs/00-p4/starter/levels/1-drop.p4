// Level 1: drop.
//
// Everything leaves on port 2. What comes from 10.0.1.66 must not leave at all.

const bit<32> UNWANTED = 0x0A000142;  // 10.0.1.66

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        // TODO drop: mark_to_drop(std) drops a packet. Does every packet have an IPv4 header?
    }
}
