//! The reference interpreter: one loop over 16-byte instructions.
//!
//! It is generic over a [`Host`], which knows tables and externs, and a [`Tracer`]; with
//! [`NoTrace`](crate::trace::NoTrace) the tracing disappears at compile time. It takes only
//! [`Prepared`] programs, whose slots, jumps and indices have been checked, so no packet and no
//! program can make it panic.

use crate::interp_alu::{alu, sign_extend};
use crate::interp_headers::{load_at, store_at};
use crate::ir::{mask, words, CallId, Op, Pc, Slot, TableId};
use crate::packet::Packet;
use crate::trace::{Event, Tracer};
use crate::undefined::Undefined;
use crate::{interp_headers, wide};

pub use crate::interp_prepare::{Malformed, Prepared};

/// The error codes of core.p4, as [`crate::ir::Program::errors`] numbers them.
pub mod errors {
    pub const NO_ERROR: u32 = 0;
    pub const PACKET_TOO_SHORT: u32 = 1;
    pub const NO_MATCH: u32 = 2;
    pub const STACK_OUT_OF_BOUNDS: u32 = 3;
    pub const HEADER_TOO_SHORT: u32 = 4;
    pub const PARSER_TIMEOUT: u32 = 5;
    pub const PARSER_INVALID_ARGUMENT: u32 = 6;
    /// In bmv2's manner: no case of a `select` matched, which ends the parser and is noted nowhere.
    pub const UNMATCHED: u32 = u32::MAX;
}

/// Instructions that one run of a block may take, counted at loops and calls.
pub const DEFAULT_FUEL: u64 = 1_000_000;

/// What one packet needs while it is processed. Kept from packet to packet.
#[derive(Clone, Debug)]
#[repr(C)] // what a packet on a fast path looks at comes first
pub struct Machine {
    pub frame: Vec<u64>,
    /// What is undefined, if it is to be seen
    undefined: Option<Box<Undefined>>,
    pub packet: Packet,
    /// Bytes by which `setValid` and `setInvalid` have changed the packet's length so far.
    pub length_delta: i64,
    /// A run-time index was beyond its stack; the read gave zero, the write did nothing.
    pub out_of_stack: bool,
    /// Fields of invalid headers that keep what they held, as regions; none unless the program says
    /// so.
    stale: Vec<(Slot, u32)>,
    /// Instructions each run may take.
    pub fuel: u64,
    /// Return addresses
    calls: Vec<Pc>,
    /// For operations on wide values
    pub(crate) scratch: Vec<u64>,
}

impl Machine {
    pub fn new(prepared: &Prepared) -> Machine {
        let program = prepared.program();
        let mut frame = vec![0; program.frame_words as usize];
        frame[program.constant_base as usize..].copy_from_slice(&program.constants);
        Machine {
            frame,
            packet: Packet::default(),
            length_delta: 0,
            out_of_stack: false,
            stale: stale_fields(program),
            fuel: DEFAULT_FUEL,
            calls: Vec::new(),
            scratch: Vec::new(),
            undefined: None,
        }
    }

    /// From now on reads of undefined values give noise from `seed` and are recorded as
    /// [`Event::Undefined`]. That takes a tracer that is `ON`; [`Silent`](crate::trace::Silent) is
    /// the least.
    pub fn show_undefined(&mut self, prepared: &Prepared, seed: u64) {
        let undefined = Undefined::new(seed, self.frame.len(), prepared.program());
        self.undefined = Some(Box::new(undefined));
    }

    pub fn shows_undefined(&self) -> bool {
        self.undefined.is_some()
    }

    /// Says that the `n` words at `slot` have no value by the language or the architecture. Does
    /// nothing unless [`Self::show_undefined`] was called.
    pub fn undefine(&mut self, prepared: &Prepared, slot: Slot, n: u32) {
        if let Some(undefined) = &mut self.undefined {
            undefined.undefine(prepared, slot, n, &mut self.frame);
        }
    }

    /// Adds to `out` the words without a value in a region, for [`Self::put_undefined`] after a
    /// [`Self::reset`].
    pub fn list_undefined(&self, slot: Slot, n: u32, out: &mut Vec<Slot>) {
        if let Some(undefined) = &self.undefined {
            undefined.list(slot, n, out);
        }
    }

    pub fn put_undefined(&mut self, words: &[Slot]) {
        if let Some(undefined) = &mut self.undefined {
            undefined.mark(words);
        }
    }

    /// The words of `regions` zero and no length change. Enough between packets if these are all
    /// words that may be read before they are written, and nobody watches.
    pub fn reset_only(&mut self, regions: &[(Slot, u32)]) {
        for (slot, n) in regions {
            self.frame[*slot as usize..][..*n as usize].fill(0);
        }
        self.length_delta = 0;
        self.out_of_stack = false;
    }

    /// Everything but the packet as at the start: variables zero, no length change.
    pub fn reset(&mut self, prepared: &Prepared) {
        let end = prepared.program().constant_base as usize;
        if self.stale.is_empty() {
            self.frame[..end].fill(0);
        } else {
            let mut from = 0;
            for (slot, n) in &self.stale {
                self.frame[from..*slot as usize].fill(0);
                from = (slot + n) as usize;
            }
            self.frame[from..end].fill(0);
        }
        self.length_delta = 0;
        self.out_of_stack = false;
        if let Some(undefined) = &mut self.undefined {
            undefined.reset();
        }
    }
}

/// The fields of a package's headers, in order, if the program keeps those of invalid headers.
fn stale_fields(program: &crate::ir::Program) -> Vec<(Slot, u32)> {
    if !program.keeps_invalid {
        return Vec::new();
    }
    let headers = program.storages.iter().flat_map(|own| &own.headers);
    let field = |header: &crate::ir::HeaderInst| {
        let words = program.layouts.get(header.layout as usize)?.words;
        Some((header.base + 1, words.checked_sub(1)?))
    };
    let mut fields: Vec<_> = headers.filter_map(field).collect();
    fields.sort_unstable();
    fields
}

/// What a table answers.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    pub hit: bool,
    /// Index in the table's list of actions
    pub action: u32,
    /// The words of the action's parameters
    pub data: &'a [u64],
    /// Handle of the entry that hit, for traces
    pub entry: Option<u64>,
}

/// What a table answers if nothing but its entries has a say in it.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    pub hit: bool,
    /// Index in the table's list of actions
    pub action: u32,
    /// The words of the action's parameters
    pub data: &'a [u64],
}

/// What the IR does not know: tables, value sets and externs.
pub trait Host {
    /// As [`Host::lookup`], if the lookup has no effect and nothing but the table's entries matters;
    /// `None` leaves it to [`Host::lookup`]. For native code, which nobody watches.
    #[inline]
    fn lookup_plain(&mut self, _table: TableId, _key: &[u64]) -> Option<Plain<'_>> {
        None
    }

    /// Between two blocks of a run of several, `last` being the index of the one that has ended
    /// well: `false` ends the run. `length` is the packet's length in bytes with all changes.
    #[inline]
    fn between(&mut self, _last: usize, _frame: &mut [u64], _length: i64) -> bool {
        true
    }

    /// The entry for `key`, which holds the words of the table's keys in order.
    fn lookup(&mut self, table: TableId, key: &[u64]) -> Lookup<'_>;

    /// Runs the extern called at `call`; arguments and results are places in the frame.
    fn call<T: Tracer>(
        &mut self,
        call: CallId,
        machine: &mut Machine,
        tracer: &mut T,
    ) -> Result<(), Halt>;

    /// Whether value set `set` holds `key`.
    fn in_value_set(&mut self, set: u32, key: &[u64]) -> bool;

    /// The words of the cell that a call would use with this index, if it is an
    /// [`Inline::Cell`](crate::native::Inline) and there is such a cell.
    #[inline]
    fn cell(&mut self, _call: CallId, _index: u64) -> Option<&[u64]> {
        None
    }

    /// Puts words into such a cell.
    #[inline]
    fn put_cell(&mut self, _call: CallId, _index: u64, _words: &[u64]) {}
}

/// Why a block cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The host refused to go on at this call.
    Call(CallId),
    /// The code is not well formed: it ran into a trap or off its end at this instruction.
    Trap(Pc),
}

/// How a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The parser rejected the packet with this error code.
    Rejected {
        error: u32,
    },
    /// Too many instructions: most likely a loop without an end.
    OutOfFuel,
    Halted(Halt),
}

/// Runs the block that starts at `entry` on the packet and frame of `machine`.
pub fn run<H: Host, T: Tracer>(
    prepared: &Prepared,
    entry: Pc,
    machine: &mut Machine,
    host: &mut H,
    tracer: &mut T,
) -> Outcome {
    // A host may run code while it is called, so there may be return addresses that are not ours.
    let floor = machine.calls.len();
    let mut fuel = machine.fuel;
    let mut pc = entry;
    // The inner loop holds the frame as a slice; only a call to the host gives it back.
    let outcome = loop {
        let call = match stretch(prepared, floor, &mut pc, &mut fuel, machine, host, tracer) {
            Ok(call) => call,
            Err(outcome) => break outcome,
        };
        if let Err(halt) = host.call(call, machine, tracer) {
            break Outcome::Halted(halt);
        }
    };
    machine.calls.truncate(floor);
    if T::ON {
        if let Some(undefined) = &mut machine.undefined {
            undefined.finish(prepared, &mut machine.frame);
        }
        tracer.settle(prepared, &machine.frame);
        match outcome {
            Outcome::Rejected { error } => tracer.record(pc, Event::Reject { error }),
            Outcome::OutOfFuel => tracer.record(pc, Event::OutOfFuel),
            Outcome::Done | Outcome::Halted(_) => {}
        }
    }
    outcome
}

/// Runs until the block ends (`Err`) or calls an extern (`Ok`, with `pc` behind the call).
#[inline(always)]
fn stretch<H: Host, T: Tracer>(
    prepared: &Prepared,
    floor: usize,
    at: &mut Pc,
    fuel: &mut u64,
    machine: &mut Machine,
    host: &mut H,
    tracer: &mut T,
) -> Result<CallId, Outcome> {
    let code = prepared.code();
    let program = prepared.program();
    let Machine {
        frame,
        packet,
        length_delta,
        out_of_stack,
        calls,
        scratch,
        undefined,
        ..
    } = machine;
    let frame = frame.as_mut_slice();
    let mut pc = *at;

    /// A jump; going back costs as much fuel as lies between.
    macro_rules! jump {
        ($target:expr) => {{
            let target: Pc = $target;
            if target <= pc {
                let cost = u64::from(pc - target) + 1;
                if *fuel < cost {
                    *at = pc;
                    return Err(Outcome::OutOfFuel);
                }
                *fuel -= cost;
            }
            pc = target;
            continue;
        }};
    }
    macro_rules! reject {
        ($error:expr) => {{
            *at = pc;
            return Err(Outcome::Rejected { error: $error });
        }};
    }
    macro_rules! check {
        ($result:expr) => {
            if let Err(error) = $result {
                reject!(error)
            }
        };
    }
    macro_rules! word {
        ($slot:expr) => {
            frame[$slot as usize]
        };
    }

    loop {
        let Some(op) = code.get(pc as usize) else {
            *at = pc;
            return Err(Outcome::Halted(Halt::Trap(pc)));
        };
        if T::ON {
            if let Some(undefined) = undefined {
                undefined.finish(prepared, frame);
            }
            tracer.step(prepared, pc, frame);
            if let Some(undefined) = undefined {
                undefined.begin(prepared, pc, frame, tracer);
            }
        }
        match *op {
            Op::Mov { d, s } => word!(d) = word!(s),
            Op::MovN { d, s, n } => copy(frame, d, s, n),
            Op::MovIf { d, s, c } => {
                if word!(c) != 0 {
                    word!(d) = word!(s);
                }
            }
            Op::MovNIf { d, s, c, n } => {
                if word!(c) != 0 {
                    copy(frame, d, s, n.into());
                }
            }
            Op::Zero { d, n } | Op::Undefine { d, n } => {
                frame[d as usize..(d + n) as usize].fill(0)
            }
            Op::Alu { op, w, d, a, b } => word!(d) = alu(op, w, word!(a), word!(b)),
            Op::Not { w, d, a } => word!(d) = !word!(a) & mask(w.into()),
            Op::Neg { w, d, a } => word!(d) = word!(a).wrapping_neg() & mask(w.into()),
            Op::NotBool { d, a } => word!(d) = u64::from(word!(a) == 0),
            Op::Concat { w, d, a, b } => word!(d) = word!(a).unbounded_shl(w.into()) | word!(b),
            Op::Slice { lo, w, d, a } => {
                word!(d) = word!(a).unbounded_shr(lo.into()) & mask(w.into());
            }
            Op::Insert { lo, w, d, s } => {
                let inside = mask(w.into()).unbounded_shl(lo.into());
                word!(d) = word!(d) & !inside | word!(s).unbounded_shl(lo.into()) & inside;
            }
            Op::SignExtend { from, to, d, a } => word!(d) = sign_extend(word!(a), from, to),
            Op::Wide { op } => wide::execute(&program.wide[op as usize], frame, scratch),

            Op::LoadAt { r, d, idx } => {
                *out_of_stack |= !load_at(frame, &program.dynamic[r as usize], d, idx);
            }
            Op::StoreAt { r, s, idx } => {
                *out_of_stack |= !store_at(frame, &program.dynamic[r as usize], s, idx);
            }

            Op::Jmp { t } => jump!(t),
            Op::JmpIf { c, t } => {
                if word!(c) != 0 {
                    jump!(t)
                }
            }
            Op::JmpIfNot { c, t } => {
                if word!(c) == 0 {
                    jump!(t)
                }
            }
            Op::Switch { v, table } => {
                let table = &program.switches[table as usize];
                let value = word!(v);
                let case = table.cases.binary_search_by_key(&value, |case| case.0);
                jump!(case.map_or(table.default, |i| table.cases[i].1))
            }
            Op::Call { t } => {
                if *fuel == 0 {
                    *at = pc;
                    return Err(Outcome::OutOfFuel);
                }
                *fuel -= 1;
                calls.push(pc + 1);
                pc = t;
                continue;
            }
            Op::Ret => {
                if calls.len() == floor {
                    *at = pc;
                    return Err(Outcome::Done);
                }
                pc = calls.pop().unwrap_or_default();
                continue;
            }

            Op::SetValid { layout, base } => {
                *length_delta += interp_headers::set_valid(prepared, layout, base, frame);
            }
            Op::SetInvalid { layout, base } => {
                *length_delta -= interp_headers::set_invalid(prepared, layout, base, frame);
            }
            Op::StackShift { stack, by } => {
                interp_headers::shift(&program.stacks[stack as usize], by, frame);
            }

            Op::State { state } => {
                if *fuel == 0 {
                    *at = pc;
                    return Err(Outcome::OutOfFuel);
                }
                *fuel -= 1;
                if T::ON {
                    let at = packet.cursor() as u32;
                    tracer.record(pc, Event::State { state, at });
                }
            }
            Op::Extract { layout, base } => {
                let from = packet.cursor();
                check!(interp_headers::extract(
                    prepared, layout, base, packet, frame, 0
                ));
                if T::ON {
                    tracer.record(pc, extracted(prepared, layout, base, from, packet, frame));
                }
            }
            Op::ExtractVar { layout, base, bits } => {
                let from = packet.cursor();
                let bits = word!(bits);
                check!(interp_headers::extract(
                    prepared, layout, base, packet, frame, bits
                ));
                if T::ON {
                    tracer.record(pc, extracted(prepared, layout, base, from, packet, frame));
                }
            }
            Op::ExtractNext { stack } | Op::ExtractNextVar { stack, .. } => {
                let bits = match *op {
                    Op::ExtractNextVar { bits, .. } => word!(bits),
                    _ => 0,
                };
                let from = packet.cursor();
                let stack = &program.stacks[stack as usize];
                let next = interp_headers::extract_next(prepared, stack, packet, frame, bits);
                match next {
                    Ok(base) if T::ON => {
                        let layout = stack.layout.unwrap_or_default();
                        tracer.record(pc, extracted(prepared, layout, base, from, packet, frame));
                    }
                    Ok(_) => {}
                    Err(error) => reject!(error),
                }
            }
            Op::Lookahead { w, d } => {
                if packet.remaining() < w as usize {
                    reject!(errors::PACKET_TOO_SHORT);
                }
                packet.peek_wide(0, w, &mut frame[d as usize..(d + words(w)) as usize]);
            }
            Op::Advance { bits } => {
                let bits = word!(bits);
                if bits > packet.remaining() as u64 {
                    reject!(errors::PACKET_TOO_SHORT);
                }
                packet.consume(bits as usize);
            }
            Op::PacketLength { d } => word!(d) = packet.length() as u64,
            Op::Reject { err } => reject!(word!(err) as u32),
            Op::StackLast { stack, d } => {
                let next = word!(program.stacks[stack as usize].next);
                match next.checked_sub(1) {
                    Some(last) => word!(d) = last,
                    None => reject!(errors::STACK_OUT_OF_BOUNDS),
                }
            }
            Op::InValueSet { set, d, key } => {
                let key = &frame[key as usize..][..prepared.value_set_words(set)];
                word!(d) = u64::from(host.in_value_set(set, key));
            }

            Op::Emit { layout, base } => {
                let header = &frame[base as usize..][..prepared.layout_words(layout)];
                if header[0] != 0 {
                    prepared.plan(layout).emit(packet, header);
                    if T::ON {
                        tracer.record(
                            pc,
                            Event::Emit {
                                layout,
                                base,
                                words: header.to_vec(),
                            },
                        );
                    }
                }
            }

            Op::Apply { table: id } => {
                let table = prepared.table(id);
                let key = table.key as usize..(table.key + table.key_words) as usize;
                let found = host.lookup(id, &frame[key.clone()]);
                if T::ON {
                    tracer.record(
                        pc,
                        Event::Apply {
                            table: id,
                            key: frame[key].to_vec(),
                            hit: found.hit,
                            action: found.action,
                            data: found.data.to_vec(),
                            entry: found.entry,
                        },
                    );
                }
                word!(table.hit) = u64::from(found.hit);
                word!(table.chosen) = u64::from(found.action);
                if let Some(action) = table.actions.get(found.action as usize) {
                    let n = found.data.len().min(action.words as usize);
                    let slot = action.slot as usize;
                    frame[slot..slot + n].copy_from_slice(&found.data[..n]);
                    if *fuel == 0 {
                        *at = pc;
                        return Err(Outcome::OutOfFuel);
                    }
                    *fuel -= 1;
                    calls.push(pc + 1);
                    pc = action.entry;
                    continue;
                }
            }
            Op::Extern { call } => {
                if T::ON {
                    let args = prepared.argument_words(call, frame);
                    tracer.record(pc, Event::Extern { call, args });
                }
                *at = pc + 1;
                return Ok(call);
            }
            Op::Trap => {
                *at = pc;
                return Err(Outcome::Halted(Halt::Trap(pc)));
            }
        }
        pc += 1;
    }
}

#[inline(always)]
fn copy(frame: &mut [u64], d: Slot, s: Slot, n: u32) {
    let (d, s, n) = (d as usize, s as usize, n as usize);
    frame.copy_within(s..s + n, d);
}

#[cold]
fn extracted(
    prepared: &Prepared,
    layout: u32,
    base: Slot,
    from: usize,
    packet: &Packet,
    frame: &[u64],
) -> Event {
    let words = frame[base as usize..][..prepared.layout_words(layout)].to_vec();
    Event::Extract {
        layout,
        base,
        at: from as u32,
        bits: (packet.cursor() - from) as u32,
        words,
    }
}
