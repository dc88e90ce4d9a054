// With a table whose entries are part of the program.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }

    action pass() {
        std.egress_spec = 2;
    }

    table unwanted {
        key = { hdr.ipv4.isValid(): exact; hdr.ipv4.src_addr: ternary; }
        actions = { drop; pass; }
        const default_action = pass();
        const entries = {
            (true, 0x0A000142): drop();
        }
    }

    apply {
        unwanted.apply();
    }
}
