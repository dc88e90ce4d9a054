//! What clients write and read, in the engine's terms.
//!
//! An update of BF Runtime becomes updates of [`p4_state`], which checks and applies them; what it
//! refuses is answered with the codes of the SDE.

mod attributes;
mod chip;
mod counts;
mod direct;
mod entries;
mod hits;
mod names;
mod notices;
mod read;
mod service;
mod values;
mod write;

pub use chip::{Chip, PortCounts};
pub use read::read;
pub use service::{listed, refused, reported, Found, Job, Plant, Server, Sink, Stream, Written};
pub use write::{write, Done};

use crate::messages::{Entity, EntityKind, EntryName, TableEntry, TableKey};
use crate::schema::{Kind, Schema, Table};
use p4_runtime::{Code, Refusal};
use p4_time::Time;

/// Pipes of a chip; each has registers and meters of its own.
pub const PIPES: u32 = 4;
/// In place of a pipe's number: all of them
pub const ALL_PIPES: u32 = 0xffff;

/// What requests are about: the tables of a program and of the chip, and which pipes.
#[derive(Clone, Copy)]
pub struct Scope<'s> {
    pub schema: &'s Schema,
    pub pipe: u32,
    /// Ingress, egress or 0xff for both, and a parser or 0xff for all, as far as it matters
    pub direction: u32,
    pub parser: u32,
    pub now: Time,
}

/// The key of the one entry that a client names.
fn key_of(asked: &TableEntry) -> Option<&TableKey> {
    match &asked.name {
        Some(EntryName::Key(key)) if !key.fields.is_empty() => Some(key),
        _ => None,
    }
}

/// Whether a client asks for one entry, by its key.
fn names_one(asked: &Entity) -> bool {
    match &asked.kind {
        Some(EntityKind::Entry(entry)) => key_of(entry).is_some(),
        _ => false,
    }
}

fn no_entry(table: &Table) -> Refusal {
    let message = format!("{} has no entry with this key", table.name);
    Refusal::new(Code::NotFound, message)
}

impl<'s> Scope<'s> {
    fn table(self, id: u32) -> Result<&'s Table, Refusal> {
        let found = self.schema.table(id);
        found.ok_or_else(|| Refusal::new(Code::NotFound, format!("there is no table {id}")))
    }

    /// What holds the members of an action profile in the engine: itself, or the selectors that
    /// choose among them.
    fn holders(self, table: &Table) -> Vec<&'s str> {
        let users = self.schema.tables.iter();
        let users = users.filter(|own| own.depends_on.contains(&table.id));
        let mut holders: Vec<&str> = Vec::new();
        for user in users {
            match user.kind {
                Kind::Selector => holders.push(user.source()),
                Kind::MatchActionIndirect => {
                    let own = self.schema.table(table.id);
                    holders.extend(own.map(Table::source));
                }
                _ => {}
            }
        }
        holders.sort_unstable();
        holders.dedup();
        holders
    }

    /// The scope of an entry that says which itself.
    fn of(self, entry: &TableEntry) -> Scope<'s> {
        match entry.entry_tgt {
            Some(target) => Scope {
                pipe: target.pipe_id,
                direction: target.direction,
                parser: target.prsr_id,
                ..self
            },
            None => self,
        }
    }
}
