// On the way out: the headers of the line, and Ethernet addresses.

#ifndef BNG_TNA_EGRESS_P4
#define BNG_TNA_EGRESS_P4

#include "headers.p4"
#include "police.p4"

control BngEgress(inout egress_headers_t hdr, inout egress_metadata_t md,
                  in egress_intrinsic_metadata_t eg_intr_md,
                  in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                  inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                  inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    Police() police;
    Judge() judge;
    // 32 bits, or they would not fit: the control plane has to read them before they come around.
    Counter<bit<32>, bit<16>>(SESSIONS, CounterType_t.PACKETS_AND_BYTES) upstream_sent;
    Counter<bit<32>, bit<16>>(SESSIONS, CounterType_t.PACKETS_AND_BYTES) downstream_sent;
    Counter<bit<32>, bit<16>>(SESSIONS, CounterType_t.PACKETS_AND_BYTES) multicast_sent;
    Counter<bit<32>, bit<16>>(SESSIONS, CounterType_t.PACKETS_AND_BYTES) policed;
    Counter<bit<64>, bit<8>>(128, CounterType_t.PACKETS_AND_BYTES) dropped_copies;

    action by_labels(bit<20> label0, bit<20> label1, bit<12> line_vid, bit<16> session_id,
                     bit<48> mac) {
        md.label = label0;
        hdr.label0.setValid();
        hdr.label0.label = label0;
        hdr.label0.s = 0;
        hdr.label0.ttl = LABEL_TTL;
        hdr.label1.setValid();
        hdr.label1.label = label1;
        hdr.label1.s = 1;
        hdr.label1.ttl = LABEL_TTL;
        hdr.inner.setValid();
        hdr.inner.dst_addr = mac;
        hdr.inner.ether_type = ETHERTYPE_VLAN;
        hdr.outer_tag.setValid();
        hdr.outer_tag.vid = line_vid;
        hdr.outer_tag.ether_type = ETHERTYPE_SESSION;
        hdr.pppoe.setValid();
        hdr.pppoe.session_id = session_id;
        hdr.ppp.setValid();
        hdr.ethernet.ether_type = ETHERTYPE_MPLS;
    }

    action by_labels_service(bit<20> label0, bit<20> label1, bit<12> line_vid,
                             bit<12> service_vid, bit<16> session_id, bit<48> mac) {
        md.label = label0;
        hdr.label0.setValid();
        hdr.label0.label = label0;
        hdr.label0.s = 0;
        hdr.label0.ttl = LABEL_TTL;
        hdr.label1.setValid();
        hdr.label1.label = label1;
        hdr.label1.s = 1;
        hdr.label1.ttl = LABEL_TTL;
        hdr.inner.setValid();
        hdr.inner.dst_addr = mac;
        hdr.inner.ether_type = ETHERTYPE_VLAN;
        hdr.outer_tag.setValid();
        hdr.outer_tag.vid = line_vid;
        hdr.outer_tag.ether_type = ETHERTYPE_VLAN;
        hdr.inner_tag.setValid();
        hdr.inner_tag.vid = service_vid;
        hdr.inner_tag.ether_type = ETHERTYPE_SESSION;
        hdr.pppoe.setValid();
        hdr.pppoe.session_id = session_id;
        hdr.ppp.setValid();
        hdr.ethernet.ether_type = ETHERTYPE_MPLS;
    }

    action by_tags(bit<12> outer_vid, bit<12> inner_vid, bit<16> session_id, bit<48> mac) {
        md.by_tags = 1;
        md.subscriber_mac = mac;
        hdr.outer_tag.setValid();
        hdr.outer_tag.vid = outer_vid;
        hdr.outer_tag.ether_type = ETHERTYPE_VLAN;
        hdr.inner_tag.setValid();
        hdr.inner_tag.vid = inner_vid;
        hdr.inner_tag.ether_type = ETHERTYPE_SESSION;
        hdr.pppoe.setValid();
        hdr.pppoe.session_id = session_id;
        hdr.ppp.setValid();
        hdr.ethernet.ether_type = ETHERTYPE_QINQ;
    }

    action no_tunnel() {
        md.has_no_tunnel = 1;
    }

    table tunnels {
        key = { md.session: exact @name("session"); }
        actions = { by_labels; by_labels_service; by_tags; no_tunnel; }
        const default_action = no_tunnel();
        size = SESSIONS;
    }

    action push_session() {
        hdr.label0.tc = hdr.internal.priority;
        hdr.label1.tc = hdr.internal.priority;
        hdr.outer_tag.pcp = hdr.internal.priority;
        hdr.outer_tag.dei = 0;
        hdr.inner_tag.pcp = hdr.internal.priority;
        hdr.inner_tag.dei = 0;
        hdr.pppoe.version = 1;
        hdr.pppoe.type = 1;
        hdr.pppoe.code = 0;
        hdr.pppoe.len = hdr.internal.ppp_bytes;
        hdr.ppp.protocol = hdr.internal.protocol;
    }

    action link(bit<48> src, bit<48> dst) {
        hdr.ethernet.src_addr = src;
        hdr.inner.src_addr = src;
        md.dst_mac = dst;
    }

    action no_link() {
        md.has_no_link = 1;
    }

    table links {
        key = {
            eg_intr_md.egress_port: exact @name("port");
            md.label:               exact @name("label");
        }
        actions = { link; no_link; }
        const default_action = no_link();
        size = 1024;
    }

    action push_core_labels() {
        hdr.label0.setValid();
        hdr.label0.label = hdr.internal.label0;
        hdr.label0.tc = 0;
        hdr.label0.s = 0;
        hdr.label0.ttl = LABEL_TTL;
        hdr.label1.setValid();
        hdr.label1.label = hdr.internal.label1;
        hdr.label1.tc = 0;
        hdr.label1.s = 1;
        hdr.label1.ttl = LABEL_TTL;
        hdr.ethernet.ether_type = ETHERTYPE_MPLS;
    }

    apply {
        md.drop = reason_t.NONE;
        md.by_tags = 0;
        md.has_no_tunnel = 0;
        md.has_no_link = 0;
        md.dst_mac = 0;
        md.subscriber_mac = 0;
        md.colour = 0;
        md.session_colour = 0;
        if (hdr.internal.within != within_t.AS_IS) {
            police.apply(hdr.internal, md);
            if (hdr.internal.within != within_t.TO_CORE) {
                tunnels.apply();
                push_session();
            } else if (hdr.internal.has_labels == 1) {
                push_core_labels();
            }
            links.apply();
            // With QinQ there is one Ethernet header, and its destination is the subscriber.
            if (md.by_tags == 1) {
                hdr.ethernet.dst_addr = md.subscriber_mac;
            } else {
                hdr.ethernet.dst_addr = md.dst_mac;
            }
            // The reason is for `dropped_copies` alone: nothing else waits for it.
            judge.apply(hdr.internal, md);

            if (md.colour == (bit<8>)MeterColor_t.RED
                || md.session_colour == (bit<8>)MeterColor_t.RED) {
                eg_dprsr_md.drop_ctl = 1;
                policed.count(md.session, UNPAID_BYTES);
                dropped_copies.count((bit<8>)md.drop);
            } else if (md.has_no_tunnel == 1 || md.has_no_link == 1) {
                eg_dprsr_md.drop_ctl = 1;
                dropped_copies.count((bit<8>)md.drop);
            } else if (hdr.internal.within == within_t.TO_CORE) {
                upstream_sent.count(md.session, UNPAID_BYTES);
            } else if (hdr.internal.within == within_t.SUBSCRIBER) {
                downstream_sent.count(md.session, UNPAID_BYTES);
            } else {
                multicast_sent.count(md.session, UNPAID_BYTES);
            }
        }
        hdr.internal.setInvalid();
    }
}

#endif
