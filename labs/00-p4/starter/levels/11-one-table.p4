// Puzzle: one table less. Each table costs a stage of a chip, and there are twelve.
//
// 14-two-tables.p4 drops what comes from 10.0.1.66, and is a cable between the ports 1 and 2: for
// that it asks two tables. Do the same with one.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }

    action out_of(bit<9> port) {
        std.egress_spec = port;
    }

    // TODO less: one table with several keys. `ternary` allows _ for anything, and the first entry wins
    apply {
        // TODO less: ask that table
    }
}
