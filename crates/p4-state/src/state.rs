//! The state of one switch, from the data plane's side.

use crate::cells::{Array, Color, Count, Meter, MeterUnit, Registers};
use crate::error::WriteError;
use crate::journal::Journal;
use crate::matcher::Pattern;
use crate::near::Near;
use crate::profile::Profile;
use crate::recent::Recent;
use crate::replication::{CloneSession, Replica};
use crate::scopes::Routes;
use crate::table::{Leads, Table};
use crate::update::Update;
use p4_ir::interp::Plain;
use p4_ir::ir::{InstanceId, Program, TableId};
use p4_syntax::span::Span;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;

/// What an architecture wants an extern instance to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Resource {
    /// Nothing that a control plane changes
    #[default]
    None,
    Counter {
        size: u64,
    },
    /// Widths in bits of the leaves of the cells' type
    Register {
        size: u64,
        widths: Vec<u32>,
    },
    Meter {
        size: u64,
        unit: MeterUnit,
    },
    DirectCounter,
    DirectMeter {
        unit: MeterUnit,
    },
    Profile {
        size: Option<u64>,
        selector: bool,
    },
}

/// What an instance is made of.
#[derive(Clone, Debug, Default)]
#[repr(align(64))] // one line of the cache
pub(crate) enum Cells {
    #[default]
    None,
    Counters(Array<Count>),
    Registers(Registers),
    Meters(MeterUnit, Array<Meter>),
    DirectCounter,
    DirectMeter(MeterUnit),
    Profile(Box<Profile>),
}

const _: () = assert!(size_of::<Cells>() == 64);

/// A program whose tables or externs cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    pub message: String,
    pub span: Span,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BuildError {}

/// What a table answers to a packet.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    pub hit: bool,
    /// Index in the table's list of actions; beyond it if nothing is to be done (an empty group)
    pub action: u32,
    pub data: &'a [u64],
    /// Number of the entry that hit
    pub entry: Option<u64>,
    /// What the table's direct meter says, on a hit
    pub color: Option<Color>,
}

/// By instance; most programs have few.
pub(crate) type AllCells = Near<Cells, 2>;

/// Tables, externs and groups of one switch. What every packet needs comes first, and is here itself.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct State {
    /// By table of the program
    pub(crate) recent: Near<Recent, 4>,
    pub(crate) cells: AllCells,
    pub(crate) journal: Journal,
    pub(crate) tables: Vec<Table>,
    pub(crate) program: Arc<Program>,
    pub(crate) value_sets: Vec<Vec<Pattern>>,
    pub(crate) groups: FxHashMap<u32, Vec<Replica>>,
    pub(crate) sessions: FxHashMap<u32, CloneSession>,
    pub(crate) routes: Routes,
    /// Pipes of a chip, whose parsers have value sets of their own; here they share them
    pub(crate) set_holders: u64,
    /// Do as bmv2's tables do where P4Runtime and the language say otherwise.
    pub(crate) bmv2_compat: bool,
}

impl State {
    /// The state that `program` starts with; `resources` says for each of its extern instances
    /// what it is.
    pub fn new(program: Arc<Program>, resources: &[Resource]) -> Result<State, BuildError> {
        crate::build::build(program, resources)
    }

    /// The same with bmv2's ways: entries of the program are immutable even where they are not const,
    /// of entries with the same priority the one in the lowest slot wins and slots are used again,
    /// optional keys take any mask, value sets have no bound, and a register's value is cut to its
    /// width.
    pub fn with_bmv2_compat(mut self, on: bool) -> State {
        self.bmv2_compat = on;
        for table in &mut self.tables {
            table.reuses_handles = on;
            table.const_entries |= on && table.has_program_entries();
        }
        self
    }

    /// The same for a chip with so many pipes, of which each fills its value sets itself.
    pub fn with_pipes(mut self, pipes: u64) -> State {
        self.set_holders = pipes;
        self
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Applies all updates in order, or, if any is wrong, none of them.
    pub fn write(&mut self, batch: &[Update]) -> Result<(), WriteError> {
        self.forget_recent();
        if let [update] = batch {
            // There is nothing to take back.
            let done = self.apply(update).map(drop);
            return done.map_err(|error| WriteError {
                errors: vec![(0, error)],
            });
        }
        let mut undo = Vec::with_capacity(batch.len());
        let mut errors = Vec::new();
        for (index, update) in batch.iter().enumerate() {
            match self.apply(update) {
                Ok(inverse) => undo.push(inverse),
                Err(error) => errors.push((index, error)),
            }
        }
        if errors.is_empty() {
            return Ok(());
        }
        undo.into_iter().rev().for_each(|inverse| inverse.run(self));
        Err(WriteError { errors })
    }

    /// Tables are about to change.
    pub(crate) fn forget_recent(&mut self) {
        self.recent.iter_mut().for_each(Recent::forget);
    }

    /// What [`State::lookup`] would find, if the table has no direct externs, no action profile and
    /// no timeouts, so that nobody need know of the lookup.
    #[inline]
    pub fn lookup_plain(&mut self, id: TableId, key: &[u64]) -> Option<Plain<'_>> {
        let which = self.recent.get(id as usize)?.of(key);
        match which {
            Some(which) => Some(self.recent[id as usize].answer(which)),
            None => self.look_up_anew(id, key),
        }
    }

    /// The same without a look at what was found last. Apart, so that this look can be part of its caller.
    #[inline(never)]
    fn look_up_anew(&mut self, id: TableId, key: &[u64]) -> Option<Plain<'_>> {
        let recent = self.recent.get_mut(id as usize)?;
        let table = self.tables.get_mut(id as usize)?;
        table.answers.as_ref()?;
        let answer = match table.find(key) {
            Some(place) => {
                let (action, data) = table.answers.as_ref()?.get(place)?;
                let hit = true;
                Plain { hit, action, data }
            }
            None => Plain {
                hit: false,
                action: table.default.action,
                data: &table.default.data,
            },
        };
        recent.keep(key, &answer);
        Some(answer)
    }

    /// Looks `key` up for a packet of `bytes` bytes at `now` picoseconds. `choose` picks a member of
    /// a group: it is given the action selector, the group and how many places it has, at least one.
    #[inline]
    pub fn lookup(
        &mut self,
        id: TableId,
        key: &[u64],
        bytes: u64,
        now: u64,
        choose: impl FnOnce(InstanceId, u32, usize) -> Option<usize>,
    ) -> Found<'_> {
        let table = &mut self.tables[id as usize];
        let Some(place) = table.find(key) else {
            return match table.default_leads {
                None => miss(table),
                Some(_) => miss_to_profile(table, &self.cells, choose),
            };
        };
        let direct = table.direct;
        let mut color = None;
        let counts = direct.counter.is_some() || direct.meter.is_some() || table.idle_timeout;
        if counts && self.journal.is_open() {
            if let Some(entry) = table.entry(place) {
                self.journal.note_entry(id, place, entry.measured());
            }
        }
        if table.idle_timeout {
            if let Some(entry) = table.entry_mut(place) {
                entry.measured_mut().idle.hit(now);
            }
        }
        if direct.counter.is_some() || direct.meter.is_some() {
            if let Some(entry) = table.entry_mut(place) {
                let measured = entry.measured_mut();
                if direct.counter.is_some() {
                    measured.count.add(bytes.saturating_sub(direct.uncounted));
                }
                if let Some(Cells::DirectMeter(unit)) =
                    direct.meter.and_then(|id| self.cells.get(id as usize))
                {
                    let bytes = bytes.saturating_sub(direct.unmetered);
                    color = Some(measured.meter.execute(units(*unit, bytes), now));
                }
            }
        }
        let Some(entry) = table.entry(place) else {
            return miss(table);
        };
        let profile = || match direct.profile.and_then(|id| self.cells.get(id as usize)) {
            Some(Cells::Profile(profile)) => Some(profile),
            _ => None,
        };
        let member = match &entry.leads {
            Leads::Action(action, data) => {
                let entry = Some(entry.handle);
                return Found {
                    hit: true,
                    action: *action,
                    data,
                    entry,
                    color,
                };
            }
            Leads::Member(member) => profile().and_then(|profile| profile.members.get(member)),
            Leads::Group(group) => {
                let picked = |id| profile()?.pick(*group, |places| choose(id, *group, places));
                direct.profile.and_then(picked)
            }
        };
        let (action, data) = member.map_or((u32::MAX, &[][..]), |m| (m.action, &*m.data));
        Found {
            hit: true,
            action,
            data,
            entry: Some(entry.handle),
            color,
        }
    }

    /// Whether `key` is in a value set.
    pub fn in_value_set(&self, set: u32, key: &[u64]) -> bool {
        let members = self.value_sets.get(set as usize);
        members.is_some_and(|members| members.iter().any(|member| member.matches(key)))
    }

    /// Number of cells of an array of counters, registers or meters; 0 for other instances.
    pub fn size(&self, instance: InstanceId) -> u64 {
        match self.cells.get(instance as usize) {
            Some(Cells::Counters(cells)) => cells.size(),
            Some(Cells::Registers(registers)) => registers.size,
            Some(Cells::Meters(_, cells)) => cells.size(),
            _ => 0,
        }
    }

    /// From now on a direct counter or meter takes each packet to have so many bytes less.
    pub fn take_off(&mut self, instance: InstanceId, bytes: u64) {
        for table in &mut self.tables {
            if table.direct.counter == Some(instance) {
                table.direct.uncounted = bytes;
            }
            if table.direct.meter == Some(instance) {
                table.direct.unmetered = bytes;
            }
        }
    }

    /// Counts a packet; `false` if there is no such cell.
    #[inline]
    pub fn count(&mut self, counter: InstanceId, index: u64, bytes: u64) -> bool {
        let Some(Cells::Counters(cells)) = self.cells.get_mut(counter as usize) else {
            return false;
        };
        let cell = cells.get_mut(index);
        cell.map(|cell| cell.add(bytes)).is_some()
    }

    /// The words of a register's cell, each leaf of its type after the other.
    pub fn register(&self, register: InstanceId, index: u64) -> Option<&[u64]> {
        match self.cells.get(register as usize) {
            Some(Cells::Registers(registers)) => registers.cell(index),
            _ => None,
        }
    }

    /// The same to be written.
    pub fn register_mut(&mut self, register: InstanceId, index: u64) -> Option<&mut [u64]> {
        match self.cells.get_mut(register as usize) {
            Some(Cells::Registers(registers)) => {
                let cell = registers.cell_mut(index)?;
                self.journal.note_register(register, index, cell);
                Some(cell)
            }
            _ => None,
        }
    }

    /// Asks a meter about a packet of `bytes` bytes; `None` if there is no such cell.
    pub fn meter(&mut self, meter: InstanceId, index: u64, bytes: u64, now: u64) -> Option<Color> {
        let Some(Cells::Meters(unit, cells)) = self.cells.get_mut(meter as usize) else {
            return None;
        };
        if cells.get(index)?.config().is_none() {
            return Some(Color::Green); // and makes no page
        }
        let cell = cells.get_mut(index)?;
        self.journal.note_meter(meter, index, cell);
        Some(cell.execute(units(*unit, bytes), now))
    }

    /// The copies that a multicast group makes, in order.
    pub fn group(&self, group: u32) -> Option<&[Replica]> {
        self.groups.get(&group).map(Vec::as_slice)
    }

    /// How many places a group of an action selector has; 0 if there is no such group.
    pub fn group_places(&self, selector: InstanceId, group: u32) -> usize {
        match self.cells.get(selector as usize) {
            Some(Cells::Profile(profile)) => profile.groups.get(&group).map_or(0, Vec::len),
            _ => 0,
        }
    }

    pub fn session(&self, session: u32) -> Option<CloneSession> {
        self.sessions.get(&session).copied()
    }
}

fn miss(table: &Table) -> Found<'_> {
    let ir = &table.default;
    Found {
        hit: false,
        action: ir.action,
        data: &ir.data,
        entry: None,
        color: None,
    }
}

/// A miss in a table whose default is a member or group of its action profile.
fn miss_to_profile<'a>(
    table: &'a Table,
    cells: &'a AllCells,
    choose: impl FnOnce(InstanceId, u32, usize) -> Option<usize>,
) -> Found<'a> {
    let none = miss(table);
    let Some(id) = table.direct.profile else {
        return none;
    };
    let Some(Cells::Profile(profile)) = cells.get(id as usize) else {
        return none;
    };
    let member = match table.default_leads {
        Some(Leads::Member(member)) => profile.members.get(&member),
        Some(Leads::Group(group)) => profile.pick(group, |places| choose(id, group, places)),
        Some(Leads::Action(..)) | None => return none,
    };
    let (action, data) = member.map_or((u32::MAX, &[][..]), |m| (m.action, &*m.data));
    Found {
        action,
        data,
        ..none
    }
}

fn units(unit: MeterUnit, bytes: u64) -> u64 {
    match unit {
        MeterUnit::Bytes => bytes,
        MeterUnit::Packets => 1,
    }
}
