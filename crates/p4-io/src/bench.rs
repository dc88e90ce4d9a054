//! How many packets a second a device forwards between two veth pairs on this machine.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::Arc;
use std::time::{Duration, Instant};

use p4_net::Device;

use crate::error::IoError;
use crate::forwarder::{Config, Forwarder};
use crate::namespace::{in_own_namespace, ip};
use crate::packet::{Outbox, PacketSender};
use crate::stats::Stats;
use crate::MonotonicClock;

/// The flooded cable and the counted one: outer end, then the end that is a port of the switch.
const CABLES: [[&str; 2]; 2] = [["flood", "port0"], ["sink", "port1"]];

/// What a measurement has found.
#[derive(Clone, Debug)]
pub struct Measured {
    pub seconds: f64,
    /// Frames put on the first cable.
    pub offered: u64,
    /// Frames that came out of the second.
    pub forwarded: u64,
    pub stats: Stats,
}

impl Measured {
    pub fn packets_per_second(&self) -> f64 {
        self.forwarded as f64 / self.seconds
    }
}

/// Floods `device` with copies of `frame` on port 0 and counts what it sends on port 1.
///
/// Works in a network namespace of its own, which the kernel takes away with everything in it when
/// the measurement ends, in whatever way. Needs root and the `ip` command.
pub fn measure<D: Device + Send + 'static>(
    device: D,
    frame: Vec<u8>,
    duration: Duration,
) -> Result<Measured, IoError> {
    in_own_namespace(move || {
        lay_cables()?;
        let config = Config {
            switch: 0,
            ports: vec![(0, CABLES[0][1].to_string()), (1, CABLES[1][1].to_string())],
            cpu_port: None,
            backend: None,
            clock: MonotonicClock::new(),
        };
        let (packet_ins, _nobody) = sync_channel(1);
        let forwarder = Forwarder::start(config, device, packet_ins)?;
        let sender = PacketSender::open(CABLES[0][0], crate::packet::Path::Direct)?;
        let stop = Arc::new(AtomicBool::new(false));
        let start = Instant::now();
        let flood = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || flood(sender, &frame, &stop)
        });
        std::thread::sleep(duration);
        let forwarded = received_frames(CABLES[1][0])?;
        let seconds = start.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let offered = flood.join().map_err(|_| IoError::Stopped)?;
        let (_, stats) = forwarder.stop()?;
        Ok(Measured {
            seconds,
            offered,
            forwarded,
            stats,
        })
    })
}

fn lay_cables() -> Result<(), IoError> {
    for [outer, port] in CABLES {
        ip(
            outer,
            &[
                "link", "add", "name", outer, "type", "veth", "peer", "name", port,
            ],
        )?;
        for end in [outer, port] {
            // Without addresses the kernel keeps quiet on it.
            ip(
                end,
                &["link", "set", "dev", end, "addrgenmode", "none", "up"],
            )?;
        }
    }
    Ok(())
}

/// Sends until told to stop; returns the number of frames that the kernel took.
fn flood(mut sender: PacketSender, frame: &[u8], stop: &AtomicBool) -> u64 {
    let mut outbox = Outbox::new();
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        while !sender.push(frame) {}
        sender.flush(&mut outbox, |_| sent += 1);
    }
    sent
}

/// Frames that have come in on an interface of this thread's namespace, as the kernel counts them.
fn received_frames(interface: &str) -> Result<u64, IoError> {
    let fail = |cause| IoError::at(interface, "read its counters", cause);
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").map_err(fail)?;
    let line = table
        .lines()
        .find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
    let frames = line.and_then(|counters| counters.split_whitespace().nth(1)?.parse().ok());
    frames.ok_or_else(|| fail(io::Error::other("unexpected form of /proc/net/dev")))
}
