//! If this fails, what a controller sets of an entry's register or filter does not reach the packets
//! that hit it, reaches those of other entries or pipes, or stays behind when a batch fails.

use crate::support;

use p4_bfrt::messages::*;
use p4_bfrt::server::ALL_PIPES;
use support::world::{exact, stream, update, World, NOTHING};

/// The register's second field is the port; its first one counts. The filter makes a port of 8.
const BODY: &str = r#"
    DirectRegister<pair_t>() cells;
    DirectRegisterAction<pair_t, bit<32>>(cells) turn = {
        void apply(inout pair_t value, out bit<32> rv) {
            rv = value.port;
            value.count = value.count + 1;
        }
    };
    action by_cell() { ig_tm_md.ucast_egress_port = (PortId_t)turn.execute(); }
    table counted {
        key = { hdr.ethernet.dst_addr : exact; }
        actions = { by_cell; }
        registers = cells;
    }
    DirectLpf<bit<8>>() mean;
    action by_mean() { ig_tm_md.ucast_egress_port = (PortId_t)mean.execute(8w8); }
    table filtered {
        key = { hdr.ethernet.src_addr : exact; }
        actions = { by_mean; }
        filters = mean;
    }
    DirectWred<bit<8>>(5, 6) early;
    action by_drop() { ig_tm_md.ucast_egress_port = (PortId_t)early.execute(8w8); }
    table dropped {
        key = { hdr.ethernet.dst_addr : exact; }
        actions = { by_drop; }
        filters = early;
    }
    apply {
        if (!counted.apply().hit) { if (!filtered.apply().hit) { dropped.apply(); } }
    }
"#;

const PAIR: &str = "struct pair_t { bit<32> count; bit<32> port; }";

const LPF: u32 = 65566;
const WRED: u32 = 65570;

fn world() -> World {
    let blocks = [PAIR, support::PARSER, support::DEPARSER];
    World::new(support::compile(&support::around(&blocks, "Ig", BODY)))
}

fn entry(world: &World, table: &str, address: u8, fields: Vec<DataField>) -> TableEntry {
    let table = world.schema.table_named(table).expect("the table");
    let action = table.actions.iter().flatten().next().expect("its action");
    TableEntry {
        table_id: table.id,
        name: Some(EntryName::Key(TableKey {
            fields: vec![exact(table.key[0].id, &[address])],
        })),
        data: Some(TableData {
            action_id: action.id,
            fields,
        }),
        ..TableEntry::default()
    }
}

/// The ids of the register's fields
fn register(world: &World) -> [u32; 2] {
    let table = world.schema.table_named("pipe.Ig.counted").expect("it");
    ["Ig.cells.count", "Ig.cells.port"].map(|name| {
        let mut fields = table.data.iter().flat_map(|own| &own.one_of);
        fields.find(|own| own.name == name).expect("the field").id
    })
}

fn cell(world: &World, count: u8, port: u8) -> Vec<DataField> {
    let [first, second] = register(world);
    vec![stream(first, &[count]), stream(second, &[port])]
}

/// Counts and ports of an entry as the target's pipes have them.
fn shown(world: &World, pipe: u32, address: u8) -> [Vec<u8>; 2] {
    let mut asked = entry(world, "pipe.Ig.counted", address, vec![]);
    asked.table_flags = Some(TableFlags {
        from_hw: true,
        ..TableFlags::default()
    });
    let found = world.read_in(pipe, asked);
    let data = found[0].data.as_ref().expect("data");
    register(world).map(|id| {
        let fields = data.fields.iter().filter(|own| own.field_id == id);
        let low = fields.map(|own| match &own.value {
            Some(DataValue::Stream(bytes)) => bytes[3],
            other => panic!("no number: {other:?}"),
        });
        low.collect()
    })
}

#[test]
fn an_entrys_register_is_set_for_each_pipe_and_counts_in_each() {
    let mut world = world();
    let first = entry(&world, "pipe.Ig.counted", 1, cell(&world, 10, 7));
    let second = entry(&world, "pipe.Ig.counted", 2, cell(&world, 20, 9));
    let both = [first, second].map(|own| update(UpdateType::Insert, own));
    assert_eq!(world.write(both.to_vec()), NOTHING);
    assert_eq!(world.send_from(128, 1, 0), [7]);
    assert_eq!(world.send_from(128, 1, 0), [7]);
    assert_eq!(world.send_from(384, 2, 0), [9]);
    assert_eq!(
        shown(&world, ALL_PIPES, 1),
        [vec![10, 12, 10, 10], vec![7; 4]]
    );
    assert_eq!(
        shown(&world, ALL_PIPES, 2),
        [vec![20, 20, 20, 21], vec![9; 4]]
    );
    assert_eq!(shown(&world, 1, 1), [vec![12], vec![7]]);
    // One field of a cell changes, the other one stays.
    let port = vec![stream(register(&world)[1], &[3])];
    let change = update(
        UpdateType::Modify,
        entry(&world, "pipe.Ig.counted", 1, port),
    );
    assert_eq!(world.write(vec![change]), NOTHING);
    assert_eq!(
        shown(&world, ALL_PIPES, 1),
        [vec![10, 12, 10, 10], vec![3; 4]]
    );
}

#[test]
fn a_new_entry_has_nothing_of_the_one_before() {
    let mut world = world();
    let insert = |world: &World, fields| {
        update(
            UpdateType::Insert,
            entry(world, "pipe.Ig.counted", 1, fields),
        )
    };
    let old = insert(&world, cell(&world, 10, 7));
    assert_eq!(world.write(vec![old]), NOTHING);
    let delete = update(
        UpdateType::Delete,
        entry(&world, "pipe.Ig.counted", 1, vec![]),
    );
    let new = insert(&world, vec![]);
    assert_eq!(world.write(vec![delete, new]), NOTHING);
    assert_eq!(shown(&world, ALL_PIPES, 1), [vec![0; 4], vec![0; 4]]);
}

#[test]
fn a_batch_that_fails_sets_no_register() {
    let mut world = world();
    let insert = update(
        UpdateType::Insert,
        entry(&world, "pipe.Ig.counted", 1, cell(&world, 10, 7)),
    );
    assert_eq!(world.write(vec![insert.clone()]), NOTHING);
    let change = entry(&world, "pipe.Ig.counted", 1, cell(&world, 0, 1));
    let batch = vec![update(UpdateType::Modify, change), insert];
    let codes = world.write_in(ALL_PIPES, batch, Atomicity::RollbackOnError);
    assert_eq!(codes, [0, 6], "it is there already");
    assert_eq!(shown(&world, ALL_PIPES, 1), [vec![10; 4], vec![7; 4]]);
}

fn float(id: u32, value: f32) -> DataField {
    DataField {
        field_id: id,
        value: Some(DataValue::Float(value)),
    }
}

fn text(id: u32, value: &str) -> DataField {
    DataField {
        field_id: id,
        value: Some(DataValue::Text(value.to_string())),
    }
}

#[test]
fn filters_are_those_of_the_entry_that_is_hit() {
    let mut world = world();
    let halved = vec![
        text(LPF, "SAMPLE"),
        float(LPF + 1, 1000.0),
        float(LPF + 2, 1000.5),
        stream(LPF + 3, &[1]),
    ];
    let one = entry(&world, "pipe.Ig.filtered", 1, halved.clone());
    let other = entry(&world, "pipe.Ig.filtered", 2, vec![]);
    let both = [one.clone(), other].map(|own| update(UpdateType::Insert, own));
    assert_eq!(world.write(both.to_vec()), NOTHING);
    assert_eq!(world.send_from(130, 0, 1), [4]);
    assert_eq!(world.send(0, 2), [8]);
    let data = world.read_in(ALL_PIPES, one)[0].data.clone().expect("data");
    assert!(
        halved[..3].iter().all(|own| data.fields.contains(own)),
        "{data:?}"
    );
    // A part of a filter is none.
    let part = entry(&world, "pipe.Ig.filtered", 2, halved[..2].to_vec());
    assert_eq!(world.write(vec![update(UpdateType::Modify, part)]), [3]);
}

#[test]
fn early_detection_drops_where_an_entry_wants_it() {
    let mut world = world();
    let limits = |least: u8, most: u8| {
        vec![
            float(WRED, 1.0),
            stream(WRED + 1, &[least]),
            stream(WRED + 2, &[most]),
            float(WRED + 3, 1.0),
        ]
    };
    let insert = |world: &World, address, fields| {
        update(
            UpdateType::Insert,
            entry(world, "pipe.Ig.dropped", address, fields),
        )
    };
    let wrong = insert(&world, 3, limits(9, 8));
    assert_eq!(
        world.write(vec![wrong]),
        [3],
        "the lower limit is the larger one"
    );
    let tight = insert(&world, 1, limits(2, 4));
    let wide = insert(&world, 2, limits(20, 40));
    assert_eq!(world.write(vec![tight, wide]), NOTHING);
    assert_eq!(world.send(1, 0), [5]);
    assert_eq!(world.send(2, 0), [6]);
}
