//! Switches on real interfaces, by each way to them. Each test has a network namespace of its own and
//! leaves nothing. Without root they are skipped, and say so.

mod common;

use std::sync::mpsc::sync_channel;
use std::time::Duration;

use common::*;
use p4_io::namespace::ip;
use p4_io::{Forwarder, IoError, Patch};
use p4_net::{Device, LinkConfig, Out, Probe};
use p4_time::{Clock as _, Time};

/// Frames that switches must carry whatever is in them, each of its own length.
fn frames_of_every_length(lengths: impl Iterator<Item = usize>) -> Vec<Vec<u8>> {
    let starts: [&[u8]; 5] = [
        &[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45], // IPv4 to somebody else
        &[
            1, 0, 0x5E, 0, 0, 22, 2, 0, 0, 0, 0, 1, 0x08, 0x00, 0x46, 0xC0,
        ], // IGMP reports' address
        &[0xFF; 12],                                             // broadcast, no known type
        &[
            0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x81, 0x00, 0, 5, 0x86, 0xDD, 0x60,
        ], // tagged
        &[
            2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x88, 0xA8, 0, 7, 0x81, 0x00, 0, 5, 0xAB, 0x37,
        ],
    ];
    let frame = |length: usize| {
        let mut frame: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
        let start = starts[length % starts.len()];
        frame[..start.len()].copy_from_slice(start);
        frame
    };
    lengths.map(frame).collect()
}

// If this fails some lengths, tags or addresses of frames do not get through a lab.
#[test]
fn frames_of_every_length_arrive_unchanged() {
    for_each_backend(|backend| {
        cable("a", "s1")?;
        cable("b", "s2")?;
        let source = start(backend, &[(1, "a")], Patch(510, 1))?;
        let (sink, seen) = recorder(None);
        let sink = start(backend, &[(1, "b")], sink)?;
        let switch = start(backend, &[(1, "s1"), (2, "s2")], Patch(1, 2))?;
        for frame in frames_of_every_length(60..=1514) {
            source.send_from_cpu(frame.clone())?;
            let (_, arrived) = seen.recv_timeout(PATIENCE).expect("it arrives");
            assert_eq!(arrived, frame);
        }
        let passed = [switch.stop()?.1, sink.stop()?.1].map(|stats| {
            let drops: u64 = stats.ports.iter().map(|(_, port)| port.drops.total()).sum();
            (stats.ports[0].1.received.frames, drops)
        });
        assert_eq!(passed, [(1455, 0), (1455, 0)]);
        Ok(())
    });
}

// If this fails labs whose encapsulation needs jumbo frames lose the longest ones.
#[test]
fn jumbo_frames_arrive_and_longer_ones_are_refused() {
    for_each_backend(|backend| {
        for (near, far) in [("a", "s1"), ("b", "s2")] {
            cable(near, far)?;
            for end in [near, far] {
                ip(end, &["link", "set", "dev", end, "mtu", "9000"])?;
            }
        }
        let source = start(backend, &[(1, "a")], Patch(510, 1))?;
        let (sink, seen) = recorder(None);
        let _sink = start(backend, &[(1, "b")], sink)?;
        let switch = start(backend, &[(1, "s1"), (2, "s2")], Patch(1, 2))?;
        for frame in frames_of_every_length((60..=9014).step_by(407)) {
            source.send_from_cpu(frame.clone())?;
            let (_, arrived) = seen.recv_timeout(PATIENCE).expect("it arrives");
            assert_eq!(arrived, frame);
        }
        for length in [9014, 9019] {
            source.send_from_cpu(vec![9; length])?;
        }
        seen.recv_timeout(PATIENCE).expect("the longest arrives");
        assert_eq!(source.stats()?.port(1).unwrap().drops.bad_length, 1);
        ip("s2", &["link", "set", "dev", "s2", "mtu", "1500"])?;
        source.send_from_cpu(vec![9; 1514])?;
        seen.recv_timeout(PATIENCE).expect("still short enough");
        drop(switch);
        Ok(())
    });
}

// If this fails one busy switch of a process starves the others.
#[test]
fn switches_of_one_process_share_it_fairly() {
    for_each_backend(|backend| {
        const SWITCHES: usize = 2;
        let mut switches = Vec::new();
        let mut sources = Vec::new();
        for number in 0..SWITCHES {
            let [a, s, b, t] = ["a", "s", "b", "t"].map(|name| format!("{name}{number}"));
            cable(&a, &s)?;
            cable(&b, &t)?;
            switches.push(start(backend, &[(1, &s), (2, &t)], Patch(1, 2))?);
            sources.push(start(backend, &[(1, &a)], Patch(510, 1))?);
        }
        for _ in 0..20_000 {
            for source in &sources {
                source.send_from_cpu(vec![7; 64])?;
            }
        }
        for source in &sources {
            source.stats()?; // it has sent all
        }
        let mut sent = Vec::new();
        for switch in &switches {
            sent.push(switch.stats()?.port(2).unwrap().sent.frames);
        }
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(*least * 4 > *most && *least > 0, "{sent:?}");
        Ok(())
    });
}

// If this fails frames change or are miscounted on their way through a switch.
#[test]
fn frames_cross_unchanged_and_are_counted_on_both_ports() {
    for_each_backend(|backend| {
        cable("a", "s1")?;
        cable("b", "s2")?;
        let source = Forwarder::start(config(Some(backend), &[(1, "a")]), Patch(510, 1), nobody())?;
        let (sink, seen) = recorder(None);
        let _sink = Forwarder::start(config(Some(backend), &[(1, "b")]), sink, nobody())?;
        let switch = Forwarder::start(
            config(Some(backend), &[(1, "s1"), (2, "s2")]),
            Patch(1, 2),
            nobody(),
        )?;
        let frames: Vec<Vec<u8>> = (0..200u64)
            .map(|sequence| {
                let mut frame = vec![sequence as u8; 64 + 7 * sequence as usize];
                Probe {
                    flow: 1,
                    sequence,
                    sender: 1,
                }
                .write_at_end_of(&mut frame);
                frame
            })
            .collect();
        for frame in &frames {
            source.send_from_cpu(frame.clone())?;
        }
        for frame in &frames {
            assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), (1, frame.clone()));
        }
        let stats = switch.stop()?.1;
        let bytes = frames.iter().map(|frame| frame.len() as u64).sum();
        let all = p4_net::Count {
            frames: 200,
            bytes,
            probes: 200,
        };
        assert_eq!(stats.port(1).unwrap().received, all);
        assert_eq!(stats.port(2).unwrap().sent, all);
        assert_eq!(
            stats.port(2).unwrap().drops.total() + stats.port(1).unwrap().drops.total(),
            0
        );
        Ok(())
    });
}

// If this fails, what a controller asks for overtakes the packet that it sent before, or a switch that
// was set up while it slept sleeps on when something is due.
#[test]
fn what_is_done_in_place_keeps_its_order_and_wakes_the_switch() {
    /// Counts packets, and sends one when it is due.
    #[derive(Default)]
    struct Timer {
        seen: u32,
        due: Option<Time>,
    }
    impl Device for Timer {
        fn receive(&mut self, _: Time, _: u16, _: &[u8], _: &mut Out) {
            self.seen += 1;
        }
        fn next_departure(&self) -> Option<Time> {
            self.due
        }
        fn advance(&mut self, _: Time, out: &mut Out) {
            self.due = None;
            out(510, 0, &[7; 64]);
        }
    }
    for_each_backend(|backend| {
        cable("a", "s")?;
        let (packet_ins, cpu) = sync_channel(1);
        let config = config(Some(backend), &[(1, "s")]);
        let clock = config.clock;
        let switch = Forwarder::start(config, Timer::default(), packet_ins)?;
        for sent in 1..=1_000 {
            switch.send_from_cpu(vec![9; 64])?;
            assert_eq!(switch.with_device(|timer| timer.seen)?, sent);
        }
        // Without packets the switch waits, sooner or later, and lets others at its device.
        let handle = switch.handle();
        while handle.with_device_at_once(|_| ()).is_none() {
            std::thread::yield_now();
        }
        let due = clock.now();
        switch.with_device(move |timer| timer.due = Some(due))?;
        assert_eq!(cpu.recv_timeout(PATIENCE).unwrap().data, [7; 64]);
        switch.stop()?;
        let gone = handle.with_device(|_| ());
        assert!(matches!(gone, Err(IoError::Stopped)));
        Ok(())
    });
}

// If this fails a controller cannot talk to a running switch.
#[test]
fn a_running_switch_can_be_asked_told_and_stopped() {
    for_each_backend(|backend| {
        cable("a", "s")?;
        let (packet_ins, cpu) = sync_channel(1);
        let switch = Forwarder::start(
            config(Some(backend), &[(1, "s")]),
            Patch(1, 510),
            packet_ins,
        )?;
        let source = Forwarder::start(config(Some(backend), &[(1, "a")]), Patch(510, 1), nobody())?;
        source.send_from_cpu(vec![9; 64])?;
        let packet_in = cpu.recv_timeout(PATIENCE).unwrap();
        assert_eq!((packet_in.switch, packet_in.data), (1, vec![9; 64]));

        assert_eq!(
            switch.with_device(|patch| std::mem::replace(&mut patch.1, 77))?,
            510
        );
        switch.send_from_cpu(vec![9; 64])?;
        assert_eq!(switch.stats()?.no_port, 0, "from the CPU it goes to port 1");
        assert_eq!(switch.stats()?.port(1).unwrap().sent.frames, 1);
        switch.with_device(|patch| patch.0 = 88)?;
        switch.send_from_cpu(vec![9; 64])?;
        assert_eq!(switch.stats()?.no_port, 1);

        switch.with_device(|patch| *patch = Patch(510, 1))?;
        switch.set_port(1, false)?;
        switch.send_from_cpu(vec![9; 64])?;
        switch.set_port(1, true)?;
        switch.send_from_cpu(vec![9; 13])?;
        switch.send_from_cpu(vec![9; 5000])?;
        let drops = switch.stats()?.port(1).unwrap().drops;
        assert_eq!((drops.down, drops.bad_length), (1, 2));
        assert!(matches!(
            switch.set_port(2, true),
            Err(IoError::UnknownPort { port: 2 })
        ));
        assert_eq!(switch.stop()?.0 .1, 1);
        Ok(())
    });
}

// If this fails a topology's delay and loss are silently left out between real hosts.
#[test]
fn an_emulated_link_delays_loses_and_keeps_the_order() {
    for_each_backend(|backend| {
        cable("a", "s")?;
        let source = Forwarder::start(config(Some(backend), &[(1, "a")]), Patch(510, 1), nobody())?;
        let (packet_ins, cpu) = sync_channel(1_000);
        let switch = Forwarder::start(
            config(Some(backend), &[(1, "s")]),
            Patch(1, 510),
            packet_ins,
        )?;
        let slow = LinkConfig {
            delay: Time::from_millis(20),
            ..LinkConfig::default()
        };
        let lossy = LinkConfig {
            loss: 0.5,
            ..slow.clone()
        };
        source.emulate(1, Some(slow), None, 1)?;
        switch.emulate(1, None, Some(lossy), 1)?;
        // The clocks of the two switches differ: only the test's own spans both.
        let start = std::time::Instant::now();
        for number in 0..200 {
            source.send_from_cpu(vec![number; 64])?;
        }
        let mut seen = vec![cpu.recv_timeout(PATIENCE).unwrap().data[0]];
        assert!(
            start.elapsed() >= Duration::from_millis(40),
            "20 ms out and 20 ms in"
        );
        while let Ok(packet_in) = cpu.recv_timeout(Duration::from_millis(500)) {
            seen.push(packet_in.data[0]);
        }
        let stats = switch.stats()?;
        let port = stats.port(1).unwrap();
        assert_eq!(
            (port.received.frames, port.drops.loss),
            (200, 200 - seen.len() as u64)
        );
        assert!(
            (50..150).contains(&seen.len()),
            "{} of 200 at 50 %",
            seen.len()
        );
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]));
        let wrong = LinkConfig {
            loss: 1.5,
            ..LinkConfig::default()
        };
        assert!(matches!(
            switch.emulate(1, Some(wrong), None, 1),
            Err(IoError::Link(_))
        ));
        let port = switch.emulate(9, None, None, 1);
        assert!(matches!(port, Err(IoError::UnknownPort { port: 9 })));
        Ok(())
    });
}

// If this fails a link failure in a lab ends the switch, or the link stays dead after its repair.
#[test]
fn a_switch_outlives_its_interfaces() {
    for_each_backend(|backend| {
        cable("a", "s")?;
        cable("b", "t")?;
        let source = Forwarder::start(config(Some(backend), &[(1, "a")]), Patch(510, 1), nobody())?;
        let (device, seen) = recorder(None);
        let switch = Forwarder::start(
            config(Some(backend), &[(1, "s"), (2, "t")]),
            device,
            nobody(),
        )?;
        ip("s", &["link", "set", "dev", "s", "down"])?;
        source.send_from_cpu(vec![1; 64])?;
        source.stats()?; // answered when that frame has been sent
        switch.stats()?;
        ip("s", &["link", "set", "dev", "s", "up"])?;
        wait_until_up("a");
        source.send_from_cpu(vec![2; 64])?;
        assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), (1, vec![2; 64]));
        ip("t", &["link", "delete", "dev", "t"])?;
        source.send_from_cpu(vec![3; 64])?;
        assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), (1, vec![3; 64]));
        switch.stop()?;
        Ok(())
    });
}

// If this fails a port that was down ends the switch as soon as it is up, or never sends again.
#[test]
fn a_port_that_was_down_sends_again() {
    for_each_backend(|backend| {
        cable("a", "s")?;
        let source = Forwarder::start(config(Some(backend), &[(1, "a")]), Patch(510, 1), nobody())?;
        let (device, seen) = recorder(None);
        let switch = Forwarder::start(config(Some(backend), &[(1, "s")]), device, nobody())?;
        ip("a", &["link", "set", "dev", "a", "down"])?;
        for _ in 0..300 {
            source.send_from_cpu(vec![1; 64])?;
        }
        source.stats()?; // answered when those frames have been sent
        ip("a", &["link", "set", "dev", "a", "up"])?;
        wait_until_up("s");
        // What was lost while it was down may cost a few more.
        let arrived = (0..400).any(|_| {
            let sent = source.send_from_cpu(vec![2; 64]);
            sent.is_ok() && seen.recv_timeout(Duration::from_millis(50)).is_ok()
        });
        assert!(arrived);
        source.stop()?;
        switch.stop()?;
        Ok(())
    });
}

// If this fails a student without root, or with a typo, gets a riddle instead of an answer.
#[test]
fn what_cannot_work_is_refused_with_a_sentence() {
    as_root(|| {
        cable("a", "s")?;
        let start = |ports: &[(u16, &str)]| {
            Forwarder::start(config(None, ports), Patch(1, 2), nobody())
                .err()
                .map(|e| e.to_string())
        };
        let missing = "there is no network interface `nope`; `ip link` lists those there are";
        assert_eq!(start(&[(1, "nope")]).unwrap(), missing);
        assert!(start(&[(1, "a"), (1, "s")])
            .unwrap()
            .starts_with("port 1 is given to two"));
        assert!(start(&[(510, "a")])
            .unwrap()
            .starts_with("port 510 is the CPU port"));
        assert!(start(&[(1, "a\0b")]).unwrap().len() > 20);
        Ok(())
    });
}
