//! Hosts with a TCP: what transfers reach, by formulas, and that every byte arrives on bad networks.

use p4_net::{
    Congestion, Device, End, Event, LinkConfig, NetError, Network, NodeId, Out, TcpConfig, Time,
    Transfer, Transferred,
};

/// Ethernet (14), preamble and gap (20), IPv4 (20) and TCP (20) headers, in bytes.
const HEADERS: f64 = 74.0;
const MSS: f64 = 1460.0;
const GIGABIT: u64 = 1_000_000_000;

/// Passes frames from port 1 to port 2 and back; between them it may do harm, by a dice of its own.
struct Middle {
    dice: u64,
    /// One frame in so many is doubled, held back, changed in one bit, or rewritten with checksums
    /// that are right; 0 for none.
    doubled: u64,
    held: u64,
    changed: u64,
    rewritten: u64,
    /// Bytes of the longest frame
    longest: usize,
    /// A frame held back for each direction, to go after the next
    waiting: [Option<Vec<u8>>; 2],
}

impl Middle {
    fn plain() -> Middle {
        Middle {
            dice: 0,
            doubled: 0,
            held: 0,
            changed: 0,
            rewritten: 0,
            longest: 0,
            waiting: [None, None],
        }
    }

    fn throw(&mut self, one_in: u64) -> bool {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        one_in > 0 && (self.dice >> 33).is_multiple_of(one_in)
    }
}

impl Middle {
    /// Changes one or two fields of TCP or IPv4, as a program may that also corrects the checksums.
    fn rewrite(&mut self, frame: &mut Vec<u8>) {
        for _ in 0..=self.dice >> 63 {
            self.throw(0);
            let at = 16 + (self.dice >> 40) as usize % 52;
            let value =
                [0, 1, 0x7F, 0x80, 0xFF, (self.dice >> 8) as u8][(self.dice >> 33) as usize % 6];
            if at < frame.len() && !(22..34).contains(&at) {
                frame[at] = value;
            }
        }
        self.throw(0);
        if self.dice >> 61 == 0 {
            frame.truncate(34 + (self.dice >> 33) as usize % 40);
        }
        correct(frame);
    }
}

/// Puts right checksums into a frame of Ethernet, IPv4 without options, and TCP.
fn correct(frame: &mut [u8]) {
    let end = (14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]))).min(frame.len());
    let checksum = |words: &[&[u8]], start: u32| {
        let pairs = words.iter().flat_map(|bytes| bytes.chunks(2));
        let mut sum = pairs.fold(start, |sum, pair| {
            sum + u32::from(pair[0]) * 256 + pair.get(1).map_or(0, |low| u32::from(*low))
        });
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        (!(sum as u16)).to_be_bytes()
    };
    frame[24..26].fill(0);
    let header = checksum(&[&frame[14..34]], 0);
    frame[24..26].copy_from_slice(&header);
    if end >= 34 + 20 {
        frame[50..52].fill(0);
        let (addresses, segment) = (&frame[26..34], &frame[34..end]);
        let segment = checksum(&[addresses, segment], 6 + (end - 34) as u32);
        frame[50..52].copy_from_slice(&segment);
    }
}

impl Device for Middle {
    fn receive(&mut self, _: Time, port: u16, data: &[u8], out: &mut Out) {
        let to = 3 - port;
        self.longest = self.longest.max(data.len());
        let mut frame = data.to_vec();
        if self.throw(self.changed) {
            let bit = (self.dice >> 20) as usize % (frame.len() * 8 - 96);
            frame[12 + bit / 8] ^= 1 << (bit % 8);
        }
        if self.throw(self.rewritten) {
            self.rewrite(&mut frame);
        }
        if self.throw(self.doubled) {
            out(to, 0, &frame);
        }
        if self.throw(self.held) {
            let before = self.waiting[usize::from(to == 2)].replace(frame);
            return before.into_iter().for_each(|frame| out(to, 0, &frame));
        }
        out(to, 0, &frame);
        let late = self.waiting[usize::from(to == 2)].take();
        late.into_iter().for_each(|frame| out(to, 0, &frame));
    }
}

fn end(node: NodeId, port: u16) -> End {
    End { node, port }
}

fn link(rate: u64, delay: Time) -> LinkConfig {
    LinkConfig {
        rate: Some(rate),
        delay,
        ..LinkConfig::default()
    }
}

fn host(last: u8) -> TcpConfig {
    TcpConfig {
        address: [10, 0, 0, last],
        mtu: 1500,
        rate: None,
        gateway: None,
    }
}

/// The sending host, a switch and the receiving host, on equal cables.
fn line(
    seed: u64,
    cable: LinkConfig,
    middle: Middle,
    hosts: [TcpConfig; 2],
) -> (Network<Middle>, [NodeId; 2]) {
    let mut network = Network::new(seed);
    let switch = network.add_switch("s", middle, None);
    let ends = [("a", 1), ("b", 2)].map(|(name, n)| network.add_host(name, [2, 0, 0, 0, 0, n]));
    for (port, (host, config)) in ends.into_iter().zip(hosts).enumerate() {
        let to = end(switch, port as u16 + 1);
        network.connect(end(host, 0), to, cable.clone()).unwrap();
        network.set_tcp(host, config).unwrap();
    }
    (network, ends)
}

fn transfer([sender, receiver]: [NodeId; 2]) -> Transfer {
    Transfer {
        sender,
        receiver,
        bytes: u64::MAX,
        start: Time::ZERO,
        stop: Time::MAX,
        window: 1 << 18,
        buffer: 1 << 18,
        congestion: Congestion::Cubic,
        ack_delay: Time::from_millis(10),
    }
}

/// Bits per second that arrive between two moments.
fn goodput(network: &mut Network<Middle>, transfers: &[u32], from: Time, to: Time) -> f64 {
    let mut delivered = |until| {
        assert_eq!(network.run_until(until), Event::Reached);
        let reports = transfers.iter().map(|n| network.transferred(*n).unwrap());
        reports.map(|report| report.delivered).sum::<u64>()
    };
    let before = delivered(from);
    (delivered(to) - before) as f64 * 8.0 / (to - from).as_secs_f64()
}

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    let off = value / expected - 1.0;
    assert!(
        off.abs() <= tolerance,
        "{value} is {:.2} % off {expected}",
        off * 100.0
    );
}

// If this fails every goodput in a figure is wrong.
#[test]
fn a_flow_fills_a_line_but_for_the_headers() {
    for congestion in [Congestion::Unlimited, Congestion::Reno, Congestion::Cubic] {
        let cable = link(GIGABIT, Time::from_micros(50));
        let (mut network, ends) = line(1, cable, Middle::plain(), [host(1), host(2)]);
        let plan = Transfer {
            congestion,
            ..transfer(ends)
        };
        let flow = network.transfer(&plan).unwrap();
        let (from, to) = (Time::from_millis(20), Time::from_millis(120));
        let goodput = goodput(&mut network, &[flow], from, to);
        assert_near(goodput, 1e9 * MSS / (MSS + HEADERS), 0.001);
        assert_eq!(network.transferred(flow).unwrap().retransmitted, 0);
    }
}

// If this fails the host's own limit, by which figures explain themselves, is another one.
#[test]
fn a_host_sends_no_faster_than_it_can_make_frames() {
    let cable = link(100 * GIGABIT, Time::from_micros(2));
    for (mtu, rate) in [(1500, 10 * GIGABIT), (9000, 30 * GIGABIT)] {
        let config = |last, rate| TcpConfig {
            mtu,
            rate,
            ..host(last)
        };
        let hosts = [config(1, Some(rate)), config(2, None)];
        let (mut network, ends) = line(1, cable.clone(), Middle::plain(), hosts);
        let flows: Vec<u32> = (0..15)
            .map(|_| network.transfer(&transfer(ends)).unwrap())
            .collect();
        let (from, to) = (Time::from_millis(1), Time::from_millis(4));
        let goodput = goodput(&mut network, &flows, from, to);
        // The rate counts frames without preamble and gap.
        let mss = mtu as f64 - 40.0;
        assert_near(goodput, rate as f64 * mss / (mss + 54.0), 0.002);
        // Flows take turns at the card.
        let shares: Vec<u64> = flows
            .iter()
            .map(|flow| network.transferred(*flow).unwrap().delivered)
            .collect();
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(*least * 100 > *most * 95, "unfair: {shares:?}");
    }
}

// If this fails windows are not those that were asked for, or time in the stack is not the network's.
#[test]
fn a_window_passes_in_each_round_trip() {
    // Even numbers: of an odd one the last waits for the next window to be acknowledged.
    for segments in [10, 44, 180] {
        let window = segments * 1460;
        let cable = link(10 * GIGABIT, Time::from_millis(1));
        let (mut network, ends) = line(1, cable, Middle::plain(), [host(1), host(2)]);
        let plan = Transfer {
            window,
            buffer: 1 << 20,
            ..transfer(ends)
        };
        let flow = network.transfer(&plan).unwrap();
        let (from, to) = (Time::from_millis(200), Time::from_millis(600));
        let goodput = goodput(&mut network, &[flow], from, to);
        // Two segments are acknowledged together. The second is behind the first on one cable of
        // two, and the acknowledgement, padded to 60 bytes, is alone.
        let round_trip = 4e-3 + (3.0 * 1534.0 + 2.0 * 80.0) * 8.0 / 1e10;
        assert_near(goodput, window as f64 * 8.0 / round_trip, 0.01);
    }
}

// If this fails students see bytes lost, doubled or swapped by TCP that the network has done harm to.
#[test]
fn every_byte_arrives_over_a_network_that_loses_doubles_and_swaps() {
    let bytes = 400_000;
    let mut resent = 0;
    // With seed 309 a zero window comes late, and its successor never.
    for seed in 1..=320u64 {
        println!("seed {seed}");
        let congestion =
            [Congestion::Unlimited, Congestion::Reno, Congestion::Cubic][seed as usize % 3];
        let middle = Middle {
            dice: seed,
            doubled: 30,
            held: 20,
            changed: 50,
            ..Middle::plain()
        };
        let cable = LinkConfig {
            loss: 0.01,
            jitter: Time::from_micros(200),
            ..link(GIGABIT, Time::from_micros(100))
        };
        let (mut network, ends) = line(seed, cable, middle, [host(1), host(2)]);
        let plan = Transfer {
            bytes,
            congestion,
            window: 30_000,
            ..transfer(ends)
        };
        let flows = [(); 2].map(|()| network.transfer(&plan).unwrap());
        assert_eq!(network.run_until(Time::from_secs(600)), Event::Reached);
        for flow in flows {
            let report = network.transferred(flow).unwrap();
            assert!(report.done, "{report:?}");
            assert_eq!((report.delivered, report.wrong), (bytes, 0));
            assert_eq!((report.written, report.acknowledged), (bytes, bytes));
            assert!(report.segments - report.retransmitted >= bytes.div_ceil(1460));
            resent += report.retransmitted;
        }
    }
    assert!(resent > 100, "nothing was lost: {resent} sent again");
}

// If this fails a student's program that writes nonsense into TCP's fields takes the tool down.
#[test]
fn nonsense_with_right_checksums_does_no_harm_to_the_host() {
    let (mut done, mut wrong) = (0, 0);
    for seed in 1..=100 {
        println!("seed {seed}");
        let middle = Middle {
            dice: seed,
            doubled: 20,
            held: 20,
            rewritten: 5,
            ..Middle::plain()
        };
        let cable = link(GIGABIT, Time::from_micros(100));
        let (mut network, ends) = line(seed, cable, middle, [host(1), host(2)]);
        let plan = Transfer {
            bytes: 60_000,
            window: 20_000,
            ..transfer(ends)
        };
        let flow = network.transfer(&plan).unwrap();
        assert_eq!(network.run_until(Time::from_secs(600)), Event::Reached);
        let report = network.transferred(flow).unwrap();
        done += u32::from(report.done);
        wrong += report.wrong;
    }
    // Else the checksums were not right, or it was not seen what they hid.
    assert!(
        done > 0 && wrong > 0,
        "{done} got through, {wrong} bytes wrong"
    );
}

// If this fails two students with one seed see different figures.
#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let cable = LinkConfig {
            loss: 0.002,
            jitter: Time::from_micros(3),
            ..link(10 * GIGABIT, Time::from_micros(10))
        };
        let (mut network, ends) = line(seed, cable, Middle::plain(), [host(1), host(2)]);
        network.fingerprint_on();
        let flows = [(); 5].map(|()| network.transfer(&transfer(ends)).unwrap());
        network.run_until(Time::from_millis(30));
        let reports: Vec<Transferred> = flows
            .map(|flow| network.transferred(flow).unwrap())
            .to_vec();
        (network.fingerprint(), reports)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

// If this fails a lab on path MTUs measures something else, or ICMP does not reach who asked for it.
#[test]
fn packets_keep_to_the_mtu_and_other_frames_go_past_the_stack() {
    let config = TcpConfig {
        mtu: 1472,
        gateway: Some([2, 0, 0, 0, 0, 2]),
        ..host(1)
    };
    let cable = link(GIGABIT, Time::from_micros(10));
    let (mut network, ends) = line(1, cable, Middle::plain(), [config, host(2)]);
    let (there, back) = (network.links().next(), network.links().nth(1));
    let switch = network.ends(there.unwrap()).unwrap().1.node;
    let plan = Transfer {
        bytes: 1_432_000,
        stop: Time::from_secs(1),
        ..transfer(ends)
    };
    let flow = network.transfer(&plan).unwrap();
    network.notify(ends[0]).unwrap();
    // An ICMP message, and a segment for nobody.
    let mut other = vec![0; 60];
    other[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    other[12..15].copy_from_slice(&[8, 0, 0x45]);
    for (protocol, moment) in [(1, 1), (6, 2)] {
        other[14 + 9] = protocol;
        let time = Time::from_millis(moment);
        network.send_at(ends[1], time, &other).unwrap();
        let event = network.run_until(Time::from_secs(1));
        assert!(matches!(event, Event::HostFrame { data, .. } if data == other));
    }
    assert_eq!(network.run_until(Time::from_secs(1)), Event::Reached);
    let report = network.transferred(flow).unwrap();
    assert!(report.done);
    // 1432 bytes each, but for a short one where the sender's ring buffer comes round.
    assert!((1000..=1006).contains(&report.segments), "{report:?}");
    let [sent, _] = network.link_stats(there.unwrap()).unwrap();
    assert_eq!(report.sender_frames[0], sent.sent.frames);
    assert_eq!(network.device_mut(switch).unwrap().longest, 14 + 1472);
    let [sent, _] = network.link_stats(back.unwrap()).unwrap();
    assert_eq!(report.receiver_frames[0] + 2, sent.sent.frames);
    // All are padded to 60 bytes, and the SYN has 66 with its options.
    assert_eq!(sent.sent.bytes, sent.sent.frames * 60 + 6);
}

// If this fails a transfer that is told to end goes on, or one begins before its time.
#[test]
fn a_transfer_begins_and_ends_when_it_should() {
    let cable = link(GIGABIT, Time::from_micros(10));
    let (mut network, ends) = line(1, cable, Middle::plain(), [host(1), host(2)]);
    let (start, stop) = (Time::from_millis(5), Time::from_millis(50));
    let plan = Transfer {
        start,
        stop,
        ..transfer(ends)
    };
    let flow = network.transfer(&plan).unwrap();
    network.run_until(Time::from_secs(20));
    let report = network.transferred(flow).unwrap();
    // SYN, SYN-ACK, ACK and the first segment: four times over two cables, and 3 x 80 + 1534 bytes.
    let (first, last) = (report.first.unwrap(), report.last.unwrap());
    assert!(first >= start + Time::from_micros(80), "{first:?}");
    assert!(first < start + Time::from_micros(120), "{first:?}");
    // What is in the buffer when the time is over still goes: 256 KiB at 1 Gb/s.
    assert!(
        last > stop && last < stop + Time::from_millis(3),
        "{last:?}"
    );
    assert!(report.done && report.written == report.delivered);
    assert_eq!(network.next_event_time(), None, "the connection is gone");
}

// If this fails a mistake in an experiment is found late or not at all.
#[test]
fn wrong_requests_are_refused_with_a_sentence() {
    let cable = link(GIGABIT, Time::from_micros(10));
    let (mut network, ends) = line(1, cable, Middle::plain(), [host(1), host(2)]);
    let bare = network.add_host("c", [2, 0, 0, 0, 0, 3]);
    let plan = transfer(ends);
    let with_window = Transfer {
        window: 0,
        ..plan.clone()
    };
    let to_bare = Transfer {
        receiver: bare,
        ..plan.clone()
    };
    let to_itself = Transfer {
        receiver: ends[0],
        ..plan.clone()
    };
    let small = TcpConfig { mtu: 68, ..host(3) };
    let slow = TcpConfig {
        rate: Some(0),
        ..host(3)
    };
    let refusals = [
        network.set_tcp(ends[0], host(3)).unwrap_err(),
        network.set_tcp(bare, small).unwrap_err(),
        network.set_tcp(bare, slow).unwrap_err(),
        network.transfer(&with_window).unwrap_err(),
        network.transfer(&to_bare).unwrap_err(),
        network.transfer(&to_itself).unwrap_err(),
        network.transferred(0).unwrap_err(),
    ];
    let sentences: Vec<String> = refusals.iter().map(NetError::to_string).collect();
    assert_eq!(
        sentences[4],
        "c has no TCP; give it an address with set_tcp first"
    );
    assert!(
        sentences.iter().all(|sentence| sentence.len() > 20),
        "{sentences:?}"
    );
    network.run_until(Time::from_millis(1));
    assert_eq!(network.transfer(&plan), Err(NetError::Past));
}
