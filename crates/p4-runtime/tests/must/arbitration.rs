//! Sections 5 and 16.2: who is the primary.

use crate::support::*;
use p4_runtime::messages::*;
use p4_runtime::Code;

const OK: i32 = Code::Ok as i32;
const BACKUP: i32 = Code::AlreadyExists as i32;
const NOBODY: i32 = Code::NotFound as i32;

fn refused(lab: &Lab, request: StreamRequest) -> Code {
    let mut client = lab.client();
    lab.say(&mut client, request).expect_err("a refusal").code
}

#[test]
fn an_unknown_device_ends_the_stream() {
    assert_eq!(refused(&lab(), arbitration(8, "", id(1))), Code::NotFound);
}

#[test]
fn an_election_id_in_use_ends_the_stream() {
    let lab = lab();
    let _first = lab.arbitrated(1);
    let code = refused(&lab, arbitration(DEVICE, "", id(1)));
    assert_eq!(code, Code::InvalidArgument);
    // It may be used for another role, and again when its owner has gone.
    let mut other = lab.client();
    lab.say(&mut other, arbitration(DEVICE, "other", id(1)))
        .expect("another role");
    drop(_first);
    lab.arbitrated(1);
}

#[test]
fn a_role_configuration_is_refused() {
    let StreamRequest::Arbitration(mut update) = arbitration(DEVICE, "painter", id(1)) else {
        unreachable!("an arbitration")
    };
    update.role.as_mut().expect("a role").config = Some(Any::default());
    let code = refused(&lab(), StreamRequest::Arbitration(update));
    assert_eq!(code, Code::InvalidArgument);
}

#[test]
fn too_many_streams_of_a_role_are_refused() {
    let lab = lab();
    let clients: Vec<_> = (1..=64).map(|id| lab.arbitrated(id)).collect();
    let code = refused(&lab, arbitration(DEVICE, "", id(65)));
    assert_eq!(code, Code::ResourceExhausted);
    drop(clients);
    lab.arbitrated(65);
}

#[test]
fn a_stream_keeps_its_device_and_role() {
    let lab = lab();
    let mut client = lab.arbitrated(1);
    let error = lab.say(&mut client, arbitration(8, "", id(1)));
    assert_eq!(
        error.expect_err("another device").code,
        Code::FailedPrecondition
    );
    let error = lab.say(&mut client, arbitration(DEVICE, "other", id(1)));
    assert_eq!(
        error.expect_err("another role").code,
        Code::FailedPrecondition
    );
}

#[test]
fn a_live_client_cannot_take_an_election_id_in_use() {
    let lab = lab();
    let _first = lab.arbitrated(2);
    let mut second = lab.arbitrated(1);
    let error = lab.say(&mut second, arbitration(DEVICE, "", id(2)));
    assert_eq!(error.expect_err("in use").code, Code::InvalidArgument);
    lab.say(&mut second, arbitration(DEVICE, "", id(1)))
        .expect("its own");
}

#[test]
fn the_highest_election_id_makes_the_primary_and_all_are_told() {
    let lab = lab();
    let first = lab.arbitrated(1);
    assert_eq!(first.standing(), [(OK, Some(1))]);
    let third = lab.arbitrated(3);
    assert_eq!(first.standing(), [(BACKUP, Some(3))]);
    assert_eq!(third.standing(), [(OK, Some(3))]);
    // A backup comes: only it is told.
    let second = lab.arbitrated(2);
    assert_eq!(second.standing(), [(BACKUP, Some(3))]);
    assert_eq!((first.standing(), third.standing()), (vec![], vec![]));
}

#[test]
fn without_the_primary_there_is_none_until_somebody_asks() {
    let lab = lab();
    let mut first = lab.arbitrated(1);
    let second = lab.arbitrated(2);
    first.told();
    drop(second);
    assert_eq!(first.standing(), [(NOBODY, Some(2))]);
    // The highest id ever seen counts, also when its client has gone.
    lab.say(&mut first, arbitration(DEVICE, "", id(1)))
        .expect("an update");
    assert_eq!(first.standing(), [(NOBODY, Some(2))]);
    lab.say(&mut first, arbitration(DEVICE, "", id(2)))
        .expect("an update");
    assert_eq!(first.standing(), [(OK, Some(2))]);
}

#[test]
fn a_primary_may_step_down() {
    let lab = lab();
    let mut first = lab.arbitrated(5);
    let second = lab.arbitrated(4);
    first.told();
    second.told();
    lab.say(&mut first, arbitration(DEVICE, "", id(3)))
        .expect("an update");
    assert_eq!(first.standing(), [(NOBODY, Some(5))]);
    assert_eq!(second.standing(), [(NOBODY, Some(5))]);
}

#[test]
fn an_unset_election_id_never_makes_a_primary() {
    let lab = lab();
    let mut client = lab.client();
    lab.say(&mut client, arbitration(DEVICE, "", None))
        .expect("a standby");
    assert_eq!(client.standing(), [(NOBODY, None)]);
    assert_eq!(
        lab.insert(EntityKind::Table(lab.l2(1, 2))),
        Err(Code::PermissionDenied)
    );
    // 0 is not unset.
    lab.say(&mut client, arbitration(DEVICE, "", id(0)))
        .expect("an update");
    assert_eq!(client.standing(), [(OK, Some(0))]);
}

#[test]
fn roles_have_primaries_of_their_own() {
    let lab = lab();
    let first = lab.arbitrated(9);
    let mut painter = lab.client();
    lab.say(&mut painter, arbitration(DEVICE, "painter", id(1)))
        .expect("a role");
    assert_eq!(painter.standing(), [(OK, Some(1))]);
    assert_eq!(first.standing(), [(OK, Some(9))]);
    let write = |role: &str, low| {
        let update = Update {
            r#type: UpdateType::Insert as i32,
            entity: Some(EntityKind::Table(lab.l2(low, 2)).into()),
        };
        let request = WriteRequest {
            device_id: DEVICE,
            role: role.to_string(),
            election_id: id(low),
            updates: vec![update],
            ..WriteRequest::default()
        };
        code(lab.server.write(&request).map(|_| ()))
    };
    assert_eq!(write("painter", 1), Ok(()));
    assert_eq!(write("painter", 9), Err(Code::PermissionDenied));
    assert_eq!(write("", 9), Ok(()));
    assert_eq!(write("nobody", 1), Err(Code::NotFound));
}

#[test]
fn a_write_needs_device_then_primary_then_program() {
    let lab = empty_lab();
    let write = |device_id| {
        let request = WriteRequest {
            device_id,
            election_id: id(1),
            ..WriteRequest::default()
        };
        code(lab.server.write(&request).map(|_| ()))
    };
    assert_eq!(write(8), Err(Code::NotFound));
    assert_eq!(write(DEVICE), Err(Code::PermissionDenied));
    let _client = lab.arbitrated(1);
    assert_eq!(write(DEVICE), Err(Code::FailedPrecondition));
    let read = lab.read(EntityKind::Table(TableEntry::default()));
    assert_eq!(read, Err(Code::FailedPrecondition));
}

#[test]
fn deprecated_role_ids_are_refused() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    let request = WriteRequest {
        device_id: DEVICE,
        role_id: 3,
        election_id: id(1),
        ..WriteRequest::default()
    };
    let done = lab.server.write(&request).map(|_| ());
    assert_eq!(code(done), Err(Code::InvalidArgument));
}
