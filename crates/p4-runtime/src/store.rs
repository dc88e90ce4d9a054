//! What a client has written that the engine does not keep: it gets it back as it was.

use crate::messages::{
    Action, ActionProfileActionSet, ActionProfileGroup, CloneSessionEntry, DigestConfig,
    MulticastGroupEntry, ValueSetMember,
};
use p4_state::EntryKey;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub struct Store {
    /// By table and entry
    pub extras: FxHashMap<u32, FxHashMap<EntryKey, Extra>>,
    /// Of default entries, by table
    pub defaults: FxHashMap<u32, Extra>,
    pub profiles: FxHashMap<u32, ProfileStore>,
    pub groups: BTreeMap<u32, MulticastGroupEntry>,
    pub sessions: BTreeMap<u32, CloneSessionEntry>,
    pub value_sets: BTreeMap<u32, Vec<ValueSetMember>>,
    pub digests: BTreeMap<u32, DigestConfig>,
    /// Ports that are down
    pub down: BTreeSet<u16>,
}

/// Of an entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    pub metadata: Vec<u8>,
    pub controller_metadata: u64,
    pub idle_timeout_ns: i64,
    pub one_shot: Option<OneShot>,
}

impl Extra {
    pub fn is_nothing(&self) -> bool {
        *self == Extra::default()
    }
}

/// A group and members that an entry has made for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct OneShot {
    pub group: u32,
    /// In the order of the set's actions
    pub members: Vec<u32>,
    pub set: ActionProfileActionSet,
}

/// What is in an action profile.
#[derive(Clone, Debug, Default)]
pub struct ProfileStore {
    pub members: BTreeMap<u32, Action>,
    pub groups: BTreeMap<u32, ActionProfileGroup>,
    /// How many entries have made their own groups
    pub one_shots: u64,
    /// The next id for a group or member of an entry's own
    pub next_own: u32,
}

/// Ids of an entry's own groups and members begin here; a client's are below.
pub const OWN_IDS: u32 = 1 << 31;

impl ProfileStore {
    /// An id that nothing has.
    pub fn own_id(&mut self) -> u32 {
        // After 2^31 of them they begin again, when the first ones are long gone.
        self.next_own = (self.next_own + 1) % OWN_IDS;
        OWN_IDS + self.next_own
    }
}

impl Store {
    pub fn extra(&self, table: u32, key: &EntryKey) -> Option<&Extra> {
        self.extras.get(&table)?.get(key)
    }

    pub fn has_extras(&self, table: u32) -> bool {
        self.extras.get(&table).is_some_and(|own| !own.is_empty())
    }

    /// Replaces what is kept of an entry.
    pub fn set_extra(&mut self, table: u32, key: EntryKey, extra: Extra) {
        let own = self.extras.entry(table).or_default();
        match extra.is_nothing() {
            true => own.remove(&key),
            false => own.insert(key, extra),
        };
    }

    pub fn profile(&mut self, id: u32) -> &mut ProfileStore {
        self.profiles.entry(id).or_default()
    }
}
