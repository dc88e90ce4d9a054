// Four links to the next router share the flows. When one goes down, the packet generator says so in a
// packet, and that packet takes the link out of its group.

#include <core.p4>
#include <tna.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header flow_t { bit<32> flow; }

struct headers_t { pktgen_port_down_header_t down; ethernet_t ethernet; flow_t flow; }
struct metadata_t { bit<32> place; }

parser In(packet_in packet, out headers_t hdr, out metadata_t md,
          out ingress_intrinsic_metadata_t ig) {
    state start {
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        md.place = 0;
        transition select(ig.ingress_port) {
            68:      port_down;
            default: plain;
        }
    }

    state port_down { packet.extract(hdr.down); transition accept; }

    state plain {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.flow);
        transition accept;
    }
}

control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    ActionProfile(16) ways;
    Hash<bit<51>>(HashAlgorithm_t.CRC32) flow;
    ActionSelector(ways, flow, SelectorMode_t.RESILIENT, 8, 4) links;
    SelectorAction(links) leave = {
        void apply(inout bit<1> takes_part) { takes_part = 0; }
    };

    action to(PortId_t port) { tm.ucast_egress_port = port; }

    table by_flow {
        key = { hdr.ethernet.type: exact @name("type"); hdr.flow.flow: selector; }
        actions = { to; NoAction; }
        const default_action = NoAction();
        implementation = links;
        size = 4;
    }

    action take_out(bit<32> place) { md.place = place; }

    // The place of a port in the group, as the control plane gave it.
    table place_of {
        key = { hdr.down.port_num: exact @name("port"); }
        actions = { take_out; NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    apply {
        if (hdr.down.isValid()) {
            if (place_of.apply().hit) {
                leave.execute(md.place);
            }
            dprsr.drop_ctl = 1;
        } else {
            by_flow.apply();
        }
    }
}

control InDeparser(packet_out packet, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr); }
}

parser Out(packet_in packet, out headers_t hdr, out metadata_t md,
           out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        md.place = 0;
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg,
               in egress_intrinsic_metadata_from_parser_t prsr,
               inout egress_intrinsic_metadata_for_deparser_t dprsr,
               inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply { }
}

control OutDeparser(packet_out packet, inout headers_t hdr, in metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr); }
}

Pipeline(In(), Ingress(), InDeparser(), Out(), Egress(), OutDeparser()) pipe;
Switch(pipe) main;
