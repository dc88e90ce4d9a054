//! The tables of a program's own: match-action, profiles, counters, meters, registers and filters.

use super::fields::{self, field, key, list, mandatory, optional};
use super::{ActionSpec, Annotation, Data, Field, FieldType, KeyField, Kind, Match, Scope, Table};
use p4_info::model::{self, BitString, DataType, MatchType, P4Info, Representation};

pub fn table(name: String, id: u32, kind: Kind, size: i64) -> Table {
    Table {
        name,
        id,
        kind,
        size,
        annotations: Some(Vec::new()),
        depends_on: Vec::new(),
        const_default: None,
        key: Vec::new(),
        actions: None,
        data: Vec::new(),
        operations: Vec::new(),
        attributes: Vec::new(),
    }
}

/// The key of a match-action table: its own fields, and a priority where entries may overlap.
pub fn match_key(info: &model::Table) -> Vec<KeyField> {
    let fields = info.match_fields.iter().map(|own| {
        let mut annotations: Vec<Annotation> = plain(&own.notes.annotations);
        if is_slice(&own.name) {
            annotations.push(Annotation {
                name: "isFieldSlice".to_string(),
                value: Some("true".to_string()),
            });
        }
        KeyField {
            id: own.id,
            name: key_name(&own.name),
            source: own.name.clone(),
            annotations,
            mandatory: false,
            match_type: match_type(&own.match_type),
            field_type: FieldType::bytes(own.bitwidth),
        }
    });
    let mut fields: Vec<KeyField> = fields.collect();
    let overlap = |field: &KeyField| {
        matches!(
            field.match_type,
            Match::Ternary | Match::Range | Match::Optional
        )
    };
    if fields.iter().any(overlap) {
        let priority = key(fields::MATCH_PRIORITY, "$MATCH_PRIORITY", 32);
        fields.push(KeyField {
            mandatory: false,
            ..priority
        });
    }
    fields
}

fn plain(annotations: &[String]) -> Vec<Annotation> {
    let plain = annotations.iter().map(|name| Annotation {
        name: name.clone(),
        value: None,
    });
    plain.collect()
}

/// Whether a name ends in `[7:0]`.
fn is_slice(name: &str) -> bool {
    let bits = name.rsplit_once('[').map_or("", |(_, end)| end);
    bits.trim_end_matches(']').contains(':')
}

/// Clients say `hdr.vlan$1` for an element of a stack, and `$valid` for `isValid()`.
fn key_name(name: &str) -> String {
    let name = name.replace(".$valid$", ".$valid");
    let mut out = String::with_capacity(name.len());
    let mut rest = name.as_str();
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let (index, behind) = after.split_once(']').unwrap_or((after, ""));
        if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push('$');
            out.push_str(index);
        } else {
            out.push('[');
            out.push_str(index);
            out.push(']');
        }
        rest = behind;
    }
    out + rest
}

fn match_type(kind: &MatchType) -> Match {
    match kind {
        MatchType::Exact => Match::Exact,
        MatchType::Lpm => Match::Lpm,
        MatchType::Ternary => Match::Ternary,
        MatchType::Range => Match::Range,
        MatchType::Optional => Match::Optional,
        MatchType::Other(_) => Match::Atcam,
    }
}

/// The actions of a table, with their parameters.
pub fn action_specs(info: &P4Info, table: &model::Table) -> Vec<ActionSpec> {
    let specs = table.action_refs.iter().filter_map(|own| {
        let mut actions = info.actions.iter();
        let action = actions.find(|action| action.preamble.id == own.id)?;
        let params = action.params.iter().map(|param| Field {
            annotations: plain(&param.notes.annotations),
            ..field(param.id, &param.name, FieldType::bytes(param.bitwidth))
        });
        Some(ActionSpec {
            id: own.id,
            name: action.preamble.name.clone(),
            scope: match own.scope {
                model::Scope::TableAndDefault => Scope::TableAndDefault,
                model::Scope::TableOnly => Scope::TableOnly,
                model::Scope::DefaultOnly => Scope::DefaultOnly,
            },
            annotations: own.notes.annotations.clone(),
            data: params.collect(),
        })
    });
    specs.collect()
}

/// Which member, or which member or group, an entry names.
pub fn member(with_groups: bool) -> Data {
    let id = FieldType::uint(32);
    let member = field(fields::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", id.clone());
    let group = field(fields::SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID", id);
    mandatory(match with_groups {
        true => vec![member, group],
        false => vec![member],
    })
}

/// How long an entry lives without a hit, and whether it has had one.
pub fn idle(polled: bool) -> Vec<Data> {
    let state = FieldType::Text {
        choices: &["ENTRY_IDLE", "ENTRY_ACTIVE"],
        default: None,
    };
    let never = FieldType::Uint {
        bits: 32,
        default: Some(0),
    };
    let state = field(fields::ENTRY_HIT_STATE, "$ENTRY_HIT_STATE", state);
    let ttl = field(fields::ENTRY_TTL, "$ENTRY_TTL", never);
    let mut data = vec![optional(state)];
    if !polled {
        data.push(optional(ttl));
    }
    data
}

/// A group of members.
pub fn group(max_size: u64) -> Vec<Data> {
    let members = list(
        fields::ACTION_MEMBER_ID,
        "$ACTION_MEMBER_ID",
        FieldType::uint(32),
    );
    let status = FieldType::Bool { default: None };
    let status = list(fields::MEMBER_STATUS, "$ACTION_MEMBER_STATUS", status);
    let size = FieldType::Uint {
        bits: 32,
        default: Some(max_size),
    };
    let size = field(fields::MAX_GROUP_SIZE, "$MAX_GROUP_SIZE", size);
    [members, status, size].map(optional).into()
}

/// What a value of this type is made of: the fields of a structure, or one. Names are put behind
/// `prefix`; ids count from `first`.
pub fn leaves(info: &P4Info, data: &DataType, prefix: &str, first: u32) -> Vec<Field> {
    let types = info.type_info.as_ref();
    let parts: Vec<(String, DataType)> = match data {
        DataType::Struct(name) => {
            let of = types.and_then(|types| types.structs.get(name));
            of.cloned().unwrap_or_default()
        }
        DataType::Header(name) => {
            let of = types.and_then(|types| types.headers.get(name));
            let of = of.map_or(&[][..], Vec::as_slice).iter();
            of.map(|(name, bits)| (name.clone(), DataType::BitString(*bits)))
                .collect()
        }
        DataType::Tuple(parts) => {
            let named = (1..).zip(parts.iter().cloned());
            named
                .map(|(at, part): (u32, _)| (format!("f{at}"), part))
                .collect()
        }
        one => vec![("f1".to_string(), one.clone())],
    };
    let parts = (first..).zip(parts);
    parts
        .map(|(id, (name, data))| field(id, &format!("{prefix}{name}"), leaf(info, &data)))
        .collect()
}

fn leaf(info: &P4Info, data: &DataType) -> FieldType {
    let types = info.type_info.as_ref();
    match data {
        DataType::Bool => FieldType::Bool {
            default: Some(true),
        },
        DataType::BitString(
            BitString::Bit(width) | BitString::Int(width) | BitString::Varbit(width),
        ) => FieldType::bytes(*width),
        DataType::SerializableEnum(name) => {
            let of = types.and_then(|types| types.serializable_enums.get(name));
            FieldType::bytes(of.map_or(0, |own| own.width))
        }
        DataType::NewType(name) => {
            let of = types.and_then(|types| types.new_types.get(name));
            match of.map(|own| &own.representation) {
                Some(Representation::Original(original)) => leaf(info, original),
                Some(Representation::Translated { bitwidth, .. }) => {
                    FieldType::bytes(bitwidth.unwrap_or(0))
                }
                None => FieldType::bytes(0),
            }
        }
        _ => FieldType::bytes(0),
    }
}
