// Puzzle: a detour. Fast reroute does this before anybody else has noticed.
//
// Everything leaves on port 2. Cell 2 of `down` holds 1 while the link there is down: then packets
// take the detour through port 3. But what came in on port 3 must not go back there while port 2 is down.
// It would come again, and again: drop it.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    register<bit<1>>(512) down;

    apply {
        std.egress_spec = 2;
        bit<1> is_down;
        down.read(is_down, 2);
        // TODO detour: where to, if port 2 is down? And what if it came from there?
    }
}
