//! The packet generator: packets that begin inside the chip, by a timer, when a port goes down, or when
//! a certain packet has come back.

use super::ports::{local_port, pipe, ALWAYS_LOOPED, PORTS};
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
    /// Nanoseconds between batches, and between the packets of a batch
    pub batch_gap: u64,
    pub packet_gap: u64,
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

#[derive(Debug)]
struct Running {
    app: App,
    /// When it was triggered, and the packet that comes next
    next: Option<(Time, u16, u16)>,
    /// The port that went down, or the first four bytes of the packet that came back
    cause: u32,
    /// What has triggered it since
    waiting: VecDeque<u32>,
    counts: AppCounts,
}

/// All applications; their order decides between packets of the same time.
#[derive(Debug, Default)]
pub(super) struct Generator {
    apps: Vec<Running>,
}

fn after(time: Time, nanos: u64) -> Time {
    Time::from_picos(time.picos().saturating_add(nanos.saturating_mul(1000)))
}

impl Running {
    /// When the next packet is due.
    fn due(&self) -> Option<Time> {
        let (start, batch, packet) = self.next?;
        let gap = u64::from(batch).saturating_mul(self.app.batch_gap);
        Some(after(
            start,
            gap.saturating_add(u64::from(packet).saturating_mul(self.app.packet_gap)),
        ))
    }

    fn take(&mut self) -> Option<Generated> {
        let time = self.due()?;
        let (start, batch, packet) = self.next?;
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
        self.next = match (packet + 1 < app.packets_per_batch, batch + 1 < app.batches) {
            (true, _) => Some((start, batch, packet + 1)),
            (false, true) => Some((start, batch + 1, 0)),
            (false, false) => match app.trigger {
                Trigger::Periodic(nanos) if nanos > 0 => Some((after(start, nanos), 0, 0)),
                _ => None,
            },
        };
        if self.next.is_none() {
            if let Some(cause) = self.waiting.pop_front() {
                self.next = Some((time, 0, 0));
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
    /// Sets an application up, in place of one with the same pipe and number.
    pub fn set(&mut self, now: Time, app: App) {
        let sends = app.batches > 0 && app.packets_per_batch > 0;
        let next = match app.trigger {
            Trigger::Once(nanos) | Trigger::Periodic(nanos) if sends => {
                Some((after(now, nanos), 0, 0))
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
                known.next = Some((now, 0, 0));
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
        app.take()
    }
}
