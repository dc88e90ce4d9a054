// Level 8: a copy.
//
// Everything leaves on port 2. Of each IPv4 packet with a TTL below 5 a copy goes to the operator, who
// wants to see what is about to die: clone session 7 knows the operator's port.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        // BEGIN SOLUTION copy: clone(CloneType.I2E, SESSION) makes a copy of the packet as it came in
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl < 5) {
            clone(CloneType.I2E, 7);
        }
        // END SOLUTION
    }
}
