// Somebody's answer to level 7. A few cells of memory are saved, and a few packets are lost.
// Find packets that show it, and write them into 13-packets.toml.

const bit<8> ALLOWED = 3;

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    register<bit<8>>(8) sent;

    apply {
        std.egress_spec = 2;
        bit<8> before;
        bit<32> cell = (bit<32>)std.ingress_port[2:0];
        sent.read(before, cell);
        if (before < ALLOWED) {
            sent.write(cell, before + 1);
        } else {
            mark_to_drop(std);
        }
    }
}
