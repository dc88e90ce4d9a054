// Both headers are found by looking ahead.

parser LevelParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition next;
    }

    state next {
        transition select(hdr.ethernet.ether_type) {
            0x8100:         tag;
            ETHERTYPE_IPV4: ipv4;
            default:        accept;
        }
    }

    state tag {
        bit<32> ahead = packet.lookahead<bit<32>>();
        packet.extract(hdr.vlan);
        transition select(ahead[15:0] == ETHERTYPE_IPV4) {
            true:  ipv4;
            false: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Level(inout headers_t hdr, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        if (!hdr.ipv4.isValid()) {
            mark_to_drop(std);
        }
    }
}
