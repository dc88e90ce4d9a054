// Level 6: a branch of the parser.
//
// Packets of a virtual network have a VLAN header between Ethernet and IPv4, and the EtherType 0x8100
// says so. The switch forwards IPv4 packets only, with and without that header: it has to find them.

const bit<16> ETHERTYPE_VLAN = 0x8100;

parser LevelParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: ipv4;
            // TODO parser: another branch; it leads to a state of yours
            default: accept;
        }
    }

    // TODO parser: that state reads hdr.vlan. What comes after it?
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    apply { if (hdr.ipv4.isValid()) { std.egress_spec = 2; } else { mark_to_drop(std); } }
}
