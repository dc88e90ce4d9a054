//! The queues of a port, against procedures of a few lines that do the same by other means.

use p4_net::{
    Device, End, Event, Flow, Layer, LinkConfig, Network, NodeId, Out, Pattern, PortConfig,
    QueueConfig, QueueStats, RandomFailures, Shaper, Traffic,
};
use p4_time::{Clock, Time};
use proptest::prelude::*;

const TO_B: [u8; 6] = [2, 0, 0, 0, 0, 2];
const PLENTY: u64 = 1 << 30;

struct Nothing;

impl Device for Nothing {
    fn receive(&mut self, _: Time, _: u16, _: &[u8], _: &mut Out) {}
}

fn end(node: NodeId) -> End {
    End { node, port: 0 }
}

/// One frame: when it comes, how long it is, its priority.
type Frame = (u64, usize, u8);

/// Sends the frames from a to b through `port`; when each arrived, by its number.
fn through(
    rate: Option<u64>,
    port: &PortConfig,
    frames: &[Frame],
) -> (Vec<Option<u64>>, Vec<QueueStats>) {
    let mut network = Network::<Nothing>::new(1);
    let a = network.add_host("a", [2, 0, 0, 0, 0, 1]);
    let b = network.add_host("b", TO_B);
    let link = LinkConfig {
        rate,
        ..LinkConfig::default()
    };
    network.connect(end(a), end(b), link).unwrap();
    network.set_port(end(a), port).unwrap();
    for (number, &(time, length, priority)) in frames.iter().enumerate() {
        let mut frame = vec![0; length];
        frame[..6].copy_from_slice(&TO_B);
        let traffic = Traffic {
            frames: vec![(frame, 1)],
            flow: Flow {
                flow: number as u32,
                sender: 1,
            },
            pattern: Pattern::Constant,
            rate: 1,
            layer: Layer::Two,
            overhead: None,
            start: Time::from_picos(time),
            stop: Time::MAX,
            count: 1,
            priority,
            seed: None,
        };
        network.generate(end(a), traffic).unwrap();
    }
    assert_eq!(network.run_until(Time::MAX), Event::Reached);
    let reports = network.report(b).unwrap();
    let arrivals = reports.iter().map(|report| report.first.map(Time::picos));
    (arrivals.collect(), network.queue_stats(end(a)).unwrap())
}

fn queue(size: u64, shaper: Option<Shaper>) -> QueueConfig {
    QueueConfig { size, shaper }
}

/// The port as a list that is searched anew for each frame: when each frame has left, if it did.
fn strict_priority(frames: &[Frame], queues: usize, size: u64) -> Vec<Option<u64>> {
    let class = |priority: u8| usize::from(priority).min(queues - 1);
    let mut left = vec![None; frames.len()];
    let mut waiting: Vec<usize> = Vec::new();
    let (mut free, mut next) = (0, 0);
    while next < frames.len() || !waiting.is_empty() {
        let come = frames.get(next).map_or(u64::MAX, |frame| frame.0);
        if !waiting.is_empty() && free < come {
            // The first of the highest class; its bits take 8 ns each byte.
            let best = waiting.iter().map(|i| class(frames[*i].2)).max().unwrap();
            let place = waiting
                .iter()
                .position(|i| class(frames[*i].2) == best)
                .unwrap();
            let number = waiting.remove(place);
            free += (frames[number].1 as u64 + 20) * 8_000;
            left[number] = Some(free);
            continue;
        }
        let (number, (_, length, priority)) = (next, frames[next]);
        next += 1;
        if free < come {
            free = come + (length as u64 + 20) * 8_000;
            left[number] = Some(free);
            continue;
        }
        let same = waiting
            .iter()
            .filter(|i| class(frames[**i].2) == class(priority));
        let bytes: usize = same.map(|i| frames[*i].1).sum();
        if (bytes + length) as u64 <= size {
            waiting.push(number);
        }
    }
    left
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    // If this fails a frame of low priority overtakes one of high priority, or a queue is larger or
    // smaller than it was made.
    #[test]
    fn strict_priority_is_that_of_a_search_through_a_list(
        coming in prop::collection::vec((0u64..40, 64usize..300, 0u8..5), 1..120),
        queues in 1usize..5,
        size in 0u64..3_000,
    ) {
        // Each frame has its own remainder by 8 ns, so that nothing happens at the same time.
        let mut time = 0;
        let frames: Vec<Frame> = coming
            .iter()
            .enumerate()
            .map(|(number, &(gap, length, priority))| {
                time += gap * 40_000;
                (time + number as u64 + 1, length, priority)
            })
            .collect();
        let port = PortConfig { queues: vec![queue(size, None); queues], shaper: None };
        let (arrived, stats) = through(Some(1_000_000_000), &port, &frames);
        prop_assert_eq!(&arrived, &strict_priority(&frames, queues, size));
        for stats in stats {
            prop_assert_eq!(stats.offered, stats.sent + stats.dropped);
            prop_assert_eq!(stats.offered_bytes, stats.sent_bytes + stats.dropped_bytes);
            prop_assert!(stats.peak_bytes <= size);
        }
    }

    // If this fails a shaped port sends more or less than it may.
    #[test]
    fn a_token_bucket_keeps_to_its_rate_and_burst(
        coming in prop::collection::vec((0u64..3_000_000, 64usize..1500), 1..100),
        bit in prop::sample::select(vec![10u64, 100, 125, 1000, 1024, 8000]),
        burst in 1u64..4000,
        of_port in any::<bool>(),
    ) {
        let mut time = 0;
        let mut frames: Vec<Frame> = Vec::new();
        for (gap, length) in coming {
            time += gap;
            frames.push((time, length, 0));
        }
        let shaper = Some(Shaper { rate: 1_000_000_000_000 / bit, burst });
        let port = match of_port {
            true => PortConfig { queues: vec![queue(PLENTY, None)], shaper },
            false => PortConfig { queues: vec![queue(PLENTY, shaper)], shaper: None },
        };
        let (arrived, _) = through(None, &port, &frames);
        // The same as a clock that says when the bucket is full again (ITU-T I.371's algorithm).
        let (mut full, mut last) = (0, 0);
        for ((time, length, _), arrived) in frames.iter().zip(arrived) {
            let bits = *length as u64 * 8;
            let spare = burst * 8 - bits.min(burst * 8);
            last = last.max(*time).max(full.max(spare * bit) - spare * bit);
            full = full.max(last) + bits * bit;
            prop_assert_eq!(arrived, Some(last));
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    // If this fails a shaper of a high priority blocks the lower ones, or is not kept.
    #[test]
    fn a_shaped_priority_leaves_the_rest_to_the_others(rate in 50_000_000u64..900_000_000) {
        let urgent = Shaper { rate, burst: 2_000 };
        let port = PortConfig {
            queues: vec![queue(PLENTY, None), queue(PLENTY, Some(urgent))],
            shaper: None,
        };
        // 2,000 frames of each at once: 8 us each on the wire with 20 bytes more.
        let frames: Vec<Frame> = (0..4_000).map(|n| (0, 980, (n % 2) as u8)).collect();
        let (arrived, stats) = through(Some(1_000_000_000), &port, &frames);
        let until = 12_000_000_000;
        let early = |priority: usize| {
            let own = arrived.iter().skip(priority).step_by(2);
            own.filter(|time| time.is_some_and(|time| time <= until)).count() as f64
        };
        let share = (rate as f64 * 0.012 / 980.0 / 8.0).min(1500.0);
        prop_assert!((early(1) - share).abs() <= 4.0, "{} of {share}", early(1));
        prop_assert!((early(0) + early(1) - 1500.0).abs() <= 1.0, "the line is never idle");
        prop_assert_eq!(stats[0].sent + stats[1].sent, 4_000);
    }
}

// If this fails occupancy and waiting time do not belong together (Little's law, which is exact when
// nothing waits at the end).
#[test]
fn mean_occupancy_is_what_waited_times_how_long() {
    let frames: Vec<Frame> = (0..500).map(|n| (n * n * 900, 500, 0)).collect();
    let port = PortConfig {
        queues: vec![queue(PLENTY, None)],
        shaper: None,
    };
    let (_, stats) = through(Some(1_000_000_000), &port, &frames);
    assert!(stats[0].wait_sum > 0 && stats[0].wait_max > Time::ZERO);
    assert_eq!(stats[0].byte_time, stats[0].wait_sum * 500);
}

// If this fails links fail at other times than planned, or never come back.
#[test]
fn links_fail_when_they_are_to() {
    let mut network = Network::<Nothing>::new(1);
    let [a, b] = [("a", 1), ("b", 2)].map(|(name, n)| network.add_host(name, [2, 0, 0, 0, 0, n]));
    let link = network
        .connect(end(a), end(b), LinkConfig::default())
        .unwrap();
    network
        .set_link_at(link, Time::from_micros(2), false)
        .unwrap();
    network
        .set_link_at(link, Time::from_micros(3), true)
        .unwrap();
    for (micros, up) in [(1, true), (2, false), (3, true)] {
        network.run_until(Time::from_micros(micros));
        assert_eq!(network.link_is_up(link), Ok(up), "{micros} us");
    }
    assert!(network
        .set_link_at(link, Time::from_micros(2), false)
        .is_err());
    let plan = RandomFailures {
        up: Time::from_millis(3),
        down: Time::from_millis(1),
        start: network.now(),
        stop: Time::from_secs(10),
        seed: 5,
    };
    let moments = network.fail_at_random(link, plan).unwrap();
    assert_eq!(moments.len() % 2, 0);
    assert!(moments.windows(2).all(|pair| pair[0] <= pair[1]));
    let down: u64 = moments
        .chunks(2)
        .map(|pair| (pair[1] - pair[0]).picos())
        .sum();
    let share = down as f64 / 1e13;
    assert!(
        (share - 0.25).abs() < 0.02,
        "down for {share} of the time, 0.25 planned"
    );
    for (number, &time) in moments.iter().enumerate().take(100) {
        network.run_until(time);
        assert_eq!(network.link_is_up(link), Ok(number % 2 == 1));
    }
    network.run_until(Time::from_secs(11));
    assert_eq!(network.link_is_up(link), Ok(true));
}

#[test]
fn nonsensical_ports_are_refused_with_a_sentence() {
    let mut network = Network::<Nothing>::new(1);
    let [a, b] = [("a", 1), ("b", 2)].map(|(name, n)| network.add_host(name, [2, 0, 0, 0, 0, n]));
    let one = |shaper| PortConfig {
        queues: vec![queue(1, shaper)],
        shaper: None,
    };
    let no_cable = network.set_port(end(a), &one(None)).unwrap_err();
    assert_eq!(
        no_cable.to_string(),
        "port 0 of a has no cable; connect it first"
    );
    network
        .connect(end(a), end(b), LinkConfig::default())
        .unwrap();
    for (rate, burst) in [(0, 1), (1, 0)] {
        assert!(network
            .set_port(end(a), &one(Some(Shaper { rate, burst })))
            .is_err());
    }
    let none = PortConfig {
        queues: vec![],
        shaper: None,
    };
    assert!(network.set_port(end(a), &none).is_err());
    // The largest numbers there are do no harm.
    let most = Some(Shaper {
        rate: u64::MAX,
        burst: u64::MAX,
    });
    network
        .set_port(
            end(a),
            &PortConfig {
                queues: vec![queue(u64::MAX, most); 256],
                shaper: most,
            },
        )
        .unwrap();
    network
        .send_at(a, Time::from_secs(1_000_000), &[0; 64])
        .unwrap();
    network.run_until(Time::MAX);
    assert_eq!(network.queue_stats(end(a)).unwrap()[0].sent, 1);
}
