//! The packet generator of a TNA switch.

use crate::support;

use p4_arch::tna::{App, Config, Switch, Trigger};
use p4_arch::{Port, Time};
use std::sync::Arc;
use support::*;

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
        batch_jitter: 0,
        packet_jitter: 0,
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
        batch_jitter: 0,
        packet_jitter: 0,
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

// If this fails, probes that are to come at irregular times come all at once, at equal intervals, or
// in another order.
#[test]
fn gaps_with_jitter() {
    let times = |seed: u64, batch_jitter: u64, packet_jitter: u64| {
        let image = image(&PLAIN).expect("a program for TNA");
        let config = Config {
            seed,
            ..Config::default()
        };
        let mut switch = Switch::new(Arc::new(image), config).expect("a switch");
        switch.set_generator(
            Time::ZERO,
            App {
                batches: 100,
                packets_per_batch: 10,
                batch_gap: 10_000,
                packet_gap: 500,
                batch_jitter,
                packet_jitter,
                ..app(Trigger::Once(1_000))
            },
        );
        let mut times: Vec<(u64, u8)> = Vec::new();
        while let Some(next) = switch.next_departure() {
            switch.advance(next, &mut |_: Port, data: &[u8]| {
                times.push((next.picos() / 1000, data[3]))
            });
        }
        assert_eq!(times.len(), 1_000);
        times
    };
    let plain = times(1, 0, 0);
    let expected = (0..1_000u64).map(|n| (1_000 + n / 10 * 10_000 + n % 10 * 500, (n / 10) as u8));
    assert!(plain.into_iter().eq(expected));

    let late = times(1, 0, 200);
    assert_eq!(late, times(1, 0, 200), "the same seed");
    assert_ne!(late, times(2, 0, 200));
    let gaps: Vec<u64> = late
        .windows(2)
        .filter(|pair| pair[0].1 == pair[1].1)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
    assert!(gaps.iter().all(|gap| *gap >= 500));
    assert!((675..=725).contains(&mean), "{mean}");
    let begins: Vec<u64> = late.iter().step_by(10).map(|(time, _)| *time).collect();
    assert!(
        begins.windows(2).all(|pair| pair[1] - pair[0] == 10_000),
        "batches have none"
    );

    // Batches of 4.5 microseconds do not overlap however short the gaps between them are.
    let both = times(3, 3_000, 5_000);
    assert!(both.is_sorted());
    assert!(both.windows(2).all(|pair| pair[0].1 <= pair[1].1));
}
