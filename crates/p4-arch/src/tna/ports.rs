//! Port numbers of the chip, and the ports that lead back into it.

use super::arbitration::{Arbitration, Gate};
use super::queue::Copy;
use crate::random::Random;
use crate::Port;
use p4_time::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Ports of one pipe: 64 at the front, 4 for the CPU or for recirculation, 4 for recirculation and
/// the packet generator.
pub(super) const PORTS: Port = 72;
pub(super) const ALWAYS_LOOPED: std::ops::Range<Port> = 68..72;
/// Picoseconds that one bit takes at one bit per second.
const SECOND: u128 = 1_000_000_000_000;

/// The pipe of a port: bits 7 and 8 of its number.
pub fn pipe(port: Port) -> u8 {
    (port >> 7) as u8
}

/// The number of a port within its pipe.
pub fn local_port(port: Port) -> Port {
    port & 0x7f
}

/// The ports of a chip with so many pipes that always lead back to ingress.
pub fn recirculation_ports(pipes: u8) -> Vec<Port> {
    let of_pipe = |pipe: u8| ALWAYS_LOOPED.map(move |local| Port::from(pipe) << 7 | local);
    (0..pipes.min(4)).flat_map(of_pipe).collect()
}

/// A port that leads back to its own ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopConfig {
    /// Bits per second; `None`: packets come back at once.
    pub rate: Option<u64>,
    /// Bytes that may wait for their turn; a packet that does not fit is dropped.
    pub queue: u64,
    /// Bytes that each packet takes on the wire besides its own, checksum included: 24 for Ethernet
    pub overhead: u64,
    /// Picoseconds from the last bit on the wire until the packet is at ingress again
    pub latency: u64,
    /// Who gets a place in the queue
    pub arbitration: Arbitration,
}

impl Default for LoopConfig {
    fn default() -> LoopConfig {
        LoopConfig {
            rate: None,
            queue: 1 << 20,
            overhead: 24,
            latency: 0,
            arbitration: Arbitration::TailDrop,
        }
    }
}

/// What a looped port with a rate has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopStats {
    /// Packets that were for the port, and their bytes
    pub offered: u64,
    pub offered_bytes: u64,
    /// Those of them for which the queue had no room
    pub dropped: u64,
    pub dropped_bytes: u64,
    /// Packets that came back
    pub returned: u64,
    pub returned_bytes: u64,
    /// The most bytes that ever waited
    pub peak: u64,
}

/// A looped port with its queue. What it sends is on its way until `done`.
#[derive(Debug, Default)]
pub(super) struct Loop {
    config: LoopConfig,
    waiting: VecDeque<Copy>,
    backlog: u64,
    /// Bytes on their way back, and when their last bit arrives
    sending: Option<(Time, Copy)>,
    /// Packets between the wire and ingress, and when they are there
    returning: VecDeque<(Time, Copy)>,
    /// How long the latest packet took on the wire
    service: u64,
    stats: LoopStats,
}

/// Looped ports in the order of their numbers.
#[derive(Debug, Default)]
struct Loops {
    all: Vec<(Port, Loop)>,
    /// Where they are, counted from 1, by their numbers; 0: the port is not looped. Every packet asks.
    places: Vec<u32>,
}

impl Loops {
    #[inline]
    fn place(&self, port: Port) -> Option<usize> {
        let place = self.places.get(usize::from(port))?;
        (*place as usize).checked_sub(1)
    }

    #[inline]
    fn get(&self, port: Port) -> Option<&Loop> {
        self.all.get(self.place(port)?).map(|(_, looped)| looped)
    }

    fn get_mut(&mut self, port: Port) -> Option<&mut Loop> {
        let place = self.place(port)?;
        self.all.get_mut(place).map(|(_, looped)| looped)
    }

    fn each(&self) -> impl Iterator<Item = &Loop> {
        self.all.iter().map(|(_, looped)| looped)
    }

    /// Adds a port that is not among them.
    fn add(&mut self, port: Port, looped: Loop) {
        let place = self.all.partition_point(|(other, _)| *other < port);
        self.all.insert(place, (port, looped));
        self.number();
    }

    fn remove(&mut self, port: Port) {
        self.all.retain(|(other, _)| *other != port);
        self.number();
    }

    fn number(&mut self) {
        let ports = self
            .all
            .last()
            .map_or(0, |(port, _)| usize::from(*port) + 1);
        self.places.clear();
        self.places.resize(ports, 0);
        for (place, (port, _)) in (1..).zip(&self.all) {
            self.places[usize::from(*port)] = place;
        }
    }
}

/// What became of a packet for a looped port with a rate.
pub(super) enum Queued {
    /// It has a place, for which others lost theirs.
    Waits {
        displaced: Vec<Copy>,
    },
    Full(Copy),
}

impl Loop {
    pub fn has_rate(&self) -> bool {
        self.config.rate.is_some()
    }

    fn enqueue(&mut self, now: Time, mut copy: Copy, random: &mut Random) -> Queued {
        let bytes = copy.bytes.len() as u64;
        self.stats.offered += 1;
        self.stats.offered_bytes += bytes;
        let mut displaced = Vec::new();
        while self.backlog + bytes > self.config.queue {
            match self.victim(random) {
                Some(victim) => {
                    self.count_drop(&victim);
                    displaced.push(victim);
                }
                None => {
                    self.count_drop(&copy);
                    return Queued::Full(copy);
                }
            }
        }
        copy.enqueued = now;
        copy.depth = self.backlog;
        self.backlog += bytes;
        self.stats.peak = self.stats.peak.max(self.backlog);
        self.waiting.push_back(copy);
        Queued::Waits { displaced }
    }

    /// The packet that loses its place to a new one; `None` if that is the new one itself.
    fn victim(&mut self, random: &mut Random) -> Option<Copy> {
        if self.config.arbitration != Arbitration::EqualDrop {
            return None;
        }
        let victim = self.waiting.remove(random.index(self.waiting.len() + 1))?;
        self.backlog -= victim.bytes.len() as u64;
        Some(victim)
    }

    fn count_drop(&mut self, copy: &Copy) {
        self.stats.dropped += 1;
        self.stats.dropped_bytes += copy.bytes.len() as u64;
    }

    /// The packet whose turn it is, if the port is free.
    pub fn next_to_send(&mut self) -> Option<Copy> {
        if self.sending.is_some() {
            return None;
        }
        let copy = self.waiting.pop_front()?;
        self.backlog -= copy.bytes.len() as u64;
        Some(copy)
    }

    /// Begins to send what egress made of a packet (without its checksum).
    pub fn send(&mut self, now: Time, copy: Copy) {
        self.service = self.duration(copy.bytes.len());
        let done = Time::from_picos(now.picos().saturating_add(self.service));
        self.sending = Some((done, copy));
    }

    /// Picoseconds that a packet takes on the wire.
    fn duration(&self, bytes: usize) -> u64 {
        let bytes = bytes as u64 + self.config.overhead;
        let duration = match self.config.rate {
            Some(rate) if rate > 0 => (u128::from(bytes) * 8 * SECOND).div_ceil(rate.into()),
            _ => 0,
        };
        u64::try_from(duration).unwrap_or(u64::MAX)
    }

    /// How long the port takes for a packet like this one.
    fn service(&self, copy: &Copy) -> u64 {
        match self.service {
            0 => self.duration(copy.bytes.len()),
            latest => latest,
        }
    }

    /// When something happens next: a packet is back, or the port has sent it.
    fn next_time(&self) -> Option<Time> {
        let sent = self.sending.as_ref().map(|(done, _)| *done);
        let back = self.returning.front().map(|(due, _)| *due);
        sent.into_iter().chain(back).min()
    }

    /// Lets it happen. Gives the packet that is back, if one is.
    fn advance(&mut self) -> Option<Copy> {
        let due = self.next_time()?;
        let copy = match self.returning.front() {
            Some((back, _)) if *back == due => self.returning.pop_front()?.1,
            _ => {
                let (done, copy) = self.sending.take()?;
                if self.config.latency > 0 {
                    let back = done.picos().saturating_add(self.config.latency);
                    self.returning.push_back((Time::from_picos(back), copy));
                    return None;
                }
                copy
            }
        };
        self.stats.returned += 1;
        self.stats.returned_bytes += copy.bytes.len() as u64;
        Some(copy)
    }
}

/// All ports of a chip.
#[derive(Debug)]
pub(super) struct Ports {
    pipes: u8,
    looped: Loops,
    /// Some port has had a rate, so packets may be on their way back.
    has_rates: bool,
    gates: BTreeMap<Arbitration, Gate>,
    random: Random,
    /// Ports beside the front ones that have a cable
    cables: BTreeSet<Port>,
    /// What the control plane has told about ports, 8 bytes each; by number
    metadata: Vec<u64>,
    /// A port of the four that are otherwise shut (or PCIe's) that leads to the CPU
    pub cpu: Option<Port>,
    pub copy_to_cpu: bool,
}

impl Ports {
    pub fn new(pipes: u8, seed: u64) -> Ports {
        let pipes = pipes.clamp(1, 4);
        let mut looped = Loops::default();
        for port in recirculation_ports(pipes) {
            looped.add(port, Loop::default());
        }
        Ports {
            pipes,
            looped,
            has_rates: false,
            gates: BTreeMap::new(),
            random: Random::new(seed),
            cables: BTreeSet::new(),
            metadata: Vec::new(),
            cpu: None,
            copy_to_cpu: false,
        }
    }

    /// The same ports with their loops, cables and CPU, and nothing under way.
    pub fn anew(&self, seed: u64) -> Ports {
        let mut own = Ports::new(self.pipes, seed);
        for (port, looped) in &self.looped.all {
            own.set_loop(*port, Some(looped.config));
        }
        own.cables = self.cables.clone();
        (own.cpu, own.copy_to_cpu) = (self.cpu, self.copy_to_cpu);
        own
    }

    /// Whether the chip has the port.
    pub fn exists(&self, port: Port) -> bool {
        pipe(port) < self.pipes && local_port(port) < PORTS && port < 512
    }

    /// Whether what is sent there gets anywhere: to a cable, to the CPU or back.
    pub fn leads_somewhere(&self, port: Port) -> bool {
        let is_front = local_port(port) < 64;
        let is_led = || self.cpu == Some(port) || self.cables.contains(&port);
        self.exists(port) && (is_front || self.is_looped(port) || is_led())
    }

    /// Notes that a cable is plugged into a port, as it may be into those of an Ethernet CPU.
    pub fn plug(&mut self, port: Port) {
        self.cables.insert(port);
    }

    pub fn set_loop(&mut self, port: Port, config: Option<LoopConfig>) {
        self.has_rates |= config.is_some_and(|config| config.rate.is_some());
        match (config, self.looped.get_mut(port)) {
            (Some(config), Some(known)) => known.config = config,
            (Some(config), None) => {
                let looped = Loop {
                    config,
                    ..Loop::default()
                };
                self.looped.add(port, looped);
            }
            (None, _) if ALWAYS_LOOPED.contains(&local_port(port)) => {}
            (None, _) => self.looped.remove(port),
        }
    }

    pub fn is_looped(&self, port: Port) -> bool {
        self.looped.place(port).is_some()
    }

    pub fn loop_mut(&mut self, port: Port) -> Option<&mut Loop> {
        self.looped.get_mut(port)
    }

    /// Whether packets for a port have to wait for its wire.
    pub fn has_rate(&self, port: Port) -> bool {
        self.has_rates && self.looped.get(port).is_some_and(Loop::has_rate)
    }

    /// Whether a looped port has an arbitration of its own.
    pub fn arbitrates(&self, port: Port) -> bool {
        let looped = self.looped.get(port);
        looped.is_some_and(|looped| looped.config.arbitration != Arbitration::TailDrop)
    }

    /// Keeps a packet for a looped port with a rate until those of a service time are together;
    /// gives it back if they are not waited for.
    pub fn gathered(&mut self, now: Time, copy: Copy) -> Option<Copy> {
        let looped = self.looped.get(copy.port);
        let Some(looped) = looped.filter(|looped| looped.config.arbitration.gathers()) else {
            return Some(copy);
        };
        let gate = self.gates.entry(looped.config.arbitration).or_default();
        gate.gather(now, looped.service(&copy), copy);
        None
    }

    /// The packets of a service time that has ended by `now`, in the order in which they reach their
    /// queues.
    pub fn released(&mut self, now: Time) -> Vec<Copy> {
        let mut due = self.gates.iter_mut();
        let due = due.find(|(_, gate)| gate.closes().is_some_and(|closes| closes <= now));
        due.map(|(arbitration, gate)| gate.release(*arbitration, &mut self.random))
            .unwrap_or_default()
    }

    /// Puts a packet into the queue of its port.
    pub fn enqueue(&mut self, now: Time, copy: Copy) -> Queued {
        match self.looped.get_mut(copy.port) {
            Some(looped) => looped.enqueue(now, copy, &mut self.random),
            None => Queued::Full(copy),
        }
    }

    /// Bytes that wait at a looped port.
    pub fn backlog(&self, port: Port) -> u64 {
        let looped = self.looped.get(port).filter(|_| self.has_rates);
        looped.map_or(0, |looped| looped.backlog)
    }

    pub fn stats(&self, port: Port) -> Option<LoopStats> {
        self.looped.get(port).map(|looped| looped.stats)
    }

    /// When the next packet is back on a looped port, or leaves for its queue.
    pub fn next_time(&self) -> Option<Time> {
        if !self.has_rates {
            return None;
        }
        let looped = self.looped.each().filter_map(Loop::next_time).min();
        let gates = self.gates.values().filter_map(Gate::closes).min();
        looped.into_iter().chain(gates).min()
    }

    /// The port that has sent a packet first, of several the lowest, if it has until `now`; and the
    /// packet, if it is back.
    pub fn next_arrival(&mut self, now: Time) -> Option<(Time, Port, Option<Copy>)> {
        let due = self
            .looped
            .all
            .iter()
            .filter_map(|(port, looped)| looped.next_time().map(|due| (due, *port)));
        let (due, port) = due.min().filter(|(due, _)| *due <= now)?;
        let copy = self.looped.get_mut(port)?.advance();
        Some((due, port, copy))
    }

    pub fn set_metadata(&mut self, port: Port, bits: u64) {
        let place = usize::from(port);
        if self.metadata.len() <= place {
            self.metadata.resize(place + 1, 0);
        }
        self.metadata[place] = bits;
    }

    pub fn metadata(&self, port: Port) -> u64 {
        self.metadata.get(usize::from(port)).copied().unwrap_or(0)
    }
}
