// Who sends more than agreed? Two-rate three-colour meters (RFC 2698): green, yellow, red.

#ifndef BNG_POLICE_P4
#define BNG_POLICE_P4

#include "headers.p4"

const bit<8> RED = V1MODEL_METER_COLOR_RED;

// BEGIN QUOTE police
// Downstream each class of a session has a rate, and all of them together have one, too. A packet
// that its class drops is not charged to the session. Multicast does not belong to a session yet.
control Police(inout decision_t decision) {
    meter(SESSIONS * CLASSES, MeterType.bytes) class_meter;
    meter(SESSIONS, MeterType.bytes) session_meter;
    meter(SESSIONS, MeterType.bytes) upstream_meter;

    bit<32> session = (bit<32>)decision.session;
    bit<32> cell = session * CLASSES + (bit<32>)decision.class;
    bit<8>  colour = 0;

    apply {
        if (decision.upstream) {
            // BEGIN SOLUTION police: what a subscriber sends
            upstream_meter.execute_meter(session, colour);
            if (colour == RED) {
                decision.reason = reason_t.RED_UPSTREAM;
            }
            // END SOLUTION
        } else if (decision.mcast_grp == 0) {
            // BEGIN SOLUTION police: what a subscriber gets: the class first, then the session
            class_meter.execute_meter(cell, colour);
            if (colour == RED) {
                decision.reason = reason_t.RED_CLASS;
            } else {
                session_meter.execute_meter(session, colour);
                if (colour == RED) {
                    decision.reason = reason_t.RED_SESSION;
                }
            }
            // END SOLUTION
        }
    }
}
// END QUOTE

// No line floods the control plane. The core is line 0.
control PoliceControl(inout decision_t decision) {
    meter(SESSIONS, MeterType.packets) control_meter;

    bit<32> line = (bit<32>)decision.line;
    bit<8>  colour = 0;

    apply {
        control_meter.execute_meter(line, colour);
        if (colour == RED) {
            decision.reason = reason_t.RED_CONTROL;
        }
    }
}

#endif
