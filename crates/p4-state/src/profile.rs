//! Action profiles and selectors: actions that entries share.

use std::collections::BTreeMap;

/// A member: an action of the profile's tables with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Index in the tables' lists of actions
    pub action: u32,
    pub data: Box<[u64]>,
}

/// The members and groups of one profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    pub size: Option<u64>,
    /// Groups are allowed.
    pub selector: bool,
    pub members: BTreeMap<u32, Member>,
    /// Members of each group in ascending order, which is the order in which bmv2 numbers them; one
    /// of weight 3 is there 3 times
    pub groups: BTreeMap<u32, Vec<u32>>,
}

impl Profile {
    /// The member of `group` at the place of so many that `choose` picks; `None` if it picks none,
    /// or the group is empty.
    pub fn pick(&self, group: u32, choose: impl FnOnce(usize) -> Option<usize>) -> Option<&Member> {
        let members = self.groups.get(&group).filter(|group| !group.is_empty())?;
        self.members.get(members.get(choose(members.len())?)?)
    }
}
