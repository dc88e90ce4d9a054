//! Networks of switches and hosts by several threads: the same as by one.

use std::cell::Cell;
use std::num::NonZeroUsize;

use p4_net::{
    Clock, Device, End, Event, Exhausted, Flow, Limits, LinkConfig, Network, NodeId, Out,
    PortConfig, Probe, QueueConfig, Rng, Shaper, Stream, Time, Whole,
};

/// Copies to ports chosen by the frame's number, as often as its hop budget (byte 0) lasts.
struct Scatter {
    ports: u16,
    seen: Vec<(u16, u32, u64, Time)>,
}

impl Device for Scatter {
    fn receive(&mut self, now: Time, port: u16, data: &[u8], out: &mut Out) {
        let probe = Probe::of(data);
        let (sender, sequence) = probe.map_or((0, 0), |probe| (probe.sender, probe.sequence));
        self.seen.push((port, sender, sequence, now));
        if data[0] == 0 {
            return;
        }
        let mut copy = data.to_vec();
        copy[0] -= 1;
        // The order of what has come before decides, too.
        let first = (sequence as u16 * 7 + self.seen.len() as u16) % (self.ports + 1);
        out(first, (sequence % 4) as u8, &copy);
        if sequence.is_multiple_of(3) {
            out((first + 1) % (self.ports + 1), 0, &copy);
        }
    }
}

/// A random network: cables with equal delays, so that much happens at the same moment, some without
/// any; rates, loss, jitter and queues; streams from all hosts.
fn drawn(seed: u64) -> (Network<Scatter>, Vec<NodeId>) {
    let mut rng = Rng::new(seed, 3);
    let mut network = Network::new(seed);
    network.fingerprint_on();
    let switches: Vec<NodeId> = (0..3 + rng.up_to(9))
        .map(|number| {
            let (ports, seen) = (0, vec![]);
            network.add_switch(&format!("s{number}"), Scatter { ports, seen }, None)
        })
        .collect();
    let mut used = vec![0u16; switches.len()];
    let config = |rng: &mut Rng| LinkConfig {
        rate: [None, Some(1_000_000_000), Some(10_000_000_000)][rng.up_to(2) as usize],
        delay: Time::from_nanos(100 * rng.up_to(5)),
        jitter: Time::from_nanos([0, 0, 70][rng.up_to(2) as usize]),
        loss: [0.0, 0.0, 0.1][rng.up_to(2) as usize],
        queue: 2000,
        ..LinkConfig::default()
    };
    let mut cable = |network: &mut Network<Scatter>, rng: &mut Rng, ends: [(NodeId, usize); 2]| {
        let ends = ends.map(|(node, place)| {
            let port = match used.get_mut(place) {
                Some(port) => {
                    *port += 1;
                    *port
                }
                None => 0,
            };
            End { node, port }
        });
        network.connect(ends[0], ends[1], config(rng)).unwrap();
        ends
    };
    let mut ends = Vec::new();
    for number in 1..switches.len() {
        let other = rng.up_to(number as u64 - 1) as usize;
        let two = [(switches[number], number), (switches[other], other)];
        ends.extend(cable(&mut network, &mut rng, two));
    }
    for _ in 0..switches.len() {
        let [a, b] = [0, 1].map(|_| rng.up_to(switches.len() as u64 - 1) as usize);
        ends.extend(cable(
            &mut network,
            &mut rng,
            [(switches[a], a), (switches[b], b)],
        ));
    }
    let shaper = Some(Shaper {
        rate: 300_000_000,
        burst: 300,
    });
    let (size, none) = (1500, None);
    let queues = vec![
        QueueConfig { size, shaper: none },
        QueueConfig { size, shaper },
    ];
    for end in ends.iter().step_by(5) {
        let queues = queues.clone();
        let shaper = None;
        network
            .set_port(*end, &PortConfig { queues, shaper })
            .unwrap();
    }
    for number in 0..5u32 {
        let host = network.add_host(&format!("h{number}"), [2, 0, 0, 0, 0, number as u8]);
        let place = rng.up_to(switches.len() as u64 - 1) as usize;
        let two = [(host, usize::MAX), (switches[place], place)];
        cable(&mut network, &mut rng, two);
        let mut template = vec![0; 64 + rng.up_to(200) as usize];
        template[0] = 6;
        let flow = Flow {
            flow: 1,
            sender: number,
        };
        let (start, interval) = (Time::ZERO, Time::from_nanos(300));
        let stream = Stream {
            template,
            flow,
            start,
            interval,
            count: 60,
        };
        network.start_stream(host, stream).unwrap();
    }
    for (switch, ports) in switches.iter().zip(used) {
        network.device_mut(*switch).unwrap().ports = ports;
    }
    (network, switches)
}

/// All that can be seen of a network.
fn seen(network: &mut Network<Scatter>, switches: &[NodeId]) -> impl PartialEq + std::fmt::Debug {
    let links: Vec<_> = network.links().collect();
    let stats: Vec<_> = links
        .iter()
        .map(|link| network.link_stats(*link).unwrap())
        .collect();
    let mut ends = links
        .iter()
        .flat_map(|link| <[End; 2]>::from(network.ends(*link).unwrap()));
    let queues: Vec<_> = ends
        .by_ref()
        .map(|end| network.queue_stats(end).unwrap())
        .collect();
    let sent: Vec<u64> = (0..5)
        .map(|sender| network.sent(Flow { flow: 1, sender }))
        .collect();
    let seen: Vec<_> = switches
        .iter()
        .map(|switch| {
            let own = network.node_stats(*switch).unwrap();
            (own, network.device_mut(*switch).unwrap().seen.clone())
        })
        .collect();
    (
        network.fingerprint(),
        network.next_event_time(),
        stats,
        queues,
        sent,
        seen,
    )
}

fn run(network: &mut Network<Scatter>, end: Time, parts: usize, threads: usize) -> Event {
    let threads = NonZeroUsize::new(threads).unwrap();
    network.run_by(end, parts, |rounds| p4_parallel::carry_out(rounds, threads))
}

// If this fails a network that is run by several threads is another network.
#[test]
fn parts_and_threads_change_nothing() {
    let mut split = 0;
    for seed in 1..40 {
        let (mut alone, switches) = drawn(seed);
        let end = Time::from_micros(12);
        assert_eq!(alone.run_until(end), Event::Reached);
        let wanted = seen(&mut alone, &switches);
        for (parts, threads) in [(1, 1), (2, 2), (3, 1), (4, 3), (100, 7)] {
            let (mut network, switches) = drawn(seed);
            split += u32::from(network.whole(end).is_none());
            // In pieces, so that much is moved into parts and back while it flies
            for piece in 1..=4u64 {
                let part = Time::from_picos(end.picos() / 4 * piece);
                assert_eq!(run(&mut network, part, parts, threads), Event::Reached);
            }
            let found = seen(&mut network, &switches);
            assert_eq!(
                found, wanted,
                "seed {seed}, {parts} parts, {threads} threads"
            );
        }
    }
    assert!(split > 150, "only {split} runs could be split");
}

/// Hosts in pairs with a switch between them, and a row of cables through all switches if they are
/// joined: a stream from each pair in two bursts, and one stream alone in between.
fn bursts(pairs: u32, joined: bool) -> (Network<Scatter>, Vec<NodeId>) {
    let mut network = Network::new(5);
    network.fingerprint_on();
    let mut add = |number: u32| {
        let (ports, seen) = (3, vec![]);
        network.add_switch(&format!("s{number}"), Scatter { ports, seen }, None)
    };
    let switches: Vec<NodeId> = (0..pairs).map(&mut add).collect();
    let config = LinkConfig {
        delay: Time::from_micros(1),
        ..LinkConfig::default()
    };
    let end = |node, port| End { node, port };
    for (number, switch) in (0u32..).zip(&switches) {
        let mac = [2, 0, 0, 0, 0, number as u8];
        let hosts = [0, 1].map(|side| network.add_host(&format!("h{number}-{side}"), mac));
        for (port, host) in (0..).zip(hosts) {
            let ends = [end(host, 0), end(*switch, port)];
            network.connect(ends[0], ends[1], config.clone()).unwrap();
        }
        if let Some(before) = number.checked_sub(1).filter(|_| joined) {
            let ends = [end(switches[before as usize], 2), end(*switch, 3)];
            network.connect(ends[0], ends[1], config.clone()).unwrap();
        }
        let mut template = vec![0; 64];
        template[0] = 5;
        for (burst, start) in [0, 5000].into_iter().enumerate() {
            let flow = Flow {
                flow: 2 * number + burst as u32,
                sender: number % 5,
            };
            let stream = Stream {
                template: template.clone(),
                flow,
                start: Time::from_micros(start),
                interval: Time::from_micros(1),
                count: if number == 0 { 5500 } else { 400 },
            };
            network.start_stream(hosts[0], stream).unwrap();
        }
    }
    (network, switches)
}

// If this fails threads are used where they only wait for each other, or not where they would help, or
// what happens depends on that.
#[test]
fn threads_are_used_while_there_is_enough_to_do() {
    let end = Time::from_micros(6000);
    for (pairs, calls) in [(1, 0), (4, 0), (70, 2)] {
        let (mut alone, switches) = bursts(pairs, true);
        assert_eq!(alone.run_until(end), Event::Reached);
        for threads in [2, 3] {
            let (mut network, _) = bursts(pairs, true);
            assert_eq!(network.whole(end), None);
            let called = Cell::new(0);
            let event = network.run_shared(end, threads, |rounds| {
                called.set(called.get() + 1);
                p4_parallel::carry_out(rounds, NonZeroUsize::new(threads).unwrap());
            });
            assert_eq!(
                (event, called.get()),
                (Event::Reached, calls),
                "{pairs} pairs"
            );
            assert_eq!(network.now(), end);
            assert_eq!(seen(&mut network, &switches), seen(&mut alone, &switches));
        }
    }
}

// If this fails networks that no cable joins wait for each other, or for one thread.
#[test]
fn parts_without_a_cable_between_them_need_one_window() {
    let end = Time::from_micros(6000);
    let (mut alone, switches) = bursts(4, false);
    assert_eq!(alone.run_until(end), Event::Reached);
    let (mut network, _) = bursts(4, false);
    assert_eq!(network.whole(end), None);
    let mut windows = 0;
    let event = network.run_by(end, 4, |rounds| {
        assert_eq!(rounds.partitions(), 4);
        while rounds.begin() {
            windows += 1;
            for partition in 0..4 {
                assert!(rounds.carry_out(partition) > 100);
            }
        }
    });
    assert_eq!((event, windows), (Event::Reached, 1));
    assert_eq!(seen(&mut network, &switches), seen(&mut alone, &switches));
}

// If this fails a loop in a network with long cables fills the memory before anybody looks.
#[test]
fn a_loop_in_one_part_ends_at_a_bound_at_once() {
    let island = |network: &mut Network<Scatter>, name: &str| {
        let mut switch = |name: String, ports| {
            network.add_switch(
                &name,
                Scatter {
                    ports,
                    seen: vec![],
                },
                None,
            )
        };
        let [a, b] = [switch(format!("{name}1"), 2), switch(format!("{name}2"), 0)];
        let host = network.add_host(name, [2, 0, 0, 0, 0, 1]);
        let short = LinkConfig {
            delay: Time::from_micros(1),
            ..LinkConfig::default()
        };
        let end = |node, port| End { node, port };
        for (port, ends) in [end(host, 0), end(b, 0)].into_iter().enumerate() {
            network
                .connect(ends, end(a, port as u16), short.clone())
                .unwrap();
        }
        (host, a, b)
    };
    let stopped = |threads| {
        let mut network = Network::new(1);
        network.fingerprint_on();
        let islands = ["x", "y"].map(|name| island(&mut network, name));
        let ends = islands.map(|(_, node, _)| End { node, port: 2 });
        let long = LinkConfig {
            delay: Time::from_secs(1),
            ..LinkConfig::default()
        };
        network.connect(ends[0], ends[1], long).unwrap();
        let mut template = vec![0; 64];
        template[0] = 255;
        let stream = Stream {
            template,
            flow: Flow { flow: 1, sender: 1 },
            start: Time::ZERO,
            interval: Time::from_micros(1),
            count: 1,
        };
        network.start_stream(islands[0].0, stream).unwrap();
        network.set_limits(Limits {
            events: 1_000_000,
            frames: 5000,
        });
        let event = run(&mut network, Time::from_secs(10), 2, threads);
        assert_eq!(event, Event::Exhausted(Exhausted::Frames));
        assert!(network.now() < Time::from_millis(1), "at {}", network.now());
        let switches: Vec<_> = islands.iter().flat_map(|(_, a, b)| [*a, *b]).collect();
        seen(&mut network, &switches)
    };
    assert_eq!(stopped(1), stopped(2));
}

// If this fails a network is split although what it is asked needs all of it at once.
#[test]
fn what_needs_the_whole_network_is_not_split() {
    let end = Time::from_micros(12);
    let whole = |network: &Network<Scatter>| network.whole(end);
    let (mut network, _) = drawn(2);
    assert_eq!(whole(&network), None);
    let host = NodeId::from_index(network.links().count() as u32); // none
    assert!(network.notify(host).is_err());
    let link = network.links().next().unwrap();
    network
        .set_link_at(link, Time::from_micros(5), false)
        .unwrap();
    assert_eq!(whole(&network), Some(Whole::LinkEvents));
    assert_eq!(network.whole(Time::from_micros(4)), None);
    network.capture(link).unwrap();
    assert_eq!(whole(&network), Some(Whole::Captures));
    let switch = network.add_switch(
        "c",
        Scatter {
            ports: 0,
            seen: vec![],
        },
        Some(9),
    );
    assert_eq!(whole(&network), Some(Whole::Talks));
    assert!(network.device_mut(switch).is_ok());
    let (mut alone, switches) = drawn(2);
    let (mut network, _) = drawn(2);
    for one in [&mut alone, &mut network] {
        one.set_link_at(link, Time::from_micros(5), false).unwrap();
    }
    alone.run_until(end);
    run(&mut network, Time::from_micros(4), 4, 2);
    run(&mut network, end, 4, 2);
    assert_eq!(seen(&mut network, &switches), seen(&mut alone, &switches));
}
