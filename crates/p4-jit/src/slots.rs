//! Which slots of the frame native code keeps to itself.
//!
//! Most temporaries are written and read by the instructions of one block only. They become values
//! of the function and are never stored. All other slots stay in the frame, where hosts and other
//! blocks find them.

use crate::flow::{End, Flow};
use crate::wide;
use p4_ir::ir::{words, ArgValue, Op, Pc, Program, Slot, ValueKind};
use p4_ir::{accesses, Access};

/// Copies of so many words are done word by word.
pub(crate) const FEW: u32 = 8;
/// Beyond so many words of sets everything stays in the frame: finding more out would take long.
const MAX_WORDS: usize = 1 << 22;

/// What an instruction does with single slots, if native code does it by itself.
#[derive(Default)]
pub(crate) struct Uses {
    pub reads: Vec<Slot>,
    pub writes: Vec<Slot>,
    /// Slots that must be in the frame, because something else gets at them there
    pub shared: Vec<(Slot, u32)>,
}

impl Uses {
    fn read(&mut self, slot: Slot, n: u32) {
        self.reads.extend(slot..slot + n);
    }

    fn write(&mut self, slot: Slot, n: u32) {
        self.writes.extend(slot..slot + n);
    }
}

/// What the instruction at `op` does; reads come before writes.
pub(crate) fn uses(program: &Program, op: &Op) -> Uses {
    let mut uses = Uses::default();
    match *op {
        Op::Mov { d, s } => {
            uses.read(s, 1);
            uses.write(d, 1);
        }
        Op::MovN { d, s, n } if n <= FEW => {
            uses.read(s, n);
            uses.write(d, n);
        }
        Op::MovIf { d, s, c } => {
            uses.reads.extend([s, c, d]);
            uses.write(d, 1);
        }
        Op::MovNIf { d, s, c, n } if u32::from(n) <= FEW => {
            uses.read(c, 1);
            uses.read(s, n.into());
            uses.read(d, n.into());
            uses.write(d, n.into());
        }
        Op::Zero { d, n } | Op::Undefine { d, n } if n <= FEW => uses.write(d, n),
        Op::Alu { d, a, b, .. } | Op::Concat { d, a, b, .. } => {
            uses.reads.extend([a, b]);
            uses.write(d, 1);
        }
        Op::Not { d, a, .. }
        | Op::Neg { d, a, .. }
        | Op::NotBool { d, a }
        | Op::Slice { d, a, .. }
        | Op::SignExtend { d, a, .. } => {
            uses.read(a, 1);
            uses.write(d, 1);
        }
        Op::Insert { d, s, .. } => {
            uses.reads.extend([s, d]);
            uses.write(d, 1);
        }
        Op::Wide { op } if wide::is_inline(&program.wide[op as usize]) => {
            let op = &program.wide[op as usize];
            let [a, b, d] = wide::operands(op);
            uses.read(a.0, a.1);
            uses.read(b.0, b.1);
            if wide::keeps_some(op) {
                uses.read(d.0, d.1);
            }
            uses.write(d.0, d.1);
        }
        Op::Jmp { .. } | Op::Call { .. } | Op::Ret | Op::State { .. } | Op::Trap => {}
        Op::JmpIf { c, .. } | Op::JmpIfNot { c, .. } => uses.read(c, 1),
        Op::Switch { v, .. } => uses.read(v, 1),
        Op::Advance { bits } => uses.read(bits, 1),
        Op::PacketLength { d } => uses.write(d, 1),
        Op::Reject { err } => uses.read(err, 1),
        Op::Lookahead { w, d } if w <= SHORT_LOOK => uses.write(d, 1),
        Op::InValueSet { set, d, key } => {
            let fields = &program.value_sets[set as usize].fields;
            let n = fields.iter().map(|field| words(field.place.width)).sum();
            uses.shared.push((key, n));
            uses.write(d, 1);
        }
        Op::Apply { table } => {
            let table = &program.tables[table as usize];
            uses.shared.push((table.key, table.key_words));
            uses.write(table.hit, 1);
            uses.write(table.chosen, 1);
        }
        _ => {
            // The program has been checked, so this finds nothing wrong.
            let _ = accesses(program, op, &mut |access| match access {
                Access::Read { slot, n } | Access::Write { slot, n } => uses.shared.push((slot, n)),
                Access::Jump(_) => {}
            });
        }
    }
    uses
}

/// A look ahead of so many bits is one load, wherever in a byte it begins.
pub(crate) const SHORT_LOOK: u32 = 57;

/// A set of slots
#[derive(Clone, PartialEq)]
struct Slots(Vec<u64>);

impl Slots {
    fn none(words: usize) -> Slots {
        Slots(vec![0; words])
    }

    fn add(&mut self, slot: Slot) {
        if let Some(word) = self.0.get_mut(slot as usize / 64) {
            *word |= 1 << (slot % 64);
        }
    }

    fn has(&self, slot: Slot) -> bool {
        let word = self.0.get(slot as usize / 64);
        word.is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    fn join(&mut self, other: &Slots) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

/// For each slot whether it is a temporary. `flows` are all functions; `is_called` says which of
/// them others call.
pub(crate) fn temporaries(program: &Program, flows: &[(Pc, Flow)], called: &[Pc]) -> Vec<bool> {
    let frame = program.constant_base as usize;
    let size = frame.div_ceil(64);
    let nodes: usize = flows.iter().map(|(_, flow)| flow.nodes.len()).sum();
    if size * nodes > MAX_WORDS {
        return vec![false; frame];
    }
    let mut shared = published(program, size);
    // Slots that functions have used so far, and those that a function that others call has.
    let (mut used, mut used_below) = (Slots::none(size), Slots::none(size));
    for (entry, flow) in flows {
        let own = used_slots(program, flow, size, &mut shared);
        let is_called = called.contains(entry);
        // What one function leaves for another is in the frame.
        let clashes = if is_called { &used } else { &used_below };
        let both = own.0.iter().zip(&clashes.0).map(|(a, b)| a & b).collect();
        shared.join(&Slots(both));
        used.join(&own);
        if is_called {
            used_below.join(&own);
        }
        shared.join(&needed_at_entry(program, flow, size));
    }
    (0..frame as Slot).map(|slot| !shared.has(slot)).collect()
}

/// The slots that are not temporaries, as runs. All others are written before they are read,
/// whoever executes the program, so nobody minds what an earlier packet has left in them.
pub(crate) fn remembered(temporaries: &[bool]) -> Vec<(Slot, u32)> {
    let mut runs: Vec<(Slot, u32)> = Vec::new();
    let slots = temporaries.iter().enumerate();
    for (slot, _) in slots.filter(|(_, is_temporary)| !**is_temporary) {
        match runs.last_mut() {
            // A short gap costs less than another run.
            Some((first, n)) if slot as u32 - (*first + *n) <= GAP => *n = slot as u32 + 1 - *first,
            _ => runs.push((slot as u32, 1)),
        }
    }
    runs
}

/// Words that may lie between two words of a run
const GAP: u32 = 64;

/// Slots that somebody outside of the code reads or writes.
fn published(program: &Program, size: usize) -> Slots {
    let mut slots = Slots::none(size);
    let mut add = |slot: Slot, n: u32| (slot..slot.saturating_add(n)).for_each(|s| slots.add(s));
    for storage in &program.storages {
        add(storage.base, storage.words);
    }
    for action in 0..program.actions.len() as u32 {
        let (slot, n) = crate::context::parameters(program, action);
        add(slot, n);
    }
    for table in &program.tables {
        add(table.key, table.key_words);
    }
    let methods = program.instances.iter().flat_map(|own| &own.methods);
    let of_methods = methods.flat_map(|method| {
        let params = method.params.iter().flat_map(|param| &param.places);
        params.chain(&method.result)
    });
    let of_calls = program.calls.iter().flat_map(|call| {
        let args = call.args.iter().flat_map(|arg| match &arg.value {
            ArgValue::Scalar(place) => vec![*place],
            ArgValue::List(leaves) => leaves.iter().map(|leaf| leaf.0).collect(),
            _ => Vec::new(),
        });
        args.chain(call.result.iter().copied()).collect::<Vec<_>>()
    });
    for place in of_methods.copied().chain(of_calls) {
        let length = u32::from(place.kind == ValueKind::Varbit);
        add(place.slot, words(place.width) + length);
    }
    slots
}

fn used_slots(program: &Program, flow: &Flow, size: usize, shared: &mut Slots) -> Slots {
    let mut used = Slots::none(size);
    for node in &flow.nodes {
        let last = (node.plain as usize + 1).min(program.code.len());
        for op in &program.code[node.first as usize..last] {
            let uses = uses(program, op);
            let single = uses.reads.iter().chain(&uses.writes);
            single.for_each(|slot| used.add(*slot));
            let several = uses.shared.into_iter();
            several.for_each(|(slot, n)| (slot..slot + n).for_each(|s| shared.add(s)));
        }
    }
    used
}

/// Slots whose value from before the function may be read in it.
fn needed_at_entry(program: &Program, flow: &Flow, size: usize) -> Slots {
    let own: Vec<(Slots, Slots)> = flow
        .nodes
        .iter()
        .map(|node| {
            let (mut needed, mut written) = (Slots::none(size), Slots::none(size));
            let last = match node.end {
                // The node's last instruction belongs to the node after it.
                End::Next(_) => node.plain,
                _ => (node.plain + 1).min(program.code.len() as Pc),
            };
            for op in &program.code[node.first as usize..last as usize] {
                let uses = uses(program, op);
                for slot in uses.reads {
                    if !written.has(slot) {
                        needed.add(slot);
                    }
                }
                uses.writes.iter().for_each(|slot| written.add(*slot));
            }
            (needed, written)
        })
        .collect();
    let mut before: Vec<Slots> = own.iter().map(|(needed, _)| needed.clone()).collect();
    let mut grown = true;
    while grown {
        grown = false;
        for (id, node) in flow.nodes.iter().enumerate().rev() {
            let mut needed = Slots::none(size);
            for next in node.end.successors() {
                needed.join(&before[next]);
            }
            let written = own[id].1 .0.iter();
            needed.0.iter_mut().zip(written).for_each(|(a, b)| *a &= !b);
            needed.join(&own[id].0);
            if needed != before[id] {
                before[id] = needed;
                grown = true;
            }
        }
    }
    before.swap_remove(0)
}
