//! Properties of random networks: no frame appears or vanishes uncounted, none overtakes another on
//! a link, and the same calls give the same run.

use std::collections::BTreeMap;

use p4_net::{
    Device, End, Flow, LinkConfig, LinkId, Network, NodeId, Out, PortConfig, Probe, QueueConfig,
    QueueStats, Shaper, Stream,
};
use p4_time::Time;
use proptest::prelude::*;

/// Copies to ports chosen by the frame's number, as often as its hop budget (byte 0) lasts.
struct Scatter {
    ports: u16,
    /// Every (port, sequence, time of receipt), to check the order by.
    seen: Vec<(u16, u64, Time)>,
}

impl Device for Scatter {
    fn receive(&mut self, now: Time, port: u16, data: &[u8], out: &mut Out) {
        let sequence = Probe::of(data).map_or(0, |probe| probe.sequence);
        self.seen.push((port, sequence, now));
        if data[0] == 0 {
            return;
        }
        let mut copy = data.to_vec();
        copy[0] -= 1;
        let first = (sequence as u16).wrapping_mul(7).wrapping_add(port) % (self.ports + 1);
        out(first, (sequence % 4) as u8, &copy);
        if sequence.is_multiple_of(3) {
            out((first + 1) % (self.ports + 1), 0, &copy);
        }
    }
}

#[derive(Clone, Debug)]
struct Plan {
    seed: u64,
    switches: u16,
    cables: Vec<(u16, u16)>,
    configs: Vec<(Option<u64>, u64, u64, f64, u64)>,
    /// Queues of each port: how many, and the rate and burst of the last and of the port
    ports: Vec<(usize, u64, u64, bool)>,
    hops: u8,
    frames: u64,
    length: usize,
    outages: Vec<(usize, u64, bool)>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let rate = prop_oneof![Just(None), (1_000_000u64..10_000_000_000).prop_map(Some)];
    let config = (
        rate,
        0u64..100_000,
        0u64..50_000,
        prop_oneof![Just(0.0), 0.0..1.0f64],
        0u64..5_000,
    );
    let outage = (0usize..20, 0u64..1_000_000, any::<bool>());
    (
        any::<u64>(),
        1u16..6,
        prop::collection::vec((0u16..6, 0u16..6), 0..10),
        prop::collection::vec(config, 1..5),
        prop::collection::vec(
            (
                0usize..4,
                10_000_000u64..1_000_000_000,
                1u64..2_000,
                any::<bool>(),
            ),
            1..4,
        ),
        0u8..6,
        1u64..60,
        64usize..300,
        prop::collection::vec(outage, 0..6),
    )
        .prop_map(
            |(seed, switches, cables, configs, ports, hops, frames, length, outages)| Plan {
                seed,
                switches,
                cables,
                configs,
                ports,
                hops,
                frames,
                length,
                outages,
            },
        )
}

struct Run {
    network: Network<Scatter>,
    switches: Vec<NodeId>,
    host: NodeId,
}

/// Builds the planned network and lets it run until nothing moves any more.
fn run(plan: &Plan) -> Run {
    let mut network = Network::new(plan.seed);
    network.fingerprint_on();
    let switches: Vec<NodeId> = (0..plan.switches)
        .map(|n| {
            network.add_switch(
                &format!("s{n}"),
                Scatter {
                    ports: 0,
                    seen: vec![],
                },
                None,
            )
        })
        .collect();
    let host = network.add_host("h", [2, 0, 0, 0, 0, 9]);
    let mut used: BTreeMap<u16, u16> = BTreeMap::new();
    let mut next_port = |switch: u16| {
        let port = used.entry(switch).or_insert(0);
        *port += 1;
        *port
    };
    let mut configs = plan
        .configs
        .iter()
        .cycle()
        .map(|&(rate, delay, jitter, loss, queue)| {
            let (delay, jitter) = (Time::from_nanos(delay), Time::from_nanos(jitter));
            LinkConfig {
                rate,
                delay,
                jitter,
                loss,
                queue,
                ..LinkConfig::default()
            }
        });
    let mut cable = |network: &mut Network<Scatter>, a, b| {
        network.connect(a, b, configs.next().unwrap()).unwrap();
    };
    let port = next_port(0);
    cable(
        &mut network,
        End {
            node: host,
            port: 0,
        },
        End {
            node: switches[0],
            port,
        },
    );
    for &(a, b) in &plan.cables {
        let (a, b) = (a % plan.switches, b % plan.switches);
        let [a, b] = [a, b].map(|n| End {
            node: switches[usize::from(n)],
            port: next_port(n),
        });
        cable(&mut network, a, b);
    }
    for (number, ports) in used {
        network
            .device_mut(switches[usize::from(number)])
            .unwrap()
            .ports = ports;
    }
    let ends: Vec<End> = network
        .links()
        .flat_map(|link| <[End; 2]>::from(network.ends(link).unwrap()))
        .collect();
    for (&end, &(queues, rate, burst, whole)) in ends.iter().zip(plan.ports.iter().cycle()) {
        // None at all leaves the port as it is.
        if queues > 0 {
            let shaper = Some(Shaper { rate, burst });
            let (size, plain) = (2_000, None);
            let mut config = PortConfig {
                queues: vec![
                    QueueConfig {
                        size,
                        shaper: plain
                    };
                    queues
                ],
                shaper: shaper.filter(|_| whole),
            };
            config.queues[queues - 1].shaper = shaper;
            network.set_port(end, &config).unwrap();
        }
    }
    let mut template = vec![0; plan.length];
    template[0] = plan.hops;
    let flow = Flow { flow: 1, sender: 1 };
    let (start, interval) = (Time::ZERO, Time::from_nanos(777));
    let stream = Stream {
        template,
        flow,
        start,
        interval,
        count: plan.frames,
    };
    network.start_stream(host, stream).unwrap();
    let links: Vec<LinkId> = network.links().collect();
    let mut outages = plan.outages.clone();
    outages.sort_by_key(|outage| outage.1);
    for (link, at, up) in outages {
        network.run_until(Time::from_nanos(at));
        network.set_link(links[link % links.len()], up).unwrap();
    }
    network.run_until(Time::MAX);
    Run {
        network,
        switches,
        host,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    // If this fails a result table does not add up: frames vanish without a reason.
    #[test]
    fn every_frame_is_accounted_for(plan in plan()) {
        let mut run = run(&plan);
        let mut delivered = 0;
        for link in run.network.links() {
            let ends = <[End; 2]>::from(run.network.ends(link).unwrap());
            for (end, wire) in ends.into_iter().zip(run.network.link_stats(link).unwrap()) {
                let queues = run.network.queue_stats(end).unwrap();
                let sum = |part: fn(&QueueStats) -> u64| queues.iter().map(part).sum::<u64>();
                prop_assert_eq!(sum(|queue| queue.offered), wire.offered.frames);
                prop_assert_eq!(sum(|queue| queue.sent), wire.sent.frames);
                let dropped = wire.drops.queue_full + wire.drops.link_down;
                prop_assert_eq!(sum(|queue| queue.dropped), dropped);
                for queue in queues {
                    prop_assert_eq!(queue.offered_bytes, queue.sent_bytes + queue.dropped_bytes);
                    prop_assert_eq!((queue.waiting, queue.waiting_bytes), (0, 0));
                }
            }
        }
        for link in run.network.links() {
            for wire in run.network.link_stats(link).unwrap() {
                prop_assert_eq!((wire.queued, wire.in_flight), (0, 0), "all has come to rest");
                prop_assert_eq!(wire.offered.frames, wire.delivered.frames + wire.drops.total());
                let lost_on_wire = wire.drops.loss + wire.drops.cut;
                prop_assert_eq!(wire.sent.frames, wire.delivered.frames + lost_on_wire);
                prop_assert_eq!(wire.delivered.bytes, wire.delivered.frames * plan.length as u64);
                prop_assert_eq!(wire.delivered.probes, wire.delivered.frames);
                delivered += wire.delivered.frames;
            }
        }
        let mut received = run.network.node_stats(run.host).unwrap().filtered;
        for &switch in &run.switches {
            received += run.network.device_mut(switch).unwrap().seen.len() as u64;
        }
        prop_assert_eq!(received, delivered, "what links deliver, nodes receive");
    }

    // If this fails frames are reordered by the network and a student blames the P4 program.
    #[test]
    fn frames_do_not_overtake_on_a_link(mut plan in plan()) {
        plan.hops = 0; // so that the first switch sees each frame once, straight from the host
        let mut run = run(&plan);
        let seen = &run.network.device_mut(run.switches[0]).unwrap().seen;
        prop_assert!(seen.windows(2).all(|pair| pair[0].1 < pair[1].1 && pair[0].2 <= pair[1].2));
    }

    // If this fails no bug report can be reproduced.
    #[test]
    fn the_same_calls_give_the_same_run(plan in plan()) {
        prop_assert_eq!(run(&plan).network.fingerprint(), run(&plan).network.fingerprint());
    }
}

// If this fails the seed does nothing, and a sweep over seeds measures one run many times.
#[test]
fn another_seed_gives_another_run() {
    let plan = |seed| Plan {
        seed,
        switches: 2,
        cables: vec![(0, 1)],
        configs: vec![(Some(1_000_000_000), 10, 10, 0.3, 5_000)],
        ports: vec![(0, 0, 0, false)],
        hops: 4,
        frames: 50,
        length: 64,
        outages: vec![],
    };
    assert_ne!(
        run(&plan(1)).network.fingerprint(),
        run(&plan(2)).network.fingerprint()
    );
}

/// What a switch sees of hosts that send at the same moments over cables of the same length, by the
/// order in which their streams were started.
fn seen_of_equals(order: &[usize]) -> Vec<(u16, u64, Time)> {
    let mut network = Network::new(1);
    let (ports, seen) = (0, vec![]);
    let switch = network.add_switch("s", Scatter { ports, seen }, None);
    let config = LinkConfig {
        delay: Time::from_nanos(10),
        ..LinkConfig::default()
    };
    let hosts: Vec<NodeId> = (1..=5u16)
        .map(|port| {
            let node = network.add_host(&format!("h{port}"), [2, 0, 0, 0, 0, port as u8]);
            let ends = [End { node, port: 0 }, End { node: switch, port }];
            network.connect(ends[0], ends[1], config.clone()).unwrap();
            node
        })
        .collect();
    for &number in order {
        let (flow, sender) = (1, number as u32);
        let stream = Stream {
            template: vec![0; 64],
            flow: Flow { flow, sender },
            start: Time::ZERO,
            interval: Time::from_nanos(100),
            count: 20,
        };
        network.start_stream(hosts[number], stream).unwrap();
    }
    network.run_until(Time::MAX);
    std::mem::take(&mut network.device_mut(switch).unwrap().seen)
}

// If this fails what a switch sees of one picosecond depends on what happened elsewhere before, and a
// network that is run in parts is another network.
#[test]
fn frames_of_one_moment_come_in_the_order_of_their_wires() {
    let wanted = seen_of_equals(&[0, 1, 2, 3, 4]);
    assert_eq!(wanted.len(), 100);
    let by_wire = |two: &[(u16, u64, Time)]| (two[0].2, two[0].0) < (two[1].2, two[1].0);
    assert!(wanted.windows(2).all(by_wire));
    for order in [[4, 3, 2, 1, 0], [2, 4, 0, 3, 1]] {
        assert_eq!(seen_of_equals(&order), wanted, "{order:?}");
    }
}

// If this fails a new version of the lab no longer repeats the runs of older ones: something happens in
// another order, be it at the same picosecond.
#[test]
fn runs_are_the_same_from_version_to_version() {
    let plan = Plan {
        seed: 20_261_121,
        switches: 4,
        cables: vec![(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 1)],
        configs: vec![
            (Some(1_000_000_000), 50_000, 0, 0.0, 5_000),
            (None, 0, 0, 0.0, 500),
            (Some(10_000_000), 1_000, 700, 0.1, 300),
        ],
        ports: vec![(0, 0, 0, false), (3, 50_000_000, 200, true)],
        hops: 5,
        frames: 60,
        length: 100,
        outages: vec![(1, 400_000, false), (1, 700_000, true)],
    };
    assert_eq!(
        run(&plan).network.fingerprint(),
        Some(12_009_316_296_599_754_638)
    );
}
