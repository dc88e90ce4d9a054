//! P4Info as the compiler has it, as messages.

use crate::messages::p4info as to;
use crate::messages::p4types as types;
use crate::messages::p4types::NamedType;
use p4_info::model as from;

/// The message of a program's P4Info.
pub fn p4info(info: &from::P4Info) -> to::P4Info {
    to::P4Info {
        pkg_info: info.pkg_info.as_ref().map(pkg_info),
        tables: info.tables.iter().map(table).collect(),
        actions: info.actions.iter().map(action).collect(),
        action_profiles: info.action_profiles.iter().map(profile).collect(),
        counters: info.counters.iter().map(counter).collect(),
        direct_counters: info
            .direct_counters
            .iter()
            .map(|c| direct(&c.preamble, c.unit, c.direct_table_id))
            .collect(),
        meters: info.meters.iter().map(meter).collect(),
        direct_meters: info
            .direct_meters
            .iter()
            .map(|m| direct(&m.preamble, m.unit, m.direct_table_id))
            .collect(),
        controller_packet_metadata: info
            .controller_packet_metadata
            .iter()
            .map(controller_header)
            .collect(),
        value_sets: info.value_sets.iter().map(value_set).collect(),
        registers: info.registers.iter().map(register).collect(),
        digests: info.digests.iter().map(digest).collect(),
        type_info: info.type_info.as_ref().map(type_info),
    }
}

fn pkg_info(info: &from::PkgInfo) -> to::PkgInfo {
    to::PkgInfo {
        name: info.name.clone(),
        version: info.version.clone(),
        doc: info.notes.doc.as_ref().map(documentation),
        annotations: info.notes.annotations.clone(),
        arch: info.arch.clone(),
        organization: info.organization.clone(),
        contact: info.contact.clone(),
        url: info.url.clone(),
        structured_annotations: structured(&info.notes),
        platform_properties: info
            .platform_properties
            .as_ref()
            .map(|p| to::PlatformProperties {
                multicast_group_table_size: p.multicast_group_table_size,
                multicast_group_table_total_replicas: p.multicast_group_table_total_replicas,
                multicast_group_table_max_replicas_per_entry: p
                    .multicast_group_table_max_replicas_per_entry,
            }),
    }
}

fn documentation(doc: &from::Documentation) -> to::Documentation {
    to::Documentation {
        brief: doc.brief.clone(),
        description: doc.description.clone(),
    }
}

fn structured(notes: &from::Notes) -> Vec<types::StructuredAnnotation> {
    let annotation = |a: &from::StructuredAnnotation| types::StructuredAnnotation {
        name: a.name.clone(),
        body: Some(match &a.body {
            from::AnnotationValue::List(items) => {
                let expressions = items.iter().map(literal).collect();
                types::AnnotationBody::List(types::ExpressionList { expressions })
            }
            from::AnnotationValue::Pairs(pairs) => {
                let pair = |(key, value): &(String, from::Literal)| types::KeyValuePair {
                    key: key.clone(),
                    value: Some(literal(value)),
                };
                let kv_pairs = pairs.iter().map(pair).collect();
                types::AnnotationBody::Pairs(types::KeyValuePairs { kv_pairs })
            }
        }),
    };
    notes.structured.iter().map(annotation).collect()
}

fn literal(literal: &from::Literal) -> types::Expression {
    types::Expression {
        value: Some(match literal {
            from::Literal::Text(text) => types::Literal::Text(text.clone()),
            from::Literal::Int(number) => types::Literal::Int(*number),
            from::Literal::Bool(flag) => types::Literal::Bool(*flag),
        }),
    }
}

fn preamble(preamble: &from::Preamble) -> Option<to::Preamble> {
    Some(to::Preamble {
        id: preamble.id,
        name: preamble.name.clone(),
        alias: preamble.alias.clone(),
        annotations: preamble.notes.annotations.clone(),
        doc: preamble.notes.doc.as_ref().map(documentation),
        structured_annotations: structured(&preamble.notes),
    })
}

fn named(name: &Option<String>) -> Option<NamedType> {
    name.clone().map(|name| NamedType { name })
}

fn match_field(field: &from::MatchField) -> to::MatchField {
    use from::MatchType::*;
    let plain = |kind: to::MatchType| to::MatchKind::MatchType(kind as i32);
    to::MatchField {
        id: field.id,
        name: field.name.clone(),
        annotations: field.notes.annotations.clone(),
        bitwidth: field.bitwidth,
        doc: field.notes.doc.as_ref().map(documentation),
        type_name: named(&field.type_name),
        structured_annotations: structured(&field.notes),
        r#match: Some(match &field.match_type {
            Exact => plain(to::MatchType::Exact),
            Lpm => plain(to::MatchType::Lpm),
            Ternary => plain(to::MatchType::Ternary),
            Range => plain(to::MatchType::Range),
            Optional => plain(to::MatchType::Optional),
            Other(name) => to::MatchKind::OtherMatchType(name.clone()),
        }),
    }
}

fn table(table: &from::Table) -> to::Table {
    let call = &table.initial_default_action;
    let arguments = call.arguments.iter().map(|(param_id, value)| to::Argument {
        param_id: *param_id,
        value: value.clone(),
    });
    to::Table {
        preamble: preamble(&table.preamble),
        match_fields: table.match_fields.iter().map(match_field).collect(),
        action_refs: table.action_refs.iter().map(action_ref).collect(),
        const_default_action_id: table.const_default_action_id.unwrap_or_default(),
        initial_default_action: (call.action_id != 0).then(|| to::TableActionCall {
            action_id: call.action_id,
            arguments: arguments.collect(),
        }),
        implementation_id: table.implementation_id.unwrap_or_default(),
        direct_resource_ids: table.direct_resource_ids.clone(),
        size: table.size,
        idle_timeout_behavior: i32::from(table.notifies_timeouts),
        is_const_table: table.is_const_table,
        has_initial_entries: table.has_initial_entries,
    }
}

fn action_ref(reference: &from::ActionRef) -> to::ActionRef {
    to::ActionRef {
        id: reference.id,
        annotations: reference.notes.annotations.clone(),
        scope: match reference.scope {
            from::Scope::TableAndDefault => 0,
            from::Scope::TableOnly => 1,
            from::Scope::DefaultOnly => 2,
        },
        structured_annotations: structured(&reference.notes),
    }
}

fn action(action: &from::Action) -> to::Action {
    let param = |param: &from::Field| to::ActionParam {
        id: param.id,
        name: param.name.clone(),
        annotations: param.notes.annotations.clone(),
        bitwidth: param.bitwidth,
        doc: param.notes.doc.as_ref().map(documentation),
        type_name: named(&param.type_name),
        structured_annotations: structured(&param.notes),
    };
    to::Action {
        preamble: preamble(&action.preamble),
        params: action.params.iter().map(param).collect(),
    }
}

fn profile(profile: &from::ActionProfile) -> to::ActionProfile {
    let semantics = profile.size_semantics.map(|semantics| match semantics {
        from::SizeSemantics::SumOfWeights => to::SelectorSize::SumOfWeights(to::SumOfWeights {}),
        from::SizeSemantics::SumOfMembers { max_member_weight } => {
            to::SelectorSize::SumOfMembers(to::SumOfMembers { max_member_weight })
        }
    });
    to::ActionProfile {
        preamble: preamble(&profile.preamble),
        table_ids: profile.table_ids.clone(),
        with_selector: profile.with_selector,
        size: profile.size,
        max_group_size: profile.max_group_size,
        selector_size_semantics: semantics,
    }
}

fn unit(unit: from::Unit) -> Option<to::UnitSpec> {
    let unit = match unit {
        from::Unit::Unspecified => 0,
        from::Unit::Bytes => 1,
        from::Unit::Packets => 2,
        from::Unit::Both => 3,
    };
    Some(to::UnitSpec { unit })
}

fn counter(counter: &from::Counter) -> to::Counter {
    to::Counter {
        preamble: preamble(&counter.preamble),
        spec: unit(counter.unit),
        size: counter.size,
        index_type_name: named(&counter.index_type_name),
    }
}

fn meter(meter: &from::Meter) -> to::Meter {
    to::Meter {
        preamble: preamble(&meter.preamble),
        spec: unit(meter.unit),
        size: meter.size,
        index_type_name: named(&meter.index_type_name),
    }
}

fn direct(names: &from::Preamble, units: from::Unit, table: u32) -> to::DirectCounter {
    to::DirectCounter {
        preamble: preamble(names),
        spec: unit(units),
        direct_table_id: table,
    }
}

fn controller_header(header: &from::ControllerPacketMetadata) -> to::ControllerPacketMetadata {
    let field = |field: &from::Field| to::Metadata {
        id: field.id,
        name: field.name.clone(),
        annotations: field.notes.annotations.clone(),
        bitwidth: field.bitwidth,
        type_name: named(&field.type_name),
        structured_annotations: structured(&field.notes),
    };
    to::ControllerPacketMetadata {
        preamble: preamble(&header.preamble),
        metadata: header.metadata.iter().map(field).collect(),
    }
}

fn value_set(set: &from::ValueSet) -> to::ValueSet {
    to::ValueSet {
        preamble: preamble(&set.preamble),
        r#match: set.matches.iter().map(match_field).collect(),
        size: set.size,
    }
}

fn register(register: &from::Register) -> to::Register {
    to::Register {
        preamble: preamble(&register.preamble),
        type_spec: Some(data_type(&register.type_spec)),
        size: register.size,
        index_type_name: named(&register.index_type_name),
    }
}

fn digest(digest: &from::Digest) -> to::Digest {
    to::Digest {
        preamble: preamble(&digest.preamble),
        type_spec: Some(data_type(&digest.type_spec)),
    }
}

fn named_type(name: &str) -> NamedType {
    NamedType {
        name: name.to_string(),
    }
}

fn bit_string(bits: from::BitString) -> types::BitstringSpec {
    let width = |bitwidth| types::Width { bitwidth };
    types::BitstringSpec {
        type_spec: Some(match bits {
            from::BitString::Bit(bits) => types::Bitstring::Bit(width(bits)),
            from::BitString::Int(bits) => types::Bitstring::Int(width(bits)),
            from::BitString::Varbit(bits) => types::Bitstring::Varbit(width(bits)),
        }),
    }
}

fn data_type(data: &from::DataType) -> types::DataTypeSpec {
    use types::DataType as To;
    let stack = |element: &str, size: i32| types::StackSpec {
        element: Some(named_type(element)),
        size,
    };
    To::into(match data {
        from::DataType::BitString(bits) => To::Bitstring(bit_string(*bits)),
        from::DataType::Bool => To::Bool(types::Empty {}),
        from::DataType::Tuple(members) => To::Tuple(types::TupleSpec {
            members: members.iter().map(data_type).collect(),
        }),
        from::DataType::Struct(name) => To::Struct(named_type(name)),
        from::DataType::Header(name) => To::Header(named_type(name)),
        from::DataType::HeaderUnion(name) => To::HeaderUnion(named_type(name)),
        from::DataType::HeaderStack(name, size) => To::HeaderStack(stack(name, *size)),
        from::DataType::HeaderUnionStack(name, size) => To::HeaderUnionStack(stack(name, *size)),
        from::DataType::Enum(name) => To::Enum(named_type(name)),
        from::DataType::Error => To::Error(types::Empty {}),
        from::DataType::SerializableEnum(name) => To::SerializableEnum(named_type(name)),
        from::DataType::NewType(name) => To::NewType(named_type(name)),
    })
}

fn type_info(info: &from::TypeInfo) -> types::TypeInfo {
    let structs = info.structs.iter().map(|(name, members)| {
        let member = |(name, data): &(String, from::DataType)| types::StructMember {
            name: name.clone(),
            type_spec: Some(data_type(data)),
        };
        let members = members.iter().map(member).collect();
        (name.clone(), types::StructSpec { members })
    });
    let headers = info.headers.iter().map(|(name, members)| {
        let member = |(name, bits): &(String, from::BitString)| types::HeaderMember {
            name: name.clone(),
            type_spec: Some(bit_string(*bits)),
        };
        let members = members.iter().map(member).collect();
        (name.clone(), types::HeaderSpec { members })
    });
    let unions = info.header_unions.iter().map(|(name, members)| {
        let member = |(name, header): &(String, String)| types::HeaderUnionMember {
            name: name.clone(),
            header: Some(named_type(header)),
        };
        let members = members.iter().map(member).collect();
        (name.clone(), types::HeaderUnionSpec { members })
    });
    let enums = info.enums.iter().map(|(name, members)| {
        let members = members.iter().map(|member| named_type(member)).collect();
        (name.clone(), types::EnumSpec { members })
    });
    let serializable = info.serializable_enums.iter().map(|(name, spec)| {
        let member = |(name, value): &(String, Vec<u8>)| types::SerializableEnumMember {
            name: name.clone(),
            value: value.clone(),
        };
        let spec = types::SerializableEnumSpec {
            underlying_type: Some(types::Width {
                bitwidth: spec.width,
            }),
            members: spec.members.iter().map(member).collect(),
        };
        (name.clone(), spec)
    });
    let new_types = info.new_types.iter().map(|(name, new)| {
        let spec = types::NewTypeSpec {
            annotations: new.notes.annotations.clone(),
            structured_annotations: structured(&new.notes),
            representation: Some(representation(&new.representation)),
        };
        (name.clone(), spec)
    });
    types::TypeInfo {
        structs: structs.collect(),
        headers: headers.collect(),
        header_unions: unions.collect(),
        enums: enums.collect(),
        error: info.errors.as_ref().map(|members| types::ErrorSpec {
            members: members.clone(),
        }),
        serializable_enums: serializable.collect(),
        new_types: new_types.collect(),
    }
}

fn representation(representation: &from::Representation) -> types::Representation {
    match representation {
        from::Representation::Original(data) => types::Representation::Original(data_type(data)),
        from::Representation::Translated { uri, bitwidth } => {
            types::Representation::Translated(types::Translation {
                uri: uri.clone(),
                sdn_type: Some(match bitwidth {
                    Some(bits) => types::SdnType::Bitwidth(*bits),
                    None => types::SdnType::Text(types::Empty {}),
                }),
            })
        }
    }
}
