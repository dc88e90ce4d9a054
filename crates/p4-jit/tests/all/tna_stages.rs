//! What TNA does between its blocks is written once: without any one of its rules, the interpreter,
//! native blocks and fast paths all do something else than before, and all three the same.
//!
//! If this fails, a rule has a second copy somewhere, so that a packet's way depends on which engine it
//! meets, or a rule is there that no packet can tell from its absence.

use crate::between::{Engine, Sent};
use p4_arch::tna::{
    Coalescing, Config, Direction, Image, Lag, MirrorSession, Node, Pruning, Switch, Tna,
};
use p4_arch::{Digest, Port, Stats, Time};
use p4_ir::glue::Glue;
use p4_ir::native::Native;
use p4_ir::trace::Event;
use std::sync::Arc;

/// The first byte of a packet says what becomes of it; what leaves tells its metadata.
const PROGRAM: &str = r#"
#include <core.p4>
#include <tna.p4>
header h_t { bit<8> op; bit<8> failed; bit<48> time; bit<16> out_failed; bit<48> out_time; bit<8> again; }
header data_t { bit<64> x; }
header tag_t { bit<8> x; }
struct headers { tag_t tag; h_t h; }
struct meta { bit<64> again; bit<10> session; }
struct digest_t { bit<8> op; }
parser IP(packet_in p, out headers h, out meta m, out ingress_intrinsic_metadata_t ig) {
    data_t data;
    state start {
        m.again = 0; m.session = 5;
        p.extract(ig);
        transition select(ig.resubmit_flag) { 1: again; default: port; }
    }
    state again { p.extract(data); m.again = data.x; transition rest; }
    state port { p.advance(PORT_METADATA_SIZE); transition rest; }
    state rest {
        p.extract(h.h);
        transition select(h.h.op) { 0 .. 99: accept; }
    }
}
control I(inout headers h, inout meta m, in ingress_intrinsic_metadata_t ig,
          in ingress_intrinsic_metadata_from_parser_t pr,
          inout ingress_intrinsic_metadata_for_deparser_t d,
          inout ingress_intrinsic_metadata_for_tm_t tm) {
    Register<bit<32>, bit<1>>(1, 0) turns;
    RegisterAction<bit<32>, bit<1>, bit<32>>(turns) next = {
        void apply(inout bit<32> cell, out bit<32> turn) {
            turn = cell;
            if (cell >= 2) { cell = 0; } else { cell = cell + 1; }
        }
    };
    apply {
        SEE_ERROR
        h.h.time = pr.global_tstamp;
        h.h.again = m.again[7:0];
        if (h.h.op != 13) { tm.ucast_egress_port = 2; }
        if (h.h.op == 1 || h.h.op == 4) { d.resubmit_type = 1; }
        if (h.h.op == 3) { d.resubmit_type = 2; }
        if (h.h.op == 5 || h.h.op == 18) { d.mirror_type = 1; }
        if (h.h.op == 19) { d.mirror_type = 2; }
        if (h.h.op == 4 || h.h.op == 12 || h.h.op == 21) { d.drop_ctl = 1; }
        if (h.h.op == 18) { d.drop_ctl = 4; }
        if (h.h.op == 8) { d.digest_type = 1; }
        if (h.h.op == 9) {
            tm.mcast_grp_a = 1;
            tm.level1_mcast_hash = 1; tm.level2_mcast_hash = 1;
            tm.level1_exclusion_id = 7; tm.level2_exclusion_id = 4; tm.rid = 5;
        }
        if (h.h.op == 10) { tm.mcast_grp_b = 2; invalidate(tm.ucast_egress_port); }
        if (h.h.op == 11 || h.h.op == 21) { tm.copy_to_cpu = 1; }
        if (h.h.op == 15) { tm.bypass_egress = 1; }
        if (h.h.op == 16) { tm.qid = 3; }
        if (h.h.op == 17 && ig.ingress_port != 68) { tm.ucast_egress_port = 68; }
        if (h.h.op == 20) { tm.ucast_egress_port = (bit<9>)next.execute(0); }
    }
}
control ID(packet_out p, inout headers h, in meta m, in ingress_intrinsic_metadata_for_deparser_t d) {
    Mirror() mirror;
    Resubmit() resubmit;
    Digest<digest_t>() digest;
    apply {
        if (d.resubmit_type == 1) { resubmit.emit<data_t>({ 64w0x2a }); }
        if (d.mirror_type == 1) { mirror.emit<tag_t>(m.session, { 8w0x77 }); }
        if (d.digest_type == 1) { digest.pack({ h.h.op }); }
        p.emit(h);
    }
}
parser EP(packet_in p, out headers h, out meta m, out egress_intrinsic_metadata_t eg) {
    state start {
        m.again = 0; m.session = 6;
        p.extract(eg);
        transition select(p.lookahead<bit<8>>()) { 0x77: tagged; default: rest; }
    }
    state tagged { p.extract(h.tag); transition rest; }
    state rest {
        p.extract(h.h);
        transition select(h.h.op) { 0 .. 21: accept; }
    }
}
control E(inout headers h, inout meta m, in egress_intrinsic_metadata_t eg,
          in egress_intrinsic_metadata_from_parser_t pr,
          inout egress_intrinsic_metadata_for_deparser_t d,
          inout egress_intrinsic_metadata_for_output_port_t o) {
    apply {
        h.h.out_failed = pr.parser_err;
        h.h.out_time = pr.global_tstamp;
        if (!h.tag.isValid()) {
            if (h.h.op == 6) { d.mirror_type = 1; }
            if (h.h.op == 7) { d.mirror_type = 1; m.session = 1016; d.coalesce_length = 3; }
            if (h.h.op == 2) { d.mirror_type = 2; }
        }
        if (h.h.op == 14) { d.drop_ctl = 1; }
    }
}
control ED(packet_out p, inout headers h, in meta m, in egress_intrinsic_metadata_for_deparser_t d) {
    Mirror() mirror;
    apply {
        if (d.mirror_type == 1) { mirror.emit<tag_t>(m.session, { 8w0x77 }); }
        p.emit(h);
    }
}
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"#;

/// With a program that looks at `parser_err` in ingress, packets with errors get there.
fn images() -> [Image; 2] {
    let looks = ["", "h.h.failed = (bit<8>)pr.parser_err;"];
    looks.map(|looks| {
        let text = PROGRAM.replace("SEE_ERROR", looks);
        let parsed = p4_syntax::parse_text("t.p4", &text);
        let checked = p4_check::check(&parsed.program);
        let program = p4_ir::lower::lower(&checked, &Tna);
        let program =
            program.unwrap_or_else(|errors| panic!("{errors:?} {:?}", parsed.diagnostics));
        Image::new(Arc::new(program)).expect("a program for TNA")
    })
}

/// What a control plane and the neighbours see of some packets, and what traces note.
#[derive(Debug, PartialEq)]
struct Seen {
    packets: Vec<Vec<(Port, u8, Vec<u8>)>>,
    digests: Vec<Digest>,
    stats: Stats,
    notes: Vec<String>,
}

fn packets() -> Vec<Vec<u8>> {
    let whole = |op: u8| {
        let mut data = vec![0; 60];
        (data[0], data[30]) = (op, 0xaa);
        data
    };
    // An operation that egress does not know, one that ingress does not, and too few bytes
    let mut packets: Vec<Vec<u8>> = (0..=21).chain([50, 200]).map(whole).collect();
    packets.push(vec![0; 10]);
    packets
}

fn switch(image: &Arc<Image>, code: &Arc<dyn Native>, engine: Engine) -> Switch {
    let config = Config {
        max_passes: 3,
        ..Config::default()
    };
    let mut switch = Switch::new(Arc::clone(image), config).expect("a switch");
    if engine != Engine::Interpreter {
        switch.set_native(Some(Arc::clone(code))).expect("its code");
        switch.set_patience(match engine {
            Engine::Paths => 0,
            _ => u64::MAX,
        });
    }
    let node = |rid: u16, xid: Option<u16>, ports: &[Port], lags: &[u16]| Node {
        rid,
        xid,
        ports: ports.to_vec(),
        lags: lags.to_vec(),
    };
    let nodes = vec![
        vec![node(1, None, &[10], &[]), node(2, None, &[11], &[])],
        vec![node(3, Some(7), &[12], &[])],
        vec![node(4, None, &[], &[1])],
        vec![node(5, None, &[30, 31], &[])],
    ];
    switch.set_group(1, Some(nodes));
    switch.set_group(2, Some(vec![vec![node(6, None, &[40, 41], &[])]]));
    let (ports, pruned) = (vec![20, 21, 22], vec![30]);
    switch.set_lag(
        1,
        Lag {
            ports,
            ..Lag::default()
        },
    );
    switch.set_pruning(4, Pruning { ports: pruned });
    switch.set_cpu_port(Some(64), true);
    for (id, port) in [(5, 50), (6, 51)] {
        let session = MirrorSession {
            port: Some(port),
            ..MirrorSession::default()
        };
        switch.set_mirror(id, Some(session));
    }
    let coalescing = Coalescing {
        header_length: 4,
        timeout: 1000,
        ..Coalescing::default()
    };
    let session = MirrorSession {
        port: Some(52),
        direction: Direction::Egress,
        coalescing: Some(coalescing),
        ..MirrorSession::default()
    };
    switch.set_mirror(1016, Some(session));
    switch
}

/// What is seen of all packets, and how many passes took fast paths.
fn run(image: &Arc<Image>, code: &Arc<dyn Native>, engine: Engine) -> (Seen, u64) {
    let mut switch = switch(image, code, engine);
    let mut packets = Vec::new();
    for round in 1..=4 {
        for data in self::packets() {
            let mut sent = Sent::default();
            switch.process(Time::from_micros(100 * round), 4, &data, &mut sent);
            packets.push(sent.0);
        }
    }
    let on_paths = switch.passes_on_paths();
    let mut notes = Vec::new();
    for data in self::packets() {
        let mut sent = Sent::default();
        let trace = switch.process_traced(Time::from_micros(500), 4, &data, &mut sent);
        let steps = trace.packets.iter().flat_map(|packet| &packet.steps);
        notes.extend(steps.filter_map(|step| match &step.event {
            Event::Note { text } => Some(text.clone()),
            _ => None,
        }));
    }
    let seen = Seen {
        packets,
        digests: switch.take_digests(),
        stats: switch.stats(),
        notes,
    };
    (seen, on_paths)
}

/// What all engines see alike.
fn seen(image: &Arc<Image>, code: &Arc<dyn Native>, what: &str) -> Seen {
    let engines = [Engine::Interpreter, Engine::Blocks, Engine::Paths];
    let [expected, blocks, paths] = engines.map(|engine| run(image, code, engine).0);
    for (number, packet) in expected.packets.iter().enumerate() {
        let (on_blocks, on_paths) = (&blocks.packets[number], &paths.packets[number]);
        assert_eq!(packet, on_blocks, "{number} on native blocks, {what}");
        assert_eq!(packet, on_paths, "{number} on fast paths, {what}");
    }
    assert_eq!(expected, blocks, "native blocks, {what}");
    assert_eq!(expected, paths, "fast paths, {what}");
    expected
}

#[test]
fn without_a_rule_all_three_change_and_agree() {
    let mut missed: Vec<Glue> = Vec::new();
    let mut rules: Vec<Glue> = Vec::new();
    for image in images() {
        let code: Arc<dyn Native> = Arc::new(p4_jit::compile(image.prepared()).expect("code"));
        let mut own: Vec<Glue> = Vec::new();
        image.clone().change_glue(|glue| {
            let new = glue.iter().filter(|rule| !own.contains(rule));
            let new: Vec<Glue> = new.copied().collect();
            own.extend(new);
        });
        let expected = seen(&Arc::new(image.clone()), &code, "all rules");
        for rule in own {
            let mut without = image.clone();
            without.change_glue(|glue| glue.retain(|other| *other != rule));
            let found = seen(&Arc::new(without), &code, &format!("without {rule:?}"));
            if found != expected && !missed.contains(&rule) {
                missed.push(rule);
            }
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    assert!(rules.len() > 25, "{} rules", rules.len());
    for rule in rules {
        assert!(missed.contains(&rule), "nobody misses {rule:?}");
    }
}

/// The rules are tested on fast paths only if packets take them.
#[test]
fn packets_of_most_kinds_are_on_fast_paths() {
    for image in images() {
        let code: Arc<dyn Native> = Arc::new(p4_jit::compile(image.prepared()).expect("code"));
        let image = Arc::new(image);
        let (_, on_blocks) = run(&image, &code, Engine::Blocks);
        let (_, on_paths) = run(&image, &code, Engine::Paths);
        assert_eq!(on_blocks, 0);
        assert!(on_paths > 50, "{on_paths} passes");
    }
}
