//! If this fails, what a controller writes over BF Runtime is not what the switch does, or not what
//! it reads back; or a mistake in a request costs entries.

use crate::support;

use p4_arch::Port;
use p4_bfrt::messages::*;
use p4_bfrt::server::{Done, ALL_PIPES};
use support::world::{exact, stream, update, World, NOTHING};

const HIT: u32 = 32848556;

/// An entry of `forward`: packets to `dst` from `src` (with this mask) leave at `port`.
fn forward(dst: u8, src: (u8, u8), priority: u8, port: u8) -> TableEntry {
    let ternary = Ternary {
        value: vec![0, 0, 0, 0, 0, src.0],
        mask: vec![0, 0, 0, 0, 0, src.1],
    };
    let key = vec![
        exact(1, &[0, 0, 0, 0, 0, dst]),
        KeyField {
            field_id: 2,
            value: Some(KeyValue::Ternary(ternary)),
        },
        exact(65537, &[0, 0, 0, priority]),
    ];
    TableEntry {
        table_id: 37882547,
        name: Some(EntryName::Key(TableKey { fields: key })),
        data: Some(TableData {
            action_id: HIT,
            fields: vec![stream(1, &[0, port])],
        }),
        ..TableEntry::default()
    }
}

#[test]
fn what_is_written_is_read_back_and_forwards() {
    let mut world = World::new(support::compiled());
    let entries = [forward(1, (2, 255), 5, 4), forward(3, (0, 0), 5, 7)];
    let updates = entries
        .iter()
        .map(|own| update(UpdateType::Insert, own.clone()));
    assert_eq!(world.write(updates.collect()), NOTHING);
    assert_eq!((world.send(1, 2), world.send(3, 9)), (vec![4], vec![7]));
    assert_eq!(world.send(1, 9), Vec::<Port>::new());
    let all = world.read_in(
        ALL_PIPES,
        TableEntry {
            table_id: 37882547,
            ..TableEntry::default()
        },
    );
    let keys: Vec<_> = all.iter().map(|own| own.name.clone()).collect();
    assert_eq!(
        keys,
        entries
            .iter()
            .map(|own| own.name.clone())
            .collect::<Vec<_>>()
    );
    let data = all[0].data.clone().expect("data");
    assert_eq!(data.action_id, HIT);
    assert_eq!(data.fields[0], stream(1, &[0, 4]));
}

#[test]
fn drivers_know_the_counts_that_they_fetched() {
    let mut world = World::new(support::compiled());
    let entry = forward(1, (2, 255), 5, 4);
    world.write(vec![update(UpdateType::Insert, entry.clone())]);
    let packets = |world: &World, from_hw| {
        let asked = TableEntry {
            table_flags: Some(TableFlags {
                from_hw,
                ..TableFlags::default()
            }),
            data: None,
            ..entry.clone()
        };
        let found = world.read_in(ALL_PIPES, asked);
        found[0].data.clone().expect("data").fields[2].clone()
    };
    let count = |packets| stream(65554, &[0, 0, 0, 0, 0, 0, 0, packets]);
    world.send(1, 2);
    world.send(1, 2);
    assert_eq!(
        [packets(&world, true), packets(&world, false)],
        [count(2), count(0)]
    );
    let sync = EntityKind::Operation(TableOperation {
        table_id: entry.table_id,
        operation: "SyncCounters".to_string(),
    });
    let sync = Update {
        update_type: UpdateType::Insert as i32,
        entity: Some(Entity { kind: Some(sync) }),
    };
    assert_eq!(world.write(vec![sync]), NOTHING);
    world.send(1, 2);
    assert_eq!(
        [packets(&world, true), packets(&world, false)],
        [count(3), count(2)]
    );
    // What a client sets, it reads.
    let mut nine = entry.clone();
    nine.data = Some(TableData {
        action_id: HIT,
        fields: vec![count(9)],
    });
    assert_eq!(world.write(vec![update(UpdateType::Modify, nine)]), NOTHING);
    assert_eq!(
        [packets(&world, true), packets(&world, false)],
        [count(9), count(9)]
    );
}

#[test]
fn a_lenient_client_is_told_what_was_there() {
    let mut world = World::new(support::compiled());
    let here = |kind| update(kind, forward(1, (0, 0), 1, 4));
    let gone = update(UpdateType::Delete, forward(9, (0, 0), 1, 4));
    let either = vec![
        here(UpdateType::InsertOrModify),
        here(UpdateType::InsertOrModify),
    ];
    let each = Atomicity::ContinueOnError;
    let done = world.results(ALL_PIPES, either, each, true);
    assert_eq!(done, [Ok(Done::AsAsked), Ok(Done::Modified)]);
    // All or none: that one of them is not there does not keep the other.
    let batch = vec![gone.clone(), here(UpdateType::Delete)];
    let together = Atomicity::RollbackOnError;
    assert_eq!(world.write_in(ALL_PIPES, batch.clone(), together), [5, 0]);
    let done = world.results(ALL_PIPES, batch, together, true);
    assert_eq!(done, [Ok(Done::Absent), Ok(Done::AsAsked)]);
    assert_eq!(world.send(1, 0), Vec::<Port>::new());
    let done = world.results(ALL_PIPES, vec![gone], each, true);
    assert_eq!(done, [Ok(Done::Absent)]);
}

#[test]
fn what_an_action_is_not_given_is_0() {
    let mut world = World::new(support::compiled());
    let mut bare = forward(1, (0, 0), 1, 4);
    bare.data = Some(TableData {
        action_id: HIT,
        fields: Vec::new(),
    });
    assert_eq!(world.write(vec![update(UpdateType::Insert, bare)]), NOTHING);
    assert_eq!(world.send(1, 0), [0]);
}

#[test]
fn a_read_without_a_key_gives_the_entries_with_the_action() {
    const NO_ACTION: u32 = 21257015;
    let mut world = World::new(support::compiled());
    let insert = update(UpdateType::Insert, forward(1, (2, 255), 5, 4));
    assert_eq!(world.write(vec![insert]), NOTHING);
    for (action_id, found) in [(HIT, 1), (0, 1), (NO_ACTION, 0)] {
        let asked = TableEntry {
            table_id: 37882547,
            data: Some(TableData {
                action_id,
                fields: Vec::new(),
            }),
            ..TableEntry::default()
        };
        assert_eq!(world.read_in(ALL_PIPES, asked).len(), found);
    }
}

#[test]
fn the_smaller_priority_goes_first() {
    let mut world = World::new(support::compiled());
    let entries = [
        forward(1, (0, 0), 9, 4),
        forward(1, (2, 255), 3, 7),
        forward(1, (2, 3), 6, 8),
    ];
    world.write(entries.map(|own| update(UpdateType::Insert, own)).into());
    assert_eq!(
        (world.send(1, 2), world.send(1, 6), world.send(1, 1)),
        (vec![7], vec![8], vec![4])
    );
}

#[test]
fn a_mistake_costs_no_other_entry() {
    let mut world = World::new(support::compiled());
    let mut wide = forward(2, (0, 0), 1, 4);
    if let Some(data) = &mut wide.data {
        data.fields = vec![stream(1, &[2, 0])];
    }
    let batch = |wide: TableEntry| {
        let own = [forward(1, (0, 0), 1, 4), wide, forward(3, (0, 0), 1, 4)];
        own.map(|own| update(UpdateType::Insert, own)).to_vec()
    };
    // All or none: none. Then each for itself: two of three.
    let codes = world.write_in(ALL_PIPES, batch(wide.clone()), Atomicity::RollbackOnError);
    assert_eq!(codes, [0, 3, 0]);
    assert_eq!(world.send(1, 0), Vec::<Port>::new());
    assert_eq!(world.write(batch(wide)), [0, 3, 0]);
    assert_eq!((world.send(1, 0), world.send(3, 0)), (vec![4], vec![4]));
    // The same again is there already; what is not there cannot be taken away.
    let again = update(UpdateType::Insert, forward(1, (0, 0), 1, 4));
    let gone = update(UpdateType::Delete, forward(9, (0, 0), 1, 4));
    assert_eq!(world.write(vec![again, gone]), [6, 5]);
}

#[test]
fn entries_change_and_go() {
    let mut world = World::new(support::compiled());
    world.write(vec![update(UpdateType::Insert, forward(1, (0, 0), 1, 4))]);
    world.write(vec![update(UpdateType::Modify, forward(1, (0, 0), 1, 5))]);
    assert_eq!(world.send(1, 0), [5]);
    let either = [forward(1, (0, 0), 1, 6), forward(2, (0, 0), 1, 7)];
    let either = either.map(|own| update(UpdateType::InsertOrModify, own));
    assert_eq!(world.write(either.into()), NOTHING);
    assert_eq!((world.send(1, 0), world.send(2, 0)), (vec![6], vec![7]));
    let clear = TableEntry {
        table_id: 37882547,
        ..TableEntry::default()
    };
    assert_eq!(
        world.write(vec![update(UpdateType::Delete, clear)]),
        NOTHING
    );
    assert_eq!(world.send(1, 0), Vec::<Port>::new());
}

#[test]
fn a_const_default_stays() {
    let mut world = World::new(support::compiled());
    let default = TableEntry {
        is_default_entry: true,
        name: None,
        ..forward(1, (0, 0), 1, 4)
    };
    assert_eq!(world.write(vec![update(UpdateType::Modify, default)]), [7]);
}

#[test]
fn every_pipe_has_cells_of_its_own() {
    let mut world = World::new(support::compiled());
    let id = world.id("pipe.SwitchIngress.cells");
    let cell = |low: u8, high: u8| TableEntry {
        table_id: id,
        name: Some(EntryName::Key(TableKey {
            fields: vec![exact(65557, &[0, 0, 0, 9])],
        })),
        data: Some(TableData {
            action_id: 0,
            fields: vec![stream(1, &[0, 0, 0, low]), stream(2, &[0, 0, 0, high])],
        }),
        ..TableEntry::default()
    };
    world.write(vec![update(UpdateType::Modify, cell(1, 2))]);
    world.write_in(
        3,
        vec![update(UpdateType::Modify, cell(7, 8))],
        Atomicity::ContinueOnError,
    );
    let fields = |pipe| {
        let found = world.read_in(pipe, cell(0, 0));
        found[0].data.clone().expect("data").fields
    };
    let own = |id, values: [u8; 4]| values.map(|value| stream(id, &[0, 0, 0, value]));
    let expected = [own(1, [1, 1, 1, 7]), own(2, [2, 2, 2, 8])].concat();
    assert_eq!(fields(ALL_PIPES), expected);
    assert_eq!(
        fields(3),
        [stream(1, &[0, 0, 0, 7]), stream(2, &[0, 0, 0, 8])]
    );
}

#[test]
fn what_does_not_exist_is_said() {
    let mut world = World::new(support::compiled());
    let nowhere = TableEntry {
        table_id: 77,
        ..forward(1, (0, 0), 1, 4)
    };
    let mut no_action = forward(1, (0, 0), 1, 4);
    no_action.data = Some(TableData {
        action_id: 5,
        fields: Vec::new(),
    });
    let mut odd_key = forward(1, (0, 0), 1, 4);
    odd_key.name = Some(EntryName::Key(TableKey {
        fields: vec![exact(44, &[1])],
    }));
    let mut beyond = forward(1, (0, 0), 1, 4);
    beyond.table_id = world.id("pipe.SwitchIngress.cells");
    let at = vec![exact(65557, &[0, 0, 4, 0])];
    beyond.name = Some(EntryName::Key(TableKey { fields: at }));
    beyond.data = None;
    let wrong = [nowhere, no_action, odd_key, beyond];
    assert_eq!(
        world.write(wrong.map(|own| update(UpdateType::Insert, own)).into()),
        [5, 3, 3, 3]
    );
}
