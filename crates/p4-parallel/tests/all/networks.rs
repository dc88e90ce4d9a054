//! Networks of switches and hosts by several threads: the same as by one.

use std::num::NonZeroUsize;

use p4_net::{
    Device, End, Event, Flow, LinkConfig, Network, NodeId, Out, PortConfig, Probe, QueueConfig,
    Rng, Shaper, Stream, Time, Whole,
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
