// Dropped first: only an entry brings a packet on.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }

    action to_port(bit<9> port, bit<48> mac) {
        hdr.ethernet.dst_addr = mac;
        std.egress_spec = port;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm @name("dst"); }
        actions = { to_port; drop; }
        const default_action = drop();
    }

    apply {
        drop();
        if (!hdr.ipv4.isValid()) {
            return;
        }
        routes.apply();
    }
}
