// MSR6 on TNA: the Tofino chip, its model, and the engine of this lab.
//
// The drafts' layouts are not public. This encoding is p4lab's own profile, not an IETF format.
//
// Tables, actions and counters are those of v1model.p4; how they follow each other is not. The chip
// has twelve stages, chooses no entry of a list by a computed index, compares few bits by size, and
// what comes back from a recirculation port is bytes. So:
//
// - Each pass leaves a packet that says what still waits: a SID's argument with fewer children or
//   bits, or a BitString with fewer bits. Nothing is remembered from one pass to the next.
// - What msr6.p4 asks in one `if` after another, tables with constant entries ask (tna/guard.p4).
// - A list has 8 entries at most, and it takes two tables to put one on (tna/ingress.p4).
//
// All three behaviours are in it; with -D ONLY_TE that of TE alone, with -D WITHOUT_BE those of TE
// with and without RLB, to compare what each of them takes (docs/fit.md).

#define TOFINO

#ifndef ONLY_TE
#define WITH_RLB
#ifndef WITHOUT_BE
#define WITH_BE
#endif
#endif

#include <core.p4>
#include <tna.p4>

#include "tna/headers.p4"
#include "tna/parser.p4"
#include "tna/guard.p4"
#include "tna/te.p4"
#ifdef WITH_RLB
#include "tna/rlb.p4"
#endif
#ifdef WITH_BE
#include "tna/be.p4"
#endif
#include "tna/ingress.p4"
#include "tna/loops.p4"
#include "tna/egress.p4"

control Msr6Ingress(inout ingress_headers_t hdr, inout ingress_metadata_t md,
                    in ingress_intrinsic_metadata_t ig_intr_md,
                    in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                    inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                    inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Measure() measure;
    HeaderGuard() header_guard;
    PlainGuard() plain_guard;
    GroupGuard() group_guard;
    EndRl() end_rl;
#ifdef WITH_RLB
    EndRlb() end_rlb;
    CheckRlb() check_rlb;
#endif
#ifdef WITH_BE
    EndRgb() end_rgb;
#endif
    Encapsulation() encapsulation;
    AgainLoop() again_loop;
    FreshLoop() fresh_loop;
    Decide() decide;
    Counter<bit<64>, bit<8>>(64, CounterType_t.PACKETS_AND_BYTES) dropped;  // by reason

    // ---- Whose SID is it?

    // n and pointer get one lower, with one subtraction: where other children wait, the pointer is
    // not 0.
    action rl() {
        md.behaviour = behaviour_t.END_RL;
        md.next_high = md.bits - 0x0101;
        md.mirror_within = within_t.NEXT_COPY;
    }

#ifdef WITH_RLB
    action rlb(bit<16> known, bit<16> transits) {
        md.behaviour = behaviour_t.END_RLB;
        md.unknown = md.bits & ~known;
        md.transits = md.bits & transits;
        md.mirror_within = within_t.NEXT_COPY;
    }
#endif

#ifdef WITH_BE
    action rgb() {
        md.behaviour = behaviour_t.END_RGB;
        md.mirror_within = within_t.NEXT_BITS;
    }
#endif

    action dt6() {
        md.behaviour = behaviour_t.END_DT6;
        md.target = target_t.LISTENERS;
    }

    table local_sids {
        key = { hdr.packet.ipv6.dst_addr[127:32]: exact @name("sid"); }
        actions = {
            rl;
#ifdef WITH_RLB
            rlb;
#endif
#ifdef WITH_BE
            rgb;
#endif
            dt6;
            NoAction;
        }
        const default_action = NoAction();
        size = 64;
    }

    // ---- Where does it go?

    action route(bit<9> port) {
        md.target = target_t.PORT;
        md.egress_port = port;
        hdr.packet.ipv6.hop_limit = hdr.packet.ipv6.hop_limit - 1;
    }

    // To this router itself: a copy comes back and is handled like one from outside.
    action local() {
        md.target = target_t.HERE;
        hdr.packet.ipv6.hop_limit = hdr.packet.ipv6.hop_limit - 1;
    }

    action no_route() {
        md.target = target_t.NOWHERE;
    }

    table ipv6_routes {
        key = { hdr.packet.ipv6.dst_addr: lpm @name("destination"); }
        actions = { route; local; no_route; }
        const default_action = no_route();
        size = 1024;
    }

    action replicate(bit<16> mcast_grp) {
        md.has_listeners = 1;
        md.mcast_grp = mcast_grp;
    }

    action drop() {
    }

    table group_ports {
        key = { hdr.packet.inner.dst_addr: exact @name("group"); }
        actions = { replicate; drop; }
        const default_action = drop();
        size = 1024;
    }

    // How many recirculation ports take part; the control plane may change it at any time.
    action use_loops(bit<16> last) {
        md.last_loop = last;
    }

    table loop_count {
        actions = { use_loops; }
        default_action = use_loops(0);
        size = 1;
    }

    apply {
        md.is_cut = false;
        md.behaviour = behaviour_t.NONE;
        md.takes_entry = 0;
        md.target = target_t.NOWHERE;
        md.has_listeners = 0;
        md.mcast_grp = 0;
        md.more = 0;
        md.next_high = 0;
        md.next_low = 0;
        md.part = 0;
        md.too_many = 0;
        md.drop = drop_reason_t.NONE;
        md.refused = 0;
        md.told = 0;
        md.mirror_within = within_t.FORWARDED;
        md.looped = 0;
        md.zeros = 0;
        md.told_zeros = 0;
        hdr.internal.setValid();
        hdr.internal.within = within_t.FORWARDED;
        hdr.internal.looped = 0;
        hdr.internal.part = 0;
        hdr.internal._pad = 0;
        md.told_within = within_t.TOLD;
        md.tell_session = TELL_SESSION;
        md.came_in = ig_intr_md.ingress_port;
        if (hdr.came_with.isValid()) {
            md.looped = 1;
            md.part = hdr.came_with.part;
            md.source_port = hdr.came_with.port;
        } else if (md.is_multicast == 1) {
            md.source_port = ig_intr_md.ingress_port;
        } else {
            md.source_port = NO_PORT;
        }
        md.next_part = md.part + 1;
        hdr.internal.port = md.source_port;
        loop_count.apply();

        if (hdr.packet.packet_out.isValid()) {
            ig_tm_md.ucast_egress_port = hdr.packet.packet_out.egress_port;
            hdr.packet.packet_out.setInvalid();
            hdr.internal.within = within_t.AS_IS;
        } else {
            if (ig_prsr_md.parser_err != 0) {
                md.is_cut = true;
            }
            measure.apply(hdr.packet, md);

            // What this pass would send, and what speaks against it.
            if (md.is_multicast == 1) {
                encapsulation.apply(hdr.packet, md);
                group_guard.apply(hdr.packet, md);
            } else {
                local_sids.apply();
                if (md.behaviour == behaviour_t.END_RL || md.behaviour == behaviour_t.NONE) {
                    if (md.behaviour == behaviour_t.END_RL) {
                        end_rl.apply(hdr.packet, md);
                    } else {
                        plain_guard.apply(hdr.packet, md);
                    }
                    ipv6_routes.apply();
                }
#ifdef WITH_RLB
                else if (md.behaviour == behaviour_t.END_RLB) {
                    end_rlb.apply(hdr.packet, md);
                }
#endif
#ifdef WITH_BE
                else if (md.behaviour == behaviour_t.END_RGB) {
                    end_rgb.apply(hdr.packet, md);
                }
#endif
                // An objection to the header takes the place of one to what it asks for. Only that
                // of RLB comes too late for that: it has to count bits.
                if (md.behaviour != behaviour_t.NONE) {
                    header_guard.apply(hdr.packet, md);
                }
#ifdef WITH_RLB
                if (md.behaviour == behaviour_t.END_RLB && md.refused == 0) {
                    check_rlb.apply(md);
                }
#endif
            }
            group_ports.apply();

            // What becomes of it.
            decide.apply(hdr, md, ig_dprsr_md, ig_tm_md);
            if (md.refused == 0) {
                if (md.more == 1) {
                    again_loop.apply(md);
                }
                if (md.target == target_t.TREE || md.target == target_t.HERE) {
                    fresh_loop.apply(md, ig_tm_md);
                }
            }
            if (md.told == 1 && md.looped == 0) {
                ig_dprsr_md.mirror_type = MIRROR_TOLD;
            } else if (md.refused == 0 && md.more == 1) {
                if (md.behaviour == behaviour_t.END_RGB) {
                    ig_dprsr_md.mirror_type = MIRROR_BITS;
                } else {
                    ig_dprsr_md.mirror_type = MIRROR_COPY;
                }
            }
            if (md.drop != drop_reason_t.NONE) {
                dropped.count((bit<8>)md.drop);
            }
        }
    }
}

Pipeline(EntryParser(), Msr6Ingress(), IngressDeparser(), CopyParser(), Msr6Egress(),
         EgressDeparser()) pipe;
Switch(pipe) main;
