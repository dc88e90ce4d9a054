//! Section 9.5: multicast groups and clone sessions.

use crate::support::*;
use p4_runtime::messages::*;
use p4_runtime::Code;

fn primary() -> (Lab, Client) {
    let lab = lab();
    let client = lab.arbitrated(1);
    (lab, client)
}

fn replica(port: u16, instance: u32, backups: &[(u16, u32)]) -> Replica {
    let backup = |(port, instance): &(u16, u32)| BackupReplica {
        port: bytes(u64::from(*port)),
        instance: *instance,
    };
    Replica {
        instance,
        backup_replicas: backups.iter().map(backup).collect(),
        port: Some(PortKind::Port(bytes(u64::from(port)))),
    }
}

fn group(id: u32, replicas: &[Replica]) -> EntityKind {
    EntityKind::Replication(PacketReplicationEngineEntry {
        r#type: Some(ReplicationKind::MulticastGroup(MulticastGroupEntry {
            multicast_group_id: id,
            replicas: replicas.to_vec(),
            metadata: b"mine".to_vec(),
        })),
    })
}

fn session(id: u32, replicas: &[Replica], packet_length_bytes: i32) -> EntityKind {
    EntityKind::Replication(PacketReplicationEngineEntry {
        r#type: Some(ReplicationKind::CloneSession(CloneSessionEntry {
            session_id: id,
            replicas: replicas.to_vec(),
            class_of_service: 2,
            packet_length_bytes,
        })),
    })
}

/// All packets go to `action`.
fn all_to(lab: &Lab, action: &str, argument: u64) {
    let entry = TableEntry {
        priority: 1,
        ..lab.entry("acl", vec![], lab.action(action, &[argument]))
    };
    lab.insert(EntityKind::Table(entry)).expect("an entry");
}

/// Port and source address, which egress sets to the instance, of all copies.
fn copies(lab: &Lab) -> Vec<(u16, u64)> {
    let source = |frame: &[u8]| {
        frame[6..12]
            .iter()
            .fold(0, |sum, b| sum << 8 | u64::from(*b))
    };
    let sent = lab.send(1, &frame(0, 99, 1));
    sent.iter()
        .map(|(port, frame)| (*port, source(frame)))
        .collect()
}

#[test]
fn a_multicast_group_copies_to_ports_with_instances() {
    let (lab, _client) = primary();
    all_to(&lab, "spread", 5);
    assert_eq!(copies(&lab), []);
    let entry = group(
        5,
        &[replica(2, 7, &[]), replica(3, 0, &[]), replica(2, 8, &[])],
    );
    lab.insert(entry.clone()).expect("a group");
    assert_eq!(copies(&lab), [(2, 7), (3, 99), (2, 8)]);
    assert_eq!(
        lab.read(group(0, &[])),
        Ok(vec![entry]),
        "with its metadata"
    );
    lab.modify(group(5, &[replica(4, 0, &[])]))
        .expect("a modification");
    assert_eq!(copies(&lab), [(4, 99)]);
    lab.delete(group(5, &[])).expect("a deletion");
    assert_eq!(copies(&lab), []);
}

#[test]
fn a_multicast_groups_id_is_new_or_known_and_not_0() {
    let (lab, _client) = primary();
    assert_eq!(lab.insert(group(0, &[])), Err(Code::InvalidArgument));
    assert_eq!(lab.insert(group(65_536, &[])), Err(Code::InvalidArgument));
    assert_eq!(lab.modify(group(1, &[])), Err(Code::NotFound));
    assert_eq!(lab.delete(group(1, &[])), Err(Code::NotFound));
    assert_eq!(lab.insert(group(1, &[])), Ok(()));
    assert_eq!(lab.insert(group(1, &[])), Err(Code::AlreadyExists));
}

#[test]
fn a_replica_has_a_port_and_an_instance_that_fit() {
    let (lab, _client) = primary();
    let insert = |replica| lab.insert(group(1, &[replica]));
    assert_eq!(insert(replica(2, 65_536, &[])), Err(Code::InvalidArgument));
    assert_eq!(insert(replica(600, 1, &[])), Err(Code::InvalidArgument));
    let without = Replica {
        port: None,
        ..replica(2, 1, &[])
    };
    assert_eq!(insert(without), Err(Code::InvalidArgument));
    let empty = Replica {
        port: Some(PortKind::Port(vec![])),
        ..replica(2, 1, &[])
    };
    assert_eq!(insert(empty), Err(Code::InvalidArgument));
}

#[test]
fn replicas_differ_in_port_or_instance() {
    let (lab, _client) = primary();
    let insert = |replicas: &[Replica]| lab.insert(group(1, replicas));
    let invalid = Err(Code::InvalidArgument);
    assert_eq!(insert(&[replica(2, 1, &[]), replica(2, 1, &[])]), invalid);
    assert_eq!(
        insert(&[replica(2, 1, &[(3, 1)]), replica(3, 1, &[])]),
        invalid
    );
    assert_eq!(
        insert(&[replica(2, 1, &[(2, 2)])]),
        invalid,
        "a backup at the same port"
    );
    assert_eq!(
        insert(&[replica(2, 1, &[(3, 1)]), replica(2, 2, &[])]),
        Ok(())
    );
}

#[test]
fn backup_replicas_stand_in_for_ports_that_are_down() {
    let (lab, _client) = primary();
    all_to(&lab, "spread", 5);
    let entry = group(5, &[replica(2, 1, &[(3, 2), (4, 3)])]);
    lab.insert(entry.clone()).expect("a group");
    assert_eq!(copies(&lab), [(2, 1)]);
    lab.tap.set_port(2, false).expect("a port");
    assert_eq!(copies(&lab), [(3, 2)]);
    lab.tap.set_port(3, false).expect("a port");
    assert_eq!(copies(&lab), [(4, 3)]);
    assert_eq!(
        lab.read(group(5, &[])),
        Ok(vec![entry]),
        "backups in their order"
    );
    lab.tap.set_port(2, true).expect("a port");
    assert_eq!(copies(&lab), [(2, 1)]);
}

#[test]
fn the_cpu_port_has_its_number_in_the_specification() {
    let (lab, client) = primary();
    all_to(&lab, "copy", 9);
    let cpu = Replica {
        port: Some(PortKind::Port(vec![0xff, 0xff, 0xff, 0xfd])),
        ..replica(2, 0, &[])
    };
    lab.insert(session(9, &[cpu], 0)).expect("a session");
    client.told();
    lab.send(1, &frame(0, 99, 1));
    let told = client.told();
    assert!(matches!(told[..], [StreamResponse::Packet(_)]), "{told:?}");
}

#[test]
fn a_clone_session_copies_and_cuts() {
    let (lab, _client) = primary();
    all_to(&lab, "copy", 9);
    assert_eq!(copies(&lab).len(), 1, "the packet itself");
    let entry = session(9, &[replica(6, 3, &[]), replica(7, 4, &[])], 20);
    lab.insert(entry.clone()).expect("a session");
    let sent = lab.send(1, &frame(0, 99, 1));
    let lengths: Vec<_> = sent
        .iter()
        .map(|(port, frame)| (*port, frame.len()))
        .collect();
    assert_eq!(lengths, [(6, 20), (7, 20), (0, 64)]);
    assert_eq!(copies(&lab)[..2], [(6, 3), (7, 4)]);
    assert_eq!(lab.read(session(0, &[], 0)), Ok(vec![entry]));
    lab.modify(session(9, &[replica(8, 1, &[])], 0))
        .expect("a modification");
    assert_eq!(lab.send(1, &frame(0, 99, 1))[0].1.len(), 64, "not cut");
    lab.delete(session(9, &[], 0)).expect("a deletion");
    assert_eq!(copies(&lab).len(), 1);
}

#[test]
fn a_clone_sessions_id_is_new_or_known_and_not_0() {
    let (lab, _client) = primary();
    assert_eq!(lab.insert(session(0, &[], 0)), Err(Code::InvalidArgument));
    assert_eq!(
        lab.insert(session(1 << 15, &[], 0)),
        Err(Code::InvalidArgument)
    );
    assert_eq!(lab.modify(session(1, &[], 0)), Err(Code::NotFound));
    assert_eq!(lab.delete(session(1, &[], 0)), Err(Code::NotFound));
    assert_eq!(lab.insert(session(1, &[], -1)), Err(Code::InvalidArgument));
    assert_eq!(lab.insert(session(1, &[], 0)), Ok(()));
    assert_eq!(lab.insert(session(1, &[], 0)), Err(Code::AlreadyExists));
    let instance = replica(2, 65_536, &[]);
    assert_eq!(
        lab.insert(session(2, &[instance], 0)),
        Err(Code::InvalidArgument)
    );
}
