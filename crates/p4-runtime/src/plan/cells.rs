//! Counters, meters, registers, value sets and digests: what is there from the start.

use super::profiles::exists;
use super::{only_modify, Plan, Planner};
use crate::data::Types;
use crate::entry::{counts, key, match_messages, matches, no_color_counts, rates};
use crate::messages::{
    CounterEntry, DigestEntry, DirectCounterEntry, DirectMeterEntry, Index, MeterEntry,
    RegisterEntry, TableEntry, UpdateType, ValueSetEntry, ValueSetMember,
};
use crate::schema::{Field, Table};
use crate::status::{Code, Refusal};
use num_bigint::BigUint;
use p4_state::{EntryKey, Match, Update};

impl Planner<'_> {
    pub(super) fn counter(
        &mut self,
        how: UpdateType,
        entry: &CounterEntry,
    ) -> Result<Plan, Refusal> {
        only_modify(how, "counter")?;
        let counter = self.schema.counter(entry.counter_id)?;
        indexed(counter.table, &counter.name)?;
        let index = index(&entry.index, &counter.name, counter.size)?;
        let Some(data) = &entry.data else {
            return Ok(Plan::default());
        };
        let (packets, bytes) = counts(data)?;
        Ok(Plan::of([Update::SetCounter {
            counter: counter.name.clone(),
            index,
            packets,
            bytes,
        }]))
    }

    pub(super) fn meter(&mut self, how: UpdateType, entry: &MeterEntry) -> Result<Plan, Refusal> {
        only_modify(how, "meter")?;
        no_color_counts(entry.counter_data.is_some())?;
        let meter = self.schema.meter(entry.meter_id)?;
        indexed(meter.table, &meter.name)?;
        Ok(Plan::of([Update::SetMeter {
            meter: meter.name.clone(),
            index: index(&entry.index, &meter.name, meter.size)?,
            config: entry.config.as_ref().map(rates).transpose()?,
        }]))
    }

    pub(super) fn direct_counter(
        &mut self,
        how: UpdateType,
        entry: &DirectCounterEntry,
    ) -> Result<Plan, Refusal> {
        only_modify(how, "direct counter")?;
        let (table, key) = self.entry_of(&entry.table_entry)?;
        if table.direct_counter.is_none() {
            let message = format!("{} has no direct counter", table.name);
            return Err(Refusal::invalid(message));
        }
        let Some(data) = &entry.data else {
            return Ok(Plan::of([Update::Find(key)]));
        };
        let (packets, bytes) = counts(data)?;
        Ok(Plan::of([Update::SetDirectCounter {
            key,
            packets,
            bytes,
        }]))
    }

    pub(super) fn direct_meter(
        &mut self,
        how: UpdateType,
        entry: &DirectMeterEntry,
    ) -> Result<Plan, Refusal> {
        only_modify(how, "direct meter")?;
        no_color_counts(entry.counter_data.is_some())?;
        let (table, key) = self.entry_of(&entry.table_entry)?;
        if table.direct_meter.is_none() {
            let message = format!("{} has no direct meter", table.name);
            return Err(Refusal::invalid(message));
        }
        let config = entry.config.as_ref().map(rates).transpose()?;
        Ok(Plan::of([Update::SetDirectMeter { key, config }]))
    }

    /// The entry to which a direct resource belongs.
    fn entry_of(&self, entry: &Option<TableEntry>) -> Result<(&Table, EntryKey), Refusal> {
        let message = "a direct resource needs the table entry to which it belongs";
        let entry = entry.as_ref().ok_or_else(|| Refusal::invalid(message))?;
        let table = self.schema.table(entry.table_id)?;
        if entry.is_default_action {
            return Err(Refusal::unimplemented(
                "this switch counts and meters hits only, so a default entry has no direct resources",
            ));
        }
        if table.fields.is_empty() {
            let message = format!("{} has no key, so it has no entries", table.name);
            return Err(Refusal::invalid(message));
        }
        Ok((table, key(table, entry)?))
    }

    pub(super) fn register(
        &mut self,
        how: UpdateType,
        entry: &RegisterEntry,
    ) -> Result<Plan, Refusal> {
        only_modify(how, "register")?;
        let register = self.schema.register(entry.register_id)?;
        let index = index(&entry.index, &register.name, register.size)?;
        let message = || Refusal::invalid("a register needs data to write");
        let data = entry.data.as_ref().ok_or_else(message)?;
        let types = Types::of(&self.schema.info);
        let leaves = types.leaves(&register.data, data)?;
        let join = |value: BigUint, (leaf, width): (BigUint, u32)| (value << width) + leaf;
        Ok(Plan::of([Update::SetRegister {
            register: register.name.clone(),
            index,
            value: leaves.into_iter().fold(BigUint::default(), join),
        }]))
    }

    pub(super) fn value_set(
        &mut self,
        how: UpdateType,
        entry: &ValueSetEntry,
    ) -> Result<Plan, Refusal> {
        only_modify(how, "value set")?;
        let set = self.schema.value_set(entry.value_set_id)?;
        let mut members = Vec::with_capacity(entry.members.len());
        let mut given = Vec::with_capacity(entry.members.len());
        for member in &entry.members {
            let own = matches(&set.name, &set.fields, &member.r#match)?;
            given.push(ValueSetMember {
                r#match: match_messages(&set.fields, &own),
            });
            members.push(in_order(&set.fields, own));
        }
        if members.len() as u64 > set.size {
            let message = format!("value set {} holds at most {} members", set.name, set.size);
            return Err(Refusal::new(Code::ResourceExhausted, message));
        }
        let twice = (1..members.len()).find(|at| members[..*at].contains(&members[*at]));
        if let Some(at) = twice {
            let message = format!("member {} of the value set was there before", at + 1);
            return Err(Refusal::new(Code::AlreadyExists, message));
        }
        let id = entry.value_set_id;
        let plan = Plan::of([Update::SetValueSet {
            set: set.name.clone(),
            members,
        }]);
        Ok(plan.then(move |store| {
            store.value_sets.insert(id, given);
        }))
    }

    pub(super) fn digest(&mut self, how: UpdateType, entry: &DigestEntry) -> Result<Plan, Refusal> {
        let digest = self.schema.digest(entry.digest_id)?;
        let id = digest.id;
        exists(how, self.store.digests.contains_key(&id), || {
            format!("configuration of digest {}", digest.name)
        })?;
        let config = entry.config.unwrap_or_default();
        if config.max_timeout_ns < 0 || config.max_list_size < 0 || config.ack_timeout_ns < 0 {
            let message = "times and sizes of a digest's configuration cannot be negative";
            return Err(Refusal::invalid(message));
        }
        Ok(Plan::default().then(move |store| {
            match how {
                UpdateType::Delete => store.digests.remove(&id),
                _ => store.digests.insert(id, config),
            };
        }))
    }
}

fn indexed(table: Option<u32>, name: &str) -> Result<(), Refusal> {
    match table {
        None => Ok(()),
        Some(_) => Err(Refusal::invalid(format!(
            "{name} is direct: name the table entry, not an index"
        ))),
    }
}

/// A place in an array of `size`; `None` for all.
pub fn index(index: &Option<Index>, name: &str, size: u64) -> Result<Option<u64>, Refusal> {
    let Some(Index { index }) = index else {
        return Ok(None);
    };
    match u64::try_from(*index) {
        Err(_) => Err(Refusal::invalid(format!("{name} has no index {index}"))),
        Ok(index) if index >= size => {
            let message = format!("{name} has {size} cells; there is no index {index}");
            Err(Refusal::new(Code::OutOfRange, message))
        }
        Ok(index) => Ok(Some(index)),
    }
}

/// One match for each field.
fn in_order(fields: &[Field], mut given: Vec<(String, Match)>) -> Vec<Match> {
    let one = |field: &Field| {
        let at = given.iter().position(|(name, _)| *name == field.name);
        at.map_or(Match::Any, |at| given.remove(at).1)
    };
    fields.iter().map(one).collect()
}
