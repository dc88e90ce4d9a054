//! Multicast groups and clone sessions.

use super::profiles::exists;
use super::{Plan, Planner, Ports};
use crate::bytes::shortened;
use crate::messages::{
    CloneSessionEntry, MulticastGroupEntry, PacketReplicationEngineEntry, PortKind, Replica,
    ReplicationKind, UpdateType,
};
use crate::status::Refusal;
use p4_state::{CloneSession, Update};
use std::collections::BTreeSet;

/// Ids of v1model's multicast groups have 16 bits, so do replication ids.
const GROUPS: u32 = 1 << 16;
/// The copies of a clone session are a group that no packet can name.
const CLONES: u32 = 1 << 16;
const SESSIONS: u32 = 1 << 15;

impl Planner<'_> {
    pub(super) fn replication(
        &mut self,
        how: UpdateType,
        entry: &PacketReplicationEngineEntry,
    ) -> Result<Plan, Refusal> {
        match &entry.r#type {
            Some(ReplicationKind::MulticastGroup(group)) => self.multicast(how, group),
            Some(ReplicationKind::CloneSession(session)) => self.session(how, session),
            None => Err(Refusal::invalid(
                "the entry is neither a group nor a session",
            )),
        }
    }

    fn multicast(&mut self, how: UpdateType, entry: &MulticastGroupEntry) -> Result<Plan, Refusal> {
        let id = entry.multicast_group_id;
        if !(1..GROUPS).contains(&id) {
            return Err(Refusal::invalid("multicast groups have ids 1 to 65535"));
        }
        exists(how, self.store.groups.contains_key(&id), || {
            format!("multicast group {id}")
        })?;
        if how == UpdateType::Delete {
            let plan = Plan::of([Update::SetGroup {
                group: id,
                replicas: None,
            }]);
            return Ok(plan.then(move |store| {
                store.groups.remove(&id);
            }));
        }
        check_replicas(&entry.replicas, &self.ports)?;
        let mut entry = entry.clone();
        shorten_ports(&mut entry.replicas);
        let plan = Plan::of([group_update(&entry, &self.store.down, &self.ports)]);
        Ok(plan.then(move |store| {
            store.groups.insert(id, entry);
        }))
    }

    fn session(&mut self, how: UpdateType, entry: &CloneSessionEntry) -> Result<Plan, Refusal> {
        let id = entry.session_id;
        if !(1..SESSIONS).contains(&id) {
            return Err(Refusal::invalid("clone sessions have ids 1 to 32767"));
        }
        exists(how, self.store.sessions.contains_key(&id), || {
            format!("clone session {id}")
        })?;
        if how == UpdateType::Delete {
            let plan = Plan::of([
                Update::SetSession {
                    session: id,
                    to: None,
                },
                Update::SetGroup {
                    group: CLONES + id,
                    replicas: None,
                },
            ]);
            return Ok(plan.then(move |store| {
                store.sessions.remove(&id);
            }));
        }
        check_replicas(&entry.replicas, &self.ports)?;
        if entry.packet_length_bytes < 0 {
            return Err(Refusal::invalid("packet_length_bytes cannot be negative"));
        }
        let mut entry = entry.clone();
        shorten_ports(&mut entry.replicas);
        let plan = Plan::of(clone_updates(&entry, &self.store.down, &self.ports));
        Ok(plan.then(move |store| {
            store.sessions.insert(id, entry);
        }))
    }
}

/// Specification, 9.5.1: no two copies are the same, and a stand-in is at another port.
fn check_replicas(replicas: &[Replica], ports: &Ports) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for replica in replicas {
        let choices = choices(replica, ports)?;
        let first = choices.first().map(|(port, _)| *port);
        if choices.iter().skip(1).any(|(port, _)| Some(*port) == first) {
            let message = "a backup replica must be at another port than the replica it backs up";
            return Err(Refusal::invalid(message));
        }
        for (port, instance) in choices {
            if !seen.insert((port, instance)) {
                let message = format!("port {port} with instance {instance} is given twice");
                return Err(Refusal::invalid(message));
            }
        }
    }
    Ok(())
}

/// What is read back has the shortest bytestrings.
fn shorten_ports(replicas: &mut [Replica]) {
    for replica in replicas {
        if let Some(PortKind::Port(port)) = &mut replica.port {
            *port = shortened(port);
        }
        for backup in &mut replica.backup_replicas {
            backup.port = shortened(&backup.port);
        }
    }
}

/// Where a copy may go, the first choice first.
fn choices(replica: &Replica, ports: &Ports) -> Result<Vec<(u16, u16)>, Refusal> {
    let port = match &replica.port {
        Some(PortKind::Port(bytes)) => ports.port(bytes)?,
        Some(PortKind::EgressPort(port)) => ports.numbered(*port)?,
        None => return Err(Refusal::invalid("a replica needs a port")),
    };
    let mut choices = vec![(port, instance(replica.instance)?)];
    for backup in &replica.backup_replicas {
        choices.push((ports.port(&backup.port)?, instance(backup.instance)?));
    }
    Ok(choices)
}

fn instance(instance: u32) -> Result<u16, Refusal> {
    u16::try_from(instance)
        .map_err(|_| Refusal::invalid(format!("instance {instance} does not fit in 16 bits")))
}

/// The copies to be made while the ports `down` are: of each its first choice that is up, or its
/// first if none is.
fn copies(replicas: &[Replica], down: &BTreeSet<u16>, ports: &Ports) -> Vec<p4_state::Replica> {
    let copy = |replica: &Replica| {
        let choices = choices(replica, ports).ok()?;
        let up = choices.iter().find(|(port, _)| !down.contains(port));
        let (port, rid) = *up.or(choices.first())?;
        Some(p4_state::Replica { port, rid })
    };
    replicas.iter().filter_map(copy).collect()
}

/// Makes or changes a multicast group.
pub fn group_update(entry: &MulticastGroupEntry, down: &BTreeSet<u16>, ports: &Ports) -> Update {
    Update::SetGroup {
        group: entry.multicast_group_id,
        replicas: Some(copies(&entry.replicas, down, ports)),
    }
}

/// Makes or changes a clone session.
pub fn clone_updates(
    entry: &CloneSessionEntry,
    down: &BTreeSet<u16>,
    ports: &Ports,
) -> [Update; 2] {
    let group = CLONES + entry.session_id;
    let truncate = u32::try_from(entry.packet_length_bytes).ok();
    [
        Update::SetGroup {
            group,
            replicas: Some(copies(&entry.replicas, down, ports)),
        },
        Update::SetSession {
            session: entry.session_id,
            to: Some(CloneSession {
                group: Some(group),
                port: None,
                truncate: truncate.filter(|bytes| *bytes > 0),
            }),
        },
    ]
}
