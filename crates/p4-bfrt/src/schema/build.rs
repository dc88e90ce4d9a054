//! From P4Info to the tables of BF Runtime.

use super::fields::{self, field, key, optional, register_data};
use super::hash::{ids, prefix};
use super::hashes;
use super::tables::{self, table};
use super::{Data, FieldType, KeyField, Kind, LearnFilter, Match, Schema, Table};
use p4_info::model::{self, Extern, IngressParser, MatchType, P4Info};
use std::collections::BTreeMap;

/// A port's number
const PORT_BITS: i32 = 9;
/// Channels of a chip with four pipelines
const PORTS: i64 = 288;
/// Bits of port metadata
const METADATA_BITS: i32 = 64;
/// Stages of a pipeline, and logical tables of a stage
const DEBUG_COUNTERS: i64 = 12 * 16;

impl Schema {
    /// The schema of a program. In front of every name stands the pipeline that it is in.
    pub fn of(info: &P4Info) -> Schema {
        let mut build = Build::new(info);
        build.match_tables();
        build.profiles();
        build.counters_and_meters();
        build.registers();
        build.filters();
        build.value_sets();
        build.hashes();
        build.learn_filters();
        for own in &info.ingress_parsers {
            build.port_metadata(own);
        }
        build.debug_counters();
        build.schema
    }
}

struct Build<'i> {
    info: &'i P4Info,
    /// Ids of a sort, by names with the pipeline
    ids: BTreeMap<(u32, String), u32>,
    schema: Schema,
}

impl<'i> Build<'i> {
    fn new(info: &'i P4Info) -> Build<'i> {
        let mut build = Build {
            info,
            ids: BTreeMap::new(),
            schema: Schema::default(),
        };
        let of = |preambles: Vec<&model::Preamble>| -> Vec<String> {
            let names = preambles.iter().map(|own| own.name.clone());
            names.collect()
        };
        let externs = |types: &[&str]| -> Vec<String> {
            let own = info.externs.iter();
            let own = own.filter(|own| types.contains(&&*own.extern_type));
            own.map(|own| own.name.clone()).collect()
        };
        let profiles = info.action_profiles.iter();
        let profiles: Vec<_> = profiles.filter(|own| !own.with_selector).collect();
        let sorts = [
            (
                prefix::TABLE,
                of(info.tables.iter().map(|own| &own.preamble).collect()),
            ),
            (
                prefix::ACTION_PROFILE,
                of(profiles.iter().map(|own| &own.preamble).collect()),
            ),
            (prefix::ACTION_SELECTOR, externs(&["ActionSelector"])),
            (prefix::SELECTOR_GET_MEMBER, externs(&["ActionSelector"])),
            (
                prefix::COUNTER,
                of(info.counters.iter().map(|own| &own.preamble).collect()),
            ),
            (
                prefix::METER,
                of(info.meters.iter().map(|own| &own.preamble).collect()),
            ),
            (
                prefix::REGISTER,
                of(info.registers.iter().map(|own| &own.preamble).collect()),
            ),
            (prefix::REGISTER_PARAM, externs(&["RegisterParam"])),
            (prefix::LPF, externs(&["Lpf"])),
            (prefix::WRED, externs(&["Wred"])),
            (prefix::HASH_ALGORITHM, externs(&["Hash"])),
            (prefix::HASH_CONFIGURE, externs(&["Hash"])),
            (prefix::HASH_COMPUTE, externs(&["Hash"])),
            (
                prefix::VALUE_SET,
                of(info.value_sets.iter().map(|own| &own.preamble).collect()),
            ),
            (
                prefix::DIGEST,
                of(info.digests.iter().map(|own| &own.preamble).collect()),
            ),
        ];
        for (sort, names) in sorts {
            let full: Vec<String> = names.iter().map(|name| build.full(name)).collect();
            let given = ids(sort, full.iter().map(String::as_str));
            let given = given
                .into_iter()
                .map(|(name, id)| ((sort, name.to_string()), id));
            let given: Vec<_> = given.collect();
            build.ids.extend(given);
        }
        build
    }

    /// A name as clients say it. What two pipelines share is the first one's.
    fn full(&self, name: &str) -> String {
        let block = name.split('.').next().unwrap_or(name);
        let pipelines = &self.info.ingress_parsers;
        let mut having = pipelines.iter();
        let own = having.find(|own| own.blocks.iter().any(|known| known == block));
        let own = own.or_else(|| pipelines.first());
        let pipeline = own.map_or("pipe", |own| own.pipeline.as_str());
        format!("{pipeline}.{name}")
    }

    fn id(&self, sort: u32, name: &str) -> u32 {
        let own = (sort, self.full(name));
        self.ids.get(&own).copied().unwrap_or(0)
    }

    fn new_table(&self, sort: u32, name: &str, kind: Kind, size: i64) -> Table {
        table(self.full(name), self.id(sort, name), kind, size)
    }

    fn match_tables(&mut self) {
        for own in &self.info.tables {
            let table = self.match_table(own);
            self.schema.tables.push(table);
        }
    }

    fn match_table(&self, own: &model::Table) -> Table {
        let mut made = self.new_table(
            prefix::TABLE,
            &own.preamble.name,
            Kind::MatchActionDirect,
            own.size,
        );
        made.annotations = Some(own.preamble.notes.annotations.clone());
        made.const_default = Some(own.const_default_action_id.unwrap_or(0) != 0);
        made.key = tables::match_key(own);
        let implementation = own.implementation_id.and_then(|id| {
            let mut profiles = self.info.action_profiles.iter();
            profiles.find(|profile| profile.preamble.id == id)
        });
        match implementation {
            Some(profile) if profile.with_selector => {
                let selector = &profile.preamble.name;
                made.kind = Kind::MatchActionIndirectSelector;
                made.depends_on
                    .push(self.id(prefix::ACTION_SELECTOR, selector));
                let of = self.extern_named(selector);
                let of = of.and_then(|own| instance(own, "action_profile"));
                let of = of.map(|name| self.id(prefix::ACTION_PROFILE, name));
                made.depends_on.extend(of);
                made.data.push(tables::member(true));
            }
            Some(profile) => {
                let id = self.id(prefix::ACTION_PROFILE, &profile.preamble.name);
                made.kind = Kind::MatchActionIndirect;
                made.depends_on.push(id);
                made.data.push(tables::member(false));
            }
            None => made.actions = Some(tables::action_specs(self.info, own)),
        }
        self.direct_resources(own, &mut made);
        made.attributes.push("EntryScope");
        let has = |note: &str| own.preamble.notes.annotations.iter().any(|own| own == note);
        if has("@dynamic_table_key_masks(1)") {
            made.attributes.push("DynamicKeyMask");
        }
        if own.is_const_table {
            made.attributes.push("ConstTable");
        }
        if own.notifies_timeouts {
            made.operations.push("UpdateHitState");
            made.attributes.push("IdleTimeout");
            made.data
                .extend(tables::idle(has("@idletime_precision(1)")));
        }
        made
    }

    fn extern_named(&self, name: &str) -> Option<&'i Extern> {
        self.info.externs.iter().find(|own| own.name == name)
    }

    /// Counters, meters, registers and filters of a table's entries.
    fn direct_resources(&self, own: &model::Table, made: &mut Table) {
        let id = own.preamble.id;
        for counter in &self.info.direct_counters {
            if counter.direct_table_id == id {
                made.data.extend(fields::counter(counter.unit));
                made.operations.push("SyncCounters");
            }
        }
        for meter in &self.info.direct_meters {
            if meter.direct_table_id == id {
                made.data.extend(fields::meter(meter.unit));
                made.attributes.push("MeterByteCountAdjust");
            }
        }
        let actions = made.actions.iter().flatten();
        let params = actions
            .flat_map(|action| &action.data)
            .map(|param| param.id);
        let first = params.max().unwrap_or(0) + 1;
        for direct in &self.info.externs {
            if direct.table_id != Some(id) {
                continue;
            }
            match (&*direct.extern_type, &direct.data) {
                ("DirectRegister", Some(data)) => {
                    let name = format!("{}.", direct.name);
                    let leaves = tables::leaves(self.info, data, &name, first);
                    made.data.extend(leaves.into_iter().map(register_data));
                    made.operations.push("SyncRegisters");
                }
                ("DirectLpf", _) => made.data.extend(fields::lpf()),
                ("DirectWred", _) => made.data.extend(fields::wred()),
                _ => {}
            }
        }
    }

    fn profiles(&mut self) {
        let info = self.info;
        for profile in info.action_profiles.iter().filter(|own| !own.with_selector) {
            let name = &profile.preamble.name;
            let mut made = self.new_table(prefix::ACTION_PROFILE, name, Kind::Action, profile.size);
            made.annotations = Some(profile.preamble.notes.annotations.clone());
            made.key = vec![key(fields::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", 32)];
            let user = info.tables.iter().find(|table| self.uses(table, name));
            made.actions = user.map(|table| tables::action_specs(info, table));
            if made.actions.is_some() {
                self.schema.tables.push(made);
            }
        }
        for selector in externs_of(info, "ActionSelector") {
            let made = self.selector(selector);
            self.schema.tables.extend(made);
        }
    }

    /// Whether a table's actions are those of a profile, itself or through a selector.
    fn uses(&self, table: &model::Table, profile: &str) -> bool {
        let Some(id) = table.implementation_id else {
            return false;
        };
        let own = self.info.action_profiles.iter();
        let mut own = own.filter(|own| own.preamble.id == id);
        own.any(|own| {
            let name = own.preamble.name.as_str();
            let behind = self.extern_named(name);
            let behind = behind.and_then(|own| instance(own, "action_profile"));
            name == profile || behind == Some(profile)
        })
    }

    fn selector(&self, own: &Extern) -> [Table; 2] {
        let groups = number(own, "num_groups").or_else(|| number(own, "size"));
        let mut made = self.new_table(
            prefix::ACTION_SELECTOR,
            &own.name,
            Kind::Selector,
            groups.unwrap_or(0),
        );
        made.annotations = Some(own.notes.annotations.clone());
        made.key = vec![key(fields::SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID", 32)];
        let max = number(own, "max_group_size").unwrap_or(0);
        made.data = tables::group(max.unsigned_abs());
        let profile = instance(own, "action_profile");
        made.depends_on
            .extend(profile.map(|name| self.id(prefix::ACTION_PROFILE, name)));

        let id = self.id(prefix::SELECTOR_GET_MEMBER, &own.name);
        let name = self.full(&format!("{}_get_member", own.name));
        let mut get = table(name, id, Kind::SelectorGetMember, 1);
        get.annotations = Some(own.notes.annotations.clone());
        get.key = vec![
            key(fields::GET_GROUP_ID, "$SELECTOR_GROUP_ID", 64),
            key(fields::HASH_VALUE, "hash_value", 64),
        ];
        let member = FieldType::uint(64);
        let member = field(fields::GET_MEMBER_ID, "$ACTION_MEMBER_ID", member);
        get.data = vec![optional(member)];
        get.depends_on.push(made.id);
        [made, get]
    }

    fn counters_and_meters(&mut self) {
        let info = self.info;
        for own in &info.counters {
            let name = &own.preamble.name;
            let data = fields::counter(own.unit);
            let mut made = self.indexed(prefix::COUNTER, name, Kind::Counter, own.size, data);
            made.annotations = Some(own.preamble.notes.annotations.clone());
            made.operations.push("Sync");
            self.schema.tables.push(made);
        }
        for own in &info.meters {
            let name = &own.preamble.name;
            let data = fields::meter(own.unit);
            let mut made = self.indexed(prefix::METER, name, Kind::Meter, own.size, data);
            made.annotations = None;
            made.attributes.push("MeterByteCountAdjust");
            self.schema.tables.push(made);
        }
    }

    fn registers(&mut self) {
        let info = self.info;
        for own in &info.registers {
            let name = &own.preamble.name;
            let data = tables::leaves(info, &own.type_spec, &format!("{name}."), 1);
            let data: Vec<Data> = data.into_iter().map(register_data).collect();
            let size = i64::from(own.size);
            let mut made = self.indexed(prefix::REGISTER, name, Kind::Register, size, data);
            made.annotations = Some(own.preamble.notes.annotations.clone());
            made.operations.push("Sync");
            self.schema.tables.push(made);
        }
        for own in externs_of(info, "RegisterParam") {
            let sort = prefix::REGISTER_PARAM;
            let mut made = self.new_table(sort, &own.name, Kind::RegisterParam, 1);
            made.annotations = Some(own.notes.annotations.clone());
            let leaves = own
                .data
                .iter()
                .flat_map(|data| tables::leaves(info, data, "", 1));
            let leaf = leaves.map(|own| own.field_type).next();
            if let Some(FieldType::Bytes { width, .. }) = leaf {
                let default = number(own, "initial_value");
                let value = FieldType::Bytes { width, default };
                made.data = vec![fields::mandatory(vec![field(1, "value", value)])];
            }
            self.schema.tables.push(made);
        }
    }

    fn filters(&mut self) {
        let info = self.info;
        for own in externs_of(info, "Lpf") {
            let (size, data) = (number(own, "size").unwrap_or(0), fields::lpf());
            let made = self.indexed(prefix::LPF, &own.name, Kind::Lpf, size, data);
            self.schema.tables.push(made);
        }
        for own in externs_of(info, "Wred") {
            let (size, data) = (number(own, "size").unwrap_or(0), fields::wred());
            let made = self.indexed(prefix::WRED, &own.name, Kind::Wred, size, data);
            self.schema.tables.push(made);
        }
    }

    /// A table whose key is the number of a cell.
    fn indexed(&self, sort: u32, name: &str, kind: Kind, size: i64, data: Vec<Data>) -> Table {
        let (id, index) = match kind {
            Kind::Counter => (fields::COUNTER_INDEX, "$COUNTER_INDEX"),
            Kind::Meter => (fields::METER_INDEX, "$METER_INDEX"),
            Kind::Lpf => (fields::LPF_INDEX, "$LPF_INDEX"),
            Kind::Wred => (fields::WRED_INDEX, "$WRED_INDEX"),
            _ => (fields::REGISTER_INDEX, "$REGISTER_INDEX"),
        };
        Table {
            key: vec![key(id, index, 32)],
            data,
            ..self.new_table(sort, name, kind, size)
        }
    }

    fn value_sets(&mut self) {
        for own in &self.info.value_sets {
            let name = &own.preamble.name;
            let size = i64::from(own.size);
            let mut made = self.new_table(prefix::VALUE_SET, name, Kind::ParserValueSet, size);
            made.annotations = Some(own.preamble.notes.annotations.clone());
            let fields = own.matches.iter().map(|field| KeyField {
                id: field.id,
                name: match field.name.is_empty() {
                    true => "f1".to_string(),
                    false => field.name.clone(),
                },
                source: field.name.clone(),
                annotations: Vec::new(),
                mandatory: false,
                match_type: match field.match_type {
                    MatchType::Range => Match::Range,
                    _ => Match::Ternary,
                },
                field_type: FieldType::bytes(field.bitwidth),
            });
            made.key = fields.collect();
            made.attributes.push("EntryScope");
            self.schema.tables.push(made);
        }
    }

    /// Three tables for each hash whose fields are known.
    fn hashes(&mut self) {
        let info = self.info;
        for own in externs_of(info, "Hash") {
            let Some(hashed) = &own.hashed else { continue };
            let fields = hashes::fields(info, &hashed.fields);
            let result = own
                .data
                .iter()
                .flat_map(|data| tables::leaves(info, data, "", 1));
            let result = result.map(|leaf| leaf.field_type.width()).next();
            let result = hashed.width.or(result.and_then(|own| own.try_into().ok()));
            let made = |sort: u32, part: &str, kind| Table {
                name: self.full(&format!("{}.{part}", own.name)),
                annotations: Some(own.notes.annotations.clone()),
                ..self.new_table(sort, &own.name, kind, 1)
            };
            let mut algorithm = made(prefix::HASH_ALGORITHM, "algorithm", Kind::DynHashAlgorithm);
            let mut configure = made(prefix::HASH_CONFIGURE, "configure", Kind::DynHashConfigure);
            let mut compute = made(prefix::HASH_COMPUTE, "compute", Kind::DynHashCompute);
            (algorithm.data, algorithm.actions) = (hashes::settings(), Some(hashes::algorithms()));
            configure.data = fields.iter().map(hashes::slices).collect();
            compute.key = hashes::key(&fields);
            compute.data = vec![hashes::value(result)];
            algorithm.depends_on.push(configure.id);
            compute.depends_on.push(configure.id);
            self.schema.tables.extend([algorithm, configure, compute]);
        }
    }

    fn learn_filters(&mut self) {
        for own in &self.info.digests {
            let name = &own.preamble.name;
            let filter = LearnFilter {
                name: self.full(name),
                id: self.id(prefix::DIGEST, name),
                annotations: own.preamble.notes.annotations.clone(),
                fields: tables::leaves(self.info, &own.type_spec, "", 1),
            };
            self.schema.learn_filters.push(filter);
        }
    }

    fn port_metadata(&mut self, own: &IngressParser) {
        let name = format!("{}.{}.$PORT_METADATA", own.pipeline, own.parser);
        let given = ids(prefix::PORT_METADATA, std::iter::once(name.as_str()));
        let id = given.get(name.as_str()).copied().unwrap_or(0);
        let mut made = table(name.clone(), id, Kind::PortMetadata, PORTS);
        made.key = vec![KeyField {
            field_type: FieldType::bytes(PORT_BITS),
            ..key(
                fields::PORT_METADATA_PORT,
                &format!("{}.ingress_port", own.intrinsic),
                0,
            )
        }];
        made.data = match &own.port_metadata {
            Some(data) => {
                let leaves = tables::leaves(self.info, data, "", 1).into_iter();
                leaves.map(|leaf| fields::mandatory(vec![leaf])).collect()
            }
            None => {
                let bits = FieldType::bytes(METADATA_BITS);
                let bits = field(fields::PORT_METADATA_DEFAULT, "$DEFAULT_FIELD", bits);
                vec![optional(bits)]
            }
        };
        self.schema.tables.push(made);
    }

    fn debug_counters(&mut self) {
        let id = prefix::DEBUG_COUNTER << 24;
        let name = "tbl_dbg_counter".to_string();
        let mut made = table(name, id, Kind::TblDbgCnt, DEBUG_COUNTERS);
        made.annotations = None;
        let text = FieldType::Text {
            choices: &[],
            default: None,
        };
        made.key = vec![KeyField {
            field_type: text,
            ..key(fields::DEBUG_TABLE, "tbl_name", 0)
        }];
        let events = FieldType::Text {
            choices: &[
                "DISABLED",
                "TBL_MISS",
                "TBL_HIT",
                "GW_TBL_MISS",
                "GW_TBL_HIT",
                "GW_TBL_INHIBIT",
            ],
            default: Some("TBL_HIT"),
        };
        let zero = FieldType::Uint {
            bits: 64,
            default: Some(0),
        };
        made.data = vec![
            optional(field(fields::DEBUG_TYPE, "type", events)),
            optional(field(fields::DEBUG_VALUE, "value", zero)),
        ];
        self.schema.tables.push(made);
    }
}

fn externs_of<'i>(info: &'i P4Info, kind: &'static str) -> impl Iterator<Item = &'i Extern> {
    info.externs
        .iter()
        .filter(move |own| own.extern_type == kind)
}

fn number(own: &Extern, param: &str) -> Option<i64> {
    let mut numbers = own.numbers.iter();
    numbers
        .find(|(name, _)| name == param)
        .map(|(_, value)| *value)
}

fn instance<'e>(own: &'e Extern, param: &str) -> Option<&'e str> {
    let mut instances = own.instances.iter();
    instances
        .find(|(name, _)| name == param)
        .map(|(_, other)| other.as_str())
}
