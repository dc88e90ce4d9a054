//! Pipes of a TNA switch with programs, parsers, registers and meters of their own.

use crate::support;

use p4_arch::tna::{Config, Switch};
use p4_state::Update;
use std::sync::Arc;
use support::*;

const LAST: &str = "Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;\n         Switch(pipe) main;";

// If this fails, a chip whose pipes run different programs runs one of them in all, or mixes what
// their tables and metadata hold.
#[test]
fn pipes_with_programs_of_their_own() {
    let parts = Parts {
        ingress: "action to(PortId_t port) { tm.ucast_egress_port = port; }
            table t { key = { h.h.op: exact; } actions = { to; NoAction; } const default_action = NoAction(); }
            apply { t.apply(); h.h.a = 1; }",
        egress: "apply { h.h.b = (bit<16>)eg.egress_port; }",
        ..PLAIN
    };
    let second = "struct meta2 { bit<16> other; bit<128> wide; }
         control I2(inout headers h, inout meta2 m, in ingress_intrinsic_metadata_t ig,
                   in ingress_intrinsic_metadata_from_parser_t pr,
                   inout ingress_intrinsic_metadata_for_deparser_t d,
                   inout ingress_intrinsic_metadata_for_tm_t tm) {
             apply { h.h.a = 2; h.h.c = (bit<32>)pr.parser_err; tm.ucast_egress_port = 3; }
         }
         parser IP2(packet_in p, out headers h, out meta2 m, out ingress_intrinsic_metadata_t ig) {
             state start { p.extract(ig); p.advance(PORT_METADATA_SIZE); p.extract(h.eth); p.extract(h.h); transition accept; }
         }
         control ID2(packet_out p, inout headers h, in meta2 m,
                    in ingress_intrinsic_metadata_for_deparser_t d) { apply { p.emit(h); } }
         Pipeline(IP(), I(), ID(), EP(), E(), ED()) one;
         Pipeline(IP2(), I2(), ID2(), EP(), E(), ED()) two;
         Switch(one, two, one) main;";
    let text = text(&parts).replace(LAST, second);
    let mut switch = Switch::new(
        Arc::new(image_of(&text).expect("a program for TNA")),
        Config::default(),
    )
    .expect("a switch");
    let to = |port: u32| p4_state::ActionSpec {
        name: "to".to_string(),
        args: p4_state::Args::InOrder(vec![port.into()]),
    };
    let key = |table: &str| p4_state::EntryKey {
        table: table.to_string(),
        matches: vec![("h.h.op".to_string(), p4_state::Match::Exact(7u32.into()))],
        priority: 0,
    };
    let target = p4_state::Target::Action(to(130));
    let entry = p4_state::Entry {
        key: key("one.I.t"),
        target,
    };
    switch.write(&[Update::Insert(entry)]).unwrap();
    // Pipe 0 and pipe 2 run the first program, pipe 1 the second; egress is that of the port's pipe.
    let first = [(130, frame(7, 1, 130, 5))];
    assert_eq!(send_at(&mut switch, 0, 1, &frame(7, 0, 0, 5)), first);
    assert_eq!(send_at(&mut switch, 0, 257, &frame(7, 0, 0, 5)), first);
    assert_eq!(
        send_at(&mut switch, 0, 129, &frame(7, 0, 0, 5)),
        [(3, frame(7, 2, 3, 0))]
    );
    // The second reads parser_err, so short packets reach it; the first drops them.
    let short = &frame(7, 0, 0, 5)[..16];
    assert_eq!(send_at(&mut switch, 0, 1, short), []);
    assert_eq!(send_at(&mut switch, 0, 129, short).len(), 1);
    // Pipe 3 has no program.
    assert_eq!(send_at(&mut switch, 0, 385, &frame(7, 0, 0, 5)), []);
    assert_eq!(switch.stats().bad_port, 1);
    // The control plane may place them otherwise.
    let place = |names: [&str; 4]| names.map(|name| Some(name.to_string()));
    switch.place(&place(["two", "one", "one", "two"])).unwrap();
    let second = [(3, frame(7, 2, 3, 0))];
    assert_eq!(send_at(&mut switch, 0, 385, &frame(7, 0, 0, 5)), second);
    assert_eq!(send_at(&mut switch, 0, 1, &frame(7, 0, 0, 5)), second);
    assert_eq!(send_at(&mut switch, 0, 129, &frame(7, 0, 0, 5)), first);
    let missing = switch.place(&place(["three", "one", "one", "two"]));
    assert!(missing.unwrap_err().contains("three"));
    assert_eq!(
        send_at(&mut switch, 0, 1, &frame(7, 0, 0, 5)),
        second,
        "as before"
    );
}

// If this fails, a switch with a cable in a port of its Ethernet CPU sends nothing there.
#[test]
fn ports_of_the_cpu_with_a_cable() {
    let mut switch = support::switch(&Parts {
        ingress: "apply { tm.ucast_egress_port = 64; }",
        ..PLAIN
    });
    assert_eq!(send(&mut switch, &frame(0, 0, 0, 0)), []);
    switch.plug(64);
    assert_eq!(send(&mut switch, &frame(0, 0, 0, 0)).len(), 1);
}

// If this fails, a control that chooses between two tables of one name when it is made, or a table in
// an algorithmic TCAM, is refused.
#[test]
fn tables_that_the_compiler_chooses_among() {
    let nexthop =
        "control Next(inout headers h, inout ingress_intrinsic_metadata_for_tm_t tm)(bool wide) {
             Alpm(number_partitions = 1024, subtrees_per_partition = 2) alpm;
             action to(PortId_t port) { tm.ucast_egress_port = port; }
             @name(\"hop\") table narrow {
                 key = { h.h.op: exact; } actions = { to; } const default_action = to(3); size = 16;
             }
             @name(\"hop\") table broad {
                 key = { h.h.op: lpm; } actions = { to; } const default_action = to(4); size = 16;
                 implementation = alpm;
             }
             apply { if (wide) { broad.apply(); } else { narrow.apply(); } }
         }
         control I(";
    let text = text(&Parts {
        ingress: "Next(true) one; Next(false) two;
            apply { if (h.h.a == 0) { one.apply(h, tm); } else { two.apply(h, tm); } }",
        ..PLAIN
    });
    let image = image_of(&text.replacen("control I(", nexthop, 1)).expect("a program for TNA");
    let mut switch = Switch::new(Arc::new(image), Config::default()).expect("a switch");
    assert_eq!(
        send(&mut switch, &frame(0, 0, 0, 0)),
        [(4, frame(0, 0, 0, 0))]
    );
    assert_eq!(
        send(&mut switch, &frame(0, 1, 0, 0)),
        [(3, frame(0, 1, 0, 0))]
    );
}

// If this fails, ports whose packets begin with a header of their own are parsed like all others.
#[test]
fn parsers_by_port() {
    let several =
        "parser IQ(packet_in p, out headers h, out meta m, out ingress_intrinsic_metadata_t ig) {
             state start {
                 p.extract(ig); p.advance(PORT_METADATA_SIZE); p.extract(h.tag);
                 p.extract(h.eth); p.extract(h.h); transition accept;
             }
         }
         IngressParsers(IP(), IQ()) ingress;
         EgressParsers(EP()) egress;
         MultiParserPipeline(ingress, I(), ID(), egress, E(), ED()) pipe;
         MultiParserSwitch(pipe) main;";
    let text = text(&PLAIN).replace(LAST, several);
    let mut switch = Switch::new(
        Arc::new(image_of(&text).expect("a program for TNA")),
        Config::default(),
    )
    .expect("a switch");
    let mut tagged = vec![0x77];
    tagged.extend(frame(1, 0, 0, 0));
    let plain = frame(1, 0, 0, 0);
    for port in [0, 3, 8, 63] {
        assert_eq!(send_at(&mut switch, 0, port, &plain), [(2, plain.clone())]);
    }
    for port in [4, 7] {
        assert_eq!(
            send_at(&mut switch, 0, port, &tagged),
            [(2, tagged.clone())]
        );
    }
}

// If this fails, a program that counts on one register for all ports works here and not on the chip.
#[test]
fn every_pipe_has_registers_and_meters_of_its_own() {
    let mut switch = switch(&Parts {
        ingress: "Register<bit<32>, bit<8>>(16, 5) r;
            RegisterAction<bit<32>, bit<8>, bit<32>>(r) next = {
                void apply(inout bit<32> cell, out bit<32> now) { cell = cell + 1; now = cell; }
            };
            Meter<bit<8>>(16, MeterType_t.PACKETS) meter;
            apply {
                h.h.c = next.execute(h.h.op);
                h.h.a = meter.execute(h.h.op);
                tm.ucast_egress_port = 2;
            }",
        ..PLAIN
    });
    let cell = |switch: &mut Switch, port| {
        let sent = send_at(switch, 0, port, &frame(3, 0, 0, 0));
        (sent[0].1[15], sent[0].1[21])
    };
    assert_eq!(cell(&mut switch, 1), (0, 6));
    assert_eq!(cell(&mut switch, 1), (0, 7));
    assert_eq!(cell(&mut switch, 129), (0, 6));
    let read = |switch: &Switch, pipe| switch.read_register("r", 3, pipe).expect("a cell");
    assert_eq!(
        [0, 1, 2, 3].map(|pipe| read(&switch, pipe)),
        [7u32, 6, 5, 5].map(Into::into)
    );
    assert!(switch.read_register("r", 3, 4).is_err());
    // The control plane sets all of them: four packets once, and then no more.
    let rates = p4_state::MeterConfig {
        committed_rate: 0,
        committed_burst: 1,
        peak_rate: 0,
        peak_burst: 1,
    };
    let index = Some(3);
    let batch = [
        Update::SetRegister {
            register: "r".to_string(),
            index,
            value: 40u32.into(),
        },
        Update::SetMeter {
            meter: "meter".to_string(),
            index,
            config: Some(rates),
        },
    ];
    switch.write(&batch).unwrap();
    for port in [1, 129, 257, 385] {
        assert_eq!(cell(&mut switch, port), (0, 41));
        assert_eq!(cell(&mut switch, port), (3, 42));
    }
}
