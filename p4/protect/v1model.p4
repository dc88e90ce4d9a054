// 1+1 protection on the v1model architecture: bmv2's simple_switch, and the engine of this lab.
//
// What v1model adds to protect.p4: which block runs when, the checksum units, registers, counters,
// and how a packet is dropped or copied.

#include <core.p4>
#include <v1model.p4>

#include "headers.p4"
#include "policies/number.p4"
#if ACCEPT == ACCEPT_NONE
#include "policies/none.p4"
#elif ACCEPT == ACCEPT_MATCH
#include "policies/match.p4"
#elif ACCEPT == ACCEPT_HIGHEST
#include "policies/highest.p4"
#elif ACCEPT == ACCEPT_SLOTS
#include "policies/slots.p4"
#elif ACCEPT == ACCEPT_VECTOR
#include "policies/vector.p4"
#else
#error "ACCEPT must be 0 (none), 1 (match), 2 (highest), 3 (slots) or 4 (vector)"
#endif
#if ENCAPSULATION == ENCAPSULATION_RTAG
#include "rtag.p4"
#else
#include "parser.p4"
#include "protect.p4"
#endif

const bit<32> ETHERNET_BYTES = 14;

struct metadata_t {
    arrival_t  arrival;
    decision_t decision;
}

// A header checksum covers all fields but itself.
#define IPV4_FIELDS { \
    hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, \
    hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, \
    hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.options }

#define TUNNEL_FIELDS { \
    hdr.tunnel.version, hdr.tunnel.ihl, hdr.tunnel.diffserv, hdr.tunnel.total_len, \
    hdr.tunnel.identification, hdr.tunnel.flags, hdr.tunnel.frag_offset, \
    hdr.tunnel.ttl, hdr.tunnel.protocol, hdr.tunnel.src_addr, hdr.tunnel.dst_addr }

parser EntryParser(packet_in packet, out protect_headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    ProtectParser() protect_parser;

    state start {
        protect_parser.apply(packet, hdr, standard_metadata.ingress_port);
        transition accept;
    }
}

// Sets standard_metadata.checksum_error to 1 if the checksum of the packet's own header is wrong.
// It has one bit for all headers, so that of the tunnel is looked at in ingress.
control VerifyIpv4(inout protect_headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_FIELDS, hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

// What becomes of connections: for each of those that begin here, and for each path of those that
// end here. And why packets were given up.
control Count(in decision_t decision) {
    counter(CONNECTIONS, CounterType.packets_and_bytes) protected_packets;
    counter(CONNECTIONS * 2, CounterType.packets_and_bytes) received;
    counter(CONNECTIONS * 2, CounterType.packets_and_bytes) accepted;
    counter(CONNECTIONS * 2, CounterType.packets_and_bytes) discarded;
    counter(CONNECTIONS * 2, CounterType.packets_and_bytes) rogue;
    counter(32, CounterType.packets_and_bytes) dropped;

    bit<32> cell;

    apply {
        if (decision.drop != drop_reason_t.NONE) {
            dropped.count((bit<32>)(bit<8>) decision.drop);
        } else if (decision.protected) {
            protected_packets.count((bit<32>)decision.pti_index);
        }
        if (decision.received) {
            cell = (bit<32>)decision.pte_index * 2 + (bit<32>)decision.path - 1;
            received.count(cell);
            if (decision.verdict == verdict_t.ACCEPTED) {
                accepted.count(cell);
            } else if (decision.verdict == verdict_t.DUPLICATE) {
                discarded.count(cell);
            } else if (decision.verdict == verdict_t.ROGUE) {
                rogue.count(cell);
            }
        }
    }
}

control ProtectIngress(inout protect_headers_t hdr, inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    ProtectRouter() router;
    Count() count;
    bit<16> checksum = 0;
    bit<32> bytes = 0;

    apply {
        meta.arrival.tunnel_checksum_ok = false;
        meta.arrival.ipv4_length_ok = false;
        if (hdr.ipv4.isValid()) {
            meta.arrival.ipv4_length_ok = hdr.ipv4.total_len >= (bit<16>)hdr.ipv4.ihl << 2;
        }
        if (hdr.tunnel.isValid()) {
            hash(checksum, HashAlgorithm.csum16, 16w0, TUNNEL_FIELDS, 32w0x10000);
            meta.arrival.tunnel_checksum_ok = checksum == hdr.tunnel.hdr_checksum;
            bytes = (bit<32>)hdr.tunnel.total_len;
        } else if (hdr.ipv4.isValid()) {
            bytes = (bit<32>)hdr.ipv4.total_len;
        } else if (hdr.ipv6.isValid()) {
            bytes = (bit<32>)hdr.ipv6.payload_len + (bit<32>)IPV6_BYTES;
        }
        meta.arrival.port = standard_metadata.ingress_port;
        meta.arrival.is_whole = ETHERNET_BYTES + bytes <= standard_metadata.packet_length;
        meta.arrival.ipv4_checksum_ok = standard_metadata.checksum_error == 0;
        meta.arrival.now = standard_metadata.ingress_global_timestamp + 1;

        router.apply(hdr, meta.arrival, meta.decision);

        if (meta.decision.drop != drop_reason_t.NONE) {
            mark_to_drop(standard_metadata);
        } else {
            standard_metadata.egress_spec = meta.decision.egress_port;
            standard_metadata.mcast_grp = meta.decision.mcast_grp;
        }
        count.apply(meta.decision);
    }
}

control ProtectEgress(inout protect_headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    ProtectRewrite() rewrite;
    drop_reason_t drop = drop_reason_t.NONE;
    counter(32, CounterType.packets_and_bytes) dropped_copies;
    counter(512, CounterType.packets_and_bytes) sent;  // by port

    apply {
        rewrite.apply(hdr, standard_metadata.egress_port, standard_metadata.egress_rid,
                      meta.decision.pti_index, drop);
        if (drop == drop_reason_t.NONE) {
            sent.count((bit<32>)standard_metadata.egress_port);
        } else {
            meta.decision.drop = drop;
            dropped_copies.count((bit<32>)(bit<8>) drop);
            mark_to_drop(standard_metadata);
        }
    }
}

control UpdateIpv4(inout protect_headers_t hdr, inout metadata_t meta) {
    apply {
        // Only where a field was changed: a new checksum would hide damage done on the way.
        update_checksum(hdr.tunnel.isValid() && meta.decision.tunnel_changed, TUNNEL_FIELDS,
                        hdr.tunnel.hdr_checksum, HashAlgorithm.csum16);
        update_checksum(hdr.ipv4.isValid() && meta.decision.ipv4_changed, IPV4_FIELDS,
                        hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control EntryDeparser(packet_out packet, in protect_headers_t hdr) {
    ProtectDeparser() deparser;

    apply {
        deparser.apply(packet, hdr);
    }
}

V1Switch(EntryParser(), VerifyIpv4(), ProtectIngress(), ProtectEgress(), UpdateIpv4(),
         EntryDeparser()) main;
