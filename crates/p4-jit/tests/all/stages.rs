//! What v1model does between its blocks is written once: without any one of its rules, the interpreter,
//! native blocks and fast paths all do something else than before, and all three the same.
//!
//! If this fails, a rule has a second copy somewhere, so that a packet's way depends on which engine it
//! meets, or a rule is there that no packet can tell from its absence.

use crate::between::{Engine, Sent};
use crate::subject;
use p4_arch::v1model::{Config, Image, Switch};
use p4_arch::{Digest, Port, Time};
use p4_ir::glue::Glue;
use p4_ir::ir::Program;
use p4_ir::native::Native;
use p4_state::{CloneSession, Replica, Update};
use std::sync::Arc;

/// The first byte of a packet says what becomes of it; what leaves tells its metadata.
const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t {
    bit<8> op; bit<8> parsed_port; bit<8> parsed;
    bit<16> in_port; bit<32> in_type; bit<32> in_length; bit<48> in_time; bit<8> failed;
    bit<16> port; bit<16> spec; bit<32> type; bit<16> rid; bit<32> length; bit<16> came;
    bit<32> enqueued; bit<32> before; bit<32> waited; bit<32> after; bit<48> time; bit<48> in_time_then;
    bit<8> kept; bit<8> lost;
}
struct headers_t { h_t h; }
struct metadata_t { @field_list(1) bit<8> kept; bit<8> lost; }
struct digest_t { bit<8> op; }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        meta.lost = 9;
        packet.extract(hdr.h);
        hdr.h.parsed_port = (bit<8>)std.ingress_port;
        hdr.h.parsed = meta.kept;
        transition accept;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (std.parser_error != error.NoError) { hdr.h.setValid(); hdr.h.failed = 1; }
        hdr.h.in_port = (bit<16>)std.ingress_port;
        hdr.h.in_type = std.instance_type;
        hdr.h.in_length = std.packet_length;
        hdr.h.in_time = std.ingress_global_timestamp;
        bool is_first = std.instance_type == 0;
        meta.kept = meta.kept + 7;
        std.egress_spec = 3;
        std.egress_rid = 6;
        std.egress_port = 6;
        std.enq_timestamp = 6;
        std.enq_qdepth = 6;
        std.deq_timedelta = 6;
        std.deq_qdepth = 6;
        std.egress_global_timestamp = 6;
        if (hdr.h.op == 1) { std.mcast_grp = 1; }
        else if (hdr.h.op == 2) { mark_to_drop(std); }
        else if (hdr.h.op == 3) { clone_preserving_field_list(CloneType.I2E, 1, 1); }
        else if (hdr.h.op == 4 && is_first) { resubmit_preserving_field_list(1); }
        else if (hdr.h.op == 8) { truncate(20); }
        else if (hdr.h.op == 9) { digest<digest_t>(1, { hdr.h.op }); }
        else if (hdr.h.op == 10) { mark_to_drop(std); std.mcast_grp = 1; }
        else if (hdr.h.op == 11) { clone(CloneType.I2E, 1); std.mcast_grp = 1; }
        else if (hdr.h.op == 12) { std.mcast_grp = 2; }
        else if (hdr.h.op == 13) { std.priority = 5; }
        else if (hdr.h.op == 14) { std.priority = 5; std.mcast_grp = 1; }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        hdr.h.port = (bit<16>)std.egress_port;
        hdr.h.spec = (bit<16>)std.egress_spec;
        hdr.h.type = std.instance_type;
        hdr.h.rid = std.egress_rid;
        hdr.h.length = std.packet_length;
        hdr.h.came = (bit<16>)std.ingress_port;
        hdr.h.enqueued = std.enq_timestamp;
        hdr.h.before = (bit<32>)std.enq_qdepth;
        hdr.h.waited = std.deq_timedelta;
        hdr.h.after = (bit<32>)std.deq_qdepth;
        hdr.h.time = std.egress_global_timestamp;
        hdr.h.in_time_then = std.ingress_global_timestamp;
        hdr.h.kept = meta.kept;
        hdr.h.lost = meta.lost;
        bool is_first = hdr.h.in_type == 0 && std.instance_type == 0;
        if (hdr.h.op == 5 && is_first) { recirculate_preserving_field_list(1); }
        else if (hdr.h.op == 6 && is_first) { clone_preserving_field_list(CloneType.E2E, 1, 1); }
        else if (hdr.h.op == 7) { mark_to_drop(std); }
        else if (hdr.h.op == 15) { digest<digest_t>(1, { hdr.h.op }); }
        else if (hdr.h.op == 16 && is_first) { clone_preserving_field_list(CloneType.E2E, 1, 9); }
    }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

/// Bytes of the program's header
const HEADER: usize = 66;

/// What a control plane and the neighbours see of some packets.
#[derive(Debug, PartialEq)]
struct Seen {
    packets: Vec<Vec<(Port, u8, Vec<u8>)>>,
    digests: Vec<Digest>,
    stats: p4_arch::v1model::Stats,
}

const ENGINES: [Engine; 3] = [Engine::Interpreter, Engine::Blocks, Engine::Paths];

fn packets() -> Vec<Vec<u8>> {
    let whole = |op: u8| {
        let mut data = vec![0; HEADER + 6];
        (data[0], data[HEADER]) = (op, 0xaa);
        data
    };
    let mut packets: Vec<Vec<u8>> = (0..17).map(whole).collect();
    packets.push(vec![0; 10]);
    packets
}

/// What is seen of all packets, and how many took fast paths.
fn run(image: &Arc<Image>, code: &Arc<dyn Native>, engine: Engine, config: Config) -> (Seen, u64) {
    let mut switch = Switch::new(Arc::clone(image), config).expect("a switch");
    if engine != Engine::Interpreter {
        switch.set_native(Some(Arc::clone(code))).expect("its code");
        switch.set_patience(match engine {
            Engine::Paths => 0,
            _ => u64::MAX,
        });
    }
    let replica = |port, rid| Replica { port, rid };
    let session = CloneSession {
        port: Some(5),
        ..CloneSession::default()
    };
    let updates = [
        Update::SetGroup {
            group: 1,
            replicas: Some(vec![replica(1, 11), replica(2, 12)]),
        },
        Update::SetSession {
            session: 1,
            to: Some(session),
        },
    ];
    switch.write(&updates).expect("a group and a session");
    let mut packets = Vec::new();
    for round in 1..=3 {
        for data in self::packets() {
            let mut sent = Sent::default();
            let now = Time::from_micros(100 * round);
            switch.process(now, 4, &data, &mut sent);
            packets.push(sent.0);
        }
    }
    let seen = Seen {
        packets,
        digests: switch.take_digests(),
        stats: switch.stats(),
    };
    (seen, switch.packets_on_paths())
}

fn configs() -> [Config; 2] {
    [false, true].map(|bmv2_compat| Config {
        bmv2_compat,
        max_passes: 3,
        ..Config::default()
    })
}

/// What all engines see alike, with both configurations.
fn seen(image: &Arc<Image>, code: &Arc<dyn Native>, what: &str) -> [Seen; 2] {
    configs().map(|config| {
        let [expected, blocks, paths] = ENGINES.map(|engine| run(image, code, engine, config).0);
        for (number, packet) in expected.packets.iter().enumerate() {
            assert_eq!(
                packet, &blocks.packets[number],
                "{number} on native blocks, {what}"
            );
            assert_eq!(
                packet, &paths.packets[number],
                "{number} on fast paths, {what}"
            );
        }
        assert_eq!(expected, blocks, "native blocks, {what}");
        assert_eq!(expected, paths, "fast paths, {what}");
        expected
    })
}

fn rules(program: &Arc<Program>) -> Vec<Glue> {
    let mut rules = Vec::new();
    let mut image = Image::new(Arc::clone(program)).expect("the program runs");
    image.change_glue(|glue| {
        for rule in glue {
            if !rules.contains(rule) {
                rules.push(*rule);
            }
        }
    });
    rules
}

fn without(program: &Arc<Program>, rule: Glue) -> Arc<Image> {
    let mut image = Image::new(Arc::clone(program)).expect("the program runs");
    image.change_glue(|glue| glue.retain(|own| *own != rule));
    Arc::new(image)
}

#[test]
fn without_a_rule_all_three_change_and_agree() {
    let image = subject::compile_text(PROGRAM);
    let code: Arc<dyn Native> = Arc::new(p4_jit::compile(image.prepared()).expect("native code"));
    let program = image.prepared().share();
    let expected = seen(&image, &code, "all rules");
    let rules = rules(&program);
    assert!(rules.len() > 30, "{} rules", rules.len());
    for rule in rules {
        let found = seen(
            &without(&program, rule),
            &code,
            &format!("without {rule:?}"),
        );
        assert_ne!(expected, found, "nobody misses {rule:?}");
    }
}

/// The rules are tested on fast paths only if packets take them.
#[test]
fn packets_of_most_kinds_are_on_fast_paths() {
    let image = subject::compile_text(PROGRAM);
    let code: Arc<dyn Native> = Arc::new(p4_jit::compile(image.prepared()).expect("native code"));
    let [config, _] = configs();
    let (_, on_paths) = run(&image, &code, Engine::Paths, config);
    let (_, on_blocks) = run(&image, &code, Engine::Blocks, config);
    assert_eq!(on_blocks, 0);
    assert!(on_paths > 28, "{on_paths} of {}", 3 * packets().len());
}
