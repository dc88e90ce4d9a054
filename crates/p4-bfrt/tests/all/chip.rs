//! If this fails, what a controller configures beside entries does not reach the packets: groups of
//! members, replication, value sets, scopes of pipes; or a batch that fails leaves a half of it.

use crate::support;

use p4_arch::Port;
use p4_bfrt::messages::*;
use p4_bfrt::server::ALL_PIPES;
use support::world::{exact, stream, update, World, NOTHING};

const PARSER: &str = r#"
struct kind_t { bit<16> ether_type; }

parser Prs(packet_in pkt, out headers_t hdr, out none_t md,
           out ingress_intrinsic_metadata_t ig_intr_md) {
    value_set<kind_t>(4) known;
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        transition select(pkt.lookahead<ethernet_t>().ether_type) { known: whole; default: accept; }
    }
    state whole { pkt.extract(hdr.ethernet); transition accept; }
}
"#;

const BODY: &str = r#"
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) by;
    ActionProfile(16) members;
    ActionSelector(members, by, SelectorMode_t.FAIR, 8, 4) groups;
    action hit(PortId_t port) { ig_tm_md.ucast_egress_port = port; }
    action flood(MulticastGroupId_t group) {
        ig_tm_md.mcast_grp_a = group;
        ig_tm_md.level1_exclusion_id = 7;
    }
    table picked {
        key = { hdr.ethernet.dst_addr : exact; hdr.ethernet.src_addr[15:0] : selector; }
        actions = { hit; flood; }
        implementation = groups;
    }
    apply { if (hdr.ethernet.isValid()) { picked.apply(); } }
"#;

fn world() -> World {
    let blocks = [PARSER, support::DEPARSER];
    World::new(support::compile(&support::around(&blocks, "Ig", BODY)))
}

/// An entry of a table with a key of exact numbers.
fn entry(world: &World, table: &str, key: &[u64], data: Vec<DataField>) -> TableEntry {
    let table = world.schema.table_named(table).expect("the table");
    let fields = table.key.iter().zip(key);
    let fields = fields.map(|(field, value)| exact(field.id, &value.to_be_bytes()));
    TableEntry {
        table_id: table.id,
        name: Some(EntryName::Key(TableKey {
            fields: fields.collect(),
        })),
        data: Some(TableData {
            action_id: 0,
            fields: data,
        }),
        ..TableEntry::default()
    }
}

fn value(field_id: u32, value: DataValue) -> DataField {
    DataField {
        field_id,
        value: Some(value),
    }
}

fn ints(id: u32, val: &[u32]) -> DataField {
    value(id, DataValue::Ints(IntArray { val: val.into() }))
}

fn bools(id: u32, val: &[bool]) -> DataField {
    value(id, DataValue::Bools(BoolArray { val: val.into() }))
}

const MEMBER: u32 = 65539;
const GROUP: u32 = 65540;
const STATUS: u32 = 65564;

/// A member of the profile: an action with its one parameter.
fn member(world: &World, id: u64, action: &str, param: u16) -> Update {
    let table = world.schema.table_named("pipe.Ig.members");
    let spec = table.and_then(|own| own.action_named(action));
    let mut own = entry(world, "pipe.Ig.members", &[id], vec![]);
    own.data = Some(TableData {
        action_id: spec.expect("the action").id,
        fields: vec![stream(1, &param.to_be_bytes())],
    });
    update(UpdateType::Insert, own)
}

/// From now on packets of Ethernet with type 0 are parsed.
fn know(world: &mut World) {
    let mut own = entry(world, "pipe.Prs.known", &[], vec![]);
    let ternary = Ternary {
        value: vec![0, 0],
        mask: vec![255, 255],
    };
    let field = KeyField {
        field_id: 1,
        value: Some(KeyValue::Ternary(ternary)),
    };
    own.name = Some(EntryName::Key(TableKey {
        fields: vec![field],
    }));
    own.data = None;
    assert_eq!(world.write(vec![update(UpdateType::Insert, own)]), NOTHING);
}

#[test]
fn a_value_in_a_set_is_parsed_and_a_cleared_set_forgets_it() {
    let mut world = world();
    let to_member = vec![stream(MEMBER, &[0, 0, 0, 1])];
    let wanted = entry(&world, "pipe.Ig.picked", &[1], to_member);
    let updates = vec![
        member(&world, 1, "Ig.hit", 5),
        update(UpdateType::Insert, wanted),
    ];
    assert_eq!(world.write(updates), NOTHING);
    assert_eq!(world.send(1, 0), Vec::<Port>::new());
    know(&mut world);
    assert_eq!(world.send(1, 0), [5]);
    let set = TableEntry {
        name: None,
        ..entry(&world, "pipe.Prs.known", &[], vec![])
    };
    assert_eq!(world.write(vec![update(UpdateType::Delete, set)]), NOTHING);
    assert_eq!(world.send(1, 0), Vec::<Port>::new());
}

#[test]
fn members_out_of_use_get_no_packets() {
    let mut world = world();
    know(&mut world);
    let group = |world: &World, kind, status: &[bool]| {
        let data = vec![ints(MEMBER, &[1, 2]), bools(STATUS, status)];
        update(kind, entry(world, "pipe.Ig.groups", &[3], data))
    };
    let to_group = vec![stream(GROUP, &[0, 0, 0, 3])];
    let wanted = entry(&world, "pipe.Ig.picked", &[1], to_group);
    let updates = vec![
        member(&world, 1, "Ig.hit", 5),
        member(&world, 2, "Ig.hit", 6),
        group(&world, UpdateType::Insert, &[true, false]),
        update(UpdateType::Insert, wanted),
    ];
    // All in one: what a batch has put in is there for the rest of it.
    let codes = world.write_in(ALL_PIPES, updates, Atomicity::RollbackOnError);
    assert_eq!(codes, NOTHING);
    let taken = |world: &mut World| -> Vec<Port> {
        let mut ports: Vec<Port> = (0..8).flat_map(|src| world.send(1, src)).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    };
    assert_eq!(taken(&mut world), [5]);
    let all = group(&world, UpdateType::Modify, &[true, true]);
    assert_eq!(world.write(vec![all]), NOTHING);
    assert_eq!(taken(&mut world), [5, 6]);
    let shown = world.read_in(ALL_PIPES, entry(&world, "pipe.Ig.groups", &[3], vec![]));
    let data = shown[0].data.clone().expect("data").fields;
    assert_eq!(
        data[..2],
        [ints(MEMBER, &[1, 2]), bools(STATUS, &[true, true])]
    );
    // Members in use stay.
    let used = entry(&world, "pipe.Ig.members", &[1], vec![]);
    assert_eq!(world.write(vec![update(UpdateType::Delete, used)]), [9]);
}

// The SDE's tna_action_selector asks for this, and selector_resize for groups without members.
#[test]
fn a_group_that_an_entry_leads_to_keeps_a_member() {
    let mut world = world();
    let group = |world: &World, kind, members: &[u32], status: &[bool]| {
        let data = vec![ints(MEMBER, members), bools(STATUS, status)];
        vec![update(kind, entry(world, "pipe.Ig.groups", &[3], data))]
    };
    let wanted = entry(
        &world,
        "pipe.Ig.picked",
        &[1],
        vec![stream(GROUP, &[0, 0, 0, 3])],
    );
    world.write(vec![member(&world, 1, "Ig.hit", 5)]);
    assert_eq!(
        world.write(group(&world, UpdateType::Insert, &[1], &[true])),
        NOTHING
    );
    let lead = update(UpdateType::Insert, wanted.clone());
    assert_eq!(world.write(vec![lead]), NOTHING);
    let none = group(&world, UpdateType::Modify, &[], &[]);
    assert_eq!(world.write(none.clone()), [9]);
    let unused = group(&world, UpdateType::Modify, &[1], &[false]);
    assert_eq!(world.write(unused), [9]);
    assert_eq!(
        world.write(group(&world, UpdateType::Delete, &[], &[])),
        [9]
    );
    let shown = world.read_in(ALL_PIPES, entry(&world, "pipe.Ig.groups", &[3], vec![]));
    let data = shown[0].data.clone().expect("data").fields;
    assert_eq!(data[..2], [ints(MEMBER, &[1]), bools(STATUS, &[true])]);
    let gone = update(UpdateType::Delete, wanted);
    let codes = world.write_in(
        ALL_PIPES,
        [vec![gone], none].concat(),
        Atomicity::RollbackOnError,
    );
    assert_eq!(codes, NOTHING, "the entry goes first");
}

#[test]
fn a_client_learns_which_member_a_hash_picks() {
    let mut world = world();
    know(&mut world);
    let data = vec![
        ints(MEMBER, &[1, 2, 3]),
        bools(STATUS, &[true, false, true]),
    ];
    let group = entry(&world, "pipe.Ig.groups", &[3], data);
    let wanted = entry(
        &world,
        "pipe.Ig.picked",
        &[1],
        vec![stream(GROUP, &[0, 0, 0, 3])],
    );
    let members = (1..4).map(|id| member(&world, id, "Ig.hit", 5 + id as u16));
    let mut updates: Vec<Update> = members.collect();
    updates.push(update(UpdateType::Insert, group));
    updates.push(update(UpdateType::Insert, wanted));
    assert_eq!(world.write(updates), NOTHING);
    for hash in 0..8u8 {
        let asked = entry(
            &world,
            "pipe.Ig.groups_get_member",
            &[3, hash.into()],
            vec![],
        );
        let found = world.read_in(ALL_PIPES, asked);
        let data = found[0].data.clone().expect("data").fields;
        let id = match &data[0].value {
            Some(DataValue::Stream(bytes)) => Port::from(bytes[7]),
            other => panic!("{other:?}"),
        };
        // The program's hash is the source address.
        assert_eq!(world.send(1, hash), [5 + id]);
    }
}

// Labs recirculate by such ports, and say so by BF Runtime alone.
#[test]
fn a_port_in_loopback_leads_back_while_it_is_enabled() {
    let mut world = world();
    know(&mut world);
    let wanted = entry(
        &world,
        "pipe.Ig.picked",
        &[1],
        vec![stream(MEMBER, &[0, 0, 0, 1])],
    );
    let forward = vec![
        member(&world, 1, "Ig.hit", 5),
        update(UpdateType::Insert, wanted),
    ];
    assert_eq!(world.write(forward), NOTHING);
    let port = |world: &World, kind, mode: &str, enabled| {
        let data = vec![
            value(4, DataValue::Bool(enabled)),
            value(6, DataValue::Text(mode.to_string())),
        ];
        vec![update(kind, entry(world, "$PORT", &[5], data))]
    };
    let made = port(&world, UpdateType::Insert, "BF_LPBK_MAC_NEAR", false);
    assert_eq!(world.write(made), NOTHING);
    assert_eq!(world.send(1, 0), [5]);
    for (mode, out) in [
        ("BF_LPBK_MAC_NEAR", vec![]),
        // What the cable brings goes back by the cable.
        ("BF_LPBK_MAC_FAR", vec![5]),
        ("BF_LPBK_SERDES_NEAR", vec![]),
        ("BF_LPBK_NONE", vec![5]),
        ("BF_LPBK_PCS_NEAR", vec![]),
    ] {
        let set = port(&world, UpdateType::Modify, mode, true);
        assert_eq!(world.write(set), NOTHING);
        assert_eq!(world.send(1, 0), out, "{mode}");
    }
    let gone = update(UpdateType::Delete, entry(&world, "$PORT", &[5], vec![]));
    assert_eq!(world.write(vec![gone]), NOTHING);
    assert_eq!(world.send(1, 0), [5]);
}

const NARROW: &str = r#"
    Register<bit<16>, bit<1>>(1) turn;
    RegisterAction<bit<16>, bit<1>, bit<16>>(turn) whose = {
        void apply(inout bit<16> value, out bit<16> rv) { rv = value; }
    };
    apply { ig_tm_md.ucast_egress_port = (PortId_t)whose.execute(0); }
"#;

// A register has fewer cells than its index can name: those of a pipe begin where the switch has
// them, not where the table would.
#[test]
fn the_only_cell_of_a_register_is_each_pipes_own() {
    let blocks = [support::PARSER, support::DEPARSER];
    let program = support::compile(&support::around(&blocks, "Ig", NARROW));
    let mut world = World::new(program);
    let cell = |world: &World, port: u8| {
        let own = entry(world, "pipe.Ig.turn", &[0], vec![stream(1, &[0, port])]);
        vec![update(UpdateType::Modify, own)]
    };
    for pipe in [0, 1, 3] {
        let set = cell(&world, 5 + pipe as u8);
        let codes = world.write_in(pipe, set, Atomicity::ContinueOnError);
        assert_eq!(codes, NOTHING);
    }
    let ports = |world: &mut World| {
        let from = |pipe: Port| world.send_from(pipe << 7 | 1, 1, 1);
        (0..4).flat_map(from).collect::<Vec<Port>>()
    };
    assert_eq!(ports(&mut world), [5, 6, 0, 8]);
    let all = cell(&world, 9);
    assert_eq!(world.write(all), NOTHING);
    assert_eq!(ports(&mut world), [9, 9, 9, 9]);
}

#[test]
fn groups_are_made_of_nodes_and_lose_them_one_by_one() {
    let mut world = world();
    know(&mut world);
    let node = |world: &World, id: u64, ports: &[u32]| {
        let data = vec![stream(1, &[0, id as u8]), ints(2, &[]), ints(3, ports)];
        update(UpdateType::Insert, entry(world, "$pre.node", &[id], data))
    };
    let group = |world: &World, kind, nodes: &[u32], valid: &[bool]| {
        let xids: Vec<u32> = nodes.iter().map(|_| 7).collect();
        let data = vec![ints(1, nodes), bools(2, valid), ints(3, &xids)];
        update(kind, entry(world, "$pre.mgid", &[4], data))
    };
    let to_member = vec![stream(MEMBER, &[0, 0, 0, 1])];
    let wanted = entry(&world, "pipe.Ig.picked", &[1], to_member);
    let updates = vec![
        member(&world, 1, "Ig.flood", 4),
        update(UpdateType::Insert, wanted),
        node(&world, 1, &[10, 11]),
        node(&world, 2, &[12]),
        node(&world, 3, &[13]),
        // Packets have the exclusion id of the last node.
        group(
            &world,
            UpdateType::Insert,
            &[1, 2, 3],
            &[false, false, true],
        ),
    ];
    assert_eq!(world.write(updates), NOTHING);
    assert_eq!(world.send(1, 0), [10, 11, 12]);
    let mut less = group(&world, UpdateType::ModifyInc, &[1], &[false]);
    if let Some(Entity {
        kind: Some(EntityKind::Entry(entry)),
    }) = &mut less.entity
    {
        entry.table_flags = Some(TableFlags {
            mod_del: true,
            ..TableFlags::default()
        });
    }
    assert_eq!(world.write(vec![less]), NOTHING);
    assert_eq!(world.send(1, 0), [12]);
    let unknown = group(&world, UpdateType::ModifyInc, &[9], &[false]);
    assert_eq!(world.write(vec![unknown]), [5]);
    let shown = world.read_in(ALL_PIPES, entry(&world, "$pre.mgid", &[4], vec![]));
    let data = shown[0].data.clone().expect("data").fields;
    assert_eq!(data[0], ints(1, &[2, 3]));
}

// If this fails, a client cannot set up a session that coalesces, or is not told what is wrong with it.
#[test]
fn mirror_sessions_that_coalesce() {
    const COALESCING: u32 = 1;
    let mut world = world();
    let number = |id, own: u32| value(id, DataValue::Stream(own.to_be_bytes().to_vec()));
    let mut set = |id: u64, words, timeout, extracted, direction: &str| {
        let header: Vec<u8> = (0..16).collect();
        let data = vec![
            value(1, DataValue::Stream(header)),
            number(2, words),
            number(3, timeout),
            number(4, extracted),
            value(5, DataValue::Bool(true)),
            value(6, DataValue::Text(direction.to_string())),
        ];
        let mut own = entry(&world, "$mirror.cfg", &[id], data);
        if let Some(data) = &mut own.data {
            data.action_id = COALESCING;
        }
        world.write(vec![update(UpdateType::Insert, own)])
    };
    assert_eq!(set(1016, 1, 500, 80, "EGRESS"), NOTHING);
    assert_eq!(set(1023, 4, 25_500, 0, "EGRESS"), NOTHING);
    for refused in [
        set(1015, 1, 500, 80, "EGRESS"),
        set(1017, 1, 500, 80, "BOTH"),
        set(1017, 5, 500, 80, "EGRESS"),
        set(1017, 1 << 30, 500, 80, "EGRESS"),
        set(1017, 1, 25_501, 80, "EGRESS"),
        set(1017, 1, 500, 81, "EGRESS"),
    ] {
        assert_eq!(refused, [3]);
    }
}

#[test]
fn a_batch_that_fails_leaves_nothing() {
    let mut world = world();
    let session = |world: &World, id| {
        let text = DataValue::Text("BOTH".to_string());
        let data = vec![value(5, DataValue::Bool(true)), value(6, text)];
        update(UpdateType::Insert, entry(world, "$mirror.cfg", &[id], data))
    };
    let no_port = entry(&world, "$pre.node", &[1], vec![ints(3, &[1])]);
    let batch = vec![
        session(&world, 1),
        member(&world, 1, "Ig.hit", 5),
        update(UpdateType::Insert, no_port),
    ];
    let codes = world.write_in(ALL_PIPES, batch.clone(), Atomicity::RollbackOnError);
    assert_eq!(codes, [0, 0, 3]);
    let all = |world: &World, table: &str| {
        let own = entry(world, table, &[], vec![]);
        world.read_in(ALL_PIPES, TableEntry { name: None, ..own })
    };
    assert!(all(&world, "$mirror.cfg").is_empty());
    assert!(all(&world, "pipe.Ig.members").is_empty());
    // Each for itself, two of three stay.
    assert_eq!(world.write(batch), [0, 0, 3]);
    assert_eq!(all(&world, "$mirror.cfg").len(), 1);
    assert_eq!(all(&world, "pipe.Ig.members").len(), 1);
    assert_eq!(world.write(vec![session(&world, 1)]), [6]);
}

#[test]
fn pipes_can_have_entries_of_their_own() {
    let mut world = world();
    know(&mut world);
    let table = world.id("pipe.Ig.picked");
    let scope = |user: Sharing| {
        let mode = Mode {
            sharing: Some(user),
            args: 0xff,
        };
        let scope = EntryScope {
            pipe: Some(mode),
            ..EntryScope::default()
        };
        let kind = EntityKind::Attribute(TableAttribute {
            table_id: table,
            attribute: Some(Attribute::EntryScope(scope)),
        });
        Update {
            update_type: UpdateType::Insert as i32,
            entity: Some(Entity { kind: Some(kind) }),
        }
    };
    // Pipes 0 and 1, and pipes 2 and 3.
    let halves = scope(Sharing::UserDefined(0x0c03));
    let members = vec![
        member(&world, 1, "Ig.hit", 5),
        member(&world, 2, "Ig.hit", 6),
    ];
    assert_eq!(world.write(members), NOTHING);
    assert_eq!(world.write(vec![halves]), NOTHING);
    let to = |world: &World, member: u8| {
        let data = vec![stream(MEMBER, &[0, 0, 0, member])];
        vec![update(
            UpdateType::Insert,
            entry(world, "pipe.Ig.picked", &[1], data),
        )]
    };
    let each = Atomicity::ContinueOnError;
    let (one, two) = (to(&world, 1), to(&world, 2));
    assert_eq!(world.write_in(0, one, each), NOTHING);
    assert_eq!(world.write_in(2, two.clone(), each), NOTHING);
    // Pipe 3 is in the scope of pipe 2, which stands for it.
    assert_eq!(world.write_in(3, two, each), [3]);
    let ports = [1, 129, 257, 385].map(|port| world.send_from(port, 1, 0));
    assert_eq!(ports, [[5], [5], [6], [6]]);
    let own = entry(&world, "pipe.Ig.picked", &[], vec![]);
    let all = TableEntry { name: None, ..own };
    let counts = [0, 2, ALL_PIPES].map(|pipe| world.read_in(pipe, all.clone()).len());
    assert_eq!(counts, [1, 1, 2]);
    // A table with entries is not divided anew.
    let whole = scope(Sharing::Predefined(Predefined::All as i32));
    assert_eq!(world.write(vec![whole.clone()]), [9]);
    let none = update(UpdateType::Delete, all);
    assert_eq!(world.write(vec![none]), NOTHING);
    assert_eq!(world.write(vec![whole]), NOTHING);
}

#[test]
fn ports_have_names_and_metadata() {
    let mut world = world();
    let port = entry(
        &world,
        "$PORT",
        &[132],
        vec![value(4, DataValue::Bool(true))],
    );
    assert_eq!(world.write(vec![update(UpdateType::Insert, port)]), NOTHING);
    let nowhere = entry(&world, "$PORT", &[100], vec![]);
    assert_eq!(world.write(vec![update(UpdateType::Insert, nowhere)]), [3]);
    let shown = world.read_in(ALL_PIPES, entry(&world, "$PORT", &[132], vec![]));
    let data = shown[0].data.clone().expect("data").fields;
    let field = |id| data.iter().find(|own| own.field_id == id).cloned();
    // The 16 connectors of pipe 0 come first.
    let name = value(26, DataValue::Text("18/0".to_string()));
    assert_eq!(field(26), Some(name));
    assert_eq!(field(25), Some(value(25, DataValue::Bool(true))));
    let found = world.read_in(ALL_PIPES, entry(&world, "$PORT_HDL_INFO", &[18, 0], vec![]));
    let data = found[0].data.clone().expect("data").fields;
    assert_eq!(data, [stream(1, &[0, 0, 0, 132])]);
}

// If this fails, a client takes a port without a cable for a port that works.
#[test]
fn a_port_is_up_that_is_enabled_and_has_a_link() {
    let mut world = world();
    let enabled = |world: &World, is: bool| {
        let data = vec![value(4, DataValue::Bool(is))];
        entry(world, "$PORT", &[132], data)
    };
    let is_up = |world: &World| {
        let shown = world.read_in(ALL_PIPES, entry(world, "$PORT", &[132], vec![]));
        let data = shown[0].data.clone().expect("data").fields;
        data.contains(&value(25, DataValue::Bool(true)))
    };
    world.link(132, false);
    let port = enabled(&world, true);
    assert_eq!(world.write(vec![update(UpdateType::Insert, port)]), NOTHING);
    assert!(!is_up(&world));
    world.link(132, true);
    assert!(is_up(&world));
    let port = enabled(&world, false);
    assert_eq!(world.write(vec![update(UpdateType::Modify, port)]), NOTHING);
    assert!(!is_up(&world));
    world.link(132, false);
    world.link(132, true);
    assert!(!is_up(&world));
}

// If this fails, packets tell of a port that went down not at all or, while its cable shakes, for ever.
#[test]
fn the_generator_tells_of_a_lost_link_once_until_a_client_clears_it() {
    let mut world = world();
    let on = entry(
        &world,
        "tf1.pktgen.port_cfg",
        &[68],
        vec![value(2, DataValue::Bool(true))],
    );
    let mut app = entry(&world, "tf1.pktgen.app_cfg", &[0], vec![]);
    app.data = Some(TableData {
        action_id: 3, // trigger_port_down
        fields: vec![
            value(12, DataValue::Bool(true)),
            stream(13, &[0, 64]),
            stream(14, &[0, 0]),
        ],
    });
    for own in [on, app] {
        assert_eq!(world.write(vec![update(UpdateType::Modify, own)]), NOTHING);
    }
    let lose = |world: &mut World, port| {
        world.link(port, false);
        world.link(port, true);
        world.switch.advance(world.now, &mut |_: Port, _: &[u8]| {});
        let counts = world.switch.generator_counts(0, 0);
        counts.expect("the application").triggers
    };
    assert_eq!(lose(&mut world, 4), 1);
    assert_eq!(lose(&mut world, 4), 1);
    assert_eq!(lose(&mut world, 5), 2);
    let clear = entry(
        &world,
        "tf1.pktgen.port_cfg",
        &[4],
        vec![value(4, DataValue::Bool(true))],
    );
    assert_eq!(
        world.write(vec![update(UpdateType::Modify, clear)]),
        NOTHING
    );
    assert_eq!(lose(&mut world, 5), 2);
    assert_eq!(lose(&mut world, 4), 3);
}
