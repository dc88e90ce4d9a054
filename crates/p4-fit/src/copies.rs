//! Local variables that hold what can be computed anew where they are read.
//!
//! The chip's compiler puts the expression in the variable's place, so the variable costs no stage.
//! This holds for variables of controls, in statements and conditions of apply blocks.

use crate::model::Access;
use crate::reads::Effect;
use crate::walk::Walk;
use std::collections::HashMap;

/// What was read to compute a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    pub reads: Vec<Access>,
    pub crossbar: Vec<Access>,
}

/// By field; all of it was written.
pub(crate) type Copies = HashMap<u32, Copied>;

impl Walk<'_, '_> {
    /// Reads `accesses`, or what their values were computed from.
    pub fn read(&mut self, accesses: &[Access], effect: &mut Effect, crossbar: bool) {
        for access in accesses {
            let copied = match self.in_action {
                true => None,
                false => self.copies.get(&access.field).cloned(),
            };
            match copied {
                Some(copied) => {
                    effect.read(&copied.reads, crossbar);
                    effect.read(&copied.crossbar, true);
                }
                None => effect.read(&[*access], crossbar),
            }
        }
    }

    /// Behind a statement, an action or a table that does `effect`.
    pub fn forget_written(&mut self, effect: &Effect) {
        self.spend((effect.writes.len() * self.copies.len()) as u64);
        for write in &effect.writes {
            let written = write.access;
            self.copies.retain(|field, copied| {
                let mut sources = copied.reads.iter().chain(&copied.crossbar);
                *field != written.field && !sources.any(|a| Effect::overlaps(a, &written))
            });
        }
    }

    /// Behind a statement that does nothing but write one variable.
    pub fn remember(&mut self, effect: &Effect) {
        let [write] = effect.writes.as_slice() else {
            return;
        };
        let field = write.access.field;
        let whole = self
            .fields
            .get(field as usize)
            .is_some_and(|f| write.access.hi - write.access.lo + 1 == f.width);
        let mut sources = effect.reads.iter().chain(&effect.crossbar);
        let local = self.locals.contains(&field);
        if local && whole && effect.uses.is_empty() && !sources.any(|a| a.field == field) {
            let copied = Copied {
                reads: effect.reads.clone(),
                crossbar: effect.crossbar.clone(),
            };
            self.copies.insert(field, copied);
        }
    }

    /// Keeps what still holds at the end of a branch.
    pub fn keep_common(&mut self, other: &Copies) {
        self.copies
            .retain(|field, copied| other.get(field) == Some(copied));
    }
}
