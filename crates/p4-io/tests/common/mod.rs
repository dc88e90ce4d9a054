//! Cables, hosts and switches for tests with real interfaces.
#![allow(dead_code)] // each test file uses its part

use std::os::fd::AsRawFd;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};
use std::time::Duration;

use p4_io::namespace::{in_own_namespace, ip};
use p4_io::{Backend, Config, Forwarder, IoError, MonotonicClock, PacketIn};
use p4_net::{Device, Out};
use p4_time::Time;

/// Long enough for a busy machine; a test that waits so long fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Hands every frame to the test, then sends it on to `to`.
pub struct Recorder {
    frames: Sender<(u16, Vec<u8>)>,
    to: Option<u16>,
}

impl Device for Recorder {
    fn receive(&mut self, _: Time, port: u16, data: &[u8], out: &mut Out) {
        let _ = self.frames.send((port, data.to_vec()));
        if let Some(to) = self.to {
            out(to, 0, data);
        }
    }
}

pub fn recorder(to: Option<u16>) -> (Recorder, Receiver<(u16, Vec<u8>)>) {
    let (frames, seen) = channel();
    (Recorder { frames, to }, seen)
}

pub fn config(backend: Option<Backend>, ports: &[(u16, &str)]) -> Config {
    let ports = ports
        .iter()
        .map(|(number, interface)| (*number, interface.to_string()))
        .collect();
    Config {
        switch: 1,
        ports,
        cpu_port: Some(510),
        backend,
        clock: MonotonicClock::new(),
    }
}

pub fn start<D: Device + Send + 'static>(
    backend: Backend,
    ports: &[(u16, &str)],
    device: D,
) -> Result<Forwarder<D>, IoError> {
    let forwarder = Forwarder::start(config(Some(backend), ports), device, nobody())?;
    for port in forwarder.backends() {
        assert_eq!((port.backend, &port.note), (backend, &None));
    }
    Ok(forwarder)
}

pub fn cable(a: &str, b: &str) -> Result<(), IoError> {
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
    for end in [a, b] {
        wait_until_up(end);
    }
    Ok(())
}

/// Waits for the kernel to notice that an interface has a carrier; before that its queueing discipline
/// throws away what a plain socket sends.
pub fn wait_until_up(interface: &str) {
    let show = ["-oneline", "link", "show", "dev", interface];
    loop {
        let output = std::process::Command::new("ip").args(show).output();
        let text = output.expect("`ip` is installed").stdout;
        if String::from_utf8_lossy(&text).contains("state UP") {
            return;
        }
        std::thread::yield_now();
    }
}

pub fn nobody() -> SyncSender<PacketIn> {
    sync_channel(1).0
}

/// Runs a test in a network of its own; without root it is skipped and says so.
pub fn as_root(test: impl FnOnce() -> Result<(), IoError> + Send + 'static) {
    match in_own_namespace(test) {
        Ok(()) => {}
        Err(IoError::NoPermission { .. }) => eprintln!("skipped: needs root"),
        Err(error) => panic!("{error}"),
    }
}

/// Runs a test once for each back end.
pub fn for_each_backend(test: fn(Backend) -> Result<(), IoError>) {
    for backend in Backend::ALL {
        eprintln!("with {backend}");
        as_root(move || test(backend));
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// A host: a thread in a network namespace of its own, with one interface.
pub struct Host {
    jobs: Sender<Job>,
    thread: libc::pid_t,
}

impl Host {
    /// Lays a cable from `port` (in the caller's namespace) to interface `name` of a new host, with an
    /// address, as `ip` wants it, and everything else as the kernel sets it by default.
    pub fn at(port: &str, name: &str, address: &str) -> Result<Host, IoError> {
        let (jobs, work) = channel::<Job>();
        let (ready, number) = channel();
        std::thread::spawn(move || {
            // SAFETY: takes no pointers; affects this thread only.
            let moved = unsafe { libc::unshare(libc::CLONE_NEWNET) };
            // SAFETY: takes nothing.
            let _ = ready.send((moved, unsafe { libc::gettid() }));
            for job in work {
                job();
            }
        });
        let (moved, thread) = number.recv().expect("the thread has started");
        assert_eq!(moved, 0, "root may make namespaces");
        let host = Host { jobs, thread };
        let end = ["veth", "peer", "name", name, "netns", &thread.to_string()];
        let add = ["link", "add", "name", port, "type"];
        ip(port, &[&add[..], &end[..]].concat())?;
        ip(
            port,
            &["link", "set", "dev", port, "addrgenmode", "none", "up"],
        )?;
        let (interface, address) = (name.to_string(), address.to_string());
        host.run(move || {
            ip(&interface, &["link", "set", "dev", "lo", "up"])?;
            ip(&interface, &["link", "set", "dev", &interface, "up"])?;
            ip(
                &interface,
                &["address", "add", &address, "dev", &interface, "nodad"],
            )
        })?;
        Ok(host)
    }

    /// Runs something in the host and waits for it.
    pub fn run<R: Send + 'static>(&self, action: impl FnOnce() -> R + Send + 'static) -> R {
        self.begin(action)
            .recv()
            .expect("what a host does must not fail")
    }

    /// Runs something in the host; its result comes through the channel.
    pub fn begin<R: Send + 'static>(
        &self,
        action: impl FnOnce() -> R + Send + 'static,
    ) -> Receiver<R> {
        let (result, answer) = channel();
        let job = move || {
            let _ = result.send(action());
        };
        self.jobs.send(Box::new(job)).expect("the host is there");
        answer
    }

    /// Everything for `to` goes to the MAC address 02::`last`.
    pub fn neighbour(&self, interface: &str, to: &str, last: u8) -> Result<(), IoError> {
        let (interface, to) = (interface.to_string(), to.to_string());
        let mac = format!("02:00:00:00:00:{last:02x}");
        self.run(move || {
            let add = ["neighbour", "replace", &to, "lladdr", &mac];
            ip(&interface, &[&add[..], &["dev", &interface]].concat())
        })
    }

    /// The namespace, kept alive without anything in it.
    pub fn leave_namespace(self) -> std::fs::File {
        let path = format!("/proc/self/task/{}/ns/net", self.thread);
        let file = std::fs::File::open(&path).expect("a thread has a namespace");
        drop(self.jobs);
        while std::path::Path::new(&path).exists() {
            std::thread::yield_now();
        }
        file
    }
}

/// Sets a socket option that is a number.
pub fn set_number(socket: &impl AsRawFd, level: i32, option: i32, number: libc::c_int) {
    let value = std::ptr::from_ref(&number).cast();
    // SAFETY: pointer and length describe a live integer.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, 4) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Whether all TCP and UDP checksums of an Ethernet frame with IPv4 or IPv6 are right, by the plain
/// definition: words, pseudo header included, sum to all ones. True for other frames.
pub fn checksum_is_right(frame: &[u8]) -> bool {
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let (addresses, protocol, start, end) = match word(12) {
        0x0800 => {
            let start = 14 + usize::from(frame[14] & 15) * 4;
            (26..34, frame[23], start, 14 + usize::from(word(16)))
        }
        0x86DD => (22..54, frame[20], 54, 54 + usize::from(word(18))),
        _ => return true,
    };
    if ![6, 17].contains(&protocol) {
        return true;
    }
    let mut covered = frame[addresses].to_vec();
    covered.extend([0, protocol]);
    covered.extend(((end - start) as u16).to_be_bytes());
    covered.extend(&frame[start..end]);
    let mut sum = 0u32;
    for pair in covered.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum == 0xFFFF
}
