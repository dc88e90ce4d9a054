//! Packets on paths that native code knows in one piece: the same packets, counts and statistics as
//! those of the interpreter, whatever the control plane changes between two of them.
//!
//! If this fails, an experiment measures another network than the one that was set up: with rows that
//! are no more, without copies that it asked for, or with other numbers of packets.

use crate::pair::Pair;
use crate::random::Random;
use crate::subject::{self, bier, bier_packet, entry, hex, key, mask_of, row_key, target};
use num_bigint::BigUint;
use p4_arch::v1model::{Config, Switch};
use p4_arch::{Port, Time, Workspace};
use p4_ir::native::Native;
use p4_state::{CloneSession, Entry, EntryKey, Match, Replica, Update};
use std::sync::Arc;

fn session(port: Option<Port>) -> Update {
    let to = Some(CloneSession {
        port,
        ..CloneSession::default()
    });
    Update::SetSession { session: 1, to }
}

/// Entries of a router to which senders and receivers are connected; its own bit is 0.
fn edge(bsl: u32, next_hops: u32) -> Vec<Update> {
    let group = Match::Exact(BigUint::from(0xef01_0203u32));
    let receivers = [("group", group.clone())];
    let sender = [("group", group), ("set", Match::Exact(0u8.into()))];
    let set = mask_of(bsl, next_hops, 1) | mask_of(bsl, next_hops, 0);
    let encapsulated = [subject::bift_id(bsl), 7u8.into(), set, 0u8.into()];
    let replica = |port, rid| Replica { port, rid };
    vec![
        Update::Modify(Entry {
            key: row_key(bsl, 0),
            target: target("decapsulate", &[1u8.into()]),
        }),
        entry("group_ports", &receivers, 0, "replicate", &[1u8.into()]),
        entry("encap", &sender, 0, "encapsulate", &encapsulated),
        Update::SetGroup {
            group: 1,
            replicas: Some(vec![replica(3, 1), replica(4, 2)]),
        },
    ]
}

/// A change at random, some of them wrong.
fn change(random: &mut Random, bsl: u32, next_hops: u32) -> Update {
    let bit = random.below(bsl as usize) as u32;
    let row = |target| Entry {
        key: row_key(bsl, bit),
        target,
    };
    let port = BigUint::from(2 + random.below(5));
    let forward = target("forward", &[mask_of(bsl, next_hops, bit), port.clone()]);
    let own = target("decapsulate", &[BigUint::from(1u8) << bit]);
    let ports = [("port", Match::Exact(port.clone()))];
    let macs = [random.next() >> 16, random.next() >> 16].map(BigUint::from);
    let group = BigUint::from(0xef01_0203u32);
    let receivers = [("group", Match::Exact(group.clone()))];
    let sender = [
        ("group", Match::Exact(group)),
        ("set", Match::Exact(0u8.into())),
    ];
    match random.below(14) {
        0 | 1 => Update::Delete(row_key(bsl, bit)),
        2 | 3 => Update::Insert(row(forward)),
        4 => Update::Modify(row(own)),
        5 => Update::Modify(row(forward)),
        6 => Update::Delete(key("port_mac", &ports, 0)),
        7 => entry("port_mac", &ports, 0, "rewrite", &macs),
        8 => session(Some(2)),
        9 => Update::SetSession {
            session: 1,
            to: None,
        },
        10 => {
            let replica = |port| Replica { port, rid: 1 };
            let replicas = Some(
                (1..random.below(4))
                    .map(|port| replica(port as Port))
                    .collect(),
            );
            Update::SetGroup { group: 1, replicas }
        }
        11 => entry("group_ports", &receivers, 0, "replicate", &[1u8.into()]),
        12 => {
            let set = mask_of(bsl, 3, bit);
            let id = subject::bift_id(bsl);
            entry(
                "encap",
                &sender,
                0,
                "encapsulate",
                &[id, 7u8.into(), set, 0u8.into()],
            )
        }
        _ => session(Some(509)),
    }
}

fn packet(random: &mut Random, bsl: u32) -> Vec<u8> {
    let bits: Vec<u32> = (0..1 + random.below(4))
        .map(|_| random.below(bsl as usize) as u32)
        .collect();
    let mut data = bier_packet(bsl, &bits);
    match random.below(16) {
        0 => data.truncate(random.below(data.len())),
        1 => {
            let at = random.below(data.len());
            data[at] = random.next() as u8;
        }
        // TTL
        2 => data[17] = random.below(3) as u8,
        3 => {
            data = hex("01005e010203 020000000901 0800");
            data.extend(hex(
                "45000020000000000f11a7c80a000901ef010203 1388138a000c000042494552",
            ));
        }
        _ => data.extend((0..random.below(40)).map(|_| 7)),
    }
    data
}

fn routers(bsl: u32, next_hops: u32, seed: u64) {
    println!("BSL {bsl}, {next_hops} next hops, seed {seed}");
    let (image, updates) = bier(bsl, next_hops);
    let config = Config {
        max_passes: 6,
        ..Config::default()
    };
    let mut pair = Pair::new(&image, &updates, config);
    pair.write(&edge(bsl, next_hops));
    let mut random = Random(seed);
    for _ in 0..1500 {
        if random.one_in(6) {
            pair.write(&[change(&mut random, bsl, next_hops)]);
        }
        let port = match random.below(12) {
            0 => 510,
            port => 1 + port as Port % 3,
        };
        let data = packet(&mut random, bsl);
        pair.send(port, &data);
    }
    pair.compare_counts("sent", 512);
    assert!(
        pair.on_paths() > 300,
        "{} packets on paths",
        pair.on_paths()
    );
}

#[test]
fn bier_while_tables_change() {
    routers(64, 1, 1);
    routers(64, 4, 2);
    routers(256, 3, 3);
}

/// If this fails, a router sends a packet where the tables of another router of its network say.
#[test]
fn switches_of_a_network_share_their_paths_and_nothing_else() {
    let (image, updates) = bier(64, 4);
    let code = Arc::new(p4_jit::compile(image.prepared()).expect("native code"));
    let mut switches = [(); 2].map(|()| {
        [None, Some(Arc::clone(&code))].map(|code| {
            let mut switch = Switch::new(Arc::clone(&image), Config::default()).expect("a switch");
            let code = code.map(|code| code as Arc<dyn Native>);
            switch.set_native(code).expect("its own code");
            switch.write(&updates).expect("entries");
            switch
        })
    });
    let mut workspace = Workspace::default();
    let mut random = Random(9);
    for number in 0..3000 {
        let [alone, shares] = &mut switches[random.below(2)];
        if random.one_in(6) {
            let batch = [change(&mut random, 64, 4)];
            assert_eq!(alone.write(&batch).is_ok(), shares.write(&batch).is_ok());
        }
        let (now, data) = (Time::from_micros(number), packet(&mut random, 64));
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        let mut sink = |port: Port, data: &[u8]| expected.push((port, data.to_vec()));
        alone.process(now, 1, &data, &mut sink);
        let mut sink = |port: Port, data: &[u8]| found.push((port, data.to_vec()));
        shares.process_in(&mut workspace, now, 1, &data, &mut sink);
        assert_eq!(expected, found, "of {data:02x?}");
    }
    for [alone, shares] in &switches {
        assert_eq!(alone.stats(), shares.stats());
        assert!(shares.packets_on_paths() > 100);
    }
}

/// Where packets enter and leave the domain, too.
#[test]
fn packets_of_senders_and_receivers_are_on_paths() {
    let (image, updates) = bier(64, 4);
    let mut pair = Pair::new(&image, &updates, Config::default());
    pair.write(&edge(64, 4));
    let mut data = hex("01005e010203 020000000901 0800");
    data.extend(hex(
        "45000020000000000f11a7c80a000901ef010203 1388138a000c000042494552",
    ));
    for _ in 0..60 {
        // Two receivers here, two next hops
        assert_eq!(pair.send(1, &data).len(), 4);
        assert_eq!(pair.send(2, &bier_packet(64, &[0, 5])).len(), 3);
    }
    let on_paths = pair.on_paths();
    assert!(on_paths > 90, "{on_paths} of 120");
    pair.compare_counts("sent", 512);
}

/// All that a usual packet and its copies do is done on paths, or speed is lost.
#[test]
fn usual_packets_are_on_paths() {
    for next_hops in [1, 4] {
        let (image, updates) = bier(64, next_hops);
        let mut pair = Pair::new(&image, &updates, Config::default());
        for _ in 0..100 {
            let sent = pair.send(1, &bier_packet(64, &[0, 1, 2, 3]));
            assert_eq!(sent.len() as u32, next_hops);
        }
        assert!(pair.on_paths() > 80, "{} of 100", pair.on_paths());
        pair.compare_counts("sent", 512);
    }
}

const TABLES: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> a; bit<16> b; bit<32> c; bit<128> d; }
struct headers_t { h_t h; }
struct metadata_t { bit<8> seen; }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta,
         inout standard_metadata_t std) {
    state start { packet.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets) hits;
    action to(bit<9> port) { std.egress_spec = port; }
    action mark(bit<8> value, bit<128> more) { hdr.h.a = value; hdr.h.d = hdr.h.d ^ more; }
    action lost() { mark_to_drop(std); }
    table exact_one { key = { hdr.h.a: exact; } actions = { to; mark; lost; } default_action = to(1); }
    table exact_two { key = { hdr.h.a: exact; hdr.h.d: exact; } actions = { to; mark; } default_action = to(2); }
    table prefix { key = { hdr.h.c: lpm; } actions = { to; mark; lost; } default_action = to(3); }
    table general { key = { hdr.h.b: ternary; hdr.h.a: range; hdr.h.c: optional; } actions = { to; mark; lost; } default_action = to(4); }
    table counted { key = { hdr.h.a: exact; } actions = { to; NoAction; } default_action = NoAction(); counters = hits; }
    table empty { key = { hdr.h.a: exact; } actions = { to; mark; } const default_action = mark(9, 1); }
    table keyless { actions = { to; mark; } default_action = to(7); }
    table constant { key = { hdr.h.a: exact; } actions = { to; mark; }
                     const entries = { 1: to(8); 2: mark(3, 0xffff0000ffff0000ffff); } default_action = to(5); }
    apply {
        std.priority = hdr.h.b[2:0];
        if (hdr.h.kind == 0) { if (exact_one.apply().hit) { meta.seen = 1; } }
        else if (hdr.h.kind == 1) { exact_two.apply(); }
        else if (hdr.h.kind == 2) { if (prefix.apply().miss) { hdr.h.a = 77; } }
        else if (hdr.h.kind == 3) { switch (general.apply().action_run) { mark: { std.egress_spec = 9; } default: {} } }
        else if (hdr.h.kind == 4) { counted.apply(); }
        else if (hdr.h.kind == 5) { empty.apply(); keyless.apply(); }
        else { constant.apply(); }
        hdr.h.b = hdr.h.b + (bit<16>)meta.seen;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { if (std.egress_port == 3) { hdr.h.c = (bit<32>)std.packet_length; } }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

/// A change of the tables of [`TABLES`]; many are wrong, because of what has been changed before.
fn change_of_tables(random: &mut Random) -> Update {
    let small = |random: &mut Random| BigUint::from(random.below(4));
    let (a, b, c) = (small(random), small(random), small(random));
    let exact = Match::Exact(a.clone());
    let key: EntryKey = match random.below(5) {
        0 => key("exact_one", &[("hdr.h.a", exact)], 0),
        1 => key(
            "exact_two",
            &[("hdr.h.a", exact), ("hdr.h.d", Match::Exact(b))],
            0,
        ),
        2 => {
            let length = [0, 8, 30, 32][random.below(4)];
            let value = (c << 24u8 >> (32 - length)) << (32 - length);
            key("prefix", &[("hdr.h.c", Match::Lpm { value, length })], 0)
        }
        3 => {
            let mask = BigUint::from(random.below(4));
            let ternary = Match::Ternary {
                value: b & &mask,
                mask,
            };
            let range = Match::Range {
                low: a,
                high: 3u8.into(),
            };
            let optional = [Match::Optional(c), Match::Any][random.below(2)].clone();
            let matches = [
                ("hdr.h.b", ternary),
                ("hdr.h.a", range),
                ("hdr.h.c", optional),
            ];
            let priority = 1 + random.below(3) as u32;
            key("general", &matches, priority)
        }
        _ => key("counted", &[("hdr.h.a", exact)], 0),
    };
    let (port, value) = (
        BigUint::from(random.below(9)),
        BigUint::from(random.below(200)),
    );
    let wide = BigUint::from(random.next()) << 40u8;
    let to = match random.below(3) {
        0 if key.table != "counted" => target("mark", &[value, wide]),
        1 if key.table != "counted" && key.table != "exact_two" => target("lost", &[]),
        _ => target("to", &[port]),
    };
    match random.below(7) {
        0 => Update::Delete(key),
        1 => Update::Modify(Entry { key, target: to }),
        2 => Update::SetDefault {
            table: [
                "exact_one",
                "exact_two",
                "prefix",
                "general",
                "keyless",
                "constant",
            ][random.below(6)]
            .into(),
            action: match to {
                p4_state::Target::Action(spec) => Some(spec),
                _ => None,
            },
        },
        3 if random.one_in(4) => Update::Clear { table: key.table },
        _ => Update::Insert(Entry { key, target: to }),
    }
}

#[test]
fn tables_of_all_kinds_while_they_change() {
    let seed = 5;
    println!("seed {seed}");
    let image = subject::compile_text(TABLES);
    let mut pair = Pair::new(&image, &[], Config::default());
    let mut random = Random(seed);
    for _ in 0..6000 {
        if random.one_in(8) {
            pair.write(&[change_of_tables(&mut random)]);
        }
        let mut data = vec![
            random.below(7) as u8,
            random.below(4) as u8,
            0,
            random.below(4) as u8,
        ];
        data.extend([random.below(4) as u8, 0, 0, random.below(4) as u8]);
        data.extend([0; 15]);
        data.push(random.below(4) as u8);
        data.extend((0..random.below(30)).map(|_| 9));
        if random.one_in(50) {
            data.truncate(random.below(30));
        }
        pair.send(random.below(3) as Port, &data);
    }
    let [expected, found] = pair.switches.each_ref().map(|switch| {
        let entries = switch.state().entries("counted").expect("a table");
        let counts = entries.iter().map(|entry| format!("{entry:?}"));
        (switch.stats(), counts.collect::<Vec<_>>())
    });
    assert_eq!(expected, found);
    assert!(
        pair.on_paths() > 1000,
        "{} packets on paths",
        pair.on_paths()
    );
}

/// Lists of any length up to four, of which the packet itself chooses an entry.
const LISTS: &str = r#"
#include <core.p4>
#include <v1model.p4>
header fixed_t { bit<8> entries; bit<8> chosen; bit<128> found; bit<8> first; }
header entry_t { bit<128> value; bit<8> small; }
struct headers_t { fixed_t fixed; entry_t[4] list; }
struct metadata_t { }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta,
         inout standard_metadata_t std) {
    bit<8> left;
    state start {
        packet.extract(hdr.fixed);
        left = hdr.fixed.entries;
        transition select(left) { 0: accept; 1 .. 4: entry; default: reject; }
    }
    state entry {
        packet.extract(hdr.list.next);
        left = left - 1;
        transition select(left) { 0: accept; default: entry; }
    }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        hdr.fixed.found = hdr.list[hdr.fixed.chosen].value;
        hdr.fixed.first = hdr.list[hdr.fixed.chosen - 1].small;
        std.egress_spec = 1;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply {} }
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.fixed); packet.emit(hdr.list); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

#[test]
fn an_index_from_the_packet_keeps_nobody_from_a_path() {
    let seed = 6;
    println!("seed {seed}");
    let mut pair = Pair::new(&subject::compile_text(LISTS), &[], Config::default());
    let mut random = Random(seed);
    for _ in 0..3000 {
        let entries = random.below(5);
        // Behind the end there is nothing, which reads as zero; so are entries that did not come.
        let chosen = [random.below(6), 0, 255][random.below(8).saturating_sub(5)];
        let mut data = vec![entries as u8, chosen as u8];
        data.extend([7; 17]);
        for number in 0..entries {
            data.extend((0..17).map(|byte| (16 * number + byte + random.below(3)) as u8));
        }
        let sent = pair.send(2, &data);
        let (_, _, found) = &sent[0];
        let at = 19 + 17 * chosen;
        let wanted = if chosen < entries {
            data[at..at + 16].to_vec()
        } else {
            vec![0; 16]
        };
        assert_eq!(found[2..18], wanted, "entry {chosen} of {entries}");
    }
    assert!(
        pair.on_paths() > 2000,
        "{} packets on paths",
        pair.on_paths()
    );
}
