//! Properties of whole tables.

use super::entries::Sweep;
use super::Scope;
use crate::messages::{
    Attribute, ByteCountAdjust, DynHashing, DynKeyMask, Enabled, EntryScope, IdleMode, IdleTable,
    KeyFieldMask, Mode, Number, PreDevice, Predefined, Sharing, TableAttribute,
};
use crate::schema::{Kind, Table};
use crate::server::chip::Chip;
use p4_arch::tna::Switch;
use p4_runtime::{Code, Refusal};
use std::collections::BTreeMap;

/// Milliseconds; what tables have whose clients say nothing else.
const QUERY_INTERVAL: u32 = 5000;
const MAX_TTL: u32 = 3_600_000;
const MIN_TTL: u32 = 1000;
/// All parsers of a pipe, all pipes
const ALL: u64 = 0xff;

/// What clients have said, by table and name of the attribute.
#[derive(Default)]
pub struct Attributes(BTreeMap<(u32, &'static str), Attribute>, Adjusts);

/// Bytes that meters add to packets, by table and pipe
type Adjusts = BTreeMap<(u32, u32), i32>;

impl Attributes {
    pub fn idle(&self, table: u32) -> IdleTable {
        match self.0.get(&(table, "IdleTimeout")) {
            Some(Attribute::IdleTable(own)) => *own,
            _ => IdleTable::of(IdleMode::Notify, false),
        }
    }

    /// Values of parsers that are not shared are written for one pipe, direction and parser.
    pub fn check_target(&self, table: &Table, scope: Scope<'_>) -> Result<(), Refusal> {
        let Some(Attribute::EntryScope(own)) = self.0.get(&(table.id, "EntryScope")) else {
            return Ok(());
        };
        let single = |mode: Option<Mode>| match mode.and_then(|mode| mode.sharing) {
            Some(Sharing::Predefined(own)) => own == Predefined::Single as i32,
            Some(Sharing::UserDefined(_)) => true,
            None => false,
        };
        let missing = [
            (single(own.pipe) && scope.pipe == super::ALL_PIPES, "pipe"),
            (
                single(own.gress) && scope.direction == ALL as u32,
                "direction",
            ),
            (single(own.parser) && scope.parser == ALL as u32, "parser"),
        ];
        match missing.into_iter().find(|(is_missing, _)| *is_missing) {
            None => Ok(()),
            Some((_, what)) => {
                let message = format!("{}: name a {what}; they share no entries", table.name);
                Err(Refusal::invalid(message))
            }
        }
    }

    /// Whether clients are told when a port comes or goes.
    pub fn tells_ports(&self, table: u32) -> bool {
        let own = self.0.get(&(table, "port_status_notif_cb"));
        matches!(own, Some(Attribute::PortStatus(own)) if own.enable)
    }
}

impl IdleTable {
    fn of(mode: IdleMode, enable: bool) -> IdleTable {
        let notify = mode == IdleMode::Notify;
        let only = |value: u32| if notify { value } else { 0 };
        IdleTable {
            ttl_query_interval: only(QUERY_INTERVAL),
            max_ttl: only(MAX_TTL),
            min_ttl: only(MIN_TTL),
            mode: mode as i32,
            enable,
        }
    }
}

/// The name of an attribute in the schema.
fn name(attribute: &Attribute) -> &'static str {
    match attribute {
        Attribute::IdleTable(_) => "IdleTimeout",
        Attribute::EntryScope(_) => "EntryScope",
        Attribute::DynKeyMask(_) => "DynamicKeyMask",
        Attribute::DynHashing(_) => "DynamicHashing",
        Attribute::ByteCountAdjust(_) => "MeterByteCountAdjust",
        Attribute::PortStatus(_) => "port_status_notif_cb",
        Attribute::PollInterval(_) => "poll_intvl_ms",
        Attribute::PreDevice(_) => "pre_device_config",
        Attribute::SelectorUpdate(_) => "selector_update_cb",
    }
}

fn known<'a>(table: &Table, own: &'a TableAttribute) -> Result<&'a Attribute, Refusal> {
    let Some(attribute) = &own.attribute else {
        let message = format!("{}: an attribute needs a kind", table.name);
        return Err(Refusal::invalid(message));
    };
    let name = name(attribute);
    // bf-p4c lists scopes for match-action tables only, but the drivers know them for more.
    let divides = matches!(attribute, Attribute::EntryScope(_))
        && matches!(table.kind, Kind::Register | Kind::Counter | Kind::Meter);
    match divides || table.attributes.contains(&name) {
        true => Ok(attribute),
        false => {
            let message = format!("{} has no attribute {name}", table.name);
            Err(Refusal::new(Code::Unimplemented, message))
        }
    }
}

pub fn write(
    switch: &mut Switch,
    chip: &mut Chip,
    scope: Scope<'_>,
    own: &TableAttribute,
) -> Result<(), Refusal> {
    let table = scope.table(own.table_id)?;
    let attribute = known(table, own)?;
    if let Attribute::ByteCountAdjust(own) = attribute {
        for pipe in chip.pipes_of(table, scope.pipe)? {
            chip.attributes_mut(table.id)
                .1
                .insert((table.id, pipe), own.bytes);
        }
    }
    let kept = match attribute {
        Attribute::IdleTable(own) => {
            let own = idle(table, own)?;
            sweep_anew(switch, chip, table, scope)?;
            Attribute::IdleTable(own)
        }
        Attribute::EntryScope(own) => {
            scopes(switch, chip, table, own)?;
            attribute.clone()
        }
        Attribute::DynKeyMask(own) => Attribute::DynKeyMask(key_mask(switch, chip, table, own)?),
        Attribute::PreDevice(own) => {
            chip.tell_device(own)?;
            let before = chip
                .attributes_of(table.id)
                .0
                .get(&(table.id, name(attribute)));
            Attribute::PreDevice(joined(before, own))
        }
        _ => attribute.clone(),
    };
    chip.attributes_mut(table.id)
        .0
        .insert((table.id, name(attribute)), kept);
    Ok(())
}

/// A table that is only asked has no times.
fn idle(table: &Table, own: &IdleTable) -> Result<IdleTable, Refusal> {
    let mode = IdleMode::try_from(own.mode).unwrap_or(IdleMode::Poll);
    match (own.enable, mode) {
        (true, IdleMode::Notify) if own.min_ttl > own.max_ttl => {
            let message = format!("{}: the least TTL is above the largest", table.name);
            Err(Refusal::invalid(message))
        }
        (true, IdleMode::Notify) => Ok(*own),
        (enable, mode) => Ok(IdleTable::of(mode, enable)),
    }
}

/// Sweeps begin now, from what entries have left of their time by those before.
fn sweep_anew(
    switch: &mut Switch,
    chip: &mut Chip,
    table: &Table,
    scope: Scope<'_>,
) -> Result<(), Refusal> {
    let now = scope.now.picos();
    let idle = chip.idle(table.id);
    let before = chip.own.sweeps.insert(table.id, now);
    let before = before.map(|start| Sweep::new(&idle, start, now));
    for part in chip.parts(table, super::ALL_PIPES)? {
        switch.move_idle(&part, |ttl, since| {
            let left = before.map_or(ttl, |sweep| sweep.left(ttl, since));
            match left {
                // It has been told, or will be, whatever changes now.
                0 => since,
                left => now.saturating_sub(ttl - left),
            }
        })?;
    }
    Ok(())
}

/// Which bits of a key count; of fields that are left out none do.
fn key_mask(
    switch: &mut Switch,
    chip: &Chip,
    table: &Table,
    own: &DynKeyMask,
) -> Result<DynKeyMask, Refusal> {
    let mut masks = Vec::new();
    let mut kept = Vec::new();
    for field in &table.key {
        let width = super::values::width(&field.field_type);
        let mut given = own.fields.iter().filter(|own| own.field_id == field.id);
        let bytes = given.next().map_or(&[][..], |own| &own.mask);
        let mask = super::values::number(bytes, width, &field.name)?;
        kept.push(KeyFieldMask {
            field_id: field.id,
            mask: super::values::bytes(&mask, width),
        });
        masks.push((field.source.clone(), mask));
    }
    for part in chip.parts(table, super::ALL_PIPES)? {
        switch.set_key_mask(&part, &masks)?;
    }
    Ok(DynKeyMask { fields: kept })
}

/// Which pipes share a table's entries.
fn scopes(
    switch: &mut Switch,
    chip: &mut Chip,
    table: &Table,
    own: &EntryScope,
) -> Result<(), Refusal> {
    let Some(mode) = own.pipe else { return Ok(()) };
    let wrong = |what: &str| Err(Refusal::invalid(format!("{}: {what}", table.name)));
    let groups: Vec<u8> = match mode.sharing {
        Some(Sharing::Predefined(own)) if own == Predefined::Single as i32 => {
            (0..super::PIPES).map(|pipe| 1 << pipe).collect()
        }
        Some(Sharing::UserDefined(own)) => {
            let groups = own.to_le_bytes().into_iter();
            groups.filter(|group| *group != 0).collect()
        }
        _ => vec![u8::MAX],
    };
    let mut of_pipe = vec![0; super::PIPES as usize];
    let mut seen = 0u8;
    for (scope, group) in (0..).zip(&groups) {
        if seen & group != 0 {
            return wrong("a pipe is in two scopes");
        }
        seen |= group;
        for (pipe, of) in of_pipe.iter_mut().enumerate() {
            if group >> pipe & 1 == 1 {
                *of = scope;
            }
        }
    }
    let all_share = || vec![0; super::PIPES as usize];
    let before = chip.own.scopes.get(&table.id).cloned();
    if table.is_matched() && before.unwrap_or_else(all_share) != of_pipe {
        switch.set_scopes(table.source(), &of_pipe)?;
    }
    chip.own.scopes.insert(table.id, of_pipe);
    Ok(())
}

fn joined(before: Option<&Attribute>, own: &PreDevice) -> PreDevice {
    let Some(Attribute::PreDevice(before)) = before else {
        return *own;
    };
    PreDevice {
        global_rid: own.global_rid.or(before.global_rid),
        port_protection: own.port_protection.or(before.port_protection),
        fast_failover: own.fast_failover.or(before.fast_failover),
        max_nodes_before_yield: own.max_nodes_before_yield.or(before.max_nodes_before_yield),
        max_node_threshold: own.max_node_threshold.or(before.max_node_threshold),
    }
}

pub fn read(
    chip: &Chip,
    scope: Scope<'_>,
    asked: &TableAttribute,
) -> Result<TableAttribute, Refusal> {
    let table = scope.table(asked.table_id)?;
    let asked = known(table, asked)?;
    let own = chip.attributes_of(table.id).0.get(&(table.id, name(asked)));
    let mut own = own.cloned().unwrap_or_else(|| initial(table, asked));
    if let Attribute::ByteCountAdjust(own) = &mut own {
        let pipe = chip.pipes_of(table, scope.pipe)?.first().copied();
        let known = chip
            .attributes_of(table.id)
            .1
            .get(&(table.id, pipe.unwrap_or(0)));
        own.bytes = known.copied().unwrap_or(0);
    }
    if let Attribute::EntryScope(scope) = &mut own {
        let all = Mode {
            sharing: Some(Sharing::Predefined(Predefined::All as i32)),
            args: ALL,
        };
        scope.gress.get_or_insert(all);
        scope.pipe.get_or_insert(all);
        scope.parser.get_or_insert(all);
    }
    Ok(TableAttribute {
        table_id: table.id,
        attribute: Some(own),
    })
}

/// An attribute of which no client has said anything.
fn initial(table: &Table, asked: &Attribute) -> Attribute {
    match asked {
        Attribute::IdleTable(_) => Attribute::IdleTable(IdleTable::of(IdleMode::Notify, false)),
        Attribute::EntryScope(_) => Attribute::EntryScope(EntryScope::default()),
        Attribute::DynKeyMask(_) => Attribute::DynKeyMask(DynKeyMask {
            fields: table.key.iter().map(whole).collect(),
        }),
        Attribute::DynHashing(_) => Attribute::DynHashing(DynHashing::default()),
        Attribute::ByteCountAdjust(_) => Attribute::ByteCountAdjust(ByteCountAdjust::default()),
        Attribute::PortStatus(_) => Attribute::PortStatus(Enabled::default()),
        Attribute::PollInterval(_) => Attribute::PollInterval(Number::default()),
        Attribute::PreDevice(_) => Attribute::PreDevice(PreDevice::default()),
        Attribute::SelectorUpdate(_) => Attribute::SelectorUpdate(Enabled::default()),
    }
}

/// The mask that takes all bits of a key.
fn whole(field: &crate::schema::KeyField) -> KeyFieldMask {
    let width = super::values::width(&field.field_type);
    let mask = (num_bigint::BigUint::from(1u8) << width) - 1u8;
    KeyFieldMask {
        field_id: field.id,
        mask: super::values::bytes(&mask, width),
    }
}
