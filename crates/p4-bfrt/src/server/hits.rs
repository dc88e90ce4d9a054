//! Which entries have been hit, as clients that ask for it are told: what they fetched last.

use p4_arch::tna::Switch;
use p4_runtime::Refusal;
use p4_state::EntryKey;
use std::collections::{BTreeMap, BTreeSet};

/// By the name of a table, the numbers of the entries that were hit before the last fetching.
#[derive(Default)]
pub struct Hits(BTreeMap<String, BTreeSet<u64>>);

impl Hits {
    /// Takes over which entries have been hit since the last time.
    pub fn fetch(&mut self, switch: &mut Switch, table: &str) -> Result<(), Refusal> {
        let hit = switch.take_hits(table)?;
        self.0.insert(table.to_string(), hit.into_iter().collect());
        Ok(())
    }

    /// A client says itself whether an entry counts as hit.
    pub fn set(&mut self, switch: &Switch, key: &EntryKey, active: bool) {
        let Ok(entry) = switch.state().entry(key) else {
            return;
        };
        let own = self.0.entry(key.table.clone()).or_default();
        match active {
            true => own.insert(entry.handle),
            false => own.remove(&entry.handle),
        };
    }

    pub fn contains(&self, table: &str, handle: u64) -> bool {
        self.0.get(table).is_some_and(|own| own.contains(&handle))
    }
}
