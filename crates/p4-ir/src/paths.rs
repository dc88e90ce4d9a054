//! Paths that packets took through several blocks, as a recording and as machine code.
//!
//! Most packets of a run do what others did before them. [`Record`] notes which instructions a packet
//! went through; a native back end makes straight code of such paths, with nothing between a packet's
//! bytes and what becomes of it but the questions whose answers may differ. A packet for which one of
//! them is answered in a way that no path knows has done nothing yet, so it begins again elsewhere.

use crate::interp::{Machine, Prepared};
use crate::ir::{CallId, Op, Pc, Slot};
use crate::native::{Inline, NativeHost};
use crate::trace::{Event, Tracer};
use std::fmt::Debug;

/// What a packet went through: the instructions of each block that it met.
pub type Path = Vec<Vec<Step>>;

/// One instruction that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    pub pc: Pc,
    /// What an instruction came to of which the next one does not tell: see [`Record`]
    pub outcome: u64,
}

/// The outcome of [`Op::Apply`].
pub fn applied(hit: bool, action: u32) -> u64 {
    u64::from(hit) << 32 | u64::from(action)
}

/// The blocks that packets of one kind meet, and what an architecture does around them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Way {
    /// First instructions of the blocks
    pub blocks: Vec<Pc>,
    /// What is done before the first block; all words of the frame are zero before that.
    pub before: Vec<Deed>,
    /// What is done after each block
    pub after: Vec<Vec<Deed>>,
    /// Words that are told of each packet, behind which the requests' words follow
    pub told: usize,
    /// The words that go with each of the numbers that [`Later::list`] may have
    pub lists: Vec<(u64, Vec<(Slot, u32)>)>,
}

/// What an architecture does between blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Deed {
    /// Puts a value, cut by `mask`, into a slot.
    Set { slot: Slot, mask: u64, from: From },
    /// Makes words zero.
    Clear { slot: Slot, n: u32 },
    /// The packet is none for this way if the word is this number (`is` says false), or if it is not.
    Only { slot: Slot, value: u64, is: bool },
    /// Tells the word as the given one of a packet's told words.
    Tell { index: usize, slot: Slot },
    /// What goes with the requests made so far are the words of their lists as they are now.
    Keep,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum From {
    Number(u64),
    /// One of the words given with the packet
    Given(usize),
    Slot(Slot),
    /// The packet's length in bytes with what `setValid` and `setInvalid` have changed
    Length,
}

/// A call of the host that comes to nothing before the packet has left its way, by these words alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Later {
    pub words: Vec<Slot>,
    /// The number of a list of words that shall be kept, see [`Deed::Keep`]
    pub list: Option<Slot>,
}

/// A call that was put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub call: CallId,
    /// Index of the block on the way that made it
    pub block: usize,
    /// Index of the first of its words in what is told
    pub words: usize,
    pub list: Option<u64>,
    /// First of the words kept in what is told, and their number
    pub kept: (usize, usize),
}

/// How a path ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    pub requests: Vec<Request>,
}

/// Paths of one way as machine code.
pub trait Paths: Debug + Send + Sync {
    /// How the paths end. Some may have the same end.
    fn ends(&self) -> Vec<&End>;

    /// Takes a packet along one of the paths: which of the ends it came to, and how many bytes of `output` are the packet
    /// as it left, payload included; `told` is what it tells. `None` if it would take another way: then
    /// nothing has happened, but `output` and `told` mean nothing. `given` are as many words as the
    /// way asks for. The host is asked for plain lookups and for calls that are [`Inline::Pure`] only; for
    /// these the frame of `machine` is lent.
    fn run(
        &self,
        packet: &[u8],
        given: &[u64],
        output: &mut Vec<u8>,
        told: &mut Vec<u64>,
        machine: &mut Machine,
        host: &mut dyn NativeHost,
    ) -> Option<(usize, usize)>;
}

/// Steps that are recorded of a packet in one block; what takes more is no path.
const MAX_STEPS: usize = 4000;

/// Records the path of a packet.
///
/// An outcome is [`applied`] of a table; of a call the number of its list, or whether its condition
/// held; of an extraction the length of the varbit; 0 else.
#[derive(Debug, Default)]
pub struct Record {
    /// Blocks so far
    pub path: Path,
    /// An instruction ended a block before its end, or there were too many.
    pub failed: bool,
}

impl Record {
    /// Another block begins.
    pub fn begin(&mut self) {
        self.path.push(Vec::new());
    }

    /// What was recorded; begins anew.
    pub fn take(&mut self) -> Option<Path> {
        let Record { path, failed } = std::mem::take(self);
        (!failed).then_some(path)
    }
}

impl Tracer for Record {
    const ON: bool = true;

    fn step(&mut self, prepared: &Prepared, pc: Pc, frame: &[u64]) {
        let word = |slot: Slot| frame.get(slot as usize).copied().unwrap_or(0);
        let outcome = match prepared.program().code.get(pc as usize) {
            Some(Op::Extern { call }) => match prepared.inline(*call) {
                Some(Inline::Later(later)) => later.list.map_or(0, word),
                Some(Inline::Unless(slot)) => u64::from(word(*slot) != 0),
                Some(Inline::Checksum(sum)) => u64::from(word(sum.condition) != 0),
                _ => 0,
            },
            Some(Op::ExtractVar { bits, .. } | Op::ExtractNextVar { bits, .. }) => word(*bits),
            _ => 0,
        };
        match self.path.last_mut() {
            Some(steps) if steps.len() < MAX_STEPS => steps.push(Step { pc, outcome }),
            _ => self.failed = true,
        }
    }

    fn settle(&mut self, _: &Prepared, _: &[u64]) {}

    fn record(&mut self, _: Pc, event: Event) {
        match event {
            Event::Apply { hit, action, .. } => {
                let last = self.path.last_mut().and_then(|steps| steps.last_mut());
                if let Some(step) = last {
                    step.outcome = applied(hit, action);
                }
            }
            Event::Reject { .. } | Event::OutOfFuel => self.failed = true,
            _ => {}
        }
    }

    fn note(&mut self, _: Event) {}
}
