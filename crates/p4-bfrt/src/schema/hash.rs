//! Ids: a first byte that says what the thing is, over 24 bits of a hash of its name.

use std::collections::BTreeMap;

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
    pub const DEBUG_COUNTER: u32 = 0x99;
    pub const SELECTOR_GET_MEMBER: u32 = 0x9A;
    pub const VALUE_SET: u32 = 0xFE;
}

/// Bob Jenkins' one-at-a-time hash, as the P4Runtime specification prescribes for ids.
fn one_at_a_time(text: &str) -> u32 {
    let mixed = text.bytes().fold(0u32, |hash, byte| {
        let hash = hash.wrapping_add(u32::from(byte));
        let hash = hash.wrapping_add(hash << 10);
        hash ^ (hash >> 6)
    });
    let hash = mixed.wrapping_add(mixed << 3);
    let hash = hash ^ (hash >> 11);
    hash.wrapping_add(hash << 15)
}

/// Gives ids to all names of a kind: of two that collide the later one in alphabetical order moves
/// up by one.
pub fn ids<'a>(prefix: u32, names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, u32> {
    let mut ids: BTreeMap<&str, u32> = names.map(|name| (name, 0)).collect();
    let mut taken = std::collections::BTreeSet::new();
    for (name, id) in &mut ids {
        let mut own = one_at_a_time(name) & 0xff_ffff;
        while !taken.insert(own) {
            own = (own + 1) & 0xff_ffff;
        }
        *id = prefix << 24 | own;
    }
    ids
}
