//! What TNA's externs do to packets, and what becomes of those that are not executed.

use crate::support;

use p4_arch::tna::Switch;
use p4_arch::Port;
use p4_state::{ActionSpec, Args, Entry, EntryKey, Match, MeterConfig, Target, Update};
use support::*;

// If this fails, IPv4 programs drop good packets or send bad ones. RFC 1071.
#[test]
fn checksums() {
    let mut switch = switch(&Parts {
        parser: "sum.add(h.h); m.tag = (bit<8>)(bit<1>)sum.verify();",
        ingress: "apply { tm.ucast_egress_port = 2; h.h.op = m.tag; h.h.a = h.h.a - 1; }",
        deparser:
            "Checksum() sum; apply { h.h.b = sum.update({ h.h.op, h.h.a, h.h.c }); p.emit(h); }",
        ..PLAIN
    });
    // 0x0102 + 0x0304 + 0x0506 = 0x090c, and its complement
    let good = send(&mut switch, &frame(1, 2, 0xf6f3, 0x0304_0506));
    // 0x0001 + 0x0304 + 0x0506 = 0x080b
    assert_eq!(good, [(2, frame(0, 1, 0xf7f4, 0x0304_0506))]);
    let bad = send(&mut switch, &frame(1, 2, 0xf6f2, 0x0304_0506));
    assert_eq!(bad, [(2, frame(1, 1, 0xf6f4, 0x0304_0506))]);
}

// If this fails, the two directions of a flow are hashed to different numbers where the program says
// that they are to be one, or fields besides the pair do not count.
#[test]
fn a_symmetric_hash() {
    let mut switch = switch(&Parts {
        ingress: "@symmetric(\"h.h.op\", \"h.h.a\") Hash<bit<32>>(HashAlgorithm_t.CRC32) hash;
            apply { tm.ucast_egress_port = 2; h.h.c = hash.get({ h.h.op, h.h.a, h.h.b }); }",
        ..PLAIN
    });
    let mut hash = |op, a, b| {
        let sent = send(&mut switch, &frame(op, a, b, 0));
        assert_eq!(
            sent[0].1[14..18],
            frame(op, a, b, 0)[14..18],
            "the fields stay"
        );
        sent[0].1[18..22].to_vec()
    };
    assert_eq!(hash(0x12, 0x34, 7), hash(0x34, 0x12, 7));
    assert_ne!(hash(0x12, 0x34, 7), hash(0x12, 0x35, 7));
    assert_ne!(hash(0x12, 0x34, 7), hash(0x12, 0x34, 8));
    // CRC-32 of 26 26 00 07: each of the pair is 0x12 ^ 0x34.
    assert_eq!(hash(0x12, 0x34, 7), [0x06, 0xb9, 0x80, 0x0f]);
}

// If this fails, programs are refused without a word on what to do, or are run wrongly.
#[test]
fn what_is_not_executed_is_said() {
    let refused = |ingress: &str| image(&Parts { ingress, ..PLAIN }).err().unwrap_or_default();
    let unit = refused("MathUnit<bit<32>>(MathOp_t.DIV, 1, 0) unit; apply { tm.ucast_egress_port = 2; h.h.c = unit.execute(h.h.c); }");
    assert!(unit.contains("MathUnit"), "{unit}");
    let custom = refused(
        "Hash<bit<16>>(HashAlgorithm_t.CUSTOM) hash; apply { h.h.b = hash.get({ h.h.c }); }",
    );
    assert!(custom.contains("CRCPolynomial"), "{custom}");
    const PROFILE: &str = "ActionProfile(16) ap; Hash<bit<14>>(HashAlgorithm_t.IDENTITY) sh;";
    const TABLE: &str = "action to(PortId_t port) { tm.ucast_egress_port = port; }
        table t { key = { h.h.a: exact; h.h.b: selector; } actions = { to; } implementation = sel; }";
    let unplaced = refused(&format!(
        "{PROFILE} ActionSelector(ap, sh, SelectorMode_t.FAIR, 4, 8) sel; {TABLE}
        SelectorAction(sel) leave = {{ void apply(inout bit<1> cell) {{ cell = 0; }} }};
        apply {{ leave.execute(); t.apply(); }}"
    ));
    assert!(unplaced.contains("with an index"), "{unplaced}");
    let read = refused(&format!(
        "{PROFILE} Register<bit<1>, bit<16>>(32) bits;
        ActionSelector(ap, sh, SelectorMode_t.FAIR, bits, 4, 8) sel; {TABLE}
        apply {{ h.h.a = (bit<8>)bits.read(3); t.apply(); }}"
    ));
    assert!(read.contains("bits of an action selector"), "{read}");
}

// If this fails, programs that age what they measure, or drop early, run as if they did not.
#[test]
fn filters_and_the_math_unit() {
    use p4_arch::tna::{LpfConfig, Mode, WredConfig};
    let mut switch = switch(&Parts {
        ingress: "Lpf<bit<32>, bit<8>>(16) mean;
            Wred<bit<32>, bit<8>>(16, 9, 1) early;
            MathUnit<bit<32>>(MathOp_t.SQRT, 1) root;
            Register<bit<32>, bit<8>>(16) r;
            RegisterAction<bit<32>, bit<8>, bit<32>>(r) rooted = {
                void apply(inout bit<32> cell, out bit<32> now) { cell = root.execute(h.h.c); now = cell; }
            };
            apply {
                bit<32> given = h.h.c;
                if (h.h.op == 16) { h.h.c = rooted.execute(0); }
                else { h.h.c = mean.execute(given, h.h.op); }
                h.h.a = early.execute(given, h.h.op);
                tm.ucast_egress_port = 2;
            }",
        ..PLAIN
    });
    let send = |switch: &mut Switch, micros: u64, port, op, value| {
        let sent = send_at(switch, micros * 1_000_000, port, &frame(op, 0, 0, value));
        let data = &sent[0].1;
        (
            data[15],
            u32::from_be_bytes([data[18], data[19], data[20], data[21]]),
        )
    };
    // Without a configuration what comes goes, and nothing is dropped.
    assert_eq!(send(&mut switch, 0, 1, 3, 700), (1, 700));
    let config = LpfConfig {
        mode: Mode::Sample,
        rise: 1_000,
        fall: 1_000,
        scale_down: 0,
    };
    switch.set_lpf("mean", Some(3), Some(config)).unwrap();
    let early = WredConfig {
        time_constant: 1,
        least: 10,
        most: 1_000,
        probability: 0,
    };
    switch.set_wred("I.early", None, Some(early)).unwrap();
    assert_eq!(send(&mut switch, 1, 1, 3, 1_000), (1, 1_000));
    assert_eq!(send(&mut switch, 2, 1, 3, 2_000), (9, 1_632));
    assert_eq!(
        send(&mut switch, 2, 1, 4, 5),
        (1, 5),
        "another cell has no mean"
    );
    assert_eq!(send(&mut switch, 3, 129, 3, 50), (1, 50), "another pipe");
    // The type of the index reaches further than the size. The root of 10000, from four bits of it:
    // 16 * 8 * sqrt(4/8).
    assert_eq!(send(&mut switch, 4, 1, 16, 10_000), (9, 91));
    assert!(switch.set_lpf("early", None, None).is_err());
    let upside_down = WredConfig {
        least: 5,
        most: 5,
        ..early
    };
    assert!(switch.set_wred("early", None, Some(upside_down)).is_err());
}

/// Packets with `op` 1 and 2 clear and set the bit with index `c` and bring back in `a` what it was;
/// others go to a member of group 1 or 2, which entry `a` leads to, by hash `b`.
fn with_selector(selector: &str, action: &str) -> Switch {
    let ingress = format!(
        "ActionProfile(16) ap;
        Hash<bit<14>>(HashAlgorithm_t.IDENTITY) sh;
        {selector}
        {action} leave = {{ void apply(inout bit<1> cell, out bit<1> was) {{ was = cell; cell = 0; }} }};
        {action} join = {{ void apply(inout bit<1> cell, out bit<1> was) {{ was = cell; cell = 1; }} }};
        action to(PortId_t port) {{ tm.ucast_egress_port = port; }}
        table t {{ key = {{ h.h.a: exact; h.h.b: selector; }} actions = {{ to; }} implementation = sel; }}
        apply {{
            if (h.h.op == 1) {{ h.h.a = (bit<8>)leave.execute(h.h.c); tm.ucast_egress_port = 63; }}
            else if (h.h.op == 2) {{ h.h.a = (bit<8>)join.execute(h.h.c); tm.ucast_egress_port = 63; }}
            else {{ t.apply(); }}
        }}"
    );
    let mut switch = switch(&Parts {
        ingress: &ingress,
        ..PLAIN
    });
    let mut batch: Vec<Update> = (11u32..=14).map(member).collect();
    for group in [1, 2] {
        batch.push(members(group, vec![11, 12, 13, 14]));
        batch.push(Update::Insert(Entry {
            key: EntryKey {
                table: "t".into(),
                matches: vec![("h.h.a".into(), Match::Exact(group.into()))],
                priority: 0,
            },
            target: Target::Group(group),
        }));
    }
    switch.write(&batch).expect("members of two groups");
    switch
}

/// A member that sends to the port of its number.
fn member(member: u32) -> Update {
    Update::SetMember {
        profile: "sel".into(),
        member,
        action: Some(ActionSpec {
            name: "to".into(),
            args: Args::InOrder(vec![member.into()]),
        }),
    }
}

fn members(group: u32, members: Vec<u32>) -> Update {
    Update::SetMemberGroup {
        profile: "sel".into(),
        group,
        members: Some(members),
    }
}

/// Where the packets of a group go by their hash.
fn taken(switch: &mut Switch, from: Port, group: u8) -> Vec<Port> {
    let sent = (0..8).flat_map(|hash| send_at(switch, 0, from, &frame(0, group, hash, 0)));
    sent.map(|(port, _)| port).collect()
}

/// What the bit was that a packet has set.
fn set(switch: &mut Switch, from: Port, bit: u8, index: u32) -> u8 {
    let sent = send_at(switch, 0, from, &frame(2 - (1 - bit), 0, 0, index));
    assert_eq!(sent.len(), 1);
    sent[0].1[15]
}

// If this fails, packets go on to a link that is down although the chip has noticed, or to links of
// other groups, or the control plane cannot bring a member back.
#[test]
fn a_packet_takes_a_member_out_of_its_group() {
    let plain = "ActionSelector(ap, sh, SelectorMode_t.FAIR, 4, 8) sel;";
    let by_register = "Register<bit<1>, bit<32>>(32) bits;
        ActionSelector(ap, sh, SelectorMode_t.FAIR, bits, 4, 8) sel;";
    for (selector, action) in [
        (plain, "SelectorAction(sel)"),
        (by_register, "RegisterAction<bit<1>, bit<32>, bit<1>>(bits)"),
    ] {
        let mut switch = with_selector(selector, action);
        let all = [11, 12, 13, 14, 11, 12, 13, 14];
        assert_eq!(taken(&mut switch, 1, 1), all);
        // Place 2 of group 1, whose places are 4 to 7.
        assert_eq!(set(&mut switch, 1, 0, 6), 1);
        assert_eq!(set(&mut switch, 1, 0, 6), 0);
        assert_eq!(taken(&mut switch, 1, 1), [11, 12, 14, 11, 12, 14, 11, 12]);
        assert_eq!(taken(&mut switch, 1, 2), all, "another group");
        assert_eq!(taken(&mut switch, 130, 1), all, "another pipe");
        for index in [4, 5, 7] {
            set(&mut switch, 1, 0, index);
        }
        assert_eq!(taken(&mut switch, 1, 1), [], "nobody is left");
        assert_eq!(set(&mut switch, 1, 1, 4), 0);
        assert_eq!(taken(&mut switch, 1, 1), [11; 8]);
        // No place: nothing happens but that it is counted.
        let before = switch.stats().out_of_range;
        assert_eq!(set(&mut switch, 1, 1, 99), 0);
        assert_eq!(switch.stats().out_of_range, before + 1);
        switch.write(&[members(1, vec![11, 12, 13])]).unwrap();
        assert_eq!(taken(&mut switch, 1, 1), [11, 12, 13, 11, 12, 13, 11, 12]);
    }
}

// If this fails, a link that goes down moves flows of other links: their packets overtake each other.
#[test]
fn resilient_groups_keep_flows_where_they_are() {
    let resilient = "ActionSelector(ap, sh, SelectorMode_t.RESILIENT, 4, 8) sel;";
    let mut switch = with_selector(resilient, "SelectorAction(sel)");
    let all = taken(&mut switch, 1, 1);
    set(&mut switch, 1, 0, 5);
    for (before, after) in all.iter().zip(taken(&mut switch, 1, 1)) {
        match before {
            12 => assert!([11, 13, 14].contains(&after)),
            _ => assert_eq!(*before, after),
        }
    }
}

// If this fails, a program that counts without the headers it has added, or without the checksum, counts
// them all the same.
#[test]
fn counters_count_fewer_bytes_by_their_adjustment() {
    let mut switch = switch(&Parts {
        ingress: "Counter<bit<64>, bit<1>>(2, CounterType_t.PACKETS_AND_BYTES) c;
            apply {
                tm.ucast_egress_port = 2;
                if (h.h.op == 1) { c.count(0); }
                else if (h.h.op == 2) { c.count(1, sizeInBytes(h.eth) + 4); }
                else { c.count(1, 1000); }
            }",
        ..PLAIN
    });
    let mut counted = |op, index| {
        send(&mut switch, &frame(op, 0, 0, 0));
        switch.state().counter("c", index).expect("a cell")
    };
    // 60 bytes and the 4 of the checksum
    assert_eq!(counted(1, 0), (1, 64));
    assert_eq!(counted(2, 1), (1, 64 - 14 - 4));
    assert_eq!(counted(3, 1), (2, 46), "never less than none");
}

/// A table whose entries count and measure 14 bytes less than packets have, or what `action` says.
fn with_direct(action: &str) -> String {
    format!(
        "DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) counted;
         DirectMeter(MeterType_t.BYTES) metered;
         action hit() {{ {action} }}
         action other() {{ counted.count(14); h.h.a = metered.execute(MeterColor_t.GREEN, 14); }}
         table t {{
             key = {{ h.h.op: exact; }} actions = {{ hit; other; }}
             counters = counted; meters = metered;
         }}
         apply {{ tm.ucast_egress_port = 2; t.apply(); }}"
    )
}

// If this fails, subscribers pay for headers that a program takes off what it counts.
#[test]
fn direct_counters_and_meters_leave_bytes_out() {
    let ingress =
        with_direct("counted.count(14); h.h.a = metered.execute(MeterColor_t.GREEN, 14);");
    let mut switch = switch(&Parts {
        ingress: &ingress,
        ..PLAIN
    });
    let key = EntryKey {
        table: "t".to_string(),
        matches: vec![("h.h.op".to_string(), Match::Exact(7u32.into()))],
        priority: 0,
    };
    let action = ActionSpec {
        name: "hit".to_string(),
        args: Args::InOrder(Vec::new()),
    };
    // A packet of 60 bytes has 64 with its checksum: 50 count. The meter has room for just these.
    let rates = MeterConfig {
        committed_rate: 0,
        committed_burst: 50,
        peak_rate: 0,
        peak_burst: 50,
    };
    let batch = [
        Update::Insert(Entry {
            key: key.clone(),
            target: Target::Action(action),
        }),
        Update::SetDirectMeter {
            key: key.clone(),
            config: Some(rates),
        },
    ];
    switch.write(&batch).unwrap();
    let color = |switch: &mut Switch| send(switch, &frame(7, 9, 0, 0))[0].1[15];
    assert_eq!([color(&mut switch), color(&mut switch)], [0, 3]);
    let entry = switch.state().entry(&key).expect("an entry");
    assert_eq!((entry.packets, entry.bytes), (2, 100));
}

// If this fails, a program that a chip could not run is run as if one of its actions had not said so.
#[test]
fn what_a_direct_counter_leaves_out_is_one_number() {
    for (action, wrong) in [
        (
            "counted.count(10);",
            "counted: adjust_byte_count is 14 here and 10",
        ),
        (
            "counted.count(h.h.c);",
            "counted: adjust_byte_count must be a constant",
        ),
    ] {
        let ingress = with_direct(action);
        let refused = image(&Parts {
            ingress: &ingress,
            ..PLAIN
        });
        let why = refused.expect_err("no such chip");
        assert!(why.contains(wrong), "{why}");
    }
}
