//! One table: its schema, its entries and its default action.

use crate::cells::{Count, Meter};
use crate::error::UpdateError;
use crate::idle::Idle;
use crate::matcher::{Levels, Matcher, Pattern, Place};
use crate::rules::Rules;
use crate::value::ones;
use p4_ir::ir::{self, Compared};
use p4_syntax::ast::Name;
use p4_syntax::span::Span;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a key is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    /// Takes no part in matching; picks a member of a group.
    Selector,
}

impl Kind {
    pub fn of(name: &str) -> Option<Kind> {
        Some(match name {
            // The number of an algorithmic TCAM's partition is matched like any other.
            "exact" | "atcam_partition_index" => Kind::Exact,
            "lpm" => Kind::Lpm,
            "ternary" => Kind::Ternary,
            "range" => Kind::Range,
            "optional" => Kind::Optional,
            "selector" => Kind::Selector,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Exact => "exact",
            Kind::Lpm => "lpm",
            Kind::Ternary => "ternary",
            Kind::Range => "range",
            Kind::Optional => "optional",
            Kind::Selector => "selector",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct KeyInfo {
    pub name: Name,
    pub kind: Kind,
    pub width: u32,
    /// First word in the key
    pub at: usize,
    pub words: usize,
    pub compared: Compared,
}

impl KeyInfo {
    /// Leaves of an entry's value and mask what bmv2 compares of them.
    pub fn as_compared(&self, value: &mut [u64], mask: &mut [u64]) {
        let padding = self.compared.padding;
        if padding > 0 && self.kind == Kind::Lpm {
            let length: u32 = mask.iter().map(|word| word.count_ones()).sum();
            let from = self.width - length.saturating_sub(padding);
            mask.copy_from_slice(&ones(from, self.width, self.words));
        }
        if let Some(own) = &self.compared.mask {
            value
                .iter_mut()
                .zip(own)
                .for_each(|(word, own)| *word &= own);
        }
        value
            .iter_mut()
            .zip(mask.iter())
            .for_each(|(word, mask)| *word &= mask);
    }

    /// The start of a range, of which the same is true.
    pub fn start_as_compared(&self, low: &mut [u64]) {
        if let Some(own) = &self.compared.mask {
            low.iter_mut().zip(own).for_each(|(word, own)| *word &= own);
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ActionInfo {
    pub name: Name,
    /// Name and width in bits
    pub params: Vec<(Name, u32)>,
    pub default_only: bool,
    pub table_only: bool,
}

/// Direct extern instances of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direct {
    pub counter: Option<ir::InstanceId>,
    pub meter: Option<ir::InstanceId>,
    pub profile: Option<ir::InstanceId>,
    /// Bytes of a packet that the counter and the meter leave out
    pub uncounted: u64,
    pub unmetered: u64,
}

/// What an entry leads to, as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    /// Index in the table's actions, and the parameters' words
    Action(u32, Box<[u64]>),
    Member(u32),
    Group(u32),
}

/// Where entries lead to, by their places, at equal distances: an answer is one or two cache lines
/// rather than an entry and what is behind it.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    /// Words of an answer: the action, how many words of parameters, and these
    stride: usize,
    words: Vec<u64>,
}

/// Words of an answer before the parameters
const HEAD: usize = 2;

impl Answers {
    /// Of actions with at most so many words of parameters.
    fn new(most: usize) -> Answers {
        Answers {
            stride: HEAD + most,
            words: Vec::new(),
        }
    }

    fn set(&mut self, place: Place, leads: &Leads) {
        // Members and groups have their own way: only tables with a profile have them.
        let Leads::Action(action, data) = leads else {
            return;
        };
        let at = place as usize * self.stride;
        if self.words.len() < at + self.stride {
            self.words.resize(at + self.stride, 0);
        }
        let own = &mut self.words[at..at + self.stride];
        (own[0], own[1]) = (u64::from(*action), data.len() as u64);
        own[HEAD..][..data.len()].copy_from_slice(data);
    }

    /// The action and the words of its parameters.
    #[inline]
    pub fn get(&self, place: Place) -> Option<(u32, &[u64])> {
        let at = place as usize * self.stride;
        let own = self.words.get(at..at + self.stride)?;
        let data = own.get(HEAD..HEAD + own[1] as usize)?;
        Some((own[0] as u32, data))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// Number of the entry, never used again in this table
    pub handle: u64,
    /// Shared with those who find the entry by it
    pub pattern: Arc<Pattern>,
    pub priority: u32,
    pub leads: Leads,
    /// `None` until something of it changes: in a large network millions of entries never have any.
    measured: Option<Box<Measured>>,
    pub written: Option<Written>,
}

/// Of an entry that is written in the program
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub span: Span,
    /// Nobody may change it or take it away (P4_16 1.2.5, 14.2.1.4).
    pub is_const: bool,
}

/// What is counted, metered and noted with an entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub count: Count,
    pub meter: Meter,
    pub idle: Idle,
}

impl Stored {
    #[inline]
    pub fn measured(&self) -> Measured {
        self.measured.as_deref().copied().unwrap_or_default()
    }

    #[inline]
    pub fn measured_mut(&mut self) -> &mut Measured {
        self.measured.get_or_insert_default()
    }
}

/// What packets need of a table comes first, since the tables of a thousand switches do not fit into
/// the cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Table {
    pub matcher: Matcher,
    /// Of a table whose lookups change nothing
    pub answers: Option<Answers>,
    pub default: ir::ActionCall,
    pub name: Name,
    pub keys: Vec<KeyInfo>,
    /// Bits of the key that count, where the control plane leaves some out
    pub key_mask: Option<Box<[u64]>>,
    masked: Vec<u64>,
    pub actions: Arc<[ActionInfo]>,
    pub size: u64,
    pub const_entries: bool,
    pub const_default: bool,
    /// Entries are told apart by priority.
    pub priorities: bool,
    pub direct: Direct,
    /// Entries note when they hit, so that idle ones can be told.
    pub idle_timeout: bool,
    /// bmv2's way: a new entry takes the lowest free number.
    pub reuses_handles: bool,
    /// A member or group that stands for the default action
    pub default_leads: Option<Leads>,
    pub program_default: ir::ActionCall,
    slab: Vec<Option<Stored>>,
    free: Vec<Place>,
    next_handle: u64,
    /// Numbers below `next_handle` to be used again
    free_handles: BTreeSet<u64>,
    live: u64,
}

impl Table {
    pub fn new(table: &ir::Table, program: &ir::Program, keys: Vec<KeyInfo>) -> Table {
        let action = |listed: &ir::TableAction| {
            let action = &program.actions[listed.action as usize];
            let params = action
                .params
                .iter()
                .map(|p| (p.name.clone(), p.place.width));
            ActionInfo {
                name: action.name.clone(),
                params: params.collect(),
                default_only: listed.default_only,
                table_only: listed.table_only,
            }
        };
        let general =
            |key: &KeyInfo| matches!(key.kind, Kind::Ternary | Kind::Range | Kind::Optional);
        let priorities = keys.iter().any(general);
        let several_prefixes = keys.iter().filter(|key| key.kind == Kind::Lpm).count() > 1;
        Table {
            name: table.name.clone(),
            actions: table.actions.iter().map(action).collect(),
            size: table.size.unwrap_or(DEFAULT_SIZE),
            const_entries: table.const_entries,
            const_default: table.const_default,
            priorities: priorities || several_prefixes,
            direct: Direct::default(),
            idle_timeout: false,
            answers: None,
            reuses_handles: false,
            default_leads: None,
            key_mask: None,
            masked: Vec::new(),
            default: table.default.clone(),
            program_default: table.default.clone(),
            matcher: if priorities || several_prefixes {
                Matcher::Rules(Rules::new(exact_bits(&keys)))
            } else {
                Matcher::Levels(Levels::default())
            },
            slab: Vec::new(),
            free: Vec::new(),
            next_handle: 0,
            free_handles: BTreeSet::new(),
            live: 0,
            keys,
        }
    }

    /// The entry that a packet's key hits.
    #[inline]
    pub fn find(&mut self, key: &[u64]) -> Option<Place> {
        match &self.key_mask {
            None => self.matcher.find(key),
            Some(mask) => {
                self.masked.clear();
                let bits = key.iter().zip(mask);
                self.masked.extend(bits.map(|(word, mask)| word & mask));
                self.matcher.find(&self.masked)
            }
        }
    }

    pub fn key_words(&self) -> usize {
        self.keys.iter().map(|key| key.words).sum()
    }

    #[inline]
    pub fn entry(&self, place: Place) -> Option<&Stored> {
        self.slab.get(place as usize).and_then(Option::as_ref)
    }

    #[inline]
    pub fn entry_mut(&mut self, place: Place) -> Option<&mut Stored> {
        self.slab.get_mut(place as usize).and_then(Option::as_mut)
    }

    /// Entries in the order of their numbers.
    pub fn entries(&self) -> Vec<&Stored> {
        let mut entries: Vec<&Stored> = self.slab.iter().flatten().collect();
        entries.sort_by_key(|entry| entry.handle);
        entries
    }

    /// The entry with this number.
    pub fn entry_numbered(&self, handle: u64) -> Option<&Stored> {
        let mut entries = self.slab.iter().flatten();
        entries.find(|entry| entry.handle == handle)
    }

    /// Adds an entry; the size is not asked for entries of the program.
    pub fn insert(
        &mut self,
        pattern: Pattern,
        priority: u32,
        leads: Leads,
        written: Option<Written>,
    ) -> Result<Place, UpdateError> {
        if self.matcher.get(&pattern, priority).is_some() {
            return Err(UpdateError::Duplicate {
                table: self.name.to_string(),
            });
        }
        if written.is_none() && self.live >= self.size {
            return Err(UpdateError::Full {
                table: self.name.to_string(),
                size: self.size,
            });
        }
        let handle = self.new_handle();
        Ok(self.put(Stored {
            handle,
            pattern: Arc::new(pattern),
            priority,
            leads,
            measured: None,
            written,
        }))
    }

    fn new_handle(&mut self) -> u64 {
        if self.reuses_handles {
            if let Some(handle) = self.free_handles.first() {
                return *handle;
            }
        }
        let handle = self.next_handle;
        self.next_handle += 1;
        handle
    }

    /// Whether the program itself has put entries in.
    pub fn has_program_entries(&self) -> bool {
        self.slab
            .iter()
            .flatten()
            .any(|entry| entry.written.is_some())
    }

    /// Puts an entry (back) in. Its number also orders entries of equal priority: older first.
    pub fn put(&mut self, entry: Stored) -> Place {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slab.push(None);
            self.slab.len() as Place - 1
        });
        self.matcher
            .insert(&entry.pattern, entry.priority, entry.handle, place);
        self.free_handles.remove(&entry.handle);
        if let Some(answers) = &mut self.answers {
            answers.set(place, &entry.leads);
        }
        self.slab[place as usize] = Some(entry);
        self.live += 1;
        place
    }

    /// Lets an entry lead elsewhere; gives what it led to.
    pub fn redirect(&mut self, place: Place, leads: Leads) -> Option<Leads> {
        if let Some(answers) = &mut self.answers {
            answers.set(place, &leads);
        }
        let stored = self.entry_mut(place)?;
        Some(std::mem::replace(&mut stored.leads, leads))
    }

    /// From now on lookups change nothing but need not go to the entries themselves.
    pub fn answer_at_once(&mut self) {
        let words = |action: &ActionInfo| {
            let params = action.params.iter();
            params.map(|(_, width)| ir::words(*width) as usize).sum()
        };
        let most: usize = self.actions.iter().map(words).max().unwrap_or(0);
        let mut answers = Answers::new(most);
        for (place, entry) in self.slab.iter().enumerate() {
            if let Some(entry) = entry {
                answers.set(place as Place, &entry.leads);
            }
        }
        self.answers = Some(answers);
    }

    /// Takes an entry out.
    pub fn take(&mut self, place: Place) -> Option<Stored> {
        let entry = self.slab.get_mut(place as usize)?.take()?;
        self.matcher.remove(&entry.pattern, entry.priority);
        self.free.push(place);
        if self.reuses_handles {
            self.free_handles.insert(entry.handle);
        }
        self.live -= 1;
        Some(entry)
    }

    /// Takes an entry out that was just put in, as if it had never been there.
    pub fn forget(&mut self, place: Place) {
        if let Some(entry) = self.take(place) {
            if !self.reuses_handles {
                self.next_handle = entry.handle;
            }
        }
    }

    /// The place of the entry with this pattern and priority.
    pub fn locate(&self, pattern: &Pattern, priority: u32) -> Result<Place, UpdateError> {
        let place = self.matcher.get(pattern, priority);
        place.ok_or_else(|| UpdateError::NotFound {
            table: self.name.to_string(),
        })
    }

    pub fn len(&self) -> usize {
        self.live as usize
    }

    /// Handles of the entries of which `is` says so, in the order of their numbers.
    pub fn idle_handles(&mut self, mut is: impl FnMut(&mut Idle) -> bool) -> Vec<u64> {
        let mut handles = Vec::new();
        for entry in self.slab.iter_mut().flatten() {
            if is(&mut entry.measured_mut().idle) {
                handles.push(entry.handle);
            }
        }
        handles.sort_unstable();
        handles
    }

    /// Places of the entries that the control plane put in.
    pub fn added(&self) -> Vec<Place> {
        let is_added = |entry: &Stored| entry.written.is_none();
        let places = self.slab.iter().enumerate();
        let added = places.filter(|(_, entry)| entry.as_ref().is_some_and(is_added));
        added.map(|(place, _)| place as Place).collect()
    }
}

/// A mask over the words of a whole key with the bits of its exact keys.
fn exact_bits(keys: &[KeyInfo]) -> Vec<u64> {
    let bits = |key: &KeyInfo| match key.kind {
        Kind::Exact => ones(0, key.width, key.words),
        _ => vec![0; key.words],
    };
    keys.iter().flat_map(bits).collect()
}

/// Entries of a table that names no size, as p4c gives them.
pub(crate) const DEFAULT_SIZE: u64 = 1024;
