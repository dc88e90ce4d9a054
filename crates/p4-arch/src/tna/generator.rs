//! The packet generator: packets that begin inside the chip, by a timer, when a port goes down, or when
//! a certain packet has come back.

use super::ports::{local_port, pipe, ALWAYS_LOOPED, PORTS};
use crate::random::Random;
use crate::Port;
use p4_time::Time;
use std::collections::VecDeque;

/// Triggers that wait until their application has sent its packets; more are lost.
const MOST_WAITING: usize = 1024;

/// What makes an application send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// So many nanoseconds after it was set up
    Once(u64),
    /// Again and again after so many nanoseconds
    Periodic(u64),
    /// Whenever a port of the pipe goes down
    PortDown,
    /// Whenever a packet comes back on a port 68 to 71 of the pipe whose first four bytes are
    /// `pattern` in the bits of `mask`
    Recirculation { pattern: u32, mask: u32 },
}

/// One application of a pipe's generator. Its packets get a header of 6 bytes in front:
/// `pktgen_timer_header_t`, `pktgen_port_down_header_t` or `pktgen_recirc_header_t`, whose key is the
/// second to fourth byte of the packet that came back, plus the number of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    pub pipe: u8,
    /// 0 to 7
    pub id: u8,
    pub trigger: Trigger,
    pub packet: Vec<u8>,
    /// Where the packets seem to come in: the port's number within the pipe
    pub source: Port,
    /// Each packet of a batch seems to come in one port further than the one before.
    pub next_source: bool,
    pub batches: u16,
    pub packets_per_batch: u16,
    /// Nanoseconds between the beginnings of batches, and of the packets of a batch
    pub batch_gap: u64,
    pub packet_gap: u64,
    /// Nanoseconds by which each of these gaps is longer on average. As on Tofino 1, which ends a
    /// gap by lot from then on, the distribution is the exponential one.
    pub batch_jitter: u64,
    pub packet_jitter: u64,
}

/// A packet that an application sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Generated {
    pub time: Time,
    pub port: Port,
    pub bytes: Vec<u8>,
}

/// What an application has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppCounts {
    pub triggers: u64,
    pub batches: u64,
    pub packets: u64,
}

/// The packet of an application that comes next.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// When the application was triggered, the batch began, and the packet is due
    start: Time,
    begun: Time,
    due: Time,
    batch: u16,
    packet: u16,
}

impl Next {
    fn first(start: Time) -> Next {
        Next {
            start,
            begun: start,
            due: start,
            batch: 0,
            packet: 0,
        }
    }
}

#[derive(Debug)]
struct Running {
    app: App,
    next: Option<Next>,
    /// The port that went down, or the first four bytes of the packet that came back
    cause: u32,
    /// What has triggered it since
    waiting: VecDeque<u32>,
    counts: AppCounts,
}

/// All applications; their order decides between packets of the same time.
#[derive(Debug)]
pub(super) struct Generator {
    apps: Vec<Running>,
    random: Random,
}

fn after(time: Time, nanos: u64) -> Time {
    Time::from_picos(time.picos().saturating_add(nanos.saturating_mul(1000)))
}

impl Running {
    /// When the next packet is due.
    fn due(&self) -> Option<Time> {
        self.next.map(|next| next.due)
    }

    /// What comes after a packet, if its trigger makes more. A batch that is over begins the next
    /// one not before its last packet.
    fn after(&self, sent: Next, random: &mut Random) -> Option<Next> {
        let app = &self.app;
        if sent.packet + 1 < app.packets_per_batch {
            let gap = app
                .packet_gap
                .saturating_add(random.exponential(app.packet_jitter));
            return Some(Next {
                due: after(sent.due, gap),
                packet: sent.packet + 1,
                ..sent
            });
        }
        if sent.batch + 1 < app.batches {
            let gap = app
                .batch_gap
                .saturating_add(random.exponential(app.batch_jitter));
            let begun = after(sent.begun, gap).max(sent.due);
            return Some(Next {
                begun,
                due: begun,
                batch: sent.batch + 1,
                packet: 0,
                ..sent
            });
        }
        match app.trigger {
            Trigger::Periodic(nanos) if nanos > 0 => {
                let start = after(sent.start, nanos);
                let due = start.max(sent.due);
                Some(Next {
                    begun: due,
                    due,
                    ..Next::first(start)
                })
            }
            _ => None,
        }
    }

    fn take(&mut self, random: &mut Random) -> Option<Generated> {
        let sent = self.next?;
        let Next {
            due: time,
            batch,
            packet,
            ..
        } = sent;
        let app = &self.app;
        let name = app.pipe << 3 & 0x18 | app.id & 7;
        let mut bytes = vec![name];
        match app.trigger {
            Trigger::PortDown => {
                bytes.push(0);
                bytes.extend_from_slice(&(self.cause as u16).to_be_bytes());
            }
            Trigger::Recirculation { .. } => {
                let low = (self.cause as u16).wrapping_add(batch);
                bytes.push((self.cause >> 16) as u8);
                bytes.extend_from_slice(&low.to_be_bytes());
            }
            Trigger::Once(_) | Trigger::Periodic(_) => {
                bytes.push(0);
                bytes.extend_from_slice(&batch.to_be_bytes());
            }
        }
        bytes.extend_from_slice(&packet.to_be_bytes());
        bytes.extend_from_slice(&app.packet);
        self.counts.packets += 1;
        self.counts.batches += u64::from(packet == 0);
        self.counts.triggers += u64::from((batch, packet) == (0, 0));
        self.next = self.after(sent, random);
        if self.next.is_none() {
            if let Some(cause) = self.waiting.pop_front() {
                self.next = Some(Next::first(time));
                self.cause = cause;
            }
        }
        let app = &self.app;
        let further = if app.next_source { packet } else { 0 };
        let local = app.source.wrapping_add(further) % PORTS;
        let port = Port::from(app.pipe) << 7 | local;
        Some(Generated { time, port, bytes })
    }
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator {
            apps: Vec::new(),
            random: Random::new(seed),
        }
    }

    /// Sets an application up, in place of one with the same pipe and number.
    pub fn set(&mut self, now: Time, app: App) {
        let sends = app.batches > 0 && app.packets_per_batch > 0;
        let next = match app.trigger {
            Trigger::Once(nanos) | Trigger::Periodic(nanos) if sends => {
                Some(Next::first(after(now, nanos)))
            }
            _ => None,
        };
        let same = |known: &Running| (known.app.pipe, known.app.id) == (app.pipe, app.id);
        self.apps.retain(|known| !same(known));
        self.apps.push(Running {
            app,
            next,
            cause: 0,
            waiting: VecDeque::new(),
            counts: AppCounts::default(),
        });
    }

    pub fn remove(&mut self, pipe: u8, id: u8) {
        let other = |known: &Running| (known.app.pipe, known.app.id) != (pipe, id);
        self.apps.retain(other);
    }

    pub fn counts(&self, pipe: u8, id: u8) -> Option<AppCounts> {
        let same = |known: &&Running| (known.app.pipe, known.app.id) == (pipe, id);
        self.apps.iter().find(same).map(|known| known.counts)
    }

    /// Triggers what waits for a port of the pipe to go down.
    pub fn port_down(&mut self, now: Time, port: Port) {
        self.trigger(now, pipe(port), u32::from(port), |trigger| {
            *trigger == Trigger::PortDown
        });
    }

    /// Triggers what waits for such a packet to come back on this port.
    pub fn recirculated(&mut self, now: Time, port: Port, packet: &[u8]) {
        let Some(&[a, b, c, d]) = packet.first_chunk() else {
            return;
        };
        if self.apps.is_empty() || !ALWAYS_LOOPED.contains(&local_port(port)) {
            return;
        }
        let first = u32::from_be_bytes([a, b, c, d]);
        self.trigger(now, pipe(port), first, |trigger| match trigger {
            Trigger::Recirculation { pattern, mask } => (first ^ pattern) & mask == 0,
            _ => false,
        });
    }

    /// What triggers an application that is still sending waits for its turn.
    fn trigger(&mut self, now: Time, pipe: u8, cause: u32, wants: impl Fn(&Trigger) -> bool) {
        for known in &mut self.apps {
            let App {
                trigger,
                batches,
                packets_per_batch,
                ..
            } = &known.app;
            let sends = *batches > 0 && *packets_per_batch > 0;
            if known.app.pipe != pipe || !sends || !wants(trigger) {
                continue;
            }
            if known.next.is_none() {
                known.next = Some(Next::first(now));
                known.cause = cause;
            } else if known.waiting.len() < MOST_WAITING {
                known.waiting.push_back(cause);
            }
        }
    }

    /// Forgets what was triggered, for there is no end of it.
    pub fn calm(&mut self) {
        for known in &mut self.apps {
            known.waiting.clear();
            if !matches!(known.app.trigger, Trigger::Once(_) | Trigger::Periodic(_)) {
                known.next = None;
            }
        }
    }

    pub fn next_time(&self) -> Option<Time> {
        self.apps.iter().filter_map(Running::due).min()
    }

    /// The packet that is due first, if it is until `now`.
    pub fn next(&mut self, now: Time) -> Option<Generated> {
        let first = self.next_time().filter(|time| *time <= now)?;
        let app = self.apps.iter_mut().find(|app| app.due() == Some(first))?;
        app.take(&mut self.random)
    }
}
