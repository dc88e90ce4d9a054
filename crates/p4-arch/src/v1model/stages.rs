//! What v1model does between its blocks: every rule of it, once, as data.
//!
//! Packets go through segments ([`Start`] says which there are): blocks, and glue operations around them.
//! The interpreter and native blocks execute these very segments, and fast paths are compiled
//! from them ([`crate::segments`]). What an [`Event`] does is in `events.rs`, for all of them too.

use super::fields::{instance, Standard};
use super::image::Image;
use super::switch::DROP_PORT;
use crate::frame::Region;
use crate::segments::{is, not, set, tell, when, Stage};
use p4_ir::glue::{Copies, Glue, Segment, Source, Test};
use p4_ir::ir::Pc;
use std::collections::BTreeMap;

/// Blocks of the program, in the order in which a packet meets them.
pub(super) mod block {
    pub const PARSER: u32 = 0;
    pub const VERIFY: u32 = 1;
    pub const INGRESS: u32 = 2;
    pub const EGRESS: u32 = 3;
    pub const COMPUTE: u32 = 4;
    pub const DEPARSER: u32 = 5;
}

use block::{COMPUTE, DEPARSER, EGRESS, INGRESS, PARSER, VERIFY};

const WHOLE: &[u32] = &[PARSER, VERIFY, INGRESS, EGRESS, COMPUTE, DEPARSER];
/// A clone of what ingress got is parsed and goes on behind ingress.
const OF_CLONE: &[u32] = &[PARSER, EGRESS, COMPUTE, DEPARSER];
const BEHIND_INGRESS: &[u32] = &[EGRESS, COMPUTE, DEPARSER];

/// Words that are given with a packet, before those that were kept for it
pub(super) mod given {
    pub use crate::segments::given::{ERROR, OWN};

    pub const INGRESS_PORT: usize = OWN;
    /// Microseconds
    pub const NOW: usize = OWN + 1;
    /// Where it is to leave and as which copy, if that is known
    pub const PORT: usize = OWN + 2;
    pub const RID: usize = OWN + 3;
    /// When it came to its queue, in microseconds
    pub const ENQUEUED: usize = OWN + 4;
    /// Microseconds in its queue
    pub const WAITED: usize = OWN + 5;
    /// Packets at the port before it came and after it left
    pub const DEPTH_BEFORE: usize = OWN + 6;
    pub const DEPTH_AFTER: usize = OWN + 7;
    /// What has been told so far
    pub const TOLD: usize = OWN + 8;
    pub const KEPT: usize = TOLD + super::told::ALL;
}

/// Words that are told of a packet
pub(super) mod told {
    /// Where it leaves
    pub const PORT: usize = 0;
    /// Of the queues at its port, as ingress has said
    pub const PRIORITY: usize = 1;
    /// The multicast group that ingress named
    pub const GROUP: usize = 2;
    pub const ALL: usize = 3;
}

/// What a program can ask for.
pub(super) mod asked {
    pub const CLONE: u8 = 0;
    pub const DIGEST: u8 = 1;
    pub const RESUBMIT: u8 = 2;
    pub const RECIRCULATE: u8 = 3;
}

/// What can happen to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    IngressClone,
    EgressClone,
    Digest,
    Resubmit,
    IngressDrop,
    NoQueue,
    Multicast,
    /// A place in the queue of its port
    Queue,
    EgressDrop,
    Recirculate,
    Transmit,
}

impl Event {
    const ALL: [Event; 11] = [
        Event::IngressClone,
        Event::EgressClone,
        Event::Digest,
        Event::Resubmit,
        Event::IngressDrop,
        Event::NoQueue,
        Event::Multicast,
        Event::Queue,
        Event::EgressDrop,
        Event::Recirculate,
        Event::Transmit,
    ];

    /// The event that a glue operation calls by this number.
    #[inline]
    pub fn numbered(id: u8) -> Event {
        Event::ALL[usize::from(id)]
    }

    /// It takes the packet as the deparser has made it.
    pub fn is_of_deparsed(self) -> bool {
        matches!(self, Event::Recirculate | Event::Transmit)
    }

    /// The packet goes no further on its segment.
    fn ends(self) -> bool {
        !matches!(
            self,
            Event::IngressClone | Event::EgressClone | Event::Digest
        )
    }

    fn when(self, test: Test) -> Glue {
        when(self as u8, self.ends(), &[test])
    }

    fn if_both(self, tests: [Test; 2]) -> Glue {
        when(self as u8, self.ends(), &tests)
    }
}

/// Where packets begin that begin alike. A list is that of the fields that they come with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Arrival,
    /// From a queue, as ingress has left them
    Unicast,
    Replica,
    Recirculated(Option<u32>),
    Resubmitted(Option<u32>),
    IngressClone(Option<u32>),
    EgressClone(Option<u32>),
}

/// All segments.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    all: Vec<Stage>,
    /// The field lists, in order
    lists: Vec<u32>,
}

/// Starts without a list
const PLAIN: usize = 3;

impl Stages {
    /// v1model's, or those of simple_switch where it does otherwise.
    pub fn new(image: &Image, bmv2_compat: bool) -> Stages {
        let rules = Rules { image, bmv2_compat };
        let lists: Vec<u32> = image.lists.keys().copied().collect();
        let named = lists.iter().map(|list| Some(*list));
        let of_lists = [None].into_iter().chain(named).flat_map(|list| {
            [
                Start::Recirculated(list),
                Start::Resubmitted(list),
                Start::IngressClone(list),
                Start::EgressClone(list),
            ]
        });
        let plain = [Start::Arrival, Start::Unicast, Start::Replica];
        let starts = plain.into_iter().chain(of_lists);
        let all = starts.map(|start| rules.stage(start)).collect();
        Stages { all, lists }
    }

    /// The segment of packets that arrive
    pub const ARRIVAL: usize = 0;

    /// The index of the segment of packets that start like this.
    #[inline]
    pub fn index(&self, start: Start) -> usize {
        let (kind, list) = match start {
            Start::Arrival => return Stages::ARRIVAL,
            Start::Unicast => return 1,
            Start::Replica => return 2,
            Start::Recirculated(list) => (0, list),
            Start::Resubmitted(list) => (1, list),
            Start::IngressClone(list) => (2, list),
            Start::EgressClone(list) => (3, list),
        };
        // A list that does not exist has no fields.
        let place = list.and_then(|list| self.lists.binary_search(&list).ok());
        PLAIN + 4 * place.map_or(0, |place| place + 1) + kind
    }

    #[inline]
    pub fn stage(&self, index: usize) -> &Stage {
        &self.all[index]
    }

    /// Changes the glue of all segments.
    pub fn change(&mut self, mut change: impl FnMut(&mut Vec<Glue>)) {
        for stage in &mut self.all {
            stage.change(&mut change);
        }
    }

    /// Which block of the segment `index` is ingress
    pub(super) fn ingress_of(&self, index: usize) -> Option<usize> {
        let mut blocks = self.all[index].blocks.iter();
        blocks.position(|block| *block == INGRESS)
    }

    /// The segment `index` for fast paths, and those of what is made from its packets. Where egress queues
    /// hold packets back, it ends at them.
    pub fn with_copies(&self, index: usize, image: &Image, are_limited: bool) -> Segment {
        let own = |list: u32| image.lists.get(&list).into_iter().flatten();
        let copies = |event: Event, start: Start, list: Option<u32>| Copies {
            event: event as u8,
            list: list.map(u64::from),
            regions: image.carried.clone(),
            given: given::KEPT + list.map_or(0, |list| own(list).map(|own| own.1 as usize).sum()),
            segment: self.all[self.index(start)].segment.clone(),
        };
        let mut segment = self.all[index].segment.clone();
        segment.copies = vec![copies(Event::Multicast, Start::Replica, None)];
        let lists = [None]
            .into_iter()
            .chain(self.lists.iter().copied().map(Some));
        let clones = lists.map(|list| copies(Event::EgressClone, Start::EgressClone(list), list));
        segment.copies.extend(clones);
        if are_limited {
            let queued = copies(Event::Queue, Start::Unicast, None);
            segment.copies.push(queued);
            let always = Event::Queue.when(Test::Always);
            let all = segment.after.iter_mut().flatten();
            all.filter(|glue| is_of(glue, Event::Queue))
                .for_each(|glue| *glue = always);
        }
        segment
    }

    /// What makes the packets on the segment of this index that go on from where others are.
    pub(super) fn made_by(&self, index: usize) -> Option<Event> {
        match index {
            1 => Some(Event::Queue),
            2 => Some(Event::Multicast),
            _ if index > PLAIN && (index - PLAIN) % 4 == 3 => Some(Event::EgressClone),
            _ => None,
        }
    }
}

fn is_of(glue: &Glue, event: Event) -> bool {
    matches!(glue, Glue::Event(own) if own.id == event as u8)
}

/// The rules, for one program.
struct Rules<'a> {
    image: &'a Image,
    /// As simple_switch does
    bmv2_compat: bool,
}

impl Rules<'_> {
    fn stage(&self, start: Start) -> Stage {
        let standard = &self.image.standard;
        let copied = (Source::Given(given::PORT), Some(Source::Given(given::RID)));
        match start {
            Start::Arrival => self.whole(self.begin(instance::NORMAL, true)),
            Start::Recirculated(list) => self.whole(self.again(instance::RECIRCULATED, list)),
            Start::Resubmitted(list) => self.whole(self.again(instance::RESUBMITTED, list)),
            Start::Unicast => self.leaving(self.as_unicast()),
            Start::Replica => self.leaving(enter(standard, instance::REPLICA, copied)),
            Start::EgressClone(list) => {
                let mut before = self.as_clone(list);
                before.extend(enter(standard, instance::EGRESS_CLONE, copied));
                self.leaving(before)
            }
            Start::IngressClone(list) => {
                let mut parsed = self.as_clone(list);
                parsed.push(Glue::Take);
                parsed.extend(enter(standard, instance::INGRESS_CLONE, copied));
                let arrived = set(standard.ingress_port, Source::Given(given::INGRESS_PORT));
                let [left, computed, sent] = self.behind_ingress();
                let after = vec![parsed, left, computed, sent];
                self.made(OF_CLONE, arrived.into_iter().collect(), after)
            }
        }
    }

    fn made(&self, blocks: &'static [u32], before: Vec<Glue>, after: Vec<Vec<Glue>>) -> Stage {
        let entry = |block: &u32| -> Pc { self.image.entries[*block as usize] };
        let segment = Segment {
            blocks: blocks.iter().map(entry).collect(),
            before,
            after,
            told: told::ALL,
            lists: lists(&self.image.lists),
            copies: Vec::new(),
        };
        Stage::new(segment, blocks.to_vec(), given::TOLD)
    }

    /// From the parser to the deparser.
    fn whole(&self, before: Vec<Glue>) -> Stage {
        let standard = &self.image.standard;
        let parsed = set(standard.parser_error, Source::Error);
        let [left, computed, sent] = self.behind_ingress();
        let after = vec![
            parsed.into_iter().collect(),
            Vec::new(),
            self.end_of_ingress(),
            left,
            computed,
            sent,
        ];
        self.made(WHOLE, before, after)
    }

    fn leaving(&self, before: Vec<Glue>) -> Stage {
        self.made(BEHIND_INGRESS, before, self.behind_ingress().into())
    }

    /// Metadata as the parser finds it.
    fn begin(&self, kind: u64, knows_port: bool) -> Vec<Glue> {
        let standard = &self.image.standard;
        let port = set(standard.ingress_port, Source::Given(given::INGRESS_PORT));
        let now = Source::Given(given::NOW);
        let fields = [
            port.filter(|_| knows_port),
            set(standard.instance_type, Source::Number(kind)),
            set(standard.packet_length, Source::Length),
            set(standard.ingress_global_timestamp, now),
        ];
        fields.into_iter().flatten().collect()
    }

    /// simple_switch forgets where a packet came from that comes again.
    fn again(&self, kind: u64, list: Option<u32>) -> Vec<Glue> {
        let mut glue = self.put_back(list);
        glue.extend(self.begin(kind, !self.bmv2_compat));
        glue
    }

    /// A clone has no metadata, whatever its parser has set, but the fields of its list.
    fn as_clone(&self, list: Option<u32>) -> Vec<Glue> {
        let metadata = self.image.metadata.iter();
        let cleared = metadata.map(|(slot, n)| Glue::Clear { slot: *slot, n: *n });
        let port = set(
            self.image.standard.ingress_port,
            Source::Given(given::INGRESS_PORT),
        );
        let port = port.filter(|_| !self.bmv2_compat);
        let mut glue: Vec<Glue> = cleared.chain(port).collect();
        glue.extend(self.put_back(list));
        glue
    }

    /// Puts back the words that were kept for a packet.
    fn put_back(&self, list: Option<u32>) -> Vec<Glue> {
        let regions = list.and_then(|list| self.image.lists.get(&list));
        let slots = regions.into_iter().flatten();
        let slots = slots.flat_map(|(slot, n)| *slot..*slot + *n);
        let put = slots.enumerate().map(|(i, slot)| Glue::Set {
            slot,
            mask: u64::MAX,
            source: Source::Given(given::KEPT + i),
        });
        put.collect()
    }

    /// In simple_switch's order: clone, digest, then one of resubmit, multicast, drop, unicast.
    fn end_of_ingress(&self) -> Vec<Glue> {
        let standard = &self.image.standard;
        let [spec, group] = [standard.egress_spec, standard.mcast_grp];
        let mut glue = vec![Glue::Take];
        glue.extend(tell(group, told::GROUP));
        glue.extend(tell(standard.priority, told::PRIORITY));
        glue.extend(tell(spec, told::PORT));
        glue.extend([
            Event::IngressClone.when(Test::Asked(asked::CLONE)),
            Event::Digest.when(Test::Asked(asked::DIGEST)),
            Event::Resubmit.when(Test::Asked(asked::RESUBMIT)),
        ]);
        // A group goes before the dropping port.
        let alone = is(group, 0).unwrap_or(Test::Always);
        glue.extend(is(spec, DROP_PORT).map(|drop| Event::IngressDrop.if_both([alone, drop])));
        if self.bmv2_compat {
            // simple_switch has one queue per port, for priority 0, unless it is told otherwise.
            glue.extend(not(standard.priority, 0).map(|test| Event::NoQueue.when(test)));
        }
        glue.extend(not(group, 0).map(|test| Event::Multicast.when(test)));
        glue.push(Event::Queue.when(Test::Busy));
        glue.extend(self.as_unicast());
        glue
    }

    /// At once or from its queue.
    fn as_unicast(&self) -> Vec<Glue> {
        let port = Source::Told(told::PORT);
        enter(&self.image.standard, instance::NORMAL, (port, None))
    }

    /// After egress, checksum update and deparser. In simple_switch's order: clone, digest, drop,
    /// recirculate, transmit.
    fn behind_ingress(&self) -> [Vec<Glue>; 3] {
        let dropped = is(self.image.standard.egress_spec, DROP_PORT);
        let mut left = vec![
            Glue::Take,
            Event::EgressClone.when(Test::Asked(asked::CLONE)),
            Event::Digest.when(Test::Asked(asked::DIGEST)),
        ];
        left.extend(dropped.map(|test| Event::EgressDrop.when(test)));
        let sent = vec![
            Event::Recirculate.when(Test::Asked(asked::RECIRCULATE)),
            Event::Transmit.when(Test::Always),
        ];
        [left, Vec::new(), sent]
    }
}

/// Metadata as egress finds it. Without a replication id the packet keeps what ingress wrote.
fn enter(standard: &Standard, kind: u64, (port, rid): (Source, Option<Source>)) -> Vec<Glue> {
    let now = Source::Given(given::NOW);
    let fields = [
        set(standard.instance_type, Source::Number(kind)),
        set(standard.egress_port, port),
        rid.and_then(|rid| set(standard.egress_rid, rid)),
        set(standard.egress_spec, Source::Number(0)),
        set(standard.packet_length, Source::Length),
        set(standard.enq_timestamp, Source::Given(given::ENQUEUED)),
        set(standard.enq_qdepth, Source::Given(given::DEPTH_BEFORE)),
        set(standard.deq_timedelta, Source::Given(given::WAITED)),
        set(standard.deq_qdepth, Source::Given(given::DEPTH_AFTER)),
        set(standard.egress_global_timestamp, now),
    ];
    fields.into_iter().flatten().collect()
}

fn lists(lists: &BTreeMap<u32, Vec<Region>>) -> Vec<(u64, Vec<Region>)> {
    let lists = lists.iter();
    lists
        .map(|(list, regions)| (u64::from(*list), regions.clone()))
        .collect()
}
