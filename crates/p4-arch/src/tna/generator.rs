//! The packet generator: packets that begin inside the chip, by a timer or when a port goes down.

use crate::Port;
use p4_time::Time;

/// What makes an application send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// So many nanoseconds after it was set up
    Once(u64),
    /// Again and again after so many nanoseconds
    Periodic(u64),
    /// Whenever a port of the pipe goes down
    PortDown,
}

/// One application of a pipe's generator. Its packets get a header of 6 bytes in front:
/// `pktgen_timer_header_t` or `pktgen_port_down_header_t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    pub pipe: u8,
    /// 0 to 7
    pub id: u8,
    pub trigger: Trigger,
    pub packet: Vec<u8>,
    /// Where the packets seem to come in: the port's number within the pipe
    pub source: Port,
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

#[derive(Debug)]
struct Running {
    app: App,
    /// When it was triggered, and the packet that comes next
    next: Option<(Time, u16, u16)>,
    /// The port that went down
    port: Port,
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
                bytes.extend_from_slice(&self.port.to_be_bytes());
            }
            Trigger::Once(_) | Trigger::Periodic(_) => {
                bytes.push(0);
                bytes.extend_from_slice(&batch.to_be_bytes());
            }
        }
        bytes.extend_from_slice(&packet.to_be_bytes());
        bytes.extend_from_slice(&app.packet);
        self.next = match (packet + 1 < app.packets_per_batch, batch + 1 < app.batches) {
            (true, _) => Some((start, batch, packet + 1)),
            (false, true) => Some((start, batch + 1, 0)),
            (false, false) => match app.trigger {
                Trigger::Periodic(nanos) if nanos > 0 => Some((after(start, nanos), 0, 0)),
                _ => None,
            },
        };
        let port = Port::from(app.pipe) << 7 | app.source & 0x7f;
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
        let port = 0;
        self.apps.push(Running { app, next, port });
    }

    /// Triggers what waits for a port of the pipe to go down.
    pub fn port_down(&mut self, now: Time, port: Port) {
        let waits = |known: &&mut Running| {
            let App {
                trigger,
                pipe,
                batches,
                packets_per_batch,
                ..
            } = &known.app;
            *trigger == Trigger::PortDown
                && *pipe == super::ports::pipe(port)
                && *batches > 0
                && *packets_per_batch > 0
        };
        for known in self.apps.iter_mut().filter(waits) {
            known.next = Some((now, 0, 0));
            known.port = port;
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
