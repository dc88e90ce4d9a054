//! Several programs on one chip, each in pipes of its own.

use crate::support::*;
use p4_arch::tna::{Config, LoopConfig, Node, Switch};
use p4_arch::{Port, Time};
use std::sync::Arc;

/// A program that adds to `a` at ingress and to `b` at egress, and sends to a port.
fn program(ingress: &str, egress: u16) -> Switch {
    let egress = format!("apply {{ h.h.b = h.h.b + {egress}; }}");
    let parts = Parts {
        ingress,
        egress: &egress,
        ..PLAIN
    };
    let image = image(&parts).expect("a program for TNA");
    Switch::new(Arc::new(image), Config::default()).expect("a switch")
}

fn in_pipes(switch: &mut Switch, pipes: [bool; 4]) {
    let names = pipes.map(|own| own.then(|| "pipe".to_string()));
    switch.place(&names).expect("its only pipeline");
}

/// The first program runs in pipes 0 and 2 and sends to a port of pipe 1, the second in pipes 1 and 3
/// and sends to one of pipe 0.
fn two_programs() -> Switch {
    let mut first = program(
        "apply { h.h.a = h.h.a + 1; tm.ucast_egress_port = 133; }",
        0x0100,
    );
    let mut second = program(
        "apply { h.h.a = h.h.a + 0x10; tm.ucast_egress_port = 5; }",
        0x0001,
    );
    in_pipes(&mut first, [true, false, true, false]);
    in_pipes(&mut second, [false, true, false, true]);
    first.join(second).expect("pipes of its own");
    first
}

// If this fails, packets between pipes of different programs are lost, or meet the wrong program.
#[test]
fn packets_go_from_program_to_program() {
    let mut switch = two_programs();
    // Ingress is that of the port where a packet comes in, egress that of the port where it leaves.
    let sent = |switch: &mut Switch, port| send_at(switch, 0, port, &frame(7, 0, 0, 5));
    let to_second = [(133, frame(7, 0x01, 0x0001, 5))];
    let to_first = [(5, frame(7, 0x10, 0x0100, 5))];
    assert_eq!(sent(&mut switch, 1), to_second);
    assert_eq!(sent(&mut switch, 257), to_second);
    assert_eq!(sent(&mut switch, 129), to_first);
    assert_eq!(sent(&mut switch, 385), to_first);
    let stats: Vec<(u64, u64)> = switch
        .programs()
        .map(|own| (own.stats().received, own.stats().sent))
        .collect();
    assert_eq!(stats, [(2, 2), (2, 2)]);
    // A port that leads back does so to its own program, in whatever time that takes.
    for rate in [None, Some(1_000_000_000)] {
        let config = LoopConfig {
            rate,
            ..LoopConfig::default()
        };
        switch.each(|own| own.set_loop(133, Some(config)));
        let mut out: Vec<(Port, Vec<u8>)> = Vec::new();
        let mut sink = |port: Port, data: &[u8]| out.push((port, data.to_vec()));
        switch.process(Time::ZERO, 1, &frame(7, 0, 0, 5), &mut sink);
        let later = Time::from_picos(1_000_000_000);
        switch.advance(later, &mut sink);
        assert_eq!(out, [(5, frame(7, 0x11, 0x0101, 5))], "{rate:?}");
    }
    // Traces tell of the first program, and where another one takes over.
    let mut sink = |_: Port, _: &[u8]| {};
    let now = Time::from_picos(2_000_000_000);
    let trace = switch.process_traced(now, 1, &frame(7, 0, 0, 5), &mut sink);
    assert!(!trace.packets.is_empty());
}

// If this fails, groups and mirror sessions of a chip are one program's only.
#[test]
fn the_chip_is_all_programs() {
    let mut first = program("apply { tm.mcast_grp_a = 9; }", 0x0100);
    let mut second = program("apply { tm.ucast_egress_port = 140; }", 1);
    in_pipes(&mut first, [true, true, false, false]);
    in_pipes(&mut second, [false, false, true, true]);
    first.join(second).expect("pipes of its own");
    let node = Node {
        rid: 0,
        xid: None,
        ports: vec![3, 259],
        lags: Vec::new(),
    };
    first.each(|own| own.set_group(9, Some(vec![vec![node.clone()]])));
    let sent = send_at(&mut first, 0, 1, &frame(7, 0, 0, 5));
    let mut expected = vec![(3, frame(7, 0, 0x0100, 5)), (259, frame(7, 0, 1, 5))];
    let mut found = sent.clone();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    // The second program sends to a port of the first one's.
    assert_eq!(
        send_at(&mut first, 0, 257, &frame(7, 0, 0, 5)),
        [(140, frame(7, 0, 0x0100, 5))]
    );
}

#[test]
fn a_chip_as_new_runs_the_same_programs() {
    let mut switch = two_programs();
    switch.each(|own| own.set_loop(133, Some(LoopConfig::default())));
    let mut again = switch.anew().expect("a switch");
    let placed: Vec<_> = again.programs().map(Switch::pipelines).collect();
    assert_eq!(
        placed,
        [
            [("pipe".to_string(), vec![0, 2])],
            [("pipe".to_string(), vec![1, 3])]
        ]
    );
    assert_eq!(
        send_at(&mut again, 0, 1, &frame(7, 0, 0, 5)),
        [(5, frame(7, 0x11, 0x0101, 5))]
    );
}

#[test]
fn two_programs_want_one_pipe() {
    let mut switch = two_programs();
    let mut third = program("apply { }", 0);
    in_pipes(&mut third, [false, false, false, true]);
    assert!(switch.join(third).unwrap_err().contains("pipe 3"));
    assert_eq!(switch.program_count(), 2);
}
