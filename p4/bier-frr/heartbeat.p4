// Heartbeats on v1model: a port is down when too long nobody has said on it that our packets arrive.
//
// Something that ticks (here the control plane, on Tofino the packet generator) makes one heartbeat for
// each port in each interval, and this switch sends it with one bit: whether the neighbour's heartbeats
// arrive here. A port works as long as heartbeats come in on it that say so. This sees what the port
// itself does not: a cable that carries one way only, or a failure behind a converter.

#ifndef HEARTBEAT_P4
#define HEARTBEAT_P4

#include "../include/headers.p4"

// Called for every packet when its port is known. `now` in microseconds, as v1model counts them. Sets
// `down` if nothing that goes to decision.egress_port arrives; leaves it alone otherwise.
control Heartbeats(inout headers_t hdr, in bit<9> arrival_port, in bit<48> now,
                   inout decision_t decision, inout bit<1> down) {
    // For each port: when the last heartbeat came in, and when the last one that said that ours arrive.
    // 0: never, or the last one said that they do not.
    register<bit<48>>(512) heard;
    register<bit<48>>(512) confirmed;

    bit<48> limit;
    bit<48> last;
    bit<1>  silent;

    // A neighbour may be silent for so many microseconds.
    action watch(bit<48> limit_us) {
        limit = limit_us;
    }

    action trust() {
        limit = 0;
    }

    // Ports without an entry are never silent: hosts send no heartbeats.
    table watched {
        key = { decision.egress_port: exact @name("port"); }
        actions = { watch; trust; }
        const default_action = trust();
        size = 512;
    }

    apply {
        if (hdr.heartbeat.isValid() && arrival_port != CPU_PORT) {
            heard.write((bit<32>)arrival_port, now);
            last = 0;
            if (hdr.heartbeat.heard == 1) {
                last = now;
            }
            confirmed.write((bit<32>)arrival_port, last);
            decision.drop = drop_reason_t.NOTED;
        } else {
            watched.apply();
            confirmed.read(last, (bit<32>)decision.egress_port);
            silent = 0;
            if (limit != 0 && (last == 0 || now > last + limit)) {
                silent = 1;
                down = 1;
            }

            if (hdr.heartbeat.isValid()) {
                if (hdr.heartbeat.down != silent) {
                    // The control plane is mistaken about this port. It gets its heartbeat back.
                    hdr.heartbeat.down = silent;
                    hdr.packet_in.setValid();
                    hdr.packet_in.ingress_port = decision.egress_port;
                    hdr.packet_in._pad = 0;
                    decision.egress_port = CPU_PORT;
                } else {
                    heard.read(last, (bit<32>)decision.egress_port);
                    hdr.heartbeat.down = 0;
                    hdr.heartbeat.heard = 0;
                    if (last != 0 && now <= last + limit) {
                        hdr.heartbeat.heard = 1;
                    }
                }
            }
        }
    }
}

#endif
