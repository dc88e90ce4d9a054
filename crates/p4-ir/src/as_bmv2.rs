//! What p4c and bmv2 make of a program beyond the language, done to a lowered program. docs/bmv2.md
//! lists it; loops, header copies and header comparisons are changed in the lowering itself, keys and
//! assignments by its `bmv2` module.

use crate::interp::errors;
use crate::interp_access::{accesses, Access};
use crate::ir::{Alu, ArgValue, Op, Pc, Program, Slot, ValueKind};

/// Changes `program` to what bmv2 would execute.
pub(crate) fn apply(program: &mut Program) {
    store_to_invalid_headers(program);
    lose_signs_of_registers(program);
    let parsers: Vec<Pc> = program
        .blocks
        .iter()
        .filter(|block| block.is_parser)
        .map(|block| block.entry)
        .collect();
    for entry in parsers {
        drop_dead_stores(program, entry);
    }
    program.keeps_invalid = true;
}

/// bmv2 writes fields of invalid headers like any others.
fn store_to_invalid_headers(program: &mut Program) {
    let is_field = |slot: Slot, valid: Slot| {
        let fields = program.vars.iter().filter(|var| var.header == Some(valid));
        fields.into_iter().any(|var| var.place.slot == slot)
    };
    let change = |op: Op| match op {
        Op::MovIf { d, s, c } if is_field(d, c) => Op::Mov { d, s },
        Op::MovNIf { d, s, c, n } if is_field(d, c) => Op::MovN { d, s, n: n.into() },
        op => op,
    };
    let code: Vec<Op> = program.code.iter().map(|op| change(*op)).collect();
    program.code = code;
    for dynamic in &mut program.dynamic {
        dynamic.valid = None;
    }
}

fn each_access(program: &Program, op: &Op, each: &mut impl FnMut(Access)) {
    // An index that makes no sense is found when the program is prepared to run.
    let _ = accesses(program, op, each);
}

/// bmv2 keeps no signs in registers: what `register<int<W>>.read` gives is not negative until it
/// is computed with. Followed within stretches of code that no jump enters.
fn lose_signs_of_registers(program: &mut Program) {
    let mut entered = vec![false; program.code.len() + 1];
    for (pc, op) in program.code.iter().enumerate() {
        each_access(program, op, &mut |access| {
            if let Access::Jump(target) = access {
                entered[target as usize] = true;
            }
        });
        if matches!(op, Op::Ret | Op::Jmp { .. } | Op::Reject { .. }) {
            entered[pc + 1] = true;
        }
    }
    let mut unsigned: Vec<Slot> = Vec::new();
    let mut changes = Vec::new();
    for (pc, op) in program.code.iter().enumerate() {
        if entered[pc] {
            unsigned.clear();
        }
        let is = |slot: &Slot| unsigned.contains(slot);
        match *op {
            Op::Alu {
                op: Alu::ShrS,
                w,
                d,
                a,
                b,
            } if is(&a) => {
                let op = Alu::Shr;
                changes.push((pc, Op::Alu { op, w, d, a, b }));
            }
            Op::SignExtend { d, a, .. } if is(&a) => changes.push((pc, Op::Mov { d, s: a })),
            _ => {}
        }
        let mut found = match *op {
            Op::Mov { d, s } if is(&s) => vec![d],
            Op::Extern { call } => signed_results(program, call),
            _ => Vec::new(),
        };
        each_access(program, op, &mut |access| {
            if let Access::Write { slot, n } = access {
                unsigned.retain(|own| !(slot..slot + n).contains(own));
            }
        });
        unsigned.append(&mut found);
    }
    for (pc, op) in changes {
        program.code[pc] = op;
    }
}

/// Where `register.read` puts signed numbers of one word.
fn signed_results(program: &Program, call: u32) -> Vec<Slot> {
    let call = program.calls.get(call as usize);
    let reads = call.filter(|call| &*call.name == "register.read");
    match reads
        .and_then(|call| call.args.first())
        .map(|arg| &arg.value)
    {
        Some(ArgValue::Scalar(place)) if place.kind == ValueKind::Int && place.width <= 64 => {
            vec![place.slot]
        }
        _ => Vec::new(),
    }
}

/// A set of slots
type Slots = Vec<u64>;

/// p4c drops assignments in a parser that a later one overwrites on every path, and does not see
/// that `extract`, `lookahead`, `advance` or `verify` between them may end the parser.
fn drop_dead_stores(program: &mut Program, entry: Pc) {
    let reached = reachable(program, entry);
    let words = (program.frame_words as usize).div_ceil(64);
    let everything = vec![u64::MAX; words];
    // What is needed before each instruction; grows until it fits together.
    let mut needed: Vec<Slots> = vec![vec![0; words]; program.code.len()];
    loop {
        let mut grown = false;
        for &pc in reached.iter().rev() {
            let before = needed_before(program, pc, &needed, &everything);
            if before != needed[pc as usize] {
                needed[pc as usize] = before;
                grown = true;
            }
        }
        if !grown {
            break;
        }
    }
    for pc in reached {
        let after = needed_after(program, pc, &needed, &everything);
        let Some((d, n)) = plain_store(&program.code[pc as usize]) else {
            continue;
        };
        let dead = (d..d + n).all(|slot| !has(&after, slot));
        if dead && n > 0 && !is_metadata(program, d) {
            program.code[pc as usize] = Op::Zero { d, n: 0 };
        }
    }
}

/// The architecture reads its own metadata whenever it likes.
fn is_metadata(program: &Program, slot: Slot) -> bool {
    let storage = program.storage("standard_metadata");
    storage.is_some_and(|own| (own.base..own.base + own.words).contains(&slot))
}

fn has(slots: &Slots, slot: Slot) -> bool {
    slots[slot as usize / 64] >> (slot % 64) & 1 == 1
}

fn reachable(program: &Program, entry: Pc) -> Vec<Pc> {
    let mut seen = vec![false; program.code.len()];
    let mut todo = vec![entry];
    while let Some(pc) = todo.pop() {
        let Some(op) = program.code.get(pc as usize) else {
            continue;
        };
        if std::mem::replace(&mut seen[pc as usize], true) {
            continue;
        }
        each_access(program, op, &mut |access| {
            if let Access::Jump(target) = access {
                todo.push(target);
            }
        });
        if !matches!(
            op,
            Op::Jmp { .. } | Op::Switch { .. } | Op::Ret | Op::Reject { .. } | Op::Trap
        ) {
            todo.push(pc + 1);
        }
    }
    (0..program.code.len() as Pc)
        .filter(|pc| seen[*pc as usize])
        .collect()
}

/// An instruction that does nothing but write so many words
fn plain_store(op: &Op) -> Option<(Slot, u32)> {
    match *op {
        Op::Mov { d, .. }
        | Op::Alu { d, .. }
        | Op::Not { d, .. }
        | Op::Neg { d, .. }
        | Op::NotBool { d, .. }
        | Op::Concat { d, .. }
        | Op::Slice { d, .. }
        | Op::SignExtend { d, .. } => Some((d, 1)),
        Op::MovN { d, n, .. } | Op::Zero { d, n } | Op::Undefine { d, n } => Some((d, n)),
        _ => None,
    }
}

fn needed_after(program: &Program, pc: Pc, needed: &[Slots], everything: &Slots) -> Slots {
    let op = &program.code[pc as usize];
    let mut after = vec![0; everything.len()];
    let mut join = |target: Pc| {
        if let Some(slots) = needed.get(target as usize) {
            after.iter_mut().zip(slots).for_each(|(a, b)| *a |= b);
        }
    };
    match *op {
        // A verdict of the language, seen by p4c; the others it takes for impossible.
        Op::Reject { err } => {
            let explicit = program.constant(err) == Some(errors::NO_ERROR.into());
            return match explicit {
                true => everything.clone(),
                false => after,
            };
        }
        Op::Ret | Op::Trap | Op::Call { .. } => return everything.clone(),
        Op::Jmp { t } => join(t),
        _ => {
            each_access(program, op, &mut |access| {
                if let Access::Jump(target) = access {
                    join(target);
                }
            });
            if !matches!(op, Op::Switch { .. }) {
                join(pc + 1);
            }
        }
    }
    after
}

fn needed_before(program: &Program, pc: Pc, needed: &[Slots], everything: &Slots) -> Slots {
    let op = &program.code[pc as usize];
    let mut slots = needed_after(program, pc, needed, everything);
    let kills = match op {
        Op::Extract { layout, base } => {
            let words = program.layouts.get(*layout as usize).map(|l| l.words);
            words.map(|words| (*base, words))
        }
        Op::Lookahead { w, d } => Some((*d, crate::ir::words(*w))),
        _ => plain_store(op),
    };
    for slot in kills.into_iter().flat_map(|(d, n)| d..d + n) {
        slots[slot as usize / 64] &= !(1 << (slot % 64));
    }
    let mut need = |slot: Slot, n: u32| {
        for slot in slot..slot + n {
            slots[slot as usize / 64] |= 1 << (slot % 64);
        }
    };
    each_access(program, op, &mut |access| match access {
        Access::Read { slot, n } => need(slot, n),
        // What is written in part, or perhaps not at all, is needed as it was.
        Access::Write { slot, n } if kills.is_none() => need(slot, n),
        Access::Write { .. } | Access::Jump(_) => {}
    });
    slots
}
