// Recirculation ports that take turns, as in ../../bier/tna.p4.

#ifndef MSR6_TNA_LOOPS_P4
#define MSR6_TNA_LOOPS_P4

#include "headers.p4"

// For a packet that passes once more: the mirror session whose turn it is.
control AgainLoop(inout ingress_metadata_t md) {
    Register<bit<16>, bit<1>>(1, 0) turn;
    RegisterAction<bit<16>, bit<1>, bit<16>>(turn) next = {
        void apply(inout bit<16> cell, out bit<16> whose) {
            whose = cell;
            if (cell >= md.last_loop) {
                cell = 0;
            } else {
                cell = cell + 1;
            }
        }
    };

    action mirror_to(MirrorId_t session) {
        md.mirror_session = session;
    }

    table loop_sessions {
        key = { md.loop: exact @name("loop"); }
        actions = { mirror_to; NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    apply {
        md.loop = next.execute(0);
        loop_sessions.apply();
    }
}

// For one that just got its tree, or whose next SID is this router's own: the port whose turn it
// is. It has turns of its own. With one register for both, who comes every other time would always
// get the same ports, and the two would wait for each other in the stages.
control FreshLoop(inout ingress_metadata_t md, inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Register<bit<16>, bit<1>>(1, 0) fresh_turn;
    RegisterAction<bit<16>, bit<1>, bit<16>>(fresh_turn) next_fresh = {
        void apply(inout bit<16> fresh, out bit<16> whose) {
            whose = fresh;
            if (fresh >= md.last_loop) {
                fresh = 0;
            } else {
                fresh = fresh + 1;
            }
        }
    };

    action loop_to(bit<9> port) {
        ig_tm_md.ucast_egress_port = port;
    }

    table loop_ports {
        key = { md.fresh_loop: exact @name("loop"); }
        actions = { loop_to; NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    apply {
        md.fresh_loop = next_fresh.execute(0);
        loop_ports.apply();
    }
}

#endif
