//! Sections 12 and 13: batches of writes and reads.

use crate::support::*;
use p4_runtime::messages::*;
use p4_runtime::Code;

fn primary() -> (Lab, Client) {
    let lab = lab();
    let client = lab.arbitrated(1);
    (lab, client)
}

fn inserts(lab: &Lab, dsts: impl IntoIterator<Item = u64>) -> Vec<(UpdateType, EntityKind)> {
    let insert = |dst| (UpdateType::Insert, EntityKind::Table(lab.l2(dst, 2)));
    dsts.into_iter().map(insert).collect()
}

fn size(lab: &Lab) -> usize {
    let all = TableEntry {
        table_id: lab.id("l2"),
        ..TableEntry::default()
    };
    lab.read(EntityKind::Table(all)).expect("a read").len()
}

#[test]
fn every_update_is_tried_and_every_one_is_told() {
    let (lab, _client) = primary();
    let status = lab
        .write(inserts(&lab, [1, 2, 1, 3]))
        .expect_err("a duplicate");
    assert_eq!(status.code, Code::Unknown);
    assert_eq!(
        codes(&status),
        [Code::Ok, Code::Ok, Code::AlreadyExists, Code::Ok]
    );
    assert!(status.message.contains("1 of 4"), "{status}");
    assert!(status.message.contains("update 3"), "{status}");
    assert_eq!(size(&lab), 3);
}

#[test]
fn kinds_of_updates_mix_in_their_order() {
    let (lab, _client) = primary();
    let remembered = TableEntry {
        metadata: b"x".to_vec(),
        ..lab.l2(2, 2)
    };
    let mut updates = inserts(&lab, [1]);
    updates.push((UpdateType::Insert, EntityKind::Table(remembered)));
    updates.push((UpdateType::Delete, EntityKind::Table(lab.l2(1, 2))));
    updates.extend(inserts(&lab, [1, 2]));
    let status = lab.write(updates).expect_err("a duplicate");
    let ok = Code::Ok;
    assert_eq!(codes(&status), [ok, ok, ok, ok, Code::AlreadyExists]);
}

#[test]
fn the_details_of_a_large_batch_match_its_updates() {
    let (lab, _client) = primary();
    let status = lab
        .write(inserts(&lab, 0..1_000))
        .expect_err("a full table");
    let codes = codes(&status);
    assert_eq!(codes.len(), 1_000);
    assert_eq!(codes.iter().filter(|code| **code == Code::Ok).count(), 100);
    assert_eq!(codes[999], Code::ResourceExhausted);
}

#[test]
fn an_atomic_batch_leaves_nothing_when_it_fails() {
    for atomicity in [Atomicity::DataplaneAtomic, Atomicity::RollbackOnError] {
        let (lab, _client) = primary();
        let status = lab
            .write_as(inserts(&lab, [1, 2, 1]), atomicity)
            .expect_err("a duplicate");
        assert_eq!(
            codes(&status),
            [Code::Aborted, Code::Aborted, Code::AlreadyExists]
        );
        assert_eq!(size(&lab), 0);
        lab.write_as(inserts(&lab, [1, 2]), atomicity)
            .expect("a batch");
        assert_eq!(size(&lab), 2);
    }
}

#[test]
fn an_atomic_batch_takes_back_what_was_remembered() {
    let (lab, _client) = primary();
    let member = |id| {
        let member = ActionProfileMember {
            action_profile_id: lab.id("shared"),
            member_id: id,
            action: Some(lab.action("plain", &[1])),
        };
        (UpdateType::Insert, EntityKind::Member(member))
    };
    let batch = vec![member(1), member(2), member(1)];
    let status = lab
        .write_as(batch, Atomicity::DataplaneAtomic)
        .expect_err("a duplicate");
    assert_eq!(
        codes(&status),
        [Code::Aborted, Code::Aborted, Code::AlreadyExists]
    );
    let all = EntityKind::Member(ActionProfileMember::default());
    assert_eq!(lab.read(all), Ok(vec![]));
    // Within a batch later updates build on earlier ones.
    let to = TableActionKind::Member(1);
    let mut entry = lab.entry("indirect", vec![exact(1)], lab.action("drop", &[]));
    entry.action = Some(TableAction { r#type: Some(to) });
    let batch = vec![member(1), (UpdateType::Insert, EntityKind::Table(entry))];
    lab.write_as(batch, Atomicity::DataplaneAtomic)
        .expect("a batch");
}

#[test]
fn an_unknown_atomicity_is_refused_whole() {
    let (lab, _client) = primary();
    let request = WriteRequest {
        device_id: DEVICE,
        election_id: id(1),
        atomicity: 9,
        ..WriteRequest::default()
    };
    let status = lab
        .server
        .write(&request)
        .expect_err("an unknown atomicity");
    assert_eq!(status.code, Code::Unimplemented);
    assert!(status.details.is_empty(), "not about single updates");
}

#[test]
fn an_update_has_a_type_and_an_entity() {
    let (lab, _client) = primary();
    let write = |update: Update| {
        let request = WriteRequest {
            device_id: DEVICE,
            election_id: id(1),
            updates: vec![update],
            ..WriteRequest::default()
        };
        code(lab.server.write(&request).map(|_| ()))
    };
    let entity = Some(Entity::from(EntityKind::Table(lab.l2(1, 2))));
    assert_eq!(
        write(Update { r#type: 0, entity }),
        Err(Code::InvalidArgument)
    );
    let none = Update {
        r#type: 1,
        entity: None,
    };
    assert_eq!(write(none), Err(Code::InvalidArgument));
    assert_eq!(write(Update::default()), Err(Code::InvalidArgument));
}

#[test]
fn externs_beyond_the_specification_are_refused() {
    let (lab, _client) = primary();
    let kind = EntityKind::Extern(ExternEntry::default());
    assert_eq!(lab.insert(kind.clone()), Err(Code::Unimplemented));
    assert_eq!(lab.read(kind), Err(Code::Unimplemented));
}

#[test]
fn a_batch_of_reads_gives_what_it_can_and_tells_the_rest() {
    let (lab, _client) = primary();
    lab.write(inserts(&lab, [1, 2])).expect("a batch");
    let good = || {
        Entity::from(EntityKind::Table(TableEntry {
            table_id: lab.id("l2"),
            ..TableEntry::default()
        }))
    };
    let bad = Entity::from(EntityKind::Table(TableEntry {
        table_id: 1,
        ..TableEntry::default()
    }));
    let request = ReadRequest {
        device_id: DEVICE,
        entities: vec![good(), bad, good()],
        ..ReadRequest::default()
    };
    let mut found = 0;
    let done = lab
        .server
        .read(&request, |part| found += part.entities.len());
    let status = done.expect_err("an unknown table");
    assert_eq!(codes(&status), [Code::Ok, Code::InvalidArgument, Code::Ok]);
    assert_eq!(found, 4);
}

#[test]
fn a_large_read_comes_in_parts() {
    let lab = lab_with(&PROGRAM.replace("size = 100;", "size = 5000;"));
    let _client = lab.arbitrated(1);
    lab.write(inserts(&lab, 0..2_500)).expect("a batch");
    let request = ReadRequest {
        device_id: DEVICE,
        entities: vec![EntityKind::Table(TableEntry {
            table_id: lab.id("l2"),
            ..TableEntry::default()
        })
        .into()],
        ..ReadRequest::default()
    };
    let mut parts = Vec::new();
    lab.server
        .read(&request, |part| parts.push(part.entities.len()))
        .expect("a read");
    assert_eq!(parts, [1_000, 1_000, 500]);
}

#[test]
fn reads_and_writes_of_unknown_devices_are_refused() {
    let lab = lab();
    let read = ReadRequest {
        device_id: 8,
        ..ReadRequest::default()
    };
    let done = lab.server.read(&read, |_| {});
    assert_eq!(code(done), Err(Code::NotFound));
}
