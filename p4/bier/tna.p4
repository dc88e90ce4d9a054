// BIER on TNA: the Tofino chip, its model, and the engine of this lab.
//
// What the chip makes different from v1model.p4: a mirror is a copy of the packet as it came in, with a
// small header in front; what comes back from a recirculation port is bytes and nothing else; a stage
// compares no 256 bits with zero; and one recirculation port is not enough, so there are k of them.
//
// The shape fits the 12 stages of Tofino 1 for BitStrings of 64, 128 and 256 bits. The mirror's header
// has 32 bytes at most, too few for 256 bits. So it holds the number of the BIFT entry that was used,
// and egress takes the bits of that entry out of the copy.

#define TOFINO

#include <core.p4>
#include <tna.p4>

#include "../include/headers.p4"
#include "bier.p4"

// In front of a packet within the switch: from ingress to egress, on a mirror, and round a loop.
// BEGIN QUOTE internal
enum bit<8> within_t {
    FORWARDED    = 0,  // to a cable
    TO_LOOP      = 1,  // to a recirculation port, as ingress made it
    AGAIN        = 2,  // to a recirculation port, as it came in from a cable
    AGAIN_LOOPED = 3   // the same, as it came back from a loop: with such a header in front
}

header internal_t {
    within_t within;
    bit<8>   set;          // see carried_t
    bit<7>   _pad;
    bit<9>   source_port;
    bit<16>  entry;        // whose F-BM egress takes out of the BitString
}
// END QUOTE

struct ingress_headers_t {
    internal_t came_with;  // of a packet that comes from a loop
    internal_t internal;   // for egress
    headers_t  packet;
}

struct egress_headers_t {
    internal_t internal;
    internal_t came_with;
    headers_t  packet;
}

// What the control plane says of a port.
struct port_metadata_t {
    bit<1> looped;         // a front port in loopback: what it sends comes back
    @padding bit<63> _pad; // the chip gives each field whole bytes
}

struct ingress_metadata_t {
    port_metadata_t port;
    carried_t       carried;
    arrival_t       arrival;
    decision_t      decision;
    bool            checksum_error;
    within_t        mirror_within;
    bit<7>          zeros;
    MirrorId_t      mirror_session;
    bit<16>         entry;        // of the BIFT
    bit<BSL>        fbm;
    bit<1>          local;        // the entry is our own
    bit<1>          found;
    bit<8>          down;         // the next hop's port is down
    bit<16>         last_loop;    // k - 1
    bit<16>         loop;         // whose turn it is to take a packet once more
    bit<16>         fresh_loop;   // and one that has just got its BIER header
}

struct egress_metadata_t {
    drop_reason_t drop;
}

const MirrorType_t MIRROR_AGAIN = 1;
const bit<9> NO_PORT = 0x1FF;      // the chip has a port 0

// ---- Ingress ---------------------------------------------------------------------------------------

parser EntryParser(packet_in packet, out ingress_headers_t hdr, out ingress_metadata_t md,
                   out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() checksum;

    // BEGIN QUOTE arrival
    state start {
        packet.extract(ig_intr_md);
        // BEGIN SOLUTION arrival: read what stands between that and the packet into md.port
        md.port = port_metadata_unpack<port_metadata_t>(packet);
        //- md.port.looped = 0;  // only until then
        // END SOLUTION
        md.checksum_error = false;
        transition select(ig_intr_md.ingress_port, md.port.looped) {
            (CPU_PORT, _):        parse_packet_out;
            (0x044 &&& 0x07C, _): parse_came_with;  // 68 to 71 of any pipe
            (_, 1):               parse_came_with;  // a front port in loopback
            default:              parse_ethernet;
        }
    }
    // END QUOTE

    state parse_packet_out {
        packet.extract(hdr.packet.packet_out);
        transition accept;
    }

    state parse_came_with {
        // BEGIN SOLUTION arrival: what stands in front of a packet that comes back
        packet.extract(hdr.came_with);
        // END SOLUTION
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.packet.ethernet);
        transition select(hdr.packet.ethernet.ether_type) {
            ETHERTYPE_IPV4: look_at_ipv4;
            ETHERTYPE_BIER: parse_bier;
            default:        accept;
        }
    }

    state parse_bier {
        packet.extract(hdr.packet.bier);
        transition select(hdr.packet.bier.proto) {
            BIER_PROTO_IPV4: look_at_ipv4;
            default:         accept;
        }
    }

    state look_at_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            0x45:         parse_ipv4;
            0x46 .. 0x4F: parse_ipv4_with_options;
            default:      accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.packet.ipv4);
        checksum.add(hdr.packet.ipv4);
        md.checksum_error = checksum.verify();
        transition accept;
    }

    // The options stay in the payload, and the checksum units cannot follow: such packets go to the
    // control plane, if they are IGMP, or nowhere.
    state parse_ipv4_with_options {
        packet.extract(hdr.packet.ipv4);
        md.checksum_error = true;
        transition accept;
    }
}

// The forwarding procedure of RFC 8279, section 6.5, one next hop per pass, as in bier.p4. It takes what
// remains from the packet itself: a packet that comes back holds only the bits that wait for their copy.
control TofinoBfr(inout headers_t hdr, inout ingress_metadata_t md) {
    Bfer() bfer;

    // Which ports are down, as the control plane says.
    Register<bit<8>, bit<9>>(512, 0) port_down;
    RegisterAction<bit<8>, bit<9>, bit<8>>(port_down) is_down = {
        void apply(inout bit<8> cell, out bit<8> down) {
            down = cell;
        }
    };

    // BEGIN QUOTE copy
    action forward(bit<16> entry, bit<BSL> fbm, bit<9> port) {
        md.found = 1;
        // BEGIN SOLUTION copy: keep what the entry says; others need it in a moment
        md.entry = entry;
        md.fbm = fbm;
        md.decision.egress_port = port;
        // END SOLUTION
    }
    // END QUOTE

    // BEGIN QUOTE own
    action decapsulate(bit<16> entry, bit<BSL> fbm) {
        md.found = 1;
        md.local = 1;
        // BEGIN SOLUTION own: keep what the entry says
        md.entry = entry;
        md.fbm = fbm;
        // END SOLUTION
    }
    // END QUOTE

    action drop() {
        md.decision.drop = drop_reason_t.NO_BIFT_ENTRY;
    }

    table bift {
        key = {
            hdr.bier.bift_id:    exact   @name("bift_id");
            hdr.bier.bit_string: ternary @name("remaining");
        }
        actions = { forward; decapsulate; drop; }
        const default_action = drop();
        size = 4096;
    }

    // Fast reroute: another next hop, with the F-BM that holds then, for a port that is down.
    action reroute(bit<16> entry, bit<BSL> fbm, bit<9> port) {
        md.entry = entry;
        md.fbm = fbm;
        md.decision.egress_port = port;
    }

    action give_up() {
        md.decision.drop = drop_reason_t.PORT_DOWN;
    }

    table backup {
        key = {
            hdr.bier.bift_id:        exact   @name("bift_id");
            hdr.bier.bit_string:     ternary @name("remaining");
            md.decision.egress_port: exact   @name("port");
        }
        actions = { reroute; give_up; }
        const default_action = give_up();
        size = 512;
    }

    // Both read the BitString as it was: an action of the chip does everything at the same time.
    // BEGIN QUOTE copy
    action split() {
        // BEGIN SOLUTION again: who still waits for a copy
        md.carried.remaining = hdr.bier.bit_string & ~md.fbm;
        // END SOLUTION
        // BEGIN SOLUTION copy: who is in this copy
        hdr.bier.bit_string = hdr.bier.bit_string & md.fbm;
        // END SOLUTION
    }
    // END QUOTE

    // An `if` reads at most 4 bytes, a table compares any number of bits with zero.
    action more()    { md.decision.again = true; }
    action nothing() { md.decision.again = false; }

    table anything_left {
        key = { md.carried.remaining: ternary @name("remaining"); }
        actions = { more; nothing; }
        const default_action = more();
        const entries = { 0: nothing(); }
        size = 2;
    }

    apply {
        if (hdr.bier.ver != 0) {
            md.decision.drop = drop_reason_t.BIER_VERSION;
        } else if (hdr.bier.ttl == 0) {
            md.decision.drop = drop_reason_t.BIER_TTL_EXPIRED;
        } else {
            bift.apply();
            if (md.found == 1) {
                if (md.local == 0) {
                    md.down = is_down.execute(md.decision.egress_port);
                    if (md.down != 0) {
                        backup.apply();
                    }
                }
                split();
                anything_left.apply();
                if (md.local == 0) {
                    // BEGIN SOLUTION copy: one hop less to go; none left: no copy
                    hdr.bier.ttl = hdr.bier.ttl - 1;
                    if (hdr.bier.ttl == 0) {
                        md.decision.drop = drop_reason_t.BIER_TTL_EXPIRED;
                    }
                    // END SOLUTION
                } else {
                    // BEGIN SOLUTION own: the packet as it was before it met BIER
                    hdr.bier.setInvalid();
                    hdr.ethernet.ether_type = ETHERTYPE_IPV4;
                    // END SOLUTION
                    bfer.apply(hdr, md.arrival, md.decision);
                }
            }
        }
    }
}

control BierIngress(inout ingress_headers_t hdr, inout ingress_metadata_t md,
                    in ingress_intrinsic_metadata_t ig_intr_md,
                    in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                    inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                    inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Bfir() bfir;
    TofinoBfr() bfr;
    Hash<bit<20>>(HashAlgorithm_t.CRC32) flow;

    // Round robin: 0, 1, ... k-1, 0, ... by one atomic step per packet. Packets that come once more have
    // one register, encapsulated ones another: with one for both, who comes every other time would
    // always get the same ports, and the two would wait for each other in the stages.
    // BEGIN QUOTE turns
    Register<bit<16>, bit<1>>(1, 0) turn;
    RegisterAction<bit<16>, bit<1>, bit<16>>(turn) next = {
        void apply(inout bit<16> cell, out bit<16> whose) {
            // BEGIN SOLUTION turns: say whose turn it is, and leave the cell ready for the next packet
            whose = cell;
            if (cell >= md.last_loop) {
                cell = 0;
            } else {
                cell = cell + 1;
            }
            // END SOLUTION
        }
    };

    Register<bit<16>, bit<1>>(1, 0) fresh_turn;
    RegisterAction<bit<16>, bit<1>, bit<16>>(fresh_turn) next_fresh = {
        void apply(inout bit<16> fresh, out bit<16> whose) {
            // BEGIN SOLUTION turns: the same
            whose = fresh;
            if (fresh >= md.last_loop) {
                fresh = 0;
            } else {
                fresh = fresh + 1;
            }
            // END SOLUTION
        }
    };
    // END QUOTE

    // How many recirculation ports take part; the control plane may change it at any time.
    action use_loops(bit<16> last) {
        md.last_loop = last;
    }

    table loop_count {
        actions = { use_loops; }
        default_action = use_loops(0);
        size = 1;
    }

    // A mirror session that leads to a recirculation port, for a packet that comes once more;
    action mirror_to(MirrorId_t session) {
        md.mirror_session = session;
    }

    table loop_sessions {
        key = { md.loop: exact @name("loop"); }
        actions = { mirror_to; NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    // and the port itself, for one that has just got its BIER header.
    action loop_to(bit<9> port) {
        md.decision.egress_port = port;
    }

    table loop_ports {
        key = { md.fresh_loop: exact @name("loop"); }
        actions = { loop_to; NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    apply {
        md.decision.drop = drop_reason_t.NONE;
        md.decision.egress_port = 0;
        md.decision.mcast_grp = 0;
        md.decision.again = false;
        md.decision.ipv4_changed = false;
        md.mirror_within = within_t.AGAIN;
        md.carried.set = 0;
        md.carried.source_port = NO_PORT;
        if (hdr.came_with.isValid()) {
            md.carried.set = hdr.came_with.set;
            md.carried.source_port = hdr.came_with.source_port;
            md.mirror_within = within_t.AGAIN_LOOPED;
        }
        md.arrival.port = ig_intr_md.ingress_port;
        md.arrival.checksum_ok = true;
        if (md.checksum_error) {
            md.arrival.checksum_ok = false;
        }
        md.arrival.entropy = flow.get({ hdr.packet.ipv4.src_addr, hdr.packet.ipv4.dst_addr,
                                        hdr.packet.ipv4.protocol });

        hdr.internal.setValid();
        hdr.internal.within = within_t.FORWARDED;

        if (hdr.packet.packet_out.isValid()) {
            md.decision.egress_port = hdr.packet.packet_out.egress_port;
            hdr.packet.packet_out.setInvalid();
            hdr.internal.setInvalid();
            ig_tm_md.bypass_egress = 1;
        } else if (hdr.packet.bier.isValid()) {
            bfr.apply(hdr.packet, md);
        } else if (!hdr.packet.ipv4.isValid()) {
            md.decision.drop = drop_reason_t.UNKNOWN_PACKET;
        } else if (hdr.packet.ipv4.protocol == IP_PROTOCOL_IGMP) {
            hdr.packet.packet_in.setValid();
            hdr.packet.packet_in._pad = 0;
            md.decision.egress_port = CPU_PORT;
            hdr.internal.setInvalid();
            ig_tm_md.bypass_egress = 1;
        } else {
            bfir.apply(hdr.packet, md.carried, md.arrival, md.decision);
            hdr.internal.within = within_t.TO_LOOP;
        }

        loop_count.apply();
        if (md.decision.again) {
            // BEGIN SOLUTION turns: ask the register whose turn it is
            md.loop = next.execute(0);
            // END SOLUTION
            loop_sessions.apply();
        }
        if (hdr.internal.within == within_t.TO_LOOP) {
            // BEGIN SOLUTION turns: ask the other register
            md.fresh_loop = next_fresh.execute(0);
            // END SOLUTION
            loop_ports.apply();
        }

        // In an action of its own: a constant and a value that has to be shifted do not go together.
        if (hdr.packet.packet_in.isValid()) {
            hdr.packet.packet_in.ingress_port = md.arrival.port;
        }

        hdr.internal.set = md.carried.set;
        hdr.internal._pad = 0;
        hdr.internal.source_port = md.carried.source_port;
        hdr.internal.entry = 0;

        if (md.decision.again) {
            // BEGIN SOLUTION again: ask for a mirror
            ig_dprsr_md.mirror_type = MIRROR_AGAIN;
            // END SOLUTION
        }
        if (md.decision.drop != drop_reason_t.NONE) {
            ig_dprsr_md.drop_ctl = 1;
        } else if (md.decision.mcast_grp != 0) {
            ig_tm_md.mcast_grp_a = md.decision.mcast_grp;
        } else {
            ig_tm_md.ucast_egress_port = md.decision.egress_port;
        }
    }
}

control IngressDeparser(packet_out packet, inout ingress_headers_t hdr, in ingress_metadata_t md,
                        in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Mirror() mirror;
    Checksum() checksum;

    apply {
        // BEGIN QUOTE mirror
        if (ig_dprsr_md.mirror_type == MIRROR_AGAIN) {
            // BEGIN SOLUTION again: where the mirror goes, and the header in front of it
            mirror.emit<internal_t>(md.mirror_session, {
                md.mirror_within, md.carried.set, md.zeros, md.carried.source_port, md.entry });
            // END SOLUTION
        }
        // END QUOTE
        // Not for packets in transit: a new checksum would hide damage done on the way.
        if (md.decision.ipv4_changed) {
            hdr.packet.ipv4.hdr_checksum = checksum.update({
                hdr.packet.ipv4.version, hdr.packet.ipv4.ihl, hdr.packet.ipv4.diffserv,
                hdr.packet.ipv4.total_len, hdr.packet.ipv4.identification, hdr.packet.ipv4.flags,
                hdr.packet.ipv4.frag_offset, hdr.packet.ipv4.ttl, hdr.packet.ipv4.protocol,
                hdr.packet.ipv4.src_addr, hdr.packet.ipv4.dst_addr });
        }
        packet.emit(hdr.internal);
        packet.emit(hdr.packet);
    }
}

// ---- Egress ----------------------------------------------------------------------------------------

parser CopyParser(packet_in packet, out egress_headers_t hdr, out egress_metadata_t md,
                  out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        md.drop = drop_reason_t.NONE;
        packet.extract(hdr.internal);
        transition select(hdr.internal.within) {
            within_t.AGAIN_LOOPED: skip_older;
            default:               parse_ethernet;
        }
    }

    state skip_older {
        // BEGIN SOLUTION again: what was in front of the packet when it came in, and still is
        packet.extract(hdr.came_with);
        // END SOLUTION
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.packet.ethernet);
        transition select(hdr.packet.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_BIER: parse_bier;
            default:        accept;
        }
    }

    state parse_bier {
        packet.extract(hdr.packet.bier);
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.packet.ipv4);
        transition accept;
    }
}

control BierEgress(inout egress_headers_t hdr, inout egress_metadata_t md,
                   in egress_intrinsic_metadata_t eg_intr_md,
                   in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                   inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                   inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    BierRewrite() rewrite;

    // The copy is the packet as it came in: what ingress has served is still in its BitString.
    // BEGIN QUOTE mirror
    action take_out(bit<BSL> fbm) {
        // BEGIN SOLUTION again: who waits no longer
        hdr.packet.bier.bit_string = hdr.packet.bier.bit_string & ~fbm;
        // END SOLUTION
    }
    // END QUOTE

    table served {
        key = { hdr.internal.entry: exact @name("entry"); }
        actions = { take_out; NoAction; }
        const default_action = NoAction();
        size = 4096;
    }

    apply {
        hdr.came_with.setInvalid();
        if (hdr.internal.within == within_t.FORWARDED) {
            rewrite.apply(hdr.packet, eg_intr_md.egress_port, hdr.internal.source_port, md.drop);
            if (md.drop != drop_reason_t.NONE) {
                eg_dprsr_md.drop_ctl = 1;
            }
            // BEGIN SOLUTION copy: what is only for the inside of this switch
            hdr.internal.setInvalid();
            // END SOLUTION
        } else if (hdr.packet.bier.isValid() && hdr.internal.within != within_t.TO_LOOP) {
            served.apply();
        }
    }
}

control EgressDeparser(packet_out packet, inout egress_headers_t hdr, in egress_metadata_t md,
                       in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply {
        packet.emit(hdr.internal);
        packet.emit(hdr.packet);
    }
}

Pipeline(EntryParser(), BierIngress(), IngressDeparser(), CopyParser(), BierEgress(),
         EgressDeparser()) pipe;
Switch(pipe) main;
