// A broadband network gateway on TNA: the Tofino chip, its model, and the engine of this lab.
//
// Tables, actions, meters and counters are those of v1model.p4 (but for the meters of classes); how
// they follow each other is not. All tables are asked first, two tables with constant entries
// decide, and only what they let pass is changed.

#define TOFINO

#include <core.p4>
#include <tna.p4>

#include "tna/headers.p4"
#include "tna/parser.p4"
#include "tna/lookups.p4"
#include "tna/decide.p4"
#include "tna/egress.p4"

control BngIngress(inout ingress_headers_t hdr, inout ingress_metadata_t md,
                   in ingress_intrinsic_metadata_t ig_intr_md,
                   in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                   inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                   inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    FindInterface() find_interface;
    Measure() measure;
    FindSession() find_session;
    FindOwner() find_owner;
    FindRoute() find_route;
    FindSubscriber() find_subscriber;
    DecideUpstream() decide_upstream;
    DecideDownstream() decide_downstream;
    Meter<bit<16>>(SESSIONS, MeterType_t.PACKETS) control_meter;
    Counter<bit<64>, bit<8>>(128, CounterType_t.PACKETS_AND_BYTES) punted;
    Counter<bit<64>, bit<8>>(128, CounterType_t.PACKETS_AND_BYTES) dropped;

    action punt() {
        hdr.packet.packet_in.setValid();
        hdr.packet.packet_in.ingress_port = ig_intr_md.ingress_port;
        hdr.packet.packet_in.reason = ((bit<8>)md.reason)[6:0];
        hdr.packet.packet_in.line = md.line;
        hdr.packet.packet_in.session = md.billed;
        hdr.internal.within = within_t.AS_IS;
        ig_tm_md.ucast_egress_port = CPU_PORT;
    }

    action ask_control() {
        md.colour = control_meter.execute(md.line);
    }

    action refuse() {
        ig_dprsr_md.drop_ctl = 1;
    }

    // Upstream: everything between Ethernet and the IP packet comes off.
    action terminate() {
        hdr.packet.label0.setInvalid();
        hdr.packet.label1.setInvalid();
        hdr.packet.inner.setInvalid();
        hdr.packet.outer_tag.setInvalid();
        hdr.packet.inner_tag.setInvalid();
        hdr.packet.pppoe.setInvalid();
        hdr.packet.ppp.setInvalid();
        hdr.internal.session = md.session;
        hdr.internal.has_labels = md.has_labels;
        hdr.internal.label0 = md.core_label0;
        hdr.internal.label1 = md.core_label1;
        ig_tm_md.ucast_egress_port = md.egress_port;
    }

    // Downstream: the labels of the core come off, and egress puts on the headers of the line.
    action to_subscriber() {
        hdr.packet.label0.setInvalid();
        hdr.packet.label1.setInvalid();
        hdr.internal.session = md.owner;
        hdr.internal.ppp_bytes = md.ppp_bytes;
        hdr.internal.class = md.class;
        hdr.internal.priority = md.priority;
        ig_tm_md.ucast_egress_port = md.egress_port;
    }

    action to_group() {
        hdr.packet.label0.setInvalid();
        hdr.packet.label1.setInvalid();
        hdr.internal.ppp_bytes = md.ppp_bytes;
        hdr.internal.priority = md.priority;
        ig_tm_md.mcast_grp_a = md.mcast_grp;
    }

    // One hop less makes the checksum 0x0100 more, and one more if that is too much for 16 bits
    // (RFC 1624). So it needs no checksum unit, which could not follow options.
    action older_ipv4() {
        hdr.packet.ipv4.ttl = hdr.packet.ipv4.ttl - 1;
        hdr.packet.ipv4.hdr_checksum = hdr.packet.ipv4.hdr_checksum + 0x0100;
        hdr.packet.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.internal.protocol = PPP_IPV4;
    }

    action older_ipv4_carry() {
        hdr.packet.ipv4.ttl = hdr.packet.ipv4.ttl - 1;
        hdr.packet.ipv4.hdr_checksum = hdr.packet.ipv4.hdr_checksum + 0x0101;
        hdr.packet.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.internal.protocol = PPP_IPV4;
    }

    action older_ipv6() {
        hdr.packet.ipv6.hop_limit = hdr.packet.ipv6.hop_limit - 1;
        hdr.packet.ethernet.ether_type = ETHERTYPE_IPV6;
        hdr.internal.protocol = PPP_IPV6;
    }

    table older {
        key = {
            hdr.packet.ipv4.isValid():    ternary @name("has_ipv4");
            hdr.packet.ipv4.hdr_checksum: ternary @name("checksum");
        }
        actions = { older_ipv4; older_ipv4_carry; older_ipv6; }
        const default_action = older_ipv6();
        const entries = {
            (true, 0xFF00 &&& 0xFF00): older_ipv4_carry();
            (true, 0xFEFF):            older_ipv4_carry();
            (true, _):                 older_ipv4();
        }
        size = 4;
    }

    apply {
        md.side = 0;
        md.mac_difference = 0;
        md.line = 0;
        md.session = 0;
        md.has_session = 0;
        md.owner = 0;
        md.owner_difference = 0;
        md.service = 0;
        md.header_bytes = 0;
        md.missing = 0;
        md.bytes = 0;
        md.ppp_bytes = 0;
        md.short = 0;
        md.excess = 0;
        md.has_route = 0;
        md.is_local = 0;
        md.has_labels = 0;
        md.has_subscriber = 0;
        md.egress_port = NO_PORT;
        md.mcast_grp = 0;
        md.core_label0 = 0;
        md.core_label1 = 0;
        md.class = 0;
        md.priority = 0;
        md.billed = 0;
        md.colour = 0;
        md.reason = reason_t.NONE;
        md.fate = within_t.AS_IS;
        hdr.internal.setValid();
        hdr.internal.within = within_t.AS_IS;
        hdr.internal.session = 0;
        hdr.internal.protocol = 0;
        hdr.internal.ppp_bytes = 0;
        hdr.internal._pad = 0;
        hdr.internal.has_labels = 0;
        hdr.internal.priority = 0;
        hdr.internal.class = 0;
        hdr.internal.label0 = 0;
        hdr.internal.label1 = 0;

        if (hdr.packet.packet_out.isValid()) {
            ig_tm_md.ucast_egress_port = hdr.packet.packet_out.egress_port;
            hdr.packet.packet_out.setInvalid();
        } else {
            find_interface.apply(md);
            measure.apply(hdr.packet, md);
            find_owner.apply(hdr.packet, md);
            if (md.side == 1) {
                find_session.apply(hdr.packet, md);
                find_route.apply(hdr.packet, md);
                md.owner_difference = md.owner ^ md.session;
                md.billed = md.session;
                decide_upstream.apply(hdr.packet, md);
            } else if (md.side == 2) {
                find_subscriber.apply(hdr.packet, md);
                decide_downstream.apply(hdr.packet, md);
                if (md.ipv4_first[7:4] != 14) {
                    md.billed = md.owner;
                }
            }

            if (md.reason == reason_t.NONE) {
                hdr.internal.within = md.fate;
                older.apply();
                if (md.fate == within_t.TO_CORE) {
                    terminate();
                } else if (md.fate == within_t.SUBSCRIBER) {
                    to_subscriber();
                } else {
                    to_group();
                }
            } else if ((bit<8>)md.reason < FIRST_DROPPED) {
                ask_control();
                if (md.colour == (bit<8>)MeterColor_t.RED) {
                    refuse();
                    dropped.count((bit<8>)reason_t.RED_CONTROL);
                } else {
                    punt();
                    punted.count((bit<8>)md.reason);
                }
            } else {
                refuse();
                dropped.count((bit<8>)md.reason);
            }
        }
    }
}

Pipeline(IngressParser(), BngIngress(), IngressDeparser(), EgressParser(), BngEgress(),
         EgressDeparser()) pipe;
Switch(pipe) main;
