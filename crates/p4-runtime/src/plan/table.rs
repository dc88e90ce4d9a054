//! Entries of tables, and their default entries.

use super::{Plan, Planner};
use crate::entry::{action, counts, key, no_color_counts, rates, target};
use crate::messages::{TableAction, TableActionKind, TableEntry, UpdateType};
use crate::schema::Table;
use crate::status::{Code, Refusal};
use crate::store::Extra;
use p4_state::{Entry, EntryKey, Update};

impl Planner<'_> {
    pub(super) fn table(&mut self, how: UpdateType, entry: &TableEntry) -> Result<Plan, Refusal> {
        let schema = self.schema;
        let table = schema.table(entry.table_id)?;
        if entry.is_const {
            let message = "is_const is the program's to set; leave it unset in writes";
            return Err(Refusal::invalid(message));
        }
        if entry.is_default_action {
            return self.default_entry(how, table, entry);
        }
        if table.fields.is_empty() {
            let message = format!("{} has no key, so it has only a default entry", table.name);
            return Err(Refusal::invalid(message));
        }
        let key = key(table, entry)?;
        if table.is_const && how != UpdateType::Modify {
            return Err(const_entries(table));
        }
        if how == UpdateType::Delete {
            return Ok(self.delete(table, key));
        }
        check_entry(table, entry)?;
        if table.is_const {
            return modify_const(table, entry, key);
        }
        let target = match action_kind(&entry.action)? {
            None if how == UpdateType::Insert => {
                let message = format!("an entry of {} needs an action", table.name);
                return Err(Refusal::invalid(message));
            }
            None => None,
            Some(TableActionKind::OneShot(set)) => {
                let old = self.store.extra(table.id, &key);
                let old = old.and_then(|extra| extra.one_shot.clone());
                return self.one_shot(how, table, entry, key, set, old);
            }
            Some(kind) => {
                self.refuse_mixing(table)?;
                Some(target(schema, table, kind)?)
            }
        };
        let direct = direct_updates(how, table, entry, &key)?;
        let one_shot = self.store.extra(table.id, &key);
        let extra = Extra {
            one_shot: one_shot.and_then(|extra| extra.one_shot.clone()),
            ..extra(entry)
        };
        let changes_extras = !extra.is_nothing() || self.store.has_extras(table.id);
        let of_extra = changes_extras.then(|| key.clone());
        let mut plan = Plan::of([match (target, how) {
            (None, _) => Update::Find(key),
            (Some(target), UpdateType::Insert) => Update::Insert(Entry { key, target }),
            (Some(target), _) => Update::Modify(Entry { key, target }),
        }]);
        plan.updates.extend(direct);
        let id = table.id;
        Ok(match of_extra {
            Some(key) => plan.then(move |store| store.set_extra(id, key, extra)),
            None => plan,
        })
    }

    fn delete(&mut self, table: &Table, key: EntryKey) -> Plan {
        let plan = Plan::of([Update::Delete(key.clone())]);
        let Some(extra) = self.store.extra(table.id, &key) else {
            return plan;
        };
        let one_shot = extra.one_shot.clone();
        let id = table.id;
        match (one_shot, table.profile) {
            (Some(one_shot), Some(profile)) => self.delete_one_shot(plan, profile, one_shot),
            _ => plan,
        }
        .and(move |store| store.set_extra(id, key, Extra::default()))
    }

    /// The default entry is always there. Specification, 9.1.3.
    fn default_entry(
        &mut self,
        how: UpdateType,
        table: &Table,
        entry: &TableEntry,
    ) -> Result<Plan, Refusal> {
        let name = &table.name;
        if how != UpdateType::Modify {
            let message = format!("the default entry of {name} can only be modified");
            return Err(Refusal::invalid(message));
        }
        if !entry.r#match.is_empty() || entry.priority != 0 {
            let message = format!("the default entry of {name} takes no match and no priority");
            return Err(Refusal::invalid(message));
        }
        if entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some() {
            let message = format!("the default entry of {name} has no idle timeout");
            return Err(Refusal::invalid(message));
        }
        no_direct_default(entry)?;
        if table.const_default || table.profile.is_some() {
            let message =
                format!("the default action of {name} is const: only the program sets it");
            return Err(Refusal::new(Code::PermissionDenied, message));
        }
        let spec = match action_kind(&entry.action)? {
            Some(TableActionKind::Action(spec)) => Some(action(self.schema, table, spec)?),
            Some(_) => {
                let message = format!("{name} has no action profile; name an action");
                return Err(Refusal::invalid(message));
            }
            None => None,
        };
        let extra = match spec {
            Some(_) => extra(entry),
            None => Extra::default(),
        };
        let id = table.id;
        let plan = Plan::of([Update::SetDefault {
            table: name.clone(),
            action: spec,
        }]);
        Ok(plan.then(move |store| {
            match extra.is_nothing() {
                true => store.defaults.remove(&id),
                false => store.defaults.insert(id, extra),
            };
        }))
    }
}

impl Plan {
    /// One more thing to be done at the end.
    pub(super) fn and(self, more: impl FnOnce(&mut crate::store::Store) + Send + 'static) -> Plan {
        let Plan { updates, effect } = self;
        let plan = Plan {
            updates,
            effect: None,
        };
        plan.then(move |store| {
            if let Some(effect) = effect {
                effect(store);
            }
            more(store);
        })
    }
}

fn const_entries(table: &Table) -> Refusal {
    let message = format!(
        "the entries of {} are const: only the program sets them",
        table.name
    );
    Refusal::new(Code::PermissionDenied, message)
}

/// What a message says an entry leads to.
fn action_kind(action: &Option<TableAction>) -> Result<Option<&TableActionKind>, Refusal> {
    match action {
        None => Ok(None),
        Some(TableAction { r#type: Some(kind) }) => Ok(Some(kind)),
        Some(TableAction { r#type: None }) => Err(Refusal::invalid("the action is empty")),
    }
}

/// What must be so whatever the entry leads to.
fn check_entry(table: &Table, entry: &TableEntry) -> Result<(), Refusal> {
    let name = &table.name;
    if entry.idle_timeout_ns != 0 && !table.notifies_timeouts {
        let message = format!("{name} keeps no idle timeouts; give it `support_timeout = true`");
        return Err(Refusal::invalid(message));
    }
    if entry.idle_timeout_ns < 0 {
        return Err(Refusal::invalid("an idle timeout cannot be negative"));
    }
    if entry.time_since_last_hit.is_some() {
        let message = "time_since_last_hit is for reading; leave it unset in writes";
        return Err(Refusal::invalid(message));
    }
    no_color_counts(entry.meter_counter_data.is_some())?;
    if entry.counter_data.is_some() && table.direct_counter.is_none() {
        return Err(Refusal::invalid(format!("{name} has no direct counter")));
    }
    if entry.meter_config.is_some() && table.direct_meter.is_none() {
        return Err(Refusal::invalid(format!("{name} has no direct meter")));
    }
    Ok(())
}

fn no_direct_default(entry: &TableEntry) -> Result<(), Refusal> {
    if entry.counter_data.is_some() || entry.meter_config.is_some() {
        return Err(Refusal::unimplemented(
            "this switch counts and meters hits only, so a default entry has no direct resources",
        ));
    }
    no_color_counts(entry.meter_counter_data.is_some())
}

/// Direct resources are all that a client may change of an entry that the program wrote.
fn modify_const(table: &Table, entry: &TableEntry, key: EntryKey) -> Result<Plan, Refusal> {
    if entry.action.is_some() {
        return Err(const_entries(table));
    }
    let mut plan = Plan::of([Update::Find(key.clone())]);
    let updates = direct_updates(UpdateType::Modify, table, entry, &key)?;
    plan.updates.extend(updates);
    Ok(plan)
}

/// What an entry's message does to its counter, meter and timeout. Specification, 9.1.7: a MODIFY
/// without a meter's configuration resets it, one without a counter's value leaves it alone.
pub(super) fn direct_updates(
    how: UpdateType,
    table: &Table,
    entry: &TableEntry,
    key: &EntryKey,
) -> Result<Vec<Update>, Refusal> {
    let mut updates = Vec::new();
    let inserts = how == UpdateType::Insert;
    if table.direct_meter.is_some() && !(inserts && entry.meter_config.is_none()) {
        updates.push(Update::SetDirectMeter {
            key: key.clone(),
            config: entry.meter_config.as_ref().map(rates).transpose()?,
        });
    }
    if let Some(data) = &entry.counter_data {
        let (packets, bytes) = counts(data)?;
        updates.push(Update::SetDirectCounter {
            key: key.clone(),
            packets,
            bytes,
        });
    }
    if table.notifies_timeouts && !table.is_const && !(inserts && entry.idle_timeout_ns == 0) {
        let ttl = (entry.idle_timeout_ns as u64).saturating_mul(1_000);
        updates.push(Update::SetIdleTimeout {
            key: key.clone(),
            ttl: Some(ttl).filter(|ttl| *ttl > 0),
        });
    }
    Ok(updates)
}

/// What has to be remembered of an entry.
pub(super) fn extra(entry: &TableEntry) -> Extra {
    Extra {
        metadata: entry.metadata.clone(),
        controller_metadata: entry.controller_metadata,
        idle_timeout_ns: entry.idle_timeout_ns,
        one_shot: None,
    }
}
