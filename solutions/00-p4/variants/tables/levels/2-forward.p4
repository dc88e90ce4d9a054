// With a table whose entries are part of the program.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }

    action out_of(bit<9> port) {
        std.egress_spec = port;
    }

    table cable {
        key = { std.ingress_port: exact; }
        actions = { out_of; drop; }
        const default_action = drop();
        const entries = {
            1: out_of(2);
            2: out_of(1);
        }
    }

    apply {
        cable.apply();
    }
}
