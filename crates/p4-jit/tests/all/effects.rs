//! Cells that change while a packet is on a fast path: registers, meters, what a table keeps with its entries,
//! and the random numbers. A packet that leaves its path midway begins again, and has changed nothing.
//!
//! If this fails, a sequence number is skipped, a packet is counted twice, or a meter runs dry too early, on
//! some packets of a long run only.

use crate::pair::Pair;
use crate::random::Random;
use crate::subject::{self, entry, hex, key, target};
use num_bigint::BigUint;
use p4_arch::v1model::Config;
use p4_arch::Port;
use p4_state::{Match, MeterConfig, Replica, Target, Update};

/// All changes come before the questions, of which there are more than paths: so whatever is learned, packets
/// leave their paths behind the changes.
const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t {
    bit<8> kind; bit<8> index; bit<8> questions; bit<8> answers;
    bit<64> old; bit<32> a; bit<8> color; bit<8> direct; bit<16> number; bit<16> member;
}
struct headers_t { h_t h; }
struct metadata_t { }
struct cell_t { bit<32> a; bit<72> b; }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta,
         inout standard_metadata_t std) {
    state start { packet.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<64>>(8) sums;
    register<cell_t>(4) cells;
    meter(8, MeterType.bytes) rates;
    direct_meter<bit<8>>(MeterType.packets) hit_rates;
    direct_counter(CounterType.packets_and_bytes) hits;
    action_selector(HashAlgorithm.crc16, 8, 8) members;
    counter(8, CounterType.packets) counts;
    action to(bit<9> port) { std.egress_spec = port; hit_rates.read(hdr.h.direct); }
    action say(bit<16> value) { hdr.h.member = value; }
    table counted { key = { hdr.h.index: exact; } actions = { to; NoAction; } default_action = NoAction();
                    counters = hits; meters = hit_rates; }
    table selected { key = { hdr.h.index: exact; hdr.h.answers: selector; } actions = { say; NoAction; }
                     default_action = NoAction(); implementation = members; }
    apply {
        std.egress_spec = 1;
        bit<64> sum;
        cell_t cell;
        if (hdr.h.kind != 0) {
            @atomic {
                sums.read(sum, (bit<32>)hdr.h.index);
                hdr.h.old = sum;
                sums.write((bit<32>)hdr.h.index, sum + (bit<64>)hdr.h.answers);
                sums.read(sum, (bit<32>)hdr.h.index);
            }
            cells.read(cell, (bit<32>)hdr.h.index);
            cells.write((bit<32>)hdr.h.index, { cell.a + 1, cell.b + (bit<72>)sum });
            hdr.h.a = cell.a;
            rates.execute_meter((bit<32>)hdr.h.index, hdr.h.color);
            random(hdr.h.number, 0, 1000);
            counted.apply();
            selected.apply();
            counts.count((bit<32>)hdr.h.index);
        }
        if (hdr.h.questions[0:0] == 1) { hdr.h.answers = hdr.h.answers + 1; }
        if (hdr.h.questions[1:1] == 1) { hdr.h.answers = hdr.h.answers + 2; }
        if (hdr.h.questions[2:2] == 1) { hdr.h.answers = hdr.h.answers + 4; }
        if (hdr.h.questions[3:3] == 1) { hdr.h.answers = hdr.h.answers + 8; }
        if (hdr.h.questions[4:4] == 1) { hdr.h.answers = hdr.h.answers + 16; }
        if (hdr.h.questions[5:5] == 1) { sums.write(0, 7); }
        if (hdr.h.questions[6:6] == 1) { clone(CloneType.I2E, 1); }
        if (hdr.h.questions[7:7] == 1) { std.mcast_grp = 1; }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<32>>(8) sent;
    apply {
        if (hdr.h.kind == 2) {
            sent.read(hdr.h.a, 0);
            sent.write(0, hdr.h.a + 1);
        }
        if (hdr.h.kind == 3 && std.instance_type == 0) { recirculate_preserving_field_list(0); }
    }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

/// Rates that some packets exceed and some do not, at one packet a microsecond.
fn updates() -> Vec<Update> {
    let number = |n: u32| BigUint::from(n);
    let exact = |n: u32| [("hdr.h.index", Match::Exact(number(n)))];
    let config = |rate: u64, burst: u64| {
        Some(MeterConfig {
            committed_rate: rate,
            committed_burst: burst,
            peak_rate: 2 * rate,
            peak_burst: 2 * burst,
        })
    };
    let replica = |port, rid| Replica { port, rid };
    let mut updates = vec![
        Update::SetMeter {
            meter: "rates".into(),
            index: None,
            config: config(2_000_000, 100),
        },
        Update::SetGroup {
            group: 1,
            replicas: Some(vec![replica(2, 1), replica(3, 2)]),
        },
        Update::SetSession {
            session: 1,
            to: Some(p4_state::CloneSession {
                port: Some(5),
                ..Default::default()
            }),
        },
    ];
    for index in 0..6 {
        updates.push(entry(
            "counted",
            &exact(index),
            0,
            "to",
            &[number(2 + index)],
        ));
        updates.push(Update::SetDirectMeter {
            key: key("counted", &exact(index), 0),
            config: config(30_000, 3),
        });
    }
    for member in 0..3 {
        let say = match target("say", &[number(100 + member)]) {
            Target::Action(say) => Some(say),
            _ => None,
        };
        updates.push(Update::SetMember {
            profile: "members".into(),
            member,
            action: say,
        });
    }
    updates.push(Update::SetMemberGroup {
        profile: "members".into(),
        group: 1,
        members: Some(vec![0, 1, 2]),
    });
    for (index, target) in [Target::Member(1), Target::Group(1), Target::Group(1)]
        .into_iter()
        .enumerate()
    {
        let key = key("selected", &exact(index as u32), 0);
        updates.push(Update::Insert(p4_state::Entry { key, target }));
    }
    updates
}

/// All that a control plane can read.
fn cells(pair: &Pair) -> [Vec<String>; 2] {
    pair.switches.each_ref().map(|switch| {
        let state = switch.state();
        let sums = (0..8).map(|at| format!("{:?}", state.read_register("sums", at)));
        let cells = (0..4).map(|at| format!("{:?}", state.read_register("cells", at)));
        let sent = (0..8).map(|at| format!("{:?}", state.read_register("sent", at)));
        let counts = (0..8).map(|at| format!("{:?}", state.counter("counts", at)));
        let all = sums.chain(cells).chain(sent).chain(counts);
        all.chain([
            format!("{:?}", state.entries("counted")),
            format!("{:?}", switch.stats()),
        ])
        .collect()
    })
}

/// `kinds` of packets, and the bits of questions that are asked of them; how many were on paths of 3000.
/// Queues may have a rate in packets per second.
fn run(kinds: u8, asked: u8, rate: u64, seed: u64) -> u64 {
    println!("seed {seed}");
    let image = subject::compile_text(PROGRAM);
    let mut pair = Pair::new(&image, &updates(), Config::default());
    for switch in &mut pair.switches {
        let limited = switch.set_queue_rate(None, None, rate);
        limited.expect("a rate");
    }
    let mut random = Random(seed);
    for _ in 0..3000 {
        let index = match random.one_in(8) {
            true => random.below(10),
            false => random.below(3),
        };
        // Most questions get the same answer most of the time.
        let questions = (random.next() & random.next() & random.next()) as u8;
        let mut data = vec![random.below(kinds.into()) as u8, index as u8];
        data.extend([questions & asked, random.below(4) as u8]);
        data.extend([0; 18 + 20]);
        pair.send(random.below(3) as Port, &data);
        let [expected, found] = cells(&pair);
        assert_eq!(expected, found, "after {data:02x?}");
    }
    pair.on_paths()
}

#[test]
fn packets_that_leave_their_path_have_changed_nothing() {
    let on_paths = run(2, 0x3f, 0, 11);
    assert!((300..2900).contains(&on_paths), "{on_paths} of 3000");
}

#[test]
fn clones_and_copies_change_cells_in_order() {
    let on_paths = run(3, 0xc1, 0, 12);
    assert!(on_paths > 500, "{on_paths} of 3000");
}

/// A packet that waits goes on from where it was, some microseconds later.
#[test]
fn packets_go_on_after_they_have_waited() {
    let on_paths = run(3, 0xc1, 300_000, 13);
    assert!(on_paths > 500, "{on_paths} of 3000");
}

fn exact(name: &str, value: u64) -> (&str, Match) {
    (name, Match::Exact(value.into()))
}

fn numbers<const N: usize>(all: [u64; N]) -> Vec<BigUint> {
    all.map(BigUint::from).to_vec()
}

/// A switch where packets to 10.0.2.0/24 enter two tunnels of 1+1 protection.
fn beginning() -> Vec<Update> {
    let flow = Match::Ternary {
        value: 0x0a00_0200u32.into(),
        mask: 0xffff_ff00u32.into(),
    };
    let protect = numbers([3, 0x12_3456, 0x1400_0100, 1500, 2]);
    let replicas = [(2, 1), (3, 2)].map(|(port, rid)| Replica { port, rid });
    let path = |path| {
        let (key, address) = ([exact("index", 3), exact("path", path)], 0x1400_0200 + path);
        entry("paths", &key, 0, "set_path", &numbers([address]))
    };
    vec![
        entry(
            "protected_flows",
            &[("dst_addr", flow)],
            1,
            "protect",
            &protect,
        ),
        Update::SetGroup {
            group: 2,
            replicas: Some(replicas.to_vec()),
        },
        path(1),
        path(2),
    ]
}

/// A switch where both end.
fn ending() -> Vec<Update> {
    let route = Match::Lpm {
        value: 0x0a00_0200u32.into(),
        length: 24,
    };
    let connection = numbers([3, 0]);
    let end = |path| {
        let key = [exact("dst_addr", 0x1400_0200 + path)];
        entry("tunnel_end", &key, 0, "arrived_on", &numbers([path]))
    };
    vec![
        entry(
            "connections",
            &[exact("cid", 0x12_3456)],
            0,
            "connection",
            &connection,
        ),
        entry(
            "ipv4_routes",
            &[("destination", route)],
            0,
            "route",
            &numbers([1]),
        ),
        end(1),
        end(2),
    ]
}

/// A parser that looks far ahead, registers, hashes and copies: packets stay on paths, or lab 03 is as slow as
/// without them.
#[test]
fn protected_packets_are_on_paths() {
    let image = subject::compile("p4/protect/v1model.p4", &[]);
    let mut begin = Pair::new(&image, &beginning(), Config::default());
    let mut end = Pair::new(&image, &ending(), Config::default());
    let mut data = hex("020000000101 020100010001 0800");
    data.extend(hex(
        "4500002000010000401163cb0a0001010a000201 13881389000c000044415441",
    ));
    for number in 1..=100u32 {
        let copies = begin.send(1, &data);
        let [first, second] = &copies[..] else {
            panic!("{} copies", copies.len());
        };
        for (_, _, copy) in [first, second] {
            assert_eq!(copy[37..41], number.to_be_bytes(), "a number of its own");
        }
        assert_eq!(end.send(1, &first.2).len(), 1, "the first copy goes on");
        assert_eq!(end.send(2, &second.2).len(), 0, "the other one does not");
    }
    for (pair, packets) in [(begin, 100), (end, 200)] {
        let on_paths = pair.on_paths();
        assert!(on_paths > packets * 8 / 10, "{on_paths} of {packets}");
        pair.compare_counts("sent", 512);
        pair.compare_counts("received", 16);
    }
}
