//! Which fields a packet's way through the program has written, for architectures whose metadata mean
//! nothing until somebody writes them. Each such field has a word beside it that the code sets with
//! every write.

use crate::interp_access::{accesses, Access};
use crate::ir::{ArgValue, ExternCall, Op, Pc, Program, Slot};

/// Key of the storage with the words: one for each field that the architecture asked for, in its
/// order, and behind them those of copies of these fields.
pub const WRITTEN: &str = "written";

/// A field and the word that says whether it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    pub field: Slot,
    pub note: Slot,
}

/// Lets every write of a noted field set its word. A copy of several words takes the words of the
/// noted fields in it along; so a struct handed through parameters and back is as written as it was.
pub(crate) fn note_writes(program: &mut Program, noted: &[Noted]) {
    if noted.is_empty() {
        return;
    }
    let (zero, one) = (constant(program, 0), constant(program, 1));
    let mut code = Vec::with_capacity(program.code.len());
    let mut spans = Vec::with_capacity(program.spans.len());
    let mut moved = Vec::with_capacity(program.code.len() + 1);
    for (op, span) in program.code.iter().zip(&program.spans) {
        moved.push(code.len() as Pc);
        code.push(*op);
        for (d, s) in notes(program, noted, op, zero, one) {
            code.push(Op::Mov { d, s });
        }
        spans.resize(code.len(), *span);
    }
    moved.push(code.len() as Pc);
    (program.code, program.spans) = (code, spans);
    retarget(program, |pc| moved.get(pc as usize).copied().unwrap_or(pc));
}

/// The words that `op` changes, and where each gets its value.
fn notes(program: &Program, noted: &[Noted], op: &Op, zero: Slot, one: Slot) -> Vec<(Slot, Slot)> {
    if let Op::Extern { call } = op {
        if let Some(note) = invalidated(program.calls.get(*call as usize), noted) {
            return vec![(note, zero)];
        }
    }
    let mut found = Vec::new();
    // An index that makes no sense is found when the program is prepared to run.
    let _ = accesses(program, op, &mut |access| {
        let Access::Write { slot, n } = access else {
            return;
        };
        for own in noted
            .iter()
            .filter(|own| (slot..slot + n).contains(&own.field))
        {
            let value = match *op {
                Op::Zero { .. } | Op::Undefine { .. } => zero,
                Op::MovN { d, s, .. } => {
                    let from = s + (own.field - d);
                    let source = noted.iter().find(|other| other.field == from);
                    source.map_or(one, |source| source.note)
                }
                _ => one,
            };
            found.push((own.note, value));
        }
    });
    found
}

/// The word of the field that a call of `invalidate` names.
fn invalidated(call: Option<&ExternCall>, noted: &[Noted]) -> Option<Slot> {
    let call = call.filter(|call| &*call.name == "invalidate")?;
    let ArgValue::Scalar(place) = call.args.first()?.value else {
        return None;
    };
    let own = noted.iter().find(|own| own.field == place.slot)?;
    Some(own.note)
}

/// The slot of a constant, added if the program has none.
fn constant(program: &mut Program, value: u64) -> Slot {
    let at = match program.constants.iter().position(|word| *word == value) {
        Some(at) => at,
        None => {
            program.constants.push(value);
            program.frame_words += 1;
            program.constants.len() - 1
        }
    };
    program.constant_base + at as Slot
}

/// Gives every jump and entry its new target.
fn retarget(program: &mut Program, to: impl Fn(Pc) -> Pc) {
    for op in &mut program.code {
        match op {
            Op::Jmp { t } | Op::JmpIf { t, .. } | Op::JmpIfNot { t, .. } | Op::Call { t } => {
                *t = to(*t)
            }
            _ => {}
        }
    }
    for switch in &mut program.switches {
        switch.cases.iter_mut().for_each(|(_, t)| *t = to(*t));
        switch.default = to(switch.default);
    }
    let blocks = program.blocks.iter_mut().map(|block| &mut block.entry);
    let actions = program.actions.iter_mut().map(|action| &mut action.entry);
    let methods = program
        .instances
        .iter_mut()
        .flat_map(|instance| &mut instance.methods)
        .map(|method| &mut method.entry);
    for entry in blocks.chain(actions).chain(methods) {
        *entry = to(*entry);
    }
}

/// Lets the fields of a header keep their values whatever happens to its validity, which is then a
/// bit like any other: the way of hardware whose fields are registers.
pub fn headers_keep_fields(program: &mut Program) {
    let (zero, one) = (constant(program, 0), constant(program, 1));
    let field_of = |slot: Slot, valid: Slot| {
        let mut fields = program.vars.iter();
        fields.any(|var| var.header == Some(valid) && var.place.slot == slot)
    };
    let change = |op: &Op| match *op {
        Op::MovIf { d, s, c } if field_of(d, c) => Op::Mov { d, s },
        Op::MovNIf { d, s, c, n } if field_of(d, c) => Op::MovN { d, s, n: n.into() },
        Op::SetValid { base, .. } => Op::Mov { d: base, s: one },
        Op::SetInvalid { base, .. } => Op::Mov { d: base, s: zero },
        op => op,
    };
    let code: Vec<Op> = program.code.iter().map(change).collect();
    program.code = code;
    for dynamic in &mut program.dynamic {
        dynamic.valid = None;
    }
}

/// Whether any instruction that can run reads the word at `slot`.
pub fn reads(program: &Program, slot: Slot) -> bool {
    let in_key = |table: &crate::ir::Table| {
        (table.key..table.key + table.key_words).contains(&slot) && !table.actions.is_empty()
    };
    program.tables.iter().any(in_key)
        || program.code.iter().any(|op| {
            let mut read = false;
            // As above: an index without sense is found elsewhere.
            let _ = accesses(program, op, &mut |access| {
                if let Access::Read { slot: at, n } = access {
                    read |= (at..at + n).contains(&slot);
                }
            });
            read
        })
}
