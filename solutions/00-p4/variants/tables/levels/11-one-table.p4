// One table is allowed, and none is needed.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        bool is_unwanted = hdr.ipv4.isValid() && hdr.ipv4.src_addr == 0x0A000142;
        if (is_unwanted || (std.ingress_port != 1 && std.ingress_port != 2)) {
            mark_to_drop(std);
        } else {
            std.egress_spec = 3 - std.ingress_port;
        }
    }
}
