//! The ways of v1model's packets as data, the paths on them that many packets take, and how they are
//! learned.
//!
//! Native code knows a packet's path in one piece (see [`p4_ir::paths`]). Which paths there are, packets
//! tell: as long as some go where none has been noted, one of them is interpreted and recorded now and
//! then, ever more seldom.

use super::calls::Call;
use super::fields::{instance, Standard};
use super::image::Image;
use super::switch::DROP_PORT;
use super::way::{COMPUTE, DEPARSER, EGRESS, INGRESS, PARSER, VERIFY};
use crate::frame::Field;
use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::Port;
use p4_ir::ir::{InstanceId, Op, Pc};
use p4_ir::native::Native;
use p4_ir::paths::{Deed, End, From, Path, Paths, Record, Way};
use p4_time::Time;
use std::sync::Arc;

/// Packets without a path before one is recorded for the first time
const PATIENCE: u64 = 256;
/// Paths of one way
const MAX_PATHS: usize = 12;
/// Packets that are recorded in all
const MAX_RECORDS: u32 = 20;

/// Words that a way gets with a packet, before those that were kept for it
pub(super) mod given {
    pub const INGRESS_PORT: usize = 0;
    /// Microseconds
    pub const NOW: usize = 1;
    /// Of copies alone
    pub const PORT: usize = 2;
    pub const RID: usize = 3;
    pub const KEPT: usize = 4;
}

/// Words that a way tells of each packet
pub(super) mod told {
    pub const PORT: usize = 0;
    pub const PRIORITY: usize = 1;
    pub const ALL: usize = 2;
}

/// Packets that begin in the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Arrival,
    /// Sent back with the fields of this list
    Again(u32),
    /// A copy of what ingress got, with the fields of this list
    Clone(Option<u32>),
}

/// How far a way leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leg {
    /// From the parser to the deparser
    Whole,
    /// To the end of ingress, which names a multicast group
    Group,
    /// The same, and on with one of the group's copies
    Replica,
}

/// What becomes of a packet at the end of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    /// Counters, and where their indices are in what is told
    pub counts: Vec<(InstanceId, usize)>,
    pub clone: Option<Asked>,
    pub recirculate: Option<Asked>,
}

/// A request for another packet, with the places of its words in what is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// The session of a clone
    pub word: usize,
    pub list: Option<u32>,
    /// First of the fields of its list, and their number
    pub kept: (usize, usize),
}

/// The paths of packets with one start, as far as a leg.
#[derive(Debug)]
pub(super) struct Known {
    pub start: Start,
    pub leg: Leg,
    way: Way,
    paths: Vec<Path>,
    pub code: Arc<dyn Paths>,
    /// By the code's ends
    pub endings: Vec<Ending>,
}

/// All paths that are known.
#[derive(Debug)]
pub(crate) struct Beaten {
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
    /// Sets the words that a way is given; `port` is that of a copy.
    #[inline]
    pub fn give(&mut self, ingress_port: Port, now: Time, kept: &[u64], port: Option<Port>) {
        let port = port.unwrap_or_default();
        let words = [ingress_port.into(), now.micros(), port.into(), 0];
        self.given.clear();
        self.given.extend_from_slice(&words);
        self.given.extend_from_slice(kept);
    }
}

impl Buffers {
    /// The same for a copy of a group.
    pub fn give_as(&mut self, other: &Buffers, port: Port, rid: u16) {
        self.given.clone_from(&other.given);
        self.given[given::PORT] = port.into();
        self.given[given::RID] = rid.into();
    }
}

impl Ending {
    /// Nothing else is made of the packet.
    #[inline]
    pub fn is_sent_alone(&self) -> bool {
        self.clone.is_none() && self.recirculate.is_none()
    }
}

impl Asked {
    /// The fields of the list, of what a path has told.
    pub fn words<'a>(&self, told: &'a [u64]) -> &'a [u64] {
        &told[self.kept.0..][..self.kept.1]
    }
}

impl Beaten {
    /// No paths yet; `None` if the metadata of the program is not v1model's.
    pub fn new(image: &Image, native: &Arc<dyn Native>) -> Option<Beaten> {
        let standard = &image.standard;
        standard.egress_spec.and(standard.mcast_grp)?;
        standard.priority?;
        Some(Beaten {
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
    pub(super) fn learn(&mut self, image: &Image, recording: Recording) {
        for packet in &recording.packets {
            if let Some((start, leg, path)) = recording.path(image, packet) {
                self.add(image, start, leg, path);
            }
        }
    }

    fn add(&mut self, image: &Image, start: Start, leg: Leg, path: Path) {
        let is_same = |known: &Known| known.start == start && known.leg == leg;
        let at = self.all.iter().position(is_same);
        let (way, mut paths) = match at {
            Some(at) => (self.all[at].way.clone(), self.all[at].paths.clone()),
            None => (way(image, start, leg), Vec::new()),
        };
        if paths.len() >= MAX_PATHS || paths.contains(&path) {
            return;
        }
        paths.push(path);
        // Switches with the same paths share their code, whichever they learned first.
        paths.sort_unstable();
        let Some(code) = self.native.paths(&way, &paths) else {
            return;
        };
        let known = Known {
            start,
            leg,
            endings: code
                .ends()
                .into_iter()
                .map(|end| ending(image, &way, leg, end))
                .collect(),
            way,
            paths,
            code,
        };
        match at {
            Some(at) => self.all[at] = known,
            None => self.all.push(known),
        }
    }
}

/// The paths of packets that begin like this.
#[inline]
pub(super) fn known(all: &[Known], start: Start, leg: Leg) -> Option<&Known> {
    all.iter()
        .find(|known| known.start == start && known.leg == leg)
}

/// What the requests at the end of a path come to: of each kind the last counts, as long as its block is
/// not followed by another that begins anew.
fn ending(image: &Image, way: &Way, leg: Leg, end: &End) -> Ending {
    let mut ending = Ending::default();
    // What ingress asks for is asked for once, however many copies there are.
    let first = if leg == Leg::Replica { EGRESS } else { PARSER };
    let requests = end.requests.iter();
    for request in requests.filter(|request| request.block >= first) {
        let asked = Asked {
            word: request.words,
            list: request.list.map(|list| list as u32),
            kept: request.kept,
        };
        let is_egress = way.blocks[request.block] == image.entries[EGRESS];
        match &image.calls[request.call as usize] {
            Call::Count { counter, .. } => ending.counts.push((*counter, request.words)),
            Call::Clone { .. } => ending.clone = Some(asked),
            Call::Recirculate { .. } if is_egress => ending.recirculate = Some(asked),
            _ => {}
        }
    }
    ending
}

fn set(field: Option<Field>, from: From) -> Option<Deed> {
    field.map(|field| Deed::Set {
        slot: field.slot(),
        mask: field.mask(),
        from,
    })
}

fn only(field: Option<Field>, value: u64, is: bool) -> Option<Deed> {
    field.map(|field| Deed::Only {
        slot: field.slot(),
        value,
        is,
    })
}

fn tell(field: Option<Field>, index: usize) -> Option<Deed> {
    field.map(|field| Deed::Tell {
        index,
        slot: field.slot(),
    })
}

/// Puts back the words that were kept for a packet.
fn put_back(image: &Image, list: Option<u32>) -> impl Iterator<Item = Deed> + '_ {
    let regions = list.and_then(|list| image.lists.get(&list));
    let slots = regions.into_iter().flatten();
    let slots = slots.flat_map(|(slot, n)| *slot..*slot + *n);
    slots.enumerate().map(|(i, slot)| Deed::Set {
        slot,
        mask: u64::MAX,
        from: From::Given(given::KEPT + i),
    })
}

/// [`Standard::leave`] for packets that do not wait.
fn leave(standard: &Standard, kind: u64, port: From, rid: Option<From>) -> Vec<Deed> {
    let now = From::Given(given::NOW);
    let deeds = [
        set(standard.instance_type, From::Number(kind)),
        set(standard.egress_port, port),
        rid.and_then(|rid| set(standard.egress_rid, rid)),
        set(standard.egress_spec, From::Number(0)),
        set(standard.packet_length, From::Length),
        set(standard.enq_timestamp, now),
        set(standard.enq_qdepth, From::Number(0)),
        set(standard.deq_timedelta, From::Number(0)),
        set(standard.deq_qdepth, From::Number(0)),
        set(standard.egress_global_timestamp, now),
    ];
    deeds.into_iter().flatten().collect()
}

/// What packets with this start meet: see `way.rs`, `ingress.rs` and `egress.rs`.
fn way(image: &Image, start: Start, leg: Leg) -> Way {
    let standard = &image.standard;
    let arrived = set(standard.ingress_port, From::Given(given::INGRESS_PORT));
    let (kind, list) = match start {
        Start::Arrival => (instance::NORMAL, None),
        Start::Again(list) => (instance::RECIRCULATED, Some(list)),
        Start::Clone(list) => return way_of_clone(image, arrived, list),
    };
    let now = From::Given(given::NOW);
    let begin = [
        arrived,
        set(standard.instance_type, From::Number(kind)),
        set(standard.packet_length, From::Length),
        set(standard.ingress_global_timestamp, now),
    ];
    let parsed = set(standard.parser_error, From::Number(0));
    let is_alone = leg == Leg::Whole;
    let spec = only(standard.egress_spec, DROP_PORT, false);
    let told = match is_alone {
        true => standard.egress_spec,
        false => standard.mcast_grp,
    };
    let admitted = [
        only(standard.mcast_grp, 0, is_alone),
        spec.filter(|_| is_alone),
        tell(told, told::PORT),
        tell(standard.priority, told::PRIORITY),
        Some(Deed::Keep),
    ];
    let mut admitted: Vec<Deed> = admitted.into_iter().flatten().collect();
    match leg {
        Leg::Whole => {
            let port = standard.egress_spec.map(Field::slot);
            let port = port.map_or(From::Number(0), From::Slot);
            admitted.extend(leave(standard, instance::NORMAL, port, None));
        }
        Leg::Group => {}
        Leg::Replica => {
            let (port, rid) = (From::Given(given::PORT), From::Given(given::RID));
            admitted.extend(leave(standard, instance::REPLICA, port, Some(rid)));
        }
    }
    let n = match leg {
        Leg::Group => EGRESS,
        _ => image.entries.len(),
    };
    Way {
        blocks: image.entries[..n].to_vec(),
        before: put_back(image, list)
            .chain(begin.into_iter().flatten())
            .collect(),
        after: vec![
            parsed.into_iter().collect(),
            Vec::new(),
            admitted,
            not_dropped(standard),
            Vec::new(),
            vec![Deed::Keep],
        ],
        told: told::ALL,
        lists: lists(image),
    }
}

/// A clone of what ingress got is parsed again, without the metadata that the parser sets.
fn way_of_clone(image: &Image, arrived: Option<Deed>, list: Option<u32>) -> Way {
    let standard = &image.standard;
    let forget = image.metadata.iter();
    let forget = forget.map(|(slot, n)| Deed::Clear { slot: *slot, n: *n });
    let mut parsed: Vec<Deed> = forget.chain(arrived.clone()).collect();
    parsed.extend(put_back(image, list));
    let (port, rid) = (From::Given(given::PORT), From::Given(given::RID));
    parsed.extend(leave(standard, instance::INGRESS_CLONE, port, Some(rid)));
    Way {
        blocks: [PARSER, EGRESS, COMPUTE, DEPARSER]
            .map(|block| image.entries[block])
            .to_vec(),
        before: arrived.into_iter().collect(),
        after: vec![parsed, not_dropped(standard), Vec::new(), vec![Deed::Keep]],
        told: told::ALL,
        lists: lists(image),
    }
}

fn not_dropped(standard: &Standard) -> Vec<Deed> {
    only(standard.egress_spec, DROP_PORT, false)
        .into_iter()
        .collect()
}

fn lists(image: &Image) -> Vec<(u64, Vec<(u32, u32)>)> {
    let lists = image.lists.iter();
    lists
        .map(|(list, regions)| (u64::from(*list), regions.clone()))
        .collect()
}

/// Follows a packet to learn its path and those of what is made from it.
#[derive(Debug, Default)]
pub(super) struct Recording {
    packets: Vec<Recorded>,
    current: usize,
    record: Record,
}

#[derive(Debug)]
struct Recorded {
    parent: Option<u32>,
    kind: Kind,
    /// Blocks that it met, and its path through them
    blocks: Vec<u32>,
    path: Path,
    failed: bool,
}

impl Recording {
    /// Gives the packet under way what was recorded since the last time.
    pub fn collect(&mut self) {
        let path = self.record.take();
        if let Some(packet) = self.packets.get_mut(self.current) {
            match path {
                Some(path) => packet.path.extend(path),
                None => packet.failed = true,
            }
        }
    }

    /// The way of a packet whose whole path is known.
    fn path(&self, image: &Image, packet: &Recorded) -> Option<(Start, Leg, Path)> {
        const WHOLE: [usize; 6] = [PARSER, VERIFY, INGRESS, EGRESS, COMPUTE, DEPARSER];
        const OF_CLONE: [usize; 4] = [PARSER, EGRESS, COMPUTE, DEPARSER];
        let parent = || self.packets.get(packet.parent? as usize);
        if packet.failed || packet.clones_at_egress(image) {
            return None;
        }
        let path = packet.path.clone();
        if packet.kind == Kind::Replica && packet.met(&WHOLE[EGRESS..]) {
            let origin =
                parent().filter(|origin| !origin.failed && origin.met(&WHOLE[..EGRESS]))?;
            let both = [origin.path.as_slice(), &path].concat();
            return Some((self.start(image, origin)?, Leg::Replica, both));
        }
        let leg = match packet.kind {
            Kind::IngressClone if packet.met(&OF_CLONE) => Leg::Whole,
            Kind::Original | Kind::Recirculated if packet.met(&WHOLE) => Leg::Whole,
            // Of those that go no further, most named a group.
            Kind::Original | Kind::Recirculated if packet.met(&WHOLE[..EGRESS]) => Leg::Group,
            _ => return None,
        };
        Some((self.start(image, packet)?, leg, path))
    }

    fn start(&self, image: &Image, packet: &Recorded) -> Option<Start> {
        let parent = || self.packets.get(packet.parent? as usize);
        match packet.kind {
            Kind::Original => Some(Start::Arrival),
            Kind::Recirculated => {
                let is = |call: &Call| matches!(call, Call::Recirculate { .. });
                parent()?.last_list(image, is).flatten().map(Start::Again)
            }
            Kind::IngressClone => {
                let is = |call: &Call| matches!(call, Call::Clone { .. });
                parent()?.last_list(image, is).map(Start::Clone)
            }
            _ => None,
        }
    }
}

impl Recorded {
    /// Whether it met these blocks.
    fn met(&self, blocks: &[usize]) -> bool {
        let own = self.blocks.iter().map(|block| *block as usize);
        own.eq(blocks.iter().copied())
    }

    /// Calls that it met: the block, the call, and what came of it.
    fn calls<'a>(&'a self, image: &'a Image) -> impl Iterator<Item = (u32, &'a Call, u64)> + 'a {
        let code = &image.program().code;
        let call = move |pc: Pc| match code.get(pc as usize) {
            Some(Op::Extern { call }) => image.calls.get(*call as usize),
            _ => None,
        };
        let blocks = self.blocks.iter().zip(&self.path);
        blocks.flat_map(move |(block, steps)| {
            let calls = steps.iter();
            calls.filter_map(move |step| Some((*block, call(step.pc)?, step.outcome)))
        })
    }

    fn clones_at_egress(&self, image: &Image) -> bool {
        self.calls(image)
            .any(|(block, call, _)| block == EGRESS as u32 && matches!(call, Call::Clone { .. }))
    }

    /// The list of the last such call; `Some(None)` if it has none.
    fn last_list(&self, image: &Image, is: impl Fn(&Call) -> bool) -> Option<Option<u32>> {
        let (_, call, list) = self.calls(image).filter(|(_, call, _)| is(call)).last()?;
        Some(match call {
            Call::Clone { list: None, .. } => None,
            _ => Some(list as u32),
        })
    }
}

impl Follow for Recording {
    type Tracer = Record;

    fn born(&mut self, parent: Option<u32>, kind: Kind, _: u32, _: Option<Port>) -> u32 {
        self.packets.push(Recorded {
            parent,
            kind,
            blocks: Vec::new(),
            path: Path::new(),
            failed: false,
        });
        self.packets.len() as u32 - 1
    }

    fn resume(&mut self, id: u32) {
        self.collect();
        self.current = id as usize;
    }

    fn tracer(&mut self, block: u32) -> &mut Record {
        if let Some(packet) = self.packets.get_mut(self.current) {
            packet.blocks.push(block);
        }
        self.record.begin();
        &mut self.record
    }

    fn note(&mut self, _: String) {}
    fn fate(&mut self, _: impl FnOnce() -> Fate) {}
    fn dropped(&mut self, _: Drop) {}
}
