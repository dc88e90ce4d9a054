//! A fat tree of k = 16 (320 switches, 1,024 hosts) under load, by one thread and by two:
//! `cargo bench -p p4-parallel`. Switches only look a port up; what a program costs comes on top, and
//! is shared out as well.

use std::num::NonZeroUsize;
use std::time::Instant;

use p4_net::{Device, End, Flow, LinkConfig, Network, NodeId, Out, Stream, Time, WireStats};

const K: usize = 16;
const HALF: usize = K / 2;
const HOSTS: usize = K * HALF * HALF;
/// Simulated microseconds, and rounds
const MICROS: u64 = 40;
const ROUNDS: usize = 3;

/// Sends a frame on by the number of its receiver, in bytes 12 and 13, and up by that of its sender.
enum Switch {
    Edge { first: usize },
    Aggregation { pod: usize },
    Core,
}

impl Device for Switch {
    fn receive(&mut self, _: Time, _: u16, data: &[u8], out: &mut Out) {
        let number = |at: usize| usize::from(u16::from_be_bytes([data[at], data[at + 1]]));
        let (to, from) = (number(12), number(14));
        let pod = to / (HALF * HALF);
        let port = match self {
            Switch::Edge { first } if (*first..*first + HALF).contains(&to) => to - *first,
            Switch::Edge { .. } => HALF + from % HALF,
            Switch::Aggregation { pod: own } if *own == pod => to / HALF % HALF,
            Switch::Aggregation { .. } => HALF + from / HALF % HALF,
            Switch::Core => pod,
        };
        out(port as u16, 0, data);
    }
}

/// Each host sends to one in another pod.
fn fat_tree() -> Network<Switch> {
    let mut network = Network::new(1);
    let link = LinkConfig {
        rate: Some(100_000_000_000),
        delay: Time::from_nanos(500),
        ..LinkConfig::default()
    };
    let cable = |network: &mut Network<Switch>, a: (NodeId, usize), b: (NodeId, usize)| {
        let [a, b] = [a, b].map(|(node, port)| End {
            node,
            port: port as u16,
        });
        network
            .connect(a, b, link.clone())
            .expect("both ports are free");
    };
    let cores: Vec<NodeId> = (0..HALF * HALF)
        .map(|number| network.add_switch(&format!("c{number}"), Switch::Core, None))
        .collect();
    let mac = |host: usize| [2, 0, 0, 0, (host >> 8) as u8, host as u8];
    let mut hosts = Vec::new();
    for pod in 0..K {
        let upper: Vec<NodeId> = (0..HALF)
            .map(|n| network.add_switch(&format!("a{pod}.{n}"), Switch::Aggregation { pod }, None))
            .collect();
        for (place, node) in upper.iter().enumerate() {
            for up in 0..HALF {
                cable(
                    &mut network,
                    (*node, HALF + up),
                    (cores[place * HALF + up], pod),
                );
            }
        }
        for place in 0..HALF {
            let first = (pod * HALF + place) * HALF;
            let edge = network.add_switch(&format!("e{pod}.{place}"), Switch::Edge { first }, None);
            for (up, node) in upper.iter().enumerate() {
                cable(&mut network, (edge, HALF + up), (*node, place));
            }
            for port in 0..HALF {
                let host = network.add_host(&format!("h{}", first + port), mac(first + port));
                cable(&mut network, (host, 0), (edge, port));
                hosts.push(host);
            }
        }
    }
    for (number, host) in hosts.iter().enumerate() {
        let to = (number * 37 + HOSTS / 3) % HOSTS;
        let mut template = vec![0; 1000];
        template[..6].copy_from_slice(&mac(to));
        template[12..14].copy_from_slice(&(to as u16).to_be_bytes());
        template[14..16].copy_from_slice(&(number as u16).to_be_bytes());
        let (flow, sender) = (1, number as u32);
        let stream = Stream {
            template,
            flow: Flow { flow, sender },
            start: Time::from_picos(997 * number as u64),
            // 40 Gb/s
            interval: Time::from_nanos(200),
            count: u64::MAX,
        };
        network
            .start_stream(*host, stream)
            .expect("a frame of 1000 bytes");
    }
    network
}

/// Seconds of the clock, and what happened on each link.
fn run(threads: NonZeroUsize) -> (f64, Vec<WireStats>) {
    let mut network = fat_tree();
    let end = Time::from_micros(MICROS);
    let begin = Instant::now();
    match threads.get() {
        1 => network.run_until(end),
        many => network.run_shared(end, many, |rounds| {
            p4_parallel::carry_out(rounds, threads);
        }),
    };
    let took = begin.elapsed().as_secs_f64();
    let links: Vec<_> = network.links().collect();
    let stats = links
        .iter()
        .filter_map(|link| network.link_stats(*link).ok());
    (took, stats.flatten().collect())
}

fn main() {
    let [one, two] = [1, 2].map(|threads| NonZeroUsize::new(threads).expect("not zero"));
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let (alone, wires) = run(one);
        let (shared, same) = run(two);
        assert_eq!(wires, same, "two threads did something else");
        let hops: u64 = wires.iter().map(|wire| wire.delivered.frames).sum();
        let rate = |took: f64| hops as f64 / took / 1e6;
        println!(
            "round {round}: {hops} hops, {:.2} M hops/s with one thread, {:.2} with two: {:.2}",
            rate(alone),
            rate(shared),
            alone / shared
        );
        ratios.push(alone / shared);
    }
    ratios.sort_by(f64::total_cmp);
    println!("two threads over one: {:.2} (goal 1.7)", ratios[ROUNDS / 2]);
}
