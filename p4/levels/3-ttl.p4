// Level 3: TTL and checksum.
//
// A router counts hops: each takes 1 from the TTL of a packet, so that one that runs in circles dies
// out. A packet that comes in with a TTL of 1 or 0 is dropped. As the TTL is part of the IPv4
// checksum, that has to be computed anew, or the next router drops the packet.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (hdr.ipv4.isValid()) {
            // BEGIN SOLUTION ttl: one hop less to go, and nothing leaves without a hop left
            if (hdr.ipv4.ttl <= 1) {
                mark_to_drop(std);
            }
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            // END SOLUTION
        }
    }
}

control LevelChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // BEGIN SOLUTION ttl: update_checksum(WHEN, {FIELDS}, RESULT, HashAlgorithm.csum16)
        update_checksum(hdr.ipv4.isValid(),
                        { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len,
                          hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
                          hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
                        hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
        // END SOLUTION
    }
}
