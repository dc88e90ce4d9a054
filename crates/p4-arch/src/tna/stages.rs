//! What TNA does between its blocks: every rule of it, once, as data.
//!
//! A packet goes through two segments: ingress parser, ingress and ingress deparser, then egress parser,
//! egress and egress deparser. In between are the traffic manager and bytes. The interpreter and native
//! blocks execute these very segments, and fast paths are compiled from them ([`crate::segments`]). What
//! an [`Event`] does is in `events.rs`, for all of them too.

use super::metadata::{drop_ctl, noted, Metadata};
use crate::frame::Field;
use crate::segments::{not, set, tell, when, Stage};
use p4_ir::glue::{Glue, Segment, Source, Test};
use p4_ir::ir::Program;

/// Words that are given with a packet
pub(super) mod given {
    pub use crate::segments::given::{ERROR, OWN};

    /// Nanoseconds
    pub const NOW: usize = OWN;
    /// What has been told so far
    pub const TOLD: usize = OWN + 1;
    pub const ALL: usize = TOLD + super::told::ALL;
}

/// Words that are told of a packet: what ingress says to the traffic manager, and more
pub(super) mod told {
    pub const PORT: usize = 0;
    pub const GROUP_A: usize = 1;
    pub const GROUP_B: usize = 2;
    pub const BYPASS: usize = 3;
    /// Queue of the egress port
    pub const QUEUE: usize = 4;
    /// Pick a node of each ECMP, and a member of each LAG
    pub const HASH1: usize = 5;
    pub const HASH2: usize = 6;
    pub const EXCLUSION1: usize = 7;
    pub const EXCLUSION2: usize = 8;
    pub const RID: usize = 9;
    /// Words of a mirror that a session which coalesces takes, unless the session says how many
    pub const SAMPLE: usize = 10;
    pub const ALL: usize = 11;
}

/// What a deparser can ask for.
pub(super) mod asked {
    pub const MIRROR: u8 = 0;
    pub const RESUBMIT: u8 = 1;
    pub const DIGEST: u8 = 2;
}

/// What can happen to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    ParserError,
    Resubmit,
    /// There is nothing to resubmit it with, or it has been before: it goes on.
    NoResubmit,
    NotAgain,
    IngressMirror,
    EgressMirror,
    /// There is nothing to mirror it with.
    NoMirror,
    Digest,
    GroupA,
    GroupB,
    CopyToCpu,
    IngressDrop,
    Unicast,
    /// Only copies of it go on, or nothing at all.
    Rest,
    EgressDrop,
    /// Out of its port, wherever that leads
    Leave,
}

impl Event {
    const ALL: [Event; 16] = [
        Event::ParserError,
        Event::Resubmit,
        Event::NoResubmit,
        Event::NotAgain,
        Event::IngressMirror,
        Event::EgressMirror,
        Event::NoMirror,
        Event::Digest,
        Event::GroupA,
        Event::GroupB,
        Event::CopyToCpu,
        Event::IngressDrop,
        Event::Unicast,
        Event::Rest,
        Event::EgressDrop,
        Event::Leave,
    ];

    /// The event that a glue operation calls by this number.
    #[inline]
    pub fn numbered(id: u8) -> Event {
        Event::ALL[usize::from(id)]
    }

    /// The packet goes no further on its segment.
    fn ends(self) -> bool {
        matches!(
            self,
            Event::ParserError
                | Event::Resubmit
                | Event::IngressDrop
                | Event::Unicast
                | Event::Rest
                | Event::EgressDrop
                | Event::Leave
        )
    }

    fn when(self, tests: &[Test]) -> Glue {
        when(self as u8, self.ends(), tests)
    }
}

/// Glue around the three blocks of a segment.
pub(super) type Around = [Vec<Glue>; 3];

/// All segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Stages {
    all: Vec<Stage>,
}

impl Stages {
    #[inline]
    pub fn stage(&self, index: usize) -> &Stage {
        &self.all[index]
    }

    /// The index of a segment of these blocks, with that after each.
    pub fn add(&mut self, program: &Program, blocks: [u32; 3], after: &Around) -> usize {
        let segment = Segment {
            blocks: blocks
                .iter()
                .map(|block| program.blocks[*block as usize].entry)
                .collect(),
            before: Vec::new(),
            after: after.to_vec(),
            told: told::ALL,
            lists: Vec::new(),
            copies: Vec::new(),
        };
        let stage = Stage::new(segment, blocks.to_vec(), given::TOLD);
        self.all.push(stage);
        self.all.len() - 1
    }

    /// Changes the glue of all segments.
    pub fn change(&mut self, mut change: impl FnMut(&mut Vec<Glue>)) {
        for stage in &mut self.all {
            stage.change(&mut change);
        }
    }
}

/// Ingress of packets that arrive, or that were resubmitted.
pub(super) fn ingress(metadata: &Metadata, was_resubmitted: bool) -> Around {
    let parsed = [
        set(metadata.ingress_error, Source::Error),
        set(metadata.ingress_time, Source::Given(given::NOW)),
    ];
    let mut parsed: Vec<Glue> = parsed.into_iter().flatten().collect();
    if !metadata.reads_parser_error {
        let failed = not(metadata.ingress_error, 0);
        parsed.extend(failed.map(|failed| Event::ParserError.when(&[failed])));
    }
    let mut made = deparsed(metadata, was_resubmitted);
    made.extend(managed(metadata));
    [parsed, Vec::new(), made]
}

/// The deparser's own copies, in its order.
fn deparsed(metadata: &Metadata, was_resubmitted: bool) -> Vec<Glue> {
    let goes_on = clear(metadata.ingress_drop_ctl, drop_ctl::PACKET);
    let mut glue = vec![Glue::Take];
    if let Some(written) = metadata.written(noted::RESUBMIT) {
        let asked = Test::Asked(asked::RESUBMIT);
        let nothing = [written, goes_on, Test::Unasked(asked::RESUBMIT)];
        // The chip does it once.
        let event = match was_resubmitted {
            true => Event::NotAgain,
            false => Event::Resubmit,
        };
        glue.push(Event::NoResubmit.when(&nothing));
        glue.push(event.when(&[written, goes_on, asked]));
    }
    glue.extend(mirrored(
        Event::IngressMirror,
        metadata.written(noted::INGRESS_MIRROR),
        metadata.ingress_drop_ctl,
    ));
    if let Some(written) = metadata.written(noted::DIGEST) {
        let asked = Test::Asked(asked::DIGEST);
        glue.push(Event::Digest.when(&[written, asked]));
    }
    glue
}

fn mirrored(event: Event, written: Option<Test>, drop_ctl: Option<Field>) -> Vec<Glue> {
    let wanted = clear(drop_ctl, drop_ctl::MIRROR);
    let Some(written) = written else {
        return Vec::new();
    };
    let nothing = [written, wanted, Test::Unasked(asked::MIRROR)];
    vec![
        Event::NoMirror.when(&nothing),
        event.when(&[written, wanted, Test::Asked(asked::MIRROR)]),
    ]
}

/// The traffic manager: unicast, both multicast groups and the copy to the CPU stand beside each other.
fn managed(metadata: &Metadata) -> Vec<Glue> {
    let dropped = metadata.ingress_drop_ctl;
    let goes_on = clear(dropped, drop_ctl::PACKET);
    let fields = [
        (metadata.noted[noted::UNICAST], told::PORT),
        (metadata.noted[noted::GROUP_A], told::GROUP_A),
        (metadata.noted[noted::GROUP_B], told::GROUP_B),
        (metadata.bypass_egress, told::BYPASS),
        (metadata.qid, told::QUEUE),
        (metadata.level1_mcast_hash, told::HASH1),
        (metadata.level2_mcast_hash, told::HASH2),
        (metadata.level1_exclusion_id, told::EXCLUSION1),
        (metadata.level2_exclusion_id, told::EXCLUSION2),
        (metadata.rid, told::RID),
    ];
    let fields = fields.into_iter();
    let mut glue: Vec<Glue> = fields
        .filter_map(|(field, index)| tell(field, index))
        .collect();
    for (event, note) in [
        (Event::GroupA, noted::GROUP_A),
        (Event::GroupB, noted::GROUP_B),
    ] {
        let written = metadata.written(note);
        glue.extend(written.map(|written| event.when(&[written, goes_on])));
    }
    let allowed = clear(dropped, drop_ctl::COPY_TO_CPU);
    let wanted = not(metadata.copy_to_cpu, 0);
    glue.extend(wanted.map(|wanted| Event::CopyToCpu.when(&[wanted, allowed])));
    let drop = any(dropped, drop_ctl::PACKET);
    glue.extend(drop.map(|drop| Event::IngressDrop.when(&[drop])));
    let written = metadata.written(noted::UNICAST);
    glue.extend(written.map(|written| Event::Unicast.when(&[written])));
    glue.push(Event::Rest.when(&[]));
    glue
}

pub(super) fn egress(metadata: &Metadata) -> Around {
    let parsed = [
        set(metadata.egress_error, Source::Error),
        set(metadata.egress_time, Source::Given(given::NOW)),
    ];
    let mut made = vec![Glue::Take];
    made.extend(tell(metadata.coalesce_length, told::SAMPLE));
    let dropped = metadata.egress_drop_ctl;
    let written = metadata.written(noted::EGRESS_MIRROR);
    made.extend(mirrored(Event::EgressMirror, written, dropped));
    let drop = any(dropped, drop_ctl::PACKET);
    made.extend(drop.map(|drop| Event::EgressDrop.when(&[drop])));
    made.push(Event::Leave.when(&[]));
    [parsed.into_iter().flatten().collect(), Vec::new(), made]
}

/// These bits of a field are zero.
fn clear(field: Option<Field>, bits: u64) -> Test {
    field.map_or(Test::Always, |field| Test::Is {
        slot: field.slot(),
        mask: bits,
        value: 0,
    })
}

/// Some of them are not.
fn any(field: Option<Field>, mask: u64) -> Option<Test> {
    let (slot, value) = (field?.slot(), 0);
    Some(Test::Not { slot, mask, value })
}
