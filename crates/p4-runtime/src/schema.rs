//! What the ids of P4Info mean in the engine, worked out once for a program.

use crate::data::Types;
use crate::messages::P4Data;
use crate::status::{Code, Refusal};
use num_bigint::BigUint;
use p4_info::model::{self, BitString, DataType, MatchType, P4Info, SizeSemantics};
use p4_ir::ir;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A program's objects by id.
#[derive(Debug)]
pub struct Schema {
    pub info: Arc<P4Info>,
    pub tables: FxHashMap<u32, Table>,
    pub actions: FxHashMap<u32, Action>,
    pub profiles: FxHashMap<u32, Profile>,
    pub counters: FxHashMap<u32, Array>,
    pub meters: FxHashMap<u32, Array>,
    /// By the name of the table in the engine
    pub table_ids: FxHashMap<String, u32>,
    /// By the name of the action in the engine
    pub action_ids: FxHashMap<String, u32>,
    pub value_sets: FxHashMap<u32, ValueSet>,
    pub registers: FxHashMap<u32, Register>,
    pub digests: FxHashMap<u32, Digest>,
    /// Digest by the call that makes it
    pub digest_calls: FxHashMap<ir::CallId, u32>,
    pub packet_in: Option<Header>,
    pub packet_out: Option<Header>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
}

/// A field of a key.
#[derive(Debug)]
pub struct Field {
    pub id: u32,
    /// In the engine
    pub name: String,
    pub width: u32,
    pub kind: Kind,
}

#[derive(Debug)]
pub struct Table {
    pub id: u32,
    pub name: String,
    pub fields: Vec<Field>,
    pub actions: Vec<u32>,
    pub profile: Option<u32>,
    pub direct_counter: Option<u32>,
    pub direct_meter: Option<u32>,
    pub notifies_timeouts: bool,
    pub is_const: bool,
    pub const_default: bool,
    /// Entries need a priority.
    pub has_priorities: bool,
    /// The engine's priorities are so much larger than the client's.
    pub priority_offset: u32,
}

#[derive(Debug)]
pub struct Action {
    pub id: u32,
    pub name: String,
    pub params: Vec<Param>,
}

#[derive(Debug)]
pub struct Param {
    pub id: u32,
    pub name: String,
    pub width: u32,
}

#[derive(Debug)]
pub struct Profile {
    pub id: u32,
    pub name: String,
    pub tables: Vec<u32>,
    pub selector: bool,
    pub max_group_size: i32,
    /// The size of a group counts members, each of which weighs at most so much (0: any weight).
    pub sum_of_members: Option<i32>,
}

/// A counter or meter: an array, or the entries of a table.
#[derive(Debug)]
pub struct Array {
    pub id: u32,
    pub name: String,
    pub size: u64,
    pub table: Option<u32>,
}

#[derive(Debug)]
pub struct ValueSet {
    pub id: u32,
    pub name: String,
    pub size: u64,
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub struct Register {
    pub id: u32,
    pub name: String,
    pub size: u64,
    pub data: DataType,
}

#[derive(Debug)]
pub struct Digest {
    pub id: u32,
    pub name: String,
    pub data: DataType,
}

/// The header of packets from or to the controller.
#[derive(Debug)]
pub struct Header {
    /// Id and name of each field, `None` where controllers do not see it, and its width in the
    /// packet, in order
    pub fields: Vec<(Option<(u32, String)>, u32)>,
    pub bytes: usize,
}

impl Schema {
    pub fn new(info: &Arc<P4Info>, program: &ir::Program) -> Result<Schema, Refusal> {
        let actions: FxHashMap<u32, Action> = info
            .actions
            .iter()
            .map(|action| Ok((action.preamble.id, find_action(action, program)?)))
            .collect::<Result<_, Refusal>>()?;
        let tables: FxHashMap<u32, Table> = info
            .tables
            .iter()
            .map(|table| Ok((table.preamble.id, find_table(table, info, program)?)))
            .collect::<Result<_, Refusal>>()?;
        let header = |name: &str| {
            let found = info.controller_packet_metadata.iter();
            let mut named = found.filter(|header| header.preamble.name == name);
            named.next().map(controller_header).transpose()
        };
        Ok(Schema {
            table_ids: tables.values().map(|t| (t.name.clone(), t.id)).collect(),
            action_ids: actions.values().map(|a| (a.name.clone(), a.id)).collect(),
            profiles: info.action_profiles.iter().map(profile).collect(),
            counters: arrays(&info.counters, &info.direct_counters),
            meters: arrays_of_meters(&info.meters, &info.direct_meters),
            value_sets: info
                .value_sets
                .iter()
                .map(|set| Ok((set.preamble.id, find_value_set(set, program)?)))
                .collect::<Result<_, Refusal>>()?,
            registers: info.registers.iter().map(register).collect(),
            digests: info.digests.iter().map(digest).collect(),
            digest_calls: digest_calls(info, program),
            packet_in: header("packet_in")?,
            packet_out: header("packet_out")?,
            tables,
            actions,
            info: Arc::clone(info),
        })
    }

    pub fn table(&self, id: u32) -> Result<&Table, Refusal> {
        self.tables.get(&id).ok_or_else(|| unknown("table", id))
    }

    pub fn action(&self, id: u32) -> Result<&Action, Refusal> {
        self.actions.get(&id).ok_or_else(|| unknown("action", id))
    }

    pub fn profile(&self, id: u32) -> Result<&Profile, Refusal> {
        self.profiles
            .get(&id)
            .ok_or_else(|| unknown("action profile", id))
    }

    pub fn counter(&self, id: u32) -> Result<&Array, Refusal> {
        self.counters.get(&id).ok_or_else(|| unknown("counter", id))
    }

    pub fn meter(&self, id: u32) -> Result<&Array, Refusal> {
        self.meters.get(&id).ok_or_else(|| unknown("meter", id))
    }

    pub fn value_set(&self, id: u32) -> Result<&ValueSet, Refusal> {
        self.value_sets
            .get(&id)
            .ok_or_else(|| unknown("value set", id))
    }

    pub fn register(&self, id: u32) -> Result<&Register, Refusal> {
        self.registers
            .get(&id)
            .ok_or_else(|| unknown("register", id))
    }

    /// The message of a digest that the switch has made.
    pub fn digest_data(
        &self,
        id: u32,
        digest: &p4_arch::v1model::Digest,
    ) -> Result<P4Data, Refusal> {
        let number = |words: &Vec<u64>| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            BigUint::from_bytes_le(&bytes)
        };
        let leaves: Vec<BigUint> = digest.fields.iter().map(number).collect();
        Types::of(&self.info).message(&self.digest(id)?.data, &leaves)
    }

    pub fn digest(&self, id: u32) -> Result<&Digest, Refusal> {
        self.digests.get(&id).ok_or_else(|| unknown("digest", id))
    }
}

fn unknown(what: &str, id: u32) -> Refusal {
    Refusal::invalid(format!("the program has no {what} with id {id:#010x}"))
}

fn missing(what: &str, name: &str) -> Refusal {
    let message = format!("P4Info names {what} {name}, but the compiled program has none");
    Refusal::new(Code::Internal, message)
}

/// The one of `names` that P4Info calls `wanted`: P4Info leaves out the dot of absolute names.
fn engine_name<'a>(
    what: &str,
    wanted: &str,
    mut names: impl Iterator<Item = &'a str>,
) -> Result<&'a str, Refusal> {
    names
        .find(|name| name.strip_prefix('.').unwrap_or(name) == wanted)
        .ok_or_else(|| missing(what, wanted))
}

fn find_action(action: &model::Action, program: &ir::Program) -> Result<Action, Refusal> {
    let names = program.actions.iter().map(|action| &*action.name);
    let param = |param: &model::Field| Param {
        id: param.id,
        name: param.name.clone(),
        width: width(param.bitwidth),
    };
    // An action that nothing calls is in P4Info, but not in the compiled program.
    let name = engine_name("action", &action.preamble.name, names).unwrap_or(&action.preamble.name);
    Ok(Action {
        id: action.preamble.id,
        name: name.to_string(),
        params: action.params.iter().map(param).collect(),
    })
}

fn width(bits: i32) -> u32 {
    u32::try_from(bits).unwrap_or(0)
}

fn find_table(
    table: &model::Table,
    info: &P4Info,
    program: &ir::Program,
) -> Result<Table, Refusal> {
    let name = &table.preamble.name;
    let names = program.tables.iter().map(|table| &*table.name);
    let own = engine_name("table", name, names)?;
    let compiled = program.tables.iter().find(|table| &*table.name == own);
    let compiled = compiled.ok_or_else(|| missing("table", name))?;
    let fields = fields(name, &table.match_fields, &compiled.keys)?;
    let own_ids = &table.direct_resource_ids;
    let general =
        |field: &Field| matches!(field.kind, Kind::Ternary | Kind::Range | Kind::Optional);
    let prefixes = fields
        .iter()
        .filter(|field| field.kind == Kind::Lpm)
        .count();
    Ok(Table {
        id: table.preamble.id,
        name: own.to_string(),
        has_priorities: fields.iter().any(general) || prefixes > 1,
        fields,
        actions: table.action_refs.iter().map(|action| action.id).collect(),
        profile: table.implementation_id,
        direct_counter: first_of(own_ids, info.direct_counters.iter().map(|c| c.preamble.id)),
        direct_meter: first_of(own_ids, info.direct_meters.iter().map(|m| m.preamble.id)),
        notifies_timeouts: table.notifies_timeouts,
        is_const: table.is_const_table,
        const_default: table.const_default_action_id.is_some(),
        // Where the smallest priority wins, the engine has them counted down from the top.
        priority_offset: match compiled.largest_priority_wins {
            true => 0,
            false => 1 << 31,
        },
    })
}

fn first_of(ids: &[u32], mut candidates: impl Iterator<Item = u32>) -> Option<u32> {
    candidates.find(|id| ids.contains(id))
}

/// Fields of P4Info with the names that the engine has for them.
fn fields(
    owner: &str,
    described: &[model::MatchField],
    keys: &[ir::Key],
) -> Result<Vec<Field>, Refusal> {
    let keys: Vec<&ir::Key> = keys
        .iter()
        .filter(|key| &*key.match_kind != "selector")
        .collect();
    if keys.len() != described.len() {
        return Err(missing("as many fields of", owner));
    }
    let field = |(field, key): (&model::MatchField, &ir::Key)| {
        Ok(Field {
            id: field.id,
            name: key.name.to_string(),
            width: width(field.bitwidth),
            kind: match &field.match_type {
                MatchType::Exact => Kind::Exact,
                MatchType::Lpm => Kind::Lpm,
                MatchType::Ternary => Kind::Ternary,
                MatchType::Range => Kind::Range,
                MatchType::Optional => Kind::Optional,
                MatchType::Other(kind) => {
                    let message = format!("field {} of {owner} is matched as {kind}", field.name);
                    return Err(Refusal::unimplemented(message));
                }
            },
        })
    };
    described.iter().zip(keys).map(field).collect()
}

fn profile(profile: &model::ActionProfile) -> (u32, Profile) {
    let id = profile.preamble.id;
    let built = Profile {
        id,
        name: profile.preamble.name.clone(),
        tables: profile.table_ids.clone(),
        selector: profile.with_selector,
        max_group_size: profile.max_group_size,
        sum_of_members: match profile.size_semantics {
            Some(SizeSemantics::SumOfMembers { max_member_weight }) => Some(max_member_weight),
            _ => None,
        },
    };
    (id, built)
}

fn arrays(indexed: &[model::Counter], direct: &[model::DirectCounter]) -> FxHashMap<u32, Array> {
    let indexed = indexed
        .iter()
        .map(|counter| array(&counter.preamble, counter.size, None));
    let direct = direct
        .iter()
        .map(|counter| array(&counter.preamble, 0, Some(counter.direct_table_id)));
    indexed.chain(direct).collect()
}

fn arrays_of_meters(
    indexed: &[model::Meter],
    direct: &[model::DirectMeter],
) -> FxHashMap<u32, Array> {
    let indexed = indexed
        .iter()
        .map(|meter| array(&meter.preamble, meter.size, None));
    let direct = direct
        .iter()
        .map(|meter| array(&meter.preamble, 0, Some(meter.direct_table_id)));
    indexed.chain(direct).collect()
}

fn array(preamble: &model::Preamble, size: i64, table: Option<u32>) -> (u32, Array) {
    let array = Array {
        id: preamble.id,
        name: preamble.name.clone(),
        size: u64::try_from(size).unwrap_or(0),
        table,
    };
    (preamble.id, array)
}

fn find_value_set(set: &model::ValueSet, program: &ir::Program) -> Result<ValueSet, Refusal> {
    let name = &set.preamble.name;
    let names = program.value_sets.iter().map(|set| &*set.name);
    let own = engine_name("value set", name, names)?;
    let compiled = program.value_sets.iter().find(|set| &*set.name == own);
    let compiled = compiled.ok_or_else(|| missing("value set", name))?;
    Ok(ValueSet {
        id: set.preamble.id,
        name: own.to_string(),
        size: u64::try_from(set.size).unwrap_or(0),
        fields: fields(name, &set.matches, &compiled.fields)?,
    })
}

fn register(register: &model::Register) -> (u32, Register) {
    let id = register.preamble.id;
    let built = Register {
        id,
        name: register.preamble.name.clone(),
        size: u64::try_from(register.size).unwrap_or(0),
        data: register.type_spec.clone(),
    };
    (id, built)
}

fn digest(digest: &model::Digest) -> (u32, Digest) {
    let id = digest.preamble.id;
    let built = Digest {
        id,
        name: digest.preamble.name.clone(),
        data: digest.type_spec.clone(),
    };
    (id, built)
}

/// P4Info names digests after their type; those of a list are `digest_0`, `digest_1`, in order.
fn digest_calls(info: &P4Info, program: &ir::Program) -> FxHashMap<ir::CallId, u32> {
    let named = |name: &str| {
        let mut digests = info.digests.iter();
        digests
            .find(|digest| digest.preamble.name == name)
            .map(|digest| digest.preamble.id)
    };
    let mut unnamed = 0;
    let mut calls = FxHashMap::default();
    for (call, id) in program.calls.iter().zip(0..) {
        if &*call.name != "digest" {
            continue;
        }
        let by_type = call.types.first().and_then(|shape| named(&shape.name));
        let digest = by_type.or_else(|| {
            let name = format!("digest_{unnamed}");
            unnamed += 1;
            named(&name)
        });
        calls.extend(digest.map(|digest| (id, digest)));
    }
    calls
}

fn controller_header(header: &model::ControllerPacketMetadata) -> Result<Header, Refusal> {
    let name = &header.preamble.name;
    if let Some(field) = header.metadata.iter().find(|field| field.bitwidth <= 0) {
        let message = format!(
            "field {} of {name} is translated to strings, which this server does not do",
            field.name
        );
        return Err(Refusal::unimplemented(message));
    }
    let called = |id: u32| {
        let mut seen = header.metadata.iter();
        Some((id, seen.find(|field| field.id == id)?.name.clone()))
    };
    let fields: Vec<_> = header
        .layout
        .iter()
        .map(|(id, width)| (id.and_then(called), *width))
        .collect();
    let bits: u32 = fields.iter().map(|(_, width)| width).sum();
    if !bits.is_multiple_of(8) {
        let message = format!("{name} has {bits} bits, which is not a number of whole bytes");
        return Err(Refusal::invalid(message));
    }
    Ok(Header {
        fields,
        bytes: bits as usize / 8,
    })
}

/// Width in bits of a bit string.
pub fn bits_of(bits: BitString) -> u32 {
    match bits {
        BitString::Bit(bits) | BitString::Int(bits) | BitString::Varbit(bits) => width(bits),
    }
}
