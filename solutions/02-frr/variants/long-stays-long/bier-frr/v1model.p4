// BIER with fast reroute on the v1model architecture: bmv2's simple_switch, and the engine of this lab.
//
// As ../bier/v1model.p4, with a register that knows which ports are down. It is written by messages to
// the switch (port_status_t) and read once for every packet, for the port that the tables chose. Ports
// can also be watched by heartbeats (heartbeat.p4).

#include <core.p4>
#include <v1model.p4>

#include "frr.p4"
#include "heartbeat.p4"

const bit<32> RECIRC_SESSION = 1;   // clone session: the control plane points it to RECIRC_PORT
const bit<8>  BIER_METADATA  = 1;   // field list: what a clone and a recirculated packet keep

const bit<32> RECIRCULATED = 4;     // instance_type of a packet that has been here before

struct metadata_t {
    @field_list(BIER_METADATA)
    carried_t  carried;
    @field_list(BIER_METADATA)
    bit<48>    now;           // microseconds. bmv2 gives recirculated packets no time of arrival.
    arrival_t  arrival;
    decision_t decision;
}

// The header checksum covers all fields but itself.
#define IPV4_FIELDS { \
    hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, \
    hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, \
    hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.options }

#define TUNNEL_FIELDS { \
    hdr.tunnel.version, hdr.tunnel.ihl, hdr.tunnel.diffserv, hdr.tunnel.total_len, \
    hdr.tunnel.identification, hdr.tunnel.flags, hdr.tunnel.frag_offset, \
    hdr.tunnel.ttl, hdr.tunnel.protocol, hdr.tunnel.src_addr, hdr.tunnel.dst_addr }

parser EntryParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    FrrParser() frr_parser;

    state start {
        frr_parser.apply(packet, hdr, standard_metadata.ingress_port);
        transition accept;
    }
}

// Sets standard_metadata.checksum_error to 1 if the checksum is wrong.
control VerifyIpv4(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_FIELDS, hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control FrrIngress(inout headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    FrrRouter() router;
    Repair() repair;
    Heartbeats() heartbeats;
    register<bit<1>>(512) port_down;
    bit<1> down = 0;

    apply {
        if (standard_metadata.instance_type != RECIRCULATED) {
            meta.carried.remaining = 0;
            meta.carried.in_progress = 0;
            meta.carried.set = 0;
            meta.carried.source_port = 0;
            meta.now = standard_metadata.ingress_global_timestamp;
        }

        meta.arrival.port = standard_metadata.ingress_port;
        meta.arrival.checksum_ok = standard_metadata.checksum_error == 0;
        meta.arrival.entropy = 0;
        if (hdr.ipv4.isValid() && !hdr.bier.isValid()) {
            hash(meta.arrival.entropy, HashAlgorithm.crc32, 20w0,
                 { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol }, 32w0x100000);
        }

        router.apply(hdr, meta.carried, meta.arrival, meta.decision);

        if (hdr.port_status.isValid()) {
            port_down.write((bit<32>)hdr.port_status.port, hdr.port_status.down);
        } else {
            port_down.read(down, (bit<32>)meta.decision.egress_port);
        }

        // Where ports are watched by heartbeats, a silent neighbour is a port that is down.
        heartbeats.apply(hdr, meta.arrival.port, meta.now, meta.decision, down);

        // A packet for a multicast group has no single port, and its hosts no other way.
        if (down == 1 && meta.decision.drop == drop_reason_t.NONE && meta.decision.mcast_grp == 0) {
            repair.apply(hdr, meta.carried, meta.decision);
        }

        if (meta.decision.drop != drop_reason_t.NONE) {
            mark_to_drop(standard_metadata);
        } else {
            standard_metadata.egress_spec = meta.decision.egress_port;
            standard_metadata.mcast_grp = meta.decision.mcast_grp;
        }

        // The clone is the packet as it came in, with the carried values as they are now. It leaves
        // even if the packet itself is dropped.
        if (meta.decision.again) {
            clone_preserving_field_list(CloneType.I2E, RECIRC_SESSION, BIER_METADATA);
        }
    }
}

control FrrEgress(inout headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    BierRewrite() rewrite;
    drop_reason_t drop = drop_reason_t.NONE;
    // What was sent, by port. Of RECIRC_PORT: how often packets had to come back.
    counter(512, CounterType.packets_and_bytes) sent;

    apply {
        if (standard_metadata.egress_port == RECIRC_PORT) {
            // The port has a queue but no cable. v1model recirculates from here, behind the queue.
            meta.now = standard_metadata.egress_global_timestamp;
            recirculate_preserving_field_list(BIER_METADATA);
        } else {
            rewrite.apply(hdr, standard_metadata.egress_port, meta.carried.source_port, drop);
            meta.decision.drop = drop;
            if (drop != drop_reason_t.NONE) {
                mark_to_drop(standard_metadata);
            }
        }
        if (drop == drop_reason_t.NONE) {
            sent.count((bit<32>)standard_metadata.egress_port);
        }
    }
}

control UpdateIpv4(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // Not for packets in transit: a new checksum would hide damage done on the way.
        update_checksum(hdr.ipv4.isValid() && meta.decision.ipv4_changed, IPV4_FIELDS,
                        hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
        update_checksum(hdr.tunnel.isValid(), TUNNEL_FIELDS, hdr.tunnel.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control EntryDeparser(packet_out packet, in headers_t hdr) {
    PacketDeparser() deparser;

    apply {
        deparser.apply(packet, hdr);
    }
}

V1Switch(EntryParser(), VerifyIpv4(), FrrIngress(), FrrEgress(), UpdateIpv4(), EntryDeparser()) main;
