// The bits choose a row of a table, which says where the original goes and where a copy.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    action nobody() {
        mark_to_drop(std);
    }

    action one(bit<9> port) {
        std.egress_spec = port;
    }

    action both() {
        std.egress_spec = 3;
        clone(CloneType.I2E, 2);
    }

    table who {
        key = { hdr.ipv4.isValid(): exact; hdr.ipv4.dst_addr & 3: exact @name("wanted"); }
        actions = { nobody; one; both; }
        const default_action = nobody();
        const entries = {
            (true, 1): one(2);
            (true, 2): one(3);
            (true, 3): both();
        }
    }

    apply {
        who.apply();
    }
}
