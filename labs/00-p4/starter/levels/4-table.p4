// Level 4: a table.
//
// Which address is where is not for the program to know. It asks a table, and the control plane
// fills that in: an entry says "for 10.0.1.0/24, do to_port with port 3 and this MAC address".
// The longest prefix that fits counts (lpm). What no entry fits is dropped.

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }

    action to_port(bit<9> port, bit<48> mac) {
        // TODO table: the port and the MAC address are what the entry says
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm @name("dst"); }
        actions = { to_port; drop; }
        const default_action = drop();
    }

    apply {
        // TODO table: ask the table about IPv4 packets, and drop the others
    }
}
