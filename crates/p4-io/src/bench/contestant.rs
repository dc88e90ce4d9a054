//! What is measured: a switch of ours, nothing at all, or another program.

use std::process::{self, Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use p4_net::{Device, Out};

use super::PORTS;
use crate::backend::Backend;
use crate::clock::MonotonicClock;
use crate::error::IoError;
use crate::forwarder::{Config, Forwarder};
use crate::packet::Inbox;
use crate::sys;
use crate::xdp::{self, XdpReceiver, XdpSender};

/// A program and what it is started with.
#[derive(Clone, Debug)]
pub struct Command {
    pub program: String,
    pub arguments: Vec<String>,
}

/// Something that forwards from port 0 to port 1 (and may do so back).
pub enum Contestant {
    /// A switch of ours. Boxed, so that one type holds any device.
    Switch {
        device: Box<dyn Device + Send>,
        backend: Option<Backend>,
    },
    /// A loop around two AF_XDP sockets that copies every frame from one to the other: what a switch
    /// could reach that costs nothing.
    Nothing,
    /// Another switch, with the interfaces of [`PORTS`] in its arguments.
    Program(Command),
}

/// A contestant at work; ends when dropped.
pub(super) enum Running {
    Switch(Forwarder<Boxed>),
    Nothing(Idler),
    Program(Process),
}

/// A device behind a pointer.
pub(super) struct Boxed(Box<dyn Device + Send>);

impl Device for Boxed {
    fn receive(&mut self, now: p4_time::Time, port: u16, data: &[u8], out: &mut Out) {
        self.0.receive(now, port, data, out);
    }
}

impl Contestant {
    pub(super) fn start(self) -> Result<Running, IoError> {
        match self {
            Contestant::Switch { device, backend } => {
                let ports = PORTS.map(|(number, name)| (number, name.to_string()));
                let config = Config {
                    switch: 0,
                    ports: ports.into(),
                    cpu_port: None,
                    backend,
                    clock: MonotonicClock::new(),
                };
                let (packet_ins, _nobody) = sync_channel(1);
                let forwarder = Forwarder::start(config, Boxed(device), packet_ins)?;
                Ok(Running::Switch(forwarder))
            }
            Contestant::Nothing => Ok(Running::Nothing(Idler::start()?)),
            Contestant::Program(command) => Ok(Running::Program(Process::start(&command)?)),
        }
    }
}

impl Running {
    /// Processor time used so far, in seconds, if that is known.
    pub(super) fn busy(&self) -> Option<f64> {
        match self {
            Running::Switch(forwarder) => forwarder.thread_time().ok(),
            Running::Nothing(idler) => Some(idler.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9),
            Running::Program(process) => sys::process_time(process.0.id()),
        }
    }

    /// Whether a program has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        match self {
            Running::Program(process) => !matches!(process.0.try_wait(), Ok(None)),
            Running::Switch(_) | Running::Nothing(_) => false,
        }
    }

    /// Ends it now, not at the end of a scope.
    pub(super) fn stop(self) {
        drop(self);
    }
}

/// The loop of [`Contestant::Nothing`].
pub(super) struct Idler {
    stop: Arc<AtomicBool>,
    nanoseconds: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Idler {
    fn start() -> Result<Idler, IoError> {
        let (receiver, _sender, _) = xdp::open(PORTS[0].1, true, PORTS.len())?;
        let (_receiver, sender, _) = xdp::open(PORTS[1].1, true, PORTS.len())?;
        let (stop, nanoseconds) = (Arc::default(), Arc::default());
        let thread = std::thread::Builder::new()
            .spawn({
                let (stop, nanoseconds) = (Arc::clone(&stop), Arc::clone(&nanoseconds));
                move || copy(receiver, sender, &stop, &nanoseconds)
            })
            .map_err(|cause| IoError::NoThread { cause })?;
        Ok(Idler {
            stop,
            nanoseconds,
            thread: Some(thread),
        })
    }
}

fn copy(
    mut receiver: XdpReceiver,
    mut sender: XdpSender,
    stop: &AtomicBool,
    nanoseconds: &AtomicU64,
) {
    let mut inbox = Inbox::default();
    let mut waiting = [sys::readable(receiver.fd())];
    for round in 0u32.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let received = receiver.receive(&mut inbox, |frame| {
            sender.push(frame);
        });
        if received.frames > 0 {
            sender.flush(|_| {});
        }
        if received.frames == 0 || round % 256 == 0 {
            let time = (sys::thread_time() * 1e9) as u64;
            nanoseconds.store(time, Ordering::Relaxed);
        }
        if received.frames == 0 {
            // Not being able to wait is no reason to stop: it then polls.
            let _ = sys::wait(&mut waiting, Some(Duration::from_millis(10)));
        }
    }
}

impl Drop for Idler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It cannot panic, and a bench has nothing to say if it did.
            let _ = thread.join();
        }
    }
}

/// A program that ends with this value.
pub(super) struct Process(Child);

impl Process {
    fn start(command: &Command) -> Result<Process, IoError> {
        let child = process::Command::new(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child
            .map(Process)
            .map_err(|cause| IoError::at(&command.program, "start it", cause))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
