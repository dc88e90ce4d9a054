//! Entries of match-action tables: keys, actions and what else they have.

use super::values;
use crate::messages::{DataField, DataValue, EntryName, TableData, TableEntry, TableKey};
use crate::schema::{fields, ActionSpec as Spec, Field, FieldType, Table};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use p4_runtime::Refusal;
use p4_state::{ActionSpec, Args, EntryKey, EntryView, Match, MeterConfig, Target};
use std::collections::BTreeMap;

/// The priority of BF Runtime that goes before all others is 0, the engine's is the largest.
const FIRST: u32 = u32::MAX;
const PICOSECONDS_PER_MILLISECOND: u64 = 1_000_000_000;

/// Which entry a client means. Fields that it leaves out have their defaults.
pub fn key(table: &Table, given: &TableKey) -> Result<EntryKey, Refusal> {
    let mut parts = BTreeMap::new();
    for own in &given.fields {
        let Some(value) = &own.value else {
            continue;
        };
        if parts.insert(own.field_id, value).is_some() {
            let message = format!("{}: key field {} is there twice", table.name, own.field_id);
            return Err(Refusal::invalid(message));
        }
    }
    let mut key = EntryKey {
        table: table.source().to_string(),
        ..EntryKey::default()
    };
    for field in &table.key {
        let part = parts.remove(&field.id);
        let is_priority = field.id == fields::MATCH_PRIORITY;
        let own = match part {
            Some(value) => values::matches(field, value)?,
            None => values::left_out(field.match_type),
        };
        match (is_priority, own) {
            (true, Match::Exact(priority)) => {
                key.priority = FIRST - priority.to_u32().unwrap_or(0);
            }
            (true, _) => {}
            (false, own) => key.matches.push((field.source.clone(), own)),
        }
    }
    match parts.into_keys().next() {
        None => Ok(key),
        Some(id) => {
            let message = format!("{} has no key field {id}", table.name);
            Err(Refusal::invalid(message))
        }
    }
}

/// What a client says that entries do, and what of theirs it sets.
#[derive(Default)]
pub struct Given {
    pub target: Option<Target>,
    pub packets: Option<u64>,
    pub bytes: Option<u64>,
    pub meter: Option<MeterConfig>,
    /// In picoseconds; 0: for ever
    pub ttl: Option<u64>,
}

pub fn given(table: &Table, data: Option<&TableData>) -> Result<Given, Refusal> {
    let Some(data) = data else {
        return Ok(Given::default());
    };
    let mut out = Given::default();
    let spec = table.action(data.action_id);
    if data.action_id != 0 && spec.is_none() {
        let message = format!("{} has no action {}", table.name, data.action_id);
        return Err(Refusal::invalid(message));
    }
    let (mut args, mut rates) = (Vec::new(), [None; 4]);
    for own in &data.fields {
        let Some(field) = table.field(data.action_id, own.field_id) else {
            let message = format!("{} has no data field {}", table.name, own.field_id);
            return Err(Refusal::invalid(message));
        };
        if field.id == fields::ENTRY_HIT_STATE {
            continue;
        }
        let value = values::given(own, &field.field_type, &field.name)?;
        let small = || value.to_u64().unwrap_or(u64::MAX);
        let target = |make: fn(u32) -> Target| Some(make(value.to_u32().unwrap_or(u32::MAX)));
        match field.id {
            fields::ACTION_MEMBER_ID => out.target = target(Target::Member),
            fields::SELECTOR_GROUP_ID => out.target = target(Target::Group),
            fields::COUNTER_BYTES => out.bytes = Some(small()),
            fields::COUNTER_PACKETS => out.packets = Some(small()),
            fields::ENTRY_TTL => {
                out.ttl = Some(small().saturating_mul(PICOSECONDS_PER_MILLISECOND));
            }
            id => match rate(id) {
                Some((at, per_unit)) => rates[at] = Some(small().saturating_mul(per_unit)),
                None => args.push((field.name.clone(), value)),
            },
        }
    }
    out.meter = config(rates);
    if let Some(spec) = spec {
        out.target = Some(Target::Action(action(spec, args)?));
    }
    Ok(out)
}

/// Which rate or burst a field is, and how many bytes or packets its unit has; for thousands of
/// bits these are 125 bytes.
pub fn rate(id: u32) -> Option<(usize, u64)> {
    let of = |first: u32| id.checked_sub(first).filter(|at| *at < 4);
    let bytes = of(fields::METER_BYTES).map(|at| (at as usize, 125));
    bytes.or_else(|| of(fields::METER_PACKETS).map(|at| (at as usize, 1)))
}

/// CIR, PIR, CBS, PBS; what is left out has no limit. `None`: nothing has one.
pub fn config(rates: [Option<u64>; 4]) -> Option<MeterConfig> {
    let [committed_rate, peak_rate, committed_burst, peak_burst] =
        rates.map(|rate| rate.unwrap_or(u64::MAX / 2));
    let config = MeterConfig {
        committed_rate,
        committed_burst,
        peak_rate,
        peak_burst,
    };
    rates.iter().any(Option::is_some).then_some(config)
}

/// An action with all its parameters.
pub fn action(spec: &Spec, args: Vec<(String, BigUint)>) -> Result<ActionSpec, Refusal> {
    let missing = spec.data.iter().find(|param| {
        let mut given = args.iter();
        !given.any(|(name, _)| *name == param.name)
    });
    if let Some(missing) = missing {
        let message = format!("{} needs {}", spec.name, missing.name);
        return Err(Refusal::invalid(message));
    }
    Ok(ActionSpec {
        name: spec.name.clone(),
        args: Args::Named(args),
    })
}

/// An entry as clients see it.
pub fn shown(table: &Table, own: &EntryView, key_only: bool) -> TableEntry {
    let mut fields = Vec::new();
    for field in &table.key {
        let value = if field.id == fields::MATCH_PRIORITY {
            Match::Exact(BigUint::from(FIRST - own.priority))
        } else {
            let mut matches = own.matches.iter();
            let found = matches.find(|(name, _)| *name == field.source);
            found.map_or(Match::Any, |(_, value)| value.clone())
        };
        fields.push(values::shown(field, &value));
    }
    let data = (!key_only).then(|| {
        let mut data = target(table, &own.target);
        let extra = table.data.iter().flat_map(|data| &data.one_of);
        data.fields
            .extend(extra.filter_map(|field| extra_of(field, own)));
        data
    });
    TableEntry {
        table_id: table.id,
        name: Some(EntryName::Key(TableKey { fields })),
        data,
        ..TableEntry::default()
    }
}

/// What an entry leads to.
pub fn target(table: &Table, target: &Target) -> TableData {
    let number = |id: u32, value: u32| {
        let kind = FieldType::uint(32);
        vec![values::field(id, &kind, &BigUint::from(value))]
    };
    match target {
        Target::Action(own) => match table.action_named(&own.name) {
            Some(spec) => TableData {
                action_id: spec.id,
                fields: params(spec, &own.args),
            },
            None => TableData::default(),
        },
        Target::Member(id) => TableData {
            action_id: 0,
            fields: number(fields::ACTION_MEMBER_ID, *id),
        },
        Target::Group(id) => TableData {
            action_id: 0,
            fields: number(fields::SELECTOR_GROUP_ID, *id),
        },
    }
}

pub fn params(spec: &Spec, args: &Args) -> Vec<DataField> {
    let value = |at: usize, field: &Field| match args {
        Args::Named(named) => {
            let mut named = named.iter();
            let found = named.find(|(name, _)| *name == field.name);
            found.map(|(_, value)| value.clone())
        }
        Args::InOrder(values) => values.get(at).cloned(),
    };
    let fields = spec.data.iter().enumerate();
    fields
        .map(|(at, field)| {
            let value = value(at, field).unwrap_or_default();
            values::field(field.id, &field.field_type, &value)
        })
        .collect()
}

/// Counters, rates and age of an entry.
fn extra_of(field: &Field, own: &EntryView) -> Option<DataField> {
    let value = match field.id {
        fields::COUNTER_BYTES => own.bytes,
        fields::COUNTER_PACKETS => own.packets,
        fields::ENTRY_TTL => own.idle_timeout.unwrap_or(0) / PICOSECONDS_PER_MILLISECOND,
        fields::ENTRY_HIT_STATE => {
            let state = match own.idle_since {
                Some(_) => "ENTRY_ACTIVE",
                None => "ENTRY_IDLE",
            };
            return Some(DataField {
                field_id: field.id,
                value: Some(DataValue::Text(state.to_string())),
            });
        }
        id => {
            let (at, unit) = rate(id)?;
            rate_of(own.meter, at, unit)
        }
    };
    let value = BigUint::from(value);
    Some(values::field(field.id, &field.field_type, &value))
}

/// A rate or burst in a client's unit.
pub fn rate_of(config: Option<MeterConfig>, at: usize, unit: u64) -> u64 {
    let Some(own) = config else {
        return u64::MAX;
    };
    let all = [
        own.committed_rate,
        own.peak_rate,
        own.committed_burst,
        own.peak_burst,
    ];
    all.get(at).map_or(u64::MAX, |value| value / unit)
}
