// What puzzle 11 asks for, with two tables. Nothing here is yours to change.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }

    action out_of(bit<9> port) {
        std.egress_spec = port;
    }

    table cable {
        key = { std.ingress_port: exact; }
        actions = { drop; out_of; }
        const default_action = drop();
        const entries = {
            1: out_of(2);
            2: out_of(1);
        }
    }

    table unwanted {
        key = { hdr.ipv4.src_addr: exact; }
        actions = { drop; NoAction; }
        const default_action = NoAction();
        const entries = {
            0x0A000142: drop();  // 10.0.1.66
        }
    }

    apply {
        cable.apply();
        if (hdr.ipv4.isValid()) {
            unwanted.apply();
        }
    }
}
