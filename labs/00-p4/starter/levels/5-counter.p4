// Level 5: a counter.
//
// Everything leaves on port 2. Count the IPv4 packets that come in, by port: the control plane reads
// cell 7 of the counter to learn how many came in on port 7.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    counter(512, CounterType.packets_and_bytes) arrived;

    apply {
        std.egress_spec = 2;
        // TODO counter: arrived.count(INDEX) counts in a cell; an index has 32 bits, a port 9
    }
}
