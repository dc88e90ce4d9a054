//! If this fails, clients take entries for idle that packets still hit, or wait for ever for one whose
//! time is over.

use crate::support;

use p4_arch::Time;
use p4_bfrt::messages::*;
use p4_bfrt::server::ALL_PIPES;
use support::world::{exact, stream, update, World, NOTHING};

const BODY: &str = r#"
    action hit(PortId_t port) { ig_tm_md.ucast_egress_port = port; }
    table forward {
        key = { hdr.ethernet.dst_addr : exact; }
        actions = { hit; @defaultonly NoAction; }
        const default_action = NoAction();
        idle_timeout = true;
    }
    apply { forward.apply(); }
"#;

fn world() -> World {
    let blocks = [support::PARSER, support::DEPARSER];
    let program = support::around(&blocks, "SwitchIngress", BODY);
    World::new(support::compile(&program))
}

const TABLE: &str = "pipe.SwitchIngress.forward";

fn forward(world: &World, dst: u8, extra: Vec<DataField>) -> TableEntry {
    let table = world.schema.table_named(TABLE).expect("the table");
    let hit = table.action_named("SwitchIngress.hit").expect("the action");
    TableEntry {
        table_id: table.id,
        name: Some(EntryName::Key(TableKey {
            fields: vec![exact(1, &[0, 0, 0, 0, 0, dst])],
        })),
        data: Some(TableData {
            action_id: hit.id,
            fields: [vec![stream(1, &[0, 4])], extra].concat(),
        }),
        ..TableEntry::default()
    }
}

fn field(world: &World, name: &str) -> u32 {
    let table = world.schema.table_named(TABLE).expect("the table");
    let mut fields = table.data.iter().flat_map(|data| &data.one_of);
    fields.find(|own| own.name == name).expect("the field").id
}

fn attribute(world: &World, attribute: Attribute) -> Vec<Update> {
    let kind = EntityKind::Attribute(TableAttribute {
        table_id: world.id(TABLE),
        attribute: Some(attribute),
    });
    vec![Update {
        update_type: UpdateType::Insert as i32,
        entity: Some(Entity { kind: Some(kind) }),
    }]
}

fn idle(world: &World, mode: IdleMode, enable: bool, interval: u32) -> Vec<Update> {
    let idle = IdleTable {
        ttl_query_interval: interval,
        max_ttl: 3_600_000,
        min_ttl: 1000,
        mode: mode as i32,
        enable,
    };
    attribute(world, Attribute::IdleTable(idle))
}

/// What an entry shows of this field.
fn shown(world: &World, pipe: u32, dst: u8, name: &str) -> DataValue {
    let asked = TableEntry {
        data: None,
        ..forward(world, dst, Vec::new())
    };
    let found = world.read_in(pipe, asked);
    let id = field(world, name);
    let data = found[0].data.clone().expect("data");
    let mut fields = data.fields.into_iter();
    let own = fields.find(|own| own.field_id == id);
    own.and_then(|own| own.value).expect("a value")
}

#[test]
fn time_passes_interval_by_interval_while_the_table_ages() {
    let mut world = world();
    let id = field(&world, "$ENTRY_TTL");
    let ttl = stream(id, &20_000u32.to_be_bytes());
    let entry = forward(&world, 1, vec![ttl]);
    assert_eq!(
        world.write(idle(&world, IdleMode::Notify, false, 1000)),
        NOTHING
    );
    assert_eq!(
        world.write(vec![update(UpdateType::Insert, entry)]),
        NOTHING
    );
    assert_eq!(world.send(1, 0), [4]);
    let left = |world: &World| match shown(world, ALL_PIPES, 1, "$ENTRY_TTL") {
        DataValue::Stream(bytes) => bytes.iter().fold(0, |sum, own| sum << 8 | u32::from(*own)),
        other => panic!("{other:?}"),
    };
    // When, what a client says then, and what is left before and after it.
    let steps = [
        (4_900, Some((true, 1000)), 20_000),
        (7_950, None, 17_000),
        (9_999, Some((true, 10_000)), 15_000),
        (15_000, Some((true, 1000)), 15_000),
        (22_100, Some((false, 1000)), 8_000),
        (90_000, Some((true, 1000)), 8_000),
        (93_500, None, 5_000),
        (99_000, None, 0),
    ];
    for (at, said, expected) in steps {
        world.now = Time::from_picos(at * 1_000_000_000);
        assert_eq!(left(&world), expected, "at {at} ms");
        if let Some((enable, interval)) = said {
            let update = idle(&world, IdleMode::Notify, enable, interval);
            assert_eq!(world.write(update), NOTHING);
            assert_eq!(left(&world), expected, "after {at} ms");
        }
    }
    // A hit gives it all its time again.
    assert_eq!(world.send(1, 0), [4]);
    assert_eq!(left(&world), 20_000);
}

#[test]
fn each_pipe_has_hits_of_its_own() {
    let mut world = world();
    let mode = Mode {
        sharing: Some(Sharing::Predefined(Predefined::Single as i32)),
        args: 0xff,
    };
    let scope = EntryScope {
        pipe: Some(mode),
        ..EntryScope::default()
    };
    assert_eq!(world.write(idle(&world, IdleMode::Poll, true, 0)), NOTHING);
    let divide = attribute(&world, Attribute::EntryScope(scope));
    assert_eq!(world.write(divide), NOTHING);
    for pipe in 0..4 {
        let entry = update(UpdateType::Insert, forward(&world, 1, Vec::new()));
        let codes = world.write_in(pipe, vec![entry], Atomicity::ContinueOnError);
        assert_eq!(codes, NOTHING);
    }
    let fetch = EntityKind::Operation(TableOperation {
        table_id: world.id(TABLE),
        operation: "UpdateHitState".to_string(),
    });
    let fetch = vec![Update {
        update_type: UpdateType::Insert as i32,
        entity: Some(Entity { kind: Some(fetch) }),
    }];
    let states = |world: &World| {
        let hit = DataValue::Text("ENTRY_ACTIVE".to_string());
        [0, 1, 2, 3].map(|pipe| shown(world, pipe, 1, "$ENTRY_HIT_STATE") == hit)
    };
    for port in [1, 385] {
        assert_eq!(world.send_from(port, 1, 0), [4]);
    }
    assert_eq!(world.write(fetch.clone()), NOTHING);
    assert_eq!(states(&world), [true, false, false, true]);
    // The driver does it for all pipes, whatever the target: tna_idletimeout of the SDE counts on it.
    let codes = world.write_in(3, fetch, Atomicity::ContinueOnError);
    assert_eq!(codes, NOTHING);
    assert_eq!(states(&world), [false; 4]);
}

#[test]
fn the_default_entry_has_a_handle() {
    let mut world = world();
    let entry = forward(&world, 1, Vec::new());
    world.write(vec![update(UpdateType::Insert, entry.clone())]);
    let by = |handle| TableEntry {
        name: Some(EntryName::Handle(handle)),
        data: None,
        table_flags: Some(TableFlags {
            from_hw: true,
            ..TableFlags::default()
        }),
        ..entry.clone()
    };
    let action = |world: &World, handle| {
        let found = world.read_in(ALL_PIPES, by(handle));
        let table = world.schema.table_named(TABLE).expect("the table");
        let data = found[0].data.clone().expect("data");
        table
            .action(data.action_id)
            .expect("an action")
            .name
            .clone()
    };
    assert_eq!(action(&world, 1), "NoAction");
    assert_eq!(action(&world, 2), "SwitchIngress.hit");
}
