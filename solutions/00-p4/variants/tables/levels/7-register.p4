// Two bits are enough: they stay at 3.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    register<bit<2>>(512) used;

    apply {
        bit<2> so_far;
        bit<32> port = (bit<32>)std.ingress_port;
        used.read(so_far, port);
        used.write(port, so_far |+| 1);
        std.egress_spec = 2;
        if (so_far == 3) {
            mark_to_drop(std);
        }
    }
}
