//! Native code from the flat IR, by Cranelift.
//!
//! [`compile`] turns the blocks of a program into machine code that does what the interpreter does,
//! and nothing else: what happens between blocks, tables, externs and packets stay with the
//! architecture, which is asked through [`NativeHost`].
//!
//! **What is native.** A block is one function; a routine that it calls once, and each action, is
//! part of it, others are functions of their own ([`flow`]). Jumps are jumps, arithmetic of up to 64
//! bits is one or two instructions, wider values are straight code over their words. Header fields
//! are loaded from the packet and joined into it as [`Plan`](p4_ir::packet_plan::Plan) says.
//!
//! **Where slots live.** The frame stays the frame of the machine: hosts, other blocks and
//! architectures find every word of a storage where the interpreter would have put it. What has been
//! loaded or stored is known by its value until somebody else may have changed it. Temporaries that
//! nobody else looks at are never stored ([`slots`]).
//!
//! **What stays a call.** Table lookups, value sets and externs are thunks to the host, but for externs
//! of which the architecture says that they come to next to nothing ([`externs`]). Instructions
//! that are rare (shifts of wide values, stacks moved as a whole, varbits that are not empty, headers
//! that do not begin at a byte) are executed by the interpreter itself, one at a time
//! ([`execute_aside`](p4_ir::execute_aside)).
//!
//! **Paths.** What many packets do alike from their first block to their last is compiled once more, as
//! straight code without a frame ([`paths`], [`walk`]).
//!
//! **Bounds.** Fuel is counted at the same instructions and by the same numbers as in the
//! interpreter, so a program runs out of it at the same place. P4 has no recursion; a program with
//! routines that call themselves, or too deep ones, is [`Unsupported`] and stays with the
//! interpreter.
//!
//! **Unsafe code** is in [`context`] and [`paths`] (thunks, running them), and here (functions' addresses, freeing their memory):
//! native code reads and writes the frame by offsets that [`Prepared`] has checked, and a run begins
//! with a check that the machine is one of the same program.

mod alu;
mod context;
mod emit;
mod externs;
mod flow;
mod headers;
mod paths;
mod slots;
mod translate;
mod walk;
mod walk_calls;
mod walk_forks;
mod walk_glue;
mod walk_packet;
mod wide;

pub use flow::Unsupported;

use context::{Entry, Tables};
use cranelift_codegen::ir::UserFuncName;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{default_libcall_names, FuncId, Module};
use emit::Emitter;
use flow::{Flow, Routines, MAX_DEPTH};
use p4_ir::glue::Segment;
use p4_ir::interp::{self, Halt, Host, Lookup, Machine, Outcome, Prepared};
use p4_ir::ir::{CallId, Op, Pc, Program, Slot, TableId};
use p4_ir::native::{Native, NativeHost};
use p4_ir::paths::{Path, Paths};
use p4_ir::trace::{NoTrace, Tracer};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Code by the paths that were asked for, as long as somebody uses it; none where there can be none
type KnownPaths = HashMap<(Segment, Vec<Path>), Option<Weak<paths::Compiled>>>;

/// A program as machine code of this computer; its memory is given back when it is dropped.
pub struct Compiled {
    program: Arc<Program>,
    tables: Arc<Tables>,
    /// Code of paths, for all switches that ask for the same
    paths: Mutex<KnownPaths>,
    /// The function of each block, at its first instruction; elsewhere one that traps
    entries: Vec<Entry>,
    /// Runs of words that somebody may read before a packet has written them
    remembered: Vec<(Slot, u32)>,
    /// Headers begin at bytes if the packet's cursor does when a block begins.
    aligned: bool,
    /// Owns the memory that `entries` point into; `None` only while it is dropped
    module: Option<JITModule>,
}

// SAFETY: the module is not touched between `compile` and `drop`, and its code, which is all that
// is used of it, changes nothing but what each run is given.
unsafe impl Send for Compiled {}
// SAFETY: as above.
unsafe impl Sync for Compiled {}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = self.program.blocks.len();
        write!(f, "Compiled({} blocks of {})", blocks, self.program.package)
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

/// Compiles all blocks of a program; says why it cannot be done.
pub fn compile(prepared: &Prepared) -> Result<Compiled, Unsupported> {
    let program = prepared.program();
    let routines = Routines::new(program);
    let mut roots: Vec<Pc> = program.blocks.iter().map(|block| block.entry).collect();
    roots.sort_unstable();
    roots.dedup();
    // Hosts run methods between the instructions of blocks, so what they share is in the frame.
    let methods = program.instances.iter().flat_map(|own| &own.methods);
    let methods: Vec<Pc> = methods.map(|method| method.entry).collect();
    let (flows, called) = functions(&routines, &roots, &methods)?;
    let temporaries = slots::temporaries(program, &flows, &called);
    let aligned = program.code.iter().all(|op| keeps_bytes(prepared, op));

    let mut module = new_module()?;
    let signature = emit::signature(module.target_config().default_call_conv);
    let mut ids: HashMap<Pc, FuncId> = HashMap::new();
    for (entry, _) in &flows {
        let id = module.declare_anonymous_function(&signature);
        ids.insert(*entry, id.map_err(refused)?);
    }
    let mut context = module.make_context();
    let mut frontend = FunctionBuilderContext::new();
    for (entry, flow) in &flows {
        let Some(id) = ids.get(entry) else { continue };
        context.func.signature = signature.clone();
        context.func.name = UserFuncName::user(0, id.as_u32());
        let callees = flow.nodes.iter().flat_map(|node| node.end.functions());
        let mut callees: Vec<Pc> = callees.collect();
        callees.sort_unstable();
        callees.dedup();
        let references = callees.into_iter().filter_map(|callee| {
            let reference = module.declare_func_in_func(*ids.get(&callee)?, &mut context.func);
            Some((callee, reference))
        });
        let references = references.collect();
        let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
        let n = flow.nodes.len();
        let mut emitter = Emitter::new(builder, prepared, &temporaries, &references, aligned, n);
        translate::translate(&mut emitter, flow);
        let mut builder = emitter.builder;
        builder.seal_all_blocks();
        builder.finalize(module.target_config());
        module.define_function(*id, &mut context).map_err(refused)?;
        module.clear_context(&mut context);
    }
    module.finalize_definitions().map_err(refused)?;
    let mut entries = vec![context::NOTHING; program.code.len()];
    for root in &roots {
        let Some(id) = ids.get(root) else { continue };
        let code = module.get_finalized_function(*id);
        // SAFETY: this is the code of a function that was declared with the signature of `Entry`.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(code) };
        entries[*root as usize] = entry;
    }
    Ok(Compiled {
        entries,
        remembered: slots::remembered(&temporaries),
        program: prepared.share(),
        tables: Arc::new(Tables::new(prepared)),
        paths: Mutex::default(),
        aligned,
        module: Some(module),
    })
}

/// Whether the cursor stays at bytes behind this instruction if it was at one before.
fn keeps_bytes(prepared: &Prepared, op: &Op) -> bool {
    let program = prepared.program();
    let whole = |layout: u32| prepared.plan(layout).copies().is_some();
    match *op {
        Op::Advance { bits } => program.constant(bits).is_some_and(|n| n.is_multiple_of(8)),
        Op::Extract { layout, .. } | Op::ExtractVar { layout, .. } => whole(layout),
        Op::ExtractNext { stack } | Op::ExtractNextVar { stack, .. } => {
            program.stacks[stack as usize].layout.is_some_and(whole)
        }
        _ => true,
    }
}

/// All functions that `roots` and `methods` lead to, and those of them that run while others do. No
/// function calls itself, however indirectly.
#[allow(clippy::type_complexity)] // two lists of one walk
fn functions(
    routines: &Routines,
    roots: &[Pc],
    methods: &[Pc],
) -> Result<(Vec<(Pc, Flow)>, Vec<Pc>), Unsupported> {
    let mut flows: Vec<(Pc, Flow)> = Vec::new();
    let mut called = methods.to_vec();
    let mut todo = [roots, methods].concat();
    while let Some(entry) = todo.pop() {
        if flows.iter().any(|(known, _)| *known == entry) {
            continue;
        }
        let flow = routines.flow(entry)?;
        let callees = flow.nodes.iter().flat_map(|node| node.end.functions());
        let callees: Vec<Pc> = callees.collect();
        called.extend(&callees);
        todo.extend(callees);
        flows.push((entry, flow));
    }
    called.sort_unstable();
    called.dedup();
    let mut depths = HashMap::new();
    for entry in &called {
        depth(*entry, &flows, &mut depths, 0)?;
    }
    Ok((flows, called))
}

/// How many functions are within each other below `entry`.
fn depth(
    entry: Pc,
    flows: &[(Pc, Flow)],
    known: &mut HashMap<Pc, usize>,
    above: usize,
) -> Result<usize, Unsupported> {
    if let Some(depth) = known.get(&entry) {
        return Ok(*depth);
    }
    if above > MAX_DEPTH {
        let message = format!("more than {MAX_DEPTH} routines call each other, or one itself");
        return Err(Unsupported(message));
    }
    let own = flows.iter().find(|(pc, _)| *pc == entry);
    let nodes = own.map(|(_, flow)| flow.nodes.as_slice());
    let mut deepest = 0;
    for callee in nodes
        .unwrap_or_default()
        .iter()
        .flat_map(|n| n.end.functions())
    {
        deepest = deepest.max(1 + depth(callee, flows, known, above + 1)?);
    }
    known.insert(entry, deepest);
    Ok(deepest)
}

fn new_module() -> Result<JITModule, Unsupported> {
    let mut flags = settings::builder();
    let chosen = [
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("opt_level", "speed"),
        // What it refuses is interpreted, and a test fails; wrong code would be worse than slow code.
        ("enable_verifier", "true"),
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
    ];
    for (name, value) in chosen {
        flags.set(name, value).map_err(refused)?;
    }
    let builder = JITBuilder::with_flags(&chosen, default_libcall_names()).map_err(refused)?;
    Ok(JITModule::new(builder))
}

fn refused(error: impl fmt::Display) -> Unsupported {
    Unsupported(format!("no native code: {error}"))
}

impl Native for Compiled {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn run_all(
        &self,
        entries: &[Pc],
        machine: &mut Machine,
        host: &mut dyn NativeHost,
    ) -> (usize, Outcome) {
        let fits = machine.frame.len() == self.program.frame_words as usize;
        let begins_at_byte = machine.packet.cursor().is_multiple_of(8);
        if fits && (begins_at_byte || !self.aligned) {
            // SAFETY: the code was made from this program and is there as long as `self`.
            unsafe { context::run_all(&self.entries, entries, &self.tables, machine, host) }
        } else {
            self.interpret(entries, machine, host)
        }
    }

    fn reset(&self, machine: &mut Machine) {
        // A program that keeps fields of invalid headers has its own idea of a fresh frame.
        match self.program.keeps_invalid {
            true => machine.reset(&self.tables.prepared),
            false => machine.reset_only(&self.remembered),
        }
    }

    fn paths(&self, segment: &Segment, paths: &[Path]) -> Option<Arc<dyn Paths>> {
        if self.program.keeps_invalid {
            return None;
        }
        let mut known = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (segment.clone(), paths.to_vec());
        match known.get(&key) {
            Some(None) => return None,
            Some(Some(code)) => {
                if let Some(code) = code.upgrade() {
                    return Some(code);
                }
            }
            None => {}
        }
        let tables = Arc::clone(&self.tables);
        let compiled = paths::compile(&self.tables.prepared, tables, segment, paths);
        let compiled = compiled.ok().map(Arc::new);
        known.insert(key, compiled.as_ref().map(Arc::downgrade));
        Some(compiled?)
    }
}

impl Compiled {
    #[cold]
    fn interpret(
        &self,
        entries: &[Pc],
        machine: &mut Machine,
        host: &mut dyn NativeHost,
    ) -> (usize, Outcome) {
        let (prepared, mut host) = (&self.tables.prepared, Untraced(host));
        let mut last = (0, Outcome::Done);
        for (index, entry) in entries.iter().enumerate() {
            let outcome = interp::run(prepared, *entry, machine, &mut host, &mut NoTrace);
            last = (index, outcome);
            let more = index + 1 < entries.len();
            if outcome != Outcome::Done || more && !host.go_on(index, machine) {
                break;
            }
        }
        last
    }
}

/// A native host for the interpreter, which has no tracer for it.
struct Untraced<'a>(&'a mut dyn NativeHost);

impl Untraced<'_> {
    fn go_on(&mut self, last: usize, machine: &mut Machine) -> bool {
        let length = machine.packet.length() as i64 + machine.length_delta;
        self.0.between(last, &mut machine.frame, length)
    }
}

impl Host for Untraced<'_> {
    fn lookup(&mut self, table: TableId, key: &[u64]) -> Lookup<'_> {
        self.0.lookup(table, key)
    }

    fn call<T: Tracer>(
        &mut self,
        call: CallId,
        machine: &mut Machine,
        _: &mut T,
    ) -> Result<(), Halt> {
        self.0.call(call, machine)
    }

    fn in_value_set(&mut self, set: u32, key: &[u64]) -> bool {
        self.0.in_value_set(set, key)
    }

    fn cell(&mut self, call: CallId, index: u64) -> Option<&[u64]> {
        self.0.cell(call, index)
    }

    fn put_cell(&mut self, call: CallId, index: u64, words: &[u64]) {
        self.0.put_cell(call, index, words);
    }
}
