//! Ports: which there are, what they are called, and what precedes their packets.

use super::{rows::index_of, Chip, Row, RowKey};
use crate::messages::{
    DataField, DataValue, EntryName, Exact, KeyField, KeyValue, PortNotification, StreamResponse,
    TableData, TableEntry, TableKey,
};
use crate::schema::{port_stats, Field, Kind, Table, PORT as PORT_TABLE};
use crate::server::notices::{self, Notice};
use crate::server::{no_entry, values, PIPES};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use p4_arch::tna::Switch;
use p4_runtime::Refusal;
use p4_time::Time;
use std::collections::BTreeSet;

/// Of a pipe; the last eight lead to the CPU, to the generator and back to ingress
const PORTS_OF_PIPE: u64 = 72;
const FRONT_PORTS_OF_PIPE: u64 = 64;
const PIPE_SHIFT: u32 = 7;
/// Channels of a connector
const CHANNELS: u64 = 4;
/// Bits of port metadata
const METADATA_BITS: u64 = 64;
/// Where the CPU is by PCIe
pub const CPU_PORT: u32 = 320;
const CPU_PORTS: [u32; 4] = [64, 65, 66, 67];
const STAGES: u32 = 12;
/// Octets of a frame that a MAC counts and does not hand on
const CHECKSUM: u64 = 4;
/// The field of `tf1.pktgen.port_cfg`
const CLEAR_PORT_DOWN: u32 = 4;

/// Fields of `$PORT`
mod field {
    pub const ENABLE: u32 = 4;
    pub const LOOPBACK: u32 = 6;
    pub const VALID: u32 = 21;
    pub const INTERNAL: u32 = 22;
    pub const CONNECTOR: u32 = 23;
    pub const CHANNEL: u32 = 24;
    pub const UP: u32 = 25;
    pub const NAME: u32 = 26;
}

pub fn exists(port: u64) -> bool {
    port >> PIPE_SHIFT < u64::from(PIPES) && port % (1 << PIPE_SHIFT) < PORTS_OF_PIPE
}

pub fn unknown(port: u64) -> Refusal {
    Refusal::invalid(format!(
        "there is no port {port}: a pipe has ports 0 to 71, from 128 times its number on"
    ))
}

/// All ports by their numbers.
pub fn all() -> impl Iterator<Item = u64> {
    (0..u64::from(PIPES) << PIPE_SHIFT).filter(|port| exists(*port))
}

fn front() -> impl Iterator<Item = u64> {
    all().filter(|port| is_front(*port))
}

fn is_front(port: u64) -> bool {
    port % (1 << PIPE_SHIFT) < FRONT_PORTS_OF_PIPE
}

/// Connector, from 1, and channel.
fn place(port: u64) -> (u64, u64) {
    let local = port % (1 << PIPE_SHIFT);
    let of_pipe = FRONT_PORTS_OF_PIPE / CHANNELS;
    let connector = (port >> PIPE_SHIFT) * of_pipe + local / CHANNELS + 1;
    (connector, local % CHANNELS)
}

fn at_place(connector: u64, channel: u64) -> Option<u64> {
    front().find(|port| place(*port) == (connector, channel))
}

fn uint(value: u64) -> DataValue {
    DataValue::Stream(values::bytes(&BigUint::from(value), 32))
}

/// Whether what leaves by a port comes in again: near modes are the chip's own, far ones are for
/// what the cable brings.
fn leads_back(port: &Row) -> bool {
    match port.fields.get(&field::LOOPBACK) {
        Some(DataValue::Text(mode)) => mode.ends_with("_NEAR"),
        _ => false,
    }
}

fn list(values: impl Iterator<Item = u64>) -> DataValue {
    let val = values.map(|own| own as u32).collect();
    DataValue::Ints(crate::messages::IntArray { val })
}

/// What a field says that no client sets.
pub fn fact(
    chip: &Chip,
    table: &Table,
    key: &RowKey,
    row: &Row,
    field: &Field,
) -> Option<DataValue> {
    match table.kind {
        Kind::PortConfigure => {
            let port = index_of(key);
            let (connector, channel) = place(port);
            Some(match field.id {
                field::VALID => DataValue::Bool(true),
                field::INTERNAL => DataValue::Bool(!is_front(port)),
                field::CONNECTOR => uint(connector),
                field::CHANNEL => uint(channel),
                field::UP => {
                    let linked = !chip.unlinked.contains(&(port as u16));
                    DataValue::Bool(row.flag(field::ENABLE) && linked)
                }
                field::NAME => DataValue::Text(format!("{connector}/{channel}")),
                _ => return None,
            })
        }
        Kind::DevConfigure => device(field.id),
        _ => None,
    }
}

/// The chip: a Tofino 1 with four pipes.
fn device(id: u32) -> Option<DataValue> {
    let recirculates = |port: &u64| port % (1 << PIPE_SHIFT) >= FRONT_PORTS_OF_PIPE + 4;
    Some(match id {
        1 => DataValue::Text("BFN-T10-064Q".to_string()),
        2 => uint(u64::from(PIPES)),
        3 => uint(u64::from(STAGES)),
        4 => uint(all().count() as u64),
        5 => uint(front().count() as u64),
        6 => uint(u64::from(CPU_PORT)),
        7 => list(CPU_PORTS.into_iter().map(u64::from)),
        8 => list(all().filter(|port| !is_front(*port))),
        9 => list(front()),
        10 => list(all().filter(recirculates)),
        11 => DataValue::Bool(false),
        _ => return None,
    })
}

/// The port that one of the tables finds by another name; `None`: the table is another.
pub fn looked_up(table: &Table, asked: &TableEntry) -> Result<Option<TableEntry>, Refusal> {
    let Some(EntryName::Key(key)) = &asked.name else {
        return Ok(None);
    };
    let bytes = |id: u32| {
        let mut own = key.fields.iter().filter(|own| own.field_id == id);
        match own.next().and_then(|own| own.value.as_ref()) {
            Some(KeyValue::Exact(own)) => own.value.clone(),
            _ => Vec::new(),
        }
    };
    let number = |id| {
        BigUint::from_bytes_be(&bytes(id))
            .to_u64()
            .unwrap_or(u64::MAX)
    };
    let found = match table.kind {
        Kind::PortHdlInfo => at_place(number(1), number(2)),
        Kind::PortFpIdxInfo => Some(number(1)).filter(|port| exists(*port)),
        Kind::PortStrInfo => {
            let name = String::from_utf8(bytes(1)).unwrap_or_default();
            let mut parts = name.split('/').map(str::parse::<u64>);
            match (parts.next(), parts.next(), parts.next()) {
                (Some(Ok(connector)), Some(Ok(channel)), None) => at_place(connector, channel),
                _ => None,
            }
        }
        _ => return Ok(None),
    };
    let Some(port) = found else {
        return Err(no_entry(table));
    };
    let data = TableData {
        action_id: 0,
        fields: vec![DataField {
            field_id: 1,
            value: Some(uint(port)),
        }],
    };
    Ok(Some(TableEntry {
        table_id: table.id,
        name: asked.name.clone(),
        data: Some(data),
        ..TableEntry::default()
    }))
}

/// The bits in front of a port's packets: the fields joined, the first one uppermost.
pub fn metadata(switch: &mut Switch, table: &Table, key: &RowKey, row: Option<&Row>) {
    let (mut joined, mut used) = (0u64, 0);
    for field in super::rows::fields(table, 0) {
        let width = values::width(&field.field_type);
        let value = row.and_then(|row| row.number(field.id)).unwrap_or(0);
        used += width;
        if let Some(shift) = METADATA_BITS.checked_sub(used) {
            joined |= value << shift;
        }
    }
    switch.set_port_metadata(index_of(key) as u16, joined);
}

/// What a port has counted since its counters were set, and what they were set to.
pub fn count(
    chip: &Chip,
    table: &Table,
    key: &RowKey,
    row: &Row,
    field: &Field,
) -> Option<DataValue> {
    if table.kind != Kind::PortStat {
        return None;
    }
    let port = index_of(key) as u16;
    let now = chip.counts.get(&port).copied().unwrap_or_default();
    let before = chip.counted_before.get(&port).copied().unwrap_or_default();
    let frames = |one: (u64, u64), two: (u64, u64)| one.0.saturating_sub(two.0);
    let octets = |one: (u64, u64), two: (u64, u64)| {
        one.1.saturating_sub(two.1) + frames(one, two) * CHECKSUM
    };
    let name = field.name.as_str();
    let since = if port_stats::RECEIVED.contains(&name) {
        frames(now.received, before.received)
    } else if port_stats::RECEIVED_OCTETS.contains(&name) {
        octets(now.received, before.received)
    } else if port_stats::SENT.contains(&name) {
        frames(now.sent, before.sent)
    } else if port_stats::SENT_OCTETS.contains(&name) {
        octets(now.sent, before.sent)
    } else {
        return None;
    };
    let count = row.number(field.id).unwrap_or(0).saturating_add(since);
    let width = values::width(&field.field_type);
    Some(DataValue::Stream(values::bytes(
        &BigUint::from(count),
        width,
    )))
}

fn set(ports: &mut BTreeSet<u16>, port: u16, is_in: bool) {
    match is_in {
        true => ports.insert(port),
        false => ports.remove(&port),
    };
}

impl Chip {
    /// A client has set counters of a port: what comes is counted from there.
    pub(super) fn set_counters(&mut self, key: &RowKey) {
        let port = index_of(key) as u16;
        let now = self.counts.get(&port).copied().unwrap_or_default();
        self.counted_before.insert(port, now);
    }

    /// A port that is disabled is down. Those that nobody has configured are enabled.
    pub(super) fn configure_port(&mut self, switch: &mut Switch, now: Time, key: &RowKey) {
        let row = self.row(PORT_TABLE, key);
        let disabled = row.is_some_and(|row| !row.flag(field::ENABLE));
        let port = index_of(key) as u16;
        let was_up = self.is_up(port);
        set(&mut self.disabled, port, disabled);
        self.follow(switch, now, port, was_up);
    }

    /// A port has lost its link, or has it again.
    pub fn set_link(&mut self, switch: &mut Switch, now: Time, port: u16, linked: bool) {
        let was_up = self.is_up(port);
        set(&mut self.unlinked, port, !linked);
        self.follow(switch, now, port, was_up);
    }

    fn is_up(&self, port: u16) -> bool {
        !self.disabled.contains(&port) && !self.unlinked.contains(&port)
    }

    /// The generator hears only once that a port is down, until a client clears that.
    fn follow(&mut self, switch: &mut Switch, now: Time, port: u16, was_up: bool) {
        let up = self.is_up(port);
        if up == was_up {
            return;
        }
        match up {
            true => switch.each(|own| own.port_up(port)),
            false if self.seen_down.insert(port) => {
                switch.each(|own| own.port_down(now, port));
            }
            false => switch.each(|own| own.port_down_again(port)),
        }
        self.ports.push((port, up));
    }

    /// A client wants the generator to hear of a port once more.
    pub(super) fn clear_port_down(&mut self, table: u32, key: &RowKey) {
        let row = self.row(table, key);
        if row.is_some_and(|row| row.flag(CLEAR_PORT_DOWN)) {
            self.seen_down.remove(&(index_of(key) as u16));
        }
    }

    /// What takes the place of this chip in a warm restart: nothing but its links.
    pub fn replaced(&self, switch: &mut Switch) -> Chip {
        for port in &self.looped {
            switch.each(|own| own.set_loop(*port, None));
        }
        for port in &self.unlinked {
            switch.each(|own| own.port_down_again(*port));
        }
        Chip {
            unlinked: self.unlinked.clone(),
            ..Chip::default()
        }
    }

    /// Ports that have come or gone since the last call, if clients want to be told.
    pub fn told_ports(&mut self) -> Vec<Notice> {
        let ports = std::mem::take(&mut self.ports);
        if !self.attributes.tells_ports(PORT_TABLE) {
            return Vec::new();
        }
        let notices = ports.into_iter().map(|(port, up)| {
            let key = KeyField {
                field_id: 1,
                value: Some(KeyValue::Exact(Exact {
                    value: u32::from(port).to_be_bytes().to_vec(),
                })),
            };
            let entry = TableEntry {
                table_id: PORT_TABLE,
                name: Some(EntryName::Key(TableKey { fields: vec![key] })),
                ..TableEntry::default()
            };
            let told = PortNotification {
                entry: Some(entry),
                up,
            };
            Notice {
                message: notices::message(StreamResponse::PortStatus(told)),
                wanted: |wants| wants.port_status,
            }
        });
        notices.collect()
    }

    /// A port in loopback leads back while it is enabled.
    pub(super) fn loop_port(&mut self, switch: &mut Switch, key: &RowKey) {
        let row = self.row(PORT_TABLE, key);
        let loops = row.is_some_and(|row| leads_back(row) && row.flag(field::ENABLE));
        let port = index_of(key) as u16;
        let has_changed = match loops {
            true => self.looped.insert(port),
            false => self.looped.remove(&port),
        };
        if has_changed {
            let config = loops.then(p4_arch::tna::LoopConfig::default);
            switch.each(|own| own.set_loop(port, config));
        }
    }
}
