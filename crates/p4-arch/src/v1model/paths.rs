//! The fast paths of a switch, and how they are learned.
//!
//! Native code knows a packet's path in one piece (see [`p4_ir::paths`]), glue and all (`stages.rs`). Which
//! paths there are, packets tell: as long as some go where none has been noted, one of them is interpreted
//! and recorded now and then, ever more seldom.

use super::calls::Call;
use super::externs::Asked;
use super::image::Image;
use super::recording::{change_cells, Recording};
use super::stages::{given, Event};
use crate::Port;
use p4_ir::glue::Segment;
use p4_ir::ir::InstanceId;
use p4_ir::native::Native;
use p4_ir::paths::{End, Fired, Path, Paths, Request};
use p4_time::Time;
use std::sync::Arc;

/// Packets without a path before one is recorded for the first time
const PATIENCE: u64 = 256;
/// Paths of one segment
const MAX_PATHS: usize = 16;
/// Packets that are recorded in all
const MAX_RECORDS: u32 = 20;

/// What becomes of a packet at the end of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    /// Counters, and where their indices are in what is told
    pub counts: Vec<(InstanceId, usize)>,
    pub events: Vec<Fired>,
    /// Where in what is told the bytes are that it is cut to
    pub cut: Option<usize>,
    /// It leaves, and nothing else is made of it.
    pub is_sent: bool,
}

/// Paths that begin on one segment.
#[derive(Debug)]
pub(super) struct Code {
    pub paths: Arc<dyn Paths>,
    /// By the ends of the paths
    pub endings: Vec<Ending>,
    /// Something on them changes what later packets see, so that it may have to be taken back.
    pub changes_cells: bool,
}

/// The paths of the packets on a segment.
#[derive(Debug)]
pub(super) struct Known {
    segment: usize,
    pub code: Arc<Code>,
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
    /// They end at egress queues, which hold packets back.
    are_limited: bool,
    /// Packets without a path since the last one was recorded
    misses: u64,
    patience: u64,
    records: u32,
    /// Packets that took a path when they arrived
    pub(super) taken: u64,
    /// The next packet is to be recorded.
    pub(super) due: bool,
    pub(super) own: Buffers,
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
            are_limited: false,
            misses: 0,
            patience: PATIENCE,
            records: 0,
            taken: 0,
            due: false,
            own: Buffers::default(),
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

    /// Paths end at egress queues from now on, or no longer.
    pub(super) fn limit(&mut self, are_limited: bool) {
        if self.are_limited != are_limited {
            self.are_limited = are_limited;
            self.all.clear();
            self.records = 0;
        }
    }

    /// Adds the paths of a packet that was recorded.
    pub(super) fn learn(&mut self, image: &Image, recording: &Recording) {
        for (segment, path) in recording.paths(image, self.are_limited) {
            self.add(image, segment, path);
        }
    }

    fn add(&mut self, image: &Image, index: usize, path: Path) {
        let at = self.all.iter().position(|known| known.segment == index);
        let mut learned = match at {
            Some(at) => self.all[at].learned.clone(),
            None => {
                let stages = image.stages(false);
                let segment = stages.with_copies(index, image, self.are_limited);
                let paths = Vec::new();
                Box::new(Learned { segment, paths })
            }
        };
        let Learned { segment, paths } = &mut *learned;
        if !include(paths, path) {
            return;
        }
        // Switches with the same paths share their code, whichever they learned first.
        paths.sort_unstable();
        let Some(code) = self.native.paths(segment, paths) else {
            return;
        };
        let ends = code.ends();
        if !ends.iter().all(|end| is_whole(end, self.are_limited)) {
            return;
        }
        let endings = ends.into_iter().map(|end| ending(image, end)).collect();
        let made = paths.iter().flat_map(|path| &path.made);
        let mut all = paths.iter().chain(made.map(|(_, path)| path));
        let code = Code {
            paths: code,
            endings,
            changes_cells: all.any(|path| change_cells(image, &path.blocks)),
        };
        let known = Known {
            segment: index,
            code: Arc::new(code),
            learned,
        };
        match at {
            Some(at) => self.all[at] = known,
            None => self.all.push(known),
        }
    }
}

/// Adds a path to others, or what was made on it to the one that is there; `false` if that is nothing new,
/// or too much.
fn include(paths: &mut Vec<Path>, path: Path) -> bool {
    let same = |own: &&mut Path| own.blocks == path.blocks && own.end == path.end;
    let Some(own) = paths.iter_mut().find(same) else {
        paths.push(path);
        return paths.len() <= MAX_PATHS;
    };
    let before = own.made.len();
    for made in path.made {
        if own.made.len() < MAX_PATHS && !own.made.contains(&made) {
            own.made.push(made);
        }
    }
    own.made.sort_unstable();
    own.made.len() > before
}

/// The paths of the packets on a segment.
#[inline]
pub(super) fn known(all: &[Known], segment: usize) -> Option<&Known> {
    all.iter().find(|known| known.segment == segment)
}

/// Whether all goes on that does so from where the packet is, of which only the code knows.
fn is_whole(end: &End, are_limited: bool) -> bool {
    let goes_on = |fired: &Fired| match Event::numbered(fired.event) {
        Event::Multicast | Event::EgressClone => true,
        Event::Queue => are_limited,
        _ => false,
    };
    let mut events = end.events.iter();
    events.all(|fired| fired.fork.is_some() || !goes_on(fired))
}

fn ending(image: &Image, end: &End) -> Ending {
    let count = |request: &Request| match &image.calls[request.call as usize] {
        Call::Count { counter, .. } => Some((*counter, request.words)),
        _ => None,
    };
    let events = end.events.iter();
    let is_sent = events
        .map(|fired| Event::numbered(fired.event))
        .eq([Event::Queue, Event::Transmit]);
    Ending {
        counts: end.calls.iter().filter_map(count).collect(),
        cut: end.cut,
        is_sent,
        events: end.events.clone(),
    }
}
