//! Mirror sessions that put the beginnings of several packets into one.
//!
//! A session collects in each pipe on its own. Its packet leaves when it is long enough, or when its
//! time is up; the chip counts that time in ticks, which begin when a pipe starts to collect.

use super::mirror::{Direction, MirrorSession};
use super::queue::Origin;
use p4_time::Time;
use std::collections::BTreeMap;

/// The first session that can; those after it can as well.
pub(super) const FIRST: u16 = 1016;
const MOST_HEADER: usize = 16;
const MOST_EXTRACTED: u16 = 240;
const MOST_MICROS: u32 = 25_500;
const TICK_MICROS: u32 = 100;
/// By how much the driver has the chip close packets before their greatest length: three cells
const MARGIN: u32 = 3 * 240;
/// Bits of the register with the length at which a packet is closed
const LENGTH_MASK: u32 = 0x3fff;
/// What the driver takes if no greatest length is set
const UNLIMITED: u32 = 0xffff;

/// How a session makes one packet of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    /// In front of the packet. Its first byte becomes the number of samples.
    pub header: [u8; MOST_HEADER],
    /// Bytes of the header: 4, 8, 12 or 16
    pub header_length: u8,
    /// After so many microseconds the packet leaves however short it is.
    pub timeout: u32,
    /// Bytes of each packet, the mirror's header included; 0: as `coalesce_length` says
    pub extracted: u16,
}

impl MirrorSession {
    /// Whether the chip can have this session with this number; the error is for people.
    pub fn check(&self, id: u16) -> Result<(), String> {
        let can = id >= FIRST;
        let Some(own) = &self.coalescing else {
            return match can && self.direction != Direction::Egress {
                true => Err(format!(
                    "mirror sessions from {FIRST} on are for egress only; session {id} is not"
                )),
                false => Ok(()),
            };
        };
        if !can {
            return Err(format!(
                "mirror session {id} cannot coalesce; {FIRST} to 1023 can"
            ));
        }
        if self.direction != Direction::Egress {
            let message =
                "a mirror session coalesces what egress mirrors; its direction must be that";
            return Err(message.to_string());
        }
        let length = usize::from(own.header_length);
        if length == 0 || length > MOST_HEADER || !length.is_multiple_of(4) {
            return Err(format!(
                "the header of coalesced packets has 4, 8, 12 or 16 bytes, not {length}"
            ));
        }
        if own.extracted > MOST_EXTRACTED || !own.extracted.is_multiple_of(4) {
            return Err(format!(
                "a session extracts a multiple of 4 bytes, {MOST_EXTRACTED} at most, not {}",
                own.extracted
            ));
        }
        match own.timeout <= MOST_MICROS {
            true => Ok(()),
            false => Err(format!(
                "a session waits {MOST_MICROS} microseconds at most, not {}",
                own.timeout
            )),
        }
    }

    /// The length of samples at which the packet is closed, as the driver sets it.
    fn closes_at(&self, own: &Coalescing) -> usize {
        let longest = self.max_length.unwrap_or(UNLIMITED);
        let length = longest.saturating_sub(MARGIN).max(own.extracted.into());
        (length & LENGTH_MASK) as usize
    }
}

/// The packets under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Collecting {
    /// By pipe: when its clock began to tick
    clocks: BTreeMap<u8, Time>,
    /// By pipe and session
    under_way: BTreeMap<(u8, u16), Collected>,
}

/// Samples of one session in one pipe.
#[derive(Clone, Debug)]
pub(super) struct Collected {
    /// Of the last sample
    pub origin: Origin,
    /// The samples after one another
    bytes: Vec<u8>,
    /// As the chip counts them, in one byte
    samples: u8,
    due: Time,
}

/// What becomes of a sample.
#[derive(Debug)]
pub(super) enum Sampled {
    /// It waits for others: so many samples, and their bytes.
    Waits(u8, usize),
    /// It is the last that its packet takes.
    Closes(Collected),
}

impl Collecting {
    /// Adds a packet's sample to those of its session.
    pub fn add(
        &mut self,
        place: (u8, u16),
        now: Time,
        session: &MirrorSession,
        own: &Coalescing,
        sample: &[u8],
        origin: Origin,
    ) -> Sampled {
        let start = *self.clocks.entry(place.0).or_insert(now);
        let collected = self.under_way.entry(place).or_insert_with(|| Collected {
            origin,
            bytes: Vec::new(),
            samples: 0,
            due: due(start, now, own.timeout),
        });
        collected.origin = origin;
        collected.bytes.extend_from_slice(sample);
        collected.samples = collected.samples.wrapping_add(1);
        if collected.bytes.len() < session.closes_at(own) {
            return Sampled::Waits(collected.samples, collected.bytes.len());
        }
        let closed = collected.clone();
        self.forget(place);
        Sampled::Closes(closed)
    }

    /// When the next packet's time is up.
    pub fn next_time(&self) -> Option<Time> {
        self.under_way.values().map(|own| own.due).min()
    }

    /// A packet whose time is up at `now`, and of which session it is.
    pub fn take(&mut self, now: Time) -> Option<(u16, Collected)> {
        let mut all = self.under_way.iter();
        let (place, collected) = all.find(|(_, own)| own.due <= now)?;
        let (place, collected) = (*place, collected.clone());
        self.forget(place);
        Some((place.1, collected))
    }

    fn forget(&mut self, place: (u8, u16)) {
        self.under_way.remove(&place);
        if self
            .under_way
            .range((place.0, 0)..=(place.0, u16::MAX))
            .next()
            .is_none()
        {
            self.clocks.remove(&place.0);
        }
    }
}

impl Collected {
    /// Header and samples.
    pub fn packet(&self, own: &Coalescing) -> Vec<u8> {
        let length = usize::from(own.header_length).min(MOST_HEADER);
        let mut packet = own.header[..length].to_vec();
        if let Some(first) = packet.first_mut() {
            *first = self.samples;
        }
        packet.extend_from_slice(&self.bytes);
        packet
    }
}

/// The packet begins at `now`. It leaves at the first tick at which all of its own have passed, so
/// that it never waits less than it should.
fn due(start: Time, now: Time, timeout: u32) -> Time {
    let tick = Time::from_micros(u64::from(TICK_MICROS)).picos();
    let ticks = u64::from(timeout.div_ceil(TICK_MICROS)) + 1;
    let passed = now.picos().saturating_sub(start.picos()) / tick;
    Time::from_picos(start.picos() + (passed + ticks) * tick)
}
