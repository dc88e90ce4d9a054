//! What the TNA switch does between the blocks and with its externs. Expected packets are written by
//! hand after what the real model was seen to do.

use crate::priorities;
use crate::support;

use p4_arch::tna::{Config, LoopConfig, Node, Switch};
use p4_arch::{Drop, Fate, Port, Time};
use p4_state::{Replica, Update};
use priorities::Priorities;
use proptest::prelude::*;
use std::sync::Arc;
use support::*;

// If this fails, packets go where nobody sent them, or do not go where they were sent.
#[test]
fn who_leaves() {
    let parts = Parts {
        ingress: "apply {
            if (h.h.op != 0) { tm.ucast_egress_port = (PortId_t)h.h.b; }
            d.drop_ctl = h.h.a[2:0];
            if (h.h.op == 3) { tm.bypass_egress = 1; }
            if (h.h.op == 4) { tm.ucast_egress_port = 0; }
            if (h.h.op == 5) { invalidate(tm.ucast_egress_port); }
        }",
        egress: "apply {
            h.h.a = 0xee;
            if (h.h.op == 2) { d.drop_ctl = h.h.c[2:0]; }
            if (h.h.op == 3) { d.drop_ctl = 1; }
        }",
        ..PLAIN
    };
    let mut switch = switch(&parts);
    let mut ports = |op, a, b, c| {
        let sent = send(&mut switch, &frame(op, a, b, c));
        sent.iter()
            .map(|(port, data)| (*port, data[15]))
            .collect::<Vec<_>>()
    };
    let none: [(Port, u8); 0] = [];
    assert_eq!(ports(0, 0, 0, 0), none, "no port written");
    assert_eq!(ports(4, 0, 9, 0), [(0, 0xee)], "port 0 is a port");
    assert_eq!(ports(5, 0, 9, 0), none, "written, and then not any more");
    for (port, leaves) in [
        (2, true),
        (511, false),
        (72, false),
        (64, false),
        (130, true),
    ] {
        let expected = if leaves { vec![(port, 0xee)] } else { vec![] };
        assert_eq!(ports(1, 0, port, 0), expected, "port {port}");
    }
    for (drop_ctl, leaves) in [(1, false), (7, false), (2, true), (4, true)] {
        assert_eq!(
            ports(1, drop_ctl, 2, 0).len(),
            usize::from(leaves),
            "{drop_ctl}"
        );
        let at_egress = drop_ctl != 2;
        if at_egress {
            let sent = ports(2, 0, 2, drop_ctl.into());
            assert_eq!(sent.len(), usize::from(leaves), "egress {drop_ctl}");
        }
    }
    assert_eq!(
        ports(3, 0, 2, 0),
        [(2, 0)],
        "neither edited nor dropped by egress"
    );
}

// If this fails, what the CPU gets of a packet that bypasses egress has metadata in front: the SDE's
// tna_multicast, whose egress parser takes none of them, expects it as ingress made it.
#[test]
fn a_copy_for_the_cpu_bypasses_egress_too() {
    let mut switch = switch(&Parts {
        ingress: "apply {
            tm.ucast_egress_port = 2; tm.copy_to_cpu = 1; tm.bypass_egress = h.h.op[0:0];
        }",
        egress: "apply { h.h.a = 0xee; }",
        ..PLAIN
    });
    switch.set_cpu_port(Some(64), true);
    let mut sent = |op| {
        let mut sent = send(&mut switch, &frame(op, 0, 0, 0));
        sent.sort_unstable();
        let bytes = sent
            .iter()
            .map(|(port, data)| (*port, data[15], data.len()));
        bytes.collect::<Vec<_>>()
    };
    assert_eq!(sent(1), [(2, 0, 60), (64, 0, 60)]);
    assert_eq!(sent(0), [(2, 0xee, 60), (64, 0xee, 60)]);
}

// If this fails, a header whose fields the compiler may place, and which are not whole bytes, moves all
// that is behind it by some bits: tna_mirror of the SDE bridges such a header.
#[test]
fn headers_end_with_a_byte() {
    let own = text(&PLAIN)
        .replace("header tag_t { bit<8> x; }", "header tag_t { bit<8> x; @flexible bit<11> y; }")
        .replace(
            "apply { tm.ucast_egress_port = 2; }",
            "apply { tm.ucast_egress_port = 2; h.tag.setValid(); h.tag.x = 0x77; h.tag.y = 0x2bc; }",
        );
    let image = image_of(&own).expect("a program for TNA");
    let mut switch = Switch::new(Arc::new(image), Config::default()).expect("a switch");
    let sent = send(&mut switch, &frame(1, 2, 3, 4));
    let bridged = [&[0x77, 0x57, 0x80][..], &frame(1, 2, 3, 4)].concat();
    assert_eq!(sent, [(2, bridged)]);
}

// If this fails, traces do not say why a packet was lost.
#[test]
fn drops_have_reasons() {
    let mut switch = switch(&Parts {
        ingress: "apply { if (h.h.op == 1) { tm.ucast_egress_port = 77; } if (h.h.op == 2) { d.drop_ctl = 1; } }",
        ..PLAIN
    });
    let mut reason = |data: &[u8]| {
        let trace = switch.process_traced(Time::ZERO, 1, data, &mut |_: Port, _: &[u8]| {});
        match &trace.packets[0].fate {
            Some(Fate::Dropped { reason, .. }) => *reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason(&frame(0, 0, 0, 0)), Drop::NoTarget);
    assert_eq!(reason(&frame(1, 0, 0, 0)), Drop::BadPort { port: 77 });
    assert_eq!(reason(&frame(2, 0, 0, 0)), Drop::IngressDropCtl);
    assert_eq!(
        reason(&frame(0, 0, 0, 0)[..12]),
        Drop::ParserError { error: 0x22 }
    );
}

// If this fails, a resubmitted packet does not come back as it was, or comes back for ever.
#[test]
fn resubmission() {
    let mut switch = switch(&Parts {
        ingress: "Register<bit<32>, bit<8>>(16) r;
            RegisterAction<bit<32>, bit<8>, bit<32>>(r) count = {
                void apply(inout bit<32> x, out bit<32> o) { x = x + 1; o = x; } };
            apply {
                tm.ucast_egress_port = 2;
                h.h.c = count.execute(h.h.a);
                h.h.b = m.again[15:0];
                h.h.op = h.h.op + 1;
                d.resubmit_type = 1;
                m.again = 0x1122334455667788;
                if (h.h.a == 9) { d.drop_ctl = 1; }
            }",
        deparser: "Resubmit() resubmit;
            apply {
                if (d.resubmit_type == 1) { resubmit.emit<data_t>({ m.again }); }
                p.emit(h);
            }",
        ..PLAIN
    });
    // The edits of the first pass are lost, its register is not; the second one cannot resubmit.
    let expected = frame(8, 3, 0x7788, 2);
    assert_eq!(send(&mut switch, &frame(7, 3, 0, 0)), [(2, expected)]);
    // Bit 0 of drop_ctl drops the packet and its resubmission.
    assert_eq!(send(&mut switch, &frame(7, 9, 0, 0)), []);
    assert_eq!(switch.state().read_register("r", 9).unwrap(), 1u8.into());
}

const MIRRORED: Parts<'static> = Parts {
    ingress: "apply {
        h.h.c = 0xffffffff;
        if (h.h.op != 2) { tm.ucast_egress_port = 2; }
        d.mirror_type = 1;
        m.tag = 0x77;
        d.drop_ctl = h.h.a[2:0];
    }",
    deparser: "Mirror() mirror;
        apply {
            if (d.mirror_type == 1) { mirror.emit<tag_t>(5, { m.tag }); }
            p.emit(h);
        }",
    egress: "apply {
        if (h.tag.isValid()) { h.tag.setInvalid(); h.h.op = 0xaa; }
        else if (h.h.b == 1) { d.mirror_type = 2; m.tag = 0x77; d.drop_ctl = 1; }
        h.h.b = h.h.b + 1;
    }",
    egress_deparser: "Mirror() mirror;
        apply {
            if (d.mirror_type == 2) { mirror.emit<tag_t>(6, { m.tag }); }
            p.emit(h);
        }",
    ..PLAIN
};

// If this fails, mirrors copy the wrong packet: ingress copies what came in, egress what leaves.
#[test]
fn mirrors() {
    let mut switch = switch(&MIRRORED);
    switch
        .write(&[session(5, 3, None), session(6, 4, None)])
        .unwrap();
    let both = [(3, frame(0xaa, 0, 8, 5)), (2, frame(1, 0, 8, 0xffff_ffff))];
    assert_eq!(send(&mut switch, &frame(1, 0, 7, 5)), both);
    // A packet that goes nowhere, or is dropped, is mirrored; bit 2 of drop_ctl forbids it.
    assert_eq!(
        send(&mut switch, &frame(2, 0, 7, 5)),
        [(3, frame(0xaa, 0, 8, 5))]
    );
    assert_eq!(
        send(&mut switch, &frame(1, 1, 7, 5)),
        [(3, frame(0xaa, 1, 8, 5))]
    );
    assert_eq!(
        send(&mut switch, &frame(1, 4, 7, 5)),
        [(2, frame(1, 4, 8, 0xffff_ffff))]
    );
    // Egress mirrors the packet that it has changed, and may drop the packet itself.
    let copies = [
        (3, frame(0xaa, 0, 2, 5)),
        (4, frame(0xaa, 0, 3, 0xffff_ffff)),
    ];
    assert_eq!(send(&mut switch, &frame(1, 0, 1, 5)), copies);
}

// If this fails, mirrors of long packets flood the collector, or lose their last bytes.
#[test]
fn mirrors_are_cut() {
    let mut switch = switch(&MIRRORED);
    switch.write(&[session(5, 3, Some(40))]).unwrap();
    let sent = send(&mut switch, &frame(2, 0, 7, 5));
    // 40 bytes with the header of one byte, which egress takes off
    assert_eq!(sent, [(3, frame(0xaa, 0, 8, 5)[..39].to_vec())]);
    switch.write(&[session(5, 3, Some(61))]).unwrap();
    assert_eq!(
        send(&mut switch, &frame(2, 0, 7, 5)),
        [(3, frame(0xaa, 0, 8, 5))]
    );
}

// If this fails, listeners get no copy, or the sender gets its own back.
#[test]
fn multicast() {
    let mut switch = switch(&Parts {
        ingress: "apply {
            if (h.h.op == 1) { tm.ucast_egress_port = 9; }
            tm.mcast_grp_a = h.h.b;
            if (h.h.a != 0) { tm.mcast_grp_b = (bit<16>)h.h.a; }
            tm.rid = 5; tm.level2_exclusion_id = 1; tm.level1_exclusion_id = 7;
        }",
        egress: "apply { h.h.b = eg.egress_rid; h.h.a = (bit<8>)eg.egress_rid_first; h.h.c = (bit<32>)eg.egress_port; }",
        ..PLAIN
    });
    let replica = |port, rid| Replica { port, rid };
    let replicas = Some(vec![replica(3, 5), replica(4, 5), replica(6, 8)]);
    switch
        .write(&[Update::SetGroup {
            group: 10,
            replicas,
        }])
        .unwrap();
    let node = |rid, xid, ports: &[Port]| {
        vec![Node {
            rid,
            xid,
            ports: ports.to_vec(),
            ..Node::default()
        }]
    };
    switch.set_group(
        20,
        Some(vec![node(1, Some(7), &[5]), node(2, Some(8), &[6, 7])]),
    );
    let mut copies = |op, a, b| {
        let sent = send(&mut switch, &frame(op, a, b, 0));
        sent.iter()
            .map(|(port, data)| (*port, data[15], data[17]))
            .collect::<Vec<_>>()
    };
    assert_eq!(copies(0, 0, 10), [(3, 1, 5), (4, 0, 5), (6, 1, 8)]);
    // Both groups, without the node that the packet excludes, and unicast beside them
    assert_eq!(
        copies(1, 20, 10),
        [
            (3, 1, 5),
            (4, 0, 5),
            (6, 1, 8),
            (6, 1, 2),
            (7, 0, 2),
            (9, 0, 0)
        ]
    );
    assert_eq!(copies(0, 0, 99), []);
    switch.set_pruning(1, p4_arch::tna::Pruning { ports: vec![3, 6] });
    let sent = send(&mut switch, &frame(0, 0, 10, 0));
    let ports: Vec<Port> = sent.iter().map(|(port, _)| *port).collect();
    assert_eq!(
        ports,
        [4, 6],
        "pruned at the node with the packet's rid alone"
    );
}

// If this fails, sampling and learning lose packets, or the control plane hears nothing.
#[test]
fn digests_leave_the_packet_alone() {
    let mut switch = switch(&Parts {
        ingress: "apply { tm.ucast_egress_port = 2; if (h.h.op == 1) { d.digest_type = 1; } }",
        deparser: "Digest<h_t>() digest;
            apply {
                if (d.digest_type == 1) { digest.pack(h.h); }
                p.emit(h);
            }",
        ..PLAIN
    });
    for op in [0, 1] {
        let data = frame(op, 2, 3, 4);
        assert_eq!(send(&mut switch, &data), [(2, data)]);
    }
    let digests = switch.take_digests();
    assert_eq!(digests.len(), 1);
    assert_eq!(digests[0].fields, [[1], [2], [3], [4]]);
}

/// Counts its passes in `op` and its ports in `b`, until it has made `a` of them.
const ROUND: Parts<'static> = Parts {
    ingress: "apply {
        h.h.op = h.h.op + 1;
        h.h.b = (bit<16>)ig.ingress_port;
        if (h.h.op == h.h.a) { tm.ucast_egress_port = 2; }
        else { tm.ucast_egress_port = h.h.c[8:0]; }
    }",
    ..PLAIN
};

// If this fails, recirculation does not come back where it should: to ingress of the same port.
#[test]
fn looped_ports() {
    let mut switch = switch(&ROUND);
    assert_eq!(
        send(&mut switch, &frame(0, 3, 0, 68)),
        [(2, frame(3, 3, 68, 68))]
    );
    assert_eq!(
        send(&mut switch, &frame(0, 2, 0, 196)),
        [(2, frame(2, 2, 196, 196))]
    );
    assert_eq!(
        send(&mut switch, &frame(0, 2, 0, 9)),
        [(9, frame(1, 2, 1, 9))]
    );
    switch.set_loop(9, Some(LoopConfig::default()));
    assert_eq!(
        send(&mut switch, &frame(0, 2, 0, 9)),
        [(2, frame(2, 2, 9, 9))]
    );
    switch.set_loop(9, None);
    assert_eq!(send(&mut switch, &frame(0, 2, 0, 9)).len(), 1);
    // A loop without an end is ended.
    let config = Config {
        max_passes: 10,
        ..Config::default()
    };
    let image = image(&ROUND).expect("a program for TNA");
    let mut switch = Switch::new(Arc::new(image), config).expect("a switch");
    assert_eq!(send(&mut switch, &frame(0, 0, 0, 68)), []);
    assert_eq!(switch.stats().too_many_passes, 1);
    assert_eq!(switch.stats().recirculated, 10);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// If this fails, a recirculation port has another rate or another queue than it was given. The
    /// oracle is the queue's own definition: bytes in, bytes out at a constant rate, tail drop.
    #[test]
    fn a_looped_port_has_its_rate(
        gaps in prop::collection::vec(0u64..40_000, 1..60),
        queue in 100u64..2_000,
        rate in 1_000_000_000u64..100_000_000_000,
    ) {
        let mut switch = switch(&ROUND);
        let overhead = 24;
        let config = LoopConfig { rate: Some(rate), queue, overhead, ..LoopConfig::default() };
        switch.set_loop(70, Some(config));
        let on_wire = 60 + overhead;
        let time = (u128::from(on_wire) * 8 * 1_000_000_000_000).div_ceil(rate.into()) as u64;
        // A packet takes 64 bytes while it waits.
        let (mut now, mut free_at, mut starts, mut expected) = (0u64, 0u64, Vec::new(), Vec::new());
        let mut got = Vec::new();
        for gap in &gaps {
            now += gap;
            while let Some(next) = switch.next_departure().filter(|next| next.picos() <= now) {
                switch.advance(next, &mut |port: Port, _: &[u8]| got.push((next.picos(), port)));
            }
            let waiting = starts.iter().filter(|start| **start > now).count() as u64;
            if (waiting + 1) * 64 <= queue {
                let start = now.max(free_at);
                free_at = start + time;
                starts.push(start);
                expected.push((free_at, 2));
            }
            let sent = send_at(&mut switch, now, 1, &frame(0, 2, 0, 70));
            prop_assert_eq!(sent, []);
        }
        while let Some(next) = switch.next_departure() {
            switch.advance(next, &mut |port: Port, _: &[u8]| got.push((next.picos(), port)));
        }
        prop_assert_eq!(got, expected);
        let stats = switch.loop_stats(70).expect("it is looped");
        prop_assert_eq!(stats.offered, gaps.len() as u64);
        prop_assert_eq!(stats.dropped + stats.returned, stats.offered);
    }
}

// If this fails, a bundle of cables loses packets as soon as one of them is cut.
#[test]
fn a_lag_passes_over_ports_that_are_down() {
    let mut switch = switch(&Parts {
        ingress: "apply { tm.mcast_grp_a = 9; tm.level2_mcast_hash = (bit<13>)h.h.b; }",
        ..PLAIN
    });
    let node = Node {
        rid: 1,
        lags: vec![4],
        ..Node::default()
    };
    switch.set_group(9, Some(vec![vec![node]]));
    let lag = p4_arch::tna::Lag {
        ports: vec![7, 5, 6],
        ..Default::default()
    };
    switch.set_lag(4, lag);
    let taken = |switch: &mut Switch| -> Vec<Port> {
        let sent = (0..6).flat_map(|hash| send(switch, &frame(0, 0, hash, 0)));
        sent.map(|(port, _)| port).collect()
    };
    // Members count in the order of their ports.
    assert_eq!(taken(&mut switch), [5, 6, 7, 5, 6, 7]);
    switch.port_down(Time::ZERO, 6);
    assert_eq!(taken(&mut switch), [5, 7, 7, 5, 5, 7]);
    switch.port_down(Time::ZERO, 5);
    switch.port_down(Time::ZERO, 7);
    assert_eq!(
        taken(&mut switch),
        [5, 6, 7, 5, 6, 7],
        "all are down: as if none were"
    );
    switch.port_up(6);
    assert_eq!(taken(&mut switch), [6, 6, 6, 6, 6, 6]);
}

// If this fails, a session that the control plane has shut still copies packets, or one with several
// targets serves but one.
#[test]
fn sessions_with_all_their_fields() {
    use p4_arch::tna::{Direction, MirrorSession};
    let mut switch = switch(&MIRRORED);
    let copies = |switch: &mut Switch| -> Vec<Port> {
        let sent = send(switch, &frame(2, 0, 7, 5));
        sent.into_iter().map(|(port, _)| port).collect()
    };
    let session = MirrorSession {
        port: Some(3),
        ..MirrorSession::default()
    };
    switch.set_mirror(5, Some(session));
    assert_eq!(copies(&mut switch), [3]);
    let disabled = MirrorSession {
        enabled: false,
        ..session
    };
    switch.set_mirror(5, Some(disabled));
    assert_eq!(copies(&mut switch), []);
    let egress = MirrorSession {
        direction: Direction::Egress,
        ..session
    };
    switch.set_mirror(5, Some(egress));
    assert_eq!(copies(&mut switch), []);
    let node = |rid, xid, ports: &[Port]| {
        let ports = ports.to_vec();
        vec![Node {
            rid,
            xid,
            ports,
            ..Node::default()
        }]
    };
    switch.set_group(20, Some(vec![node(1, Some(7), &[5]), node(2, None, &[6])]));
    switch.set_group(21, Some(vec![node(3, None, &[8])]));
    switch.set_cpu_port(Some(64), true);
    let everywhere = MirrorSession {
        groups: [Some(20), Some(21)],
        exclusions: [7, 0],
        copy_to_cpu: true,
        ..session
    };
    switch.set_mirror(5, Some(everywhere));
    assert_eq!(copies(&mut switch), [6, 8, 64, 3]);
    // Without one of its own, the neutral session of the number holds.
    switch.set_mirror(5, None);
    assert_eq!(copies(&mut switch), []);
    switch.write(&[support::session(5, 4, None)]).unwrap();
    assert_eq!(copies(&mut switch), [4]);
}

// If this fails, what a program puts into a better queue waits behind everything else.
#[test]
fn packets_leave_with_their_queue() {
    let mut switch = switch(&Parts {
        ingress: "apply {
            tm.qid = (QueueId_t)h.h.a;
            if (h.h.op == 0) { tm.ucast_egress_port = 2; } else { tm.mcast_grp_a = 9; }
        }",
        ..PLAIN
    });
    let node = Node {
        ports: vec![3, 4],
        ..Node::default()
    };
    switch.set_group(9, Some(vec![vec![node]]));
    let mut out = Priorities::default();
    for (op, queue) in [(0, 5), (1, 31), (0, 0)] {
        switch.process(Time::ZERO, 1, &frame(op, queue, 0, 0), &mut out);
    }
    assert_eq!(out.0, [(2, 5), (3, 31), (4, 31), (2, 0)]);
}
