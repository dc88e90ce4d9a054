//! Real hosts behind a switch: what their kernels leave to be done, and what is changed about them.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::mpsc::Receiver;

use common::*;
use p4_io::namespace::{in_own_namespace, ip};
use p4_io::{Backend, Forwarder, IoError, Patch};
use p4_net::{Device, Out};
use p4_time::Time;

const UDP_SEGMENT: i32 = 103;

/// The next UDP frame, past whatever else a kernel says on a new interface.
fn next_udp(seen: &Receiver<(u16, Vec<u8>)>) -> Vec<u8> {
    loop {
        let (_, frame) = seen.recv_timeout(PATIENCE).expect("a frame was sent");
        let protocol = match frame[12..14] {
            [8, 0] => frame[23],
            [0x86, 0xDD] => frame[20],
            _ => 0,
        };
        if protocol == 17 {
            return frame;
        }
    }
}

/// A host `h` behind port `s`, and a UDP socket in it that is connected to `to`.
fn udp_host(address: &str, to: &str) -> Result<(Host, UdpSocket), IoError> {
    let host = Host::at("s", "h", address)?;
    host.neighbour("h", to, 2)?;
    let from = address.split('/').next().unwrap().to_string();
    let to = to.to_string();
    let socket = host.run(move || {
        let socket = UdpSocket::bind((from.as_str(), 7000)).unwrap();
        socket.connect((to.as_str(), 7001)).unwrap();
        socket
    });
    Ok((host, socket))
}

const ADDRESSES: [(&str, &str); 2] = [("10.9.0.1/24", "10.9.0.2"), ("fd00::1/64", "fd00::2")];

// If this fails every checksum that a P4 program computes from a host's packet is wrong.
#[test]
fn a_checksum_that_the_kernel_left_open_arrives_complete() {
    for_each_backend(|backend| {
        for (address, to) in ADDRESSES {
            in_own_namespace(move || {
                let (_host, socket) = udp_host(address, to)?;
                let (device, seen) = recorder(None);
                let _switch = start(backend, &[(3, "s")], device)?;
                for length in [0, 1, 2, 999, 1400] {
                    socket.send(&vec![0xA5; length]).unwrap();
                    let frame = next_udp(&seen);
                    let headers = if frame[12] == 8 { 42 } else { 62 };
                    assert_eq!(frame.len(), headers + length);
                    assert!(checksum_is_right(&frame), "{address}, {length} bytes");
                }
                Ok(())
            })?;
        }
        Ok(())
    });
}

// If this fails a checksum stays open where the host cannot be told to finish it.
#[test]
fn open_checksums_are_completed_where_they_cannot_be_avoided() {
    as_root(|| {
        let (host, socket) = udp_host("10.9.0.1/24", "10.9.0.2")?;
        let _namespace = host.leave_namespace();
        let (device, seen) = recorder(None);
        let wanted = config(Some(Backend::AfXdp), &[(3, "s")]);
        let switch = Forwarder::start(wanted, device, nobody())?;
        let note = switch.backends()[0].note.as_deref().unwrap_or_default();
        assert!(note.contains("VLAN tags"), "{note}");
        for length in [0, 1, 1400] {
            socket.send(&vec![0xA5; length]).unwrap();
            let frame = next_udp(&seen);
            assert!(checksum_is_right(&frame), "{length} bytes");
        }
        Ok(())
    });
}

// If this fails one "packet" in P4 is forty on the wire, and nobody is told.
#[test]
fn frames_that_were_left_to_be_cut_are_cut() {
    for_each_backend(|backend| {
        for (address, to) in ADDRESSES {
            in_own_namespace(move || {
                let (_host, socket) = udp_host(address, to)?;
                let (device, seen) = recorder(None);
                let switch = start(backend, &[(3, "s")], device)?;
                set_number(&socket, libc::SOL_UDP, UDP_SEGMENT, 100);
                let data: Vec<u8> = (0..=254).cycle().take(1030).collect();
                socket.send(&data).unwrap();
                for part in data.chunks(100) {
                    let frame = next_udp(&seen);
                    assert!(frame.ends_with(part) && checksum_is_right(&frame));
                    assert!(frame.len() <= 62 + part.len());
                }
                assert_eq!(switch.stats()?.port(3).unwrap().drops.total(), 0);
                Ok(())
            })?;
        }
        Ok(())
    });
}

/// Passes frames on between two ports, and says what was wrong with any.
struct Inspector {
    longest: usize,
    wrong: u64,
}

impl Device for Inspector {
    fn receive(&mut self, _: Time, port: u16, data: &[u8], out: &mut Out) {
        self.longest = self.longest.max(data.len());
        self.wrong += u64::from(!checksum_is_right(data));
        out(3 - port, 0, data);
    }
}

/// Sends `data` over TCP from one host to another and gives what arrives.
fn transfer(from: &Host, to: &Host, address: &'static str, data: Vec<u8>) -> Vec<u8> {
    let listener = to.run(move || TcpListener::bind((address, 5001)).unwrap());
    let arrived = to.begin(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all
    });
    from.run(move || {
        let mut stream = TcpStream::connect((address, 5001)).unwrap();
        stream.write_all(&data).unwrap();
    });
    arrived.recv_timeout(PATIENCE).expect("it arrives in time")
}

// If this fails TCP between lab hosts stalls, crawls or breaks unless somebody knows about ethtool.
#[test]
fn tcp_works_with_offloads_as_the_kernel_sets_them() {
    for_each_backend(|backend| {
        let left = Host::at("s1", "h1", "10.9.0.1/24")?;
        let right = Host::at("s2", "h2", "10.9.0.2/24")?;
        let device = Inspector {
            longest: 0,
            wrong: 0,
        };
        let switch = start(backend, &[(1, "s1"), (2, "s2")], device)?;
        let data: Vec<u8> = (0..4_000_000u32).map(|at| (at ^ at >> 9) as u8).collect();
        let arrived = transfer(&left, &right, "10.9.0.2", data.clone());
        assert!(arrived == data, "{} of {} bytes", arrived.len(), data.len());
        let (device, stats) = switch.stop()?;
        assert_eq!((device.longest, device.wrong), (1514, 0));
        let refused = stats
            .ports
            .iter()
            .map(|(_, port)| port.drops.uncut + port.drops.bad_checksum + port.drops.bad_length);
        assert_eq!(refused.sum::<u64>(), 0);
        Ok(())
    });
}

/// What `ethtool -k` and `ip link` say about an interface.
fn settings(interface: &str) -> String {
    let ask = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        String::from_utf8(output.expect("the tool is installed").stdout).unwrap()
    };
    let link = ask("ip", &["-details", "link", "show", "dev", interface]);
    let mode = if link.contains("xdp") {
        "xdp"
    } else {
        "no xdp"
    };
    let features = ask("ethtool", &["--show-features", interface]);
    format!("{mode}\n{features}")
}

// If this fails a lab leaves a machine's interfaces changed.
#[test]
fn everything_is_as_before_when_a_switch_has_stopped() {
    for_each_backend(|backend| {
        let host = Host::at("s", "h", "10.9.0.1/24")?;
        let both = || (settings("s"), host.run(|| settings("h")));
        let before = both();
        let switch = start(backend, &[(1, "s")], Patch(1, 2))?;
        let during = both();
        assert_eq!(during.0.starts_with("xdp"), backend == Backend::AfXdp);
        assert_eq!(during.1 != before.1, backend == Backend::AfXdp);
        switch.stop()?;
        assert_eq!(both(), before);
        // And it can be used again at once.
        start(backend, &[(1, "s")], Patch(1, 2))?.stop()?;
        assert_eq!(both(), before);
        Ok(())
    });
}

// If this fails a slow switch, or lost tags, are a riddle.
#[test]
fn the_fastest_way_that_works_is_taken_and_said() {
    as_root(|| {
        let automatic = |interface: &str| {
            let wanted = config(None, &[(1, interface)]);
            Forwarder::start(wanted, Patch(1, 2), nobody())
        };
        let forced = |interface: &str| {
            let wanted = config(Some(Backend::AfXdp), &[(1, interface)]);
            let refused = Forwarder::start(wanted, Patch(1, 2), nobody()).err();
            refused.expect("it cannot be").to_string()
        };
        cable("a", "s")?;
        let first = automatic("s")?;
        assert_eq!(first.backends()[0].backend, Backend::AfXdp);
        assert_eq!(first.backends()[0].note, None);

        let second = automatic("s")?;
        let port = &second.backends()[0];
        assert_eq!(port.backend, Backend::TpacketV3, "the first one has it");
        let note = port.note.as_deref().unwrap_or_default();
        assert!(note.starts_with("no af_xdp: "), "{note}");

        let many = ["numrxqueues", "2", "numtxqueues", "2"];
        let add = ["link", "add", "name", "m"];
        let kind = ["type", "veth", "peer", "name", "n"];
        ip("m", &[&add[..], &many[..], &kind[..]].concat())?;
        let port = automatic("m")?.backends()[0].clone();
        assert_eq!(port.backend, Backend::TpacketV3);
        let note = port.note.unwrap_or_default();
        assert!(note.contains("2 receive queues"), "{note}");
        assert!(forced("m").contains("`ethtool -L m rx 1 tx 1`"));

        let host = Host::at("t", "h", "10.9.0.1/24")?;
        let _namespace = host.leave_namespace();
        let port = automatic("t")?.backends()[0].clone();
        assert_eq!(port.backend, Backend::TpacketV3);
        let note = port.note.unwrap_or_default();
        assert!(note.contains("cannot be found"), "{note}");
        Ok(())
    });
}
