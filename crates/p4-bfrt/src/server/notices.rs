//! What the switch tells by itself: digests, entries whose time is over, ports that come and go.

use super::chip::Chip;
use super::entries;
use crate::messages::{
    DigestList, EntryName, IdleChange, IdleMode, IdleNotification, Notifications,
    StreamMessageResponse, StreamResponse, TableData, TableEntry, TableKey, TargetDevice,
};
use crate::schema::{LearnFilter, Schema, Table};
use crate::server::values;
use num_bigint::BigUint;
use p4_arch::tna::Switch;
use p4_arch::Digest;
use p4_state::{EntryView, IdleEntry};
use p4_time::Time;
use std::collections::BTreeMap;

/// A message and who wants such.
pub struct Notice {
    pub message: StreamMessageResponse,
    pub wanted: fn(&Notifications) -> bool,
}

/// What has been told, so that it is told once.
#[derive(Default)]
pub struct Told {
    lists: u32,
    /// Entries that are idle, by table and number, with the time of their last hit
    idle: BTreeMap<(String, u64), Option<u64>>,
}

impl Told {
    /// What there is to tell of a program at `now`; whether entries are idle is looked up if `ages` says so.
    pub fn notices(
        &mut self,
        switch: &mut Switch,
        chip: &mut Chip,
        schema: &Schema,
        now: Time,
        ages: bool,
    ) -> Vec<Notice> {
        let digests = switch.take_digests();
        let mut out = self.digests(switch, schema, digests);
        if ages {
            out.extend(self.awake(switch, chip, schema));
            for own in switch.idle_entries(now) {
                out.extend(self.idle(chip, schema, own));
            }
        }
        out
    }

    fn digests(&mut self, switch: &Switch, schema: &Schema, digests: Vec<Digest>) -> Vec<Notice> {
        let program = switch.image().program();
        let mut lists: BTreeMap<(u32, u8), Vec<TableData>> = BTreeMap::new();
        for own in digests {
            let call = program.calls.get(own.call as usize);
            let instance = call.and_then(|call| call.instance);
            let instance = instance.and_then(|id| program.instances.get(id as usize));
            let Some(instance) = instance else { continue };
            let mut filters = schema.learn_filters.iter();
            let filter = filters.find(|filter| filter.is_called(&instance.name));
            let Some(filter) = filter else { continue };
            let list = lists.entry((filter.id, own.pipe)).or_default();
            list.push(learned(filter, &own));
        }
        let lists = lists.into_iter().map(|((digest_id, pipe), data)| {
            self.lists = self.lists.wrapping_add(1);
            let list = DigestList {
                digest_id,
                list_id: self.lists,
                data,
                target: Some(TargetDevice {
                    pipe_id: u32::from(pipe),
                    ..TargetDevice::default()
                }),
            };
            Notice {
                message: message(StreamResponse::Digests(list)),
                wanted: |wants| wants.learn,
            }
        });
        lists.collect()
    }

    /// An entry whose time is over, unless it has been told since its last hit.
    fn idle(&mut self, chip: &Chip, schema: &Schema, own: IdleEntry) -> Option<Notice> {
        let (name, entry) = (own.table, own.entry);
        let (table, scope) = whole(schema, &name)?;
        let idle = chip.idle(table.id);
        // What is over while nobody is told is told later.
        if !idle.enable || idle.mode != IdleMode::Notify as i32 {
            return None;
        }
        let since = entry.idle_since;
        let known = self.idle.insert((name, entry.handle), since);
        (known != Some(since)).then(|| {
            let key = entries::shown_key(table, &entry);
            changed(table.id, chip.pipe_of(table, scope), key, IdleChange::Idle)
        })
    }

    /// Entries that were idle and have been hit, and none that are gone.
    fn awake(&mut self, switch: &Switch, chip: &Chip, schema: &Schema) -> Vec<Notice> {
        let mut out = Vec::new();
        self.idle.retain(|(table, handle), since| {
            let entry = switch.state().entry_numbered(table, *handle);
            let Ok(entry) = entry else { return false };
            if entry.idle_since == *since {
                return true;
            }
            out.extend(awoken(chip, schema, table, &entry));
            false
        });
        out
    }
}

/// The table of a part that some pipes share, and which scope the part is of.
fn whole<'s>(schema: &'s Schema, part: &str) -> Option<(&'s Table, u8)> {
    let (name, scope) = part.split_once('@').unwrap_or((part, "0"));
    let table = schema.tables.iter().find(|of| of.is_called(name))?;
    Some((table, scope.parse().ok()?))
}

fn awoken(chip: &Chip, schema: &Schema, table: &str, entry: &EntryView) -> Option<Notice> {
    let (table, scope) = whole(schema, table)?;
    let idle = chip.idle(table.id);
    let told = idle.enable && idle.mode == IdleMode::Notify as i32;
    told.then(|| {
        let key = entries::shown_key(table, entry);
        changed(
            table.id,
            chip.pipe_of(table, scope),
            key,
            IdleChange::Active,
        )
    })
}

fn changed(table_id: u32, pipe_id: u32, key: TableKey, change: IdleChange) -> Notice {
    let entry = TableEntry {
        table_id,
        name: Some(EntryName::Key(key)),
        ..TableEntry::default()
    };
    let notification = IdleNotification {
        target: Some(TargetDevice {
            pipe_id,
            ..TargetDevice::default()
        }),
        entry: Some(entry),
        change: change as i32,
    };
    Notice {
        message: message(StreamResponse::Idle(notification)),
        wanted: match change {
            IdleChange::Idle => |wants| wants.idle_timeout,
            IdleChange::Active => |wants| wants.entry_active,
        },
    }
}

pub fn message(update: StreamResponse) -> StreamMessageResponse {
    StreamMessageResponse {
        update: Some(update),
    }
}

fn learned(filter: &LearnFilter, digest: &Digest) -> TableData {
    let fields = filter.fields.iter().zip(&digest.fields);
    let fields = fields.map(|(field, words)| {
        let words = words.iter();
        let digits = words.flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        let value = BigUint::new(digits.collect());
        values::field(field.id, &field.field_type, &value)
    });
    TableData {
        action_id: 0,
        fields: fields.collect(),
    }
}
