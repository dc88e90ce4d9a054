//! The v1model switch with programs of our own: what happens between the blocks, what a trace
//! tells, and that no packet does harm.

use num_bigint::BigUint;
use p4_arch::v1model::{Config, Drop, Fate, Image, Kind, Switch, Trace, V1Model};
use p4_arch::{Port, Time};
use p4_ir::lower::Binding;
use p4_state::*;
use p4_syntax::{MemoryFiles, Options, SourceMap};
use proptest::prelude::*;
use std::sync::Arc;

use crate::priorities;

use crate::engine;

/// A program of one header `h` (op, a, b, and r for results) with the given bodies.
fn source(parser: &str, globals: &str, ingress: &str, egress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> op; bit<8> a; bit<16> b; bit<32> r; }}
struct headers {{ h_t h; h_t[3] more; }}
struct metadata {{ @field_list(1) bit<8> kept; bit<8> lost; }}
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    state start {{ p.extract(hdr.h); {parser} }}
}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    {globals}
    apply {{ {ingress} }}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{ apply {{ {egress} }} }}
control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

fn image(source: &str) -> Result<Arc<Image>, String> {
    compile(source, &V1Model).0
}

/// What a program comes to, which is one, and its text.
pub fn compile(source: &str, binding: &dyn Binding) -> (Result<Arc<Image>, String>, SourceMap) {
    let mut files = MemoryFiles::default();
    files.0.insert("test.p4".into(), source.into());
    let parsed = p4_syntax::parse("test.p4", &files, &Options::default());
    let checked = p4_check::check(&parsed.program);
    let mut all = parsed.diagnostics;
    all.extend(checked.diagnostics.clone());
    all.retain(|d| d.severity == p4_syntax::Severity::Error);
    assert!(
        all.is_empty(),
        "{}",
        p4_syntax::render(&all, &parsed.sources, false)
    );
    let image = p4_ir::lower::lower(&checked, binding)
        .map_err(|all| p4_syntax::render(&all, &parsed.sources, false))
        .and_then(|program| Image::new(Arc::new(program)).map_err(|error| error.to_string()));
    (image.map(Arc::new), parsed.sources)
}

fn switch(source: &str) -> Switch {
    engine::switch(image(source).expect("it runs"), Config::default()).expect("a switch")
}

type Sent = Vec<(Port, Vec<u8>)>;

fn send(switch: &mut Switch, port: Port, data: &[u8]) -> Sent {
    let mut sent = Vec::new();
    let mut sink = |port: Port, data: &[u8]| sent.push((port, data.to_vec()));
    switch.process(Time::from_micros(5), port, data, &mut sink);
    sent
}

fn traced(switch: &mut Switch, port: Port, data: &[u8]) -> (Sent, Trace) {
    let mut sent = Vec::new();
    let mut sink = |port: Port, data: &[u8]| sent.push((port, data.to_vec()));
    let trace = switch.process_traced(Time::from_micros(5), port, data, &mut sink);
    (sent, trace)
}

fn packet(op: u8, a: u8, b: u16) -> Vec<u8> {
    let mut data = vec![op, a];
    data.extend(b.to_be_bytes());
    data.extend([0; 4]);
    data
}

/// The field `r` of what was sent
fn results(sent: &Sent) -> Vec<u32> {
    let result = |data: &Vec<u8>| u32::from_be_bytes([data[4], data[5], data[6], data[7]]);
    sent.iter().map(|(_, data)| result(data)).collect()
}

fn one_port(session: u32, port: Port) -> Update {
    Update::SetSession {
        session,
        to: Some(CloneSession {
            port: Some(port),
            ..Default::default()
        }),
    }
}

// If this fails, a student's endless recirculation hangs the lab instead of being explained.
#[test]
fn endless_rounds_end_with_a_reason() {
    let round = source(
        "transition accept;",
        "",
        "sm.egress_spec = 1;",
        "recirculate_preserving_field_list(1);",
    );
    let mut switch = switch(&round);
    let (sent, trace) = traced(&mut switch, 1, &packet(1, 2, 3));
    assert!(sent.is_empty());
    let last = trace.packets.last().expect("packets");
    assert!(matches!(
        last.fate,
        Some(Fate::Dropped {
            reason: Drop::TooManyPasses,
            ..
        })
    ));
    assert_eq!(trace.packets.len() as u32, Config::default().max_passes + 1);
    assert_eq!(switch.stats().too_many_passes, 1);
    assert_eq!(
        switch.stats().recirculated,
        u64::from(Config::default().max_passes)
    );

    // Each round doubles the packets.
    let flood = source(
        "transition accept;",
        "",
        "sm.egress_spec = 1;",
        "clone(CloneType.E2E, 1); recirculate_preserving_field_list(1);",
    );
    let mut switch = self::switch(&flood);
    switch.write(&[one_port(1, 2)]).expect("a session");
    send(&mut switch, 1, &packet(1, 2, 3));
    let stats = switch.stats();
    assert!(stats.too_many_packets + stats.too_many_passes > 0);
}

// If this fails, an endless loop in a parser or control hangs the switch.
#[test]
fn endless_loops_end() {
    let parser = source(
        "transition round; } state round { transition select(hdr.h.op) { 1: round; default: accept; }",
        "",
        "sm.egress_spec = 2; hdr.h.r = 7;",
        "",
    );
    let mut looping = switch(&parser);
    assert_eq!(results(&send(&mut looping, 1, &packet(1, 2, 3))), [7]);
}

// If this fails, a trace does not say which line dropped a packet.
#[test]
fn drops_have_their_line() {
    let text = source(
        "transition accept;",
        "",
        "if (hdr.h.op == 1) { mark_to_drop(sm); } else if (hdr.h.op == 2) { sm.mcast_grp = 9; } \
         else if (hdr.h.op == 3) { sm.egress_spec = 511; } else { sm.egress_spec = 4; }",
        "if (hdr.h.op == 5) { mark_to_drop(sm); } if (hdr.h.op == 6) { assert(hdr.h.a == 1); }",
    );
    let (image, sources) = compile(&text, &V1Model);
    let mut switch = engine::switch(image.expect("it runs"), Config::default()).expect("a switch");
    let cases = [
        (1, Drop::IngressDrop, "mark_to_drop(sm)"),
        (2, Drop::NoGroup { group: 9 }, "sm.mcast_grp = 9"),
        (3, Drop::IngressDrop, "sm.egress_spec = 511"),
        (5, Drop::EgressDrop, "mark_to_drop(sm)"),
        (6, Drop::AssertionFailed, "assert(hdr.h.a == 1)"),
    ];
    for (op, expected, line) in cases {
        let (sent, trace) = traced(&mut switch, 1, &packet(op, 0, 0));
        assert!(sent.is_empty());
        let Some(Fate::Dropped { reason, span }) = trace.packets[0].fate else {
            panic!("packet {op} was not dropped: {:?}", trace.packets[0].fate)
        };
        assert_eq!(reason, expected);
        assert_eq!(sources.snippet(span).trim_end_matches(';'), line);
    }
    assert_eq!(switch.stats().dropped(), 5);
}

// If this fails, the tree of copies in a trace does not show where a packet came from.
#[test]
fn a_trace_is_a_tree() {
    let text = source(
        "transition accept;",
        "",
        "meta.kept = 7; meta.lost = 8; \
         if (sm.instance_type == 0) { clone_preserving_field_list(CloneType.I2E, 3, 1); sm.mcast_grp = 5; } \
         else { sm.egress_spec = 6; }",
        "hdr.h.r = (bit<32>)sm.instance_type << 16 | (bit<32>)meta.kept << 8 | (bit<32>)meta.lost; \
         if (sm.egress_port == 4) { recirculate_preserving_field_list(1); }",
    );
    let mut switch = switch(&text);
    let replicas = [(2, 1), (4, 2)]
        .map(|(port, rid)| Replica { port, rid })
        .to_vec();
    switch
        .write(&[
            one_port(3, 8),
            Update::SetGroup {
                group: 5,
                replicas: Some(replicas),
            },
        ])
        .expect("groups");
    let (sent, trace) = traced(&mut switch, 1, &packet(1, 0, 0));
    let ports: Vec<Port> = sent.iter().map(|(port, _)| *port).collect();
    assert_eq!(ports, [8, 2, 6]);
    assert_eq!(results(&sent), [0x1_0700, 0x5_0708, 0x0_0708]);
    let tree: Vec<_> = trace
        .packets
        .iter()
        .map(|p| (p.id, p.parent, p.kind, p.pass))
        .collect();
    assert_eq!(
        tree,
        [
            (0, None, Kind::Original, 0),
            (1, Some(0), Kind::IngressClone, 0),
            (2, Some(0), Kind::Replica, 0),
            (3, Some(0), Kind::Replica, 0),
            (4, Some(3), Kind::Recirculated, 1),
        ]
    );
    assert!(trace
        .packets
        .iter()
        .all(|p| p.fate.is_some() && !p.steps.is_empty()));
    assert_eq!(trace.packets[3].fate, Some(Fate::Again { id: 4 }));
    assert_eq!(
        trace.packets[0].fate,
        Some(Fate::Replicated {
            group: 5,
            ids: vec![2, 3]
        })
    );
}

// If this fails, code that follows v1model.p4's text sees bmv2's forgotten ports, or the reverse.
#[test]
fn ingress_port_survives_unless_bmv2_is_asked_for() {
    let text = source(
        "transition accept;",
        "",
        "if (sm.instance_type == 0) { resubmit_preserving_field_list(1); } hdr.h.r = (bit<32>)sm.ingress_port; sm.egress_spec = 2;",
        "",
    );
    let image = image(&text).expect("it runs");
    for (bmv2_compat, port) in [(false, 5), (true, 0)] {
        let config = Config {
            bmv2_compat,
            ..Config::default()
        };
        let mut switch = engine::switch(Arc::clone(&image), config).expect("a switch");
        assert_eq!(results(&send(&mut switch, 5, &packet(0, 0, 0))), [port]);
    }
}

// If this fails, an index that a packet chose reaches memory of others, or kills the switch.
#[test]
fn cells_out_of_range_do_nothing_and_are_counted() {
    let text = source(
        "transition accept;",
        "register<bit<32>>(4) reg; counter(4, CounterType.packets) c; meter(4, MeterType.bytes) m;",
        "bit<32> i = (bit<32>)hdr.h.b; bit<32> old; reg.read(old, i); reg.write(i, old + 1); \
         c.count(i); bit<2> color; m.execute_meter(i, color); hdr.h.r = old; sm.egress_spec = 2;",
        "",
    );
    let mut switch = switch(&text);
    for (index, expected) in [(3, 0), (3, 1), (4, 0), (65535, 0), (3, 2)] {
        assert_eq!(
            results(&send(&mut switch, 1, &packet(0, 0, index))),
            [expected]
        );
    }
    assert_eq!(switch.stats().out_of_range, 2 * 4);
    assert_eq!(
        switch.state().read_register("reg", 3),
        Ok(BigUint::from(3u8))
    );
    assert_eq!(switch.state().counter("c", 3), Ok((3, 24)));
}

// If this fails, load balancing picks other members than bmv2, or an empty group sends packets.
#[test]
fn selectors_pick_by_hash() {
    let text = source(
        "transition accept;",
        "action to(bit<9> port) { sm.egress_spec = port; }
         action_selector(HashAlgorithm.identity, 16, 16) sel;
         table t { key = { hdr.h.op: exact; hdr.h.b: selector; } actions = { to; } implementation = sel; }",
        "sm.egress_spec = 511; t.apply();",
        "",
    );
    let mut switch = switch(&text);
    let member = |member, port: u32| Update::SetMember {
        profile: "sel".into(),
        member,
        action: Some(ActionSpec {
            name: "to".into(),
            args: Args::InOrder(vec![port.into()]),
        }),
    };
    let group = |members| Update::SetMemberGroup {
        profile: "sel".into(),
        group: 1,
        members,
    };
    let matches = vec![("op".into(), Match::Exact(1u8.into()))];
    let key = EntryKey {
        table: "t".into(),
        matches,
        priority: 0,
    };
    let entry = Update::Insert(Entry {
        key,
        target: Target::Group(1),
    });
    let empty = switch
        .write(&[group(Some(vec![])), entry.clone()])
        .expect_err("an empty group");
    assert!(empty.to_string().contains("no members"), "{empty}");
    switch
        .write(&[
            member(9, 3),
            member(2, 1),
            member(5, 2),
            group(Some(vec![9, 2, 5])),
            entry,
        ])
        .expect("members");
    let ports: Vec<Port> = (0..4)
        .flat_map(|b| send(&mut switch, 7, &packet(1, 0, b)))
        .map(|s| s.0)
        .collect();
    assert_eq!(ports, [1, 2, 3, 1]);
    assert!(switch
        .write(&[Update::SetMember {
            profile: "sel".into(),
            member: 2,
            action: None
        }])
        .is_err());
    switch
        .write(&[group(Some(vec![]))])
        .expect("it may be emptied later");
    assert!(send(&mut switch, 7, &packet(1, 0, 0)).is_empty());
}

// If this fails, a control plane misses what a program tells it, or a run cannot be repeated.
#[test]
fn digests_and_random_numbers_repeat() {
    let text = source(
        "transition accept;",
        "",
        "bit<16> x; random(x, 10, 20); hdr.h.r = (bit<32>)x; \
         digest<tuple<bit<8>, bit<16>>>(1, { hdr.h.a, x }); sm.egress_spec = 2;",
        "",
    );
    let image = image(&text).expect("it runs");
    let run = |seed| {
        let config = Config {
            seed,
            ..Config::default()
        };
        let mut switch = engine::switch(Arc::clone(&image), config).expect("a switch");
        let all: Vec<u32> = (0..50)
            .flat_map(|i| results(&send(&mut switch, 1, &packet(0, i, 0))))
            .collect();
        (all, switch.take_digests())
    };
    let (numbers, digests) = run(3);
    assert!(numbers.iter().all(|n| (10..=20).contains(n)));
    assert_eq!(run(3), (numbers.clone(), digests.clone()));
    assert_ne!(run(4).0, numbers);
    assert_eq!(digests.len(), 50);
    assert_eq!(digests[7].fields, [vec![7], vec![u64::from(numbers[7])]]);
}

// If this fails, a program that cannot be executed is loaded all the same.
#[test]
fn what_cannot_be_executed_is_said() {
    let text = source(
        "transition accept;",
        "",
        "hash(hdr.h.r, HashAlgorithm.random, 32w0, { hdr.h.a }, 32w9);",
        "",
    );
    let config = Config {
        bmv2_compat: true,
        ..Config::default()
    };
    let random = image(&text).expect("the program is right");
    let error = engine::switch(random, config).err().expect("no such hash");
    assert!(error.message.contains("no HashAlgorithm.random"), "{error}");
    let text = source(
        "transition accept;",
        "register<bit<2048>>(0x7fffffff) reg;",
        "bit<2048> x; reg.read(x, 1); hdr.h.r = x[31:0];",
        "",
    );
    let image = image(&text).expect("the program is right");
    let error = engine::switch(image, Config::default())
        .err()
        .expect("too large")
        .to_string();
    assert!(error.contains("does not fit"), "{error}");
}

/// Something of everything, steered by the packet.
fn busy() -> Switch {
    let text = source(
        "transition select(hdr.h.op) { 0 .. 99: accept; 100 &&& 0xfc: more; 200: ahead; default: more; } } \
         state more { p.extract(hdr.more.next); transition select(hdr.more.last.op) { 1: more; 2: ahead; default: accept; } } \
         state ahead { hdr.h.b = p.lookahead<bit<16>>(); p.advance((bit<32>)hdr.h.a); transition more;",
        "register<bit<128>>(16) reg; direct_counter(CounterType.bytes) dc;
         action go(bit<9> port) { sm.egress_spec = port; }
         action drop() { mark_to_drop(sm); }
         table t { key = { hdr.h.op: ternary; hdr.h.b: range; hdr.more[0].isValid(): exact; } actions = { go; drop; }
                   default_action = go(3); counters = dc; }",
        "t.apply();
         bit<128> wide; reg.read(wide, (bit<32>)hdr.h.a);
         wide = wide * (hdr.h.r ++ hdr.h.r ++ hdr.h.r ++ hdr.h.r) + 1; wide = wide |+| (wide << hdr.h.a);
         reg.write((bit<32>)hdr.h.a & 31, wide); hdr.h.r = wide[80:49];
         if (hdr.h.a[0:0] == 1) { hdr.more.push_front(1); hdr.more[0].setValid(); hdr.more[hdr.h.a & 3].b = 5; }
         if (hdr.h.a[1:1] == 1) { sm.mcast_grp = (bit<16>)hdr.h.a[3:2]; }
         if (hdr.h.a[4:4] == 1) { clone_preserving_field_list(CloneType.I2E, 1, 1); }
         if (hdr.h.a[5:5] == 1 && meta.kept < 3) { meta.kept = meta.kept + 1; resubmit_preserving_field_list(1); }",
        "if (hdr.h.a[6:6] == 1 && meta.kept < 3) { meta.kept = meta.kept + 1; hdr.more.pop_front(1); recirculate_preserving_field_list(1); }
         if (hdr.h.a[7:7] == 1) { truncate((bit<32>)hdr.h.b & 63); }
         if (sm.instance_type == 5) { clone(CloneType.E2E, 2); }",
    );
    // Copies of copies would be thousands.
    let config = Config {
        max_packets: 200,
        ..Config::default()
    };
    let mut switch = engine::switch(image(&text).expect("it runs"), config).expect("a switch");
    let replicas = |n: u16| Some((0..n).map(|i| Replica { port: i, rid: i }).collect());
    let matches = vec![
        (
            "op".into(),
            Match::Ternary {
                value: 4u8.into(),
                mask: 4u8.into(),
            },
        ),
        (
            "b".into(),
            Match::Range {
                low: 5u8.into(),
                high: 900u16.into(),
            },
        ),
        ("hdr.more[0].$valid$".into(), Match::Exact(0u8.into())),
    ];
    let key = EntryKey {
        table: "t".into(),
        matches,
        priority: 1,
    };
    let target = Target::Action(ActionSpec {
        name: "drop".into(),
        args: Args::InOrder(vec![]),
    });
    switch
        .write(&[
            one_port(1, 5),
            one_port(2, 6),
            Update::SetGroup {
                group: 1,
                replicas: replicas(3),
            },
            Update::SetGroup {
                group: 2,
                replicas: replicas(0),
            },
            Update::Insert(Entry { key, target }),
        ])
        .expect("entries");
    switch
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    // If this fails, some packet crashes a switch, or a trace tells another story than what happens.
    #[test]
    fn traced_or_not_the_same_packets_leave(
        packets in prop::collection::vec((0u16..520, prop::collection::vec(any::<u8>(), 0..60)), 1..20),
    ) {
        let (mut plain, mut followed) = (busy(), busy());
        for (port, data) in packets {
            let sent = send(&mut plain, port, &data);
            let (again, trace) = traced(&mut followed, port, &data);
            prop_assert_eq!(&sent, &again);
            prop_assert!(trace.packets.iter().all(|packet| packet.fate.is_some()));
            let told = trace.packets.iter().filter(|packet| matches!(packet.fate, Some(Fate::Sent { .. }))).count();
            prop_assert_eq!(told, sent.len());
            for packet in &trace.packets {
                for step in &packet.steps {
                    prop_assert!(!p4_ir::trace_text::describe(followed.image().program(), step).is_empty());
                }
            }
        }
        prop_assert_eq!(plain.stats(), followed.stats());
        prop_assert_eq!(plain.stats().ill_formed, 0);
    }
}

// If this fails, urgent packets wait behind others at the ports of a network.
#[test]
fn packets_leave_with_the_priority_that_ingress_gave_them() {
    let source = source(
        "transition accept;",
        "",
        "sm.egress_spec = 3; sm.priority = hdr.h.a[2:0];",
        "sm.priority = 1;",
    );
    let mut switch = switch(&source);
    let mut sink = priorities::Priorities::default();
    for priority in [0, 5, 7] {
        let data = [0, priority, 0, 0, 0, 0, 0, 0];
        switch.process(Time::ZERO, 1, &data, &mut sink);
    }
    assert_eq!(sink.0, [(3, 0), (3, 5), (3, 7)]);
}
