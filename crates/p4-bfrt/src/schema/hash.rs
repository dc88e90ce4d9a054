//! Ids: a first byte that says what the thing is, over 24 bits of a hash of its name.

use p4_info::free_id;
use std::collections::{BTreeMap, BTreeSet};

/// First bytes of ids, as bf-p4c gives them.
pub mod prefix {
    pub const TABLE: u32 = 0x02;
    pub const ACTION_PROFILE: u32 = 0x81;
    pub const ACTION_SELECTOR: u32 = 0x82;
    pub const COUNTER: u32 = 0x83;
    pub const METER: u32 = 0x85;
    pub const WRED: u32 = 0x87;
    pub const LPF: u32 = 0x89;
    pub const REGISTER: u32 = 0x8B;
    pub const REGISTER_PARAM: u32 = 0x8D;
    pub const DIGEST: u32 = 0x8E;
    pub const PORT_METADATA: u32 = 0x90;
    pub const HASH_CONFIGURE: u32 = 0x95;
    pub const HASH_COMPUTE: u32 = 0x96;
    pub const HASH_ALGORITHM: u32 = 0x97;
    pub const DEBUG_COUNTER: u32 = 0x99;
    pub const SELECTOR_GET_MEMBER: u32 = 0x9A;
    pub const VALUE_SET: u32 = 0xFE;
}

/// Gives ids to all names of a kind: of two that collide the later one in alphabetical order moves
/// up by one.
pub fn ids<'a>(prefix: u32, names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, u32> {
    let mut ids: BTreeMap<&str, u32> = names.map(|name| (name, 0)).collect();
    let mut taken = BTreeSet::new();
    for (name, id) in &mut ids {
        *id = free_id(prefix, name, |id| taken.contains(&id));
        taken.insert(*id);
    }
    ids
}
