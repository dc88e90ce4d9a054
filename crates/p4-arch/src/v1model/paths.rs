//! The fast paths of a switch, and how they are learned.
//!
//! Native code knows a packet's path in one piece (see [`p4_ir::paths`]), glue and all (`stages.rs`). Which
//! paths there are, packets tell: as long as some go where none has been noted, one of them is interpreted
//! and recorded now and then, ever more seldom.

use super::calls::Call;
use super::externs::Asked;
use super::image::Image;
use super::recording::Recording;
use super::stages::{given, Event};
use crate::Port;
use p4_ir::glue::Segment;
use p4_ir::ir::InstanceId;
use p4_ir::native::Native;
use p4_ir::paths::{End, Path, Paths, Request};
use p4_time::Time;
use std::sync::Arc;

/// Packets without a path before one is recorded for the first time
const PATIENCE: u64 = 256;
/// Paths of one segment
const MAX_PATHS: usize = 16;
/// Packets that are recorded in all
const MAX_RECORDS: u32 = 20;

/// The packets that paths are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// Those on the segment of this index
    Segment(usize),
    /// Copies for a multicast group of such packets, from the parser on
    Copies(usize),
}

/// What becomes of a packet at the end of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    /// Counters, and where their indices are in what is told
    pub counts: Vec<(InstanceId, usize)>,
    pub events: Vec<(Event, Option<Request>)>,
    /// It leaves, and nothing else is made of it.
    pub is_sent: bool,
}

/// The paths of some packets.
#[derive(Debug)]
pub(super) struct Known {
    of: Of,
    pub code: Arc<dyn Paths>,
    /// By the code's ends
    pub endings: Vec<Ending>,
    learned: Box<Learned>,
}

/// What the code was made from; no packet looks at it.
#[derive(Clone, Debug)]
struct Learned {
    segment: Segment,
    paths: Vec<Path>,
}

/// All paths that are known.
#[derive(Debug)]
pub(crate) struct FastPaths {
    native: Arc<dyn Native>,
    pub(super) all: Vec<Known>,
    /// Packets without a path since the last one was recorded
    misses: u64,
    patience: u64,
    records: u32,
    /// Packets that took a path when they arrived
    pub(super) taken: u64,
    /// The next packet is to be recorded.
    pub(super) due: bool,
    pub(super) rooms: Rooms,
}

/// What paths get and give: of the packet itself, and of a copy of it.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    pub own: Buffers,
    pub copy: Buffers,
    /// Of the copies of a group; some may be left over from earlier packets.
    pub replicas: Vec<(Buffers, Walked)>,
}

/// A path's end, and how long the packet is there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walked {
    pub end: usize,
    pub length: usize,
}

/// What a path gets and gives.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub given: Vec<u64>,
    pub told: Vec<u64>,
    pub output: Vec<u8>,
}

impl Buffers {
    /// Sets the words that a packet comes with; for buffers that only such packets use.
    #[inline]
    pub fn give(&mut self, ingress_port: Port, now: Time, kept: &[u64]) {
        let now = now.micros();
        self.given.resize(given::KEPT, 0);
        self.given[given::INGRESS_PORT] = ingress_port.into();
        self.given[given::NOW] = now;
        self.given[given::ENQUEUED] = now;
        self.given.extend_from_slice(kept);
    }

    /// The same for a copy of a group.
    pub fn give_as(&mut self, other: &Buffers, port: Port, rid: u16) {
        self.given.clone_from(&other.given);
        self.given[given::PORT] = port.into();
        self.given[given::RID] = rid.into();
    }

    /// A request and the fields of its list.
    #[inline]
    pub fn asked(&self, request: Option<Request>) -> (Asked, &[u64]) {
        let Some(request) = request else {
            return Default::default();
        };
        let word = self.told.get(request.words).copied();
        let asked = Asked {
            word: word.unwrap_or_default(),
            list: request.list.map(|list| list as u32),
        };
        (asked, &self.told[request.kept.0..][..request.kept.1])
    }
}

impl FastPaths {
    /// No paths yet; `None` if the metadata of the program is not v1model's.
    pub fn new(image: &Image, native: &Arc<dyn Native>) -> Option<FastPaths> {
        let standard = &image.standard;
        standard.egress_spec.and(standard.mcast_grp)?;
        standard.priority?;
        Some(FastPaths {
            native: Arc::clone(native),
            all: Vec::new(),
            misses: 0,
            patience: PATIENCE,
            records: 0,
            taken: 0,
            due: false,
            rooms: Rooms::default(),
        })
    }

    pub fn set_patience(&mut self, packets: u64) {
        self.patience = packets;
    }

    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// A packet has no path; whether it is worth recording one.
    pub(super) fn missed(&mut self) -> bool {
        self.misses += 1;
        let due = self.misses > self.patience && self.records < MAX_RECORDS;
        if due {
            self.misses = 0;
            self.patience = self.patience.saturating_mul(2);
            self.records += 1;
        }
        due
    }

    /// Adds the paths of a packet that was recorded.
    pub(super) fn learn(&mut self, image: &Image, recording: &Recording) {
        for (of, path) in recording.paths(image) {
            self.add(image, of, path);
        }
    }

    fn add(&mut self, image: &Image, of: Of, path: Path) {
        let at = self.all.iter().position(|known| known.of == of);
        let learned = match at {
            Some(at) => Some(self.all[at].learned.clone()),
            None => learn(image, of),
        };
        let Some(mut learned) = learned else {
            return;
        };
        let Learned { segment, paths } = &mut *learned;
        if paths.len() >= MAX_PATHS || paths.contains(&path) {
            return;
        }
        paths.push(path);
        // Switches with the same paths share their code, whichever they learned first.
        paths.sort_unstable();
        let Some(code) = self.native.paths(segment, paths) else {
            return;
        };
        let ends = code.ends();
        let known = Known {
            of,
            endings: ends.into_iter().map(|end| ending(image, end)).collect(),
            code,
            learned,
        };
        match at {
            Some(at) => self.all[at] = known,
            None => self.all.push(known),
        }
    }
}

/// What such packets meet, and no path yet.
fn learn(image: &Image, of: Of) -> Option<Box<Learned>> {
    let stages = image.stages(false);
    let segment = match of {
        Of::Segment(index) => stages.stage(index).segment.clone(),
        Of::Copies(index) => stages.of_copies(index)?,
    };
    let paths = Vec::new();
    Some(Box::new(Learned { segment, paths }))
}

/// The paths of such packets.
#[inline]
pub(super) fn known(all: &[Known], of: Of) -> Option<&Known> {
    all.iter().find(|known| known.of == of)
}

fn ending(image: &Image, end: &End) -> Ending {
    let count = |request: &Request| match &image.calls[request.call as usize] {
        Call::Count { counter, .. } => Some((*counter, request.words)),
        _ => None,
    };
    let fired = end.events.iter();
    let events = fired.map(|fired| (Event::numbered(fired.event), fired.request));
    let events: Vec<_> = events.collect();
    Ending {
        counts: end.calls.iter().filter_map(count).collect(),
        is_sent: events
            .iter()
            .map(|own| own.0)
            .eq([Event::Queue, Event::Transmit]),
        events,
    }
}
