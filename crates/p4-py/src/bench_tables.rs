//! How fast tables are, by themselves: entries in, keys looked up, entries out.

use crate::program::Program;
use num_bigint::BigUint;
use p4_state::{ActionSpec, Args, Entry, EntryKey, Match, State, Target, Update};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Keys that are looked up in turn; more than a cache holds for a large table.
const KEYS: usize = 1 << 17;

/// Fills the one table of `program` with `entries` entries in batches of `batch`, looks keys of
/// entries up, and takes the entries out again. `kind` says how the table's one key of 32 bits
/// matches: exact, lpm, ternary (with 32 masks) or range. Gives `inserts_per_second`,
/// `lookup_ns`, `deletes_per_second`.
#[pyfunction]
pub fn bench_table<'py>(
    py: Python<'py>,
    program: &Program,
    kind: &str,
    entries: u32,
    batch: u32,
    lookups: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let table = program.ir().tables.first();
    let Some(table) = table.filter(|table| table.keys.len() == 1 && batch > 0) else {
        return Err(PyValueError::new_err(
            "the program needs one table with one key, and batches one entry",
        ));
    };
    let plan = Plan {
        table: table.name.to_string(),
        key: table.keys[0].name.to_string(),
        action: program.ir().actions[table.actions[0].action as usize]
            .name
            .to_string(),
        kind: kind.to_string(),
        entries,
    };
    let ir = Arc::new(program.ir().clone());
    let measured = py.detach(|| {
        let mut state = State::new(ir, &[]).map_err(|error| error.to_string())?;
        plan.measure(&mut state, batch, lookups)
    });
    let [inserts, lookup, deletes] = measured.map_err(PyValueError::new_err)?;
    let dict = PyDict::new(py);
    dict.set_item("inserts_per_second", inserts)?;
    dict.set_item("lookup_ns", lookup)?;
    dict.set_item("deletes_per_second", deletes)?;
    Ok(dict)
}

struct Plan {
    table: String,
    key: String,
    action: String,
    kind: String,
    entries: u32,
}

impl Plan {
    fn measure(&self, state: &mut State, batch: u32, lookups: u32) -> Result<[f64; 3], String> {
        let inserting = self.batches(state, batch, |n| {
            let action = ActionSpec {
                name: self.action.clone(),
                args: Args::InOrder(vec![BigUint::from(n)]),
            };
            Update::Insert(Entry {
                key: self.entry(n),
                target: Target::Action(action),
            })
        })?;
        let keys: Vec<[u64; 1]> = (0..KEYS as u32)
            .map(|i| [self.packet(mixed(i) % self.entries.max(1))])
            .collect();
        let start = Instant::now();
        let mut hits = 0;
        for i in 0..lookups as usize {
            hits += u32::from(state.lookup(0, &keys[i % KEYS], 0, 0, |_, _, _| None).hit);
        }
        let looking = start.elapsed();
        if hits != lookups {
            return Err(format!(
                "{} of {lookups} keys found no entry",
                lookups - hits
            ));
        }
        let deleting = self.batches(state, batch, |n| Update::Delete(self.entry(n)))?;
        let rate = |time: Duration| f64::from(self.entries) / time.as_secs_f64().max(1e-9);
        let each = looking.as_secs_f64() * 1e9 / f64::from(lookups.max(1));
        Ok([rate(inserting), each, rate(deleting)])
    }

    /// Time to write the updates for all entries; making them is not part of it.
    fn batches(
        &self,
        state: &mut State,
        batch: u32,
        update: impl Fn(u32) -> Update,
    ) -> Result<Duration, String> {
        let mut time = Duration::ZERO;
        let mut next = 0;
        while next < self.entries {
            let end = next.saturating_add(batch).min(self.entries);
            let updates: Vec<Update> = (next..end).map(&update).collect();
            let start = Instant::now();
            state.write(&updates).map_err(|error| error.to_string())?;
            time += start.elapsed();
            next = end;
        }
        Ok(time)
    }

    /// The entry number `n`; no two are equal.
    fn entry(&self, n: u32) -> EntryKey {
        let value = |v: u32| BigUint::from(v);
        let (given, priority) = match self.kind.as_str() {
            "lpm" => {
                let (prefix, length) = prefix(n);
                let value = value(prefix);
                (Match::Lpm { value, length }, 0)
            }
            "ternary" => {
                let mask = !(1 << (n % 32));
                let (value, mask) = (value(mixed(n) & mask), value(mask));
                (Match::Ternary { value, mask }, 1 + n % 1000)
            }
            "range" => {
                let (low, high) = range(n);
                let (low, high) = (value(low), value(high));
                (Match::Range { low, high }, 1 + n % 1000)
            }
            _ => (Match::Exact(value(mixed(n))), 0),
        };
        EntryKey {
            table: self.table.clone(),
            matches: vec![(self.key.clone(), given)],
            priority,
        }
    }

    /// A key that entry `n` takes.
    fn packet(&self, n: u32) -> u64 {
        u64::from(match self.kind.as_str() {
            "range" => range(n).0 + 5,
            "lpm" => prefix(n).0,
            _ => mixed(n),
        })
    }
}

/// Another number for each number: 2654435761 is odd, and every step can be taken back.
fn mixed(n: u32) -> u32 {
    let n = (n ^ n >> 16).wrapping_mul(2_654_435_761);
    n ^ n >> 15
}

/// Half of the prefixes are of 24 bits, as in the tables of Internet routers.
fn prefix(n: u32) -> (u32, u32) {
    let (index, length) = match (n % 2, n / 2 % 16) {
        (0, _) => (n / 2, 24),
        // What would be 24 again shares a length with its neighbour.
        (_, row @ (6 | 7)) => (n / 32 * 2 + row - 6, 23),
        (_, row) => (n / 32, 17 + row),
    };
    // An odd factor gives each index a prefix of its own.
    (index.wrapping_mul(2_654_435_761) << (32 - length), length)
}

/// Ranges that touch and do not overlap.
fn range(n: u32) -> (u32, u32) {
    let low = n.wrapping_mul(4001);
    (low, low.saturating_add(4000))
}
