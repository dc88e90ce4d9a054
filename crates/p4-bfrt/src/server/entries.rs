//! Entries of match-action tables: keys, actions and what else they have.

use super::{direct, values};
use crate::messages::{
    DataField, DataValue, EntryName, IdleTable, TableData, TableEntry, TableKey,
};
use crate::schema::{fields, ActionSpec as Spec, Field, FieldType, Table};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use p4_runtime::Refusal;
use p4_state::{ActionSpec, Args, EntryKey, EntryView, Match, MeterConfig, Target};
use std::collections::BTreeMap;

/// The priority of BF Runtime that goes before all others is 0, the engine's is the largest.
const FIRST: u32 = u32::MAX;
const PICOSECONDS_PER_MILLISECOND: u64 = 1_000_000_000;
const ACTIVE: &str = "ENTRY_ACTIVE";
const IDLE: &str = "ENTRY_IDLE";

/// Which entry a client means. Fields that it leaves out have their defaults.
/// `part` is the name of the table or of its part for a scope.
pub fn key(table: &Table, part: String, given: &TableKey) -> Result<EntryKey, Refusal> {
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
        table: part,
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
    /// Whether the entry counts as hit
    pub active: Option<bool>,
    /// Of direct registers and filters
    pub direct: Vec<DataField>,
}

/// `before` is what an entry does that is modified: parameters that are not given stay.
pub fn given(
    table: &Table,
    data: Option<&TableData>,
    before: Option<&Target>,
) -> Result<Given, Refusal> {
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
        if direct::is_direct(table, field) {
            out.direct.push(own.clone());
            continue;
        }
        if field.id == fields::ENTRY_HIT_STATE {
            out.active = match &own.value {
                Some(DataValue::Text(state)) => Some(state == ACTIVE),
                _ => None,
            };
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
        if let Some(Target::Action(own)) = before {
            keep(table, spec, own, &mut args);
        }
        out.target = Some(Target::Action(action(spec, args)));
    }
    Ok(out)
}

/// Adds the parameters that an entry has already, if its action stays.
fn keep(table: &Table, spec: &Spec, before: &ActionSpec, args: &mut Vec<(String, BigUint)>) {
    let Args::Named(known) = &before.args else {
        return;
    };
    if table.action_called(&before.name) != Some(spec) {
        return;
    }
    for (name, value) in known {
        if !args.iter().any(|(own, _)| own == name) {
            args.push((name.clone(), value.clone()));
        }
    }
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

/// An action with all its parameters; those that are left out are 0, as in the SDE.
pub fn action(spec: &Spec, mut args: Vec<(String, BigUint)>) -> ActionSpec {
    for param in &spec.data {
        if !args.iter().any(|(name, _)| *name == param.name) {
            args.push((param.name.clone(), BigUint::ZERO));
        }
    }
    ActionSpec {
        name: spec.name.clone(),
        args: Args::Named(args),
    }
}

/// How an entry ages at the moment.
#[derive(Clone, Copy)]
pub struct Age {
    pub active: bool,
    /// Milliseconds until it is idle
    pub left: u64,
}

impl Age {
    /// Of an entry whose table tells clients when its time is over.
    pub fn told(own: &EntryView, sweep: Sweep) -> Age {
        let since = own.idle_since.unwrap_or(sweep.now);
        let left = sweep.left(own.idle_timeout.unwrap_or(0), since);
        Age {
            active: left > 0,
            left: left.div_ceil(PICOSECONDS_PER_MILLISECOND),
        }
    }

    /// Of an entry whose table is asked.
    pub fn asked(own: &EntryView, hit: bool) -> Age {
        Age {
            active: hit,
            left: own.idle_timeout.unwrap_or(0) / PICOSECONDS_PER_MILLISECOND,
        }
    }
}

/// How a table's entries lose time: at every full interval after `start`. In picoseconds.
#[derive(Clone, Copy)]
pub struct Sweep {
    pub start: u64,
    /// For a table that does not age, `start`
    pub now: u64,
    pub interval: u64,
}

impl Sweep {
    pub fn new(idle: &IdleTable, start: u64, now: u64) -> Sweep {
        Sweep {
            start,
            now: if idle.enable { now } else { start },
            interval: u64::from(idle.ttl_query_interval) * PICOSECONDS_PER_MILLISECOND,
        }
    }

    /// What an entry has left of its time that was last hit at `since`.
    pub fn left(&self, ttl: u64, since: u64) -> u64 {
        let before = self.start.saturating_sub(since);
        let after = self.now.saturating_sub(since.max(self.start));
        let swept = after - after.checked_rem(self.interval).unwrap_or(0);
        ttl.saturating_sub(before).saturating_sub(swept)
    }
}

/// The key of an entry as clients see it.
pub fn shown_key(table: &Table, own: &EntryView) -> TableKey {
    let fields = table.key.iter().map(|field| {
        let value = if field.id == fields::MATCH_PRIORITY {
            Match::Exact(BigUint::from(FIRST - own.priority))
        } else {
            let mut matches = own.matches.iter();
            let found = matches.find(|(name, _)| *name == field.source);
            found.map_or(Match::Any, |(_, value)| value.clone())
        };
        values::shown(field, &value)
    });
    TableKey {
        fields: fields.collect(),
    }
}

/// An entry as clients see it.
pub fn shown(table: &Table, own: &EntryView, age: Age, key_only: bool) -> TableEntry {
    let data = (!key_only).then(|| {
        let mut data = target(table, &own.target);
        let extra = table.data.iter().flat_map(|data| &data.one_of);
        data.fields
            .extend(extra.filter_map(|field| extra_of(field, own, age)));
        data
    });
    TableEntry {
        table_id: table.id,
        name: Some(EntryName::Key(shown_key(table, own))),
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
        Target::Action(own) => match table.action_called(&own.name) {
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
fn extra_of(field: &Field, own: &EntryView, age: Age) -> Option<DataField> {
    let value = match field.id {
        fields::COUNTER_BYTES => own.bytes,
        fields::COUNTER_PACKETS => own.packets,
        fields::ENTRY_TTL => age.left,
        fields::ENTRY_HIT_STATE => {
            let state = if age.active { ACTIVE } else { IDLE };
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

/// What Tofino's meters of bytes have at most, in thousands of bits, and so show when nobody has set
/// them: rates per second, and bursts.
const MOST_RATE: u64 = 5_195_848_221;
const MOST_BURST: u64 = 4_380_866_642;

/// A rate or burst in a client's unit.
pub fn rate_of(config: Option<MeterConfig>, at: usize, unit: u64) -> u64 {
    let Some(own) = config else {
        return match (unit, at) {
            (1, _) => u64::MAX,
            (_, 0 | 1) => MOST_RATE,
            _ => MOST_BURST,
        };
    };
    let all = [
        own.committed_rate,
        own.peak_rate,
        own.committed_burst,
        own.peak_burst,
    ];
    all.get(at).map_or(u64::MAX, |value| value / unit)
}
