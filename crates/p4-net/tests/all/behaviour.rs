//! What a lab relies on, one example each, with times worked out by hand.

use p4_net::{
    Device, Drops, End, Event, Exhausted, Flow, Limits, LinkConfig, NetError, Network, NodeId, Out,
    Probe, Stream,
};
use p4_time::{Clock, Time};

/// Sends every frame on to the listed ports, whatever port it came from.
struct Copier(Vec<u16>);

impl Device for Copier {
    fn receive(&mut self, _: Time, _: u16, data: &[u8], out: &mut Out) {
        for &port in &self.0 {
            out(port, 0, data);
        }
    }
}

const FLOW: Flow = Flow { flow: 1, sender: 1 };
const TO_B: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn end(node: NodeId, port: u16) -> End {
    End { node, port }
}

fn stream(start: Time, interval: Time, count: u64, length: usize) -> Stream {
    let mut template = vec![0; length];
    template[..6].copy_from_slice(&TO_B);
    Stream {
        template,
        flow: FLOW,
        start,
        interval,
        count,
    }
}

/// a - s1 - b, with `copies` of each frame towards b.
fn line(link: LinkConfig, ports: Vec<u16>) -> (Network<Copier>, [NodeId; 3]) {
    let mut network = Network::new(7);
    let a = network.add_host("a", [2, 0, 0, 0, 0, 1]);
    let s = network.add_switch("s1", Copier(ports), Some(510));
    let b = network.add_host("b", TO_B);
    network.connect(end(a, 0), end(s, 1), link.clone()).unwrap();
    network.connect(end(s, 2), end(b, 0), link).unwrap();
    (network, [a, s, b])
}

fn gigabit() -> LinkConfig {
    LinkConfig {
        rate: Some(1_000_000_000),
        delay: Time::from_micros(10),
        ..LinkConfig::default()
    }
}

// If this fails every latency that a student measures is wrong.
#[test]
fn a_frame_takes_transmission_plus_delay_on_each_hop() {
    let (mut network, [a, _, b]) = line(gigabit(), vec![2]);
    network
        .start_stream(
            a,
            stream(Time::from_micros(5), Time::from_millis(1), 1, 105),
        )
        .unwrap();
    assert_eq!(network.run_until(Time::from_secs(1)), Event::Reached);
    // (105 + 20) bytes at 1 Gb/s are 1 us; twice, with 10 us of propagation each.
    assert_eq!(
        network.report(b).unwrap()[0].first,
        Some(Time::from_micros(5 + 2 * 11))
    );
    assert_eq!(network.now(), Time::from_secs(1));
}

// If this fails an overloaded port is not seen to be overloaded.
#[test]
fn a_full_queue_drops_the_tail_and_counts_it() {
    let link = LinkConfig {
        queue: 3 * 105,
        ..gigabit()
    };
    // Two copies of each frame on the same port: half must go once the queue is full. (1 ns more
    // than a transmission between frames, so that no two events share a moment.)
    let (mut network, [a, _, b]) = line(link, vec![2, 2]);
    network
        .start_stream(a, stream(Time::ZERO, Time::from_nanos(1_001), 100, 105))
        .unwrap();
    assert_eq!(network.run_until(Time::from_secs(1)), Event::Reached);
    let link = network.links().nth(1).unwrap();
    let [to_b, _] = network.link_stats(link).unwrap();
    assert_eq!((to_b.offered.frames, to_b.peak_queue), (200, 315));
    assert_eq!(
        to_b.sent.frames, 103,
        "one per transmission, then what waited"
    );
    assert_eq!(
        to_b.drops,
        Drops {
            queue_full: 97,
            ..Drops::default()
        }
    );
    let report = network.report(b).unwrap()[0];
    assert_eq!(report.received + report.duplicates, 103);
}

// If this fails a link failure loses nothing, or brings back ghosts.
#[test]
fn a_cut_loses_what_flies_and_waits_and_nothing_later() {
    let (mut network, [a, _, b]) = line(gigabit(), vec![2]);
    network
        .start_stream(a, stream(Time::ZERO, Time::from_nanos(500), 20, 105))
        .unwrap();
    // At 5.2 us on the first link: 6 frames on the wire, the last half sent; 5 wait (11 emitted).
    network.run_until(Time::from_nanos(5_200));
    let link = network.links().next().unwrap();
    let before = network.link_stats(link).unwrap()[0];
    assert_eq!((before.in_flight, before.queued), (6, 5));
    network.set_link(link, false).unwrap();
    assert!(!network.link_is_up(link).unwrap());
    network.run_until(Time::from_nanos(7_700));
    network.set_link(link, true).unwrap();
    network.run_until(Time::from_secs(1));
    let stats = network.link_stats(link).unwrap()[0];
    assert_eq!(
        stats.drops,
        Drops {
            cut: 6,
            link_down: 5 + 5,
            ..Drops::default()
        }
    );
    let report = network.report(b).unwrap()[0];
    assert_eq!((report.sent, report.received, report.missing), (20, 4, 16));
}

// If this fails a controller never hears of IGMP, or hears of it at the wrong time.
#[test]
fn frames_to_the_cpu_port_stop_the_run_and_the_answer_goes_out_at_once() {
    let (mut network, [a, s, b]) = line(gigabit(), vec![510, 2]);
    let frame = [9u8; 105];
    network.send_at(a, Time::from_millis(1), &frame).unwrap();
    let event = network.run_until(Time::from_secs(1));
    let time = Time::from_millis(1) + Time::from_micros(11);
    assert_eq!(
        event,
        Event::PacketIn {
            node: s,
            port: 510,
            data: frame.to_vec(),
            time
        }
    );
    assert_eq!(network.now(), time);
    network.device_mut(s).unwrap().0 = vec![2, 77];
    let mut probe = vec![0; 64];
    probe[..6].copy_from_slice(&TO_B);
    Probe {
        flow: 5,
        sequence: 0,
        sender: 6,
    }
    .write_at_end_of(&mut probe);
    network.send_from_cpu(s, &probe).unwrap();
    assert_eq!(network.run_until(Time::from_secs(1)), Event::Reached);
    assert_eq!(network.report(b).unwrap()[0].received, 1);
    assert_eq!(
        network.node_stats(s).unwrap().no_cable,
        1,
        "port 77 has no cable"
    );
    assert_eq!(
        network.node_stats(b).unwrap().filtered,
        1,
        "the first frame was for nobody"
    );
}

// If this fails a host cannot answer a querier.
#[test]
fn a_host_that_is_watched_hands_over_what_is_no_probe() {
    let (mut network, [a, _, b]) = line(LinkConfig::default(), vec![2]);
    network.notify(b).unwrap();
    network.join(b, [1, 0, 0x5E, 0, 0, 1]).unwrap();
    let mut query = vec![0; 60];
    query[..6].copy_from_slice(&[1, 0, 0x5E, 0, 0, 1]);
    network.send_at(a, Time::from_micros(3), &query).unwrap();
    let time = Time::from_micros(3);
    assert_eq!(
        network.run_until(Time::MAX),
        Event::HostFrame {
            node: b,
            data: query,
            time
        }
    );
}

// If this fails a student's forwarding loop hangs the notebook.
#[test]
fn a_loop_without_delay_ends_at_a_bound() {
    for (ports, reason) in [
        (vec![1], Exhausted::Events),
        (vec![1, 1], Exhausted::Frames),
    ] {
        let mut network = Network::new(0);
        let [s, t] = ["s", "t"].map(|name| network.add_switch(name, Copier(ports.clone()), None));
        let a = network.add_host("a", TO_B);
        network
            .connect(end(s, 1), end(t, 1), LinkConfig::default())
            .unwrap();
        network
            .connect(end(s, 2), end(a, 0), LinkConfig::default())
            .unwrap();
        network.set_limits(Limits {
            events: 1_000_000,
            frames: 10_000,
        });
        network.send_at(a, Time::ZERO, &[0; 64]).unwrap();
        assert_eq!(
            network.run_until(Time::from_secs(1)),
            Event::Exhausted(reason)
        );
    }
}

// If this fails a mistake in a topology is found late or not at all.
#[test]
fn wrong_requests_are_refused_with_a_sentence() {
    let (mut network, [a, s, _]) = line(LinkConfig::default(), vec![]);
    let nowhere = NodeId::from_index(99);
    let refusals = [
        network
            .connect(end(s, 1), end(s, 9), LinkConfig::default())
            .unwrap_err(),
        network
            .connect(end(s, 9), end(a, 1), LinkConfig::default())
            .unwrap_err(),
        network
            .connect(end(s, 510), end(s, 9), LinkConfig::default())
            .unwrap_err(),
        network
            .connect(end(s, 9), end(s, 9), LinkConfig::default())
            .unwrap_err(),
        network
            .connect(end(s, 9), end(nowhere, 9), LinkConfig::default())
            .unwrap_err(),
        network
            .start_stream(s, stream(Time::ZERO, Time::ZERO, 1, 64))
            .unwrap_err(),
        network
            .start_stream(a, stream(Time::ZERO, Time::ZERO, 1, 63))
            .unwrap_err(),
        network
            .start_stream(a, stream(Time::ZERO, Time::ZERO, 2, 64))
            .unwrap_err(),
        network.send_from_cpu(a, &[]).unwrap_err(),
    ];
    let sentences: Vec<String> = refusals.iter().map(NetError::to_string).collect();
    assert_eq!(
        sentences[0],
        "port 1 of s1 already has a cable to a; use another port"
    );
    assert_eq!(sentences[1], "host a has port 0 only, not 1");
    assert_eq!(sentences[5], "s1 is a switch; this needs a host");
    assert!(
        sentences.iter().all(|sentence| sentence.len() > 20),
        "{sentences:?}"
    );
    for loss in [-0.1, 1.1, f64::NAN] {
        let config = LinkConfig {
            loss,
            ..LinkConfig::default()
        };
        assert!(network.connect(end(s, 9), end(s, 10), config).is_err());
    }
    let config = LinkConfig {
        rate: Some(0),
        ..LinkConfig::default()
    };
    assert_eq!(
        network.connect(end(s, 9), end(s, 10), config),
        Err(NetError::ZeroRate)
    );
    // Nothing of all this has taken the ports.
    assert!(network
        .connect(end(s, 9), end(s, 10), LinkConfig::default())
        .is_ok());
}

/// Keeps every frame for a while.
struct Holder(std::collections::VecDeque<(Time, Vec<u8>)>);

const HELD: Time = Time::from_micros(70);

impl Device for Holder {
    fn receive(&mut self, now: Time, _: u16, data: &[u8], _: &mut Out) {
        let leaves = Time::from_picos(now.picos() + HELD.picos());
        self.0.push_back((leaves, data.to_vec()));
    }

    fn next_departure(&self) -> Option<Time> {
        self.0.front().map(|(leaves, _)| *leaves)
    }

    fn advance(&mut self, now: Time, out: &mut Out) {
        while self.0.front().is_some_and(|(leaves, _)| *leaves <= now) {
            if let Some((_, data)) = self.0.pop_front() {
                out(2, 0, &data);
            }
        }
    }
}

// If this fails, a queue with a rate in a switch never lets its frames out, or at another time.
#[test]
fn what_waits_in_a_switch_leaves_in_time() {
    let mut network = Network::new(7);
    let a = network.add_host("a", [2, 0, 0, 0, 0, 1]);
    let s = network.add_switch("s1", Holder(Default::default()), None);
    let b = network.add_host("b", TO_B);
    network.connect(end(a, 0), end(s, 1), gigabit()).unwrap();
    network.connect(end(s, 2), end(b, 0), gigabit()).unwrap();
    // Frames come while others wait: one every 30 us, each kept for 70 us.
    let stream = stream(Time::from_micros(5), Time::from_micros(30), 5, 105);
    network.start_stream(a, stream).unwrap();
    assert_eq!(network.run_until(Time::from_secs(1)), Event::Reached);
    let report = &network.report(b).unwrap()[0];
    assert_eq!(report.received, 5);
    assert_eq!(report.first, Some(Time::from_micros(5 + 2 * 11 + 70)));
}

/// Says on port 2 what it is told of its ports, a while after.
#[derive(Default)]
struct Watcher {
    news: Vec<(u16, bool)>,
    due: Option<Time>,
}

impl Device for Watcher {
    fn receive(&mut self, _: Time, _: u16, _: &[u8], _: &mut Out) {}

    fn next_departure(&self) -> Option<Time> {
        self.due
    }

    fn advance(&mut self, now: Time, out: &mut Out) {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            out(2, 0, &[2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0x12, 0x34]);
        }
    }

    fn port_changed(&mut self, now: Time, port: u16, up: bool) {
        self.news.push((port, up));
        self.due = Some(Time::from_picos(now.picos() + HELD.picos()));
    }
}

// If this fails, a switch does not see that its cable is dead, or packets that it makes of itself
// then never leave.
#[test]
fn a_switch_sees_its_links_fail() {
    let mut network = Network::new(7);
    let a = network.add_host("a", [2, 0, 0, 0, 0, 1]);
    let s = network.add_switch("s1", Watcher::default(), None);
    let b = network.add_host("b", TO_B);
    let cut = network.connect(end(a, 0), end(s, 1), gigabit()).unwrap();
    let other = network.connect(end(s, 2), end(b, 0), gigabit()).unwrap();
    network.set_link(cut, false).unwrap();
    network.set_link(cut, false).unwrap();
    network.run_until(Time::from_millis(1));
    network.set_link(cut, true).unwrap();
    network.run_until(Time::from_millis(2));
    let news = &network.device_mut(s).unwrap().news;
    assert_eq!(news, &[(1, false), (1, true)]);
    assert_eq!(network.link_stats(other).unwrap()[0].delivered.frames, 2);
    // What the caller changes from outside has its time, too.
    network.device_mut(s).unwrap().due = Some(Time::from_millis(3));
    network.wake_switch(s).unwrap();
    network.run_until(Time::from_millis(4));
    assert_eq!(network.link_stats(other).unwrap()[0].delivered.frames, 3);
}
