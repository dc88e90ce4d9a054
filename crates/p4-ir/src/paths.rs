//! Paths that packets took through several blocks, as a recording and as machine code.
//!
//! Most packets of a run do what others did before them. [`Record`] notes which instructions a packet
//! went through; a native back end makes straight code of such paths, with nothing between a packet's
//! bytes and what becomes of it but the questions whose answers may differ. A packet for which one of
//! them is answered in a way that no path knows begins again elsewhere: what it has done by then can be taken
//! back.

use crate::interp::{Machine, Prepared};
use crate::ir::{CallId, Op, Pc, Slot};
use crate::native::{Inline, NativeHost};
use crate::trace::{Event, Tracer};
use std::fmt::Debug;
use std::sync::Arc;

/// What a packet went through.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The instructions of each block that it met
    pub blocks: Vec<Vec<Step>>,
    /// The event that ended it
    pub end: u8,
    /// What packets that were made from it went through from there, by the events
    pub made: Vec<(u8, Path)>,
}

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

/// A call of the host that comes to nothing before the packet has left its segment, by these words alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Later {
    pub words: Vec<Slot>,
    /// The number of a list of words that shall be kept when the request is met
    pub list: Option<Slot>,
    /// What it asks for, see [`Test::Asked`](crate::glue::Test); `None` if it is simply to be carried out.
    pub asks: Option<u8>,
}

/// A call that was put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub call: CallId,
    /// Index of the first of its words in what is told
    pub words: usize,
    pub list: Option<u64>,
    /// First of the words kept in what is told, and their number
    pub kept: (usize, usize),
}

/// Something that happens to a packet, and the request for it, if it takes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    pub event: u8,
    pub request: Option<Request>,
    /// Where [`Copies`](crate::glue::Copies) go on
    pub fork: Option<Arc<Fork>>,
}

/// How a packet is where others go on from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fork {
    /// Where code goes on, see [`Paths::run`]; 0 if no path does.
    pub number: usize,
    /// Bits that are consumed, and bytes by which the length has been changed
    pub cursor: usize,
    pub length_delta: i64,
    /// The words that are not zero
    pub words: Vec<(Slot, Kept)>,
    /// First of the words kept in what is told, and their number
    pub kept: (usize, usize),
}

/// Where a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Number(u64),
    /// Bits of the packet, at most 64
    Packet {
        from: u32,
        n: u32,
    },
    /// Among the words kept
    Told(usize),
}

impl Fork {
    /// Makes `machine`, which has nothing but the packet's bytes, what it would be there without paths.
    pub fn restore(&self, kept: &[u64], machine: &mut Machine) {
        let Machine { frame, packet, .. } = machine;
        packet.set_cursor(0);
        for (slot, word) in &self.words {
            let place = &mut frame[*slot as usize..][..1];
            match *word {
                Kept::Number(number) => place[0] = number,
                Kept::Packet { from, n } => packet.peek_wide(from as usize, n, place),
                Kept::Told(index) => place[0] = kept.get(index).copied().unwrap_or(0),
            }
        }
        packet.set_cursor(self.cursor);
        machine.length_delta = self.length_delta.max(-(machine.packet.length() as i64));
    }
}

/// What a path gets and gives.
#[derive(Debug, Default)]
pub struct Buffers {
    /// The words that the segment asks for; those kept at a fork come last.
    pub given: Vec<u64>,
    pub told: Vec<u64>,
    pub output: Vec<u8>,
}

/// How a packet came through. Small enough to be handed back in registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Which of the ends it came to
    pub end: u32,
    /// How many bytes of the output are the packet as it left, payload included; 0 if its path ends before
    /// the last block
    pub length: u32,
}

/// How a path ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Calls to be carried out
    pub calls: Vec<Request>,
    /// Index in what is told of the bytes that the packet is cut to when it is sent
    pub cut: Option<usize>,
    /// What happens, in order; the last ends the path.
    pub events: Vec<Fired>,
}

/// Paths of one segment as machine code.
pub trait Paths: Debug + Send + Sync {
    /// How the paths end. Some may have the same end.
    fn ends(&self) -> Vec<&End>;

    /// Takes a packet along one of the paths, from the beginning of the segment if `fork` is 0, or from the
    /// [`Fork`] of this number. `None` if it would take another way: then what is told and put out means
    /// nothing, and the host has to take back what lookups and calls that are [`Inline::Undoable`] have
    /// changed. No other effects than these happen during the run. The frame of `machine` is lent for calls.
    fn run(
        &self,
        packet: &[u8],
        fork: usize,
        buffers: &mut Buffers,
        machine: &mut Machine,
        host: &mut dyn NativeHost,
    ) -> Option<Walked>;
}

/// Steps that are recorded of a packet in one block; what takes more is not a path.
const MAX_STEPS: usize = 4000;

/// Records the path of a packet.
///
/// An outcome is [`applied`] of a table; of a call the number of its list, or whether its condition
/// held; of an extraction the length of the varbit; 0 else.
#[derive(Debug, Default)]
pub struct Record {
    /// Blocks so far
    pub blocks: Vec<Vec<Step>>,
    /// An instruction ended a block before its end, or there were too many.
    pub failed: bool,
}

impl Record {
    /// Another block begins.
    pub fn begin(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// What was recorded; begins anew.
    pub fn take(&mut self) -> Option<Vec<Vec<Step>>> {
        let Record { blocks, failed } = std::mem::take(self);
        (!failed).then_some(blocks)
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
                Some(Inline::Checksum(sum)) => {
                    u64::from(sum.condition.is_none_or(|slot| word(slot) != 0))
                }
                _ => 0,
            },
            Some(Op::ExtractVar { bits, .. } | Op::ExtractNextVar { bits, .. }) => word(*bits),
            _ => 0,
        };
        match self.blocks.last_mut() {
            Some(steps) if steps.len() < MAX_STEPS => steps.push(Step { pc, outcome }),
            _ => self.failed = true,
        }
    }

    fn settle(&mut self, _: &Prepared, _: &[u64]) {}

    fn record(&mut self, _: Pc, event: Event) {
        match event {
            Event::Apply { hit, action, .. } => {
                let last = self.blocks.last_mut().and_then(|steps| steps.last_mut());
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
