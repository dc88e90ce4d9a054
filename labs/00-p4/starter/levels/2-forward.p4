// Level 2: forward.
//
// A cable with a switch in it: what comes in on port 1 leaves on port 2, what comes in on port 2
// leaves on port 1. Packets from all other ports are dropped.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        // TODO forward: std.ingress_port is where it came in, std.egress_spec where it leaves
    }
}
