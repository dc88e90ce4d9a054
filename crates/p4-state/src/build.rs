//! The state that a program starts with.

use crate::cells::{Array, Count, Meter, Registers};
use crate::matcher::{Pattern, Range};
use crate::profile::Profile;
use crate::recent::Recent;
use crate::state::{BuildError, Cells, Resource, State};
use crate::table::{Direct, KeyInfo, Kind, Leads, Table, Written};
use crate::value::ones;
use p4_ir::ir::{self, ConstArg, ConstEntry, ConstMatch, Program};
use p4_syntax::span::Span;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Bytes that all counters, registers and meters of a program may take.
const MAX_BYTES: u64 = 256 << 20;

pub(crate) fn build(program: Arc<Program>, resources: &[Resource]) -> Result<State, BuildError> {
    let mut bytes = 0;
    let mut cells = Vec::with_capacity(resources.len());
    for (resource, instance) in resources.iter().zip(&program.instances) {
        bytes += footprint(resource);
        if bytes > MAX_BYTES {
            let message = format!(
                "{} does not fit: counters, registers and meters of a switch may take {} MiB",
                instance.name,
                MAX_BYTES >> 20
            );
            return Err(BuildError {
                message,
                span: instance.span,
            });
        }
        cells.push(make(resource));
    }
    let mut tables = Vec::with_capacity(program.tables.len());
    for table in &program.tables {
        tables.push(build_table(&program, table, &cells)?);
    }
    Ok(State {
        recent: vec![Recent::default(); tables.len()].into(),
        value_sets: vec![Vec::new(); program.value_sets.len()],
        tables,
        cells: cells.into(),
        groups: FxHashMap::default(),
        sessions: FxHashMap::default(),
        routes: Vec::new(),
        journal: Default::default(),
        set_holders: 1,
        bmv2_compat: false,
        program,
    })
}

fn footprint(resource: &Resource) -> u64 {
    match resource {
        Resource::Counter { size } => size.saturating_mul(size_of::<Count>() as u64),
        Resource::Register { size, widths } => size.saturating_mul(stride(widths) as u64 * 8),
        Resource::Meter { size, .. } => size.saturating_mul(size_of::<Meter>() as u64),
        _ => 0,
    }
}

fn stride(widths: &[u32]) -> usize {
    widths.iter().map(|width| ir::words(*width) as usize).sum()
}

/// Sizes have been checked against [`MAX_BYTES`].
fn make(resource: &Resource) -> Cells {
    match resource {
        Resource::None => Cells::None,
        Resource::Counter { size } => Cells::Counters(Array::new(*size, Count::default())),
        Resource::Register { size, widths } => {
            let stride = stride(widths);
            let cells = vec![0; *size as usize * stride];
            Cells::Registers(Registers {
                size: *size,
                widths: widths.as_slice().into(),
                stride,
                cells,
            })
        }
        Resource::Meter { size, unit } => Cells::Meters(*unit, Array::new(*size, Meter::default())),
        Resource::DirectCounter => Cells::DirectCounter,
        Resource::DirectMeter { unit } => Cells::DirectMeter(*unit),
        Resource::Profile { size, selector } => Cells::Profile(Box::new(Profile {
            size: *size,
            selector: *selector,
            ..Profile::default()
        })),
    }
}

fn build_table(program: &Program, table: &ir::Table, cells: &[Cells]) -> Result<Table, BuildError> {
    let mut built = Table::new(table, program, keys(table)?);
    for (_, instance) in &table.instances {
        match cells.get(*instance as usize) {
            Some(Cells::DirectCounter) => built.direct.counter = Some(*instance),
            Some(Cells::DirectMeter(_)) => built.direct.meter = Some(*instance),
            Some(Cells::Profile(_)) => built.direct.profile = Some(*instance),
            _ => {}
        }
    }
    built.idle_timeout = supports_timeout(table);
    if !built.idle_timeout && built.direct == Direct::default() {
        built.answer_at_once();
    }
    let priorities = entry_priorities(table);
    for (entry, priority) in table.entries.iter().zip(priorities) {
        add_entry(&mut built, entry, priority)?;
    }
    Ok(built)
}

/// v1model's property `support_timeout`, TNA's `idle_timeout`
fn supports_timeout(table: &ir::Table) -> bool {
    let given = table
        .properties
        .iter()
        .find(|(name, _)| matches!(&**name, "support_timeout" | "idle_timeout"));
    matches!(given, Some((_, ConstArg::Bool(true))))
}

fn keys(table: &ir::Table) -> Result<Vec<KeyInfo>, BuildError> {
    let mut at = 0;
    let mut keys = Vec::new();
    for key in &table.keys {
        let Some(kind) = Kind::of(&key.match_kind) else {
            let message = format!(
                "key {} of {} is matched as {}, which this switch does not know; \
                 use exact, lpm, ternary, range, optional or selector",
                key.name, table.name, key.match_kind
            );
            return Err(BuildError {
                message,
                span: key.span,
            });
        };
        let words = ir::words(key.place.width) as usize;
        keys.push(KeyInfo {
            name: key.name.clone(),
            kind,
            width: key.place.width,
            at,
            words,
            compared: key.compared.clone(),
        });
        at += words;
    }
    Ok(keys)
}

fn add_entry(table: &mut Table, entry: &ConstEntry, priority: u32) -> Result<(), BuildError> {
    let wrong = |message: String, span: Span| BuildError { message, span };
    if table.keys.is_empty() {
        let message = format!("{} has no key, so it can have no entries", table.name);
        return Err(wrong(message, entry.span));
    }
    let pattern = const_pattern(table, entry).map_err(|what| wrong(what, entry.span))?;
    let priority = if table.priorities { priority } else { 0 };
    let leads = Leads::Action(entry.call.action, entry.call.data.clone().into());
    if table.matcher.get(&pattern, priority).is_some() {
        // The first of several equal entries wins, and the others are never reached.
        return Ok(());
    }
    let written = Written {
        span: entry.span,
        is_const: entry.is_const,
    };
    table
        .insert(pattern, priority, leads, Some(written))
        .map_err(|error| wrong(error.to_string(), entry.span))?;
    Ok(())
}

/// Where each entry of the program stands; the larger wins. P4_16 1.2.5, 14.2.1.4: const entries
/// are tried in their order; others have priorities, given or one `priority_delta` after the last.
fn entry_priorities(table: &ir::Table) -> Vec<u32> {
    let count = table.entries.len() as u64;
    let clamp = |priority: u64| priority.min(u64::from(u32::MAX - 1)) as u32;
    if table.const_entries && table.entries.iter().all(|entry| entry.priority.is_none()) {
        return (0..count).map(|i| clamp(count - i)).collect();
    }
    let delta = priority_delta(table);
    let largest_wins = table.largest_priority_wins;
    let mut next = if largest_wins {
        (count.max(1) - 1).saturating_mul(delta).saturating_add(1)
    } else {
        1
    };
    let mut priorities = Vec::new();
    for entry in &table.entries {
        let own = entry.priority.unwrap_or(next);
        next = if largest_wins {
            own.saturating_sub(delta)
        } else {
            own.saturating_add(delta)
        };
        priorities.push(if largest_wins {
            clamp(own)
        } else {
            u32::MAX - clamp(own)
        });
    }
    priorities
}

fn priority_delta(table: &ir::Table) -> u64 {
    let given = table
        .properties
        .iter()
        .find(|(name, _)| &**name == "priority_delta");
    match given {
        Some((_, ConstArg::Int(delta))) => u64::try_from(delta).unwrap_or(1),
        _ => 1,
    }
}

fn const_pattern(table: &Table, entry: &ConstEntry) -> Result<Pattern, String> {
    let words = table.key_words();
    let (mut value, mut mask) = (vec![0; words], vec![0; words]);
    let mut ranges = Vec::new();
    let mut prefix = 0;
    for (key, given) in table.keys.iter().zip(&entry.matches) {
        let own = key.at..key.at + key.words;
        let full = ones(0, key.width, key.words);
        match given {
            _ if key.kind == Kind::Selector => {}
            ConstMatch::Any if key.kind == Kind::Exact => {
                return Err(format!(
                    "key {} is exact, so an entry must give its value",
                    key.name
                ));
            }
            ConstMatch::Any => {}
            ConstMatch::Exact(exact) => {
                value[own.clone()].copy_from_slice(&fit(exact, key.words));
                mask[own.clone()].copy_from_slice(&full);
                prefix += if key.kind == Kind::Lpm { key.width } else { 0 };
            }
            ConstMatch::Masked { value: v, mask: m } => {
                let bits: u32 = m.iter().map(|word| word.count_ones()).sum();
                let is_prefix = fit(m, key.words)
                    == ones(key.width - bits.min(key.width), key.width, key.words);
                if key.kind == Kind::Lpm && !is_prefix {
                    return Err(format!("the mask of lpm key {} is not a prefix", key.name));
                }
                if key.kind == Kind::Exact && bits != key.width {
                    return Err(format!("key {} is exact and takes no mask", key.name));
                }
                prefix += if key.kind == Kind::Lpm { bits } else { 0 };
                let masked: Vec<u64> = v.iter().zip(m).map(|(v, m)| v & m).collect();
                value[own.clone()].copy_from_slice(&fit(&masked, key.words));
                mask[own.clone()].copy_from_slice(&fit(m, key.words));
            }
            ConstMatch::Range { low, high } => {
                if key.kind != Kind::Range {
                    let kind = key.kind.name();
                    return Err(format!(
                        "key {} is matched as {kind}, not by a range",
                        key.name
                    ));
                }
                let (mut low, high) = (fit(low, key.words), fit(high, key.words));
                key.start_as_compared(&mut low);
                ranges.push(Range {
                    at: key.at as u32,
                    low: low.into(),
                    high: high.into(),
                });
            }
        }
        key.as_compared(&mut value[own.clone()], &mut mask[own]);
    }
    let (value, mask, ranges) = (value.into(), mask.into(), ranges.into());
    Ok(Pattern {
        value,
        mask,
        ranges,
        prefix,
    })
}

fn fit(words: &[u64], n: usize) -> Vec<u64> {
    let mut words = words.to_vec();
    words.resize(n, 0);
    words
}
