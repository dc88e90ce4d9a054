//! What native code works on, and what it calls.
//!
//! The thunks are the only way from native code back into Rust. Each gets the [`Context`] that
//! [`run`] made for this run, and nothing else that points anywhere.

use p4_ir::execute_aside;
use p4_ir::interp::{Halt, Machine, Outcome, Prepared};
use p4_ir::ir::{words, Pc, Program, Slot};
use p4_ir::native::NativeHost;
use p4_ir::packet::SLACK;
use std::any::Any;
use std::mem::offset_of;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// What one run works on. Native code uses the fields up to `length_delta` by their offsets.
#[repr(C)]
pub(crate) struct Context<'a> {
    frame: *mut u64,
    /// The packet's bytes and `SLACK` more
    input: *const u8,
    /// Bits of the packet
    bits: u64,
    /// Bits consumed
    cursor: u64,
    output: *mut u8,
    /// Bytes that may be written at `output`, `SLACK` more not counted
    room: u64,
    /// Bits written
    emitted: u64,
    length_delta: i64,
    machine: *mut Machine,
    host: *mut (dyn NativeHost + 'a),
    tables: &'a Tables,
    halt: Option<Halt>,
    /// What the host panicked with: it may not unwind through native code
    panic: Option<Box<dyn Any + Send>>,
}

/// Offsets of the fields of [`Context`] that native code uses.
pub(crate) mod at {
    use super::{offset_of, Context};
    pub const FRAME: i32 = offset_of!(Context, frame) as i32;
    pub const INPUT: i32 = offset_of!(Context, input) as i32;
    pub const BITS: i32 = offset_of!(Context, bits) as i32;
    pub const CURSOR: i32 = offset_of!(Context, cursor) as i32;
    pub const OUTPUT: i32 = offset_of!(Context, output) as i32;
    pub const ROOM: i32 = offset_of!(Context, room) as i32;
    pub const EMITTED: i32 = offset_of!(Context, emitted) as i32;
    pub const LENGTH_DELTA: i32 = offset_of!(Context, length_delta) as i32;
}

/// How a native function ends: the low byte says which, the others hold a number.
pub(crate) mod status {
    pub const DONE: u64 = 0;
    /// With the error code
    pub const REJECTED: u64 = 1;
    pub const OUT_OF_FUEL: u64 = 2;
    /// As the context's `halt` says
    pub const HALTED: u64 = 3;
    /// At this instruction
    pub const TRAP: u64 = 4;
}

/// What a native function gives back.
#[repr(C)]
pub(crate) struct Ended {
    pub status: u64,
    /// Fuel that is left, for a caller that goes on
    fuel: u64,
}

/// A native function: the context and the fuel it may use.
pub(crate) type Entry = unsafe extern "C" fn(*mut Context<'_>, u64) -> Ended;

/// What the thunks need to know of a program.
#[derive(Debug)]
pub(crate) struct Tables {
    pub prepared: Prepared,
    tables: Vec<Table>,
    set_words: Vec<usize>,
    /// As many as an action has words of parameters at most
    zeros: Vec<u64>,
}

#[derive(Debug)]
struct Table {
    key: usize,
    key_words: usize,
    /// For each action the number of its parameters' words
    actions: Vec<usize>,
}

impl Tables {
    pub fn new(prepared: &Prepared) -> Tables {
        let program = prepared.program();
        let table = |table: &p4_ir::ir::Table| Table {
            key: table.key as usize,
            key_words: table.key_words as usize,
            actions: table
                .actions
                .iter()
                .map(|listed| parameters(program, listed.action).1 as usize)
                .collect(),
        };
        let set_words = |set: &p4_ir::ir::ValueSet| {
            let words = set.fields.iter().map(|field| words(field.place.width));
            words.sum::<u32>() as usize
        };
        let actions = 0..program.actions.len() as u32;
        let most = actions.map(|action| parameters(program, action).1).max();
        Tables {
            zeros: vec![0; most.unwrap_or(0) as usize],
            prepared: prepared.clone(),
            tables: program.tables.iter().map(table).collect(),
            set_words: program.value_sets.iter().map(set_words).collect(),
        }
    }
}

impl Tables {
    /// For native code, which reads as many words of data as the action has. A host that gives too
    /// few is at fault; instead of them there are zeros then.
    #[inline(always)]
    fn applied(&self, info: &Table, hit: bool, action: u32, data: &[u64]) -> Applied {
        let words = info.actions.get(action as usize).copied().unwrap_or(0);
        let data = match data.len() >= words {
            true => data.as_ptr(),
            false => self.zeros.as_ptr(),
        };
        let found = p4_ir::paths::applied(hit, action);
        Applied { found, data }
    }

    #[inline]
    pub fn key_words(&self, table: u64) -> usize {
        self.tables[table as usize].key_words
    }

    /// What `host` finds for a key.
    #[inline]
    pub fn find(&self, table: u64, key: &[u64], host: &mut dyn NativeHost) -> Applied {
        let info = &self.tables[table as usize];
        if let Some(found) = host.lookup_plain(table as u32, key) {
            return self.applied(info, found.hit, found.action, found.data);
        }
        let found = host.lookup(table as u32, key);
        self.applied(info, found.hit, found.action, found.data)
    }
}

/// The first of the words of an action's parameters and their number.
pub(crate) fn parameters(program: &Program, action: u32) -> (Slot, u32) {
    let params = &program.actions[action as usize].params;
    let first = params.first().map_or(0, |param| param.place.slot);
    (first, params.iter().map(|p| words(p.place.width)).sum())
}

/// The function of instructions at which no block begins.
pub(crate) const NOTHING: Entry = trap;

unsafe extern "C" fn trap(_: *mut Context<'_>, fuel: u64) -> Ended {
    let status = status::TRAP;
    Ended { status, fuel }
}

/// Runs the functions at `entries` on `machine`, which is one of the program of `tables`, as long
/// as they end well: which ran last, and how it ended.
///
/// # Safety
/// The functions of `codes` must have been made from `tables.prepared`, and their code must still
/// be there.
#[inline]
pub(crate) unsafe fn run_all(
    codes: &[Entry],
    entries: &[Pc],
    tables: &Tables,
    machine: &mut Machine,
    host: &mut dyn NativeHost,
) -> (usize, Outcome) {
    let fuel = machine.fuel;
    let mut context = Context {
        frame: std::ptr::null_mut(),
        input: std::ptr::null(),
        bits: 0,
        cursor: 0,
        output: std::ptr::null_mut(),
        room: 0,
        emitted: 0,
        length_delta: 0,
        machine,
        host,
        tables,
        halt: None,
        panic: None,
    };
    context.take();
    let (mut index, mut status) = (0, status::DONE);
    for (i, pc) in entries.iter().enumerate() {
        let code = codes.get(*pc as usize).unwrap_or(&NOTHING);
        // SAFETY: the function was made for machines of this program, whose frames are as long as
        // the slots that it uses; the other pointers are those that `take` has put in.
        let ended = unsafe { code(&mut context, fuel) };
        (index, status) = (i, ended.status);
        if status != status::DONE || i + 1 == entries.len() {
            break;
        }
        let length = (context.bits / 8) as i64 + context.length_delta;
        // SAFETY: `run_all` was given machine and host for itself, they are two different things,
        // and native code, which looks at the machine too, has ended.
        let (frame, host) = unsafe { (&mut (*context.machine).frame, &mut *context.host) };
        if !host.between(i, frame, length) {
            break;
        }
    }
    context.give_back();
    match status {
        status::DONE => (index, Outcome::Done),
        _ => (index, context.ended(status)),
    }
}

impl Context<'_> {
    /// How a run has ended; goes on with the host's panic, if that was it.
    #[cold]
    fn ended(&mut self, status: u64) -> Outcome {
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
        let number = (status >> 8) as u32;
        match status & 0xff {
            status::REJECTED => Outcome::Rejected { error: number },
            status::OUT_OF_FUEL => Outcome::OutOfFuel,
            status::HALTED => self.halt.map_or(Outcome::Done, Outcome::Halted),
            status::TRAP => Outcome::Halted(Halt::Trap(number)),
            _ => Outcome::Done,
        }
    }

    #[inline(always)]
    fn machine(&mut self) -> &mut Machine {
        // SAFETY: `run` holds the machine mutably for as long as the context lives, and everybody
        // gets at it through the context only, one after the other.
        unsafe { &mut *self.machine }
    }

    /// What native code needs of the machine.
    #[inline(always)]
    fn take(&mut self) {
        let machine = self.machine();
        let packet = &mut machine.packet;
        let input = packet.input().as_ptr();
        let (bits, cursor) = (packet.length() * 8, packet.cursor());
        let emitted = packet.emitted();
        let room = packet.buffer().len().saturating_sub(SLACK);
        let output = packet.buffer().as_mut_ptr();
        let length_delta = machine.length_delta;
        let frame = machine.frame.as_mut_ptr();
        (self.frame, self.input, self.output) = (frame, input, output);
        (self.bits, self.cursor) = (bits as u64, cursor as u64);
        (self.room, self.emitted) = (room as u64, emitted as u64);
        self.length_delta = length_delta;
    }

    /// What native code has made of it.
    #[inline(always)]
    fn give_back(&mut self) {
        let (cursor, emitted) = (self.cursor as usize, self.emitted as usize);
        let length_delta = self.length_delta;
        let machine = self.machine();
        machine.packet.set_cursor(cursor);
        machine.packet.wrote_until(emitted);
        machine.length_delta = length_delta;
    }

    /// Lets the host or the interpreter at the machine. Native code keeps the frame's address, so a
    /// frame that has moved or shrunk ends the run.
    fn lend<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> Option<R> {
        self.give_back();
        let machine = self.machine();
        let before = (machine.frame.as_ptr(), machine.frame.len());
        let done = self.guarded(work);
        let machine = self.machine();
        if before != (machine.frame.as_ptr(), machine.frame.len()) {
            self.halt = Some(Halt::Trap(0));
            return None;
        }
        self.take();
        done
    }

    /// `None` if the host panicked: the run ends, and `run` goes on with the panic.
    fn guarded<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(done) => Some(done),
            Err(panic) => {
                self.panic = Some(panic);
                self.halt = Some(Halt::Trap(0));
                None
            }
        }
    }
}

/// Given back by thunks instead of anything else when the run is over.
pub(crate) const OVER: u64 = u64::MAX;

/// What [`apply`] gives back.
#[repr(C)]
pub(crate) struct Applied {
    /// The index of the action, and whether it was a hit in bit 32; or [`OVER`]
    pub found: u64,
    /// The words of the action's parameters; there until the host is asked for something else
    pub data: *const u64,
}

impl Applied {
    pub const OVER: Applied = Applied {
        found: OVER,
        data: std::ptr::null(),
    };
}

/// Looks up a table's key. The data are as long as the action's parameters.
///
/// # Safety
/// Native code calls it with its own context and the index of a table.
pub(crate) unsafe extern "C" fn apply(context: *mut Context<'_>, table: u64) -> Applied {
    // SAFETY: native code passes on the context that `run_all` gave it, and has no other use for it
    // during the call.
    let context = unsafe { &mut *context };
    let found = context.guarded(|context| {
        let info = &context.tables.tables[table as usize];
        // SAFETY: `run_all` holds machine and host mutably while the context lives, and they are
        // two different things.
        let (frame, host) = unsafe { (&(*context.machine).frame, &mut *context.host) };
        let key = &frame[info.key..info.key + info.key_words];
        context.tables.find(table, key, host)
    });
    found.unwrap_or(Applied::OVER)
}

/// Calls an extern; [`OVER`] if it halts.
///
/// # Safety
/// Native code calls it with its own context and the index of a call.
pub(crate) unsafe extern "C" fn call(context: *mut Context<'_>, call: u64) -> u64 {
    // SAFETY: as in `apply`.
    let context = unsafe { &mut *context };
    let done = context.lend(|context| {
        // SAFETY: as in `apply`.
        let (machine, host) = unsafe { (&mut *context.machine, &mut *context.host) };
        host.call(call as u32, machine)
    });
    match done {
        Some(Ok(())) => 0,
        Some(Err(halt)) => {
            context.halt = Some(halt);
            OVER
        }
        None => OVER,
    }
}

/// Calls an extern that does not look at the packet; [`OVER`] if it halts.
///
/// # Safety
/// Native code calls it with its own context and the index of a call.
pub(crate) unsafe extern "C" fn call_by_arguments(context: *mut Context<'_>, call: u64) -> u64 {
    // SAFETY: as in `apply`.
    let context = unsafe { &mut *context };
    let done = context.guarded(|context| {
        // SAFETY: as in `apply`.
        let (machine, host) = unsafe { (&mut *context.machine, &mut *context.host) };
        let frame = (machine.frame.as_ptr(), machine.frame.len());
        let done = host.call(call as u32, machine);
        match frame == (machine.frame.as_ptr(), machine.frame.len()) {
            true => done,
            // Native code keeps the frame's address.
            false => Err(Halt::Trap(0)),
        }
    });
    match done {
        Some(Ok(())) => 0,
        Some(Err(halt)) => {
            context.halt = Some(halt);
            OVER
        }
        None => OVER,
    }
}

/// Whether a value set holds the key at a slot.
///
/// # Safety
/// Native code calls it with its own context, the index of a value set and the slot of its key.
pub(crate) unsafe extern "C" fn in_value_set(
    context: *mut Context<'_>,
    set: u64,
    slot: u64,
) -> u64 {
    // SAFETY: as in `apply`.
    let context = unsafe { &mut *context };
    let found = context.guarded(|context| {
        // SAFETY: as in `apply`.
        let (frame, host) = unsafe { (&(*context.machine).frame, &mut *context.host) };
        let key = &frame[slot as usize..][..context.tables.set_words[set as usize]];
        u64::from(host.in_value_set(set as u32, key))
    });
    found.unwrap_or(OVER)
}

/// Lets the interpreter execute one instruction: 0, or 1 more than the error code that ends the
/// parser.
///
/// # Safety
/// Native code calls it with its own context and the index of an instruction.
pub(crate) unsafe extern "C" fn aside(context: *mut Context<'_>, pc: u64) -> u64 {
    // SAFETY: as in `apply`.
    let context = unsafe { &mut *context };
    let tables = context.tables;
    let done =
        context.lend(|context| execute_aside(&tables.prepared, pc as u32, context.machine()));
    match done {
        Some(Ok(())) => 0,
        Some(Err(error)) => 1 + u64::from(error),
        None => OVER,
    }
}
