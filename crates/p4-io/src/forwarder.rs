//! A switch on Linux interfaces: one thread that polls its ports and calls the device.

use std::collections::BTreeSet;
use std::sync::mpsc::{channel, Receiver, Sender, SyncSender};
use std::sync::Arc;
use std::thread::JoinHandle;

use p4_net::{DelayLine, Device, LinkConfig, Out};
use p4_time::Time;

use crate::backend::{self, Backend, PortBackend};
use crate::clock::MonotonicClock;
use crate::error::IoError;
use crate::stats::Stats;
use crate::sys::Bell;
use crate::worker::{Command, Port, Shared, Worker};

/// Where a switch is to run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The switch's number, to tell packet-ins of several switches apart.
    pub switch: u32,
    /// Port numbers and the interfaces that they are.
    pub ports: Vec<(u16, String)>,
    pub cpu_port: Option<u16>,
    /// How frames get to and from the kernel; `None`: for each port in the fastest way that works.
    pub backend: Option<Backend>,
    /// Shared by all switches of a run, so that their times compare.
    pub clock: MonotonicClock,
}

/// A frame that a switch has sent to its CPU port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketIn {
    pub switch: u32,
    pub data: Vec<u8>,
    pub time: Time,
}

/// A running switch. Dropping it stops its thread.
///
/// Everything asked of it happens between two packets, never in the middle of one.
pub struct Forwarder<D> {
    handle: Handle<D>,
    backends: Vec<PortBackend>,
    thread: Option<JoinHandle<Option<(D, Stats)>>>,
}

impl<D: Device + Send + 'static> Forwarder<D> {
    /// Opens the interfaces and starts the thread. Frames for the CPU go to `packet_ins`; when that
    /// is full they are dropped and counted, since a switch does not wait for its controller.
    ///
    /// Needs CAP_NET_RAW and CAP_NET_ADMIN; for AF_XDP root.
    pub fn start(
        config: Config,
        device: D,
        packet_ins: SyncSender<PacketIn>,
    ) -> Result<Forwarder<D>, IoError> {
        let mut numbers = BTreeSet::new();
        let (mut ports, mut backends) = (Vec::new(), Vec::new());
        for (number, interface) in &config.ports {
            let port = *number;
            if config.cpu_port == Some(port) {
                return Err(IoError::PortIsCpu { port });
            }
            if !numbers.insert(port) {
                return Err(IoError::PortTwice { port });
            }
            let opened = backend::open(interface, config.backend, config.ports.len())?;
            backends.push(PortBackend {
                port,
                interface: interface.clone(),
                backend: opened.backend,
                note: opened.note,
            });
            ports.push(Port::new(port, opened.receiver, opened.sender));
        }
        let thread_error = |cause| IoError::NoThread { cause };
        let bell = Bell::new().map_err(thread_error)?;
        let (commands, orders) = channel();
        let name = format!("switch-{}", config.switch);
        let shared = Arc::new(Shared::new(device, bell));
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || Worker::new(config, ports, packet_ins, orders).run(&own))
            .map_err(thread_error)?;
        Ok(Forwarder {
            handle: Handle { commands, shared },
            backends,
            thread: Some(thread),
        })
    }

    /// Which back end each port has got, in the order of the configuration.
    pub fn backends(&self) -> &[PortBackend] {
        &self.backends
    }

    /// A way to the switch for other threads; it leads nowhere once the switch is stopped.
    pub fn handle(&self) -> Handle<D> {
        self.handle.clone()
    }

    /// Runs `action` on the device between two packets and returns what it returns.
    pub fn with_device<R: Send + 'static>(
        &self,
        action: impl FnOnce(&mut D) -> R + Send + 'static,
    ) -> Result<R, IoError> {
        self.handle.with_device(action)
    }

    /// Hands a frame to the switch as if it came from its CPU port.
    pub fn send_from_cpu(&self, data: Vec<u8>) -> Result<(), IoError> {
        self.handle.send_from_cpu(data)
    }

    /// Takes a port down (frames to and from it are dropped and counted) or up again. The interface
    /// itself stays as it is.
    pub fn set_port(&self, port: u16, up: bool) -> Result<(), IoError> {
        let (reply, answer) = channel();
        let known = self
            .handle
            .ask(Command::SetPort { port, up, reply }, answer)?;
        known.then_some(()).ok_or(IoError::UnknownPort { port })
    }

    /// Gives the link at a port a rate, delay, jitter, loss and queue, which the kernel's veth does
    /// not have and many kernels cannot add (netem): `out` for frames sent, `into` for frames
    /// received. Where both ends of a link are switches, `out` of each is enough.
    ///
    /// Frames on a link that was emulated before are lost. Late by as much as the machine is busy, so
    /// meant for delays of 100 us and more.
    pub fn emulate(
        &self,
        port: u16,
        out: Option<LinkConfig>,
        into: Option<LinkConfig>,
        seed: u64,
    ) -> Result<(), IoError> {
        let line = |config: Option<LinkConfig>, seed| {
            config
                .map(|config| DelayLine::new(config, seed))
                .transpose()
                .map_err(IoError::Link)
        };
        let seed = seed ^ u64::from(port) << 32;
        let lines = [line(out, seed)?, line(into, !seed)?];
        let (reply, answer) = channel();
        let known = self.handle.ask(
            Command::Emulate {
                port,
                lines: Box::new(lines),
                reply,
            },
            answer,
        )?;
        known.then_some(()).ok_or(IoError::UnknownPort { port })
    }

    pub fn stats(&self) -> Result<Stats, IoError> {
        self.handle.stats()
    }

    /// Stops the thread and gives back the device and the last statistics.
    pub fn stop(mut self) -> Result<(D, Stats), IoError> {
        self.handle.order(Command::Stop)?;
        let thread = self.thread.take().ok_or(IoError::Stopped)?;
        let ended = thread.join().map_err(|_| IoError::Stopped)?;
        ended.ok_or(IoError::Stopped)
    }

    /// Processor time that the thread has used, in seconds.
    pub(crate) fn thread_time(&self) -> Result<f64, IoError> {
        let (reply, answer) = channel();
        self.handle.ask(Command::ThreadTime(reply), answer)
    }
}

/// What other threads ask of a running switch.
pub struct Handle<D> {
    commands: Sender<Command<D>>,
    shared: Arc<Shared<D>>,
}

impl<D> Clone for Handle<D> {
    fn clone(&self) -> Handle<D> {
        Handle {
            commands: self.commands.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<D: Device> Handle<D> {
    /// Runs `action` on the device between two packets and returns what it returns: in this thread
    /// if the switch is waiting for packets, in the switch's if it is at work.
    pub fn with_device<R: Send + 'static>(
        &self,
        action: impl FnOnce(&mut D) -> R + Send + 'static,
    ) -> Result<R, IoError> {
        if let Some(device) = self.shared.while_waiting() {
            return self.shared.run(device, action);
        }
        let (reply, answer) = channel();
        let action = move |device: &mut D| {
            // Nobody waits any more: then nobody misses the answer.
            let _ = reply.send(action(device));
        };
        self.ask(Command::Call(Box::new(action)), answer)
    }

    /// The same, but only in this thread: `None` if the switch is at work.
    pub fn with_device_at_once<R>(
        &self,
        action: impl FnOnce(&mut D) -> R,
    ) -> Option<Result<R, IoError>> {
        let device = self.shared.while_waiting()?;
        Some(self.shared.run(device, action))
    }
}

impl<D> Handle<D> {
    /// Hands a frame to the switch as if it came from its CPU port.
    pub fn send_from_cpu(&self, data: Vec<u8>) -> Result<(), IoError> {
        self.order(Command::FromCpu(data))
    }

    pub fn stats(&self) -> Result<Stats, IoError> {
        let (reply, answer) = channel();
        self.ask(Command::Stats(reply), answer)
    }

    fn order(&self, command: Command<D>) -> Result<(), IoError> {
        self.shared.announce();
        self.commands.send(command).map_err(|_| IoError::Stopped)?;
        self.shared.bell.ring();
        Ok(())
    }

    fn ask<R>(&self, command: Command<D>, answer: Receiver<R>) -> Result<R, IoError> {
        self.order(command)?;
        answer.recv().map_err(|_| IoError::Stopped)
    }
}

impl<D> Drop for Forwarder<D> {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // An error here means that the thread is gone already.
            if self.handle.order(Command::Stop).is_ok() {
                let _ = thread.join();
            }
        }
    }
}

/// Does nothing but pass frames between two ports: what a switch could reach if it cost nothing.
#[derive(Clone, Copy, Debug)]
pub struct Patch(pub u16, pub u16);

impl Device for Patch {
    fn receive(&mut self, _: Time, port: u16, data: &[u8], out: &mut Out) {
        out(if port == self.0 { self.1 } else { self.0 }, 0, data);
    }
}
