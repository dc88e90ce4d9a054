//! Ids and aliases of what the control plane sees.
//!
//! An id is a prefix that says what the thing is, over 24 bits of a hash of its name (P4Runtime
//! specification, "ID Allocation for P4Info Objects"). A program keeps its ids when it grows,
//! except where two names collide: the later one in alphabetical order then moves up by one.

use p4_check::sentence;
use p4_syntax::{Diagnostic, Span};
use p4_syntax::{HashMap, HashSet};
use std::collections::BTreeMap;

/// What an id is of: its first byte, from `P4Ids.Prefix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Sort {
    Action = 0x01,
    Table = 0x02,
    ValueSet = 0x03,
    ControllerHeader = 0x04,
    ActionProfile = 0x11,
    Counter = 0x12,
    DirectCounter = 0x13,
    Meter = 0x14,
    DirectMeter = 0x15,
    Register = 0x16,
    Digest = 0x17,
}

impl Sort {
    pub fn describe(self) -> &'static str {
        match self {
            Sort::Action => "actions",
            Sort::Table => "tables",
            Sort::ValueSet => "value sets",
            Sort::ControllerHeader => "controller headers",
            Sort::ActionProfile => "action profiles",
            Sort::Counter => "counters",
            Sort::DirectCounter => "direct counters",
            Sort::Meter => "meters",
            Sort::DirectMeter => "direct meters",
            Sort::Register => "registers",
            Sort::Digest => "digests",
        }
    }
}

/// Names with their ids, `None` until [`Symbols::assign`].
#[derive(Default)]
pub(crate) struct Symbols {
    ids: BTreeMap<Sort, BTreeMap<String, Option<u32>>>,
    taken: HashMap<u32, Span>,
    /// How many different names end in this; whole components only
    suffixes: HashMap<String, u32>,
    names: HashSet<String>,
}

impl Symbols {
    /// Adds a name once, with the id of its `@id` if it has one.
    pub fn add(
        &mut self,
        sort: Sort,
        name: &str,
        id: Option<(u32, Span)>,
        out: &mut Vec<Diagnostic>,
    ) {
        let of_sort = self.ids.entry(sort).or_default();
        if of_sort.contains_key(name) {
            return;
        }
        let id = id.and_then(|(id, span)| match self.taken.get(&id) {
            None => {
                self.taken.insert(id, span);
                Some(id)
            }
            Some(first) => {
                out.push(
                    Diagnostic::error(
                        "E0701",
                        span,
                        sentence(&format!("the id {id} is given twice")),
                    )
                    .label(*first, "first given here")
                    .hint("Give each object an id of its own, or leave `@id` out."),
                );
                None
            }
        });
        of_sort.insert(name.to_string(), id);
        if self.names.insert(name.to_string()) {
            for suffix in suffixes(name) {
                *self.suffixes.entry(suffix.to_string()).or_default() += 1;
            }
        }
    }

    /// Gives an id to every name that has none.
    pub fn assign(&mut self) {
        for (sort, names) in &mut self.ids {
            for (name, id) in names.iter_mut().filter(|(_, id)| id.is_none()) {
                let free = free_id(*sort as u32, name, |id| self.taken.contains_key(&id));
                self.taken.insert(free, Span::NONE);
                *id = Some(free);
            }
        }
    }

    /// The id of a name that was added; 0, which is not an id, for others.
    pub fn id(&self, sort: Sort, name: &str) -> u32 {
        let found = self.ids.get(&sort).and_then(|names| names.get(name));
        found.copied().flatten().unwrap_or(0)
    }

    /// The shortest end of `name` that no other name ends in.
    pub fn alias(&self, name: &str) -> String {
        let unique = |suffix: &&str| self.suffixes.get(*suffix).is_none_or(|count| *count < 2);
        suffixes(name).find(unique).unwrap_or(name).to_string()
    }
}

/// The ends of `name` that begin behind a dot, the shortest first, `name` itself last.
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    let dots = name.rmatch_indices('.').map(|(at, _)| at + 1);
    dots.chain([0]).map(|start| &name[start..])
}

/// The id of a name: `prefix` over 24 bits of its hash, or the next that is not taken.
pub fn free_id(prefix: u32, name: &str, is_taken: impl Fn(u32) -> bool) -> u32 {
    let mut hash = jenkins_one_at_a_time(name.as_bytes());
    // 2^24 ids per sort are more than the objects of any program that fits in memory.
    loop {
        let candidate = prefix << 24 | hash & 0x00ff_ffff;
        if !is_taken(candidate) {
            return candidate;
        }
        hash = hash.wrapping_add(1);
    }
}

/// Bob Jenkins' one-at-a-time hash.
fn jenkins_one_at_a_time(bytes: &[u8]) -> u32 {
    let mut hash: u32 = 0;
    for byte in bytes {
        hash = hash.wrapping_add(u32::from(*byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// Ids of parts of an object, such as the parameters of an action: those of their `@id`, the
/// others counted from 1.
pub(crate) fn part_ids(given: &[(Option<u32>, Span)], out: &mut Vec<Diagnostic>) -> Vec<u32> {
    let mut taken: HashMap<u32, Span> = HashMap::default();
    for (id, span) in given {
        let Some(id) = id else { continue };
        if *id == 0 {
            out.push(
                Diagnostic::error("E0702", *span, "0 is not an id.")
                    .hint("Ids are numbers from 1."),
            );
        } else if let Some(first) = taken.insert(*id, *span) {
            out.push(
                Diagnostic::error(
                    "E0701",
                    *span,
                    sentence(&format!("the id {id} is given twice")),
                )
                .label(first, "first given here")
                .hint("Give each part an id of its own, or leave `@id` out."),
            );
        }
    }
    let mut next = 1;
    let mut ids = Vec::new();
    for (id, span) in given {
        match id {
            Some(id) => {
                ids.push(*id);
                next += 1;
            }
            None => {
                while taken.contains_key(&next) {
                    next += 1;
                }
                taken.insert(next, *span);
                ids.push(next);
            }
        }
    }
    ids
}
