//! P4Info as protobuf messages.

use crate::message::{Message, Value};
use crate::model::*;

fn new() -> Message {
    Message::default()
}

fn named(name: &str) -> Message {
    new().text("name", name)
}

fn maybe_named(name: &Option<String>) -> Option<Message> {
    name.as_deref().map(named)
}

impl P4Info {
    pub(crate) fn message(&self) -> Message {
        new()
            .maybe("pkg_info", self.pkg_info.as_ref().map(pkg_info))
            .messages("tables", self.tables.iter().map(table))
            .messages("actions", self.actions.iter().map(action))
            .messages("action_profiles", self.action_profiles.iter().map(profile))
            .messages("counters", self.counters.iter().map(counter))
            .messages(
                "direct_counters",
                self.direct_counters
                    .iter()
                    .map(|c| direct(&c.preamble, c.unit, c.direct_table_id)),
            )
            .messages("meters", self.meters.iter().map(meter))
            .messages(
                "direct_meters",
                self.direct_meters
                    .iter()
                    .map(|m| direct(&m.preamble, m.unit, m.direct_table_id)),
            )
            .messages(
                "controller_packet_metadata",
                self.controller_packet_metadata.iter().map(packet_metadata),
            )
            .messages("value_sets", self.value_sets.iter().map(value_set))
            .messages("registers", self.registers.iter().map(register))
            .messages("digests", self.digests.iter().map(digest))
            .maybe("type_info", self.type_info.as_ref().map(type_info))
    }
}

fn pkg_info(info: &PkgInfo) -> Message {
    new()
        .text("name", &info.name)
        .text("version", &info.version)
        .maybe("doc", info.notes.doc.as_ref().map(documentation))
        .list("annotations", annotations(&info.notes))
        .text("arch", &info.arch)
        .text("organization", &info.organization)
        .text("contact", &info.contact)
        .text("url", &info.url)
        .messages("structured_annotations", structured(&info.notes))
        .maybe(
            "platform_properties",
            info.platform_properties.as_ref().map(|platform| {
                new()
                    .number(
                        "multicast_group_table_size",
                        platform.multicast_group_table_size,
                    )
                    .number(
                        "multicast_group_table_total_replicas",
                        platform.multicast_group_table_total_replicas,
                    )
                    .number(
                        "multicast_group_table_max_replicas_per_entry",
                        platform.multicast_group_table_max_replicas_per_entry,
                    )
            }),
        )
}

fn documentation(doc: &Documentation) -> Message {
    new()
        .text("brief", &doc.brief)
        .text("description", &doc.description)
}

fn annotations(notes: &Notes) -> impl Iterator<Item = Value> + '_ {
    notes.annotations.iter().cloned().map(Value::Text)
}

fn structured(notes: &Notes) -> impl Iterator<Item = Message> + '_ {
    notes.structured.iter().map(|annotation| {
        let message = named(&annotation.name);
        match &annotation.body {
            AnnotationValue::List(items) => message.message(
                "expression_list",
                new().messages("expressions", items.iter().map(literal)),
            ),
            AnnotationValue::Pairs(pairs) => message.message(
                "kv_pair_list",
                new().messages(
                    "kv_pairs",
                    pairs.iter().map(|(key, value)| {
                        new().text("key", key).message("value", literal(value))
                    }),
                ),
            ),
        }
    })
}

fn literal(literal: &Literal) -> Message {
    match literal {
        Literal::Text(text) => new().with("string_value", Value::Text(text.clone())),
        Literal::Int(number) => new().with("int64_value", Value::Long(*number)),
        Literal::Bool(flag) => new().with("bool_value", Value::Bool(*flag)),
    }
}

fn preamble(preamble: &Preamble) -> Message {
    new()
        .number("id", preamble.id)
        .text("name", &preamble.name)
        .text("alias", &preamble.alias)
        .list("annotations", annotations(&preamble.notes))
        .maybe("doc", preamble.notes.doc.as_ref().map(documentation))
        .messages("structured_annotations", structured(&preamble.notes))
}

fn with_preamble(own: &Preamble) -> Message {
    new().message("preamble", preamble(own))
}

fn ids(ids: &[u32]) -> impl Iterator<Item = Value> + '_ {
    ids.iter().map(|id| Value::Number(i64::from(*id)))
}

fn table(table: &Table) -> Message {
    let call = &table.initial_default_action;
    let arguments = call
        .arguments
        .iter()
        .map(|(id, value)| new().number("param_id", *id).bytes("value", value));
    let mut message = with_preamble(&table.preamble)
        .messages("match_fields", table.match_fields.iter().map(match_field))
        .messages("action_refs", table.action_refs.iter().map(action_ref))
        .number(
            "const_default_action_id",
            table.const_default_action_id.unwrap_or(0),
        )
        .message(
            "initial_default_action",
            new()
                .number("action_id", call.action_id)
                .messages("arguments", arguments),
        )
        .number("implementation_id", table.implementation_id.unwrap_or(0))
        .list("direct_resource_ids", ids(&table.direct_resource_ids))
        .long("size", table.size);
    if table.notifies_timeouts {
        message = message.with("idle_timeout_behavior", Value::Symbol("NOTIFY_CONTROL"));
    }
    message
        .flag("is_const_table", table.is_const_table)
        .flag("has_initial_entries", table.has_initial_entries)
}

fn match_field(field: &MatchField) -> Message {
    let message = new()
        .number("id", field.id)
        .text("name", &field.name)
        .list("annotations", annotations(&field.notes))
        .number("bitwidth", field.bitwidth);
    let known = |symbol| Some(("match_type", Value::Symbol(symbol)));
    let kind = match &field.match_type {
        MatchType::Exact => known("EXACT"),
        MatchType::Lpm => known("LPM"),
        MatchType::Ternary => known("TERNARY"),
        MatchType::Range => known("RANGE"),
        MatchType::Optional => known("OPTIONAL"),
        MatchType::Other(_) => None,
    };
    let message = match kind {
        Some((name, value)) => message.with(name, value),
        None => message,
    };
    let message = message.maybe("doc", field.notes.doc.as_ref().map(documentation));
    let message = match &field.match_type {
        MatchType::Other(name) => message.with("other_match_type", Value::Text(name.clone())),
        _ => message,
    };
    message
        .maybe("type_name", maybe_named(&field.type_name))
        .messages("structured_annotations", structured(&field.notes))
}

fn action_ref(action: &ActionRef) -> Message {
    let message = new()
        .number("id", action.id)
        .list("annotations", annotations(&action.notes));
    let message = match action.scope {
        Scope::TableAndDefault => message,
        Scope::TableOnly => message.with("scope", Value::Symbol("TABLE_ONLY")),
        Scope::DefaultOnly => message.with("scope", Value::Symbol("DEFAULT_ONLY")),
    };
    message.messages("structured_annotations", structured(&action.notes))
}

fn action(action: &Action) -> Message {
    let params = action.params.iter().map(|param| {
        new()
            .number("id", param.id)
            .text("name", &param.name)
            .list("annotations", annotations(&param.notes))
            .number("bitwidth", param.bitwidth)
            .maybe("doc", param.notes.doc.as_ref().map(documentation))
            .maybe("type_name", maybe_named(&param.type_name))
            .messages("structured_annotations", structured(&param.notes))
    });
    with_preamble(&action.preamble).messages("params", params)
}

fn profile(profile: &ActionProfile) -> Message {
    let message = with_preamble(&profile.preamble)
        .list("table_ids", ids(&profile.table_ids))
        .flag("with_selector", profile.with_selector)
        .long("size", profile.size)
        .number("max_group_size", profile.max_group_size);
    match profile.size_semantics {
        None => message,
        Some(SizeSemantics::SumOfWeights) => message.message("sum_of_weights", new()),
        Some(SizeSemantics::SumOfMembers { max_member_weight }) => message.message(
            "sum_of_members",
            new().number("max_member_weight", max_member_weight),
        ),
    }
}

fn spec(unit: Unit) -> Message {
    match unit {
        Unit::Unspecified => new(),
        Unit::Bytes => new().with("unit", Value::Symbol("BYTES")),
        Unit::Packets => new().with("unit", Value::Symbol("PACKETS")),
        Unit::Both => new().with("unit", Value::Symbol("BOTH")),
    }
}

fn counter(counter: &Counter) -> Message {
    with_preamble(&counter.preamble)
        .message("spec", spec(counter.unit))
        .long("size", counter.size)
        .maybe("index_type_name", maybe_named(&counter.index_type_name))
}

fn meter(meter: &Meter) -> Message {
    with_preamble(&meter.preamble)
        .message("spec", spec(meter.unit))
        .long("size", meter.size)
        .maybe("index_type_name", maybe_named(&meter.index_type_name))
}

/// Direct counters and direct meters look alike.
fn direct(preamble: &Preamble, unit: Unit, table: u32) -> Message {
    with_preamble(preamble)
        .message("spec", spec(unit))
        .number("direct_table_id", table)
}

fn packet_metadata(header: &ControllerPacketMetadata) -> Message {
    let metadata = header.metadata.iter().map(|field| {
        new()
            .number("id", field.id)
            .text("name", &field.name)
            .list("annotations", annotations(&field.notes))
            .number("bitwidth", field.bitwidth)
            .maybe("type_name", maybe_named(&field.type_name))
            .messages("structured_annotations", structured(&field.notes))
    });
    with_preamble(&header.preamble).messages("metadata", metadata)
}

fn value_set(set: &ValueSet) -> Message {
    with_preamble(&set.preamble)
        .messages("match", set.matches.iter().map(match_field))
        .number("size", set.size)
}

fn register(register: &Register) -> Message {
    with_preamble(&register.preamble)
        .message("type_spec", data_type(&register.type_spec))
        .number("size", register.size)
        .maybe("index_type_name", maybe_named(&register.index_type_name))
}

fn digest(digest: &Digest) -> Message {
    with_preamble(&digest.preamble).message("type_spec", data_type(&digest.type_spec))
}

fn bit_string(ty: &BitString) -> Message {
    let width = |width: i32| new().number("bitwidth", width);
    match ty {
        BitString::Bit(bits) => new().message("bit", width(*bits)),
        BitString::Int(bits) => new().message("int", width(*bits)),
        BitString::Varbit(bits) => new().message("varbit", new().number("max_bitwidth", *bits)),
    }
}

fn data_type(ty: &DataType) -> Message {
    let stack = |of: &'static str, name: &str, size: i32| {
        new().message(of, named(name)).number("size", size)
    };
    match ty {
        DataType::BitString(bits) => new().message("bitstring", bit_string(bits)),
        DataType::Bool => new().message("bool", new()),
        DataType::Tuple(items) => new().message(
            "tuple",
            new().messages("members", items.iter().map(data_type)),
        ),
        DataType::Struct(name) => new().message("struct", named(name)),
        DataType::Header(name) => new().message("header", named(name)),
        DataType::HeaderUnion(name) => new().message("header_union", named(name)),
        DataType::HeaderStack(name, size) => {
            new().message("header_stack", stack("header", name, *size))
        }
        DataType::HeaderUnionStack(name, size) => {
            new().message("header_union_stack", stack("header_union", name, *size))
        }
        DataType::Enum(name) => new().message("enum", named(name)),
        DataType::Error => new().message("error", new()),
        DataType::SerializableEnum(name) => new().message("serializable_enum", named(name)),
        DataType::NewType(name) => new().message("new_type", named(name)),
    }
}

fn type_info(info: &TypeInfo) -> Message {
    let structs = info.structs.iter().map(|(name, members)| {
        let members = members
            .iter()
            .map(|(name, ty)| named(name).message("type_spec", data_type(ty)));
        (name.clone(), new().messages("members", members))
    });
    let headers = info.headers.iter().map(|(name, members)| {
        let members = members
            .iter()
            .map(|(name, ty)| named(name).message("type_spec", bit_string(ty)));
        (name.clone(), new().messages("members", members))
    });
    let unions = info.header_unions.iter().map(|(name, members)| {
        let members = members
            .iter()
            .map(|(name, header)| named(name).message("header", named(header)));
        (name.clone(), new().messages("members", members))
    });
    let enums = info.enums.iter().map(|(name, members)| {
        let members = members.iter().map(|member| named(member));
        (name.clone(), new().messages("members", members))
    });
    let texts = |texts: &[String]| texts.iter().cloned().map(Value::Text).collect::<Vec<_>>();
    let errors = info.errors.as_ref();
    new()
        .map("structs", structs)
        .map("headers", headers)
        .map("header_unions", unions)
        .map("enums", enums)
        .maybe(
            "error",
            errors.map(|members| new().list("members", texts(members).into_iter())),
        )
        .map(
            "serializable_enums",
            info.serializable_enums
                .iter()
                .map(|(name, ty)| (name.clone(), serializable_enum(ty))),
        )
        .map(
            "new_types",
            info.new_types
                .iter()
                .map(|(name, ty)| (name.clone(), new_type(ty))),
        )
}

fn serializable_enum(ty: &SerializableEnum) -> Message {
    let members = ty
        .members
        .iter()
        .map(|(name, value)| named(name).bytes("value", value));
    new()
        .message("underlying_type", new().number("bitwidth", ty.width))
        .messages("members", members)
}

fn new_type(ty: &NewType) -> Message {
    let message = match &ty.representation {
        Representation::Original(original) => new().message("original_type", data_type(original)),
        Representation::Translated { uri, bitwidth } => {
            let translated = new().text("uri", uri);
            let translated = match bitwidth {
                Some(bits) => translated.with("sdn_bitwidth", Value::Number(i64::from(*bits))),
                None => translated.message("sdn_string", new()),
            };
            new().message("translated_type", translated)
        }
    };
    message
        .list("annotations", annotations(&ty.notes))
        .messages("structured_annotations", structured(&ty.notes))
}
