//! How many packets a second a switch forwards between two veth pairs on this machine, next to what
//! does nothing and to other switches, all under the same load.

mod contestant;
mod generator;

use std::io;
use std::time::{Duration, Instant};

use crate::error::IoError;
use crate::namespace::{in_own_namespace, ip};
use crate::sys;
use contestant::Running;
pub use contestant::{Command, Contestant};
use generator::Generator;

/// The flooded cable and the counted one: outer end, then the end that is a port of the switch.
const CABLES: [[&str; 2]; 2] = [["flood", "port0"], ["sink", "port1"]];
/// The ends that a switch forwards between; number and interface.
pub const PORTS: [(u16, &str); 2] = [(0, CABLES[0][1]), (1, CABLES[1][1])];
/// Time for rings to fill and caches to warm before counting begins.
const WARM_UP: Duration = Duration::from_millis(50);
/// How long a program may take until it forwards, and frames per second by which that is seen.
const PATIENCE: Duration = Duration::from_secs(30);
const SLOW: f64 = 1000.0;
/// Real-time priorities.
const LOAD_PRIORITY: i32 = 1;
const WATCH_PRIORITY: i32 = 3;

/// What is put on the first cable.
#[derive(Clone, Debug)]
pub struct Load {
    pub frame: Vec<u8>,
    /// Frames per second; `None`: as many as go, a flood.
    pub rate: Option<f64>,
    /// How long frames are counted, in seconds.
    pub duration: Duration,
}

/// What a measurement has found.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub seconds: f64,
    /// Frames that the switch's interface took from the first cable in this time.
    pub offered: u64,
    /// Frames that came out of the second.
    pub forwarded: u64,
    /// Processor time of the forwarding thread, or of all threads of another program, in seconds.
    pub busy: Option<f64>,
}

/// Lets `contestant` forward `load` from port 0 to port 1 and counts.
///
/// Works in a network namespace of its own, which the kernel takes away with everything in it when
/// the measurement ends, in whatever way. Runs at the highest priority, as far as allowed, so that
/// other programs disturb it less, with a processor for the forwarding thread and one for the load. Needs root and the `ip` command.
pub fn measure(contestant: Contestant, load: Load) -> Result<Measured, IoError> {
    in_own_namespace(move || {
        let fail = |cause| IoError::at(PORTS[0].1, "choose a processor", cause);
        let all = sys::processors().map_err(fail)?;
        let [ours, generators] = sys::two_processors(&all);
        lay_cables()?;
        // A program of many threads may have all processors and comes before the load: with fewer
        // processors than threads it would wait in vain for a load that never rests.
        let (place, priority) = match contestant {
            Contestant::Program(_) => (&all, LOAD_PRIORITY + 1),
            _ => (&ours, LOAD_PRIORITY),
        };
        // A refusal only makes the figures noisier. Threads and programs started inherit it.
        let _ = sys::come_first(priority);
        sys::run_on(place).map_err(fail)?;
        let mut running = contestant.start()?;
        // Who holds the watch must not wait for those who run.
        let _ = sys::come_first(WATCH_PRIORITY);
        let load_at = |rate| start_load(&load.frame, rate, &generators, &all);
        wait_until_it_forwards(&mut running, load_at)?;
        let generator = load_at(load.rate)?;
        std::thread::sleep(WARM_UP);
        let before = (running.busy(), frames()?);
        let start = Instant::now();
        std::thread::sleep(load.duration);
        let after = (running.busy(), frames()?);
        let seconds = start.elapsed().as_secs_f64();
        drop(generator);
        running.stop();
        Ok(Measured {
            seconds,
            offered: after.1[0] - before.1[0],
            forwarded: after.1[1] - before.1[1],
            busy: after.0.zip(before.0).map(|(after, before)| after - before),
        })
    })
}

/// Starts a load on processors of its own, at a priority that leaves a switch on the same one its turn:
/// a generator that waits for its time never rests. This thread keeps the watch, on `all` processors.
fn start_load(
    frame: &[u8],
    rate: Option<f64>,
    own: &libc::cpu_set_t,
    all: &libc::cpu_set_t,
) -> Result<Generator, IoError> {
    let place = |set| {
        sys::run_on(set).map_err(|cause| IoError::at(CABLES[0][0], "choose a processor", cause))
    };
    place(own)?;
    let _ = sys::come_first(LOAD_PRIORITY);
    let generator = Generator::start(CABLES[0][0], frame, rate)?;
    place(all)?;
    let _ = sys::come_first(WATCH_PRIORITY);
    Ok(generator)
}

/// Sends frames slowly until the first one comes out.
fn wait_until_it_forwards(
    running: &mut Running,
    start_load: impl Fn(Option<f64>) -> Result<Generator, IoError>,
) -> Result<(), IoError> {
    let _generator = start_load(Some(SLOW))?;
    let start = Instant::now();
    while frames()?[1] == 0 {
        if start.elapsed() > PATIENCE || running.has_ended() {
            let cause = io::Error::other("nothing comes out of what is measured");
            return Err(IoError::at(CABLES[1][0], "receive", cause));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn lay_cables() -> Result<(), IoError> {
    // Programs with a control channel want it.
    ip("lo", &["link", "set", "dev", "lo", "up"])?;
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
        // The generator's frames need a receiving end that polls, with an XDP program or without.
        ethtool_gro_on(port)?;
    }
    Ok(())
}

fn ethtool_gro_on(interface: &str) -> Result<(), IoError> {
    crate::link::switch_gro_on(interface)
        .map_err(|cause| IoError::at(interface, "switch on polling", cause))
}

/// Frames that went into the first cable and that came out of the second, as the kernel counts them.
fn frames() -> Result<[u64; 2], IoError> {
    let [into, out] = CABLES.map(|[outer, _]| outer);
    // The tenth number of a line is of frames sent, the second of frames received.
    Ok([counter(into, 9)?, counter(out, 1)?])
}

/// A number of an interface's line in /proc/net/dev.
fn counter(interface: &str, column: usize) -> Result<u64, IoError> {
    let fail = |cause| IoError::at(interface, "read its counters", cause);
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").map_err(fail)?;
    let line = table
        .lines()
        .find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
    let number = line.and_then(|numbers| numbers.split_whitespace().nth(column)?.parse().ok());
    number.ok_or_else(|| fail(io::Error::other("unexpected form of /proc/net/dev")))
}
