// A congestion point at the inputs of a leaf switch, on TNA: the part of the server-rack fabric
// (docs/fabric.md) that a chip programmed in P4 can do.
//
// A frame of a server gets a slot of its port's pool, and keeps it until the leaf at the far end has
// acknowledged it. Every sixteenth frame takes a sample: who has a frame in the buffer? That flow's
// server gets a congestion notification message (IEEE 802.1Qau).
//
// A packet may touch a register once. A frame that takes a slot cannot look into another one, so a
// sample is a packet of its own: a mirror that comes back through a recirculation port.

#define TOFINO

#include <core.p4>
#include <tna.p4>

#define STANDARD 0
#define OCCUPANCY 1

// Whom a sample blames: the flow of the frame that has just come, or that of a random occupied slot.
#ifndef SAMPLING
#define SAMPLING OCCUPANCY
#endif

// Of so many frames of a port one takes a sample: a power of two.
#ifndef EVERY
#define EVERY 16
#endif

const bit<16> ETHERTYPE_CN_TAG = 0x22E9;  // IEEE 802.1Qau
const bit<16> ETHERTYPE_CNM    = 0x22E7;
const bit<16> ETHERTYPE_FABRIC = 0x88B5;  // for experiments (IEEE 802)
const MirrorId_t SAMPLES = 1;             // the session that leads to a recirculation port

// ---- Headers ---------------------------------------------------------------------------------------

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

enum bit<8> kind_t {
    DATA            = 1,
    ACKNOWLEDGEMENT = 2
}

// Between leaves, behind Ethernet: which slot of the sender's leaf the frame keeps.
header fabric_t {
    kind_t  kind;
    bit<4>  _zero;
    bit<4>  pool;
    bit<8>  slot;
    bit<16> ether_type;  // the frame's own
}

// 802.1Qau: which of its flows a server has sent this frame of.
header cn_tag_t {
    bit<16> flow;
    bit<16> ether_type;
}

// 802.1Qau: the congestion notification message, without a part of the frame.
header cnm_t {
    bit<4>  version;
    bit<6>  _zero;
    bit<6>  feedback;
    bit<64> congestion_point;
    bit<16> offset;
    bit<16> delta;
    bit<16> priority;
    bit<48> dst_addr;
    bit<16> length;
}

enum bit<8> within_t {
    SAMPLE    = 1,
    DELIVERED = 2
}

// In front of a mirror, within the switch.
header internal_t {
    within_t within;
    bit<4>   _zero;
    bit<4>   pool;
}

struct headers_t {
    internal_t internal;
    ethernet_t ethernet;
    fabric_t   fabric;
    cn_tag_t   cn_tag;
    cnm_t      cnm;
}

// What a packet does to the buffer.
enum bit<8> role_t {
    NONE    = 0,
    TAKE    = 1,  // a frame of a server takes a slot
    RELEASE = 2,  // an acknowledgement frees it
    LOOK    = 3   // a sample looks into one
}

struct ingress_metadata_t {
    bit<4>     zero;
    bit<4>     pool;
    bit<8>     slot;
    bit<12>    place;     // of the slot, among those of all pools
    role_t     role;
    bit<1>     counted;   // the port has a pool
    bit<1>     across;    // the destination is at another leaf
    bit<1>     blamed;
    bit<16>    flow;      // 0: none
    bit<16>    before;    // whose the slot was
    bit<16>    held;      // slots of the pool that are in use
    within_t   within;
    MirrorId_t session;
}

struct egress_metadata_t {
    bit<48> dst_addr;
}

const MirrorType_t TO_LOOP = 1;
const MirrorType_t TO_SENDER = 2;

// ---- Ingress ---------------------------------------------------------------------------------------

parser EntryParser(packet_in packet, out headers_t hdr, out ingress_metadata_t md,
                   out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        md.zero = 0;
        md.pool = 0;
        md.slot = 0;
        md.place = 0;
        md.role = role_t.NONE;
        md.counted = 0;
        md.across = 0;
        md.blamed = 0;
        md.flow = 0;
        md.before = 0;
        md.held = 0;
        transition select(ig_intr_md.ingress_port) {
            0x044 &&& 0x07C: parse_internal;  // 68 to 71 of any pipe
            default:         parse_ethernet;
        }
    }

    state parse_internal {
        packet.extract(hdr.internal);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_FABRIC: parse_fabric;
            ETHERTYPE_CN_TAG: parse_cn_tag;
            default:          accept;
        }
    }

    state parse_fabric {
        packet.extract(hdr.fabric);
        transition accept;
    }

    state parse_cn_tag {
        packet.extract(hdr.cn_tag);
        transition accept;
    }
}

control LeafIngress(inout headers_t hdr, inout ingress_metadata_t md,
                    in ingress_intrinsic_metadata_t ig_intr_md,
                    in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                    inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                    inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Random<bit<8>>() any_slot;
    Hash<bit<12>>(HashAlgorithm_t.IDENTITY) joined;

    // Slots are given out in turn: 256 frames of a port are in the buffer at most.
    Register<bit<8>, bit<4>>(16, 0) turns;
    RegisterAction<bit<8>, bit<4>, bit<8>>(turns) next = {
        void apply(inout bit<8> turn, out bit<8> slot) {
            slot = turn;
            turn = turn + 1;
        }
    };

    // The buffer, as far as it matters here: whose frame is in each slot, 0 for nobody's.
    Register<bit<16>, bit<12>>(4096, 0) owners;
    RegisterAction<bit<16>, bit<12>, bit<16>>(owners) take = {
        void apply(inout bit<16> owner, out bit<16> before) {
            before = owner;
            owner = md.flow;
        }
    };
    RegisterAction<bit<16>, bit<12>, bit<16>>(owners) release = {
        void apply(inout bit<16> owner, out bit<16> before) {
            before = owner;
            owner = 0;
        }
    };
    RegisterAction<bit<16>, bit<12>, bit<16>>(owners) look = {
        void apply(inout bit<16> owner, out bit<16> seen) {
            seen = owner;
        }
    };

    // How many slots of a pool are in use.
    Register<bit<16>, bit<4>>(16, 0) levels;
    RegisterAction<bit<16>, bit<4>, bit<16>>(levels) rise = {
        void apply(inout bit<16> level, out bit<16> now) {
            level = level + 1;
            now = level;
        }
    };
    RegisterAction<bit<16>, bit<4>, bit<16>>(levels) fall = {
        void apply(inout bit<16> level, out bit<16> now) {
            level = level - 1;
            now = level;
        }
    };
    RegisterAction<bit<16>, bit<4>, bit<16>>(levels) measure = {
        void apply(inout bit<16> level, out bit<16> now) {
            now = level;
        }
    };

    action drop() {
        ig_dprsr_md.drop_ctl = 1;
    }

    // ---- Where servers are

    action deliver(PortId_t port) {
        ig_tm_md.ucast_egress_port = port;
        ig_tm_md.bypass_egress = 1;
    }

    action cross(PortId_t port) {
        ig_tm_md.ucast_egress_port = port;
        ig_tm_md.bypass_egress = 1;
        md.across = 1;
    }

    table stations {
        key = { hdr.ethernet.dst_addr: exact @name("mac"); }
        actions = { deliver; cross; drop; }
        const default_action = drop();
        size = 1024;
    }

    // ---- Ports

    // A port with servers, whose frames take slots.
    action with_pool(bit<4> pool) {
        md.pool = pool;
        md.counted = 1;
    }

    // A port to another leaf: the mirror session that leads back by it.
    action with_session(MirrorId_t session) {
        md.session = session;
    }

    table ports {
        key = { ig_intr_md.ingress_port: exact @name("port"); }
        actions = { with_pool; with_session; NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    // ---- Which slot

    action of_frame() {
        md.role = role_t.TAKE;
        md.flow = hdr.cn_tag.flow;
        md.slot = next.execute(md.pool);
    }

    action of_acknowledgement() {
        md.role = role_t.RELEASE;
        md.slot = hdr.fabric.slot;
        md.pool = hdr.fabric.pool;
    }

    action of_sample() {
        md.role = role_t.LOOK;
        md.slot = any_slot.get();
        md.pool = hdr.internal.pool;
    }

    action locate() {
        md.place = joined.get({ md.pool, md.slot });
    }

    action occupy()  { md.before = take.execute(md.place); }
    action give_up() { md.before = release.execute(md.place); }
#if SAMPLING == OCCUPANCY
    action inspect() { md.flow = look.execute(md.place); }
#else
    action inspect() { md.flow = hdr.cn_tag.flow; }
#endif

    table slots {
        key = { md.role: exact @name("role"); }
        actions = { occupy; give_up; inspect; NoAction; }
        const default_action = NoAction();
        const entries = {
            role_t.TAKE:    occupy();
            role_t.RELEASE: give_up();
            role_t.LOOK:    inspect();
        }
        size = 4;
    }

    action one_more() { md.held = rise.execute(md.pool); }
    action one_less() { md.held = fall.execute(md.pool); }
    action as_it_is() { md.held = measure.execute(md.pool); }

    // An acknowledgement that comes twice frees nothing, and a slot whose acknowledgement was lost is
    // taken again when its turn comes.
    table pools {
        key = {
            md.role:   exact   @name("role");
            md.before: ternary @name("before");
        }
        actions = { one_more; one_less; as_it_is; NoAction; }
        const default_action = NoAction();
        const entries = {
            (role_t.TAKE, 0):    one_more();
            (role_t.RELEASE, 0): NoAction();
            (role_t.RELEASE, _): one_less();
            (role_t.LOOK, _):    as_it_is();
        }
        size = 4;
    }

    // ---- What is sent

    action to_far_leaf() {
        hdr.fabric.setValid();
        hdr.fabric.kind = kind_t.DATA;
        hdr.fabric._zero = 0;
        hdr.fabric.pool = md.pool;
        hdr.fabric.slot = md.slot;
        hdr.fabric.ether_type = ETHERTYPE_CN_TAG;
        hdr.ethernet.ether_type = ETHERTYPE_FABRIC;
    }

    action ask_for_sample() {
        ig_dprsr_md.mirror_type = TO_LOOP;
        md.session = SAMPLES;
        md.within = within_t.SAMPLE;
    }

    action to_server() {
        hdr.ethernet.ether_type = hdr.fabric.ether_type;
        hdr.fabric.setInvalid();
        ig_dprsr_md.mirror_type = TO_SENDER;
        md.within = within_t.DELIVERED;
    }

    // How serious it is, by the level of the pool. Below the lowest there is no message.
    action feedback(bit<6> value) {
        hdr.cnm.feedback = value;
        md.blamed = 1;
    }

    table serious {
        key = { md.held: range @name("level"); }
        actions = { feedback; drop; }
        const default_action = drop();
        size = 64;
    }

    // The server of a flow.
    action notify(bit<48> mac, PortId_t port, bit<48> own_mac, bit<64> congestion_point) {
        hdr.ethernet.dst_addr = mac;
        hdr.ethernet.src_addr = own_mac;
        hdr.cn_tag.flow = md.flow;
        hdr.cn_tag.ether_type = ETHERTYPE_CNM;
        hdr.cnm.setValid();
        hdr.cnm.version = 0;
        hdr.cnm._zero = 0;
        hdr.cnm.congestion_point = congestion_point;
        hdr.cnm.offset = md.held;
        hdr.cnm.delta = 0;
        hdr.cnm.priority = 0;
        hdr.cnm.dst_addr = 0;
        hdr.cnm.length = 0;
        hdr.internal.setInvalid();
        ig_tm_md.ucast_egress_port = port;
        ig_tm_md.bypass_egress = 1;
    }

    table sources {
        key = {
            md.pool: exact @name("pool");
            md.flow: exact @name("flow");
        }
        actions = { notify; drop; }
        const default_action = drop();
        size = 1024;
    }

    apply {
        if (hdr.internal.isValid()) {
            of_sample();
        } else if (hdr.fabric.isValid() && hdr.fabric.kind == kind_t.ACKNOWLEDGEMENT) {
            of_acknowledgement();
        } else {
            stations.apply();
            ports.apply();
            if (hdr.cn_tag.isValid() && md.across == 1 && md.counted == 1) {
                of_frame();
            }
        }

        locate();
        slots.apply();
        pools.apply();

        if (md.role == role_t.LOOK) {
            if (md.flow == 0) {
                drop();  // nobody has that slot
            } else {
                serious.apply();
                if (md.blamed == 1) {
                    sources.apply();
                }
            }
        } else if (md.role == role_t.RELEASE) {
            drop();      // it has come to its end
        } else if (md.role == role_t.TAKE) {
            to_far_leaf();
            if ((md.slot & (EVERY - 1)) == 0) {
                ask_for_sample();
            }
        } else if (hdr.fabric.isValid()) {
            to_server();
        }
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in ingress_metadata_t md,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Mirror() mirror;

    apply {
        if (ig_dprsr_md.mirror_type == TO_LOOP) {
            mirror.emit<internal_t>(md.session, { md.within, md.zero, md.pool });
        } else if (ig_dprsr_md.mirror_type == TO_SENDER) {
            mirror.emit<internal_t>(md.session, { md.within, md.zero, md.pool });
        }
        packet.emit(hdr);
    }
}

// ---- Egress: mirrors alone; all other packets bypass it --------------------------------------------

parser MirrorParser(packet_in packet, out headers_t hdr, out egress_metadata_t md,
                    out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        packet.extract(hdr.internal);
        packet.extract(hdr.ethernet);
        md.dst_addr = hdr.ethernet.dst_addr;
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_FABRIC: parse_fabric;
            default:          accept;
        }
    }

    state parse_fabric {
        packet.extract(hdr.fabric);
        transition accept;
    }
}

control LeafEgress(inout headers_t hdr, inout egress_metadata_t md,
                   in egress_intrinsic_metadata_t eg_intr_md,
                   in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                   inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                   inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    // What was delivered goes back as its own acknowledgement; the session cuts the rest off.
    action acknowledge() {
        hdr.internal.setInvalid();
        hdr.fabric.kind = kind_t.ACKNOWLEDGEMENT;
        hdr.ethernet.dst_addr = hdr.ethernet.src_addr;
        hdr.ethernet.src_addr = md.dst_addr;
    }

    apply {
        if (hdr.internal.within == within_t.DELIVERED) {
            acknowledge();
        }
    }
}

control EgressDeparser(packet_out packet, inout headers_t hdr, in egress_metadata_t md,
                       in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply {
        packet.emit(hdr);
    }
}

Pipeline(EntryParser(), LeafIngress(), IngressDeparser(), MirrorParser(), LeafEgress(),
         EgressDeparser()) pipe;
Switch(pipe) main;
