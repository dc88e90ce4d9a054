//! Traffic sources and measuring hosts, against procedures of a few lines and against theory.

use p4_net::{
    Device, End, Event, Flow, Layer, LinkConfig, Measured, Network, NodeId, Out, Pattern,
    Recording, Spread, Traffic,
};
use p4_time::Time;
use proptest::prelude::*;

const FLOW: Flow = Flow { flow: 1, sender: 1 };
const TO_B: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn end(node: NodeId, port: u16) -> End {
    End { node, port }
}

fn frame(length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..6].copy_from_slice(&TO_B);
    frame
}

fn traffic(pattern: Pattern, rate: u64, frames: Vec<(Vec<u8>, u32)>) -> Traffic {
    Traffic {
        frames,
        flow: FLOW,
        pattern,
        rate,
        layer: Layer::Two,
        overhead: None,
        start: Time::ZERO,
        stop: Time::MAX,
        count: u64::MAX,
        priority: 0,
        seed: None,
    }
}

struct Nothing;

impl Device for Nothing {
    fn receive(&mut self, _: Time, _: u16, _: &[u8], _: &mut Out) {}
}

/// Two hosts and a cable; b measures.
fn cable(seed: u64, link: LinkConfig) -> (Network<Nothing>, NodeId, NodeId) {
    let mut network = Network::new(seed);
    let a = network.add_host("a", [2, 0, 0, 0, 0, 1]);
    let b = network.add_host("b", TO_B);
    network.connect(end(a, 0), end(b, 0), link).unwrap();
    network.measure(b, Time::from_micros(1)).unwrap();
    (network, a, b)
}

fn measured(network: &Network<Nothing>, host: NodeId) -> Measured {
    network.measured(host).unwrap().unwrap()
}

proptest! {
    // If this fails a generator set to a rate sends at another, the more so the longer it runs.
    #[test]
    fn constant_traffic_keeps_its_rate_without_drift(
        rate in 1_000_000u64..400_000_000_000,
        lengths in prop::collection::vec((64usize..1500, 1u32..5), 1..4),
        layer_one in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let (mut network, a, b) = cable(seed, LinkConfig::default());
        let frames = lengths.iter().map(|(length, weight)| (frame(*length), *weight)).collect();
        let layer = if layer_one { Layer::One } else { Layer::Two };
        let number = network
            .generate(end(a, 0), Traffic { layer, count: 500, ..traffic(Pattern::Constant, rate, frames) })
            .unwrap();
        prop_assert_eq!(network.run_until(Time::MAX), Event::Reached);
        let sent = network.generated(number).unwrap();
        prop_assert!(sent.done && sent.frames == 500 && sent.wire_bytes == sent.bytes + 500 * 20);
        let measures = &measured(&network, b).flows[0].1;
        prop_assert_eq!(measures.arrivals.all.bytes, sent.bytes);
        prop_assert_eq!(measures.first, Time::ZERO);
        // The last frame leaves when the bits of all before it have passed.
        let bytes = if layer_one { sent.wire_bytes } else { sent.bytes };
        let exact = |bytes: u64| (u128::from(bytes) * 8_000_000_000_000 / u128::from(rate)) as u64;
        let possible: Vec<Time> = lengths
            .iter()
            .map(|(length, _)| *length as u64 + if layer_one { 20 } else { 0 })
            .map(|last| Time::from_picos(exact(bytes - last)))
            .collect();
        prop_assert!(possible.contains(&measures.last), "{} of {:?}", measures.last, possible);
    }

    // If this fails two runs with one seed differ, or the seed does nothing.
    #[test]
    fn the_seed_decides(seed in any::<u64>(), fixed in any::<bool>()) {
        let fingerprint = |network_seed, seed| {
            let (mut network, a, _) = cable(network_seed, LinkConfig::default());
            network.fingerprint_on();
            let on = Time::from_micros(10);
            let spread = if fixed { Spread::Fixed } else { Spread::Exponential };
            let mix = || vec![(frame(64), 7), (frame(594), 4), (frame(1500), 1)];
            let patterns = [Pattern::Poisson, Pattern::OnOff { on, off: on, spread }];
            for pattern in patterns {
                let traffic = Traffic { seed, count: 50, ..traffic(pattern, 10_000_000_000, mix()) };
                network.generate(end(a, 0), traffic).unwrap();
            }
            network.run_until(Time::MAX);
            network.fingerprint()
        };
        prop_assert_eq!(fingerprint(seed, None), fingerprint(seed, None));
        prop_assert_ne!(fingerprint(seed, None), fingerprint(seed ^ 1, None));
        prop_assert_eq!(fingerprint(seed, Some(7)), fingerprint(seed ^ 1, Some(7)));
    }
}

// If this fails the load of an on-off source is not what its phases say.
#[test]
fn on_off_traffic_is_silent_while_off_and_has_its_share() {
    for (spread, tolerance) in [(Spread::Fixed, 0.0005), (Spread::Exponential, 0.03)] {
        let (mut network, a, b) = cable(11, LinkConfig::default());
        let (on, off) = (Time::from_nanos(3_100), Time::from_nanos(6_900));
        let pattern = Pattern::OnOff { on, off, spread };
        let frames = vec![(frame(125), 1)];
        // A frame per microsecond while on
        network
            .generate(end(a, 0), traffic(pattern, 1_000_000_000, frames))
            .unwrap();
        network.run_until(Time::from_millis(100));
        let measured = measured(&network, b);
        let share = measured.total.all.frames as f64 / 100_000.0;
        assert!(
            (share - 0.31).abs() < 0.31 * tolerance,
            "{share} of 0.31, {spread:?}"
        );
        if spread == Spread::Fixed {
            // Phases of 3.1 us and 6.9 us: 3 or 4 frames at first, then nothing.
            let windows = &measured.total.windows;
            for period in windows[..9_900].chunks(10) {
                let on: u64 = period[..4].iter().map(|window| window.frames).sum();
                assert!((3..=4).contains(&on), "{on}");
                assert!(period[4..].iter().all(|window| window.frames == 0));
            }
        }
    }
}

// If this fails, queueing theory does not hold in the simulator: gaps are not exponential, or the
// transmitter does not serve in order at its rate.
#[test]
fn waiting_at_a_line_is_that_of_m_d_1() {
    // 105 + 20 bytes at 1 Gb/s: a service of 1 us. Load 0.7 on layer 1.
    let link = LinkConfig {
        rate: Some(1_000_000_000),
        ..LinkConfig::default()
    };
    let mut means = Vec::new();
    for seed in 0..20 {
        let (mut network, a, b) = cable(seed, link.clone());
        let poisson = traffic(Pattern::Poisson, 700_000_000, vec![(frame(105), 1)]);
        network
            .generate(
                end(a, 0),
                Traffic {
                    layer: Layer::One,
                    ..poisson
                },
            )
            .unwrap();
        // Two milliseconds to warm up, then 20,000 frames or so
        network.run_until(Time::from_millis(2));
        network.measure(b, Time::ZERO).unwrap();
        network.run_until(Time::from_millis(30));
        let measures = &measured(&network, b).flows[0].1;
        assert_eq!(
            (measures.lost, measures.duplicates, measures.reordered),
            (0, 0, 0)
        );
        let latency = measures.latency.mean().unwrap().picos() as f64 / 1e6;
        means.push(latency - 1.0);
    }
    // Pollaczek and Khinchine: load / (2 (1 - load)) services.
    let theory = 0.7 / (2.0 * 0.3);
    let mean = means.iter().sum::<f64>() / 20.0;
    let variance = means
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / 19.0;
    // 99.9 % of Student's t with 19 degrees of freedom: seeds are fixed, this is no lottery.
    let half_width = 3.883 * (variance / 20.0).sqrt();
    assert!(
        (mean - theory).abs() < half_width,
        "{mean} +- {half_width}, theory {theory}"
    );
    assert!(
        half_width < 0.1 * theory,
        "too wide to say anything: {half_width}"
    );
}

/// Sends every frame on, some of them twice, some late.
struct Mixer(Vec<u8>);

impl Device for Mixer {
    fn receive(&mut self, _: Time, _: u16, data: &[u8], out: &mut Out) {
        match p4_net::Probe::of(data).map_or(0, |probe| probe.sequence % 10) {
            3 => self.0 = data.to_vec(), // after the next
            4 => {
                out(2, 0, data);
                out(2, 0, &self.0);
            }
            5 => {}
            6 => {
                out(2, 0, data);
                out(2, 0, data);
            }
            _ => out(2, 0, data),
        }
    }
}

// If this fails a sink says that a wrong network is right.
#[test]
fn a_sink_tells_loss_order_copies_latency_and_rates() {
    let mut network = Network::new(1);
    let s = network.add_switch("s", Mixer(Vec::new()), None);
    let b = network.add_host("b", TO_B);
    let link = LinkConfig {
        delay: Time::from_nanos(300),
        ..LinkConfig::default()
    };
    network.connect(end(s, 2), end(b, 0), link).unwrap();
    network.measure(b, Time::from_micros(10)).unwrap();
    // Straight into port 7 of the switch, which has no cable: a frame per microsecond.
    let constant = traffic(Pattern::Constant, 1_000_000_000, vec![(frame(125), 1)]);
    network
        .generate(
            end(s, 7),
            Traffic {
                count: 100,
                ..constant
            },
        )
        .unwrap();
    network.run_until(Time::from_micros(100));
    let measured = network.measured(b).unwrap().unwrap();
    let (flow, measures) = &measured.flows[0];
    assert_eq!(*flow, FLOW);
    let counts = (
        measures.received,
        measures.duplicates,
        measures.reordered,
        measures.lost,
    );
    assert_eq!(counts, (90, 10, 10, 10));
    assert_eq!(measures.arrivals, measured.total);
    let per_window: Vec<u64> = measured.total.windows.iter().map(|w| w.frames).collect();
    assert_eq!(per_window, [10; 10]);
    assert!(measured
        .total
        .windows
        .iter()
        .all(|window| window.bytes == 1250));
    let late = Time::from_picos(1_300_000);
    assert_eq!(
        measures.latency.range(),
        Some((Time::from_nanos(300), late))
    );
    // 10 of 90 differ from the one before and the one after by 1 us.
    let variation = measures.variation.unwrap();
    assert!((variation - 20.0 * 1e6 / 89.0).abs() < 1.0, "{variation}");
    network.measure(b, Time::ZERO).unwrap();
    assert_eq!(
        network.measured(b).unwrap().unwrap().flows.len(),
        0,
        "forgotten"
    );
}

// If this fails a replay is not the captured traffic.
#[test]
fn a_capture_is_sent_again_as_it_was_and_as_fast_as_wanted() {
    let (mut network, a, b) = cable(3, LinkConfig::default());
    let link = network.links().next().unwrap();
    network.capture(link).unwrap();
    let poisson = traffic(
        Pattern::Poisson,
        1_000_000_000,
        vec![(frame(64), 1), (frame(200), 1)],
    );
    network
        .generate(
            end(a, 0),
            Traffic {
                count: 50,
                ..poisson
            },
        )
        .unwrap();
    network.run_until(Time::from_secs(1));
    let capture = network.drain_capture(link);
    let original = measured(&network, b);
    let (mut again, a, b) = cable(4, LinkConfig::default());
    let recording = Recording::read(&capture, 0.5).unwrap();
    let number = again
        .replay(end(a, 0), recording, Time::from_millis(1), None)
        .unwrap();
    again.run_until(Time::from_secs(1));
    assert!(again.generated(number).unwrap().done);
    let copy = measured(&again, b);
    assert_eq!(copy.total.all, original.total.all);
    let (was, is) = (&original.flows[0].1, &copy.flows[0].1);
    assert_eq!(is.first, Time::from_millis(1));
    let (was, is) = ((was.last - was.first).picos(), (is.last - is.first).picos());
    assert!(
        is.abs_diff(2 * was) <= 4_000,
        "captures count nanoseconds: {is}, {was}"
    );
    assert!(
        copy.flows[0].1.arrivals.windows.is_empty(),
        "a flow that is not ours"
    );
    assert_eq!(
        copy.flows[0].1.latency.count(),
        0,
        "nobody knows when these were sent"
    );
    // Numbered anew they have a latency.
    let recording = Recording::read(&capture, 1.0).unwrap();
    again
        .replay(
            end(a, 0),
            recording,
            Time::from_secs(2),
            Some(Flow { flow: 9, sender: 9 }),
        )
        .unwrap();
    again.run_until(Time::from_secs(3));
    let numbered = &measured(&again, b).flows[1];
    assert_eq!(
        (numbered.0.flow, numbered.1.latency.count(), numbered.1.lost),
        (9, 50, 0)
    );
}

// If this fails a mistake in a request hangs the run or is found late.
#[test]
fn wrong_traffic_is_refused_with_a_sentence() {
    let (mut network, a, _) = cable(0, LinkConfig::default());
    let good = || traffic(Pattern::Constant, 1_000_000_000, vec![(frame(64), 1)]);
    let short = Pattern::OnOff {
        on: Time::from_picos(1),
        off: Time::ZERO,
        spread: Spread::Fixed,
    };
    let refusals = [
        (
            end(a, 0),
            Traffic {
                frames: vec![],
                ..good()
            },
            "there is no frame",
        ),
        (
            end(a, 0),
            Traffic {
                frames: vec![(frame(64), 0)],
                ..good()
            },
            "there is no frame",
        ),
        (
            end(a, 0),
            Traffic {
                frames: vec![(vec![0; 63], 1)],
                ..good()
            },
            "too short",
        ),
        (end(a, 0), Traffic { rate: 0, ..good() }, "0 bit/s"),
        (
            end(a, 0),
            Traffic {
                pattern: short,
                ..good()
            },
            "an on phase of 1 ps",
        ),
        (end(a, 1), good(), "port 0 only"),
        (end(NodeId::from_index(77), 0), good(), "no node number 77"),
    ];
    for (at, traffic, reason) in refusals {
        let error = network.generate(at, traffic).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert!(network.generated(0).is_err());
    assert!(network
        .replay(end(a, 0), Recording::default(), Time::ZERO, None)
        .is_err());
}
