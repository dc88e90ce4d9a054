//! If this fails, what a controller sets of a hash does not reach the packets: slices of its fields,
//! their order, symmetric pairs, another algorithm; or packets do not hash to what the controller is
//! told.

use crate::support;

use p4_bfrt::messages::*;
use p4_bfrt::server::ALL_PIPES;
use support::world::{exact, stream, update, World, NOTHING};

const BODY: &str = r#"
    Hash<bit<16>>(HashAlgorithm_t.CRC16) sum;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) lower;
    action turn() {
        bit<16> own = sum.get({hdr.ethernet.dst_addr[7:0], 8w0x5a, hdr.ethernet.src_addr[7:0]});
        ig_tm_md.ucast_egress_port = (PortId_t)own[5:0];
        hdr.ethernet.ether_type = (bit<16>)lower.get({hdr.ethernet.dst_addr})[4:0];
    }
    apply { turn(); }
"#;

const CONFIGURE: &str = "pipe.Ig.sum.configure";
const ALGORITHM: &str = "pipe.Ig.sum.algorithm";
const COMPUTE: &str = "pipe.Ig.sum.compute";

/// Fields of the hash
const DST: u32 = 1;
const CONSTANT: u32 = 2;
const SRC: u32 = 3;

fn world() -> World {
    let blocks = [support::PARSER, support::DEPARSER];
    World::new(support::compile(&support::around(&blocks, "Ig", BODY)))
}

/// Start, length and order; a length of `None` reaches to the end.
type Slice = (u8, Option<u8>, u8);

fn of(world: &World, table: &str, data: Option<TableData>) -> TableEntry {
    TableEntry {
        table_id: world.id(table),
        is_default_entry: true,
        data,
        ..TableEntry::default()
    }
}

fn configure(world: &World, fields: &[(u32, &[Slice])]) -> Vec<Update> {
    let part = |name: &str| {
        let table = world.schema.table_named(CONFIGURE).expect("the table");
        let json = world.schema.json();
        assert!(json.contains(name) && table.data.len() == 3);
        match name {
            "start_bit" => 65582,
            "length" => 65583,
            _ => 65584,
        }
    };
    let slice = |(start, length, order): &Slice| {
        let mut val = vec![stream(part("start_bit"), &[*start])];
        val.extend(length.map(|own| stream(part("length"), &[own])));
        val.push(stream(part("order"), &[*order]));
        Container { val }
    };
    let fields = fields.iter().map(|(id, slices)| DataField {
        field_id: *id,
        value: Some(DataValue::Containers(ContainerArray {
            container: slices.iter().map(slice).collect(),
        })),
    });
    let data = TableData {
        action_id: 0,
        fields: fields.collect(),
    };
    vec![update(UpdateType::Modify, of(world, CONFIGURE, Some(data)))]
}

fn reset(world: &World, table: &str) -> Vec<Update> {
    vec![update(UpdateType::Delete, of(world, table, None))]
}

fn algorithm(world: &World, action: &str, fields: Vec<DataField>) -> Vec<Update> {
    let table = world.schema.table_named(ALGORITHM).expect("the table");
    let action = table.action_named(action).expect("an action");
    let data = TableData {
        action_id: action.id,
        fields,
    };
    vec![update(UpdateType::Modify, of(world, ALGORITHM, Some(data)))]
}

fn named(world: &World, name: &str) -> Vec<Update> {
    let name = DataField {
        field_id: 1,
        value: Some(DataValue::Text(name.to_string())),
    };
    algorithm(world, "pre_defined", vec![name])
}

/// What the switch says that a packet hashes to; the packet says the same.
fn hash(world: &mut World, dst: u8, src: u8) -> u16 {
    let asked = TableEntry {
        table_id: world.id(COMPUTE),
        name: Some(EntryName::Key(TableKey {
            fields: vec![exact(1, &[dst]), exact(2, &[src])],
        })),
        ..TableEntry::default()
    };
    let found = world.read_in(ALL_PIPES, asked);
    let fields = found[0].data.clone().expect("data").fields;
    let value = match &fields[0].value {
        Some(DataValue::Stream(bytes)) => u16::from_be_bytes([bytes[0], bytes[1]]),
        other => panic!("{other:?}"),
    };
    assert_eq!(world.send(dst, src), [value & 0x3f]);
    value
}

// tna_dyn_hashing of the SDE takes 32 bits of a hash of 64, and is told those.
#[test]
fn of_a_hash_clients_see_the_bits_that_the_program_takes() {
    let world = world();
    let table = world.schema.table_named("pipe.Ig.lower.compute");
    let table = table.expect("the table");
    let width = |id: u32| table.field(0, id).map(|own| own.field_type.width());
    assert_eq!(width(65581), Some(5));
    let key = table.key.iter().map(|own| own.name.as_str());
    assert_eq!(key.collect::<Vec<_>>(), ["hdr.ethernet.dst_addr"]);
}

/// CRC-16 (ARC), bit by bit: reflected, polynomial 0x8005.
fn crc16(data: &[u8]) -> u16 {
    data.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte), |sum, _| match sum & 1 {
            1 => sum >> 1 ^ 0xa001,
            _ => sum >> 1,
        })
    })
}

/// CRC-8 (ITU without the final xor that it has): polynomial 7.
fn crc8(data: &[u8]) -> u16 {
    let sum = data.iter().fold(0u8, |sum, byte| {
        (0..8).fold(sum ^ byte, |sum, _| match sum & 0x80 {
            0 => sum << 1,
            _ => sum << 1 ^ 7,
        })
    });
    sum.into()
}

#[test]
fn clients_choose_slices_and_their_order() {
    let mut world = world();
    assert_eq!(hash(&mut world, 1, 2), crc16(&[1, 0x5a, 2]));
    let whole: &[Slice] = &[(0, None, 2)];
    let swapped = configure(&world, &[(SRC, &[(0, None, 1)]), (DST, whole)]);
    assert_eq!(world.write(swapped), NOTHING);
    assert_eq!(hash(&mut world, 1, 2), crc16(&[2, 1]), "no constant");
    // The lower half of the destination in front, the upper half behind.
    let halves: &[Slice] = &[(0, Some(4), 1), (4, Some(200), 9)];
    let split = configure(&world, &[(DST, halves), (CONSTANT, whole)]);
    assert_eq!(world.write(split), NOTHING);
    assert_eq!(hash(&mut world, 0x12, 7), crc16(&[0x25, 0xa1]));
    assert_eq!(world.write(reset(&world, CONFIGURE)), NOTHING);
    assert_eq!(hash(&mut world, 1, 2), crc16(&[1, 0x5a, 2]));
}

#[test]
fn two_slices_of_one_order_are_symmetric() {
    let mut world = world();
    let whole: &[Slice] = &[(0, None, 1)];
    let pair = configure(&world, &[(DST, whole), (SRC, whole)]);
    assert_eq!(world.write(pair), NOTHING);
    assert_eq!(hash(&mut world, 3, 9), hash(&mut world, 9, 3));
    assert_ne!(hash(&mut world, 3, 9), hash(&mut world, 3, 8));
}

// What tna_dyn_hashing of the SDE expects to be refused.
#[test]
fn slices_that_make_no_sense_are_refused() {
    let mut world = world();
    let wrong: [&[(u32, &[Slice])]; 4] = [
        &[(DST, &[(1, Some(4), 1), (3, Some(4), 2)])],
        &[(DST, &[(8, None, 1)])],
        &[(DST, &[(0, Some(2), 1), (2, Some(2), 1), (4, Some(2), 1)])],
        &[(DST, &[(0, Some(2), 1)]), (SRC, &[(0, Some(3), 1)])],
    ];
    for own in wrong {
        let codes = world.write(configure(&world, own));
        assert_eq!(codes, [3], "{own:?}");
    }
    assert_eq!(hash(&mut world, 1, 2), crc16(&[1, 0x5a, 2]));
}

#[test]
fn clients_choose_the_algorithm() {
    let mut world = world();
    assert_eq!(world.write(named(&world, "crc_8")), NOTHING);
    assert_eq!(hash(&mut world, 1, 2), crc8(&[1, 0x5a, 2]));
    let flag = |id| DataField {
        field_id: id,
        value: Some(DataValue::Bool(true)),
    };
    let extended = vec![
        stream(2, &[7]),
        stream(4, &[0x55]),
        stream(5, &[8]),
        flag(65578),
        stream(65585, &[4]),
    ];
    let own = algorithm(&world, "user_defined", extended);
    assert_eq!(world.write(own), NOTHING);
    let sum = crc8(&[1, 0x5a, 2]) ^ 0x55;
    assert_eq!(hash(&mut world, 1, 2), (sum << 8 | sum).rotate_left(4));
    let even = algorithm(&world, "user_defined", vec![stream(2, &[6])]);
    assert_eq!(world.write(even), [3]);
    assert_eq!(world.write(named(&world, "crc_7")), [3]);
    assert_eq!(world.write(reset(&world, ALGORITHM)), NOTHING);
    assert_eq!(hash(&mut world, 1, 2), crc16(&[1, 0x5a, 2]));
}

#[test]
fn a_client_reads_what_is_hashed() {
    let mut world = world();
    let orders = |world: &World| -> Vec<(u32, Vec<u8>)> {
        let found = world.read_in(ALL_PIPES, of(world, CONFIGURE, None));
        let fields = found[0].data.clone().expect("data").fields;
        let order = |own: &Container| match &own.val.last().and_then(|own| own.value.clone()) {
            Some(DataValue::Stream(bytes)) => *bytes.last().expect("a byte"),
            other => panic!("{other:?}"),
        };
        let field = |own: DataField| match own.value {
            Some(DataValue::Containers(list)) => {
                (own.field_id, list.container.iter().map(order).collect())
            }
            other => panic!("{other:?}"),
        };
        fields.into_iter().map(field).collect()
    };
    let program = [(DST, vec![1]), (CONSTANT, vec![2]), (SRC, vec![3])];
    assert_eq!(orders(&world), program);
    let halves: &[Slice] = &[(0, Some(4), 5), (4, None, 6)];
    assert_eq!(world.write(configure(&world, &[(SRC, halves)])), NOTHING);
    let own = [(DST, vec![0]), (CONSTANT, vec![0]), (SRC, vec![5, 6])];
    assert_eq!(orders(&world), own);
}
