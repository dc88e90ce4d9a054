//! What a client configures beside the entries of match-action tables: ports, replication, mirrors,
//! the generator, filters, groups of members, value sets.
//!
//! All of it is rows: a key, and the data that clients have set. A row is checked against the schema
//! and kept as written, so that it is read back; what follows from it for the switch is put there
//! once for each batch.

mod filters;
mod generator;
mod hashes;
mod mirrors;
mod ports;
mod push;
mod replication;
mod rows;
mod selectors;
mod value_sets;

pub(super) use filters::{check_wred, lpf_of, wred_of};
pub use rows::{checked, read, untouched, usage, write};

use crate::messages::{DataValue, IdleMode, IdleTable, PreDevice};
use crate::schema::{is_fixed, Kind, Schema, Table};
use crate::server::attributes::Attributes;
use crate::server::counts::Counts;
use crate::server::direct::Change;
use crate::server::entries::Sweep;
use crate::server::hits::Hits;
use crate::server::{ALL_PIPES, PIPES};
use p4_runtime::Refusal;
use p4_state::State;
use p4_time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// The bytes of each field of a key, and of its mask or upper end.
type Parts = Vec<(Vec<u8>, Vec<u8>)>;

/// Which row: the pipe that it is for, or all of them, and its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowKey {
    pub pipe: u32,
    pub parts: Parts,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub action: u32,
    pub fields: BTreeMap<u32, DataValue>,
}

/// A change that may have to be taken back.
struct Undo {
    table: u32,
    key: RowKey,
    before: Option<Row>,
}

#[derive(Default)]
pub struct Chip {
    /// Whose tables requests are about now, and what is kept of them
    pub(super) program: usize,
    pub(super) own: Own,
    /// The same of the other programs
    others: BTreeMap<usize, Own>,
    /// Of the tables that all programs share
    rows: Rows,
    attributes: Attributes,
    /// What is not in the switch yet
    undo: Vec<Undo>,
    /// What entries are to have once the switch has taken a request
    pub(super) direct: Vec<Change>,
    device: Vec<PreDevice>,
    /// Members of ECMP groups by their places
    places: BTreeMap<u32, Vec<Option<u32>>>,
    /// Ports that clients have disabled, ports without a link, and which of both the generator has
    /// seen go down
    disabled: BTreeSet<u16>,
    unlinked: BTreeSet<u16>,
    seen_down: BTreeSet<u16>,
    /// Ports that have come or gone since clients were told
    ports: Vec<(u16, bool)>,
    /// What ports have counted, and had when clients set their counters
    counts: BTreeMap<u16, PortCounts>,
    counted_before: BTreeMap<u16, PortCounts>,
    /// What applications of the generator had counted when clients set their counters back
    counted: BTreeMap<(u8, u8), generator::Counted>,
    /// Ports whose loopback is in force
    looped: BTreeSet<u16>,
}

type Rows = BTreeMap<u32, BTreeMap<RowKey, Row>>;

/// What is kept of a program's own tables, whose ids another program may have, too.
#[derive(Default)]
pub(super) struct Own {
    rows: Rows,
    attributes: Attributes,
    pub hits: Hits,
    pub fetched: Counts,
    /// When clients last said how entries of a table age, in picoseconds
    pub sweeps: BTreeMap<u32, u64>,
    /// For tables that pipes do not share, the scope of each pipe
    pub scopes: BTreeMap<u32, Vec<u8>>,
    /// Direct filters as clients have set them, by the name of a table's part and the entry's number
    pub filters: BTreeMap<(String, u64), Row>,
}

/// Frames and octets without their checksums, since the port was made.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortCounts {
    pub received: (u64, u64),
    pub sent: (u64, u64),
}

impl Chip {
    /// Notes what ports have counted, if it is known.
    pub(super) fn take_counts(&mut self, counts: Option<BTreeMap<u16, PortCounts>>) {
        self.counts = counts.unwrap_or_default();
    }

    /// From now on requests are about the tables of this program, and of the chip.
    pub fn turn_to(&mut self, program: usize) {
        if program != self.program {
            let own = self.others.remove(&program).unwrap_or_default();
            let before = std::mem::replace(&mut self.own, own);
            self.others.insert(self.program, before);
            self.program = program;
        }
    }

    fn all_rows(&self, table: u32) -> &Rows {
        match is_fixed(table) {
            true => &self.rows,
            false => &self.own.rows,
        }
    }

    fn all_rows_mut(&mut self, table: u32) -> &mut Rows {
        match is_fixed(table) {
            true => &mut self.rows,
            false => &mut self.own.rows,
        }
    }

    /// What clients have said of a table, and of others.
    pub(super) fn attributes_of(&self, table: u32) -> &Attributes {
        match is_fixed(table) {
            true => &self.attributes,
            false => &self.own.attributes,
        }
    }

    pub(super) fn attributes_mut(&mut self, table: u32) -> &mut Attributes {
        match is_fixed(table) {
            true => &mut self.attributes,
            false => &mut self.own.attributes,
        }
    }

    fn row(&self, table: u32, key: &RowKey) -> Option<&Row> {
        self.all_rows(table).get(&table)?.get(key)
    }

    fn rows_of(&self, table: u32) -> impl Iterator<Item = (&RowKey, &Row)> {
        self.all_rows(table).get(&table).into_iter().flatten()
    }

    fn set(&mut self, table: u32, key: RowKey, row: Option<Row>) {
        let rows = self.all_rows_mut(table).entry(table).or_default();
        let before = match row {
            Some(row) => rows.insert(key.clone(), row),
            None => rows.remove(&key),
        };
        self.undo.push(Undo { table, key, before });
    }

    /// How many changes there have been since the last [`Chip::settle`].
    pub fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Takes all changes back that were made after `mark`, and what would have followed.
    pub fn roll_back(&mut self, mark: usize) {
        self.direct.clear();
        self.device.clear();
        while self.undo.len() > mark {
            let Some(Undo { table, key, before }) = self.undo.pop() else {
                return;
            };
            let rows = self.all_rows_mut(table).entry(table).or_default();
            match before {
                Some(row) => rows.insert(key, row),
                None => rows.remove(&key),
            };
        }
    }

    /// The names of the parts of a match-action table that a target means.
    pub(super) fn parts(&self, table: &Table, pipe: u32) -> Result<Vec<String>, Refusal> {
        let name = |scope| State::scoped_name(table.source(), scope);
        Ok(self.scopes_of(table, pipe)?.map(name).collect())
    }

    /// The pipes whose cells a target means: its own scope's.
    pub(super) fn pipes_of(&self, table: &Table, pipe: u32) -> Result<Vec<u32>, Refusal> {
        let Some(of_pipe) = self.own.scopes.get(&table.id).filter(|_| pipe != ALL_PIPES) else {
            return Ok(match pipe {
                ALL_PIPES => (0..PIPES).collect(),
                pipe => vec![pipe],
            });
        };
        let meant = self.scopes_of(table, pipe)?;
        let pipes = (0..PIPES).zip(of_pipe);
        let pipes = pipes.filter(|(_, scope)| meant.contains(scope));
        Ok(pipes.map(|(pipe, _)| pipe).collect())
    }

    /// The scope in which a target's packets look for entries; `None`: there are several.
    pub(super) fn scope_of(&self, table: &Table, pipe: u32) -> Option<u8> {
        let of_pipe = self
            .own
            .scopes
            .get(&table.id)
            .map_or(&[][..], Vec::as_slice);
        match of_pipe.iter().all(|own| *own == 0) {
            true => Some(0),
            false => of_pipe.get(pipe as usize).copied(),
        }
    }

    /// Whether a target is the one that a scope's entries are written with.
    pub(super) fn stands_for_its_scope(&self, table: &Table, pipe: u32) -> bool {
        match self.scope_of(table, pipe) {
            None => true,
            Some(scope) => pipe == self.pipe_of(table, scope),
        }
    }

    /// The pipes of a scope.
    pub(super) fn pipes_in(&self, table: &Table, scope: u8) -> Vec<u32> {
        let of_pipe = self.own.scopes.get(&table.id);
        let is_in = |pipe: &u32| of_pipe.is_none_or(|own| own.get(*pipe as usize) == Some(&scope));
        (0..PIPES).filter(is_in).collect()
    }

    /// The target that a scope's entries are written with.
    pub(super) fn pipe_of(&self, table: &Table, scope: u8) -> u32 {
        let of_pipe = self
            .own
            .scopes
            .get(&table.id)
            .map_or(&[][..], Vec::as_slice);
        if of_pipe.iter().all(|own| *own == 0) {
            return ALL_PIPES;
        }
        let first = of_pipe.iter().position(|own| *own == scope);
        first.map_or(ALL_PIPES, |pipe| pipe as u32)
    }

    /// The scopes that a target means. A pipe stands for its scope if it is the first one in it.
    pub(super) fn scopes_of(
        &self,
        table: &Table,
        pipe: u32,
    ) -> Result<RangeInclusive<u8>, Refusal> {
        let of_pipe = self
            .own
            .scopes
            .get(&table.id)
            .map_or(&[][..], Vec::as_slice);
        let last = of_pipe.iter().copied().max().unwrap_or(0);
        if last == 0 || pipe == ALL_PIPES {
            return Ok(0..=last);
        }
        let scope = of_pipe.get(pipe as usize).copied().unwrap_or(0);
        let first = of_pipe.iter().position(|own| *own == scope);
        match first == Some(pipe as usize) {
            true => Ok(scope..=scope),
            false => {
                let message = format!(
                    "{}: pipe {pipe} shares a scope with pipe {}; name that one",
                    table.name,
                    first.unwrap_or(0)
                );
                Err(Refusal::invalid(message))
            }
        }
    }

    /// How a table's entries age.
    pub(super) fn idle(&self, table: u32) -> IdleTable {
        self.own.attributes.idle(table)
    }

    /// How far a table's sweeps are at `now` that tell clients of idle entries; `None`: it has none.
    pub(super) fn sweep(&self, table: u32, now: Time) -> Option<Sweep> {
        let start = *self.own.sweeps.get(&table)?;
        let idle = self.idle(table);
        let told = idle.mode == IdleMode::Notify as i32;
        told.then(|| Sweep::new(&idle, start, now.picos()))
    }
}

/// The table of a kind of which a chip has one.
fn the_table(schema: &Schema, kind: Kind) -> Option<&Table> {
    schema.tables.iter().find(|table| table.kind == kind)
}
