//! Section 9.2: action profiles and selectors.

use crate::support::*;
use p4_runtime::messages::*;
use p4_runtime::Code;

fn primary() -> (Lab, Client) {
    let lab = lab();
    let client = lab.arbitrated(1);
    (lab, client)
}

fn member(lab: &Lab, profile: &str, member_id: u32, port: u64) -> EntityKind {
    EntityKind::Member(ActionProfileMember {
        action_profile_id: lab.id(profile),
        member_id,
        action: Some(lab.action("plain", &[port])),
    })
}

fn group(lab: &Lab, group_id: u32, members: &[(u32, i32)]) -> EntityKind {
    watching(
        lab,
        group_id,
        &members
            .iter()
            .map(|(m, w)| (*m, *w, None))
            .collect::<Vec<_>>(),
    )
}

fn watching(lab: &Lab, group_id: u32, members: &[(u32, i32, Option<u8>)]) -> EntityKind {
    let one = |(member_id, weight, port): &(u32, i32, Option<u8>)| GroupMember {
        member_id: *member_id,
        weight: *weight,
        watch: port.map(|port| WatchKind::WatchPort(vec![port])),
    };
    EntityKind::Group(ActionProfileGroup {
        action_profile_id: lab.id("members"),
        group_id,
        members: members.iter().map(one).collect(),
        max_size: 4,
    })
}

fn leads(lab: &Lab, table: &str, kind: u64, to: TableActionKind) -> EntityKind {
    let mut entry = lab.entry(table, vec![exact(kind)], lab.action("drop", &[]));
    entry.action = Some(TableAction { r#type: Some(to) });
    EntityKind::Table(entry)
}

/// By which ports packets with these source addresses leave.
fn ports(lab: &Lab, sources: std::ops::Range<u64>) -> Vec<u16> {
    let port = |src| {
        lab.send(1, &frame(0, src, 1))
            .first()
            .map_or(999, |(port, _)| *port)
    };
    sources.map(port).collect()
}

#[test]
fn a_members_id_is_new_to_be_inserted_and_known_to_be_changed() {
    let (lab, _client) = primary();
    assert_eq!(
        lab.modify(member(&lab, "shared", 1, 2)),
        Err(Code::NotFound)
    );
    assert_eq!(
        lab.delete(member(&lab, "shared", 1, 2)),
        Err(Code::NotFound)
    );
    assert_eq!(
        lab.insert(member(&lab, "shared", 0, 2)),
        Err(Code::InvalidArgument)
    );
    assert_eq!(lab.insert(member(&lab, "shared", 1, 2)), Ok(()));
    assert_eq!(
        lab.insert(member(&lab, "shared", 1, 2)),
        Err(Code::AlreadyExists)
    );
    assert_eq!(lab.modify(member(&lab, "shared", 1, 3)), Ok(()));
    assert_eq!(
        lab.read(member(&lab, "shared", 1, 0)),
        Ok(vec![member(&lab, "shared", 1, 3)])
    );
    assert_eq!(lab.delete(member(&lab, "shared", 1, 0)), Ok(()));
}

#[test]
fn a_member_needs_an_action_and_room() {
    let (lab, _client) = primary();
    let none = ActionProfileMember {
        action_profile_id: lab.id("shared"),
        member_id: 1,
        action: None,
    };
    assert_eq!(
        lab.insert(EntityKind::Member(none)),
        Err(Code::InvalidArgument)
    );
    for id in 1..=4 {
        lab.insert(member(&lab, "shared", id, 2)).expect("room");
    }
    assert_eq!(
        lab.insert(member(&lab, "shared", 5, 2)),
        Err(Code::ResourceExhausted)
    );
}

#[test]
fn a_member_in_use_is_not_deleted() {
    let (lab, _client) = primary();
    lab.insert(member(&lab, "shared", 1, 2)).expect("an insert");
    lab.insert(leads(&lab, "indirect", 1, TableActionKind::Member(1)))
        .expect("an entry");
    let done = lab.delete(member(&lab, "shared", 1, 2));
    assert_eq!(done, Err(Code::FailedPrecondition), "an entry leads to it");
    lab.insert(member(&lab, "members", 1, 2))
        .expect("an insert");
    lab.insert(group(&lab, 1, &[(1, 1)])).expect("a group");
    let done = lab.delete(member(&lab, "members", 1, 2));
    assert_eq!(done, Err(Code::FailedPrecondition), "it is in a group");
}

#[test]
fn an_entry_leads_to_members_and_groups_that_are_there() {
    let (lab, _client) = primary();
    let to = |kind| lab.insert(leads(&lab, "balance", 1, kind));
    assert_eq!(to(TableActionKind::Member(1)), Err(Code::NotFound));
    assert_eq!(to(TableActionKind::Group(1)), Err(Code::NotFound));
    lab.insert(member(&lab, "members", 1, 2))
        .expect("an insert");
    lab.insert(group(&lab, 1, &[(1, 1)])).expect("a group");
    assert_eq!(to(TableActionKind::Group(1)), Ok(()));
    let done = lab.delete(group(&lab, 1, &[]));
    assert_eq!(done, Err(Code::FailedPrecondition), "the entry leads to it");
    let group_of_profile = leads(&lab, "indirect", 1, TableActionKind::Group(1));
    assert!(
        lab.insert(group_of_profile).is_err(),
        "a profile without selector has no groups"
    );
}

#[test]
fn a_groups_id_is_new_to_be_inserted_and_known_to_be_changed() {
    let (lab, _client) = primary();
    lab.insert(member(&lab, "members", 1, 2))
        .expect("an insert");
    assert_eq!(lab.modify(group(&lab, 1, &[])), Err(Code::NotFound));
    assert_eq!(lab.delete(group(&lab, 1, &[])), Err(Code::NotFound));
    assert_eq!(
        lab.insert(group(&lab, 1, &[(7, 1)])),
        Err(Code::NotFound),
        "no such member"
    );
    assert_eq!(lab.insert(group(&lab, 1, &[(1, 1)])), Ok(()));
    assert_eq!(
        lab.insert(group(&lab, 1, &[(1, 1)])),
        Err(Code::AlreadyExists)
    );
    assert_eq!(
        lab.modify(group(&lab, 1, &[(7, 1)])),
        Err(Code::NotFound),
        "no such member"
    );
    assert_eq!(lab.modify(group(&lab, 1, &[(1, 2)])), Ok(()));
    assert_eq!(
        lab.read(group(&lab, 0, &[])),
        Ok(vec![group(&lab, 1, &[(1, 2)])])
    );
    assert_eq!(lab.delete(group(&lab, 1, &[])), Ok(()));
}

#[test]
fn a_group_has_each_member_once_with_a_weight() {
    let (lab, _client) = primary();
    lab.insert(member(&lab, "members", 1, 2))
        .expect("an insert");
    for members in [&[(1, 1), (1, 1)][..], &[(1, 0)], &[(1, -1)]] {
        let done = lab.insert(group(&lab, 1, members));
        assert_eq!(done, Err(Code::InvalidArgument), "{members:?}");
    }
}

#[test]
fn max_size_follows_max_group_size_and_stays() {
    let (lab, _client) = primary();
    lab.insert(member(&lab, "members", 1, 2))
        .expect("an insert");
    let sized = |max_size| {
        let EntityKind::Group(group) = group(&lab, 1, &[(1, 1)]) else {
            unreachable!("a group")
        };
        EntityKind::Group(ActionProfileGroup { max_size, ..group })
    };
    for size in [0, 5, -1] {
        assert_eq!(
            lab.insert(sized(size)),
            Err(Code::InvalidArgument),
            "{size}"
        );
    }
    assert_eq!(lab.insert(sized(3)), Ok(()));
    assert_eq!(lab.modify(sized(2)), Err(Code::InvalidArgument), "it was 3");
    let done = lab.insert(group(&lab, 2, &[(1, 5)]));
    assert_eq!(
        done,
        Err(Code::ResourceExhausted),
        "larger than its max_size"
    );
}

#[test]
fn members_are_chosen_by_weight() {
    let (lab, _client) = primary();
    lab.insert(member(&lab, "members", 1, 3))
        .expect("an insert");
    lab.insert(member(&lab, "members", 2, 4))
        .expect("an insert");
    lab.insert(group(&lab, 1, &[(1, 3), (2, 1)]))
        .expect("a group");
    lab.insert(leads(&lab, "balance", 1, TableActionKind::Group(1)))
        .expect("an entry");
    let ports = ports(&lab, 0..8);
    let count = |port| ports.iter().filter(|own| **own == port).count();
    assert_eq!((count(3), count(4)), (6, 2), "{ports:?}");
}

#[test]
fn a_member_is_left_out_while_its_port_is_down() {
    let (lab, _client) = primary();
    lab.insert(member(&lab, "members", 1, 3))
        .expect("an insert");
    lab.insert(member(&lab, "members", 2, 4))
        .expect("an insert");
    let watched = watching(&lab, 1, &[(1, 1, Some(3)), (2, 1, None)]);
    lab.insert(watched.clone()).expect("a group");
    lab.insert(leads(&lab, "balance", 1, TableActionKind::Group(1)))
        .expect("an entry");
    assert_eq!(ports(&lab, 0..2), [3, 4]);
    lab.tap.set_port(3, false).expect("a port");
    assert_eq!(ports(&lab, 0..2), [4, 4]);
    assert_eq!(
        lab.read(group(&lab, 1, &[])),
        Ok(vec![watched]),
        "the group is as written"
    );
    lab.tap.set_port(3, true).expect("a port");
    assert_eq!(ports(&lab, 0..2), [3, 4]);
}

#[test]
fn a_watched_port_is_there() {
    let (lab, _client) = primary();
    lab.insert(member(&lab, "members", 1, 3))
        .expect("an insert");
    let done = lab.insert(watching(&lab, 1, &[(1, 1, Some(77))]));
    assert_eq!(done, Err(Code::InvalidArgument));
}

fn set(lab: &Lab, actions: &[(u64, i32, Option<u8>)]) -> ActionProfileActionSet {
    let one = |(port, weight, watch): &(u64, i32, Option<u8>)| ActionProfileAction {
        action: Some(lab.action("plain", &[*port])),
        weight: *weight,
        watch: watch.map(|port| WatchKind::WatchPort(vec![port])),
    };
    ActionProfileActionSet {
        actions: actions.iter().map(one).collect(),
        ..ActionProfileActionSet::default()
    }
}

fn one_shot(lab: &Lab, actions: &[(u64, i32, Option<u8>)]) -> EntityKind {
    leads(
        lab,
        "balance",
        1,
        TableActionKind::OneShot(set(lab, actions)),
    )
}

#[test]
fn a_one_shot_is_read_as_it_was_written() {
    let (lab, _client) = primary();
    // The same action twice is not one action.
    let entry = one_shot(&lab, &[(3, 1, Some(3)), (4, 1, None), (4, 2, None)]);
    lab.insert(entry.clone()).expect("an insert");
    let mut key = lab.entry("balance", vec![exact(1)], lab.action("drop", &[]));
    key.action = None;
    assert_eq!(lab.read(EntityKind::Table(key)), Ok(vec![entry]));
    let nothing: Vec<EntityKind> = vec![];
    let members = ActionProfileMember::default();
    assert_eq!(
        lab.read(EntityKind::Member(members)),
        Ok(nothing),
        "no desugared members"
    );
    assert_eq!(ports(&lab, 0..4), [3, 4, 4, 4]);
}

#[test]
fn a_one_shot_is_modified_and_deleted_whole() {
    let (lab, _client) = primary();
    lab.insert(one_shot(&lab, &[(3, 2, None), (4, 2, None)]))
        .expect("an insert");
    for round in 0..20 {
        // Eight members fit in the selector; nothing is left over from one round to the next.
        let entry = one_shot(&lab, &[(5, 1, None), (6, 1, None), (7, 1, None)]);
        assert_eq!(lab.modify(entry), Ok(()), "{round}");
    }
    assert_eq!(ports(&lab, 0..3), [5, 6, 7]);
    assert_eq!(
        lab.insert(one_shot(&lab, &[(3, 1, None)])),
        Err(Code::AlreadyExists)
    );
    assert_eq!(lab.delete(one_shot(&lab, &[])), Ok(()));
    lab.insert(member(&lab, "members", 1, 3))
        .expect("the selector is empty again");
}

#[test]
fn one_shots_follow_watched_ports() {
    let (lab, _client) = primary();
    lab.insert(one_shot(&lab, &[(3, 1, Some(3)), (4, 1, Some(4))]))
        .expect("an insert");
    lab.tap.set_port(4, false).expect("a port");
    assert_eq!(ports(&lab, 0..2), [3, 3]);
    lab.tap.set_port(4, true).expect("a port");
    assert_eq!(ports(&lab, 0..2), [3, 4]);
}

#[test]
fn a_selector_is_programmed_in_one_way() {
    let (lab, _client) = primary();
    lab.insert(one_shot(&lab, &[(3, 1, None)]))
        .expect("an insert");
    assert_eq!(
        lab.insert(member(&lab, "members", 1, 3)),
        Err(Code::InvalidArgument)
    );
    assert_eq!(lab.insert(group(&lab, 1, &[])), Err(Code::InvalidArgument));
    let other = leads(&lab, "balance", 2, TableActionKind::Member(1));
    assert_eq!(lab.insert(other), Err(Code::InvalidArgument));
    lab.delete(one_shot(&lab, &[])).expect("a deletion");
    lab.insert(member(&lab, "members", 1, 3))
        .expect("an insert");
    let done = lab.insert(one_shot(&lab, &[(3, 1, None)]));
    assert_eq!(done, Err(Code::InvalidArgument));
}

#[test]
fn a_one_shot_has_weights_and_a_size_that_fit() {
    let (lab, _client) = primary();
    for actions in [
        &[(3, 0, None)][..],
        &[(3, 5, None)],
        &[(3, 3, None), (4, 2, None)],
    ] {
        let done = lab.insert(one_shot(&lab, actions));
        assert_eq!(done, Err(Code::InvalidArgument), "{actions:?}");
    }
    let bad = lab.insert(leads(
        &lab,
        "indirect",
        1,
        TableActionKind::OneShot(set(&lab, &[(3, 1, None)])),
    ));
    assert_eq!(bad, Err(Code::InvalidArgument), "no selector");
}

#[test]
fn selection_modes_beyond_the_selectors_own_are_refused() {
    let (lab, _client) = primary();
    let with = |mode, semantics, group_action| {
        let set = ActionProfileActionSet {
            action_selection_mode: mode,
            size_semantics: semantics,
            group_action,
            ..set(&lab, &[(3, 1, None)])
        };
        lab.insert(leads(&lab, "balance", 1, TableActionKind::OneShot(set)))
    };
    assert_eq!(with(2, 0, None), Err(Code::Unimplemented));
    assert_eq!(with(0, 2, None), Err(Code::Unimplemented));
    let base = Some(lab.action("drop", &[]));
    assert_eq!(with(0, 0, base), Err(Code::Unimplemented));
    assert_eq!(with(1, 1, None), Ok(()), "what the selector does anyway");
}
