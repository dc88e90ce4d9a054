// The detour is a table of three rows.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    register<bit<1>>(512) down;

    action out_of(bit<9> port) {
        std.egress_spec = port;
    }

    action drop() {
        mark_to_drop(std);
    }

    bit<1> is_down;

    table way {
        key = { is_down: exact; std.ingress_port: ternary; }
        actions = { out_of; drop; }
        const default_action = out_of(2);
        const entries = {
            (1, 3): drop();
            (1, _): out_of(3);
        }
    }

    apply {
        down.read(is_down, 2);
        way.apply();
    }
}
