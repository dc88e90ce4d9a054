//! Sections 9.1.7 to 9.1.8, 9.3, 9.4, 9.6 and 9.7: direct resources, counters, meters, value sets,
//! registers, idle timeouts.

use crate::support::*;
use p4_runtime::messages::*;
use p4_runtime::Code;

fn primary() -> (Lab, Client) {
    let lab = lab();
    let client = lab.arbitrated(1);
    (lab, client)
}

fn data(packet_count: i64, byte_count: i64) -> Option<CounterData> {
    Some(CounterData {
        byte_count,
        packet_count,
    })
}

fn rates(cir: i64) -> Option<MeterConfig> {
    Some(MeterConfig {
        cir,
        cburst: 1,
        pir: cir,
        pburst: 1,
        eburst: 0,
    })
}

fn prefix(lab: &Lab, meter_config: Option<MeterConfig>) -> TableEntry {
    TableEntry {
        meter_config,
        ..lab.entry(
            "prefixes",
            vec![lpm(1 << 40, 8)],
            lab.action("metered", &[2]),
        )
    }
}

fn asked(mut entry: TableEntry) -> TableEntry {
    entry.action = None;
    entry.counter_data = data(0, 0);
    entry.meter_config = rates(0);
    entry
}

#[test]
fn an_entrys_counter_begins_as_told_and_is_read_when_asked_for() {
    let (lab, _client) = primary();
    let mut entry = lab.l2(1, 2);
    entry.counter_data = data(10, 1000);
    lab.insert(EntityKind::Table(entry)).expect("an insert");
    lab.send(1, &frame(1, 2, 3));
    let key = lab.l2(1, 2);
    let read = |entry: TableEntry| lab.read_entry(entry).counter_data;
    let without = TableEntry {
        action: None,
        ..key.clone()
    };
    assert_eq!(read(without), None);
    assert_eq!(read(asked(key.clone())), data(11, 1064));
    // A MODIFY without a value leaves the counter, one with a value sets it.
    lab.modify(EntityKind::Table(key.clone()))
        .expect("a modification");
    assert_eq!(read(asked(key.clone())), data(11, 1064));
    let mut zero = key.clone();
    zero.counter_data = data(0, 0);
    lab.modify(EntityKind::Table(zero)).expect("a modification");
    assert_eq!(read(asked(key)), data(0, 0));
}

#[test]
fn an_entrys_meter_is_reset_by_a_modify_without_it() {
    let (lab, _client) = primary();
    let read = || lab.read_entry(asked(prefix(&lab, None))).meter_config;
    lab.insert(EntityKind::Table(prefix(&lab, rates(5))))
        .expect("an insert");
    assert_eq!(read(), rates(5));
    lab.modify(EntityKind::Table(prefix(&lab, rates(6))))
        .expect("a modification");
    assert_eq!(read(), rates(6));
    lab.modify(EntityKind::Table(prefix(&lab, None)))
        .expect("a modification");
    assert_eq!(read(), None);
}

#[test]
fn a_table_without_direct_resources_takes_none() {
    let (lab, _client) = primary();
    let mut entry = lab.l2(1, 2);
    entry.meter_config = rates(1);
    assert_eq!(
        lab.insert(EntityKind::Table(entry)),
        Err(Code::InvalidArgument)
    );
    let mut entry = prefix(&lab, None);
    entry.counter_data = data(1, 1);
    assert_eq!(
        lab.insert(EntityKind::Table(entry)),
        Err(Code::InvalidArgument)
    );
}

#[test]
fn meters_do_not_count_by_colour() {
    let (lab, _client) = primary();
    let mut entry = prefix(&lab, None);
    entry.meter_counter_data = Some(MeterCounterData::default());
    assert_eq!(
        lab.insert(EntityKind::Table(entry)),
        Err(Code::Unimplemented)
    );
    let meter = MeterEntry {
        meter_id: lab.id("policer"),
        counter_data: Some(MeterCounterData::default()),
        ..MeterEntry::default()
    };
    assert_eq!(
        lab.modify(EntityKind::Meter(meter)),
        Err(Code::Unimplemented)
    );
    assert_eq!(lab.read(EntityKind::Meter(meter)), Err(Code::Unimplemented));
}

#[test]
fn direct_resources_of_const_entries_may_be_modified() {
    let text = PROGRAM.replace(
        "default_action = NoAction();\n        const entries",
        "counters = fixed_hits;\n        default_action = NoAction();\n        const entries",
    );
    let text = text.replace(
        "action forward(",
        "direct_counter(CounterType.packets) fixed_hits;\n    action forward(",
    );
    let lab = lab_with(&text);
    let _client = lab.arbitrated(1);
    let mut entry = lab.entry("fixed", vec![exact(0x1111)], lab.action("plain", &[11]));
    entry.counter_data = data(7, 70);
    let denied = lab.modify(EntityKind::Table(entry.clone()));
    assert_eq!(denied, Err(Code::PermissionDenied), "with an action");
    entry.action = None;
    assert_eq!(lab.modify(EntityKind::Table(entry.clone())), Ok(()));
    assert_eq!(lab.read_entry(entry).counter_data, data(7, 70));
}

fn idle(lab: &Lab, idle_timeout_ns: i64) -> TableEntry {
    TableEntry {
        priority: 1,
        idle_timeout_ns,
        metadata: b"mine".to_vec(),
        ..lab.entry("acl", vec![ternary(1, 1)], lab.action("plain", &[2]))
    }
}

#[test]
fn an_idle_timeout_is_for_tables_that_keep_one() {
    let (lab, _client) = primary();
    let mut entry = lab.l2(1, 2);
    entry.idle_timeout_ns = 5;
    assert_eq!(
        lab.insert(EntityKind::Table(entry)),
        Err(Code::InvalidArgument)
    );
    let mut entry = lab.l2(1, 2);
    entry.time_since_last_hit = Some(IdleTimeout::default());
    assert_eq!(
        lab.insert(EntityKind::Table(entry.clone())),
        Err(Code::InvalidArgument)
    );
    assert_eq!(
        lab.read(EntityKind::Table(entry)),
        Err(Code::InvalidArgument)
    );
    let mut default = TableEntry {
        table_id: lab.id("acl"),
        is_default_action: true,
        idle_timeout_ns: 5,
        ..TableEntry::default()
    };
    assert_eq!(
        lab.modify(EntityKind::Table(default.clone())),
        Err(Code::InvalidArgument)
    );
    default.idle_timeout_ns = 0;
    default.time_since_last_hit = Some(IdleTimeout::default());
    assert_eq!(
        lab.modify(EntityKind::Table(default)),
        Err(Code::InvalidArgument)
    );
}

#[test]
fn an_idle_entry_is_told_again_and_again_until_it_is_hit() {
    let (lab, client) = primary();
    lab.insert(EntityKind::Table(idle(&lab, 1_000)))
        .expect("an insert");
    client.told();
    lab.pass(0);
    let told = || {
        let one = |update| match update {
            StreamResponse::IdleTimeout(notice) => Some(notice.table_entry),
            _ => None,
        };
        client
            .told()
            .into_iter()
            .filter_map(one)
            .collect::<Vec<_>>()
    };
    lab.pass(999);
    assert_eq!(told(), Vec::<Vec<TableEntry>>::new());
    lab.pass(1);
    let mut expected = idle(&lab, 1_000);
    expected.action = None;
    assert_eq!(told(), [vec![expected]]);
    lab.pass(999);
    assert_eq!(told().len(), 0);
    lab.pass(1);
    assert_eq!(told().len(), 1, "after as much time again");
    lab.send(1, &frame(1, 2, 3));
    lab.pass(999);
    assert_eq!(told().len(), 0, "it was hit");
    lab.modify(EntityKind::Table(idle(&lab, 0)))
        .expect("a modification");
    lab.pass(10_000);
    assert_eq!(told().len(), 0, "it never expires");
}

#[test]
fn the_time_since_the_last_hit_is_told_if_asked_for() {
    let (lab, _client) = primary();
    lab.insert(EntityKind::Table(idle(&lab, 0)))
        .expect("an insert");
    lab.send(1, &frame(1, 2, 3));
    lab.pass(5_000);
    let mut entry = idle(&lab, 0);
    entry.action = None;
    assert_eq!(lab.read_entry(entry.clone()).time_since_last_hit, None);
    entry.time_since_last_hit = Some(IdleTimeout::default());
    let elapsed = lab.read_entry(entry).time_since_last_hit;
    assert_eq!(elapsed, Some(IdleTimeout { elapsed_ns: 5_000 }));
}

fn place(index: i64) -> Option<Index> {
    Some(Index { index })
}

#[test]
fn a_counter_is_modified_only() {
    let (lab, _client) = primary();
    let entry = |index| {
        EntityKind::Counter(CounterEntry {
            counter_id: lab.id("arrivals"),
            index,
            data: data(1, 2),
        })
    };
    assert_eq!(lab.insert(entry(place(0))), Err(Code::InvalidArgument));
    assert_eq!(lab.delete(entry(place(0))), Err(Code::InvalidArgument));
    assert_eq!(lab.modify(entry(place(-1))), Err(Code::InvalidArgument));
    assert_eq!(lab.modify(entry(place(16))), Err(Code::OutOfRange));
    assert_eq!(lab.modify(entry(place(15))), Ok(()));
    assert_eq!(lab.read(entry(place(15))), Ok(vec![entry(place(15))]));
    assert_eq!(lab.modify(entry(None)), Ok(()), "all cells");
    assert_eq!(lab.read(entry(place(3))), Ok(vec![entry(place(3))]));
}

#[test]
fn a_counter_without_data_is_left_alone() {
    let (lab, _client) = primary();
    lab.send(3, &frame(1, 2, 3));
    let entry = CounterEntry {
        counter_id: lab.id("arrivals"),
        index: place(3),
        data: None,
    };
    assert_eq!(lab.modify(EntityKind::Counter(entry)), Ok(()));
    let counted = EntityKind::Counter(CounterEntry {
        data: data(1, 64),
        ..entry
    });
    assert_eq!(lab.read(EntityKind::Counter(entry)), Ok(vec![counted]));
}

#[test]
fn counters_meters_and_registers_are_read_with_wildcards() {
    let (lab, _client) = primary();
    let count = |kind: EntityKind| lab.read(kind).expect("a read").len();
    let counter_id = lab.id("arrivals");
    assert_eq!(count(EntityKind::Counter(CounterEntry::default())), 16);
    let one = CounterEntry {
        counter_id,
        ..CounterEntry::default()
    };
    assert_eq!(count(EntityKind::Counter(one)), 16);
    assert_eq!(count(EntityKind::Meter(MeterEntry::default())), 16);
    assert_eq!(count(EntityKind::Register(RegisterEntry::default())), 20);
    assert_eq!(count(EntityKind::ValueSet(ValueSetEntry::default())), 1);
    assert_eq!(count(EntityKind::Digest(DigestEntry::default())), 0);
}

#[test]
fn a_meter_is_modified_only() {
    let (lab, _client) = primary();
    let entry = |index, config| {
        EntityKind::Meter(MeterEntry {
            meter_id: lab.id("policer"),
            index,
            config,
            counter_data: None,
        })
    };
    assert_eq!(
        lab.insert(entry(place(0), rates(1))),
        Err(Code::InvalidArgument)
    );
    assert_eq!(
        lab.delete(entry(place(0), rates(1))),
        Err(Code::InvalidArgument)
    );
    assert_eq!(
        lab.modify(entry(place(-1), rates(1))),
        Err(Code::InvalidArgument)
    );
    assert_eq!(
        lab.modify(entry(place(16), rates(1))),
        Err(Code::OutOfRange)
    );
    assert_eq!(lab.modify(entry(None, rates(9))), Ok(()), "all cells");
    let read = lab.read(entry(place(4), None));
    assert_eq!(read, Ok(vec![entry(place(4), rates(9))]));
    assert_eq!(lab.modify(entry(place(4), None)), Ok(()), "back to green");
    assert_eq!(
        lab.read(entry(place(4), None)),
        Ok(vec![entry(place(4), None)])
    );
}

#[test]
fn a_meter_of_two_rates_has_no_excess_burst() {
    let (lab, _client) = primary();
    let mut config = rates(1).expect("rates");
    config.eburst = 1;
    let entry = MeterEntry {
        meter_id: lab.id("policer"),
        index: place(0),
        config: Some(config),
        counter_data: None,
    };
    assert_eq!(
        lab.modify(EntityKind::Meter(entry)),
        Err(Code::InvalidArgument)
    );
}

#[test]
fn a_direct_counter_belongs_to_an_entry_that_is_there() {
    let (lab, _client) = primary();
    let entry = |dst, data| {
        let mut table_entry = lab.l2(dst, 2);
        table_entry.action = None;
        EntityKind::DirectCounter(DirectCounterEntry {
            table_entry: Some(table_entry),
            data,
        })
    };
    lab.insert(EntityKind::Table(lab.l2(1, 2)))
        .expect("an insert");
    assert_eq!(lab.insert(entry(1, data(1, 1))), Err(Code::InvalidArgument));
    assert_eq!(lab.delete(entry(1, data(1, 1))), Err(Code::InvalidArgument));
    assert_eq!(lab.modify(entry(9, data(1, 1))), Err(Code::NotFound));
    assert_eq!(lab.modify(entry(9, None)), Err(Code::NotFound));
    assert_eq!(lab.read(entry(9, None)), Err(Code::NotFound));
    assert_eq!(lab.modify(entry(1, data(4, 5))), Ok(()));
    assert_eq!(lab.modify(entry(1, None)), Ok(()), "left alone");
    assert_eq!(lab.read(entry(1, None)), Ok(vec![entry(1, data(4, 5))]));
}

#[test]
fn a_direct_meter_belongs_to_an_entry_that_is_there() {
    let (lab, _client) = primary();
    let entry = |value: u64, config| {
        let mut table_entry = lab.entry(
            "prefixes",
            vec![lpm(value << 40, 8)],
            lab.action("drop", &[]),
        );
        table_entry.action = None;
        EntityKind::DirectMeter(DirectMeterEntry {
            table_entry: Some(table_entry),
            config,
            counter_data: None,
        })
    };
    lab.insert(EntityKind::Table(prefix(&lab, None)))
        .expect("an insert");
    assert_eq!(lab.insert(entry(1, rates(1))), Err(Code::InvalidArgument));
    assert_eq!(lab.delete(entry(1, rates(1))), Err(Code::InvalidArgument));
    assert_eq!(lab.modify(entry(2, rates(1))), Err(Code::NotFound));
    assert_eq!(lab.read(entry(2, None)), Err(Code::NotFound));
    assert_eq!(lab.modify(entry(1, rates(3))), Ok(()));
    assert_eq!(lab.read(entry(1, None)), Ok(vec![entry(1, rates(3))]));
    assert_eq!(lab.modify(entry(1, None)), Ok(()), "back to green");
    assert_eq!(lab.read(entry(1, None)), Ok(vec![entry(1, None)]));
}

fn bits(value: u64) -> P4Data {
    P4DataKind::Bitstring(bytes(value)).into()
}

#[test]
fn a_register_has_an_index_within_it_and_data_of_its_type() {
    let (lab, _client) = primary();
    let entry = |name: &str, index, data: P4Data| {
        EntityKind::Register(RegisterEntry {
            register_id: lab.id(name),
            index,
            data: Some(data),
        })
    };
    let numbers = |index, data| entry("numbers", index, data);
    assert_eq!(
        lab.modify(numbers(place(-1), bits(1))),
        Err(Code::InvalidArgument)
    );
    assert_eq!(
        lab.modify(numbers(place(16), bits(1))),
        Err(Code::OutOfRange)
    );
    assert_eq!(
        lab.modify(numbers(place(0), bits(1 << 32))),
        Err(Code::InvalidArgument)
    );
    let flag = P4DataKind::Bool(true).into();
    assert_eq!(
        lab.modify(numbers(place(0), flag)),
        Err(Code::InvalidArgument)
    );
    assert_eq!(lab.modify(numbers(None, bits(77))), Ok(()), "all cells");
    assert_eq!(
        lab.read(numbers(place(15), bits(0))),
        Ok(vec![numbers(place(15), bits(77))])
    );
    let members = vec![bits(0xdead_beef), bits(0x1234)];
    let pair = |members| P4DataKind::Struct(P4StructLike { members }).into();
    let written = entry("pairs", place(2), pair(members));
    assert_eq!(lab.modify(written.clone()), Ok(()));
    assert_eq!(lab.read(written.clone()), Ok(vec![written]));
    let short = entry("pairs", place(2), pair(vec![bits(1)]));
    assert_eq!(lab.modify(short), Err(Code::InvalidArgument));
    assert_eq!(
        lab.insert(numbers(place(0), bits(1))),
        Err(Code::InvalidArgument)
    );
}

fn special(lab: &Lab, kinds: &[u64]) -> EntityKind {
    let member = |kind: &u64| ValueSetMember {
        r#match: vec![FieldMatch {
            field_id: 1,
            field_match_type: Some(exact(*kind)),
        }],
    };
    EntityKind::ValueSet(ValueSetEntry {
        value_set_id: lab.id("special"),
        members: kinds.iter().map(member).collect(),
    })
}

#[test]
fn a_value_set_is_modified_only() {
    let (lab, _client) = primary();
    assert_eq!(lab.insert(special(&lab, &[1])), Err(Code::InvalidArgument));
    assert_eq!(lab.delete(special(&lab, &[1])), Err(Code::InvalidArgument));
    assert_eq!(lab.modify(special(&lab, &[1, 2])), Ok(()));
    assert_eq!(lab.send(1, &frame(1, 2, 2))[0].0, 9);
    assert_eq!(
        lab.read(special(&lab, &[])),
        Ok(vec![special(&lab, &[1, 2])])
    );
    assert_eq!(lab.modify(special(&lab, &[])), Ok(()), "emptied");
    assert_eq!(lab.send(1, &frame(1, 2, 2))[0].0, 0);
}

#[test]
fn a_value_set_has_a_size_and_no_member_twice() {
    let (lab, _client) = primary();
    let done = lab.modify(special(&lab, &[1, 2, 3]));
    assert_eq!(done, Err(Code::ResourceExhausted));
    assert_eq!(lab.modify(special(&lab, &[1, 1])), Err(Code::AlreadyExists));
}
