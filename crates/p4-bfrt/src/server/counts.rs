//! What counters showed when clients last fetched or set them, as reads that do not ask the chip
//! are told.

use p4_arch::tna::Switch;
use p4_runtime::Refusal;
use p4_state::Update;
use std::collections::BTreeMap;

/// Packets and bytes, by the name of a table or counter and the number of the entry or cell.
#[derive(Default)]
pub struct Counts(BTreeMap<String, BTreeMap<u64, (u64, u64)>>);

impl Counts {
    /// Takes over what a table's entries have counted.
    pub fn fetch_entries(&mut self, switch: &Switch, table: &str) -> Result<(), Refusal> {
        let entries = switch.state().entries(table)?.into_iter();
        let counts = entries.map(|own| (own.handle, (own.packets, own.bytes)));
        self.0.insert(table.to_string(), counts.collect());
        Ok(())
    }

    /// Takes over what a counter's cells have counted.
    pub fn fetch_cells(&mut self, switch: &Switch, counter: &str) -> Result<(), Refusal> {
        let state = switch.state();
        let mut counts = BTreeMap::new();
        for cell in 0..state.counter_size(counter)? {
            counts.insert(cell, state.counter(counter, cell)?);
        }
        self.0.insert(counter.to_string(), counts);
        Ok(())
    }

    /// Takes over what clients have set by these changes, which the switch has made.
    pub fn follow(&mut self, switch: &Switch, changes: &[Update]) {
        for change in changes {
            match change {
                Update::SetDirectCounter {
                    key,
                    packets,
                    bytes,
                } => {
                    if let Ok(entry) = switch.state().entry(key) {
                        let own = self.0.entry(key.table.clone()).or_default();
                        own.insert(entry.handle, (*packets, *bytes));
                    }
                }
                Update::SetCounter {
                    counter,
                    index,
                    packets,
                    bytes,
                } => {
                    let own = self.0.entry(counter.clone()).or_default();
                    match index {
                        Some(index) => drop(own.insert(*index, (*packets, *bytes))),
                        None => own.clear(),
                    }
                }
                Update::Clear { table } => drop(self.0.remove(table)),
                _ => {}
            }
        }
    }

    /// Packets and bytes; what nobody has fetched or set is 0.
    pub fn of(&self, name: &str, number: u64) -> (u64, u64) {
        let own = self.0.get(name).and_then(|own| own.get(&number));
        own.copied().unwrap_or_default()
    }
}
