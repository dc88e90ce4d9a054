// With a range in a table of the program.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    action copy() {
        clone(CloneType.I2E, 7);
    }

    table dying {
        key = { hdr.ipv4.isValid(): exact; hdr.ipv4.ttl: range; }
        actions = { copy; NoAction; }
        const default_action = NoAction();
        const entries = {
            (true, 0 .. 4): copy();
        }
    }

    apply {
        dying.apply();
        std.egress_spec = 2;
    }
}
