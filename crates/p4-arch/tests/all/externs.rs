//! The externs of v1model, one by one. The oracles are the comments of v1model.p4, P4Runtime's
//! specification, published check values, and what simple_switch was seen to do.

use num_bigint::BigUint;
use p4_arch::v1model::{AsBmv2, Assertions, Config, CrcParameters, Drop, Stop, Switch, V1Model};
use p4_arch::{Port, Time};
use p4_ir::lower::Binding;
use p4_state::*;

use crate::engine;
use crate::v1model::compile;

/// A program of one header (k, x, y and results r, s, t) with the given bodies.
fn source(globals: &str, ingress: &str, egress_globals: &str, egress: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
header h_t {{ bit<8> k; bit<8> x; bit<16> y; bit<32> r; bit<32> s; bit<64> t; }}
struct headers {{ h_t h; }}
struct metadata {{ @field_list(1) bit<8> kept; bit<8> color; }}
struct message_t {{ bit<8> k; bit<16> y; }}
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    value_set<bit<8>>(2) known;
    state start {{ p.extract(hdr.h); transition select(hdr.h.x) {{ known: marked; default: accept; }} }}
    state marked {{ meta.kept = 1; transition accept; }}
}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    {globals}
    apply {{ sm.egress_spec = 2; {ingress} }}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    {egress_globals}
    apply {{ {egress} }}
}}
control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

fn configured(source: &str, config: Config) -> Switch {
    let binding: &dyn Binding = if config.bmv2_compat {
        &AsBmv2
    } else {
        &V1Model
    };
    engine::switch(compile(source, binding).0.expect("it runs"), config).expect("a switch")
}

fn ingress(globals: &str, body: &str) -> Switch {
    configured(&source(globals, body, "", ""), Config::default())
}

/// k, x and y, then zeros for the results.
fn packet(k: u8, x: u8, y: u16) -> Vec<u8> {
    let mut data = vec![k, x, (y >> 8) as u8, y as u8];
    data.resize(20, 0);
    data
}

type Sent = Vec<(Port, Vec<u8>)>;

fn send_at(switch: &mut Switch, micros: u64, data: &[u8]) -> Sent {
    let mut sent = Vec::new();
    let mut sink = |port: Port, data: &[u8]| sent.push((port, data.to_vec()));
    switch.process(Time::from_micros(micros), 1, data, &mut sink);
    sent
}

fn send(switch: &mut Switch, data: &[u8]) -> Sent {
    send_at(switch, 5, data)
}

/// The results of the one packet that came out.
fn results(sent: &Sent) -> (u32, u32, u64) {
    assert_eq!(sent.len(), 1, "one packet comes out");
    let data = &sent[0].1;
    let word = |at: usize, n: usize| {
        data[at..at + n]
            .iter()
            .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    (word(4, 4) as u32, word(8, 4) as u32, word(12, 8))
}

fn write(switch: &mut Switch, update: Update) {
    switch.write(&[update]).expect("the update is right");
}

fn exact(table: &str, key: &str, value: u8) -> EntryKey {
    EntryKey {
        table: table.into(),
        matches: vec![(key.into(), Match::Exact(value.into()))],
        priority: 0,
    }
}

fn action(name: &str, args: &[u64]) -> ActionSpec {
    let args = args.iter().map(|arg| BigUint::from(*arg)).collect();
    ActionSpec {
        name: name.into(),
        args: Args::InOrder(args),
    }
}

fn rates(committed: (u64, u64), peak: (u64, u64)) -> Option<MeterConfig> {
    Some(MeterConfig {
        committed_rate: committed.0,
        committed_burst: committed.1,
        peak_rate: peak.0,
        peak_burst: peak.1,
    })
}

/// If this fails, a policer that nobody has configured drops traffic, or a configured one lets
/// through more or less than its rates and bursts.
#[test]
fn meters_of_packets() {
    let mut switch = ingress(
        "meter(4, MeterType.packets) m;",
        "m.execute_meter((bit<32>)hdr.h.x, hdr.h.r);",
    );
    let color = |switch: &mut Switch, micros, cell| {
        results(&send_at(switch, micros, &packet(0, cell, 0))).0
    };
    assert_eq!(color(&mut switch, 0, 1), 0, "green without rates");
    let update = Update::SetMeter {
        meter: "m".into(),
        index: Some(1),
        config: rates((1000, 2), (2000, 4)),
    };
    write(&mut switch, update);
    let colors: Vec<u32> = (0..6).map(|_| color(&mut switch, 0, 1)).collect();
    assert_eq!(colors, [0, 0, 1, 1, 2, 2], "bursts of 2 and 4");
    assert_eq!(color(&mut switch, 0, 2), 0, "another cell");
    // After a millisecond there is one committed token and two of the peak.
    let colors: Vec<u32> = (0..4).map(|_| color(&mut switch, 1000, 1)).collect();
    assert_eq!(colors, [0, 1, 2, 2]);
    // Buckets never hold more than their bursts.
    let colors: Vec<u32> = (0..5).map(|_| color(&mut switch, 10_000_000, 1)).collect();
    assert_eq!(colors, [0, 0, 1, 1, 2]);
}

/// If this fails, a byte meter counts something else than the packet's length on arrival.
#[test]
fn meters_of_bytes() {
    let mut switch = ingress(
        "meter(1, MeterType.bytes) m;",
        "m.execute_meter(32w0, hdr.h.r);",
    );
    let update = Update::SetMeter {
        meter: "m".into(),
        index: None,
        config: rates((0, 60), (0, 100)),
    };
    write(&mut switch, update);
    let mut color = |extra: usize| {
        let mut data = packet(0, 0, 0);
        data.resize(20 + extra, 0);
        results(&send(&mut switch, &data)).0
    };
    // 60 bytes fit both; 30 only the peak; 20 neither; and 10 the peak again, as red takes nothing.
    assert_eq!([color(40), color(10), color(0)], [0, 1, 2]);
}

const DIRECT: &str = "
    direct_meter<bit<8>>(MeterType.packets) m;
    action hit() { m.read(meta.color); }
    action miss() { m.read(meta.color); }
    table t { key = { hdr.h.k: exact; } actions = { hit; miss; } meters = m; default_action = miss; }";

/// If this fails, per-subscriber policing charges the wrong subscriber, or misses.
#[test]
fn direct_meters() {
    let mut switch = ingress(
        DIRECT,
        "meta.color = 9; t.apply(); hdr.h.r = (bit<32>)meta.color;",
    );
    for k in [1, 2] {
        let key = exact("t", "hdr.h.k", k);
        let target = Target::Action(action("hit", &[]));
        write(&mut switch, Update::Insert(Entry { key, target }));
    }
    let key = exact("t", "hdr.h.k", 1);
    let config = rates((0, 1), (0, 2));
    write(&mut switch, Update::SetDirectMeter { key, config });
    let mut color = |k| results(&send(&mut switch, &packet(k, 0, 0))).0;
    assert_eq!([color(1), color(1), color(1)], [0, 1, 2]);
    assert_eq!([color(2), color(2)], [0, 0], "its own entry, without rates");
    assert_eq!(color(3), 0, "a miss is green");
}

/// If this fails, a student's counters show other numbers than the packets that came.
#[test]
fn counters_and_direct_counters() {
    let globals = "
        counter(4, CounterType.packets) c;
        direct_counter(CounterType.bytes) d;
        action hit() { d.count(); }
        table t { key = { hdr.h.k: exact; } actions = { hit; NoAction; } counters = d; default_action = NoAction; }";
    let egress = "counter(1, CounterType.bytes) e;";
    let text = source(
        globals,
        "c.count((bit<32>)hdr.h.x); t.apply();",
        egress,
        "e.count(0);",
    );
    let mut switch = configured(&text, Config::default());
    let key = exact("t", "hdr.h.k", 1);
    let target = Target::Action(action("hit", &[]));
    write(
        &mut switch,
        Update::Insert(Entry {
            key: key.clone(),
            target,
        }),
    );
    for (k, x) in [(1, 0), (1, 3), (2, 3), (1, 4), (1, 200)] {
        assert_eq!(send(&mut switch, &packet(k, x, 0)).len(), 1);
    }
    let state = switch.state();
    assert_eq!(state.counter("c", 0), Ok((1, 20)));
    assert_eq!(state.counter("c", 3), Ok((2, 40)));
    assert!(state.counter("c", 4).is_err());
    assert_eq!(
        state.direct_counter(&key),
        Ok((4, 80)),
        "hits only, and every hit once"
    );
    assert_eq!(state.counter("e", 0), Ok((5, 100)));
    assert_eq!(switch.stats().out_of_range, 2, "indices 4 and 200 of 4");
}

/// If this fails, the control plane learns an address twice, never, or a wrong one.
#[test]
fn digests() {
    let mut switch = ingress(
        "",
        "if (hdr.h.k == 1) { digest<message_t>(1, { hdr.h.x, hdr.h.y }); }
         if (hdr.h.k == 1 && hdr.h.x == 9) { digest<message_t>(1, { 8w7, hdr.h.y }); mark_to_drop(sm); }",
    );
    assert_eq!(send(&mut switch, &packet(1, 2, 0x1234)).len(), 1);
    assert_eq!(send(&mut switch, &packet(0, 3, 0x1234)).len(), 1);
    assert_eq!(
        send(&mut switch, &packet(1, 9, 0xffff)).len(),
        0,
        "dropped, but told"
    );
    let fields: Vec<_> = switch
        .take_digests()
        .into_iter()
        .map(|d| d.fields)
        .collect();
    // One per packet: of two calls the last counts.
    assert_eq!(fields, [[[2u64], [0x1234]], [[7], [0xffff]]]);
    assert!(switch.take_digests().is_empty());
}

const PROFILE: &str = "
    action set(bit<8> v) { hdr.h.r = (bit<32>)v; }
    table t {
        key = { hdr.h.k: exact; hdr.h.y: selector; }
        actions = { set; NoAction; }
        implementation = ap;
    }";

fn member(switch: &mut Switch, member: u32, v: u64) {
    let action = Some(action("set", &[v]));
    let profile = "ap".to_string();
    write(
        switch,
        Update::SetMember {
            profile,
            member,
            action,
        },
    );
}

/// If this fails, next-hop groups share members wrongly: a changed member must change all entries.
#[test]
fn action_profiles() {
    let globals = format!(
        "action_profile(3) ap; {}",
        PROFILE.replace(" hdr.h.y: selector;", "")
    );
    let mut switch = ingress(&globals, "t.apply();");
    member(&mut switch, 0, 0x10);
    member(&mut switch, 1, 0x20);
    for (k, to) in [(1, 0), (2, 1), (3, 1)] {
        let key = exact("t", "hdr.h.k", k);
        write(
            &mut switch,
            Update::Insert(Entry {
                key,
                target: Target::Member(to),
            }),
        );
    }
    let r = |switch: &mut Switch, k| results(&send(switch, &packet(k, 0, 0))).0;
    assert_eq!(
        [1, 2, 3, 4].map(|k| r(&mut switch, k)),
        [0x10, 0x20, 0x20, 0]
    );
    member(&mut switch, 1, 0x30);
    assert_eq!([1, 2, 3].map(|k| r(&mut switch, k)), [0x10, 0x30, 0x30]);
    let remove = Update::SetMember {
        profile: "ap".into(),
        member: 1,
        action: None,
    };
    assert!(switch.write(&[remove]).is_err(), "in use");
    let default = Update::SetDefaultTarget {
        table: "t".into(),
        target: Target::Member(0),
    };
    write(&mut switch, default);
    assert_eq!(r(&mut switch, 4), 0x10, "the default member");
    let full: Vec<_> = (2..4)
        .map(|member| Update::SetMember {
            profile: "ap".into(),
            member,
            action: Some(action("set", &[1])),
        })
        .collect();
    assert!(switch.write(&full).is_err(), "its size is 3");
}

/// If this fails, load balancing sends a flow elsewhere than its hash says.
#[test]
fn action_selectors() {
    let globals = format!("action_selector(HashAlgorithm.identity, 16, 16) ap; {PROFILE}");
    let mut switch = ingress(&globals, "t.apply();");
    for at in 0..4 {
        member(&mut switch, at, 0x10 + u64::from(at));
    }
    let group = |members: &[u32]| Update::SetMemberGroup {
        profile: "ap".into(),
        group: 7,
        members: Some(members.to_vec()),
    };
    let key = exact("t", "hdr.h.k", 1);
    let entry = Update::Insert(Entry {
        key,
        target: Target::Group(7),
    });
    write(&mut switch, group(&[]));
    assert!(
        switch.write(std::slice::from_ref(&entry)).is_err(),
        "an empty group"
    );
    write(&mut switch, group(&[3, 0, 2]));
    write(&mut switch, entry);
    // identity of y, mod 3, over the members in ascending order: 0, 2, 3
    let r = |switch: &mut Switch, y: u16| results(&send(switch, &packet(1, 0, y))).0;
    let expected = |y: u16| [0x10, 0x12, 0x13][usize::from(y) % 3];
    for y in [0, 1, 2, 3, 100, 65_535] {
        assert_eq!(r(&mut switch, y), expected(y), "y is {y}");
    }
    write(&mut switch, group(&[]));
    assert_eq!(r(&mut switch, 1), 0, "an emptied group does nothing");
}

/// If this fails, hashes differ from bmv2's and from published implementations: a field of 72 bits
/// holds the digits 1 to 9, whose check values are in the catalogue of CRCs.
#[test]
fn every_hash() {
    let digits = "72w0x313233343536373839";
    let call = |algorithm: &str, result: &str| {
        format!("hash({result}, HashAlgorithm.{algorithm}, 64w0, {{ {digits} }}, 64w0xffffffffffffffff);")
    };
    let run = |algorithm: &str| {
        let mut switch = ingress("", &call(algorithm, "hdr.h.t"));
        results(&send(&mut switch, &packet(0, 0, 0))).2
    };
    assert_eq!(run("crc32"), 0xcbf4_3926);
    assert_eq!(run("crc32_custom"), 0xcbf4_3926);
    assert_eq!(run("crc16"), 0xbb3d);
    assert_eq!(run("crc16_custom"), 0xbb3d);
    assert_eq!(run("identity"), 0x3132_3334_3536_3738, "its first 8 bytes");
    // 0x3132 + 0x3334 + 0x3536 + 0x3738 + 0x3900 = 0x109d4 -> 0x09d5, complemented
    assert_eq!(run("csum16"), 0xf62a);
    assert_eq!(run("xor16"), 0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738 ^ 0x3900);
    let random = |seed| {
        let config = Config {
            seed,
            ..Config::default()
        };
        let text = source("", &call("random", "hdr.h.t"), "", "");
        let mut switch = configured(&text, config);
        [0, 1].map(|_| results(&send(&mut switch, &packet(0, 0, 0))).2)
    };
    let numbers = random(1);
    assert_ne!(numbers[0], numbers[1]);
    assert_eq!(random(1), numbers, "the seed decides");
    assert_ne!(random(2), numbers);
}

/// If this fails, a control plane cannot give CRCs the parameters it wants, or changes others.
#[test]
fn custom_crcs() {
    let body = "hash(hdr.h.r, HashAlgorithm.crc32_custom, 32w0, { 72w0x313233343536373839 }, 64w0x100000000);
        hash(hdr.h.s, HashAlgorithm.crc16_custom, 32w0, { 72w0x313233343536373839 }, 64w0x100000000);";
    let mut switch = ingress("", body);
    let parameters = |width, polynomial, initial| CrcParameters {
        width,
        polynomial,
        initial,
        xor: 0,
        reflect_data: false,
        reflect_remainder: false,
    };
    let mut both = |name: &str, parameters| {
        let error = switch
            .set_crc(name, parameters)
            .err()
            .map(|error| error.message);
        let (r, s, _) = results(&send(&mut switch, &packet(0, 0, 0)));
        (r, s, error)
    };
    assert_eq!(
        both("calc", parameters(32, 0x04c1_1db7, 0)),
        (0x89a1_897f, 0xbb3d, None)
    );
    assert_eq!(
        both("calc_0", parameters(16, 0x1021, 0xffff)),
        (0x89a1_897f, 0x29b1, None)
    );
    let (_, _, error) = both("calc_0", parameters(32, 1, 0));
    let error = error.expect("calc_0 has 16 bits");
    assert!(error.contains("calc, calc_0"), "{error}");
}

/// If this fails, two hashes that a macro wrote share one CRC, and a control plane that gives
/// parameters to one changes both.
#[test]
fn custom_crcs_of_a_macro() {
    let body = "TWICE(hdr.h.r, hdr.h.s)";
    let text = source("", body, "", "").replacen(
        "#include <v1model.p4>",
        "#include <v1model.p4>\n#define TWICE(a, b) \\\n    CRC(a) CRC(b)\n#define CRC(a) \\\n    hash(a, HashAlgorithm.crc32_custom, 32w0, { 72w0x313233343536373839 }, 64w0x100000000);",
        1,
    );
    let mut switch = configured(&text, Config::default());
    let parameters = CrcParameters {
        width: 32,
        polynomial: 0x04c1_1db7,
        initial: 0,
        xor: 0,
        reflect_data: false,
        reflect_remainder: false,
    };
    switch.set_crc("calc_0", parameters).expect("a second CRC");
    let (r, s, _) = results(&send(&mut switch, &packet(0, 0, 0)));
    assert_eq!((r, s), (0xcbf4_3926, 0x89a1_897f));
}

/// If this fails, random(lo, hi) leaves its bounds, or two runs of a lab differ.
#[test]
fn random_numbers() {
    let text = source(
        "",
        "random(hdr.h.r, 32w10, 32w12); random(hdr.h.s, 32w7, 32w7);",
        "",
        "",
    );
    let run = |seed| -> Vec<u32> {
        let mut switch = configured(
            &text,
            Config {
                seed,
                ..Config::default()
            },
        );
        let one = |_| {
            let (r, s, _) = results(&send(&mut switch, &packet(0, 0, 0)));
            assert_eq!(s, 7);
            r
        };
        (0..60).map(one).collect()
    };
    let numbers = run(1);
    assert!([10, 11, 12].iter().all(|n| numbers.contains(n)));
    assert!(numbers.iter().all(|n| (10..=12).contains(n)));
    assert_eq!(run(1), numbers);
    assert_ne!(run(2), numbers);
}

/// If this fails, a truncated copy has the wrong length.
#[test]
fn truncation() {
    let text = source(
        "",
        "if (hdr.h.k == 1) { truncate(12); truncate(8); truncate(100); }",
        "",
        "if (hdr.h.k == 2) { truncate(3); } if (hdr.h.k == 3) { truncate(0); }",
    );
    let mut switch = configured(&text, Config::default());
    let mut length = |k| send(&mut switch, &packet(k, 0, 0))[0].1.len();
    assert_eq!([0, 1, 2, 3].map(&mut length), [20, 8, 3, 0]);
}

/// If this fails, a broken invariant goes unnoticed, or stops a lab that should go on.
#[test]
fn assertions() {
    let text = source(
        "",
        "assert(hdr.h.k != 1); assume(hdr.h.k != 2); log_msg(\"k={} {}\", { hdr.h.k });",
        "",
        "",
    );
    let mut switch = configured(&text, Config::default());
    let counts = [0, 1, 2, 0].map(|k| send(&mut switch, &packet(k, 0, 0)).len());
    assert_eq!(counts, [1, 0, 0, 1]);
    assert_eq!(switch.stats().failed_assertions, 2);
    assert_eq!(switch.stopped(), None);
    let stop = Config {
        assertions: Assertions::Stop,
        ..Config::default()
    };
    let mut switch = configured(&text, stop);
    let counts = [0, 2, 0].map(|k| send(&mut switch, &packet(k, 0, 0)).len());
    assert_eq!(counts, [1, 0, 0]);
    assert!(matches!(
        switch.stopped(),
        Some(Stop::AssertionFailed { name: "assume", .. })
    ));
    let compat = Config {
        bmv2_compat: true,
        ..Config::default()
    };
    let mut switch = configured(&text, compat);
    assert_eq!(send(&mut switch, &packet(0, 0, 0)).len(), 0);
    assert!(
        matches!(switch.stopped(), Some(Stop::TooFewValues { .. })),
        "one value for two `{{}}`"
    );
}

/// If this fails, log_msg is not to be seen where a student looks: in the trace.
#[test]
fn messages_are_in_the_trace() {
    let mut switch = ingress("", "log_msg(\"k={} y={}\", { hdr.h.k, hdr.h.y });");
    let mut none = |_: Port, _: &[u8]| {};
    let trace = switch.process_traced(Time::ZERO, 1, &packet(5, 0, 6), &mut none);
    let steps = &trace.packets[0].steps;
    let is = |step: &p4_ir::trace::Step| matches!(&step.event, p4_ir::trace::Event::Note { text } if text == "log: k=5 y=6");
    assert!(steps.iter().any(is), "{steps:?}");
}

/// If this fails, parsers do not follow the value sets that a control plane fills.
#[test]
fn value_sets() {
    let mut switch = ingress("", "hdr.h.r = (bit<32>)meta.kept;");
    let set = |values: &[u8]| Update::SetValueSet {
        set: "known".into(),
        members: values
            .iter()
            .map(|v| vec![Match::Exact((*v).into())])
            .collect(),
    };
    let r = |switch: &mut Switch, x| results(&send(switch, &packet(0, x, 0))).0;
    assert_eq!([1, 2].map(|x| r(&mut switch, x)), [0, 0]);
    write(&mut switch, set(&[1, 2]));
    assert_eq!([1, 2, 3].map(|x| r(&mut switch, x)), [1, 1, 0]);
    write(&mut switch, set(&[3]));
    assert_eq!([1, 2, 3].map(|x| r(&mut switch, x)), [0, 0, 1]);
    assert!(switch.write(&[set(&[1, 2, 3])]).is_err(), "its size is 2");
}

/// If this fails, a control plane is never told of idle entries, or all the time: P4Runtime wants
/// one telling after each timeout without a hit.
#[test]
fn idle_timeouts() {
    let mut switch = ingress(
        "table t { key = { hdr.h.k: exact; } actions = { NoAction; } support_timeout = true; default_action = NoAction; }",
        "t.apply();",
    );
    for k in [1, 2] {
        let key = exact("t", "hdr.h.k", k);
        let target = Target::Action(action("NoAction", &[]));
        write(&mut switch, Update::Insert(Entry { key, target }));
    }
    let ttl = Some(Time::from_millis(10).picos());
    write(
        &mut switch,
        Update::SetIdleTimeout {
            key: exact("t", "hdr.h.k", 1),
            ttl,
        },
    );
    let idle = |switch: &mut Switch, millis| switch.idle_entries(Time::from_millis(millis)).len();
    assert_eq!(idle(&mut switch, 0), 0, "the time begins");
    assert_eq!(
        [5, 9, 10, 11, 19, 20].map(|t| idle(&mut switch, t)),
        [0, 0, 1, 0, 0, 1]
    );
    send_at(&mut switch, 25_000, &packet(1, 0, 0));
    assert_eq!(
        [30, 34, 35, 44, 45].map(|t| idle(&mut switch, t)),
        [0, 0, 1, 0, 1]
    );
    let told = switch.idle_entries(Time::from_millis(100));
    assert_eq!(told.len(), 1, "the other entry has no timeout");
    assert_eq!(told[0].table, "I.t");
    assert_eq!(told[0].entry.matches[0].1, Match::Exact(1u8.into()));
}

/// If this fails, queues in a lab neither delay nor drop, or tell egress other than they did.
#[test]
fn queues_with_rates() {
    let egress = "hdr.h.r = sm.deq_timedelta; hdr.h.s = sm.enq_timestamp;
        hdr.h.t = (bit<64>)sm.enq_qdepth * 256 + (bit<64>)sm.deq_qdepth;";
    let text = source("", "sm.priority = (bit<3>)hdr.h.k;", "", egress);
    let mut switch = configured(&text, Config::default());
    assert_eq!(
        results(&send_at(&mut switch, 7, &packet(0, 0, 0))),
        (0, 7, 0),
        "no rate, no wait"
    );
    // 1000 packets a second: one each millisecond.
    switch
        .set_queue_rate(Some(2), Some(0), 1000)
        .expect("a queue");
    switch
        .set_queue_depth(Some(2), Some(0), 2)
        .expect("a queue");
    let at = 10_000;
    assert_eq!(
        results(&send_at(&mut switch, at, &packet(0, 0, 0))),
        (0, at as u32, 0)
    );
    assert_eq!(send_at(&mut switch, at, &packet(0, 1, 0)).len(), 0);
    assert_eq!(send_at(&mut switch, at, &packet(0, 2, 0)).len(), 0);
    assert_eq!(
        send_at(&mut switch, at, &packet(0, 3, 0)).len(),
        0,
        "the queue holds two"
    );
    assert_eq!(switch.stats().queue_full, 1);
    // Another priority has a queue of its own, without a rate; it sees two packets at the port.
    let urgent = send_at(&mut switch, at, &packet(5, 0, 0));
    assert_eq!(results(&urgent), (0, at as u32, 0x0202));
    assert_eq!(switch.next_departure(), Some(Time::from_micros(at + 1000)));
    let mut sent = Vec::new();
    let mut sink = |port: Port, data: &[u8]| sent.push((port, data.to_vec()));
    switch.advance(Time::from_micros(at + 999), &mut sink);
    switch.advance(Time::from_micros(at + 5000), &mut sink);
    assert_eq!(sent.len(), 2);
    assert_eq!(
        sent.iter().map(|(_, data)| data[1]).collect::<Vec<_>>(),
        [1, 2],
        "in order"
    );
    assert_eq!(
        results(&vec![sent[0].clone()]),
        (1000, at as u32, 1),
        "none before, one behind"
    );
    assert_eq!(results(&vec![sent[1].clone()]), (2000, at as u32, 0x0100));
    assert_eq!(switch.next_departure(), None);
    assert!(
        switch.set_queue_rate(Some(2), Some(8), 1).is_err(),
        "priorities are 0 to 7"
    );
}

/// If this fails, urgent packets wait behind others whose turn comes at the same moment.
#[test]
fn the_larger_priority_goes_first() {
    let text = source("", "sm.priority = (bit<3>)hdr.h.k;", "", "");
    let mut switch = configured(&text, Config::default());
    switch.set_queue_rate(None, None, 1000).expect("all queues");
    for k in [1, 4, 7, 1, 4, 7] {
        send_at(&mut switch, 50, &packet(k, 0, 0));
    }
    let mut order = Vec::new();
    switch.advance(Time::from_secs(1), &mut |_: Port, data: &[u8]| {
        order.push(data[0])
    });
    assert_eq!(order, [7, 4, 1]);
    let compat = Config {
        bmv2_compat: true,
        ..Config::default()
    };
    let mut switch = configured(&text, compat);
    assert_eq!(
        [0, 1].map(|k| send(&mut switch, &packet(k, 0, 0)).len()),
        [1, 0]
    );
    assert_eq!(switch.stats().no_queue, 1);
}

/// If this fails, a call that cannot work where it stands is loaded all the same, or an old form
/// is refused without naming the new one.
#[test]
fn calls_in_the_wrong_place() {
    let refused = |ingress: &str, egress: &str| {
        let text = source("", ingress, "", egress);
        compile(&text, &V1Model).0.err().unwrap_or_default()
    };
    for (ingress, egress, part) in [
        ("clone(CloneType.E2E, 1);", "", "E2E is made in egress"),
        (
            "recirculate_preserving_field_list(1);",
            "",
            "recirculate is made in egress",
        ),
        ("", "clone(CloneType.I2E, 1);", "I2E is made in ingress"),
        (
            "",
            "resubmit_preserving_field_list(1);",
            "resubmit is made in ingress",
        ),
        (
            "clone3(CloneType.I2E, 1, { meta.kept });",
            "",
            "clone_preserving_field_list",
        ),
        (
            "resubmit({ meta.kept });",
            "",
            "resubmit_preserving_field_list",
        ),
        (
            "",
            "recirculate({ meta.kept });",
            "recirculate_preserving_field_list",
        ),
    ] {
        let message = refused(ingress, egress);
        assert!(message.contains(part), "{ingress}{egress}: {message:?}");
    }
    let start = "p.extract(hdr.h);";
    let cloning = format!("{start} clone(CloneType.I2E, 1);");
    let text = source("", "", "", "").replacen(start, &cloning, 1);
    let message = compile(&text, &V1Model).0.err().unwrap_or_default();
    assert!(message.contains("no effect in the parser"), "{message:?}");
    let right = refused(
        "clone(CloneType.I2E, 1);",
        "clone_preserving_field_list(CloneType.E2E, 1, 1);",
    );
    assert_eq!(right, "");
}

/// If this fails, simple_switch's ways come where they were not asked for, or the other way round.
#[test]
fn the_ways_of_bmv2_are_chosen() {
    let text = source(
        "register<bit<8>>(4) r; table t { key = { hdr.h.k: exact; } actions = { NoAction; } entries = { 1: NoAction(); } default_action = NoAction; }",
        "r.write((bit<32>)hdr.h.y, 1); t.apply();",
        "",
        "",
    );
    let key = exact("t", "hdr.h.k", 2);
    let target = Target::Action(action("NoAction", &[]));
    let insert = Update::Insert(Entry { key, target });
    let wide = Update::SetRegister {
        register: "r".into(),
        index: Some(0),
        value: 0x1ffu32.into(),
    };
    for bmv2_compat in [false, true] {
        let config = Config {
            bmv2_compat,
            ..Config::default()
        };
        let mut switch = configured(&text, config);
        assert_eq!(
            switch.write(std::slice::from_ref(&insert)).is_err(),
            bmv2_compat,
            "entries without const"
        );
        assert_eq!(
            switch.write(std::slice::from_ref(&wide)).is_ok(),
            bmv2_compat,
            "a wide value"
        );
        assert_eq!(
            send(&mut switch, &packet(0, 0, 4)).len(),
            1,
            "one cell beyond"
        );
        assert_eq!(
            send(&mut switch, &packet(0, 0, 0xffff)).len(),
            usize::from(!bmv2_compat)
        );
        assert_eq!(switch.stopped().is_some(), bmv2_compat);
        let dropped = switch.stats().stopped;
        assert_eq!(dropped, u64::from(bmv2_compat), "{}", Drop::Stopped);
    }
}
