//! The schema as `bf-rt.json`.

use super::{
    ActionSpec, Annotation, Data, Field, FieldType, KeyField, Kind, LearnFilter, Match, Schema,
    Scope, Table,
};
use serde_json::{json, Map, Value};

impl Schema {
    /// `bf-rt.json`, version 1.0.0 of its form.
    pub fn json(&self) -> String {
        let text = json!({
            "schema_version": "1.0.0",
            "tables": self.tables.iter().map(table).collect::<Vec<_>>(),
            "learn_filters": self.learn_filters.iter().map(learn).collect::<Vec<_>>(),
        });
        format!("{text:#}")
    }
}

fn notes(annotations: &[String]) -> Value {
    let notes = annotations.iter().map(|name| json!({ "name": name }));
    Value::Array(notes.collect())
}

fn note(own: &Annotation) -> Value {
    match &own.value {
        Some(value) => json!({ "name": own.name, "value": value }),
        None => json!({ "name": own.name }),
    }
}

fn table(own: &Table) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| out.insert(name.to_string(), value);
    put("name", json!(own.name));
    put("id", json!(own.id));
    put("table_type", json!(own.kind.name()));
    put("size", json!(own.size));
    if let Some(annotations) = &own.annotations {
        put("annotations", notes(annotations));
    }
    put("depends_on", json!(own.depends_on));
    if let Some(fixed) = own.const_default {
        put("has_const_default_action", json!(fixed));
    }
    put("key", own.key.iter().map(key).collect());
    if let Some(actions) = &own.actions {
        put("action_specs", actions.iter().map(action).collect());
    }
    put("data", own.data.iter().map(data).collect());
    put("supported_operations", json!(own.operations));
    put("attributes", json!(own.attributes));
    if own.kind == Kind::DynHashCompute {
        put("read_only", json!(true));
    }
    Value::Object(out)
}

fn key(own: &KeyField) -> Value {
    json!({
        "id": own.id,
        "name": own.name,
        "repeated": false,
        "annotations": own.annotations.iter().map(note).collect::<Vec<_>>(),
        "mandatory": own.mandatory,
        "match_type": own.match_type.name(),
        "type": field_type(&own.field_type),
    })
}

fn action(own: &ActionSpec) -> Value {
    let param = |param: &Field| {
        let mut out = field(param);
        if let Value::Object(out) = &mut out {
            out.insert("mandatory".to_string(), json!(true));
            out.insert("read_only".to_string(), json!(false));
        }
        out
    };
    json!({
        "id": own.id,
        "name": own.name,
        "action_scope": match own.scope {
            Scope::TableAndDefault => "TableAndDefault",
            Scope::TableOnly => "TableOnly",
            Scope::DefaultOnly => "DefaultOnly",
        },
        "annotations": notes(&own.annotations),
        "data": own.data.iter().map(param).collect::<Vec<_>>(),
    })
}

fn data(own: &Data) -> Value {
    let mut out = Map::new();
    out.insert("mandatory".to_string(), json!(own.mandatory));
    out.insert("read_only".to_string(), json!(own.read_only));
    match own.one_of.as_slice() {
        [one] => out.insert("singleton".to_string(), field(one)),
        several => out.insert("oneof".to_string(), several.iter().map(field).collect()),
    };
    Value::Object(out)
}

fn field(own: &Field) -> Value {
    let (name, holds) = match &own.field_type {
        FieldType::Container(parts) => ("container", parts.iter().map(data).collect()),
        kind => ("type", field_type(kind)),
    };
    json!({
        "id": own.id,
        "name": own.name,
        "repeated": own.repeated,
        "annotations": own.annotations.iter().map(note).collect::<Vec<_>>(),
        name: holds,
    })
}

fn field_type(own: &FieldType) -> Value {
    let mut out = Map::new();
    let name = match own {
        FieldType::Bytes { .. } => "bytes".to_string(),
        FieldType::Uint { bits, .. } => format!("uint{bits}"),
        FieldType::Bool { .. } => "bool".to_string(),
        FieldType::Float => "float".to_string(),
        FieldType::Text { .. } => "string".to_string(),
        FieldType::Container(_) => "container".to_string(),
    };
    out.insert("type".to_string(), Value::String(name));
    let default = match own {
        FieldType::Bytes { width, default } => {
            out.insert("width".to_string(), json!(width));
            default.map(|value| json!(value))
        }
        FieldType::Uint { default, .. } => default.map(|value| json!(value)),
        FieldType::Bool { default } => default.map(|value| json!(value)),
        FieldType::Float | FieldType::Container(_) => None,
        FieldType::Text { choices, default } => {
            if !choices.is_empty() {
                out.insert("choices".to_string(), json!(choices));
            }
            default.map(|value| json!(value))
        }
    };
    if let Some(default) = default {
        out.insert("default_value".to_string(), default);
    }
    Value::Object(out)
}

fn learn(own: &LearnFilter) -> Value {
    json!({
        "name": own.name,
        "id": own.id,
        "annotations": notes(&own.annotations),
        "fields": own.fields.iter().map(field).collect::<Vec<_>>(),
    })
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::MatchActionDirect => "MatchAction_Direct",
            Kind::MatchActionIndirect => "MatchAction_Indirect",
            Kind::MatchActionIndirectSelector => "MatchAction_Indirect_Selector",
            Kind::Action => "Action",
            Kind::Selector => "Selector",
            Kind::SelectorGetMember => "SelectorGetMember",
            Kind::DynHashAlgorithm => "DynHashAlgorithm",
            Kind::DynHashConfigure => "DynHashConfigure",
            Kind::DynHashCompute => "DynHashCompute",
            Kind::Counter => "Counter",
            Kind::Meter => "Meter",
            Kind::Register => "Register",
            Kind::RegisterParam => "RegisterParam",
            Kind::Lpf => "Lpf",
            Kind::Wred => "Wred",
            Kind::ParserValueSet => "ParserValueSet",
            Kind::PortMetadata => "PortMetadata",
            Kind::TblDbgCnt => "TblDbgCnt",
            Kind::PortConfigure => "PortConfigure",
            Kind::PortStat => "PortStat",
            Kind::PortHdlInfo => "PortHdlInfo",
            Kind::PortFpIdxInfo => "PortFpIdxInfo",
            Kind::PortStrInfo => "PortStrInfo",
            Kind::PreMgid => "PreMgid",
            Kind::PreNode => "PreNode",
            Kind::PreEcmp => "PreEcmp",
            Kind::PreLag => "PreLag",
            Kind::PrePrune => "PrePrune",
            Kind::PrePort => "PrePort",
            Kind::MirrorCfg => "MirrorCfg",
            Kind::PktgenPortCfg => "PktgenPortCfg",
            Kind::PktgenAppCfg => "PktgenAppCfg",
            Kind::PktgenPktBuffer => "PktgenPktBufferCfg",
            Kind::DevConfigure => "DevConfigure",
        }
    }
}

impl Match {
    pub fn name(self) -> &'static str {
        match self {
            Match::Exact => "Exact",
            Match::Lpm => "LPM",
            Match::Ternary => "Ternary",
            Match::Range => "Range",
            Match::Optional => "Optional",
            Match::Atcam => "ATCAM",
        }
    }
}
