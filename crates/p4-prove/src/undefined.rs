//! What P4 leaves undefined (P4_16, 8.25): an unknown for each variable, and not zero.
//!
//! Undefined are variables and `out` parameters before their first assignment, metadata of a packet
//! that arrives, fields of invalid headers, and fields of a header since it was made valid. It is as
//! the engine has it with noise (`p4_ir::undefined`), but that each variable has one such value.
//!
//! Both programs have the same unknown in a variable that both have. A program equals a reference that
//! sends the same whatever is in these unknowns only if it does not depend on its own; and what both
//! carry around unread costs no question.

use crate::term::{Term, Terms};
use crate::world::Bounds;
use num_bigint::BigUint;
use p4_ir::ir::{words, Program, Slot, ValueKind, Var};
use rustc_hash::FxHashMap;

/// What the names of these unknowns begin with
const PREFIX: &str = "undefined.";

/// Whether an unknown stands for what P4 leaves undefined.
pub(crate) fn is_undefined(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Each word of a program's frame where it has no value.
pub(crate) struct Undefined {
    words: Vec<Term>,
    /// For words of variables whether they belong to a field of a header, and the word that says
    /// whether that is valid
    fields: Vec<Option<Option<Slot>>>,
    /// What holds of these values: that they are of their types
    pub facts: Vec<Term>,
}

impl Undefined {
    /// Zeros if the bounds say so.
    pub fn new(program: &Program, bounds: &Bounds, terms: &mut Terms) -> Undefined {
        let n = program.frame_words as usize;
        let zero = terms.number(0, 64);
        let mut own = Undefined {
            words: vec![zero; n],
            fields: vec![None; n],
            facts: Vec::new(),
        };
        let names = names(program);
        for (index, var) in program.vars.iter().enumerate() {
            if !has_noise(var) {
                continue;
            }
            let width = var.place.width.max(1);
            let first = var.place.slot as usize;
            let slots = first..first + words(width) as usize;
            own.fields[slots.clone()].fill(Some(var.header));
            if !bounds.undefined {
                continue;
            }
            let value = terms.unknown(&format!("{PREFIX}{}.{width}", names[index]), width);
            own.hold(program, var, value, terms);
            for (slot, at) in slots.zip(0u32..) {
                let bits = (width - at * 64).min(64);
                own.words[slot] = terms.slice(value, at * 64, bits);
            }
        }
        own
    }

    /// Enumerations have so many members.
    fn hold(&mut self, program: &Program, var: &Var, value: Term, terms: &mut Terms) {
        let members = match var.place.kind {
            ValueKind::Enum(id) => program.enums.get(id as usize).map(|e| e.members.len()),
            ValueKind::Error => Some(program.errors.len()),
            _ => None,
        };
        let Some(members) = members else {
            return;
        };
        let width = terms.width(value);
        if BigUint::from(members) < BigUint::from(1u8) << width {
            let members = terms.number(members as u64, width);
            self.facts.push(terms.less(value, members));
        }
    }

    pub fn words(&self, slot: Slot, n: u32) -> &[Term] {
        &self.words[slot as usize..(slot + n) as usize]
    }

    /// Fields of headers begin as fields of invalid ones.
    pub fn begin(&self, frame: &mut [Term]) {
        for (slot, field) in self.fields.iter().enumerate() {
            if let Some(Some(_)) = field {
                frame[slot] = self.words[slot];
            }
        }
    }

    /// The word that says whether the header is valid whose field a word belongs to
    pub fn header_of(&self, slot: Slot) -> Option<Slot> {
        self.fields[slot as usize].flatten()
    }

    /// Whether a word belongs to a variable that has a name.
    pub fn is_named(&self, slot: Slot) -> bool {
        self.fields[slot as usize].is_some()
    }
}

/// Validity and the fill of stacks are always defined; a varbit without a value is empty.
fn has_noise(var: &Var) -> bool {
    !matches!(
        var.place.kind,
        ValueKind::Valid | ValueKind::NextIndex | ValueKind::Varbit
    )
}

/// A name for each variable: that of the architecture's storage where it is in one, so that it does
/// not depend on what a program calls its parameters; else its own, and which of that name it is.
fn names(program: &Program) -> Vec<String> {
    let mut shared: FxHashMap<u32, String> = FxHashMap::default();
    for storage in &program.storages {
        for (leaf, var) in &storage.leaves {
            let name = || format!("{}.{leaf}", storage.key);
            shared.entry(*var).or_insert_with(name);
        }
    }
    let mut met: FxHashMap<&str, u32> = FxHashMap::default();
    let vars = program.vars.iter().zip(0u32..);
    let named = vars.map(|(var, index)| {
        shared.remove(&index).unwrap_or_else(|| {
            let count = met.entry(&*var.name).or_default();
            *count += 1;
            format!("{}#{count}", var.name)
        })
    });
    named.collect()
}
