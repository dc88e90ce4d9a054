//! What a request finds.

use super::question::Answer;
use crate::data::Types;
use crate::entry::{
    action_message, count, entry_message, key_message, matches, rates_message, view_key,
};
use crate::messages::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterEntry, DigestEntry,
    DirectCounterEntry, DirectMeterEntry, Entity, EntityKind, Index, MeterEntry,
    MulticastGroupEntry, PacketReplicationEngineEntry, RegisterEntry, ReplicationKind, TableAction,
    TableActionKind, TableEntry, ValueSetEntry,
};
use crate::schema::Schema;
use crate::status::Refusal;
use crate::store::Store;
use num_bigint::BigUint;
use p4_state::EntryView;

/// The entities that a request finds. `now` is the switch's time in picoseconds.
pub fn entities(
    schema: &Schema,
    store: &Store,
    request: &Entity,
    answer: Answer,
    now: u64,
) -> Result<Vec<Entity>, Refusal> {
    let Some(kind) = &request.entity else {
        return Ok(Vec::new());
    };
    let place = |index: u64| {
        Some(Index {
            index: index as i64,
        })
    };
    let found: Vec<EntityKind> = match (answer, kind) {
        (Answer::Entries(tables), EntityKind::Table(asked)) => {
            table_entries(schema, store, asked, tables, now)?
        }
        (Answer::Entries(tables), EntityKind::DirectCounter(asked)) => {
            direct(schema, &asked.table_entry, tables, counter_of)?
        }
        (Answer::Defaults(tables), EntityKind::Table(asked)) => {
            let one = |(id, spec): (u32, p4_state::ActionSpec)| {
                let extra = store.defaults.get(&id).cloned().unwrap_or_default();
                if !keeps(asked, &extra.metadata, extra.controller_metadata) {
                    return None;
                }
                let action = action_message(schema, &spec).map(TableActionKind::Action);
                Some(EntityKind::Table(TableEntry {
                    table_id: id,
                    is_default_action: true,
                    action: Some(TableAction { r#type: action }),
                    metadata: extra.metadata,
                    controller_metadata: extra.controller_metadata,
                    ..TableEntry::default()
                }))
            };
            tables.into_iter().filter_map(one).collect()
        }
        (Answer::Entries(tables), EntityKind::DirectMeter(asked)) => {
            direct(schema, &asked.table_entry, tables, meter_of)?
        }
        (Answer::Counters(cells), _) => cells
            .into_iter()
            .map(|(counter_id, index, (packets, bytes))| {
                EntityKind::Counter(CounterEntry {
                    counter_id,
                    index: place(index),
                    data: Some(count(packets, bytes)),
                })
            })
            .collect(),
        (Answer::IndexedMeters(cells), _) => cells
            .into_iter()
            .map(|(meter_id, index, config)| {
                EntityKind::Meter(MeterEntry {
                    meter_id,
                    index: place(index),
                    config: config.map(rates_message),
                    counter_data: None,
                })
            })
            .collect(),
        (Answer::Registers(cells), _) => register_entries(schema, cells)?,
        (_, EntityKind::Member(asked)) => members(store, asked),
        (_, EntityKind::Group(asked)) => groups(store, asked),
        (_, EntityKind::Replication(asked)) => replication(store, asked)?,
        (_, EntityKind::ValueSet(asked)) => value_sets(schema, store, asked)?,
        (_, EntityKind::Digest(asked)) => digests(schema, store, asked)?,
        _ => Vec::new(),
    };
    Ok(found.into_iter().map(Entity::from).collect())
}

/// Whether a filter lets an entry with these metadata pass.
fn keeps(asked: &TableEntry, metadata: &[u8], controller_metadata: u64) -> bool {
    (asked.metadata.is_empty() || asked.metadata == metadata)
        && (asked.controller_metadata == 0 || asked.controller_metadata == controller_metadata)
}

fn table_entries(
    schema: &Schema,
    store: &Store,
    asked: &TableEntry,
    tables: Vec<(u32, Vec<EntryView>)>,
    now: u64,
) -> Result<Vec<EntityKind>, Refusal> {
    let wanted = match asked
        .action
        .as_ref()
        .and_then(|action| action.r#type.as_ref())
    {
        Some(TableActionKind::Action(action)) => Some(action.action_id),
        _ => None,
    };
    let mut found = Vec::new();
    for (id, views) in tables {
        let table = schema.table(id)?;
        let wanted_key = match asked.r#match.is_empty() {
            true => None,
            false => Some(matches(&table.name, &table.fields, &asked.r#match)?),
        };
        for view in views {
            let key = view_key(table, &view);
            if wanted_key
                .as_ref()
                .is_some_and(|wanted| *wanted != key.matches)
            {
                continue;
            }
            let mut entry = entry_message(schema, table, &view, &key, asked, now);
            if asked.priority != 0 && entry.priority != asked.priority {
                continue;
            }
            if let Some(extra) = store.extra(id, &key) {
                entry.metadata = extra.metadata.clone();
                entry.controller_metadata = extra.controller_metadata;
                entry.idle_timeout_ns = extra.idle_timeout_ns;
                if let Some(one_shot) = &extra.one_shot {
                    let set = TableActionKind::OneShot(one_shot.set.clone());
                    entry.action = Some(TableAction { r#type: Some(set) });
                }
            }
            let action = entry
                .action
                .as_ref()
                .and_then(|action| action.r#type.as_ref());
            let other = wanted.is_some_and(|wanted| {
                !matches!(action, Some(TableActionKind::Action(own)) if own.action_id == wanted)
            });
            if !other && keeps(asked, &entry.metadata, entry.controller_metadata) {
                found.push(EntityKind::Table(entry));
            }
        }
    }
    Ok(found)
}

/// The direct resources of entries, of which `message` makes an entity with the entry's key. `asked`
/// is what the request names, if it names one.
fn direct(
    schema: &Schema,
    asked: &Option<TableEntry>,
    tables: Vec<(u32, Vec<EntryView>)>,
    message: impl Fn(TableEntry, &EntryView) -> EntityKind,
) -> Result<Vec<EntityKind>, Refusal> {
    let mut found = Vec::new();
    for (id, views) in tables {
        let table = schema.table(id)?;
        for view in views {
            found.push(message(key_message(table, &view_key(table, &view)), &view));
        }
    }
    found_or_named(found, asked)
}

fn counter_of(entry: TableEntry, view: &EntryView) -> EntityKind {
    EntityKind::DirectCounter(DirectCounterEntry {
        table_entry: Some(entry),
        data: Some(count(view.packets, view.bytes)),
    })
}

fn meter_of(entry: TableEntry, view: &EntryView) -> EntityKind {
    EntityKind::DirectMeter(DirectMeterEntry {
        table_entry: Some(entry),
        config: view.meter.map(rates_message),
        counter_data: None,
    })
}

/// A direct resource of an entry that is named has to be there.
fn found_or_named(
    found: Vec<EntityKind>,
    entry: &Option<TableEntry>,
) -> Result<Vec<EntityKind>, Refusal> {
    let named = entry
        .as_ref()
        .is_some_and(|entry| !entry.r#match.is_empty() || entry.priority != 0);
    match found.is_empty() && named {
        true => Err(Refusal::not_found("there is no entry with this key")),
        false => Ok(found),
    }
}

fn register_entries(
    schema: &Schema,
    cells: Vec<(u32, u64, BigUint)>,
) -> Result<Vec<EntityKind>, Refusal> {
    let types = Types::of(&schema.info);
    let mut found = Vec::with_capacity(cells.len());
    for (id, index, value) in cells {
        let register = schema.register(id)?;
        let widths = types.widths(&register.data)?;
        let leaves = split(value, &widths);
        found.push(EntityKind::Register(RegisterEntry {
            register_id: id,
            index: Some(Index {
                index: index as i64,
            }),
            data: Some(types.message(&register.data, &leaves)?),
        }));
    }
    Ok(found)
}

/// The fields of a value in which they are joined, the first one uppermost.
fn split(value: BigUint, widths: &[u32]) -> Vec<BigUint> {
    let mut below: u32 = widths.iter().sum();
    let leaf = |width: &u32| {
        below -= width;
        (&value >> below) & ((BigUint::from(1u8) << *width) - 1u8)
    };
    widths.iter().map(leaf).collect()
}

fn members(store: &Store, asked: &ActionProfileMember) -> Vec<EntityKind> {
    let mut found = Vec::new();
    for (id, profile) in &store.profiles {
        for (member_id, action) in &profile.members {
            if is(asked.action_profile_id, *id) && is(asked.member_id, *member_id) {
                found.push(ActionProfileMember {
                    action_profile_id: *id,
                    member_id: *member_id,
                    action: Some(action.clone()),
                });
            }
        }
    }
    found.sort_by_key(|member| (member.action_profile_id, member.member_id));
    found.into_iter().map(EntityKind::Member).collect()
}

fn groups(store: &Store, asked: &ActionProfileGroup) -> Vec<EntityKind> {
    let all = store
        .profiles
        .values()
        .flat_map(|profile| profile.groups.values());
    let wanted = all.filter(|group| {
        is(asked.action_profile_id, group.action_profile_id) && is(asked.group_id, group.group_id)
    });
    wanted.cloned().map(EntityKind::Group).collect()
}

/// Whether a filter lets an id pass: 0 stands for any.
fn is(asked: u32, id: u32) -> bool {
    asked == 0 || asked == id
}

fn replication(
    store: &Store,
    asked: &PacketReplicationEngineEntry,
) -> Result<Vec<EntityKind>, Refusal> {
    let entity =
        |kind| EntityKind::Replication(PacketReplicationEngineEntry { r#type: Some(kind) });
    match &asked.r#type {
        Some(ReplicationKind::MulticastGroup(MulticastGroupEntry {
            multicast_group_id, ..
        })) => {
            let all = store.groups.values();
            let wanted = all.filter(|group| is(*multicast_group_id, group.multicast_group_id));
            let kinds = wanted.cloned().map(ReplicationKind::MulticastGroup);
            Ok(kinds.map(entity).collect())
        }
        Some(ReplicationKind::CloneSession(CloneSessionEntry { session_id, .. })) => {
            let all = store.sessions.values();
            let wanted = all.filter(|session| is(*session_id, session.session_id));
            let kinds = wanted.cloned().map(ReplicationKind::CloneSession);
            Ok(kinds.map(entity).collect())
        }
        None => Err(Refusal::invalid(
            "the entry is neither a group nor a session",
        )),
    }
}

fn value_sets(
    schema: &Schema,
    store: &Store,
    asked: &ValueSetEntry,
) -> Result<Vec<EntityKind>, Refusal> {
    let mut ids: Vec<u32> = match asked.value_set_id {
        0 => schema.value_sets.keys().copied().collect(),
        id => vec![schema.value_set(id)?.id],
    };
    ids.sort_unstable();
    let one = |id: u32| {
        EntityKind::ValueSet(ValueSetEntry {
            value_set_id: id,
            members: store.value_sets.get(&id).cloned().unwrap_or_default(),
        })
    };
    Ok(ids.into_iter().map(one).collect())
}

fn digests(
    schema: &Schema,
    store: &Store,
    asked: &DigestEntry,
) -> Result<Vec<EntityKind>, Refusal> {
    if asked.digest_id != 0 {
        schema.digest(asked.digest_id)?;
    }
    let wanted = store
        .digests
        .iter()
        .filter(|(id, _)| is(asked.digest_id, **id));
    let one = |(id, config): (&u32, &crate::messages::DigestConfig)| {
        EntityKind::Digest(DigestEntry {
            digest_id: *id,
            config: Some(*config),
        })
    };
    Ok(wanted.map(one).collect())
}
