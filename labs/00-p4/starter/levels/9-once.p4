// Puzzle: no copy too many. BIER asks for this at every router.
//
// The two last bits of the destination say who wants a packet: 1 is port 2, 2 is port 3, and 3 is
// both. Clone session 2 leads to port 2, session 3 to port 3. Nobody wants what ends in 0, nor what
// is not IPv4: it is dropped. And no packet may be copied where the original would do.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        bit<2> wanted = hdr.ipv4.dst_addr[1:0];
        // TODO once: who gets the original, and when is there a copy?
    }
}
