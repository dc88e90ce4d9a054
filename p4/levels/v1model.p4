// The switch around the levels: headers, a parser, a deparser. Nothing here is yours to change.
//
// A P4 switch handles a packet in steps. The parser reads headers from its first bytes. The ingress
// control decides where it goes: this is `Level`, in the file of your level. The deparser puts the
// headers in front of the payload again, and the packet leaves.

#include <core.p4>
#include <v1model.p4>

#ifndef LEVEL
#define LEVEL 1
#endif

// ---- Headers: fields in the order in which they travel ---------------------------------------------

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;  // what comes next
}

// IEEE 802.1Q: which virtual network the packet belongs to.
header vlan_t {
    bit<3>  pcp;
    bit<1>  dei;
    bit<12> vid;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  diffserv;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

struct headers_t {
    ethernet_t ethernet;
    vlan_t     vlan;
    ipv4_t     ipv4;
}

struct metadata_t {}

const bit<16> ETHERTYPE_IPV4 = 0x0800;

// ---- Your level ------------------------------------------------------------------------------------

#if LEVEL == 1
#include "1-drop.p4"
#elif LEVEL == 2
#include "2-forward.p4"
#elif LEVEL == 3
#include "3-ttl.p4"
#elif LEVEL == 4
#include "4-table.p4"
#elif LEVEL == 5
#include "5-counter.p4"
#elif LEVEL == 6
#include "6-parser.p4"
#elif LEVEL == 7
#include "7-register.p4"
#elif LEVEL == 8
#include "8-copy.p4"
#elif LEVEL == 9
#include "9-once.p4"
#elif LEVEL == 10
#include "10-detour.p4"
#elif LEVEL == 11
#include "11-one-table.p4"
#elif LEVEL == 12
#include "12-faulty.p4"
#elif LEVEL == 13
#include "13-faulty.p4"
#elif LEVEL == 14
#include "14-two-tables.p4"
#endif

// ---- Around it -------------------------------------------------------------------------------------

#if LEVEL != 6
parser LevelParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: ipv4;
            default:        accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}
#endif

control LevelVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control LevelIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Level() level;

    apply {
        level.apply(hdr, std);
    }
}

control LevelEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {}
}

#if LEVEL != 3 && LEVEL != 12
control LevelChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}
#endif

control LevelDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(LevelParser(), LevelVerify(), LevelIngress(), LevelEgress(), LevelChecksum(), LevelDeparser()) main;
