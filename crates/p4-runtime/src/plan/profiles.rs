//! Members and groups of action profiles, and groups that an entry makes for itself.

use super::table::{direct_updates, extra};
use super::{Plan, Planner, Ports};
use crate::bytes::shortened;
use crate::entry::action;
use crate::messages::{
    Action, ActionProfileActionSet, ActionProfileGroup, ActionProfileMember, TableEntry,
    UpdateType, WatchKind,
};
use crate::schema::{Profile, Table};
use crate::status::{Code, Refusal};
use crate::store::{Extra, OneShot, OWN_IDS};
use p4_state::{Entry, EntryKey, Target, Update};
use std::collections::BTreeSet;

/// Copies of members that a group may have to reflect their weights.
const MAX_WEIGHT: i64 = 65_536;

impl Planner<'_> {
    pub(super) fn member(
        &mut self,
        how: UpdateType,
        member: &ActionProfileMember,
    ) -> Result<Plan, Refusal> {
        let schema = self.schema;
        let profile = schema.profile(member.action_profile_id)?;
        self.refuse_beside_one_shots(profile)?;
        let (id, name) = (client_id("member", member.member_id)?, profile.name.clone());
        let own = self.store.profile(profile.id);
        let there = own.members.contains_key(&id);
        exists(how, there, || format!("member {id} of {name}"))?;
        let profile_id = profile.id;
        if how == UpdateType::Delete {
            let mut groups = own.groups.values();
            let user = groups.find(|g| g.members.iter().any(|m| m.member_id == id));
            if let Some(group) = user {
                let group = group.group_id;
                let message = format!("member {id} of {name} is in group {group}; remove it there");
                return Err(Refusal::new(Code::FailedPrecondition, message));
            }
            let plan = Plan::of([set_member(profile, id, None)]);
            return Ok(plan.then(move |store| {
                store.profile(profile_id).members.remove(&id);
            }));
        }
        let Some(given) = &member.action else {
            return Err(Refusal::invalid(format!(
                "member {id} of {name} needs an action"
            )));
        };
        let spec = action(schema, self.any_table(profile)?, given)?;
        let given = shorter_action(given);
        let plan = Plan::of([set_member(profile, id, Some(spec))]);
        Ok(plan.then(move |store| {
            store.profile(profile_id).members.insert(id, given);
        }))
    }

    pub(super) fn group(
        &mut self,
        how: UpdateType,
        group: &ActionProfileGroup,
    ) -> Result<Plan, Refusal> {
        let profile = self.schema.profile(group.action_profile_id)?;
        let name = profile.name.clone();
        if !profile.selector {
            let message = format!("{name} is not an action selector, so it has no groups");
            return Err(Refusal::invalid(message));
        }
        self.refuse_beside_one_shots(profile)?;
        let (id, profile_id) = (client_id("group", group.group_id)?, profile.id);
        let old = self.store.profile(profile_id).groups.get(&id).cloned();
        exists(how, old.is_some(), || format!("group {id} of {name}"))?;
        if how == UpdateType::Delete {
            let plan = Plan::of([Update::SetMemberGroup {
                profile: name,
                group: id,
                members: None,
            }]);
            return Ok(plan.then(move |store| {
                store.profile(profile_id).groups.remove(&id);
            }));
        }
        check_max_size(profile, group, old.as_ref())?;
        self.check_members(profile, group)?;
        let mut group = group.clone();
        for member in &mut group.members {
            shorten_watch(&mut member.watch);
        }
        let members = live_members(&group, &self.store.down, &self.ports);
        let plan = Plan::of([Update::SetMemberGroup {
            profile: name,
            group: id,
            members: Some(members),
        }]);
        Ok(plan.then(move |store| {
            store.profile(profile_id).groups.insert(id, group);
        }))
    }

    fn check_members(
        &mut self,
        profile: &Profile,
        group: &ActionProfileGroup,
    ) -> Result<(), Refusal> {
        let name = &profile.name;
        let mut seen = BTreeSet::new();
        for member in &group.members {
            let id = member.member_id;
            if !seen.insert(id) {
                let message = format!("member {id} is given twice; give it a larger weight");
                return Err(Refusal::invalid(message));
            }
            check_weight(profile, member.weight)?;
            check_watch(&member.watch, &self.ports)?;
            if !self.store.profile(profile.id).members.contains_key(&id) {
                return Err(Refusal::not_found(format!("{name} has no member {id}")));
            }
        }
        let weights = group.members.iter().map(|member| member.weight);
        let size = size(profile, weights)?;
        if group.max_size > 0 && size > i64::from(group.max_size) {
            let (id, most) = (group.group_id, group.max_size);
            let message = format!("group {id} of {name} has size {size}; its max_size is {most}");
            return Err(Refusal::new(Code::ResourceExhausted, message));
        }
        Ok(())
    }

    /// A table whose actions a profile's members are.
    fn any_table(&self, profile: &Profile) -> Result<&Table, Refusal> {
        let first = profile.tables.first().copied();
        let message = || Refusal::invalid(format!("no table uses {}", profile.name));
        self.schema.table(first.ok_or_else(message)?)
    }

    /// Specification, 9.2.3: a selector is programmed in one way or the other.
    fn refuse_beside_one_shots(&mut self, profile: &Profile) -> Result<(), Refusal> {
        if self.store.profile(profile.id).one_shots > 0 {
            let message = format!(
                "{} has entries with action sets of their own, so it takes no members and groups",
                profile.name
            );
            return Err(Refusal::invalid(message));
        }
        Ok(())
    }

    /// The same for an entry that names a member or group.
    pub(super) fn refuse_mixing(&mut self, table: &Table) -> Result<(), Refusal> {
        match table.profile {
            Some(profile) => {
                let profile = self.schema.profile(profile)?;
                self.refuse_beside_one_shots(profile)
            }
            None => Ok(()),
        }
    }

    /// An entry with a group and members of its own. A MODIFY makes new ones and drops the old.
    pub(super) fn one_shot(
        &mut self,
        how: UpdateType,
        table: &Table,
        entry: &TableEntry,
        key: EntryKey,
        set: &ActionProfileActionSet,
        old: Option<OneShot>,
    ) -> Result<Plan, Refusal> {
        let Some(profile) = table.profile else {
            let message = format!("{} has no action selector; name an action", table.name);
            return Err(Refusal::invalid(message));
        };
        let schema = self.schema;
        let profile = schema.profile(profile)?;
        check_set(profile, set)?;
        let own = self.store.profile(profile.id);
        if !own.members.is_empty() || !own.groups.is_empty() {
            let message = format!(
                "{} has members and groups, so its entries take no action sets of their own",
                profile.name
            );
            return Err(Refusal::invalid(message));
        }
        let one_shot = OneShot {
            group: own.own_id(),
            members: set.actions.iter().map(|_| own.own_id()).collect(),
            set: shorter_set(set),
        };
        let mut updates = Vec::new();
        for (item, id) in set.actions.iter().zip(&one_shot.members) {
            check_watch(&item.watch, &self.ports)?;
            let message = || Refusal::invalid("an action set has an item without an action");
            let given = item.action.as_ref().ok_or_else(message)?;
            updates.push(set_member(
                profile,
                *id,
                Some(action(schema, table, given)?),
            ));
        }
        let group = one_shot.as_group(profile.id);
        updates.push(Update::SetMemberGroup {
            profile: profile.name.clone(),
            group: one_shot.group,
            members: Some(live_members(&group, &self.store.down, &self.ports)),
        });
        let target = Entry {
            key: key.clone(),
            target: Target::Group(one_shot.group),
        };
        updates.push(match how {
            UpdateType::Insert => Update::Insert(target),
            _ => Update::Modify(target),
        });
        let mut plan = Plan::of(updates);
        plan.updates
            .extend(direct_updates(how, table, entry, &key)?);
        let (table_id, profile_id) = (table.id, profile.id);
        if let Some(old) = old {
            plan = self.delete_one_shot(plan, profile_id, old);
        }
        let extra = Extra {
            one_shot: Some(one_shot),
            ..extra(entry)
        };
        Ok(plan.and(move |store| {
            store.profile(profile_id).one_shots += 1;
            store.set_extra(table_id, key, extra);
        }))
    }

    /// Removes a group of an entry's own when the entry is done with it.
    pub(super) fn delete_one_shot(&self, mut plan: Plan, profile: u32, old: OneShot) -> Plan {
        if let Ok(known) = self.schema.profile(profile) {
            plan.updates.push(Update::SetMemberGroup {
                profile: known.name.clone(),
                group: old.group,
                members: None,
            });
            let members = old.members.iter();
            let gone = members.map(|id| set_member(known, *id, None));
            plan.updates.extend(gone);
        }
        plan.and(move |store| store.profile(profile).one_shots -= 1)
    }
}

impl OneShot {
    /// The group as if a client had made it.
    pub fn as_group(&self, profile: u32) -> ActionProfileGroup {
        let member = |(item, id): (&crate::messages::ActionProfileAction, &u32)| {
            crate::messages::GroupMember {
                member_id: *id,
                weight: item.weight,
                watch: item.watch.clone(),
            }
        };
        ActionProfileGroup {
            action_profile_id: profile,
            group_id: self.group,
            members: self
                .set
                .actions
                .iter()
                .zip(&self.members)
                .map(member)
                .collect(),
            max_size: 0,
        }
    }
}

/// The members of a group that may be chosen, each as often as it weighs.
pub fn live_members(group: &ActionProfileGroup, down: &BTreeSet<u16>, ports: &Ports) -> Vec<u32> {
    let is_up = |watch: &Option<WatchKind>| match check_watch(watch, ports) {
        Ok(Some(port)) => !down.contains(&port),
        _ => true,
    };
    let live = group.members.iter().filter(|member| is_up(&member.watch));
    let copies = live.flat_map(|member| {
        std::iter::repeat_n(
            member.member_id,
            usize::try_from(member.weight).unwrap_or(0),
        )
    });
    copies.collect()
}

/// What is read back has the shortest bytestrings.
fn shorter_action(action: &Action) -> Action {
    let mut action = action.clone();
    for param in &mut action.params {
        param.value = shortened(&param.value).into();
    }
    action
}

fn shorten_watch(watch: &mut Option<WatchKind>) {
    if let Some(WatchKind::WatchPort(port)) = watch {
        *port = shortened(port);
    }
}

fn shorter_set(set: &ActionProfileActionSet) -> ActionProfileActionSet {
    let mut set = set.clone();
    for item in &mut set.actions {
        item.action = item.action.as_ref().map(shorter_action);
        shorten_watch(&mut item.watch);
    }
    set
}

fn set_member(profile: &Profile, member: u32, action: Option<p4_state::ActionSpec>) -> Update {
    Update::SetMember {
        profile: profile.name.clone(),
        member,
        action,
    }
}

fn client_id(what: &str, id: u32) -> Result<u32, Refusal> {
    match id {
        0 => Err(Refusal::invalid(format!("a {what}'s id is not 0"))),
        OWN_IDS.. => Err(Refusal::invalid(format!(
            "{what} ids are less than 2^31 here"
        ))),
        _ => Ok(id),
    }
}

/// Whether an update fits what is there.
pub(super) fn exists(
    how: UpdateType,
    there: bool,
    what: impl Fn() -> String,
) -> Result<(), Refusal> {
    match (how, there) {
        (UpdateType::Insert, true) => {
            let message = format!("{} is there already; modify it instead", what());
            Err(Refusal::new(Code::AlreadyExists, message))
        }
        (UpdateType::Modify | UpdateType::Delete, false) => {
            Err(Refusal::not_found(format!("there is no {}", what())))
        }
        _ => Ok(()),
    }
}

fn check_weight(profile: &Profile, weight: i32) -> Result<(), Refusal> {
    let most = profile.sum_of_members.filter(|most| *most > 0);
    match weight {
        ..=0 => Err(Refusal::invalid("a member weighs at least 1")),
        _ if most.is_some_and(|most| weight > most) => {
            let most = most.unwrap_or_default();
            let message = format!("members of {} weigh at most {most}", profile.name);
            Err(Refusal::invalid(message))
        }
        _ => Ok(()),
    }
}

/// The port that a member watches, if it does.
fn check_watch(watch: &Option<WatchKind>, ports: &Ports) -> Result<Option<u16>, Refusal> {
    match watch {
        Some(WatchKind::WatchPort(bytes)) if !bytes.is_empty() => ports.watched(bytes).map(Some),
        Some(WatchKind::Watch(port)) if *port != 0 => {
            let bytes = port.to_be_bytes();
            ports.watched(&bytes).map(Some)
        }
        _ => Ok(None),
    }
}

/// The size of a group, as the selector counts it; an error if the switch cannot have it.
fn size(profile: &Profile, weights: impl Iterator<Item = i32> + Clone) -> Result<i64, Refusal> {
    let total: i64 = weights.clone().map(i64::from).sum();
    if total > MAX_WEIGHT {
        let message = format!("the weights of a group add up to {MAX_WEIGHT} at most");
        return Err(Refusal::new(Code::ResourceExhausted, message));
    }
    Ok(match profile.sum_of_members {
        Some(_) => weights.count() as i64,
        None => total,
    })
}

/// Specification, 9.2.2.1.
fn check_max_size(
    profile: &Profile,
    group: &ActionProfileGroup,
    old: Option<&ActionProfileGroup>,
) -> Result<(), Refusal> {
    let (given, most) = (group.max_size, profile.max_group_size);
    if old.is_some_and(|old| old.max_size != given) {
        let message = "max_size is set when a group is inserted and cannot be changed";
        return Err(Refusal::invalid(message));
    }
    if given < 0 || most > 0 && !(1..=most).contains(&given) {
        let message = match most {
            0 => "max_size cannot be negative".to_string(),
            _ => format!(
                "max_size must be 1 to {most}, the max_group_size of {}",
                profile.name
            ),
        };
        return Err(Refusal::invalid(message));
    }
    Ok(())
}

fn check_set(profile: &Profile, set: &ActionProfileActionSet) -> Result<(), Refusal> {
    if !profile.selector {
        let message = format!(
            "{} is not an action selector, so it takes no action sets",
            profile.name
        );
        return Err(Refusal::invalid(message));
    }
    if set.group_action.is_some() {
        return Err(Refusal::unimplemented("this switch has no group actions"));
    }
    // The selector always hashes; that is also its default.
    if !(0..=1).contains(&set.action_selection_mode) {
        let message = "this switch selects by a hash only; leave action_selection_mode unset";
        return Err(Refusal::unimplemented(message));
    }
    let own = 1 + i32::from(profile.sum_of_members.is_some());
    if set.size_semantics != 0 && set.size_semantics != own {
        let message = "a group's size is counted as the selector says; leave size_semantics unset";
        return Err(Refusal::unimplemented(message));
    }
    for item in &set.actions {
        check_weight(profile, item.weight)?;
    }
    let size = size(profile, set.actions.iter().map(|item| item.weight))?;
    let most = profile.max_group_size;
    if most > 0 && size > i64::from(most) {
        let message = format!(
            "groups of {} have a size of at most {most}, not {size}",
            profile.name
        );
        return Err(Refusal::invalid(message));
    }
    Ok(())
}
