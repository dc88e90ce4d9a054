//! Handles of table entries, and the lines that name entries.

use super::values::{matched, number, small};
use crate::resolve::find_table;
use crate::target::{MatchKind, TableSchema, Target};
use num_bigint::BigUint;
use p4_state::{ActionSpec, Args, EntryKey};
use std::collections::{BTreeMap, BTreeSet};

type Result<T> = std::result::Result<T, String>;

/// A slot's version stands above these bits of a handle.
const SLOT_BITS: u64 = 24;

/// Below this the priorities of the command line, of which the smaller wins, are turned round.
const PRIORITIES: i64 = 10_000;

/// The entries of one table by slot. A new entry takes the lowest free one.
#[derive(Debug, Default)]
struct Slots {
    entries: Vec<Option<EntryKey>>,
    versions: Vec<u64>,
    free: BTreeSet<usize>,
}

/// The entries of all tables that were named so far.
#[derive(Debug, Default)]
pub struct Handles {
    tables: BTreeMap<String, Slots>,
}

impl Handles {
    /// The entries of the program come first.
    fn slots(&mut self, target: &dyn Target, table: &str) -> &mut Slots {
        self.tables.entry(table.to_string()).or_insert_with(|| {
            let views = target.state().and_then(|state| state.entries(table).ok());
            let views = views.unwrap_or_default();
            let key = |view: p4_state::EntryView| EntryKey {
                table: table.to_string(),
                matches: view.matches,
                priority: view.priority,
            };
            Slots {
                versions: vec![0; views.len()],
                entries: views.into_iter().map(|view| Some(key(view))).collect(),
                free: BTreeSet::new(),
            }
        })
    }

    /// To be called before the first change of a table.
    pub fn know(&mut self, target: &dyn Target, table: &str) {
        self.slots(target, table);
    }

    /// Gives an entry that was put in its handle.
    pub fn add(&mut self, target: &dyn Target, key: EntryKey) -> u64 {
        let slots = self.slots(target, &key.table.clone());
        let slot = slots.free.pop_first().unwrap_or_else(|| {
            slots.entries.push(None);
            slots.versions.push(0);
            slots.entries.len() - 1
        });
        slots.entries[slot] = Some(key);
        slots.versions[slot] << SLOT_BITS | slot as u64
    }

    /// Frees the slot of an entry that was taken out.
    pub fn remove(&mut self, key: &EntryKey) {
        let Some(slots) = self.tables.get_mut(&key.table) else {
            return;
        };
        let found = slots
            .entries
            .iter()
            .position(|own| own.as_ref() == Some(key));
        if let Some(slot) = found {
            slots.entries[slot] = None;
            slots.versions[slot] += 1;
            slots.free.insert(slot);
        }
    }

    /// All entries of a table were taken out.
    pub fn clear(&mut self, table: &str) {
        self.tables.insert(table.to_string(), Slots::default());
    }

    /// The entry with a handle.
    pub fn entry(&mut self, target: &dyn Target, table: &str, handle: &str) -> Result<EntryKey> {
        let handle = small(handle)?;
        let slots = self.slots(target, table);
        let slot = (handle & ((1 << SLOT_BITS) - 1)) as usize;
        let is_current = slots.versions.get(slot) == Some(&(handle >> SLOT_BITS));
        let entry = slots.entries.get(slot).filter(|_| is_current).cloned();
        entry
            .flatten()
            .ok_or(format!("{table} has no entry with handle {handle}"))
    }
}

/// `KEY... [=> REST...] [PRIORITY]`: the key, and what stands behind the arrow.
pub fn entry_key<'a>(
    target: &dyn Target,
    table: &str,
    args: &'a [String],
) -> Result<(EntryKey, &'a [String])> {
    let table = find_table(target.schema(), table)?;
    let mut args = args;
    let mut priority = 0;
    if table.has_priorities() {
        let (last, before) = args.split_last().ok_or("a priority is missing")?;
        priority = turned_round(last)?;
        args = before;
    }
    let arrow = args.iter().position(|arg| arg == "=>");
    let (keys, rest) = match arrow {
        Some(at) => (&args[..at], &args[at + 1..]),
        None => (args, &args[args.len()..]),
    };
    let matches = matches(table, keys)?;
    let key = EntryKey {
        table: table.name.clone(),
        matches,
        priority,
    };
    Ok((key, rest))
}

/// Refuses a line whose last value was meant for the action and is taken for the priority.
pub fn priority_is_missing(
    target: &dyn Target,
    key: &EntryKey,
    action: &str,
    values: &[String],
    args: &[String],
) -> Result<()> {
    let wanted = target.action_widths(action).len();
    match args.last() {
        Some(last) if key.priority > 0 && values.len() + 1 == wanted => Err(format!(
            "the priority is missing: `{last}` at the end is taken for it, and {action} lacks a \
             value; {} has ternary, range or optional keys, so a line ends with a priority",
            key.table
        )),
        _ => Ok(()),
    }
}

fn matches(table: &TableSchema, texts: &[String]) -> Result<Vec<(String, p4_state::Match)>> {
    let keys = table.keys.iter().filter(|key| key.kind != MatchKind::Other);
    let keys: Vec<_> = keys.collect();
    if keys.len() != texts.len() {
        return Err(format!(
            "{} has {} keys, but {} values are given",
            table.name,
            keys.len(),
            texts.len()
        ));
    }
    let pairs = keys.iter().zip(texts);
    pairs
        .map(|(key, text)| Ok((key.name.clone(), matched(key, text)?)))
        .collect()
}

/// The smaller number wins on the command line, the larger one in our tables.
fn turned_round(text: &str) -> Result<u32> {
    let wrong = || {
        format!(
            "`{text}` is not a priority; the table has ternary, range or optional keys, so the line \
             ends with one of at most {PRIORITIES}"
        )
    };
    let priority: i64 = text.parse().map_err(|_| wrong())?;
    let turned = (PRIORITIES + 1).checked_sub(priority).ok_or_else(wrong)?;
    u32::try_from(turned)
        .ok()
        .filter(|p| *p > 0)
        .ok_or_else(wrong)
}

/// An action with its arguments in order, perhaps behind an arrow.
pub fn action(target: &dyn Target, name: &str, args: &[String]) -> Result<ActionSpec> {
    let args = match args.split_first() {
        Some((arrow, rest)) if arrow == "=>" => rest,
        _ => args,
    };
    let widths = target.action_widths(name);
    let widths = widths.into_iter().map(Some).chain(std::iter::repeat(None));
    let values = args.iter().zip(widths).map(|(text, width)| match width {
        Some(width) => number(text, width),
        None => super::values::integer(text),
    });
    let values: Result<Vec<BigUint>> = values.collect();
    Ok(ActionSpec {
        name: name.to_string(),
        args: Args::InOrder(values?),
    })
}
