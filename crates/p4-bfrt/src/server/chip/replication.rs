//! `$pre`: multicast groups, their nodes, ECMP and LAG groups, and pruning.

use super::{rows::index_of, the_table, Chip, Row, RowKey};
use crate::messages::PreDevice;
use crate::schema::{Kind, Schema, Table};
use p4_arch::tna::{Lag, Node, Pruning, Switch};
use p4_runtime::{Code, Refusal};
use std::collections::BTreeSet;

/// Places of an ECMP group; the chip's hash picks one of them, used or not.
const PLACES: usize = 32;

/// Fields of `$pre.mgid`, for nodes and for ECMP groups: numbers, whether they have an exclusion id,
/// and which.
const NODES: [u32; 3] = [1, 2, 3];
const ECMPS: [u32; 3] = [4, 5, 6];
/// Fields of `$pre.node`
const RID: u32 = 1;
const LAGS: u32 = 2;
const PORTS: u32 = 3;

fn ports(numbers: &[u32]) -> Vec<u16> {
    let ports = numbers.iter().filter_map(|port| u16::try_from(*port).ok());
    ports.collect()
}

pub fn lag(switch: &mut Switch, key: &RowKey, row: Option<&Row>) {
    let count = |row: &Row, id| row.number(id).map_or(0, |own| own.min(0x1fff) as u16);
    let lag = row.map_or_else(Lag::default, |row| Lag {
        ports: ports(row.numbers(1)),
        after: count(row, 2),
        before: count(row, 3),
    });
    switch.set_lag(index_of(key) as u16, lag);
}

pub fn pruning(switch: &mut Switch, key: &RowKey, row: Option<&Row>) {
    let ports = row.map_or_else(Vec::new, |row| ports(row.numbers(1)));
    switch.set_pruning(index_of(key) as u16, Pruning { ports });
}

/// A port that takes over, whether the port forwards at all, and whether it leads to the CPU.
pub fn port(switch: &mut Switch, key: &RowKey, row: Option<&Row>) {
    let port = index_of(key) as u16;
    let backup = row.and_then(|row| row.number(1));
    switch.set_backup_port(port, backup.and_then(|own| u16::try_from(own).ok()));
    let to_cpu = row.is_some_and(|row| row.flag(4));
    if to_cpu {
        switch.set_cpu_port(Some(port), true);
    }
}

/// Whether all that a group names is there, with as many exclusion ids.
pub fn check(chip: &Chip, table: &Table, row: &Row) -> Result<(), Refusal> {
    if table.kind == Kind::PreMgid {
        for [ids, valid, xids] in [NODES, ECMPS] {
            let count = row.numbers(ids).len();
            if row.flags(valid).len() != count || row.numbers(xids).len() != count {
                let message = format!("{}: lists that go together differ in length", table.name);
                return Err(Refusal::invalid(message));
            }
        }
    }
    let (nodes, ecmps): (&[u32], &[u32]) = match table.kind {
        Kind::PreMgid => (row.numbers(NODES[0]), row.numbers(ECMPS[0])),
        _ => (row.numbers(1), &[]),
    };
    // The tables of the engine are numbered in a row: groups, nodes, ECMP groups.
    let first = match table.kind {
        Kind::PreEcmp => table.id - 2,
        _ => table.id,
    };
    let has = |id: u32, number: &u32| {
        let key = RowKey {
            pipe: crate::server::ALL_PIPES,
            parts: vec![(number.to_be_bytes().to_vec(), Vec::new())],
        };
        chip.row(id, &key).is_some()
    };
    let no_node = nodes.iter().find(|own| !has(first + 1, own));
    let no_ecmp = ecmps.iter().find(|own| !has(first + 2, own));
    let message = match (no_node, no_ecmp) {
        (Some(node), _) => format!("$pre.node has no entry {node}"),
        (_, Some(ecmp)) => format!("$pre.ecmp has no entry {ecmp}"),
        _ => return Ok(()),
    };
    Err(Refusal::new(Code::NotFound, message))
}

/// Makes the groups anew that have changed, or all of them when nodes have.
pub fn groups(
    switch: &mut Switch,
    chip: &mut Chip,
    schema: &Schema,
    changes: &BTreeSet<(u32, RowKey)>,
) {
    let table = |kind| the_table(schema, kind).map_or(0, |own: &Table| own.id);
    let (mgid, ecmp) = (table(Kind::PreMgid), table(Kind::PreEcmp));
    let node = table(Kind::PreNode);
    for (id, key) in changes {
        if *id == ecmp {
            take_places(chip, *id, key);
        }
    }
    let parts_changed = changes.iter().any(|(id, _)| *id == ecmp || *id == node);
    let mut keys: BTreeSet<RowKey> = changes
        .iter()
        .filter(|(id, _)| *id == mgid)
        .map(|(_, key)| key.clone())
        .collect();
    if parts_changed {
        keys.extend(chip.rows_of(mgid).map(|(key, _)| key.clone()));
    }
    for key in keys {
        let group = index_of(&key) as u16;
        let nodes = chip.row(mgid, &key).map(|row| members(chip, node, row));
        switch.each(|own| own.set_group(group, nodes.clone()));
    }
}

/// Members that have left an ECMP group leave their places free; new ones take the first.
fn take_places(chip: &mut Chip, table: u32, key: &RowKey) {
    let id = index_of(key) as u32;
    let Some(members) = chip.row(table, key).map(|row| row.numbers(1).to_vec()) else {
        chip.places.remove(&id);
        return;
    };
    let places = chip.places.entry(id).or_default();
    for place in places.iter_mut() {
        *place = place.filter(|own| members.contains(own));
    }
    for member in members {
        if places.contains(&Some(member)) {
            continue;
        }
        match places.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(member),
            None => places.push(Some(member)),
        }
    }
}

/// The nodes of a group, each with those that a hash may pick instead.
fn members(chip: &Chip, nodes: u32, row: &Row) -> Vec<Vec<Node>> {
    let mut out = Vec::new();
    for (at, id) in row.numbers(NODES[0]).iter().enumerate() {
        let xid = exclusion(row, NODES, at);
        out.extend(node(chip, nodes, *id, xid).map(|own| vec![own]));
    }
    for (at, id) in row.numbers(ECMPS[0]).iter().enumerate() {
        let xid = exclusion(row, ECMPS, at);
        out.push(alternatives(chip, nodes, *id, xid));
    }
    out
}

fn exclusion(row: &Row, [_, valid, value]: [u32; 3], at: usize) -> Option<u16> {
    let is_valid = row.flags(valid).get(at).copied().unwrap_or(false);
    let value = row.numbers(value).get(at)?;
    u16::try_from(*value).ok().filter(|_| is_valid)
}

fn node(chip: &Chip, table: u32, id: u32, xid: Option<u16>) -> Option<Node> {
    let key = RowKey {
        pipe: crate::server::ALL_PIPES,
        parts: vec![(id.to_be_bytes().to_vec(), Vec::new())],
    };
    let row = chip.row(table, &key)?;
    Some(Node {
        rid: row.number(RID).unwrap_or(0) as u16,
        xid,
        ports: ports(row.numbers(PORTS)),
        lags: ports(row.numbers(LAGS)),
    })
}

/// What each hash picks: the place of its remainder by 32, or, where that is free, one of the
/// members by the remainder by their number. The list is as long as both need to come round.
fn alternatives(chip: &Chip, table: u32, ecmp: u32, xid: Option<u16>) -> Vec<Node> {
    let places = chip.places.get(&ecmp).map_or(&[][..], Vec::as_slice);
    let live: Vec<u32> = places.iter().flatten().copied().collect();
    if live.is_empty() {
        return Vec::new();
    }
    let rounds = (1..=live.len()).find(|own| (own * PLACES).is_multiple_of(live.len()));
    let length = PLACES * rounds.unwrap_or(1);
    let picked = (0..length).map(|hash| {
        let place = places.get(hash % PLACES).copied().flatten();
        place.unwrap_or(live[hash % live.len()])
    });
    picked.filter_map(|id| node(chip, table, id, xid)).collect()
}

impl Chip {
    /// What a client says of the engine as a whole; the switch is told with the rest of the request.
    pub(in crate::server) fn tell_device(&mut self, config: &PreDevice) -> Result<(), Refusal> {
        if let Some(rid) = config.global_rid.filter(|own| own.value > 0xffff) {
            let rid = rid.value;
            let message = format!("the global RID {rid} has more than 16 bits");
            return Err(Refusal::invalid(message));
        }
        self.device.push(*config);
        Ok(())
    }
}

pub fn device(switch: &mut Switch, config: &PreDevice) {
    if let Some(rid) = config.global_rid {
        switch.set_global_rid(Some(rid.value as u16));
    }
    if let Some(own) = config.port_protection {
        switch.set_port_protection(own.enable);
    }
}
