//! Table entries: from messages to the engine's updates, and back.

use crate::bytes::{number, shortest};
use crate::messages::{
    Action, CounterData, Exact, FieldMatch, FieldMatchKind, IdleTimeout, Lpm, MeterConfig,
    OptionalMatch, Param, Range, TableAction, TableActionKind, TableEntry, Ternary,
};
use crate::schema::{Field, Kind, Schema, Table};
use crate::status::{Code, Refusal};
use num_bigint::BigUint;
use p4_state::{ActionSpec, Args, EntryKey, EntryView, Match, Target};

/// The entry that a message names, its matches in the order of the table's key.
pub fn key(table: &Table, entry: &TableEntry) -> Result<EntryKey, Refusal> {
    let priority = match (table.has_priorities, entry.priority) {
        (true, ..=0) => {
            let message = format!(
                "entries of {} need a priority of at least 1; the larger wins",
                table.name
            );
            return Err(Refusal::invalid(message));
        }
        (true, priority) => (priority as u32).saturating_add(table.priority_offset),
        (false, 0) => 0,
        (false, _) => {
            let message = format!(
                "{} has only exact and lpm keys, so its entries take no priority",
                table.name
            );
            return Err(Refusal::invalid(message));
        }
    };
    Ok(EntryKey {
        table: table.name.clone(),
        matches: matches(&table.name, &table.fields, &entry.r#match)?,
        priority,
    })
}

/// What the fields of `owner` must look like, in their order; those without a match left out.
pub fn matches(
    owner: &str,
    fields: &[Field],
    given: &[FieldMatch],
) -> Result<Vec<(String, Match)>, Refusal> {
    let mut found = Vec::with_capacity(given.len());
    for field in fields {
        let mut own = given.iter().filter(|m| m.field_id == field.id);
        let Some(one) = own.next() else {
            if field.kind == Kind::Exact {
                let name = &field.name;
                let message = format!("an entry of {owner} needs a value for its exact key {name}");
                return Err(Refusal::invalid(message));
            }
            continue;
        };
        if own.next().is_some() {
            return Err(Refusal::invalid(format!(
                "key {} is given twice",
                field.name
            )));
        }
        found.push((field.name.clone(), one_match(field, one)?));
    }
    if found.len() < given.len() {
        let known = |id: u32| fields.iter().any(|field| field.id == id);
        let stranger = given.iter().find(|m| !known(m.field_id));
        let id = stranger.map_or(0, |m| m.field_id);
        let message = format!("{owner} has no match field with id {id}");
        return Err(Refusal::invalid(message));
    }
    Ok(found)
}

/// Specification, 9.1.1: no don't-care match is sent, and no bit that does not matter is set.
fn one_match(field: &Field, given: &FieldMatch) -> Result<Match, Refusal> {
    let name = &field.name;
    let value = |bytes: &[u8]| {
        number(bytes, field.width)
            .map_err(|bad| Refusal::invalid(bad.about(&format!("key {name}"), field.width)))
    };
    let omit = || {
        let message = format!("key {name} matches anything; leave it out instead");
        Err(Refusal::invalid(message))
    };
    let outside = || {
        let message = format!("the value for key {name} has bits outside of its mask; clear them");
        Err(Refusal::invalid(message))
    };
    if field.width == 0 {
        let message = format!("key {name} is translated to strings, which this server does not do");
        return Err(Refusal::unimplemented(message));
    }
    match (field.kind, &given.field_match_type) {
        (Kind::Exact, Some(FieldMatchKind::Exact(exact))) => Ok(Match::Exact(value(&exact.value)?)),
        (Kind::Optional, Some(FieldMatchKind::Optional(optional))) => {
            Ok(Match::Optional(value(&optional.value)?))
        }
        (Kind::Lpm, Some(FieldMatchKind::Lpm(lpm))) => {
            let value = value(&lpm.value)?;
            let length = match u32::try_from(lpm.prefix_len) {
                Ok(0) => return omit(),
                Ok(length) if length <= field.width => length,
                _ => {
                    let (length, width) = (lpm.prefix_len, field.width);
                    return Err(Refusal::invalid(format!(
                        "a prefix of {length} bits does not fit key {name}, which has {width}"
                    )));
                }
            };
            match value.trailing_zeros() {
                Some(zeros) if zeros < u64::from(field.width - length) => outside(),
                _ => Ok(Match::Lpm { value, length }),
            }
        }
        (Kind::Ternary, Some(FieldMatchKind::Ternary(ternary))) => {
            let (value, mask) = (value(&ternary.value)?, value(&ternary.mask)?);
            match mask.bits() {
                0 => omit(),
                _ if &value & &mask != value => outside(),
                _ => Ok(Match::Ternary { value, mask }),
            }
        }
        (Kind::Range, Some(FieldMatchKind::Range(range))) => {
            let (low, high) = (value(&range.low)?, value(&range.high)?);
            if low > high {
                let message = format!("the range for key {name} ends before it begins");
                return Err(Refusal::invalid(message));
            }
            let all = (BigUint::from(1u8) << field.width) - 1u8;
            match low.bits() == 0 && high == all {
                true => omit(),
                false => Ok(Match::Range { low, high }),
            }
        }
        (kind, _) => Err(Refusal::invalid(format!(
            "key {name} is matched as {}; give it such a match",
            kind_name(kind)
        ))),
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Exact => "exact",
        Kind::Lpm => "lpm",
        Kind::Ternary => "ternary",
        Kind::Range => "range",
        Kind::Optional => "optional",
    }
}

/// An action of `table` with its arguments.
pub fn action(schema: &Schema, table: &Table, action: &Action) -> Result<ActionSpec, Refusal> {
    let known = schema.action(action.action_id)?;
    if !table.actions.contains(&known.id) {
        let message = format!("{} has no action {}", table.name, known.name);
        return Err(Refusal::invalid(message));
    }
    let mut args = Vec::with_capacity(known.params.len());
    for param in &known.params {
        let mut own = action.params.iter().filter(|p| p.param_id == param.id);
        let what = || format!("parameter {} of {}", param.name, known.name);
        let (Some(given), None) = (own.next(), own.next()) else {
            return Err(Refusal::invalid(format!("{} needs one value", what())));
        };
        if param.width == 0 {
            let message = format!(
                "{} is translated to strings, which this server does not do",
                what()
            );
            return Err(Refusal::unimplemented(message));
        }
        let value = number(&given.value, param.width)
            .map_err(|bad| Refusal::invalid(bad.about(&what(), param.width)))?;
        args.push(value);
    }
    if action.params.len() > args.len() {
        let known_id = |id| known.params.iter().any(|param| param.id == id);
        let stranger = action.params.iter().find(|p| !known_id(p.param_id));
        let id = stranger.map_or(0, |p| p.param_id);
        let message = format!("{} has no parameter with id {id}", known.name);
        return Err(Refusal::invalid(message));
    }
    Ok(ActionSpec {
        name: known.name.clone(),
        // P4Info has them in the order of the action's declaration, as the engine does.
        args: Args::InOrder(args),
    })
}

/// What an entry of `table` leads to; one-shots are made elsewhere.
pub fn target(schema: &Schema, table: &Table, given: &TableActionKind) -> Result<Target, Refusal> {
    match (table.profile, given) {
        (None, TableActionKind::Action(spec)) => Ok(Target::Action(action(schema, table, spec)?)),
        (None, _) => Err(Refusal::invalid(format!(
            "{} has no action profile; name an action",
            table.name
        ))),
        (Some(_), TableActionKind::Member(member)) => Ok(Target::Member(*member)),
        (Some(_), TableActionKind::Group(group)) => Ok(Target::Group(*group)),
        (Some(_), _) => Err(Refusal::invalid(format!(
            "entries of {} name a member or group of its action profile",
            table.name
        ))),
    }
}

/// The message of an action as the engine has it.
pub fn action_message(schema: &Schema, spec: &ActionSpec) -> Option<Action> {
    let id = *schema.action_ids.get(&spec.name)?;
    let known = schema.actions.get(&id)?;
    let Args::Named(args) = &spec.args else {
        return None;
    };
    let param = |param: &crate::schema::Param| {
        let (_, value) = args.iter().find(|(name, _)| *name == param.name)?;
        Some(Param {
            param_id: param.id,
            value: shortest(value).into(),
        })
    };
    Some(Action {
        action_id: id,
        params: known.params.iter().filter_map(param).collect(),
    })
}

/// The key of an entry that was read, as [`key`] gives it.
pub fn view_key(table: &Table, view: &EntryView) -> EntryKey {
    let mut matches = Vec::with_capacity(view.matches.len());
    for (name, one) in &view.matches {
        // Selector keys are none for a client.
        let field = table.fields.iter().find(|field| field.name == *name);
        if let Some(one) = field.and_then(|field| said(field.kind, one)) {
            matches.push((name.clone(), one));
        }
    }
    EntryKey {
        table: table.name.clone(),
        matches,
        priority: view.priority,
    }
}

/// A match as a client says it; `None` if it leaves it out.
fn said(kind: Kind, one: &Match) -> Option<Match> {
    match (kind, one) {
        (_, Match::Any | Match::Lpm { length: 0, .. }) => None,
        // The engine keeps a range of one value as that value.
        (Kind::Range, Match::Exact(value)) => Some(Match::Range {
            low: value.clone(),
            high: value.clone(),
        }),
        _ => Some(one.clone()),
    }
}

/// The match messages of a key.
pub fn match_messages(fields: &[Field], matches: &[(String, Match)]) -> Vec<FieldMatch> {
    let mut messages = Vec::with_capacity(matches.len());
    let mut rest = matches;
    for field in fields {
        let Some(((name, one), after)) = rest.split_first() else {
            break;
        };
        if *name != field.name {
            continue;
        }
        rest = after;
        messages.push(FieldMatch {
            field_id: field.id,
            field_match_type: Some(match_message(one)),
        });
    }
    messages
}

fn match_message(one: &Match) -> FieldMatchKind {
    match one {
        Match::Exact(value) => FieldMatchKind::Exact(Exact {
            value: shortest(value).into(),
        }),
        Match::Lpm { value, length } => FieldMatchKind::Lpm(Lpm {
            value: shortest(value),
            prefix_len: *length as i32,
        }),
        Match::Ternary { value, mask } => FieldMatchKind::Ternary(Ternary {
            value: shortest(value),
            mask: shortest(mask),
        }),
        Match::Range { low, high } => FieldMatchKind::Range(Range {
            low: shortest(low),
            high: shortest(high),
        }),
        Match::Optional(value) => FieldMatchKind::Optional(OptionalMatch {
            value: shortest(value),
        }),
        // Keys that match anything are left out before.
        Match::Any => FieldMatchKind::Exact(Exact {
            value: vec![0].into(),
        }),
    }
}

/// The key fields of an entry's message.
pub fn key_message(table: &Table, key: &EntryKey) -> TableEntry {
    TableEntry {
        table_id: table.id,
        r#match: match_messages(&table.fields, &key.matches),
        priority: i32::try_from(key.priority.saturating_sub(table.priority_offset))
            .unwrap_or(i32::MAX),
        ..TableEntry::default()
    }
}

/// What the engine knows of an entry, as a message; `asked` says which direct resources are wanted.
pub fn entry_message(
    schema: &Schema,
    table: &Table,
    view: &EntryView,
    key: &EntryKey,
    asked: &TableEntry,
    now: u64,
) -> TableEntry {
    let action = match &view.target {
        Target::Action(spec) => action_message(schema, spec).map(TableActionKind::Action),
        Target::Member(member) => Some(TableActionKind::Member(*member)),
        Target::Group(group) => Some(TableActionKind::Group(*group)),
    };
    let elapsed = || IdleTimeout {
        elapsed_ns: view
            .idle_since
            .map_or(0, |since| now.saturating_sub(since) / 1_000) as i64,
    };
    TableEntry {
        action: Some(TableAction { r#type: action }),
        counter_data: asked
            .counter_data
            .filter(|_| table.direct_counter.is_some())
            .map(|_| count(view.packets, view.bytes)),
        meter_config: asked.meter_config.and(view.meter).map(rates_message),
        time_since_last_hit: asked.time_since_last_hit.map(|_| elapsed()),
        is_const: table.is_const || view.is_const,
        ..key_message(table, key)
    }
}

pub fn count(packets: u64, bytes: u64) -> CounterData {
    CounterData {
        byte_count: bytes as i64,
        packet_count: packets as i64,
    }
}

/// Packets and bytes that a client sets.
pub fn counts(data: &CounterData) -> Result<(u64, u64), Refusal> {
    match (
        u64::try_from(data.packet_count),
        u64::try_from(data.byte_count),
    ) {
        (Ok(packets), Ok(bytes)) => Ok((packets, bytes)),
        _ => Err(Refusal::invalid("a counter cannot be negative")),
    }
}

/// The rates and bursts that a client sets. All meters have two rates and three colours.
pub fn rates(config: &MeterConfig) -> Result<p4_state::MeterConfig, Refusal> {
    let number = |value: i64| {
        u64::try_from(value)
            .map_err(|_| Refusal::invalid("a meter's rates and bursts cannot be negative"))
    };
    if config.eburst != 0 {
        let message = "a meter of two rates has no excess burst; leave eburst unset";
        return Err(Refusal::invalid(message));
    }
    Ok(p4_state::MeterConfig {
        committed_rate: number(config.cir)?,
        committed_burst: number(config.cburst)?,
        peak_rate: number(config.pir)?,
        peak_burst: number(config.pburst)?,
    })
}

pub fn rates_message(config: p4_state::MeterConfig) -> MeterConfig {
    MeterConfig {
        cir: config.committed_rate as i64,
        cburst: config.committed_burst as i64,
        pir: config.peak_rate as i64,
        pburst: config.peak_burst as i64,
        eburst: 0,
    }
}

/// Counts by colour, which bmv2 does not keep either.
pub fn no_color_counts(set: bool) -> Result<(), Refusal> {
    match set {
        true => Err(Refusal::new(
            Code::Unimplemented,
            "this switch does not count packets by colour; leave counter_data of meters unset",
        )),
        false => Ok(()),
    }
}
