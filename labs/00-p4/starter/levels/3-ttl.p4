// Level 3: TTL and checksum.
//
// A router counts hops: each takes 1 from the TTL of a packet, so that one that runs in circles dies
// out. A packet that comes in with a TTL of 1 or 0 is dropped. As the TTL is part of the IPv4
// checksum, that has to be computed anew, or the next router drops the packet.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.ipv4.isValid()) {
            // TODO ttl: one hop less to go, and nothing leaves without a hop left
        }
    }
}

control LevelChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // TODO ttl: update_checksum(WHEN, {FIELDS}, RESULT, HashAlgorithm.csum16)
    }
}
