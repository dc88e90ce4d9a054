//! Members and groups of action profiles, by handle.

use crate::target::Target;
use p4_state::{ActionSpec, Update};
use std::collections::{BTreeMap, BTreeSet};

type Result<T> = std::result::Result<T, String>;

/// What was made in one profile.
#[derive(Clone, Debug, Default)]
struct Made {
    members: BTreeMap<u32, ActionSpec>,
    groups: BTreeMap<u32, BTreeSet<u32>>,
}

/// By name as the lines write it.
#[derive(Debug, Default)]
pub struct Profiles {
    made: BTreeMap<String, Made>,
}

impl Profiles {
    fn made(&mut self, target: &dyn Target, profile: &str) -> Result<(String, &mut Made)> {
        let name = match target.state() {
            Some(state) => state.profile_name(profile).map_err(|e| e.to_string())?,
            None => profile.to_string(),
        };
        Ok((name.clone(), self.made.entry(name).or_default()))
    }

    /// Gives the handle: the lowest free number.
    pub fn create_member(
        &mut self,
        target: &mut dyn Target,
        profile: &str,
        action: ActionSpec,
    ) -> Result<u32> {
        let (profile, made) = self.made(target, profile)?;
        let member = lowest(made.members.keys());
        set_member(target, profile, member, Some(action.clone()))?;
        made.members.insert(member, action);
        Ok(member)
    }

    pub fn modify_member(
        &mut self,
        target: &mut dyn Target,
        profile: &str,
        member: u32,
        action: ActionSpec,
    ) -> Result<()> {
        let (profile, made) = self.made(target, profile)?;
        let old = made.members.get_mut(&member);
        let old = old.ok_or(format!("{profile} has no member {member}"))?;
        set_member(target, profile, member, Some(action.clone()))?;
        *old = action;
        Ok(())
    }

    pub fn delete_member(
        &mut self,
        target: &mut dyn Target,
        profile: &str,
        member: u32,
    ) -> Result<()> {
        let (profile, made) = self.made(target, profile)?;
        if !made.members.contains_key(&member) {
            return Err(format!("{profile} has no member {member}"));
        }
        set_member(target, profile, member, None)?;
        made.members.remove(&member);
        Ok(())
    }

    pub fn create_group(&mut self, target: &mut dyn Target, profile: &str) -> Result<u32> {
        let (profile, made) = self.made(target, profile)?;
        let group = lowest(made.groups.keys());
        set_group(target, profile, group, Some(&BTreeSet::new()))?;
        made.groups.insert(group, BTreeSet::new());
        Ok(group)
    }

    pub fn delete_group(
        &mut self,
        target: &mut dyn Target,
        profile: &str,
        group: u32,
    ) -> Result<()> {
        let (profile, made) = self.made(target, profile)?;
        if !made.groups.contains_key(&group) {
            return Err(format!("{profile} has no group {group}"));
        }
        set_group(target, profile, group, None)?;
        made.groups.remove(&group);
        Ok(())
    }

    pub fn change_group(
        &mut self,
        target: &mut dyn Target,
        profile: &str,
        (member, group): (u32, u32),
        is_in: bool,
    ) -> Result<()> {
        let (profile, made) = self.made(target, profile)?;
        let members = made.groups.get_mut(&group);
        let members = members.ok_or(format!("{profile} has no group {group}"))?;
        if !made.members.contains_key(&member) {
            return Err(format!("{profile} has no member {member}"));
        }
        let mut changed = members.clone();
        let (done, state) = match is_in {
            true => (changed.insert(member), "already in"),
            false => (changed.remove(&member), "not in"),
        };
        if !done {
            return Err(format!("member {member} is {state} group {group}"));
        }
        set_group(target, profile, group, Some(&changed))?;
        *members = changed;
        Ok(())
    }

    /// A line per member and per group.
    pub fn dump(&mut self, target: &dyn Target, profile: &str) -> Result<Vec<String>> {
        let (_, made) = self.made(target, profile)?;
        let members = made
            .members
            .iter()
            .map(|(handle, action)| format!("member {handle}: {action}"));
        let groups = made
            .groups
            .iter()
            .map(|(handle, members)| format!("group {handle}: members {members:?}"));
        Ok(members.chain(groups).collect())
    }
}

fn lowest<'a>(taken: impl Iterator<Item = &'a u32>) -> u32 {
    taken.zip(0..).take_while(|(own, at)| **own == *at).count() as u32
}

fn set_member(
    target: &mut dyn Target,
    profile: String,
    member: u32,
    action: Option<ActionSpec>,
) -> Result<()> {
    target.write(Update::SetMember {
        profile,
        member,
        action,
    })
}

fn set_group(
    target: &mut dyn Target,
    profile: String,
    group: u32,
    members: Option<&BTreeSet<u32>>,
) -> Result<()> {
    target.write(Update::SetMemberGroup {
        profile,
        group,
        members: members.map(|members| members.iter().copied().collect()),
    })
}
