//! Programs for a device: what a client's configuration stands for, and carrying state over.

use crate::compare::difference;
use crate::describe::p4info;
use crate::messages::p4info::P4Info;
use crate::messages::PipelineConfig;
use crate::plan::{clone_updates, group_update, live_members, Ports};
use crate::plant::{Compiler, DeviceConfig, Pipeline};
use crate::schema::Schema;
use crate::status::{Code, Refusal};
use crate::store::Store;
use p4_arch::v1model::Switch;
use p4_state::{ActionSpec, Args, Entry, EntryKey, Match, Update};
use prost::Message;
use std::borrow::Cow;
use std::sync::Arc;

/// A program that is, or is to be, in a device, and what clients have written for it.
pub struct Active {
    pub pipeline: Pipeline,
    pub schema: Arc<Schema>,
    /// As the client has sent it
    pub config: PipelineConfig,
    pub store: Store,
}

impl Active {
    pub fn new(pipeline: Pipeline, config: PipelineConfig) -> Result<Active, Refusal> {
        let schema = Arc::new(Schema::new(&pipeline.info, pipeline.image.program())?);
        Ok(Active {
            pipeline,
            schema,
            config,
            store: Store::default(),
        })
    }

    /// A program that no client has sent.
    pub fn given(pipeline: Pipeline) -> Result<Active, Refusal> {
        let config = PipelineConfig {
            p4info: Some(p4info(&pipeline.info).encode_to_vec()),
            ..PipelineConfig::default()
        };
        Active::new(pipeline, config)
    }
}

/// The program that a configuration means: its P4 source, the source that p4c's JSON was made of, or
/// the one of `known` that it describes.
pub fn find(
    compiler: &dyn Compiler,
    known: &[&Pipeline],
    config: &PipelineConfig,
) -> Result<Pipeline, Refusal> {
    let message = "the configuration has no P4Info";
    let bytes = config
        .p4info
        .as_ref()
        .ok_or_else(|| Refusal::invalid(message))?;
    let theirs = P4Info::decode(bytes.as_slice())
        .map_err(|error| Refusal::invalid(format!("P4Info cannot be read: {error}")))?;
    let unwrapped = unwrapped(&config.p4_device_config);
    let device = &*unwrapped;
    let json = json(device);
    let text = |value: Option<&serde_json::Value>| value?.as_str().map(str::to_string);
    let carried = json
        .as_ref()
        .and_then(|json| text(json.get("p4lab")?.get("source")));
    let recorded = json.as_ref().and_then(|json| text(json.get("program")));
    let asked = match (&carried, &recorded, source(device)) {
        (Some(text), _, _) => Some(DeviceConfig::Source(text)),
        (None, Some(program), _) => Some(DeviceConfig::Json { program }),
        (None, None, Some(text)) => Some(DeviceConfig::Source(text)),
        (None, None, None) => None,
    };
    let compiled = asked.map(|asked| compiler.compile(asked)).transpose();
    if let Some(pipeline) = compiled.map_err(Refusal::invalid)?.flatten() {
        return match difference(&theirs, &p4info(&pipeline.info)) {
            None => Ok(pipeline),
            Some(difference) => Err(unlike(&difference)),
        };
    }
    let mut differences = Vec::new();
    for pipeline in known {
        match difference(&theirs, &p4info(&pipeline.info)) {
            None => return Ok(Pipeline::clone(pipeline)),
            Some(difference) => differences.push(difference),
        }
    }
    Err(match (differences.first(), recorded) {
        (Some(difference), _) => unlike(difference),
        (None, Some(program)) => Refusal::invalid(format!(
            "this switch runs P4 source, and there is no {program}, of which this JSON was made"
        )),
        (None, None) => Refusal::invalid(
            "this switch runs P4 source: send it as p4_device_config, or start the switch with it",
        ),
    })
}

fn unlike(difference: &str) -> Refusal {
    Refusal::invalid(format!("P4Info {difference}; compile the program again"))
}

/// What p4lang's tutorials send: p4.tmp.P4DeviceConfig of p4lang/PI.
#[derive(Clone, PartialEq, Message)]
struct Wrapper {
    #[prost(bytes = "vec", tag = "3")]
    device_data: Vec<u8>,
}

/// A configuration without the message that may be wrapped around it.
fn unwrapped(config: &[u8]) -> Cow<'_, [u8]> {
    match Wrapper::decode(config) {
        Ok(wrapper) if !wrapper.device_data.is_empty() => Cow::Owned(wrapper.device_data),
        _ => Cow::Borrowed(config),
    }
}

/// p4c's JSON: it says of which program it was made, and our own p4c's carries it below `p4lab`.
fn json(device: &[u8]) -> Option<serde_json::Value> {
    let blank = |byte: &&u8| byte.is_ascii_whitespace();
    if device.iter().find(|byte| !blank(byte)) != Some(&b'{') {
        return None;
    }
    serde_json::from_slice(device).ok()
}

/// P4 source, if it looks like it.
fn source(device: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(device).ok()?;
    let is_source = text.contains("main") && (text.contains('{') || text.contains("#include"));
    is_source.then_some(text)
}

/// Carries what clients have written over to a switch with another program.
pub fn carry_over(
    from: &Active,
    old: &Switch,
    to: &Active,
    new: &mut Switch,
    ports: &Ports,
) -> Result<(), Refusal> {
    let mut updates = Vec::new();
    profiles(from, ports, &mut updates);
    for table in from.schema.tables.values() {
        entries(&table.name, old, &mut updates)?;
    }
    replication(from, ports, &mut updates);
    cells(from, old, &mut updates)?;
    new.write(&updates).map_err(|error| {
        let message = format!("the state cannot be preserved: {error}");
        Refusal::invalid(message)
    })?;
    let gone = from
        .store
        .digests
        .keys()
        .find(|id| !to.schema.digests.contains_key(id));
    match gone {
        Some(id) => Err(Refusal::invalid(format!(
            "the state cannot be preserved: there is no digest {id:#010x} any more"
        ))),
        None => Ok(()),
    }
}

fn refused(error: p4_state::UpdateError) -> Refusal {
    Refusal::new(Code::Internal, error.to_string())
}

fn entries(table: &str, old: &Switch, updates: &mut Vec<Update>) -> Result<(), Refusal> {
    let state = old.state();
    let ir = state.program().tables.iter().find(|t| &*t.name == table);
    if ir.is_some_and(|table| !table.const_default) {
        let default = state.default_action(table).map_err(refused)?;
        if !default.name.is_empty() {
            updates.push(Update::SetDefault {
                table: table.to_string(),
                action: Some(default),
            });
        }
    }
    updates.push(Update::Clear {
        table: table.to_string(),
    });
    for view in state.entries(table).map_err(refused)? {
        if view.span.is_some() {
            continue;
        }
        let given = view
            .matches
            .into_iter()
            .filter(|(_, one)| *one != Match::Any);
        let key = EntryKey {
            table: table.to_string(),
            matches: given.collect(),
            priority: view.priority,
        };
        updates.push(Update::Insert(Entry {
            key: key.clone(),
            target: view.target,
        }));
        if view.packets > 0 || view.bytes > 0 {
            updates.push(Update::SetDirectCounter {
                key: key.clone(),
                packets: view.packets,
                bytes: view.bytes,
            });
        }
        if let config @ Some(_) = view.meter {
            updates.push(Update::SetDirectMeter {
                key: key.clone(),
                config,
            });
        }
        if let ttl @ Some(_) = view.idle_timeout {
            updates.push(Update::SetIdleTimeout { key, ttl });
        }
    }
    // Tables with const entries cannot be cleared, and have none but the program's.
    if ir.is_some_and(|table| table.const_entries) {
        updates.retain(|update| !matches!(update, Update::Clear { table: own } if own == table));
    }
    Ok(())
}

fn profiles(from: &Active, ports: &Ports, updates: &mut Vec<Update>) {
    let spec = |action: &crate::messages::Action| {
        let known = from.schema.actions.get(&action.action_id)?;
        let value = |param: &crate::schema::Param| {
            let given = action.params.iter().find(|p| p.param_id == param.id)?;
            let value = num_bigint::BigUint::from_bytes_be(&given.value);
            Some((param.name.clone(), value))
        };
        Some(ActionSpec {
            name: known.name.clone(),
            args: Args::Named(known.params.iter().filter_map(value).collect()),
        })
    };
    let store = &from.store;
    let mut add =
        |profile: u32, members: &[(u32, Option<ActionSpec>)], groups: &[(u32, Vec<u32>)]| {
            let Ok(known) = from.schema.profile(profile) else {
                return;
            };
            for (member, action) in members {
                updates.push(Update::SetMember {
                    profile: known.name.clone(),
                    member: *member,
                    action: action.clone(),
                });
            }
            for (group, members) in groups {
                updates.push(Update::SetMemberGroup {
                    profile: known.name.clone(),
                    group: *group,
                    members: Some(members.clone()),
                });
            }
        };
    for (id, profile) in &store.profiles {
        let members: Vec<_> = profile.members.iter().map(|(m, a)| (*m, spec(a))).collect();
        let groups = profile.groups.iter();
        let groups = groups.map(|(id, group)| (*id, live_members(group, &store.down, ports)));
        add(*id, &members, &groups.collect::<Vec<_>>());
    }
    for (table, extras) in &store.extras {
        let profile = from
            .schema
            .tables
            .get(table)
            .and_then(|table| table.profile);
        for one_shot in extras.values().filter_map(|extra| extra.one_shot.as_ref()) {
            let Some(profile) = profile else { continue };
            let actions = one_shot.set.actions.iter();
            let actions = actions.map(|item| item.action.as_ref().and_then(spec));
            let members: Vec<_> = one_shot.members.iter().copied().zip(actions).collect();
            let group = one_shot.as_group(profile);
            let live = live_members(&group, &store.down, ports);
            add(profile, &members, &[(one_shot.group, live)]);
        }
    }
}

fn replication(from: &Active, ports: &Ports, updates: &mut Vec<Update>) {
    let store = &from.store;
    for group in store.groups.values() {
        updates.push(group_update(group, &store.down, ports));
    }
    for session in store.sessions.values() {
        updates.extend(clone_updates(session, &store.down, ports));
    }
}

fn cells(from: &Active, old: &Switch, updates: &mut Vec<Update>) -> Result<(), Refusal> {
    let (schema, state) = (&from.schema, old.state());
    let indexed = |array: &&crate::schema::Array| array.table.is_none();
    for counter in schema.counters.values().filter(indexed) {
        for index in 0..counter.size {
            let (packets, bytes) = state.counter(&counter.name, index).map_err(refused)?;
            if packets > 0 || bytes > 0 {
                updates.push(Update::SetCounter {
                    counter: counter.name.clone(),
                    index: Some(index),
                    packets,
                    bytes,
                });
            }
        }
    }
    for meter in schema.meters.values().filter(indexed) {
        for index in 0..meter.size {
            let config = state.meter_config(&meter.name, index).map_err(refused)?;
            if config.is_some() {
                updates.push(Update::SetMeter {
                    meter: meter.name.clone(),
                    index: Some(index),
                    config,
                });
            }
        }
    }
    for register in schema.registers.values() {
        for index in 0..register.size {
            let value = state
                .read_register(&register.name, index)
                .map_err(refused)?;
            if value.bits() > 0 {
                updates.push(Update::SetRegister {
                    register: register.name.clone(),
                    index: Some(index),
                    value,
                });
            }
        }
    }
    Ok(())
}
