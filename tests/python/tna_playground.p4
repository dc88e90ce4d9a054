// A TNA program with a bit of everything that the control plane sets up: what a packet asks for stands
// in its first bytes behind Ethernet.

#include <core.p4>
#include <tna.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }

header ask_t {
    bit<8>  what;
    bit<8>  color;
    bit<16> number;   // a group, a session, a port
    bit<32> value;
}

header copied_t { bit<8> mark; bit<8> rid; }
header generated_t { bit<48> head; }
header digested_t { bit<16> number; bit<32> value; }

const bit<8> SEND = 1;
const bit<8> REPLICATE = 2;
const bit<8> MIRROR = 3;
const bit<8> LEARN = 4;
const bit<8> MEASURE = 5;

struct headers_t { copied_t copied; generated_t generated; ethernet_t ethernet; ask_t ask; }
struct port_t { bit<16> known; bit<48> rest; }
struct metadata_t { port_t port; bit<1> special; MirrorId_t session; bit<8> mark; bit<8> zero; }

parser In(packet_in packet, out headers_t hdr, out metadata_t md,
          out ingress_intrinsic_metadata_t ig) {
    value_set<bit<16>>(4) special_types;

    state start {
        packet.extract(ig);
        md.port = port_metadata_unpack<port_t>(packet);
        md.special = 0;
        md.session = 0;
        md.mark = 0;
        md.zero = 0;
        transition select(ig.ingress_port) {
            68:      generated;
            default: plain;
        }
    }

    state generated { packet.extract(hdr.generated); transition plain; }

    state plain {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            special_types: special;
            default:       ask;
        }
    }

    state special { md.special = 1; transition ask; }
    state ask { packet.extract(hdr.ask); transition accept; }
}

control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    Meter<bit<8>>(16, MeterType_t.BYTES) rate;
    Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS_AND_BYTES) asked;
    DirectCounter<bit<64>>(CounterType_t.PACKETS) hits;
    Lpf<bit<32>, bit<8>>(4) mean;
    Register<bit<32>, bit<8>>(256) seen;
    RegisterAction<bit<32>, bit<8>, bit<32>>(seen) count = {
        void apply(inout bit<32> cell, out bit<32> now) { cell = cell + 1; now = cell; }
    };
    ActionProfile(16) ways;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) flow;
    ActionSelector(ways, flow, SelectorMode_t.FAIR, 8, 4) chosen;

    action to(PortId_t port) { tm.ucast_egress_port = port; }
    action counted(PortId_t port) { tm.ucast_egress_port = port; hits.count(); }

    table by_number {
        key = { hdr.ask.number: exact @name("number"); }
        actions = { counted; NoAction; }
        const default_action = NoAction();
        counters = hits;
        size = 64;
    }

    table by_flow {
        key = { hdr.ask.color: exact @name("color"); hdr.ask.value: selector; }
        actions = { to; NoAction; }
        const default_action = NoAction();
        implementation = chosen;
        size = 4;
    }

    apply {
        asked.count(hdr.ask.what);
        hdr.copied.setValid();
        hdr.copied.mark = 0;
        hdr.copied.rid = 0;
        if (hdr.generated.isValid()) {
            tm.ucast_egress_port = 3;
        } else if (hdr.ask.what == SEND) {
            hdr.ask.value[15:0] = md.port.known;
            hdr.ask.color = (bit<8>)md.special;
            tm.ucast_egress_port = (PortId_t)hdr.ask.number;
        } else if (hdr.ask.what == REPLICATE) {
            tm.mcast_grp_a = hdr.ask.number;
            tm.level1_exclusion_id = (bit<16>)hdr.ask.color;
            tm.level2_exclusion_id = (bit<9>)hdr.ask.color;
            tm.level2_mcast_hash = (bit<13>)hdr.ask.value;
            tm.rid = 1;
        } else if (hdr.ask.what == MIRROR) {
            md.session = (MirrorId_t)hdr.ask.number;
            md.mark = 0x77;
            dprsr.mirror_type = 1;
        } else if (hdr.ask.what == LEARN) {
            dprsr.digest_type = 1;
            by_number.apply();
        } else if (hdr.ask.what == MEASURE) {
            hdr.ask.color = rate.execute(0);
            hdr.ask.value = mean.execute(hdr.ask.value, 1);
            tm.ucast_egress_port = (PortId_t)hdr.ask.number;
        } else {
            by_flow.apply();
            hdr.ask.number = (bit<16>)count.execute(0);
        }
    }
}

control InDeparser(packet_out packet, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Mirror() mirror;
    Digest<digested_t>() learned;

    apply {
        if (dprsr.mirror_type == 1) {
            mirror.emit<copied_t>(md.session, { md.mark, md.zero });
        }
        if (dprsr.digest_type == 1) {
            learned.pack({ hdr.ask.number, hdr.ask.value });
        }
        packet.emit(hdr);
    }
}

parser Out(packet_in packet, out headers_t hdr, out metadata_t md,
           out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        packet.extract(hdr.copied);
        transition accept;
    }
}

control Egress(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t eg,
               in egress_intrinsic_metadata_from_parser_t prsr,
               inout egress_intrinsic_metadata_for_deparser_t dprsr,
               inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply { hdr.copied.rid = (bit<8>)eg.egress_rid; }
}

control OutDeparser(packet_out packet, inout headers_t hdr, in metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr.copied); }
}

Pipeline(In(), Ingress(), InDeparser(), Out(), Egress(), OutDeparser()) pipe;
Switch(pipe) main;
