// Level 2: forward.
//
// A cable with a switch in it: what comes in on port 1 leaves on port 2, what comes in on port 2
// leaves on port 1. Packets from all other ports are dropped.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        // BEGIN SOLUTION forward: std.ingress_port is where it came in, std.egress_spec where it leaves
        if (std.ingress_port == 1) {
            std.egress_spec = 2;
        } else if (std.ingress_port == 2) {
            std.egress_spec = 1;
        } else {
            mark_to_drop(std);
        }
        // END SOLUTION
    }
}
