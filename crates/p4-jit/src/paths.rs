//! Paths of packets as machine code: compiling, and running it.
//!
//! A path is straight: there is no frame, every word is a value of the function, and what the packet's
//! bytes are not asked for is neither read nor written. Headers that leave as they came are copied as
//! bytes; where payload follows them they are part of it. See [`walk`](crate::walk) for how that comes
//! about.
//!
//! **Unsafe code.** The function reads `input` below a length that it has compared with the packet's, or
//! that a comparison before implies; it writes no more than `room` bytes of `output`, `told` words and
//! `MAX_KEY` words of the key, and words of the frame that [`Prepared`] has
//! checked, which [`Compiled::run`] has made sure of; it reads as many words of data
//! as an action has parameters, which [`Tables::find`] gives, and as many of a cell as [`cell`] has seen
//! that it has.

use crate::context::{Applied, Ended, Tables};
use crate::emit::{self, Emitter};
use crate::flow::Unsupported;
use crate::walk::{Leaf, Walker};
use crate::{new_module, refused};
use cranelift_codegen::ir::UserFuncName;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::Module;
use p4_ir::glue::Segment;
use p4_ir::interp::{Machine, Prepared};
use p4_ir::native::{Inline, NativeHost};
use p4_ir::paths::{Buffers, End, Path, Paths, Walked};
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::mem::{offset_of, MaybeUninit};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::Arc;

/// Words of the longest key that is looked up on a path.
pub(crate) const MAX_KEY: usize = 32;

/// What one run works on. Native code uses the fields up to `key` by their offsets.
#[repr(C)]
pub(crate) struct Context<'a> {
    input: *const u8,
    /// Bytes of the packet
    length: u64,
    output: *mut u8,
    given: *const u64,
    told: *mut u64,
    /// Of `machine`, for the words of calls
    frame: *mut u64,
    /// The key of the next lookup, as far as native code has written it
    key: [MaybeUninit<u64>; MAX_KEY],
    tables: &'a Tables,
    machine: *mut Machine,
    host: &'a mut dyn NativeHost,
    /// What the host panicked with: it may not unwind through native code
    panic: Option<Box<dyn Any + Send>>,
}

/// Offsets of the fields of [`Context`] that native code uses.
pub(crate) mod at {
    use super::{offset_of, Context};
    pub const INPUT: i32 = offset_of!(Context, input) as i32;
    pub const LENGTH: i32 = offset_of!(Context, length) as i32;
    pub const OUTPUT: i32 = offset_of!(Context, output) as i32;
    pub const GIVEN: i32 = offset_of!(Context, given) as i32;
    pub const TOLD: i32 = offset_of!(Context, told) as i32;
    pub const FRAME: i32 = offset_of!(Context, frame) as i32;
    pub const KEY: i32 = offset_of!(Context, key) as i32;
}

type Entry = unsafe extern "C" fn(*mut Context<'_>, u64) -> Ended;

/// Paths as machine code; its memory is given back when it is dropped.
pub(crate) struct Compiled {
    entry: Entry,
    leaves: Vec<Leaf>,
    tables: Arc<Tables>,
    /// Bytes of output that the code may write
    room: usize,
    /// Words that are asked for at the start and at each fork, and words told
    given: Vec<usize>,
    told: usize,
    /// Words of the program's frame
    frame: usize,
    /// Owns the memory that `entry` points into; `None` only while it is dropped
    module: Option<JITModule>,
}

// SAFETY: the module is not touched between `compile` and `drop`, and its code, which is all that is
// used of it, changes nothing but what each run is given.
unsafe impl Send for Compiled {}
// SAFETY: as above.
unsafe impl Sync for Compiled {}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compiled({} paths)", self.leaves.len())
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: whoever runs code of the module holds a reference to `self`, so nobody does.
            unsafe { module.free_memory() };
        }
    }
}

/// Compiles paths of a segment; says why it cannot be done.
pub(crate) fn compile(
    prepared: &Prepared,
    tables: Arc<Tables>,
    segment: &Segment,
    paths: &[Path],
) -> Result<Compiled, Unsupported> {
    let mut module = new_module()?;
    let signature = emit::signature(module.target_config().default_call_conv);
    let id = module
        .declare_anonymous_function(&signature)
        .map_err(refused)?;
    let mut context = module.make_context();
    context.func.signature = signature;
    context.func.name = UserFuncName::user(0, id.as_u32());
    let mut frontend = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
    let functions = HashMap::new();
    let emitter = Emitter::new(builder, prepared, &[], &functions, true, 0);
    let mut walker = Walker::new(emitter, segment, paths);
    walker.walk()?;
    let (leaves, given) = (walker.leaves, walker.all_given);
    let mut builder = walker.e.builder;
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    module.define_function(id, &mut context).map_err(refused)?;
    module.clear_context(&mut context);
    module.finalize_definitions().map_err(refused)?;
    let code = module.get_finalized_function(id);
    // SAFETY: this is the code of a function that was declared with the signature of `Entry`.
    let entry = unsafe { std::mem::transmute::<*const u8, Entry>(code) };
    Ok(Compiled {
        entry,
        room: leaves.iter().map(|leaf| leaf.head).max().unwrap_or(0) + 8,
        told: leaves.iter().map(|leaf| leaf.told).max().unwrap_or(0),
        given,
        frame: prepared.program().frame_words as usize,
        leaves,
        tables,
        module: Some(module),
    })
}

impl Paths for Compiled {
    fn ends(&self) -> Vec<&End> {
        self.leaves.iter().map(|leaf| &leaf.end).collect()
    }

    #[inline]
    fn run(
        &self,
        packet: &[u8],
        fork: usize,
        buffers: &mut Buffers,
        machine: &mut Machine,
        host: &mut dyn NativeHost,
    ) -> Option<Walked> {
        let Buffers {
            given,
            told,
            output,
        } = buffers;
        let asked = *self.given.get(fork)?;
        if given.len() < asked || machine.frame.len() != self.frame {
            return None;
        }
        if output.len() < self.room + packet.len() {
            output.resize(self.room + packet.len(), 0);
        }
        if told.len() < self.told {
            told.resize(self.told, 0);
        }
        let mut context = Context {
            input: packet.as_ptr(),
            length: packet.len() as u64,
            output: output.as_mut_ptr(),
            given: given.as_ptr(),
            told: told.as_mut_ptr(),
            frame: machine.frame.as_mut_ptr(),
            key: [MaybeUninit::uninit(); MAX_KEY],
            tables: &self.tables,
            machine,
            host,
            panic: None,
        };
        // SAFETY: the function is there as long as `self`, and what the context points to is as long
        // as it takes it to be: see the head of this file.
        let ended = unsafe { (self.entry)(&mut context, fork as u64) };
        if let Some(panic) = context.panic.take() {
            resume_unwind(panic);
        }
        let index = usize::try_from(ended.status).ok()?.checked_sub(1)?;
        let leaf = self.leaves.get(index)?;
        let mut length = 0;
        if let Some(payload) = leaf.payload {
            let payload = packet.get(payload..)?;
            length = leaf.head + payload.len();
            output.get_mut(leaf.head..length)?.copy_from_slice(payload);
        }
        let (end, length) = (index as u32, length as u32);
        Some(Walked { end, length })
    }
}

/// Looks up the key in the context. Over if the host panicked.
///
/// # Safety
/// Native code calls it with its own context and the index of a table.
pub(crate) unsafe extern "C" fn find(context: *mut Context<'_>, table: u64) -> Applied {
    // SAFETY: native code passes on the context that `run` gave it, and has no other use for it during
    // the call.
    let context = unsafe { &mut *context };
    let (tables, host) = (context.tables, &mut *context.host);
    let words = tables.key_words(table).min(MAX_KEY);
    // SAFETY: native code has written as many words as the key of the table has.
    let key = unsafe { std::slice::from_raw_parts(context.key.as_ptr().cast::<u64>(), words) };
    match catch_unwind(AssertUnwindSafe(|| tables.find(table, key, host))) {
        Ok(found) => found,
        Err(panic) => {
            context.panic = Some(panic);
            Applied::OVER
        }
    }
}

/// Calls an extern with its words in the frame; not 0 if it cannot be done.
///
/// # Safety
/// Native code calls it with its own context and the index of a call.
pub(crate) unsafe extern "C" fn compute(context: *mut Context<'_>, call: u64) -> u64 {
    // SAFETY: as in `find`.
    let context = unsafe { &mut *context };
    // SAFETY: `run` was given the machine for itself, and native code, which has written words of its
    // frame, does not look at it during the call.
    let machine = unsafe { &mut *context.machine };
    let host = &mut *context.host;
    let done = catch_unwind(AssertUnwindSafe(|| host.call(call as u32, machine)));
    let is_same = machine.frame.as_mut_ptr() == context.frame;
    match done {
        Ok(done) => u64::from(done.is_err() || !is_same),
        Err(panic) => {
            context.panic = Some(panic);
            1
        }
    }
}

/// The words of the cell that a call uses, by the index at the key's place; over if there is none.
///
/// # Safety
/// Native code calls it with its own context and the index of a call.
pub(crate) unsafe extern "C" fn cell(context: *mut Context<'_>, call: u64) -> Applied {
    // SAFETY: as in `find`.
    let context = unsafe { &mut *context };
    // SAFETY: native code has written the index.
    let index = unsafe { context.key[0].assume_init() };
    let words = context.cell_words(call);
    let host = &mut *context.host;
    let found = catch_unwind(AssertUnwindSafe(|| {
        let cell = host.cell(call as u32, index)?;
        (cell.len() == words).then_some(cell.as_ptr())
    }));
    match found {
        Ok(Some(data)) => Applied { found: 0, data },
        Ok(None) => Applied::OVER,
        Err(panic) => {
            context.panic = Some(panic);
            Applied::OVER
        }
    }
}

/// Puts words into such a cell: they are behind the index at the key's place. Not 0 if it cannot be done.
///
/// # Safety
/// Native code calls it with its own context and the index of a call.
pub(crate) unsafe extern "C" fn put_cell(context: *mut Context<'_>, call: u64) -> u64 {
    // SAFETY: as in `find`.
    let context = unsafe { &mut *context };
    // SAFETY: native code has written the index, and behind it as many words as a cell has, for which it has
    // seen that there is room.
    let (index, words) = unsafe {
        let words = context.cell_words(call).min(MAX_KEY - 1);
        let key = context.key.as_ptr().cast::<u64>();
        (*key, std::slice::from_raw_parts(key.add(1), words))
    };
    let host = &mut *context.host;
    let put = AssertUnwindSafe(|| host.put_cell(call as u32, index, words));
    match catch_unwind(put) {
        Ok(()) => 0,
        Err(panic) => {
            context.panic = Some(panic);
            1
        }
    }
}

impl Context<'_> {
    /// Words of the cells that a call uses
    fn cell_words(&self, call: u64) -> usize {
        match self.tables.prepared.inline(call as u32) {
            Some(Inline::Cell(own)) => own.value.len(),
            _ => 0,
        }
    }
}
