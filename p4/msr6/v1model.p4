// MSR6 on the v1model architecture: bmv2's simple_switch, and the engine of this lab.
//
// What v1model adds to msr6.p4: which block runs when, and how a packet is dropped, copied or sent
// around once more.

#include <core.p4>
#include <v1model.p4>

#include "headers.p4"
#include "parser.p4"
#include "msr6.p4"

const bit<32> RECIRC_SESSION = 1;   // clone session: the control plane points it to RECIRC_PORT
const bit<8>  MSR6_METADATA  = 1;   // field list: what a clone and a recirculated packet keep

const bit<32> INGRESS_CLONE = 1;    // instance_type of a packet that still has copies to make,
const bit<32> RECIRCULATED  = 4;    // and of one that has been here before

struct metadata_t {
    @field_list(MSR6_METADATA)
    carried_t  carried;
    arrival_t  arrival;
    decision_t decision;
}

parser EntryParser(packet_in packet, out msr6_headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    Msr6Parser() msr6_parser;

    state start {
        msr6_parser.apply(packet, hdr, standard_metadata.ingress_port);
        transition accept;
    }
}

// IPv6 has no checksum of its own.
control NoVerification(inout msr6_headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Msr6Ingress(inout msr6_headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    Msr6Router() router;
    counter(64, CounterType.packets_and_bytes) dropped;  // by reason

    apply {
        if (standard_metadata.instance_type != RECIRCULATED) {
            meta.carried.child = 0;
            meta.carried.in_progress = 0;
            meta.carried.bits = 0;
            meta.carried.next = 0;
            meta.carried.bit_string = 0;
            meta.carried.part = 0;
            meta.carried.source_port = 0;
        }

        meta.arrival.port = standard_metadata.ingress_port;
        meta.arrival.came_back = standard_metadata.instance_type == RECIRCULATED;
        meta.arrival.is_whole = standard_metadata.parser_error == error.NoError;

        router.apply(hdr, meta.carried, meta.arrival, meta.decision);

        if (meta.decision.drop != drop_reason_t.NONE) {
            dropped.count((bit<32>)(bit<8>) meta.decision.drop);
        }
        if (meta.decision.drop != drop_reason_t.NONE && !hdr.packet_in.isValid()) {
            mark_to_drop(standard_metadata);
        } else {
            standard_metadata.egress_spec = meta.decision.egress_port;
            standard_metadata.mcast_grp = meta.decision.mcast_grp;
        }

        // The clone is the packet as it came in, with the carried values as they are now. It leaves
        // even if the packet itself is dropped.
        if (meta.decision.again) {
            clone_preserving_field_list(CloneType.I2E, RECIRC_SESSION, MSR6_METADATA);
        }
    }
}

control Msr6Egress(inout msr6_headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    Msr6Rewrite() rewrite;
    drop_reason_t drop = drop_reason_t.NONE;
    counter(64, CounterType.packets_and_bytes) dropped_copies;  // by reason
    // What was sent, by port. Of RECIRC_PORT: how often packets had to come back.
    counter(512, CounterType.packets_and_bytes) sent;

    apply {
        if (standard_metadata.egress_port == RECIRC_PORT) {
            if (standard_metadata.instance_type != INGRESS_CLONE) {
                // A copy for this router itself begins anew.
                meta.carried.child = 0;
            }
            // The port has a queue but no cable. v1model recirculates from here, behind the queue.
            recirculate_preserving_field_list(MSR6_METADATA);
        } else {
            rewrite.apply(hdr, standard_metadata.egress_port, meta.carried.source_port, drop);
            if (drop != drop_reason_t.NONE) {
                meta.decision.drop = drop;
                dropped_copies.count((bit<32>)(bit<8>) drop);
                mark_to_drop(standard_metadata);
            }
        }
        if (drop == drop_reason_t.NONE) {
            sent.count((bit<32>)standard_metadata.egress_port);
        }
    }
}

control NoUpdate(inout msr6_headers_t hdr, inout metadata_t meta) {
    apply {}
}

control EntryDeparser(packet_out packet, in msr6_headers_t hdr) {
    Msr6Deparser() deparser;

    apply {
        deparser.apply(packet, hdr);
    }
}

V1Switch(EntryParser(), NoVerification(), Msr6Ingress(), Msr6Egress(), NoUpdate(),
         EntryDeparser()) main;
