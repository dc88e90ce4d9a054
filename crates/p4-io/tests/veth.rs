//! Switches on real interfaces. Each test has a network namespace of its own and leaves nothing.
//! Without root they are skipped, and say so.

use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};
use std::time::Duration;

use p4_io::namespace::{in_own_namespace, ip};
use p4_io::{Config, Forwarder, IoError, MonotonicClock, PacketIn, Patch};
use p4_net::{Device, LinkConfig, Probe};
use p4_time::Time;

/// Long enough for a busy machine; a test that waits so long fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Hands every frame to the test, then sends it on to `to`.
struct Recorder {
    frames: Sender<(u16, Vec<u8>)>,
    to: Option<u16>,
}

impl Device for Recorder {
    fn receive(&mut self, _: Time, port: u16, data: &[u8], out: &mut dyn FnMut(u16, &[u8])) {
        let _ = self.frames.send((port, data.to_vec()));
        if let Some(to) = self.to {
            out(to, data);
        }
    }
}

fn config(ports: &[(u16, &str)]) -> Config {
    let ports = ports
        .iter()
        .map(|(number, interface)| (*number, interface.to_string()))
        .collect();
    Config {
        switch: 1,
        ports,
        cpu_port: Some(510),
        clock: MonotonicClock::new(),
    }
}

fn cable(a: &str, b: &str) -> Result<(), IoError> {
    ip(
        a,
        &["link", "add", "name", a, "type", "veth", "peer", "name", b],
    )?;
    for end in [a, b] {
        ip(
            end,
            &["link", "set", "dev", end, "addrgenmode", "none", "up"],
        )?;
    }
    Ok(())
}

fn nobody() -> SyncSender<PacketIn> {
    sync_channel(1).0
}

fn recorder(to: Option<u16>) -> (Recorder, Receiver<(u16, Vec<u8>)>) {
    let (frames, seen) = channel();
    (Recorder { frames, to }, seen)
}

fn as_root(test: impl FnOnce() -> Result<(), IoError> + Send + 'static) {
    match in_own_namespace(test) {
        Ok(()) => {}
        Err(IoError::NoPermission { .. }) => eprintln!("skipped: needs root"),
        Err(error) => panic!("{error}"),
    }
}

/// A UDP socket that sends through interface `h` to 10.9.0.2, whose MAC is made known.
fn sender_on_h() -> Result<UdpSocket, IoError> {
    ip("h", &["address", "add", "10.9.0.1/24", "dev", "h"])?;
    let neighbour = [
        "neighbour",
        "add",
        "10.9.0.2",
        "lladdr",
        "02:00:00:00:00:02",
        "dev",
        "h",
    ];
    ip("h", &neighbour)?;
    let socket = UdpSocket::bind("10.9.0.1:7000").unwrap();
    socket.connect("10.9.0.2:7001").unwrap();
    Ok(socket)
}

/// The next UDP frame, past whatever else the kernel says on a new interface.
fn next_udp(seen: &Receiver<(u16, Vec<u8>)>) -> Vec<u8> {
    loop {
        let (_, frame) = seen.recv_timeout(PATIENCE).expect("a frame was sent");
        if frame.len() > 34 && frame[12..14] == [8, 0] && frame[23] == 17 {
            return frame;
        }
    }
}

// If this fails every checksum that a P4 program computes from a host's packet is wrong.
#[test]
fn a_checksum_that_the_kernel_left_open_arrives_complete() {
    as_root(|| {
        cable("h", "s")?;
        let socket = sender_on_h()?;
        let (device, seen) = recorder(None);
        let switch = Forwarder::start(config(&[(3, "s")]), device, nobody())?;
        for length in [0, 1, 2, 999] {
            socket.send(&vec![0xA5; length]).unwrap();
            let frame = next_udp(&seen);
            assert_eq!(frame.len(), 42 + length);
            // RFC 768: pseudo header (addresses, protocol, length), header and data sum to all ones.
            let mut covered = frame[26..].to_vec();
            covered.extend([0, 17]);
            covered.splice(covered.len()..covered.len(), frame[38..40].to_vec());
            if covered.len() % 2 == 1 {
                // An odd payload is padded where it ends, before what we have appended.
                covered.insert(frame.len() - 26, 0);
            }
            let mut sum: u32 = covered
                .chunks(2)
                .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
                .sum();
            while sum > 0xFFFF {
                sum = (sum & 0xFFFF) + (sum >> 16);
            }
            assert_eq!(sum, 0xFFFF, "payload of {length} bytes");
        }
        drop(switch);
        Ok(())
    });
}

// If this fails one "packet" in P4 is forty on the wire, and nobody is told.
#[test]
fn frames_that_were_left_to_be_cut_are_refused_and_counted() {
    as_root(|| {
        cable("h", "s")?;
        let socket = sender_on_h()?;
        let (device, seen) = recorder(None);
        let switch = Forwarder::start(config(&[(3, "s")]), device, nobody())?;
        let (level, option, size) = (
            libc::SOL_UDP,
            103, /* UDP_SEGMENT */
            100 as libc::c_int,
        );
        // SAFETY: pointer and length describe a live integer.
        let result = unsafe {
            let size = std::ptr::from_ref(&size).cast();
            libc::setsockopt(socket.as_raw_fd(), level, option, size, 4)
        };
        assert_eq!(result, 0, "this kernel has UDP segmentation");
        socket.send(&[1; 1000]).unwrap();
        socket.send(&[2; 10]).unwrap();
        assert_eq!(
            next_udp(&seen).len(),
            52,
            "only the second one gets through"
        );
        assert_eq!(switch.stats()?.port(3).unwrap().drops.uncut, 1);
        Ok(())
    });
}

// If this fails frames change or are miscounted on their way through a switch.
#[test]
fn frames_cross_unchanged_and_are_counted_on_both_ports() {
    as_root(|| {
        cable("a", "s1")?;
        cable("b", "s2")?;
        let source = Forwarder::start(config(&[(1, "a")]), Patch(510, 1), nobody())?;
        let (sink, seen) = recorder(None);
        let _sink = Forwarder::start(config(&[(1, "b")]), sink, nobody())?;
        let switch = Forwarder::start(config(&[(1, "s1"), (2, "s2")]), Patch(1, 2), nobody())?;
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

// If this fails a controller cannot talk to a running switch.
#[test]
fn a_running_switch_can_be_asked_told_and_stopped() {
    as_root(|| {
        cable("a", "s")?;
        let (packet_ins, cpu) = sync_channel(1);
        let switch = Forwarder::start(config(&[(1, "s")]), Patch(1, 510), packet_ins)?;
        let source = Forwarder::start(config(&[(1, "a")]), Patch(510, 1), nobody())?;
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
    as_root(|| {
        cable("a", "s")?;
        let source = Forwarder::start(config(&[(1, "a")]), Patch(510, 1), nobody())?;
        let (packet_ins, cpu) = sync_channel(1_000);
        let switch = Forwarder::start(config(&[(1, "s")]), Patch(1, 510), packet_ins)?;
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
    as_root(|| {
        cable("a", "s")?;
        cable("b", "t")?;
        let source = Forwarder::start(config(&[(1, "a")]), Patch(510, 1), nobody())?;
        let (device, seen) = recorder(None);
        let switch = Forwarder::start(config(&[(1, "s"), (2, "t")]), device, nobody())?;
        ip("s", &["link", "set", "dev", "s", "down"])?;
        source.send_from_cpu(vec![1; 64])?;
        switch.stats()?;
        ip("s", &["link", "set", "dev", "s", "up"])?;
        source.send_from_cpu(vec![2; 64])?;
        assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), (1, vec![2; 64]));
        ip("t", &["link", "delete", "dev", "t"])?;
        source.send_from_cpu(vec![3; 64])?;
        assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), (1, vec![3; 64]));
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
            Forwarder::start(config(ports), Patch(1, 2), nobody())
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
