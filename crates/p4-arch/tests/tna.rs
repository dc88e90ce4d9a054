//! What the TNA switch does between the blocks and with its externs. Expected packets are written by
//! hand after what the real model was seen to do.

use p4_arch::tna::{App, Config, Image, LoopConfig, Node, Switch, Tna, Trigger};
use p4_arch::{Drop, Fate, Port, Time};
use p4_state::{CloneSession, Replica, Update};
use proptest::prelude::*;
use std::sync::Arc;

/// A program with one header of 8 bytes, `h`, behind 14 of Ethernet, and a bridged byte `b`.
struct Parts {
    ingress: &'static str,
    deparser: &'static str,
    egress: &'static str,
    egress_deparser: &'static str,
    parser: &'static str,
}

const PLAIN: Parts = Parts {
    ingress: "apply { tm.ucast_egress_port = 2; }",
    deparser: "apply { p.emit(h); }",
    egress: "apply { }",
    egress_deparser: "apply { p.emit(h); }",
    parser: "",
};

fn text(parts: &Parts) -> String {
    let Parts {
        ingress,
        deparser,
        egress,
        egress_deparser,
        parser,
    } = parts;
    format!(
        "#include <core.p4>
         #include <tna.p4>
         header eth_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
         header h_t {{ bit<8> op; bit<8> a; bit<16> b; bit<32> c; }}
         header data_t {{ bit<64> x; }}
         header tag_t {{ bit<8> x; }}
         struct headers {{ tag_t tag; eth_t eth; h_t h; }}
         struct meta {{ bit<64> again; bit<8> tag; }}
         parser IP(packet_in p, out headers h, out meta m, out ingress_intrinsic_metadata_t ig) {{
             data_t data;
             Checksum() sum;
             state start {{
                 m.again = 0; m.tag = 0;
                 p.extract(ig);
                 transition select(ig.resubmit_flag) {{ 1: again; default: port; }}
             }}
             state again {{ p.extract(data); m.again = data.x; transition rest; }}
             state port {{ p.advance(PORT_METADATA_SIZE); transition rest; }}
             state rest {{ p.extract(h.eth); p.extract(h.h); {parser} transition accept; }}
         }}
         control I(inout headers h, inout meta m, in ingress_intrinsic_metadata_t ig,
                   in ingress_intrinsic_metadata_from_parser_t pr,
                   inout ingress_intrinsic_metadata_for_deparser_t d,
                   inout ingress_intrinsic_metadata_for_tm_t tm) {{ {ingress} }}
         control ID(packet_out p, inout headers h, in meta m,
                    in ingress_intrinsic_metadata_for_deparser_t d) {{ {deparser} }}
         parser EP(packet_in p, out headers h, out meta m, out egress_intrinsic_metadata_t eg) {{
             state start {{
                 m.again = 0; m.tag = 0;
                 p.extract(eg);
                 transition select(p.lookahead<bit<8>>()) {{ 0x77: tagged; default: rest; }}
             }}
             state tagged {{ p.extract(h.tag); transition rest; }}
             state rest {{ p.extract(h.eth); p.extract(h.h); transition accept; }}
         }}
         control E(inout headers h, inout meta m, in egress_intrinsic_metadata_t eg,
                   in egress_intrinsic_metadata_from_parser_t pr,
                   inout egress_intrinsic_metadata_for_deparser_t d,
                   inout egress_intrinsic_metadata_for_output_port_t o) {{ {egress} }}
         control ED(packet_out p, inout headers h, in meta m,
                    in egress_intrinsic_metadata_for_deparser_t d) {{ {egress_deparser} }}
         Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
         Switch(pipe) main;"
    )
}

fn image(parts: &Parts) -> Result<Image, String> {
    let parsed = p4_syntax::parse_text("t.p4", &text(parts));
    let checked = p4_check::check(&parsed.program);
    let diagnostics = [parsed.diagnostics.clone(), checked.diagnostics.clone()].concat();
    assert_eq!(diagnostics, [], "{}", text(parts));
    let program = p4_ir::lower::lower(&checked, &Tna).map_err(|errors| format!("{errors:?}"))?;
    Image::new(Arc::new(program)).map_err(|error| error.to_string())
}

fn switch(parts: &Parts) -> Switch {
    let image = image(parts).expect("a program for TNA");
    Switch::new(Arc::new(image), Default::default()).expect("a switch")
}

/// 60 bytes: Ethernet, then the fields of `h`, then something.
fn frame(op: u8, a: u8, b: u16, c: u32) -> Vec<u8> {
    let mut frame = vec![0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 9, 0x12, 0x34, op, a];
    frame.extend_from_slice(&b.to_be_bytes());
    frame.extend_from_slice(&c.to_be_bytes());
    frame.extend(0x40..0x40 + 38);
    frame
}

fn send_at(switch: &mut Switch, time: u64, port: Port, data: &[u8]) -> Vec<(Port, Vec<u8>)> {
    let mut out = Vec::new();
    let mut sink = |port: Port, data: &[u8]| out.push((port, data.to_vec()));
    switch.process(Time::from_picos(time), port, data, &mut sink);
    out
}

fn send(switch: &mut Switch, data: &[u8]) -> Vec<(Port, Vec<u8>)> {
    send_at(switch, 0, 1, data)
}

fn session(session: u32, port: Port, truncate: Option<u32>) -> Update {
    let port = Some(port);
    let to = CloneSession {
        group: None,
        port,
        truncate,
    };
    let to = Some(to);
    Update::SetSession { session, to }
}

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

const MIRRORED: Parts = Parts {
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
const ROUND: Parts = Parts {
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

// If this fails, probes and hellos that the chip sends by itself come at the wrong time.
#[test]
fn generated_packets() {
    let mut switch = switch(&Parts {
        ingress: "apply { tm.ucast_egress_port = 2; h.h.b = (bit<16>)ig.ingress_port; }",
        ..PLAIN
    });
    let app = App {
        pipe: 1,
        id: 3,
        trigger: Trigger::Periodic(1_000),
        packet: frame(0, 0, 0, 0),
        source: 68,
        next_source: false,
        batches: 1,
        packets_per_batch: 2,
        batch_gap: 0,
        packet_gap: 10,
    };
    switch.set_generator(Time::ZERO, app.clone());
    let mut got = Vec::new();
    switch.advance(Time::from_nanos(2_005), &mut |port: Port, data: &[u8]| {
        got.push((port, data[..6].to_vec()))
    });
    // pipe 1 and application 3, nothing, batch 0, then the packet's number
    let header = |packet| vec![0x0b, 0, 0, 0, 0, packet];
    assert_eq!(got, [(2, header(0)), (2, header(1)), (2, header(0))]);
    switch.set_generator(
        Time::ZERO,
        App {
            trigger: Trigger::PortDown,
            packets_per_batch: 1,
            ..app
        },
    );
    assert_eq!(switch.next_departure(), None);
    switch.port_down(Time::from_nanos(3_000), 5);
    assert_eq!(switch.next_departure(), None, "a port of another pipe");
    switch.port_down(Time::from_nanos(3_000), 133);
    let mut got = Vec::new();
    switch.advance(Time::from_nanos(3_000), &mut |_: Port, data: &[u8]| {
        got.push(data[..6].to_vec())
    });
    assert_eq!(got, [vec![0x0b, 0, 0, 133, 0, 0]]);
}

// If this fails, IPv4 programs drop good packets or send bad ones. RFC 1071.
#[test]
fn checksums() {
    let mut switch = switch(&Parts {
        parser: "sum.add(h.h); m.tag = (bit<8>)(bit<1>)sum.verify();",
        ingress: "apply { tm.ucast_egress_port = 2; h.h.op = m.tag; h.h.a = h.h.a - 1; }",
        deparser:
            "Checksum() sum; apply { h.h.b = sum.update({ h.h.op, h.h.a, h.h.c }); p.emit(h); }",
        ..PLAIN
    });
    // 0x0102 + 0x0304 + 0x0506 = 0x090c, and its complement
    let good = send(&mut switch, &frame(1, 2, 0xf6f3, 0x0304_0506));
    // 0x0001 + 0x0304 + 0x0506 = 0x080b
    assert_eq!(good, [(2, frame(0, 1, 0xf7f4, 0x0304_0506))]);
    let bad = send(&mut switch, &frame(1, 2, 0xf6f2, 0x0304_0506));
    assert_eq!(bad, [(2, frame(1, 1, 0xf6f4, 0x0304_0506))]);
}

// If this fails, programs are refused without a word on what to do, or are run wrongly.
#[test]
fn what_is_not_executed_is_said() {
    let refused = |ingress| image(&Parts { ingress, ..PLAIN }).err().unwrap_or_default();
    let unit = refused("MathUnit<bit<32>>(MathOp_t.DIV, 1, 0) unit; apply { tm.ucast_egress_port = 2; h.h.c = unit.execute(h.h.c); }");
    assert!(unit.contains("MathUnit"), "{unit}");
    let custom = refused(
        "Hash<bit<16>>(HashAlgorithm_t.CUSTOM) hash; apply { h.h.b = hash.get({ h.h.c }); }",
    );
    assert!(custom.contains("CRCPolynomial"), "{custom}");
}

/// Everything that has come out until then, as (port, first bytes).
fn until(switch: &mut Switch, nanos: u64, bytes: usize) -> Vec<(Port, Vec<u8>)> {
    let mut got = Vec::new();
    switch.advance(Time::from_nanos(nanos), &mut |port: Port, data: &[u8]| {
        got.push((port, data[..bytes].to_vec()))
    });
    got
}

fn app(trigger: Trigger) -> App {
    App {
        pipe: 0,
        id: 2,
        trigger,
        packet: frame(0, 0, 0, 0),
        source: 68,
        next_source: false,
        batches: 1,
        packets_per_batch: 1,
        batch_gap: 0,
        packet_gap: 0,
    }
}

// If this fails, a program that answers to its own recirculated packets never hears of them, or an
// application that triggers itself hangs the switch.
#[test]
fn a_packet_that_comes_back_triggers_others() {
    let mut switch = switch(&Parts {
        ingress: "apply {
            if (h.eth.dst[47:40] == 0x02) { tm.ucast_egress_port = 2; }
            else if (ig.ingress_port == 1) { tm.ucast_egress_port = 69; }
            else { tm.ucast_egress_port = 3; }
        }",
        ..PLAIN
    });
    let trigger = Trigger::Recirculation {
        pattern: 0x00ab_cd00,
        mask: 0xffff_ff00,
    };
    switch.set_generator(
        Time::ZERO,
        App {
            batches: 2,
            packets_per_batch: 2,
            ..app(trigger)
        },
    );
    let mut packet = frame(0, 0, 0, 0);
    packet[..4].copy_from_slice(&[0, 0xab, 0xcd, 0xfe]);
    let sent = send(&mut switch, &packet);
    // The packet itself, then two batches of two: application 2, the key, the batch added to it.
    let header = |batch: u8, packet| vec![2, 0xab, 0xcd, 0xfe + batch, 0, packet];
    let first: Vec<Vec<u8>> = sent.iter().map(|(_, data)| data[..6].to_vec()).collect();
    assert_eq!(sent[0], (3, packet.clone()));
    let expected = [header(0, 0), header(0, 1), header(1, 0), header(1, 1)];
    assert_eq!(first[1..], expected);
    assert!(sent[1..].iter().all(|(port, _)| *port == 2));
    let counts = switch.generator_counts(0, 2).expect("an application");
    assert_eq!((counts.triggers, counts.batches, counts.packets), (1, 2, 4));
    packet[1] = 0xac;
    assert_eq!(
        send(&mut switch, &packet),
        [(3, packet.clone())],
        "another pattern"
    );

    // Every packet that it sends comes back and triggers it anew, in no time.
    let everything = Trigger::Recirculation {
        pattern: 0,
        mask: 0,
    };
    let around = Parts {
        ingress: "apply { tm.ucast_egress_port = 69; d.drop_ctl = h.eth.dst[2:0]; }",
        ..PLAIN
    };
    let config = Config {
        max_packets: 100,
        max_passes: 10,
        ..Config::default()
    };
    let image = image(&around).expect("a program for TNA");
    let mut switch = Switch::new(Arc::new(image), config).expect("a switch");
    switch.set_generator(Time::ZERO, app(everything));
    send(&mut switch, &frame(0, 0, 0, 0));
    assert!(switch.stats().too_many_packets >= 1);
    switch.remove_generator(0, 2);
    assert_eq!(switch.next_departure(), None);
}

// If this fails, one of two ports that go down at the same time is never heard of.
#[test]
fn two_ports_go_down_at_once() {
    let mut switch = switch(&Parts {
        ingress: "apply { tm.ucast_egress_port = 2; }",
        ..PLAIN
    });
    switch.set_generator(
        Time::ZERO,
        App {
            packets_per_batch: 2,
            packet_gap: 10,
            next_source: true,
            ..app(Trigger::PortDown)
        },
    );
    switch.port_down(Time::from_nanos(5), 7);
    switch.port_down(Time::from_nanos(5), 9);
    let header = |port, packet| (2, vec![2, 0, 0, port, 0, packet]);
    let expected = [header(7, 0), header(7, 1), header(9, 0), header(9, 1)];
    assert_eq!(until(&mut switch, 100, 6), expected);
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
    let ports = vec![7, 5, 6];
    switch.set_lag(4, p4_arch::tna::Lag { ports });
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
    switch.write(&[self::session(5, 4, None)]).unwrap();
    assert_eq!(copies(&mut switch), [4]);
}

/// A program of which `text` makes other pipelines than one.
fn image_of(text: &str) -> Image {
    let parsed = p4_syntax::parse_text("t.p4", text);
    let checked = p4_check::check(&parsed.program);
    let diagnostics = [parsed.diagnostics.clone(), checked.diagnostics.clone()].concat();
    assert_eq!(diagnostics, [], "{text}");
    let program = p4_ir::lower::lower(&checked, &Tna).expect("code");
    Image::new(Arc::new(program)).expect("a program for TNA")
}

const LAST: &str = "Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;\n         Switch(pipe) main;";

// If this fails, a chip whose pipes run different programs runs one of them in all, or mixes what
// their tables and metadata hold.
#[test]
fn pipes_with_programs_of_their_own() {
    let parts = Parts {
        ingress: "action to(PortId_t port) { tm.ucast_egress_port = port; }
            table t { key = { h.h.op: exact; } actions = { to; NoAction; } const default_action = NoAction(); }
            apply { t.apply(); h.h.a = 1; }",
        egress: "apply { h.h.b = (bit<16>)eg.egress_port; }",
        ..PLAIN
    };
    let second = "struct meta2 { bit<16> other; bit<128> wide; }
         control I2(inout headers h, inout meta2 m, in ingress_intrinsic_metadata_t ig,
                   in ingress_intrinsic_metadata_from_parser_t pr,
                   inout ingress_intrinsic_metadata_for_deparser_t d,
                   inout ingress_intrinsic_metadata_for_tm_t tm) {
             apply { h.h.a = 2; h.h.c = (bit<32>)pr.parser_err; tm.ucast_egress_port = 3; }
         }
         parser IP2(packet_in p, out headers h, out meta2 m, out ingress_intrinsic_metadata_t ig) {
             state start { p.extract(ig); p.advance(PORT_METADATA_SIZE); p.extract(h.eth); p.extract(h.h); transition accept; }
         }
         control ID2(packet_out p, inout headers h, in meta2 m,
                    in ingress_intrinsic_metadata_for_deparser_t d) { apply { p.emit(h); } }
         Pipeline(IP(), I(), ID(), EP(), E(), ED()) one;
         Pipeline(IP2(), I2(), ID2(), EP(), E(), ED()) two;
         Switch(one, two, one) main;";
    let text = text(&parts).replace(LAST, second);
    let mut switch = Switch::new(Arc::new(image_of(&text)), Config::default()).expect("a switch");
    let to = |port: u32| p4_state::ActionSpec {
        name: "to".to_string(),
        args: p4_state::Args::InOrder(vec![port.into()]),
    };
    let key = |table: &str| p4_state::EntryKey {
        table: table.to_string(),
        matches: vec![("h.h.op".to_string(), p4_state::Match::Exact(7u32.into()))],
        priority: 0,
    };
    let target = p4_state::Target::Action(to(130));
    let entry = p4_state::Entry {
        key: key("one.I.t"),
        target,
    };
    switch.write(&[Update::Insert(entry)]).unwrap();
    // Pipe 0 and pipe 2 run the first program, pipe 1 the second; egress is that of the port's pipe.
    let first = [(130, frame(7, 1, 130, 5))];
    assert_eq!(send_at(&mut switch, 0, 1, &frame(7, 0, 0, 5)), first);
    assert_eq!(send_at(&mut switch, 0, 257, &frame(7, 0, 0, 5)), first);
    assert_eq!(
        send_at(&mut switch, 0, 129, &frame(7, 0, 0, 5)),
        [(3, frame(7, 2, 3, 0))]
    );
    // The second reads parser_err, so short packets reach it; the first drops them.
    let short = &frame(7, 0, 0, 5)[..16];
    assert_eq!(send_at(&mut switch, 0, 1, short), []);
    assert_eq!(send_at(&mut switch, 0, 129, short).len(), 1);
    // Pipe 3 has no program.
    assert_eq!(send_at(&mut switch, 0, 385, &frame(7, 0, 0, 5)), []);
    assert_eq!(switch.stats().bad_port, 1);
}

// If this fails, ports whose packets begin with a header of their own are parsed like all others.
#[test]
fn parsers_by_port() {
    let several =
        "parser IQ(packet_in p, out headers h, out meta m, out ingress_intrinsic_metadata_t ig) {
             state start {
                 p.extract(ig); p.advance(PORT_METADATA_SIZE); p.extract(h.tag);
                 p.extract(h.eth); p.extract(h.h); transition accept;
             }
         }
         IngressParsers(IP(), IQ()) ingress;
         EgressParsers(EP()) egress;
         MultiParserPipeline(ingress, I(), ID(), egress, E(), ED()) pipe;
         MultiParserSwitch(pipe) main;";
    let text = text(&PLAIN).replace(LAST, several);
    let mut switch = Switch::new(Arc::new(image_of(&text)), Config::default()).expect("a switch");
    let mut tagged = vec![0x77];
    tagged.extend(frame(1, 0, 0, 0));
    let plain = frame(1, 0, 0, 0);
    for port in [0, 3, 8, 63] {
        assert_eq!(send_at(&mut switch, 0, port, &plain), [(2, plain.clone())]);
    }
    for port in [4, 7] {
        assert_eq!(
            send_at(&mut switch, 0, port, &tagged),
            [(2, tagged.clone())]
        );
    }
}

// If this fails, a program that counts on one register for all ports works here and not on the chip.
#[test]
fn every_pipe_has_registers_and_meters_of_its_own() {
    let mut switch = switch(&Parts {
        ingress: "Register<bit<32>, bit<8>>(16, 5) r;
            RegisterAction<bit<32>, bit<8>, bit<32>>(r) next = {
                void apply(inout bit<32> cell, out bit<32> now) { cell = cell + 1; now = cell; }
            };
            Meter<bit<8>>(16, MeterType_t.PACKETS) meter;
            apply {
                h.h.c = next.execute(h.h.op);
                h.h.a = meter.execute(h.h.op);
                tm.ucast_egress_port = 2;
            }",
        ..PLAIN
    });
    let cell = |switch: &mut Switch, port| {
        let sent = send_at(switch, 0, port, &frame(3, 0, 0, 0));
        (sent[0].1[15], sent[0].1[21])
    };
    assert_eq!(cell(&mut switch, 1), (0, 6));
    assert_eq!(cell(&mut switch, 1), (0, 7));
    assert_eq!(cell(&mut switch, 129), (0, 6));
    let read = |switch: &Switch, pipe| switch.read_register("r", 3, pipe).expect("a cell");
    assert_eq!(
        [0, 1, 2, 3].map(|pipe| read(&switch, pipe)),
        [7u32, 6, 5, 5].map(Into::into)
    );
    assert!(switch.read_register("r", 3, 4).is_err());
    // The control plane sets all of them: four packets once, and then no more.
    let rates = p4_state::MeterConfig {
        committed_rate: 0,
        committed_burst: 1,
        peak_rate: 0,
        peak_burst: 1,
    };
    let index = Some(3);
    let batch = [
        Update::SetRegister {
            register: "r".to_string(),
            index,
            value: 40u32.into(),
        },
        Update::SetMeter {
            meter: "meter".to_string(),
            index,
            config: Some(rates),
        },
    ];
    switch.write(&batch).unwrap();
    for port in [1, 129, 257, 385] {
        assert_eq!(cell(&mut switch, port), (0, 41));
        assert_eq!(cell(&mut switch, port), (3, 42));
    }
}

// If this fails, programs that age what they measure, or drop early, run as if they did not.
#[test]
fn filters_and_the_math_unit() {
    use p4_arch::tna::{LpfConfig, Mode, WredConfig};
    let mut switch = switch(&Parts {
        ingress: "Lpf<bit<32>, bit<8>>(16) mean;
            Wred<bit<32>, bit<8>>(16, 9, 1) early;
            MathUnit<bit<32>>(MathOp_t.SQRT, 1) root;
            Register<bit<32>, bit<8>>(16) r;
            RegisterAction<bit<32>, bit<8>, bit<32>>(r) rooted = {
                void apply(inout bit<32> cell, out bit<32> now) { cell = root.execute(h.h.c); now = cell; }
            };
            apply {
                bit<32> given = h.h.c;
                if (h.h.op == 16) { h.h.c = rooted.execute(0); }
                else { h.h.c = mean.execute(given, h.h.op); }
                h.h.a = early.execute(given, h.h.op);
                tm.ucast_egress_port = 2;
            }",
        ..PLAIN
    });
    let send = |switch: &mut Switch, micros: u64, port, op, value| {
        let sent = send_at(switch, micros * 1_000_000, port, &frame(op, 0, 0, value));
        let data = &sent[0].1;
        (
            data[15],
            u32::from_be_bytes([data[18], data[19], data[20], data[21]]),
        )
    };
    // Without a configuration what comes goes, and nothing is dropped.
    assert_eq!(send(&mut switch, 0, 1, 3, 700), (1, 700));
    let config = LpfConfig {
        mode: Mode::Sample,
        rise: 1_000,
        fall: 1_000,
        scale_down: 0,
    };
    switch.set_lpf("mean", Some(3), Some(config)).unwrap();
    let early = WredConfig {
        time_constant: 1,
        least: 10,
        most: 1_000,
        probability: 0,
    };
    switch.set_wred("I.early", None, Some(early)).unwrap();
    assert_eq!(send(&mut switch, 1, 1, 3, 1_000), (1, 1_000));
    assert_eq!(send(&mut switch, 2, 1, 3, 2_000), (9, 1_632));
    assert_eq!(
        send(&mut switch, 2, 1, 4, 5),
        (1, 5),
        "another cell has no mean"
    );
    assert_eq!(send(&mut switch, 3, 129, 3, 50), (1, 50), "another pipe");
    // The type of the index reaches further than the size. The root of 10000, from four bits of it:
    // 16 * 8 * sqrt(4/8).
    assert_eq!(send(&mut switch, 4, 1, 16, 10_000), (9, 91));
    assert!(switch.set_lpf("early", None, None).is_err());
    let upside_down = WredConfig {
        least: 5,
        most: 5,
        ..early
    };
    assert!(switch.set_wred("early", None, Some(upside_down)).is_err());
}

/// Keeps port and priority of what is sent.
#[derive(Default)]
struct Priorities(Vec<(Port, u8)>);

impl p4_arch::Sink for Priorities {
    fn transmit(&mut self, port: Port, data: &[u8]) {
        self.transmit_with_priority(port, 0, data);
    }

    fn transmit_with_priority(&mut self, port: Port, priority: u8, _: &[u8]) {
        self.0.push((port, priority));
    }
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
