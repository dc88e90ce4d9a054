//! The thread of a switch: receive, process, send, and obey in between.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use p4_net::{DelayLine, Device, Drops};
use p4_time::{Clock, Time};

use crate::backend::{Receiver as Rx, Sender as Tx};
use crate::error::IoError;
use crate::forwarder::{Config, PacketIn};
use crate::packet::{is_too_short, Inbox, Outbox};
use crate::stats::{PortStats, Stats};
use crate::sys::{self, Bell};

/// What another thread wants of a switch.
pub(crate) enum Command<D> {
    Call(Box<dyn FnOnce(&mut D) + Send>),
    FromCpu(Vec<u8>),
    SetPort {
        port: u16,
        up: bool,
        reply: Sender<bool>,
    },
    /// Emulated wires of a port: for frames sent, for frames received.
    Emulate {
        port: u16,
        lines: Box<[Option<DelayLine>; 2]>,
        reply: Sender<bool>,
    },
    Stats(Sender<Stats>),
    ThreadTime(Sender<f64>),
    Stop,
}

/// What a switch's thread shares with those that ask something of it.
pub(crate) struct Shared<D> {
    /// The thread has it while it works and lets it go while it waits for packets, so that others
    /// need not wake it. `None` once it has ended.
    device: Mutex<Option<D>>,
    /// Orders that have not been carried out
    orders: AtomicUsize,
    pub(crate) bell: Bell,
}

impl<D> Shared<D> {
    pub(crate) fn new(device: D, bell: Bell) -> Shared<D> {
        Shared {
            device: Mutex::new(Some(device)),
            orders: AtomicUsize::new(0),
            bell,
        }
    }

    /// To be called before an order is given.
    pub(crate) fn announce(&self) {
        self.orders.fetch_add(1, Ordering::SeqCst);
    }
}

impl<D: Device> Shared<D> {
    /// The device if nothing is being done with it. What was ordered before comes first: then it is
    /// not free either.
    pub(crate) fn while_waiting(&self) -> Option<MutexGuard<'_, Option<D>>> {
        let device = match self.device.try_lock() {
            Ok(device) => device,
            // Someone has left it half done: the switch has ended, as orders are told.
            Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => return None,
        };
        (self.orders.load(Ordering::SeqCst) == 0).then_some(device)
    }

    /// Runs `action`, and has the thread look again if something is due at another time than before.
    pub(crate) fn run<R>(
        &self,
        mut device: MutexGuard<'_, Option<D>>,
        action: impl FnOnce(&mut D) -> R,
    ) -> Result<R, IoError> {
        let device = device.as_mut().ok_or(IoError::Stopped)?;
        let before = device.next_departure();
        let done = action(device);
        if device.next_departure() != before {
            self.bell.ring();
        }
        Ok(done)
    }
}

/// One port of the switch.
pub(crate) struct Port {
    number: u16,
    receiver: Rx,
    out: OutPort,
}

/// The half of a port that the device can reach while a frame from another port is processed.
struct OutPort {
    sender: Tx,
    up: bool,
    stats: PortStats,
    /// What frames to send pass before the kernel gets them.
    line: Option<DelayLine>,
}

/// The half of a port by which frames come in.
struct InPort {
    number: u16,
    receiver: Rx,
    /// What received frames pass before the device gets them.
    line: Option<DelayLine>,
}

impl Port {
    pub(crate) fn new(number: u16, receiver: Rx, sender: Tx) -> Port {
        Port {
            number,
            receiver,
            out: OutPort {
                sender,
                up: true,
                stats: PortStats::default(),
                line: None,
            },
        }
    }
}

/// Everything outside of the device that a frame to send may need.
struct Exits {
    switch: u32,
    cpu_port: Option<u16>,
    packet_ins: SyncSender<PacketIn>,
    ports: Vec<OutPort>,
    /// Port number to index in `ports`.
    index: Vec<Option<u16>>,
    outbox: Outbox,
    no_port: u64,
    cpu_full: u64,
}

pub(crate) struct Worker<D> {
    clock: crate::MonotonicClock,
    receivers: Vec<InPort>,
    exits: Exits,
    inbox: Inbox,
    commands: Receiver<Command<D>>,
}

impl<D: Device> Worker<D> {
    /// To be called in the thread that will run it.
    pub(crate) fn new(
        config: Config,
        ports: Vec<Port>,
        packet_ins: SyncSender<PacketIn>,
        commands: Receiver<Command<D>>,
    ) -> Worker<D> {
        let mut index = Vec::new();
        let (mut receivers, mut out_ports) = (Vec::new(), Vec::new());
        for (at, port) in ports.into_iter().enumerate() {
            let number = usize::from(port.number);
            if index.len() <= number {
                index.resize(number + 1, None);
            }
            index[number] = Some(at as u16);
            receivers.push(InPort {
                number: port.number,
                receiver: port.receiver,
                line: None,
            });
            out_ports.push(port.out);
        }
        let exits = Exits {
            switch: config.switch,
            cpu_port: config.cpu_port,
            packet_ins,
            ports: out_ports,
            index,
            outbox: Outbox::new(),
            no_port: 0,
            cpu_full: 0,
        };
        let (clock, inbox) = (config.clock, Inbox::default());
        Worker {
            clock,
            receivers,
            exits,
            inbox,
            commands,
        }
    }

    /// Works until told to stop or until nobody is left who could tell. `None` if another thread has
    /// panicked in the middle of a change of the device.
    pub(crate) fn run(mut self, shared: &Shared<D>) -> Option<(D, Stats)> {
        let sockets = self.receivers.iter().map(|port| port.receiver.fd());
        let descriptors: Vec<RawFd> = sockets.chain([shared.bell.fd()]).collect();
        let mut waiting: Vec<libc::pollfd> = descriptors.into_iter().map(sys::readable).collect();
        let mut guard = shared.device.lock().ok()?;
        loop {
            let device = guard.as_mut()?;
            if !self.obey(device, &shared.orders) {
                break;
            }
            let mut idle = true;
            for at in 0..self.receivers.len() {
                idle &= self.serve(device, at) == 0;
                self.land(device, at);
            }
            self.leave(device);
            self.exits.land(self.clock.now());
            self.exits.flush();
            if idle {
                let rest = self.time_to_next(device);
                drop(guard);
                wait(&mut waiting, rest, &shared.bell);
                guard = shared.device.lock().ok()?;
            }
        }
        let stats = self.stats();
        guard.take().map(|device| (device, stats))
    }

    /// Carries out what was ordered; false if it is time to stop.
    fn obey(&mut self, device: &mut D, orders: &AtomicUsize) -> bool {
        use std::sync::mpsc::TryRecvError;
        loop {
            match self.commands.try_recv() {
                Ok(Command::Call(action)) => action(device),
                Ok(Command::FromCpu(data)) => self.receive_from_cpu(device, &data),
                // Who asked may have given up; the answer is then nobody's loss.
                Ok(Command::SetPort { port, up, reply }) => {
                    let _ = reply.send(self.set_port(port, up));
                }
                Ok(Command::Emulate { port, lines, reply }) => {
                    let _ = reply.send(self.emulate(port, *lines));
                }
                Ok(Command::Stats(reply)) => {
                    self.exits.flush(); // what was ordered before is sent before the answer
                    let _ = reply.send(self.stats());
                }
                Ok(Command::ThreadTime(reply)) => {
                    let _ = reply.send(sys::thread_time());
                }
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
            orders.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Processes one batch of a port; returns its size.
    fn serve(&mut self, device: &mut D, at: usize) -> usize {
        let exits = &mut self.exits;
        let InPort {
            number,
            receiver,
            line,
        } = &mut self.receivers[at];
        let now = self.clock.now();
        let received = receiver.receive(&mut self.inbox, |frame| {
            let entry = &mut exits.ports[at];
            if entry.up {
                entry.stats.received.add(frame);
                match line {
                    Some(line) => line.offer(now, frame),
                    None => device.receive(now, *number, frame, &mut |port, _, data| {
                        exits.push(now, port, data)
                    }),
                }
            } else {
                entry.stats.drops.down += 1;
            }
        });
        // An error means that the interface is down or gone. Waiting tells when it is back.
        let Ok(received) = received else { return 0 };
        let drops = &mut exits.ports[at].stats.drops;
        drops.uncut += received.uncut;
        drops.bad_checksum += received.bad_checksum;
        drops.bad_length += received.too_long;
        received.frames
    }

    /// Gives the device what has come to the end of a port's emulated link.
    fn land(&mut self, device: &mut D, at: usize) {
        let InPort {
            number,
            line: Some(line),
            ..
        } = &mut self.receivers[at]
        else {
            return;
        };
        let (now, exits) = (self.clock.now(), &mut self.exits);
        line.advance(now, |frame| {
            device.receive(now, *number, frame, &mut |port, _, data| {
                exits.push(now, port, data)
            });
        });
    }

    /// Sends what has waited in the device's own queues until now.
    fn leave(&mut self, device: &mut D) {
        let (now, exits) = (self.clock.now(), &mut self.exits);
        if device.next_departure().is_some_and(|due| due <= now) {
            device.advance(now, &mut |port, _, data| exits.push(now, port, data));
        }
    }

    fn receive_from_cpu(&mut self, device: &mut D, data: &[u8]) {
        let Some(port) = self.exits.cpu_port else {
            return;
        };
        let (now, exits) = (self.clock.now(), &mut self.exits);
        device.receive(now, port, data, &mut |port, _, data| {
            exits.push(now, port, data)
        });
    }

    /// How long nothing is due on any emulated link or in the device; `None` if nothing is.
    fn time_to_next(&self, device: &D) -> Option<Duration> {
        let arriving = self.receivers.iter().filter_map(|port| port.line.as_ref());
        let leaving = self
            .exits
            .ports
            .iter()
            .filter_map(|port| port.line.as_ref());
        let due = arriving
            .chain(leaving)
            .filter_map(DelayLine::next_due)
            .chain(device.next_departure())
            .min()?;
        let rest = due - self.clock.now();
        Some(Duration::from_nanos(rest.picos().div_ceil(1_000)))
    }

    fn set_port(&mut self, port: u16, up: bool) -> bool {
        let Some(at) = self.exits.find(port) else {
            return false;
        };
        let now = self.clock.now();
        let exit = &mut self.exits.ports[at];
        exit.up = up;
        for line in [&mut self.receivers[at].line, &mut exit.line]
            .into_iter()
            .flatten()
        {
            line.set_up(now, up);
        }
        true
    }

    fn emulate(&mut self, port: u16, [out, into]: [Option<DelayLine>; 2]) -> bool {
        let Some(at) = self.exits.find(port) else {
            return false;
        };
        self.exits.ports[at].line = out;
        self.receivers[at].line = into;
        true
    }

    fn stats(&mut self) -> Stats {
        // What has been processed counts as sent only once the kernel has it.
        self.exits.flush();
        for (entry, exit) in self.receivers.iter_mut().zip(&mut self.exits.ports) {
            exit.stats.drops.overrun += entry.receiver.overruns();
            let drops = [&entry.line, &exit.line].map(|line| match line {
                Some(line) => line.stats().drops,
                None => Drops::default(),
            });
            exit.stats.drops.loss = drops.iter().map(|drops| drops.loss).sum();
            exit.stats.drops.queue_full = drops.iter().map(|drops| drops.queue_full).sum();
        }
        let numbers = self.receivers.iter().map(|port| port.number);
        let ports = numbers
            .zip(self.exits.ports.iter().map(|port| port.stats))
            .collect();
        Stats {
            ports,
            no_port: self.exits.no_port,
            cpu_full: self.exits.cpu_full,
        }
    }
}

impl Exits {
    /// Takes a frame that the device transmits on `port`.
    fn push(&mut self, now: Time, port: u16, data: &[u8]) {
        if self.cpu_port == Some(port) {
            let packet_in = PacketIn {
                switch: self.switch,
                data: data.to_vec(),
                time: now,
            };
            self.cpu_full += u64::from(self.packet_ins.try_send(packet_in).is_err());
            return;
        }
        let Some(at) = self.find(port) else {
            self.no_port += 1;
            return;
        };
        let exit = &mut self.ports[at];
        if !exit.up {
            exit.stats.drops.down += 1;
        } else if is_too_short(data) {
            exit.stats.drops.bad_length += 1;
        } else if let Some(line) = &mut exit.line {
            line.offer(now, data);
        } else if exit.sender.push(data) {
            flush(&mut exit.sender, &mut exit.stats, &mut self.outbox);
        }
    }

    fn flush(&mut self) {
        for exit in &mut self.ports {
            if !exit.sender.is_empty() {
                flush(&mut exit.sender, &mut exit.stats, &mut self.outbox);
            }
        }
    }

    /// Sends what has come to the end of the emulated links.
    fn land(&mut self, now: Time) {
        let Exits { ports, outbox, .. } = self;
        for OutPort {
            sender,
            line,
            stats,
            ..
        } in ports
        {
            if let Some(line) = line {
                line.advance(now, |frame| {
                    if sender.push(frame) {
                        flush(sender, stats, outbox);
                    }
                });
            }
        }
    }

    fn find(&self, port: u16) -> Option<usize> {
        self.index
            .get(usize::from(port))
            .copied()
            .flatten()
            .map(usize::from)
    }
}

/// Waits for packets, orders, or until something is due.
fn wait(waiting: &mut [libc::pollfd], rest: Option<Duration>, bell: &Bell) {
    // Not being able to wait is no reason to stop: the switch then polls.
    if sys::wait(waiting, rest).is_err() {
        std::thread::yield_now();
    }
    if waiting.last().is_some_and(|bell| bell.revents != 0) {
        bell.hush();
    }
}

/// Gives the kernel what a port has collected.
fn flush(sender: &mut Tx, stats: &mut PortStats, outbox: &mut Outbox) {
    let sent = &mut stats.sent;
    let lost = sender.flush(outbox, |frame| sent.add(frame));
    stats.drops.full += lost.full;
    stats.drops.bad_length += lost.bad_length;
    stats.drops.down += lost.down;
}
