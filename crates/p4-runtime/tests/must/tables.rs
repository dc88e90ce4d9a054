//! Sections 8.3 and 9.1: bytestrings and table entries.

use crate::support::*;
use p4_runtime::messages::*;
use p4_runtime::Code;

fn primary() -> (Lab, Client) {
    let lab = lab();
    let client = lab.arbitrated(1);
    (lab, client)
}

fn acl(lab: &Lab, matches: Vec<(u32, FieldMatchKind)>, priority: i32) -> TableEntry {
    let one = |(field_id, kind)| FieldMatch {
        field_id,
        field_match_type: Some(kind),
    };
    TableEntry {
        r#match: matches.into_iter().map(one).collect(),
        priority,
        ..lab.entry("acl", vec![], lab.action("drop", &[]))
    }
}

fn raw_l2(lab: &Lab, value: &[u8]) -> TableEntry {
    let exact = FieldMatchKind::Exact(Exact {
        value: value.to_vec().into(),
    });
    lab.entry("l2", vec![exact], lab.action("forward", &[2]))
}

#[test]
fn bytestrings_of_any_length_are_taken_if_the_value_fits() {
    let (lab, _client) = primary();
    for (value, expected) in [
        (&[0x63][..], Ok(())),
        (&[0, 0, 0, 0, 0, 0, 0, 0x64][..], Ok(())),
        (&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..], Ok(())),
        (&[1, 0, 0, 0, 0, 0, 0][..], Err(Code::InvalidArgument)),
        (&[][..], Err(Code::InvalidArgument)),
    ] {
        let done = lab.insert(EntityKind::Table(raw_l2(&lab, value)));
        assert_eq!(done, expected, "{value:?}");
    }
}

#[test]
fn replies_have_the_shortest_bytestrings() {
    let (lab, _client) = primary();
    let mut entry = raw_l2(&lab, &[0, 0, 0, 0, 1, 0]);
    let Some(TableActionKind::Action(action)) =
        &mut entry.action.as_mut().expect("an action").r#type
    else {
        unreachable!("an action")
    };
    action.params[0].value = vec![0, 0, 2].into();
    lab.insert(EntityKind::Table(entry)).expect("an insert");
    let read = lab.read_entry(TableEntry {
        table_id: lab.id("l2"),
        ..TableEntry::default()
    });
    assert_eq!(read, lab.l2(0x100, 2));
}

#[test]
fn an_entry_matches_and_acts() {
    let (lab, _client) = primary();
    lab.insert(EntityKind::Table(lab.l2(5, 3)))
        .expect("an insert");
    let ports = |dst| -> Vec<u16> {
        let sent = lab.send(1, &frame(dst, 9, 0));
        sent.into_iter().map(|(port, _)| port).collect()
    };
    assert_eq!((ports(5), ports(6)), (vec![3], vec![0]));
    lab.modify(EntityKind::Table(lab.l2(5, 4)))
        .expect("a modification");
    assert_eq!(ports(5), [4]);
    lab.delete(EntityKind::Table(lab.l2(5, 0)))
        .expect("a deletion");
    assert_eq!(ports(5), [0]);
}

#[test]
fn what_is_there_and_what_is_not() {
    let (lab, _client) = primary();
    let entry = || EntityKind::Table(lab.l2(1, 2));
    assert_eq!(lab.modify(entry()), Err(Code::NotFound));
    assert_eq!(lab.delete(entry()), Err(Code::NotFound));
    assert_eq!(lab.insert(entry()), Ok(()));
    assert_eq!(lab.insert(entry()), Err(Code::AlreadyExists));
    assert_eq!(lab.delete(entry()), Ok(()));
}

#[test]
fn a_full_table_says_so() {
    let (lab, _client) = primary();
    let prefix = |n: u64| {
        lab.entry(
            "prefixes",
            vec![lpm(n << 40, 8)],
            lab.action("metered", &[1]),
        )
    };
    for n in 1..=4 {
        lab.insert(EntityKind::Table(prefix(n))).expect("room");
    }
    let done = lab.insert(EntityKind::Table(prefix(5)));
    assert_eq!(done, Err(Code::ResourceExhausted));
}

#[test]
fn priorities_are_for_tables_with_general_keys() {
    let (lab, _client) = primary();
    let entry = |priority| EntityKind::Table(acl(&lab, vec![(1, ternary(1, 1))], priority));
    assert_eq!(lab.insert(entry(0)), Err(Code::InvalidArgument));
    assert_eq!(lab.insert(entry(-1)), Err(Code::InvalidArgument));
    assert_eq!(lab.insert(entry(1)), Ok(()));
    let with_priority = TableEntry {
        priority: 1,
        ..lab.l2(1, 2)
    };
    let done = lab.insert(EntityKind::Table(with_priority));
    assert_eq!(done, Err(Code::InvalidArgument));
}

#[test]
fn the_larger_priority_wins() {
    let (lab, _client) = primary();
    let to = |mask, priority, port| TableEntry {
        priority,
        ..lab.entry(
            "acl",
            vec![ternary(mask, mask)],
            lab.action("plain", &[port]),
        )
    };
    lab.insert(EntityKind::Table(to(1, 10, 3)))
        .expect("an insert");
    lab.insert(EntityKind::Table(to(3, 20, 4)))
        .expect("an insert");
    let ports = |dst| lab.send(1, &frame(dst, 9, 0))[0].0;
    assert_eq!((ports(1), ports(3)), (3, 4));
}

#[test]
fn a_keyless_table_takes_no_entries() {
    let (lab, _client) = primary();
    let entry = lab.entry("keyless", vec![], lab.action("drop", &[]));
    let done = lab.insert(EntityKind::Table(entry));
    assert_eq!(done, Err(Code::InvalidArgument));
}

#[test]
fn is_const_is_not_the_clients_to_set() {
    let (lab, _client) = primary();
    let entry = || {
        EntityKind::Table(TableEntry {
            is_const: true,
            ..lab.l2(1, 2)
        })
    };
    assert_eq!(lab.insert(entry()), Err(Code::InvalidArgument));
    assert_eq!(lab.modify(entry()), Err(Code::InvalidArgument));
    assert_eq!(lab.delete(entry()), Err(Code::InvalidArgument));
}

#[test]
fn a_delete_looks_at_the_key_alone() {
    let (lab, _client) = primary();
    lab.insert(EntityKind::Table(lab.l2(1, 2)))
        .expect("an insert");
    let mut entry = lab.l2(1, 2);
    entry.action = Some(TableAction {
        r#type: Some(TableActionKind::Member(77)),
    });
    entry.metadata = b"nonsense".to_vec();
    entry.idle_timeout_ns = -1;
    assert_eq!(lab.delete(EntityKind::Table(entry)), Ok(()));
}

#[test]
fn a_match_field_has_a_known_id_and_a_match_of_its_kind() {
    let (lab, _client) = primary();
    let insert = |matches| lab.insert(EntityKind::Table(acl(&lab, matches, 1)));
    assert_eq!(insert(vec![(9, ternary(1, 1))]), Err(Code::InvalidArgument));
    assert_eq!(
        insert(vec![(1, lpm(1 << 47, 1))]),
        Err(Code::InvalidArgument)
    );
    let twice = vec![(1, ternary(1, 1)), (1, ternary(2, 2))];
    assert_eq!(insert(twice), Err(Code::InvalidArgument));
    let mut unset = acl(&lab, vec![], 1);
    unset.r#match.push(FieldMatch {
        field_id: 1,
        field_match_type: None,
    });
    assert_eq!(
        lab.insert(EntityKind::Table(unset)),
        Err(Code::InvalidArgument)
    );
}

#[test]
fn exact_fields_cannot_be_left_out() {
    let (lab, _client) = primary();
    let entry = lab.entry("l2", vec![], lab.action("drop", &[]));
    let done = lab.insert(EntityKind::Table(entry));
    assert_eq!(done, Err(Code::InvalidArgument));
}

#[test]
fn an_lpm_match_has_a_prefix_and_no_bit_beyond_it() {
    let (lab, _client) = primary();
    let insert = |value, length| {
        let entry = lab.entry(
            "prefixes",
            vec![lpm(value, length)],
            lab.action("NoAction", &[]),
        );
        lab.insert(EntityKind::Table(entry))
    };
    assert_eq!(insert(0, 0), Err(Code::InvalidArgument));
    assert_eq!(insert(0, -1), Err(Code::InvalidArgument));
    assert_eq!(insert(0, 49), Err(Code::InvalidArgument));
    assert_eq!(insert(1 << 40 | 1, 8), Err(Code::InvalidArgument));
    assert_eq!(insert(1 << 40, 8), Ok(()));
    let all = lab.entry("prefixes", vec![], lab.action("NoAction", &[]));
    assert_eq!(
        lab.insert(EntityKind::Table(all)),
        Ok(()),
        "anything: left out"
    );
}

#[test]
fn a_ternary_match_has_a_mask_and_no_bit_outside() {
    let (lab, _client) = primary();
    let insert = |kind| lab.insert(EntityKind::Table(acl(&lab, vec![(1, kind)], 1)));
    assert_eq!(insert(ternary(0, 0)), Err(Code::InvalidArgument));
    assert_eq!(insert(ternary(3, 1)), Err(Code::InvalidArgument));
    assert_eq!(insert(ternary(1, 3)), Ok(()));
}

#[test]
fn a_range_ends_after_it_begins_and_does_not_hold_all() {
    let (lab, _client) = primary();
    let insert =
        |low, high| lab.insert(EntityKind::Table(acl(&lab, vec![(2, range(low, high))], 1)));
    assert_eq!(insert(2, 1), Err(Code::InvalidArgument));
    assert_eq!(insert(0, 0xffff), Err(Code::InvalidArgument));
    assert_eq!(insert(1, 0x1_0000), Err(Code::InvalidArgument));
    assert_eq!(insert(0, 0xfffe), Ok(()));
    assert_eq!(insert(5, 5), Ok(()));
}

#[test]
fn an_optional_match_has_a_value_that_fits() {
    let (lab, _client) = primary();
    let insert = |value| lab.insert(EntityKind::Table(acl(&lab, vec![(3, optional(value))], 1)));
    assert_eq!(insert(512), Err(Code::InvalidArgument));
    assert_eq!(insert(511), Ok(()));
}

#[test]
fn every_match_kind_is_read_as_it_was_written() {
    let (lab, _client) = primary();
    let entries = [
        acl(
            &lab,
            vec![(1, ternary(1, 3)), (2, range(5, 5)), (3, optional(1))],
            7,
        ),
        acl(&lab, vec![(2, range(1, 9))], 6),
        acl(
            &lab,
            vec![(1, ternary(0xffff_ffff_ffff, 0xffff_ffff_ffff))],
            5,
        ),
        acl(&lab, vec![], 4),
        lab.entry(
            "prefixes",
            vec![lpm(0xab << 40, 8)],
            lab.action("metered", &[1]),
        ),
        lab.l2(0, 0),
    ];
    for entry in &entries {
        lab.insert(EntityKind::Table(entry.clone()))
            .expect("an insert");
    }
    let found = lab
        .read(EntityKind::Table(TableEntry::default()))
        .expect("a read");
    for entry in entries {
        assert!(
            found.contains(&EntityKind::Table(entry.clone())),
            "{entry:?} in {found:?}"
        );
    }
    assert_eq!(found.len(), 9, "and the program's own three entries");
}

#[test]
fn an_insert_needs_an_action_of_the_table() {
    let (lab, _client) = primary();
    let mut entry = lab.l2(1, 2);
    entry.action = None;
    assert_eq!(
        lab.insert(EntityKind::Table(entry.clone())),
        Err(Code::InvalidArgument)
    );
    entry.action = Some(TableAction { r#type: None });
    assert_eq!(
        lab.insert(EntityKind::Table(entry)),
        Err(Code::InvalidArgument)
    );
    let other = lab.entry("l2", vec![exact(1)], lab.action("to_cpu", &[]));
    assert_eq!(
        lab.insert(EntityKind::Table(other)),
        Err(Code::InvalidArgument)
    );
    let unknown = Action {
        action_id: 1,
        params: vec![],
    };
    let unknown = lab.entry("l2", vec![exact(1)], unknown);
    assert_eq!(
        lab.insert(EntityKind::Table(unknown)),
        Err(Code::InvalidArgument)
    );
}

#[test]
fn a_direct_table_takes_no_members() {
    let (lab, _client) = primary();
    for kind in [TableActionKind::Member(1), TableActionKind::Group(1)] {
        let mut entry = lab.l2(1, 2);
        entry.action = Some(TableAction { r#type: Some(kind) });
        assert_eq!(
            lab.insert(EntityKind::Table(entry)),
            Err(Code::InvalidArgument)
        );
    }
    let direct = lab.entry("indirect", vec![exact(1)], lab.action("drop", &[]));
    assert_eq!(
        lab.insert(EntityKind::Table(direct)),
        Err(Code::InvalidArgument)
    );
}

#[test]
fn an_action_is_used_within_its_scope() {
    let (lab, _client) = primary();
    let entry = lab.entry("l2", vec![exact(1)], lab.action("NoAction", &[]));
    let done = lab.insert(EntityKind::Table(entry));
    assert_eq!(done, Err(Code::PermissionDenied), "default only");
    let default = TableEntry {
        is_default_action: true,
        ..lab.entry("l2", vec![], lab.action("plain", &[1]))
    };
    let done = lab.modify(EntityKind::Table(default));
    assert_eq!(done, Err(Code::PermissionDenied), "table only");
}

#[test]
fn each_parameter_of_an_action_has_one_value_that_fits() {
    let (lab, _client) = primary();
    let id = lab.id("forward");
    let param = |param_id, value: &[u8]| Param {
        param_id,
        value: value.to_vec().into(),
    };
    for params in [
        vec![],
        vec![param(1, &[1]), param(2, &[1])],
        vec![param(1, &[1]), param(1, &[1])],
        vec![param(1, &[])],
        vec![param(1, &[2, 0])],
    ] {
        let action = Action {
            action_id: id,
            params,
        };
        let entry = lab.entry("l2", vec![exact(1)], action);
        let done = lab.insert(EntityKind::Table(entry.clone()));
        assert_eq!(done, Err(Code::InvalidArgument), "{entry:?}");
    }
}

#[test]
fn a_modify_without_an_action_leaves_the_action() {
    let (lab, _client) = primary();
    lab.insert(EntityKind::Table(lab.l2(1, 2)))
        .expect("an insert");
    let mut entry = lab.l2(1, 2);
    entry.action = None;
    assert_eq!(lab.modify(EntityKind::Table(entry.clone())), Ok(()));
    let read = lab.read_entry(entry);
    assert_eq!(read, lab.l2(1, 2));
    let mut other = lab.l2(3, 2);
    other.action = None;
    assert_eq!(lab.modify(EntityKind::Table(other)), Err(Code::NotFound));
}

fn default_of(lab: &Lab, table: &str, action: Option<Action>) -> TableEntry {
    TableEntry {
        table_id: lab.id(table),
        is_default_action: true,
        action: action.map(|action| TableAction {
            r#type: Some(TableActionKind::Action(action)),
        }),
        ..TableEntry::default()
    }
}

#[test]
fn a_default_entry_can_only_be_modified() {
    let (lab, _client) = primary();
    let drop = || default_of(&lab, "l2", Some(lab.action("drop", &[])));
    assert_eq!(
        lab.insert(EntityKind::Table(drop())),
        Err(Code::InvalidArgument)
    );
    assert_eq!(
        lab.delete(EntityKind::Table(drop())),
        Err(Code::InvalidArgument)
    );
    assert_eq!(lab.modify(EntityKind::Table(drop())), Ok(()));
    assert_eq!(lab.send(1, &frame(1, 2, 3)), []);
    assert_eq!(lab.read_entry(default_of(&lab, "l2", None)), drop());
}

#[test]
fn a_default_entry_has_no_match_and_no_priority() {
    let (lab, _client) = primary();
    let drop = default_of(&lab, "l2", Some(lab.action("drop", &[])));
    let matched = TableEntry {
        r#match: lab.l2(1, 1).r#match,
        ..drop.clone()
    };
    assert_eq!(
        lab.modify(EntityKind::Table(matched)),
        Err(Code::InvalidArgument)
    );
    let priority = TableEntry {
        priority: 1,
        ..drop
    };
    assert_eq!(
        lab.modify(EntityKind::Table(priority)),
        Err(Code::InvalidArgument)
    );
}

#[test]
fn a_default_entry_without_action_goes_back_to_the_programs() {
    let (lab, _client) = primary();
    let drop = TableEntry {
        metadata: b"mine".to_vec(),
        ..default_of(&lab, "l2", Some(lab.action("drop", &[])))
    };
    lab.modify(EntityKind::Table(drop)).expect("a modification");
    lab.modify(EntityKind::Table(default_of(&lab, "l2", None)))
        .expect("a reset");
    let read = lab.read_entry(default_of(&lab, "l2", None));
    assert_eq!(
        read,
        default_of(&lab, "l2", Some(lab.action("NoAction", &[])))
    );
}

#[test]
fn a_const_default_entry_is_the_programs() {
    let (lab, _client) = primary();
    let other = default_of(&lab, "prefixes", Some(lab.action("NoAction", &[])));
    let done = lab.modify(EntityKind::Table(other));
    assert_eq!(done, Err(Code::PermissionDenied));
}

#[test]
fn a_const_table_takes_no_changes() {
    let (lab, _client) = primary();
    let entry = |kind| lab.entry("fixed", vec![exact(kind)], lab.action("plain", &[1]));
    let denied = Err(Code::PermissionDenied);
    assert_eq!(lab.insert(EntityKind::Table(entry(0x2222))), denied);
    assert_eq!(lab.modify(EntityKind::Table(entry(0x1111))), denied);
    assert_eq!(lab.delete(EntityKind::Table(entry(0x1111))), denied);
    let default = default_of(&lab, "fixed", Some(lab.action("plain", &[1])));
    assert_eq!(
        lab.modify(EntityKind::Table(default)),
        Ok(()),
        "its default is not const"
    );
}

#[test]
fn entries_of_a_const_table_are_read() {
    let (lab, _client) = primary();
    let read = lab.read_entry(TableEntry {
        table_id: lab.id("fixed"),
        ..TableEntry::default()
    });
    let expected = TableEntry {
        is_const: true,
        ..lab.entry("fixed", vec![exact(0x1111)], lab.action("plain", &[11]))
    };
    assert_eq!(read, expected);
}

#[test]
fn an_entry_that_is_const_itself_is_the_programs() {
    let (lab, _client) = primary();
    let entry = |kind| lab.entry("mixed", vec![exact(kind)], lab.action("plain", &[1]));
    let read = |kind| {
        lab.read_entry(TableEntry {
            action: None,
            ..entry(kind)
        })
    };
    assert!(read(0x1111).is_const);
    assert!(!read(0x2222).is_const);
    let denied = Err(Code::PermissionDenied);
    assert_eq!(lab.modify(EntityKind::Table(entry(0x1111))), denied);
    assert_eq!(lab.delete(EntityKind::Table(entry(0x1111))), denied);
    assert_eq!(lab.modify(EntityKind::Table(entry(0x2222))), Ok(()));
    assert_eq!(lab.delete(EntityKind::Table(entry(0x2222))), Ok(()));
}

#[test]
fn metadata_is_returned_and_filtered_by() {
    let (lab, _client) = primary();
    let with = |dst, metadata: &[u8], cookie| TableEntry {
        metadata: metadata.to_vec(),
        controller_metadata: cookie,
        ..lab.l2(dst, 2)
    };
    let entries = [with(1, b"one", 0), with(2, b"two", 7), with(3, b"", 0)];
    for entry in &entries {
        lab.insert(EntityKind::Table(entry.clone()))
            .expect("an insert");
    }
    let read = |metadata: &[u8], cookie| {
        let filter = TableEntry {
            table_id: lab.id("l2"),
            metadata: metadata.to_vec(),
            controller_metadata: cookie,
            ..TableEntry::default()
        };
        lab.read(EntityKind::Table(filter)).expect("a read")
    };
    let all: Vec<_> = entries.iter().cloned().map(EntityKind::Table).collect();
    assert_eq!(read(b"", 0), all);
    assert_eq!(read(b"one", 0), all[..1]);
    assert_eq!(read(b"", 7), all[1..2]);
    lab.modify(EntityKind::Table(with(1, b"", 0)))
        .expect("a modification");
    assert_eq!(read(b"one", 0), []);
    lab.delete(EntityKind::Table(lab.l2(2, 2)))
        .expect("a deletion");
    lab.insert(EntityKind::Table(lab.l2(2, 2)))
        .expect("an insert");
    assert_eq!(read(b"", 7), [], "nothing is left of the entry before");
}

#[test]
fn reads_filter_by_match_priority_and_action() {
    let (lab, _client) = primary();
    let entries = [
        acl(&lab, vec![(1, ternary(1, 1))], 1),
        acl(&lab, vec![(1, ternary(1, 1))], 2),
        TableEntry {
            priority: 2,
            ..lab.entry("acl", vec![ternary(2, 2)], lab.action("to_cpu", &[]))
        },
    ];
    for entry in &entries {
        lab.insert(EntityKind::Table(entry.clone()))
            .expect("an insert");
    }
    let count = |filter: TableEntry| {
        let filter = TableEntry {
            table_id: lab.id("acl"),
            ..filter
        };
        lab.read(EntityKind::Table(filter)).map(|found| found.len())
    };
    let key = entries[0].r#match.clone();
    assert_eq!(
        count(TableEntry {
            r#match: key.clone(),
            ..TableEntry::default()
        }),
        Ok(2)
    );
    assert_eq!(
        count(TableEntry {
            r#match: key,
            priority: 2,
            ..TableEntry::default()
        }),
        Ok(1)
    );
    assert_eq!(
        count(TableEntry {
            priority: 2,
            ..TableEntry::default()
        }),
        Ok(2)
    );
    let to_cpu = entries[2].action.clone();
    assert_eq!(
        count(TableEntry {
            action: to_cpu,
            ..TableEntry::default()
        }),
        Ok(1)
    );
    let unknown = acl(&lab, vec![(9, ternary(1, 1))], 0);
    assert_eq!(count(unknown), Err(Code::InvalidArgument));
    let nothing = acl(&lab, vec![(1, ternary(4, 4))], 1);
    assert_eq!(count(nothing), Ok(0));
}

#[test]
fn an_unknown_table_or_an_empty_entity_is_refused() {
    let (lab, _client) = primary();
    let unknown = TableEntry {
        table_id: 0x0200_0001,
        ..TableEntry::default()
    };
    let read = lab.read(EntityKind::Table(unknown.clone()));
    assert_eq!(read, Err(Code::InvalidArgument));
    assert_eq!(
        lab.insert(EntityKind::Table(unknown)),
        Err(Code::InvalidArgument)
    );
    let request = ReadRequest {
        device_id: DEVICE,
        entities: vec![Entity { entity: None }],
        ..ReadRequest::default()
    };
    let done = lab.server.read(&request, |_| panic!("nothing to find"));
    assert_eq!(code(done), Err(Code::InvalidArgument));
}
