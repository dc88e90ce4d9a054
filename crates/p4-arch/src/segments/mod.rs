//! Packets on segments: what both architectures need to execute and to compile what they do between
//! their blocks.
//!
//! An architecture says its rules as data ([`p4_ir::glue`]), and what each event does as code. All else is
//! here: glue made ready ([`ready`]), carrying a packet along a segment by the interpreter or by native
//! blocks ([`carrier`]), and learning fast paths ([`paths`], [`recording`]). So a rule has one place, whoever
//! executes it.

mod carrier;
mod paths;
mod ready;
mod recording;
mod requests;
mod stage;

pub(crate) use carrier::{length, Between, Carrier, Travel};
pub(crate) use paths::{asked, change_cells, known, Code, FastPaths, Known, Learner};
pub(crate) use recording::{Recorded, Recording};
pub(crate) use requests::{Asked, Requests};
pub(crate) use stage::{is, not, set, tell, when, Stage};

use crate::stats::Drop;
use crate::tree::Follow;
use crate::Sink;
use p4_ir::glue;
use p4_ir::interp::{Host, Outcome, Prepared};

/// Words given with a packet that the executor of glue keeps: bytes of the packet, the error that ended the
/// parser, requests, nothing. An architecture's own come behind them, then the told ones, then those kept
/// for the packet.
pub(crate) mod given {
    pub const LENGTH: usize = 0;
    pub const ERROR: usize = 1;
    pub const FLAGS: usize = 2;
    pub const ZERO: usize = 3;
    pub const OWN: usize = 4;
}

/// What packets of one architecture meet, besides blocks.
pub(crate) trait Architecture {
    /// What stays with a packet on its segment
    type Packet: Copy;
    type Host<'a>: SegmentHost<'a>
    where
        Self: 'a;

    /// What packets on the segment of this index need.
    fn open(&mut self, segment: usize) -> Open<'_, Self::Host<'_>>;

    /// Others are to leave before the packet under way.
    fn is_busy(&self) -> bool;

    /// Something is to be looked for after each block, so none run together.
    fn runs_one_by_one(&self) -> bool {
        false
    }

    /// A packet begins on a segment.
    fn begin(&mut self, packet: &Self::Packet);

    /// A block of this number ended so: why the packet is lost, if it is.
    fn ended<F: Follow>(
        &mut self,
        carrier: &mut Carrier,
        packet: &Self::Packet,
        block: u32,
        outcome: Outcome,
        follow: &mut F,
    ) -> Result<(), Drop>;

    fn happens<F: Follow>(
        &mut self,
        event: glue::Event,
        carrier: &mut Carrier,
        travel: &Travel<Self::Packet>,
        out: &mut dyn Sink,
        follow: &mut F,
    );

    fn dropped<F: Follow>(&mut self, reason: Drop, follow: &mut F);
}

/// What packets on a segment need.
pub(crate) struct Open<'a, H> {
    pub prepared: &'a Prepared,
    pub stage: &'a Stage,
    /// Answers its blocks
    pub host: H,
}

/// Answers blocks, and keeps what they ask for.
pub(crate) trait SegmentHost<'a>: Host {
    fn requests(&mut self) -> &mut Requests;

    /// The run goes through several blocks, with this in between.
    fn be_between(&mut self, between: Between<'a>);
}
