//! What a packet met, as plain data.
//!
//! An [`Event`] holds numbers only; names and source spans are in the [`Program`], and
//! [`describe`](crate::trace_text::describe) puts them together for a reader. The interpreter calls
//! a [`Tracer`]; [`NoTrace`] costs nothing, [`Recorder`] keeps everything.

use crate::interp::Prepared;
use crate::interp_access::{accesses, Access};
use crate::interp_prepare::place_words;
use crate::ir::{CallId, LayoutId, Op, Pc, Program, Slot, TableId, ValueKind};
use crate::undefined::Why;
use p4_syntax::span::Span;

/// One thing that happened to a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A block of the package began: index into [`Program::blocks`].
    Block { block: u32 },
    /// A parser state was entered, with bit `at` of the packet next.
    State { state: u32, at: u32 },
    /// The header at `base` was extracted from bit `at` on; `words` as in the frame.
    Extract {
        layout: LayoutId,
        base: Slot,
        at: u32,
        bits: u32,
        words: Vec<u64>,
    },
    /// A table was applied; `action` is an index in its list of actions, `data` the words of the
    /// action's parameters, `entry` the handle of the entry that hit.
    Apply {
        table: TableId,
        key: Vec<u64>,
        hit: bool,
        action: u32,
        data: Vec<u64>,
        entry: Option<u64>,
    },
    /// An extern was called; for each argument the words it held, leaves of lists in order.
    Extern { call: CallId, args: Vec<Vec<u64>> },
    /// A named variable changed; a varbit's words begin with its length in bits.
    Change {
        var: u32,
        before: Vec<u64>,
        after: Vec<u64>,
    },
    /// The parser ended with this error.
    Reject { error: u32 },
    /// A variable was read that has no defined value, and gave this noise (empty if it was none of
    /// the stack's elements); only if the machine was told to, see
    /// [`Machine::show_undefined`](crate::interp::Machine::show_undefined).
    Undefined { var: u32, why: Why, value: Vec<u64> },
    /// The block took too many instructions.
    OutOfFuel,
    /// A valid header was appended to the outgoing packet.
    Emit {
        layout: LayoutId,
        base: Slot,
        words: Vec<u64>,
    },
    /// An architecture or extern has something to say: a logged message, a failed assertion.
    Note { text: String },
}

/// An event and the instruction it comes from; `None` for what an architecture does by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub pc: Option<Pc>,
    pub event: Event,
}

impl Step {
    /// Where in the source this happened.
    pub fn span(&self, program: &Program) -> Span {
        let own = match &self.event {
            Event::Block { block } => program.blocks.get(*block as usize).map(|block| block.span),
            Event::State { state, .. } => {
                program.states.get(*state as usize).map(|state| state.span)
            }
            _ => None,
        };
        let of_code = || {
            self.pc
                .and_then(|pc| program.spans.get(pc as usize))
                .copied()
        };
        own.or_else(of_code).unwrap_or(Span::NONE)
    }
}

/// Follows the interpreter. Every method is called only if `ON`.
pub trait Tracer {
    const ON: bool;

    /// Instruction `pc` is about to run.
    fn step(&mut self, prepared: &Prepared, pc: Pc, frame: &[u64]);

    /// The block has ended: the changes of its last instruction are complete.
    fn settle(&mut self, prepared: &Prepared, frame: &[u64]);

    /// The running instruction caused `event`.
    fn record(&mut self, pc: Pc, event: Event);

    /// Something happened outside of the code.
    fn note(&mut self, event: Event);
}

/// Follows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Tracer for NoTrace {
    const ON: bool = false;
    fn step(&mut self, _: &Prepared, _: Pc, _: &[u64]) {}
    fn settle(&mut self, _: &Prepared, _: &[u64]) {}
    fn record(&mut self, _: Pc, _: Event) {}
    fn note(&mut self, _: Event) {}
}

/// Follows, but keeps nothing: for machines that show what is undefined, which takes a tracer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Tracer for Silent {
    const ON: bool = true;
    fn step(&mut self, _: &Prepared, _: Pc, _: &[u64]) {}
    fn settle(&mut self, _: &Prepared, _: &[u64]) {}
    fn record(&mut self, _: Pc, _: Event) {}
    fn note(&mut self, _: Event) {}
}

/// Events kept per run; what follows is only counted, so that an endless loop fits in memory.
pub const MAX_STEPS: usize = 100_000;

/// Keeps every event, and finds changes of named variables by comparing what an instruction may
/// write before and after it.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    pub steps: Vec<Step>,
    /// Events beyond [`MAX_STEPS`]
    pub omitted: u64,
    watched: Vec<Watched>,
    watched_pc: Pc,
}

/// A variable that the instruction under way may change.
#[derive(Clone, Debug)]
struct Watched {
    var: u32,
    before: Vec<u64>,
}

impl Recorder {
    fn push(&mut self, pc: Option<Pc>, event: Event) {
        if self.steps.len() < MAX_STEPS {
            self.steps.push(Step { pc, event });
        } else {
            self.omitted += 1;
        }
    }

    /// Takes the events recorded so far.
    pub fn take(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    fn watch(&mut self, prepared: &Prepared, slot: Slot, n: u32, frame: &[u64]) {
        let vars = &prepared.program().vars;
        let mut at = slot;
        while at < slot + n {
            let Some(var) = prepared.var_at(at) else {
                at += 1;
                continue;
            };
            let place = &vars[var as usize].place;
            let words = place_words(place);
            let before = frame[place.slot as usize..][..words].to_vec();
            self.watched.push(Watched { var, before });
            at = place.slot + words as u32;
        }
    }
}

impl Tracer for Recorder {
    const ON: bool = true;

    fn step(&mut self, prepared: &Prepared, pc: Pc, frame: &[u64]) {
        self.settle(prepared, frame);
        self.watched_pc = pc;
        let program = prepared.program();
        let op = &program.code[pc as usize];
        let mut writes: [(Slot, u32); 4] = [(0, 0); 4];
        let mut count = 0;
        let mut more = Vec::new();
        match *op {
            // Shown as a whole by their own events, or (validity) by the one word that says it.
            Op::Extract { .. } | Op::ExtractVar { .. } | Op::ExtractNext { .. } => {}
            Op::ExtractNextVar { .. } | Op::StackLast { .. } => {}
            Op::SetValid { base, .. } | Op::SetInvalid { base, .. } => {
                writes[0] = (base, 1);
                count = 1;
            }
            _ => {
                // The program has been checked, so this finds nothing wrong.
                let _ = accesses(program, op, &mut |access| {
                    if let Access::Write { slot, n } = access {
                        match writes.get_mut(count) {
                            Some(place) => *place = (slot, n),
                            None => more.push((slot, n)),
                        }
                        count += 1;
                    }
                });
            }
        }
        for (slot, n) in writes.into_iter().take(count).chain(more) {
            self.watch(prepared, slot, n, frame);
        }
    }

    fn settle(&mut self, prepared: &Prepared, frame: &[u64]) {
        for watched in std::mem::take(&mut self.watched) {
            let var = &prepared.program().vars[watched.var as usize];
            let after = &frame[var.place.slot as usize..][..watched.before.len()];
            // What is inside an invalid header is not a change that anybody made.
            let hidden = var.place.kind != ValueKind::Valid
                && var.header.is_some_and(|valid| frame[valid as usize] == 0);
            if after != watched.before && !hidden {
                let event = Event::Change {
                    var: watched.var,
                    before: watched.before,
                    after: after.to_vec(),
                };
                self.push(Some(self.watched_pc), event);
            }
        }
    }

    fn record(&mut self, pc: Pc, event: Event) {
        self.push(Some(pc), event);
    }

    fn note(&mut self, event: Event) {
        self.push(None, event);
    }
}
