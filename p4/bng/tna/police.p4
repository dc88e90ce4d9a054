// Meters on TNA. The cells of a meter must be in one stage, which has room for 47 x 1024 of them.
// So each class has a meter of its own, with a cell for each session; and they are in egress, whose
// first stages have room.

#ifndef BNG_TNA_POLICE_P4
#define BNG_TNA_POLICE_P4

#include "headers.p4"

control Police(in internal_t internal, inout egress_metadata_t md) {
    Meter<bit<16>>(SESSIONS, MeterType_t.BYTES) class_meter_0;
    Meter<bit<16>>(SESSIONS, MeterType_t.BYTES) class_meter_1;
    Meter<bit<16>>(SESSIONS, MeterType_t.BYTES) class_meter_2;
    Meter<bit<16>>(SESSIONS, MeterType_t.BYTES) class_meter_3;
    Meter<bit<16>>(SESSIONS, MeterType_t.BYTES) session_meter;
    Meter<bit<16>>(SESSIONS, MeterType_t.BYTES) upstream_meter;

    action ask_class_0() {
        md.colour = class_meter_0.execute(md.session, MeterColor_t.GREEN, UNPAID_BYTES);
    }

    action ask_class_1() {
        md.colour = class_meter_1.execute(md.session, MeterColor_t.GREEN, UNPAID_BYTES);
    }

    action ask_class_2() {
        md.colour = class_meter_2.execute(md.session, MeterColor_t.GREEN, UNPAID_BYTES);
    }

    action ask_class_3() {
        md.colour = class_meter_3.execute(md.session, MeterColor_t.GREEN, UNPAID_BYTES);
    }

    action ask_session() {
        md.session_colour = session_meter.execute(md.session, MeterColor_t.GREEN, UNPAID_BYTES);
    }

    action ask_upstream() {
        md.colour = upstream_meter.execute(md.session, MeterColor_t.GREEN, UNPAID_BYTES);
    }

    apply {
        if (internal.within == within_t.TO_CORE) {
            ask_upstream();
        } else if (internal.within == within_t.SUBSCRIBER) {
            if (internal.class == 0) {
                ask_class_0();
            } else if (internal.class == 1) {
                ask_class_1();
            } else if (internal.class == 2) {
                ask_class_2();
            } else {
                ask_class_3();
            }
            if (md.colour != (bit<8>)MeterColor_t.RED) {
                ask_session();
            }
        }
    }
}

// What the colours mean, and what nobody knows.
control Judge(in internal_t internal, inout egress_metadata_t md) {
    action refuse(reason_t reason) {
        md.drop = reason;
    }

    table judge {
        key = {
            internal.within:   ternary @name("within");
            md.colour:         ternary @name("colour");
            md.session_colour: ternary @name("session_colour");
            md.has_no_tunnel:  ternary @name("has_no_tunnel");
            md.has_no_link:    ternary @name("has_no_link");
        }
        actions = { refuse; NoAction; }
        const default_action = NoAction();
        const entries = {
            (within_t.TO_CORE, MeterColor_t.RED, _, _, _): refuse(reason_t.RED_UPSTREAM);
            (_, MeterColor_t.RED, _, _, _):                refuse(reason_t.RED_CLASS);
            (_, _, MeterColor_t.RED, _, _):                refuse(reason_t.RED_SESSION);
            (_, _, _, 1, _):                               refuse(reason_t.NO_SUBSCRIBER);
            (_, _, _, _, 1):                               refuse(reason_t.NO_LINK);
        }
        size = 8;
    }

    apply {
        judge.apply();
    }
}

#endif
