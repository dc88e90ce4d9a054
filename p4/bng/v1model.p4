// A broadband network gateway on the v1model architecture: bmv2's simple_switch, and the engine of
// this lab.
//
// What is left when upstream and downstream have their files: interfaces and links, the checksum
// units, and how a packet is dropped, replicated or sent to the control plane.

#include <core.p4>
#include <v1model.p4>

#include "headers.p4"
#include "parser.p4"
#include "owners.p4"
#include "upstream.p4"
#include "downstream.p4"
#include "police.p4"
#include "count.p4"

struct metadata_t {
    decision_t decision;
}

// A header checksum covers all fields but itself.
#define IPV4_FIELDS { \
    hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, \
    hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, \
    hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.options }

parser EntryParser(packet_in packet, out bng_headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    BngParser() bng_parser;

    state start {
        bng_parser.apply(packet, hdr, standard_metadata.ingress_port);
        transition accept;
    }
}

control VerifyIpv4(inout bng_headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_FIELDS, hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

// Which side is a packet from?
control FindInterface(in bng_headers_t hdr, inout arrival_t arrival, inout decision_t decision) {
    bit<20> label = 0;

    action access(bit<48> mac) {
        arrival.mac = mac;
        decision.upstream = true;
    }

    action core(bit<48> mac) {
        arrival.mac = mac;
        decision.upstream = false;
    }

    action unknown_interface() {
        decision.reason = reason_t.UNKNOWN_INTERFACE;
    }

    table interfaces {
        key = {
            arrival.port: exact @name("port");
            label:        exact @name("label");
        }
        actions = { access; core; unknown_interface; }
        const default_action = unknown_interface();
        size = 1024;
    }

    apply {
        if (hdr.label0.isValid()) {
            label = hdr.label0.label;
        }
        interfaces.apply();
    }
}

control BngIngress(inout bng_headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    FindInterface() find_interface;
    Owners() owners;
    Upstream() upstream;
    Downstream() downstream;
    Police() police;
    PoliceControl() police_control;
    Count() count;
    arrival_t arrival;

    action punt() {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = arrival.port;
        hdr.packet_in.reason = ((bit<8>)meta.decision.reason)[6:0];
        hdr.packet_in.line = meta.decision.line;
        hdr.packet_in.session = meta.decision.session;
        standard_metadata.egress_spec = CPU_PORT;
        meta.decision.as_it_is = true;
    }

    apply {
        meta.decision.reason = reason_t.NONE;
        meta.decision.upstream = false;
        meta.decision.line = 0;
        meta.decision.session = 0;
        meta.decision.egress_port = NO_PORT;
        meta.decision.mcast_grp = 0;
        meta.decision.class = 0;
        meta.decision.priority = 0;
        meta.decision.ipv4_changed = false;
        meta.decision.as_it_is = false;
        arrival.port = standard_metadata.ingress_port;
        arrival.mac = 0;
        arrival.owner = 0;
        arrival.ipv4_checksum_ok = standard_metadata.checksum_error == 0;

        if (hdr.packet_out.isValid()) {
            standard_metadata.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            meta.decision.as_it_is = true;
        } else {
            find_interface.apply(hdr, arrival, meta.decision);
            owners.apply(hdr, meta.decision.upstream, arrival.owner);
            if (meta.decision.reason == reason_t.NONE) {
                if (meta.decision.upstream) {
                    upstream.apply(hdr, arrival, meta.decision);
                } else {
                    downstream.apply(hdr, arrival, meta.decision);
                }
            }

            if (meta.decision.reason == reason_t.NONE) {
                police.apply(meta.decision);
            } else if ((bit<8>)meta.decision.reason < FIRST_DROPPED) {
                police_control.apply(meta.decision);
            }

            if (meta.decision.reason == reason_t.NONE) {
                standard_metadata.egress_spec = meta.decision.egress_port;
                standard_metadata.mcast_grp = meta.decision.mcast_grp;
            } else if ((bit<8>)meta.decision.reason < FIRST_DROPPED) {
                punt();
            } else {
                mark_to_drop(standard_metadata);
            }
            count.apply(meta.decision);
        }
    }
}

control BngEgress(inout bng_headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    ToSubscriber() to_subscriber;
    CountCopy() count_copy;
    counter(128, CounterType.packets_and_bytes) dropped_copies;

    bit<16> session = meta.decision.session;
    bit<20> label = 0;
    bit<48> src_mac = 0;
    bit<48> dst_mac = 0;
    bool    is_known = true;

    action link(bit<48> src, bit<48> dst) {
        src_mac = src;
        dst_mac = dst;
    }

    action no_link() {
        is_known = false;
    }

    table links {
        key = {
            standard_metadata.egress_port: exact @name("port");
            label:                         exact @name("label");
        }
        actions = { link; no_link; }
        const default_action = no_link();
        size = 1024;
    }

    apply {
        if (!meta.decision.as_it_is) {
            if (meta.decision.mcast_grp != 0) {
                session = standard_metadata.egress_rid;
            }
            if (!meta.decision.upstream) {
                to_subscriber.apply(hdr, session, meta.decision.priority, is_known);
                if (!is_known) {
                    meta.decision.reason = reason_t.NO_SUBSCRIBER;
                }
            }

            if (hdr.label0.isValid()) {
                label = hdr.label0.label;
            }
            if (is_known) {
                links.apply();
                if (!is_known) {
                    meta.decision.reason = reason_t.NO_LINK;
                }
            }
            hdr.ethernet.src_addr = src_mac;
            if (hdr.inner.isValid()) {
                hdr.inner.src_addr = src_mac;
            }
            // With QinQ there is one Ethernet header, and its destination is the subscriber.
            if (hdr.inner.isValid() || !hdr.outer_tag.isValid()) {
                hdr.ethernet.dst_addr = dst_mac;
            }

            if (meta.decision.reason == reason_t.NONE) {
                count_copy.apply(meta.decision, session);
            } else {
                dropped_copies.count((bit<32>)(bit<8>) meta.decision.reason);
                mark_to_drop(standard_metadata);
            }
        }
    }
}

control UpdateIpv4(inout bng_headers_t hdr, inout metadata_t meta) {
    apply {
        // Only where a field was changed: a new checksum would hide damage done on the way.
        update_checksum(hdr.ipv4.isValid() && meta.decision.ipv4_changed, IPV4_FIELDS,
                        hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control EntryDeparser(packet_out packet, in bng_headers_t hdr) {
    BngDeparser() deparser;

    apply {
        deparser.apply(packet, hdr);
    }
}

V1Switch(EntryParser(), VerifyIpv4(), BngIngress(), BngEgress(), UpdateIpv4(),
         EntryDeparser()) main;
