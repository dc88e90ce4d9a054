//! One update at a time, each with what takes it back.

use crate::cells::{Array, Count, Meter, MeterConfig};
use crate::error::UpdateError;
use crate::idle::Idle;
use crate::matcher::{Pattern, Place};
use crate::profile::Member;
use crate::replication::SESSIONS;
use crate::resolve::{action, checked, set_pattern, Use};
use crate::state::{Cells, State};
use crate::table::{KeyInfo, Kind, Leads};
use crate::update::{ActionSpec, Entry, EntryKey, Match, Target, Update};
use crate::value::to_words;
use num_bigint::BigUint;
use p4_ir::ir;

/// Takes an update back. Inverses run in the reverse order of their updates.
pub(crate) enum Inverse {
    /// Of an insert, of which controllers send hundreds of thousands
    Forget {
        table: usize,
        place: Place,
    },
    Other(Box<dyn FnOnce(&mut State)>),
}

impl Inverse {
    fn by(inverse: impl FnOnce(&mut State) + 'static) -> Inverse {
        Inverse::Other(Box::new(inverse))
    }

    pub fn run(self, state: &mut State) {
        match self {
            Inverse::Forget { table, place } => state.tables[table].forget(place),
            Inverse::Other(inverse) => inverse(state),
        }
    }
}

type Applied = Result<Inverse, UpdateError>;

impl State {
    pub(crate) fn apply(&mut self, update: &Update) -> Applied {
        match update {
            Update::Insert(entry) => self.insert(entry),
            Update::Modify(entry) => self.modify(entry),
            Update::Delete(key) => self.delete(key),
            Update::Find(key) => self.find_entry(key),
            Update::Clear { table } => self.clear(table),
            Update::SetDefault { table, action } => self.set_default(table, action.as_ref()),
            Update::SetDefaultTarget { table, target } => self.set_default_target(table, target),
            Update::SetIdleTimeout { key, ttl } => self.set_idle_timeout(key, *ttl),
            Update::SetValueSet { set, members } => self.set_value_set(set, members),
            Update::SetCounter {
                counter,
                index,
                packets,
                bytes,
            } => self.set_counter(
                counter,
                *index,
                Count {
                    packets: *packets,
                    bytes: *bytes,
                },
            ),
            Update::SetDirectCounter {
                key,
                packets,
                bytes,
            } => self.set_direct_counter(
                key,
                Count {
                    packets: *packets,
                    bytes: *bytes,
                },
            ),
            Update::SetMeter {
                meter,
                index,
                config,
            } => self.set_meter(meter, *index, *config),
            Update::SetDirectMeter { key, config } => self.set_direct_meter(key, *config),
            Update::SetRegister {
                register,
                index,
                value,
            } => self.set_register(register, *index, value),
            Update::SetGroup { group, replicas } => {
                if *group == 0 {
                    return Err(UpdateError::GroupZero);
                }
                let group = *group;
                let old = swap(&mut self.groups, group, replicas.clone());
                Ok(Inverse::by(move |state| {
                    swap(&mut state.groups, group, old);
                }))
            }
            Update::SetSession { session, to } => {
                let session = *session;
                if session >= SESSIONS {
                    return Err(UpdateError::SessionOutOfRange { session });
                }
                let old = swap(&mut self.sessions, session, *to);
                Ok(Inverse::by(move |state| {
                    swap(&mut state.sessions, session, old);
                }))
            }
            Update::SetMember {
                profile,
                member,
                action,
            } => self.set_member(profile, *member, action.as_ref()),
            Update::SetMemberGroup {
                profile,
                group,
                members,
            } => self.set_member_group(profile, *group, members.clone()),
            Update::FindUnused { profile, group } => {
                self.check_unused(self.profile_named(profile)?, *group)?;
                Ok(Inverse::by(|_| ()))
            }
        }
    }

    fn leads(&self, table: usize, target: &Target) -> Result<Leads, UpdateError> {
        let table = &self.tables[table];
        let profile = table.direct.profile;
        let name = || table.name.to_string();
        let id = match target {
            Target::Action(_) if profile.is_some() => {
                return Err(UpdateError::ProfileNeeded { table: name() })
            }
            Target::Action(spec) => {
                let (action, data) = action(table, spec, Use::Entry)?;
                return Ok(Leads::Action(action, data));
            }
            Target::Member(_) | Target::Group(_) => {
                profile.ok_or_else(|| UpdateError::NoProfile { table: name() })?
            }
        };
        let Some(Cells::Profile(profile)) = self.cells.get(id as usize) else {
            return Err(UpdateError::NoProfile { table: name() });
        };
        let profile_name = || self.program.instances[id as usize].name.to_string();
        match *target {
            Target::Member(member) if profile.members.contains_key(&member) => {
                Ok(Leads::Member(member))
            }
            Target::Member(member) => Err(UpdateError::NoMember {
                profile: profile_name(),
                member,
            }),
            Target::Group(group) => match profile.groups.get(&group) {
                Some(members) if members.is_empty() => Err(UpdateError::EmptyMemberGroup {
                    profile: profile_name(),
                    group,
                }),
                Some(_) => Ok(Leads::Group(group)),
                None => Err(UpdateError::NoMemberGroup {
                    profile: profile_name(),
                    group,
                }),
            },
            Target::Action(_) => Err(UpdateError::ProfileNeeded { table: name() }),
        }
    }

    fn changeable(&self, table: usize) -> Result<(), UpdateError> {
        let table = &self.tables[table];
        if table.const_entries {
            return Err(UpdateError::ConstTable {
                table: table.name.to_string(),
            });
        }
        Ok(())
    }

    /// The place of an entry that may be changed and taken away.
    fn changeable_entry(
        &self,
        table: usize,
        pattern: &Pattern,
        priority: u32,
    ) -> Result<Place, UpdateError> {
        self.changeable(table)?;
        let table = &self.tables[table];
        let place = table.locate(pattern, priority)?;
        let written = table.entry(place).and_then(|entry| entry.written);
        if written.is_some_and(|written| written.is_const) {
            return Err(UpdateError::ConstEntry {
                table: table.name.to_string(),
            });
        }
        Ok(place)
    }

    fn insert(&mut self, entry: &Entry) -> Applied {
        let (table, pattern, priority) = self.entry_key(&entry.key)?;
        self.changeable(table)?;
        let leads = self.leads(table, &entry.target)?;
        let place = self.tables[table].insert(pattern, priority, leads, None)?;
        Ok(Inverse::Forget { table, place })
    }

    fn modify(&mut self, entry: &Entry) -> Applied {
        let (table, pattern, priority) = self.entry_key(&entry.key)?;
        let place = self.changeable_entry(table, &pattern, priority)?;
        let leads = self.leads(table, &entry.target)?;
        let set = move |state: &mut State, leads: Leads| state.tables[table].redirect(place, leads);
        let old = set(self, leads);
        Ok(Inverse::by(move |state| {
            old.and_then(|old| set(state, old));
        }))
    }

    fn delete(&mut self, key: &EntryKey) -> Applied {
        let (table, pattern, priority) = self.entry_key(key)?;
        let place = self.changeable_entry(table, &pattern, priority)?;
        let old = self.tables[table].take(place);
        Ok(Inverse::by(move |state| {
            if let Some(old) = old {
                state.tables[table].put(old);
            }
        }))
    }

    fn find_entry(&self, key: &EntryKey) -> Applied {
        let (table, pattern, priority) = self.entry_key(key)?;
        self.tables[table].locate(&pattern, priority)?;
        Ok(Inverse::by(|_| {}))
    }

    fn clear(&mut self, table: &str) -> Applied {
        let table = self.table_named(table)?;
        self.changeable(table)?;
        let places = self.tables[table].added();
        let mut old: Vec<_> = places
            .into_iter()
            .filter_map(|place| self.tables[table].take(place))
            .collect();
        Ok(Inverse::by(move |state| {
            while let Some(entry) = old.pop() {
                state.tables[table].put(entry);
            }
        }))
    }

    fn set_default(&mut self, table: &str, spec: Option<&ActionSpec>) -> Applied {
        let index = self.table_named(table)?;
        let table = &mut self.tables[index];
        if table.const_default {
            return Err(UpdateError::ConstDefault {
                table: table.name.to_string(),
            });
        }
        let new = match spec {
            Some(spec) => {
                let (action, data) = action(table, spec, Use::Default)?;
                ir::ActionCall {
                    action,
                    data: data.into(),
                }
            }
            None => table.program_default.clone(),
        };
        let old = std::mem::replace(&mut table.default, new);
        let old_leads = table.default_leads.take();
        Ok(Inverse::by(move |state| {
            state.tables[index].default = old;
            state.tables[index].default_leads = old_leads;
        }))
    }

    fn set_default_target(&mut self, table: &str, target: &Target) -> Applied {
        if let Target::Action(spec) = target {
            return self.set_default(table, Some(spec));
        }
        let index = self.table_named(table)?;
        if self.tables[index].const_default {
            return Err(UpdateError::ConstDefault {
                table: self.tables[index].name.to_string(),
            });
        }
        // bmv2 checks entries for empty groups, but not defaults.
        let leads = match (target, self.leads(index, target)) {
            (Target::Group(group), Err(UpdateError::EmptyMemberGroup { .. }))
                if self.bmv2_compat =>
            {
                Leads::Group(*group)
            }
            (_, leads) => leads?,
        };
        let old = self.tables[index].default_leads.replace(leads);
        Ok(Inverse::by(move |state| {
            state.tables[index].default_leads = old;
        }))
    }

    fn set_idle_timeout(&mut self, key: &EntryKey, ttl: Option<u64>) -> Applied {
        let (table, pattern, priority) = self.entry_key(key)?;
        if !self.tables[table].idle_timeout {
            return Err(UpdateError::NoTimeout {
                table: self.tables[table].name.to_string(),
            });
        }
        let place = self.tables[table].locate(&pattern, priority)?;
        let set = move |state: &mut State, idle: Idle| {
            let stored = state.tables[table].entry_mut(place)?;
            Some(std::mem::replace(&mut stored.measured_mut().idle, idle))
        };
        let old = set(self, Idle::new(ttl));
        Ok(Inverse::by(move |state| {
            old.and_then(|old| set(state, old));
        }))
    }

    fn set_value_set(&mut self, set: &str, members: &[Vec<Match>]) -> Applied {
        let names = self.program.value_sets.iter().map(|set| &*set.name);
        let index = crate::names::find("value set", set, names)?;
        let info = &self.program.value_sets[index];
        if members.len() as u64 > info.size * self.set_holders && !self.bmv2_compat {
            let set = info.name.to_string();
            return Err(UpdateError::SetTooLarge {
                set,
                size: info.size,
            });
        }
        let keys = set_keys(info);
        let patterns: Result<Vec<_>, _> = members
            .iter()
            .map(|member| set_pattern(&keys, member))
            .collect();
        let old = std::mem::replace(&mut self.value_sets[index], patterns?);
        Ok(Inverse::by(move |state| state.value_sets[index] = old))
    }

    /// Replaces one cell or all of them in an array kept as `cells`.
    fn set_cells<T: Copy + 'static>(
        &mut self,
        id: usize,
        index: Option<u64>,
        value: T,
        cells: fn(&mut Cells) -> Option<&mut Array<T>>,
    ) -> Applied {
        let name = self.program.instances[id].name.to_string();
        let Some(array) = cells(&mut self.cells[id]) else {
            return Err(UpdateError::Direct { name });
        };
        let size = array.size();
        let Some(index) = index else {
            let new = Array::new(size, value);
            let old = std::mem::replace(array, new);
            return Ok(Inverse::by(move |state| {
                if let Some(array) = cells(&mut state.cells[id]) {
                    *array = old;
                }
            }));
        };
        let Some(cell) = array.get_mut(index) else {
            return Err(UpdateError::IndexOutOfRange { name, index, size });
        };
        let old = std::mem::replace(cell, value);
        Ok(Inverse::by(move |state| {
            if let Some(cell) = cells(&mut state.cells[id]).and_then(|array| array.get_mut(index)) {
                *cell = old;
            }
        }))
    }

    fn set_counter(&mut self, counter: &str, index: Option<u64>, value: Count) -> Applied {
        let id = self.counter_named(counter)?;
        self.set_cells(id, index, value, |cells| match cells {
            Cells::Counters(array) => Some(array),
            _ => None,
        })
    }

    fn set_meter(
        &mut self,
        meter: &str,
        index: Option<u64>,
        config: Option<MeterConfig>,
    ) -> Applied {
        check_rates(config)?;
        let id = self.meter_named(meter)?;
        self.set_cells(id, index, Meter::new(config), |cells| match cells {
            Cells::Meters(_, array) => Some(array),
            _ => None,
        })
    }

    fn set_direct_counter(&mut self, key: &EntryKey, count: Count) -> Applied {
        let (table, pattern, priority) = self.entry_key(key)?;
        if self.tables[table].direct.counter.is_none() {
            let table = self.tables[table].name.to_string();
            return Err(UpdateError::NotDirect {
                table,
                what: "counter",
            });
        }
        let place = self.tables[table].locate(&pattern, priority)?;
        let set = move |state: &mut State, count: Count| {
            let stored = state.tables[table].entry_mut(place)?;
            Some(std::mem::replace(&mut stored.measured_mut().count, count))
        };
        let old = set(self, count);
        Ok(Inverse::by(move |state| {
            old.and_then(|old| set(state, old));
        }))
    }

    fn set_direct_meter(&mut self, key: &EntryKey, config: Option<MeterConfig>) -> Applied {
        check_rates(config)?;
        let (table, pattern, priority) = self.entry_key(key)?;
        if self.tables[table].direct.meter.is_none() {
            let table = self.tables[table].name.to_string();
            return Err(UpdateError::NotDirect {
                table,
                what: "meter",
            });
        }
        let place = self.tables[table].locate(&pattern, priority)?;
        let set = move |state: &mut State, meter: Meter| {
            let stored = state.tables[table].entry_mut(place)?;
            Some(std::mem::replace(&mut stored.measured_mut().meter, meter))
        };
        let old = set(self, Meter::new(config));
        Ok(Inverse::by(move |state| {
            old.and_then(|old| set(state, old));
        }))
    }

    fn set_register(&mut self, register: &str, index: Option<u64>, value: &BigUint) -> Applied {
        let id = self.register_named(register)?;
        let name = self.program.instances[id].name.to_string();
        let Cells::Registers(registers) = &mut self.cells[id] else {
            return Err(UpdateError::NotFound { table: name });
        };
        let words = match self.bmv2_compat {
            true => register_words(&name, &registers.widths, &cut(value, &registers.widths))?,
            false => register_words(&name, &registers.widths, value)?,
        };
        let Some(index) = index else {
            let size = registers.cells.len();
            let new = words.iter().copied().cycle().take(size).collect();
            let old = std::mem::replace(&mut registers.cells, new);
            return Ok(Inverse::by(move |state| {
                if let Cells::Registers(registers) = &mut state.cells[id] {
                    registers.cells = old;
                }
            }));
        };
        let size = registers.size;
        let Some(cell) = registers.cell_mut(index) else {
            return Err(UpdateError::IndexOutOfRange { name, index, size });
        };
        let old = cell.to_vec();
        cell.copy_from_slice(&words);
        Ok(Inverse::by(move |state| {
            if let Some(cell) = state.register_mut(id as u32, index) {
                cell.copy_from_slice(&old);
            }
        }))
    }

    pub(crate) fn profile_named(&self, profile: &str) -> Result<usize, UpdateError> {
        let is_profile = |id: usize| matches!(self.cells[id], Cells::Profile(_));
        self.instance_named("action profile", profile, is_profile)
    }

    fn set_member(&mut self, profile: &str, member: u32, spec: Option<&ActionSpec>) -> Applied {
        let id = self.profile_named(profile)?;
        let name = self.program.instances[id].name.to_string();
        let user = self
            .tables
            .iter()
            .find(|table| table.direct.profile == Some(id as u32));
        let new = match (spec, user) {
            (Some(spec), Some(table)) => {
                let (action, data) = action(table, spec, Use::Entry)?;
                Some(Member { action, data })
            }
            (Some(spec), None) => {
                let known = Vec::new();
                return Err(UpdateError::Unknown {
                    what: "action",
                    name: spec.name.clone(),
                    known,
                });
            }
            (None, _) => None,
        };
        let used = self.refers(id, |leads| *leads == Leads::Member(member));
        let Cells::Profile(cells) = &mut self.cells[id] else {
            return Err(UpdateError::NotFound { table: name });
        };
        let in_group = cells
            .groups
            .values()
            .any(|members| members.contains(&member));
        if new.is_none() && (used || in_group) {
            return Err(UpdateError::InUse {
                profile: name,
                what: "member",
                id: member,
            });
        }
        let full = cells
            .size
            .filter(|size| cells.members.len() as u64 >= *size);
        if let (Some(_), Some(size), false) = (&new, full, cells.members.contains_key(&member)) {
            return Err(UpdateError::Full { table: name, size });
        }
        let set = move |state: &mut State, value: Option<Member>| match &mut state.cells[id] {
            Cells::Profile(cells) => match value {
                Some(value) => cells.members.insert(member, value),
                None => cells.members.remove(&member),
            },
            _ => None,
        };
        let old = set(self, new);
        Ok(Inverse::by(move |state| {
            set(state, old);
        }))
    }

    fn set_member_group(
        &mut self,
        profile: &str,
        group: u32,
        members: Option<Vec<u32>>,
    ) -> Applied {
        let id = self.profile_named(profile)?;
        let profile = self.program.instances[id].name.to_string();
        let Cells::Profile(cells) = &self.cells[id] else {
            return Err(UpdateError::NotFound { table: profile });
        };
        if !cells.selector {
            return Err(UpdateError::NoMemberGroup { profile, group });
        }
        if members.is_none() {
            self.check_unused(id, group)?;
        }
        let unknown = members
            .iter()
            .flatten()
            .find(|member| !cells.members.contains_key(member));
        if let Some(member) = unknown {
            return Err(UpdateError::NoMember {
                profile,
                member: *member,
            });
        }
        let new = members.map(|mut members| {
            members.sort_unstable();
            members
        });
        let set = move |state: &mut State, value: Option<Vec<u32>>| match &mut state.cells[id] {
            Cells::Profile(cells) => match value {
                Some(value) => cells.groups.insert(group, value),
                None => cells.groups.remove(&group),
            },
            _ => None,
        };
        let old = set(self, new);
        Ok(Inverse::by(move |state| {
            set(state, old);
        }))
    }

    /// Refuses if an entry leads to this group of action selector `id`.
    fn check_unused(&self, id: usize, group: u32) -> Result<(), UpdateError> {
        match self.refers(id, |leads| *leads == Leads::Group(group)) {
            false => Ok(()),
            true => Err(UpdateError::InUse {
                profile: self.program.instances[id].name.to_string(),
                what: "group",
                id: group,
            }),
        }
    }

    /// Whether an entry of a table with action profile `id` leads to what `is` says.
    fn refers(&self, id: usize, is: impl Fn(&Leads) -> bool) -> bool {
        let is = &is;
        let mut users = self
            .tables
            .iter()
            .filter(|table| table.direct.profile == Some(id as u32));
        users.any(|table| {
            table.default_leads.as_ref().is_some_and(is)
                || table.entries().iter().any(|entry| is(&entry.leads))
        })
    }

    pub(crate) fn counter_named(&self, counter: &str) -> Result<usize, UpdateError> {
        let is = |id: usize| matches!(self.cells[id], Cells::Counters(_) | Cells::DirectCounter);
        self.instance_named("counter", counter, is)
    }

    pub(crate) fn meter_named(&self, meter: &str) -> Result<usize, UpdateError> {
        let is = |id: usize| matches!(self.cells[id], Cells::Meters(..) | Cells::DirectMeter(_));
        self.instance_named("meter", meter, is)
    }

    pub(crate) fn register_named(&self, register: &str) -> Result<usize, UpdateError> {
        let is = |id: usize| matches!(self.cells[id], Cells::Registers(_));
        self.instance_named("register", register, is)
    }
}

fn check_rates(config: Option<MeterConfig>) -> Result<(), UpdateError> {
    match config {
        Some(c) if c.peak_rate < c.committed_rate => Err(UpdateError::Rates),
        _ => Ok(()),
    }
}

/// The keys of a value set as those of a table.
pub(crate) fn set_keys(set: &ir::ValueSet) -> Vec<KeyInfo> {
    let mut at = 0;
    let key = |field: &ir::Key| {
        let words = ir::words(field.place.width) as usize;
        at += words;
        KeyInfo {
            name: field.name.clone(),
            kind: Kind::of(&field.match_kind).unwrap_or(Kind::Exact),
            width: field.place.width,
            at: at - words,
            words,
            compared: field.compared.clone(),
        }
    };
    set.fields.iter().map(key).collect()
}

/// The low bits of `value` that fit the leaves.
fn cut(value: &BigUint, widths: &[u32]) -> BigUint {
    let total: u32 = widths.iter().sum();
    value & ((BigUint::from(1u8) << total) - 1u8)
}

/// The words of a register cell: the leaves of its type, the first one in the upper bits.
fn register_words(name: &str, widths: &[u32], value: &BigUint) -> Result<Vec<u64>, UpdateError> {
    let total: u32 = widths.iter().sum();
    checked(name, value, total)?;
    let mut words = Vec::new();
    let mut below = total;
    for width in widths {
        below -= width;
        let leaf = (value >> below) & ((BigUint::from(1u8) << *width) - 1u8);
        words.extend(to_words(&leaf, *width).unwrap_or_default());
    }
    Ok(words)
}

/// Sets or removes `key`, and returns what was there.
fn swap<V>(map: &mut rustc_hash::FxHashMap<u32, V>, key: u32, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    }
}
