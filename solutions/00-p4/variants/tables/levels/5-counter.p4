// Counted in an action of a table.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    counter(512, CounterType.packets_and_bytes) arrived;

    action count() {
        bit<32> cell = 23w0 ++ std.ingress_port;
        arrived.count(cell);
    }

    table kinds {
        key = { hdr.ipv4.isValid(): exact; }
        actions = { count; NoAction; }
        const default_action = NoAction();
        const entries = {
            true: count();
        }
    }

    apply {
        std.egress_spec = 2;
        kinds.apply();
    }
}
