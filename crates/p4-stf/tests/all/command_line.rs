//! Lines of simple_switch_CLI and records of sessions with it, on a switch of ours.

use p4_arch::v1model::{AsBmv2, Config, Image, Switch, V1Model as Binding};
use p4_stf::{parse, run, Mode, OnSwitch, Report};
use p4_syntax::{MemoryFiles, Options};
use std::sync::Arc;

const PROGRAM: &str = "
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> k; bit<32> address; bit<48> mac; bit<8> r; }
struct headers { h_t h; }
struct metadata { }
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t sm) {
    state start { p.extract(h.h); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t sm) {
    register<bit<12>>(4) cells;
    action set(bit<8> v) { h.h.r = v; }
    table exact_one { key = { h.h.address: exact; } actions = { set; NoAction; } default_action = NoAction; size = 2; }
    table route { key = { h.h.address: lpm; } actions = { set; NoAction; } default_action = NoAction; }
    table acl { key = { h.h.mac: ternary; h.h.k: range; } actions = { set; NoAction; } default_action = NoAction; }
    apply {
        sm.egress_spec = 2;
        if (h.h.k == 1) { exact_one.apply(); }
        else if (h.h.k == 2) { route.apply(); }
        else if (h.h.k == 9) { sm.mcast_grp = 5; }
        else { acl.apply(); }
        assert(h.h.k != 0xff);
    }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t sm) { apply { } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

fn report_of(text: &str, mode: Mode, bmv2_compat: bool) -> Report {
    let mut files = MemoryFiles::default();
    files.0.insert("t.p4".into(), PROGRAM.into());
    let parsed = p4_syntax::parse("t.p4", &files, &Options::default());
    let checked = p4_check::check(&parsed.program);
    let program = match bmv2_compat {
        true => p4_ir::lower::lower(&checked, &AsBmv2),
        false => p4_ir::lower::lower(&checked, &Binding),
    };
    let program = program.expect("the program is right");
    let image = Image::new(Arc::new(program)).expect("it can be executed");
    let config = Config {
        bmv2_compat,
        ..Config::default()
    };
    let switch = Switch::new(Arc::new(image), config).expect("a switch");
    run(
        &parse("t.stf", text),
        &mut OnSwitch::new(&mut switch.into()),
        mode,
    )
}

fn passes(text: &str) {
    let report = report_of(text, Mode::Strict, false);
    assert!(report.passed, "{}", report.render());
}

/// The one sentence with which a line fails.
fn failure(line: &str) -> String {
    let report = report_of(line, Mode::Strict, false);
    let failures: Vec<_> = report.failures().collect();
    assert_eq!(failures.len(), 1, "{line}: {}", report.render());
    assert_eq!(failures[0].place.line, 1);
    failures[0].message.clone()
}

/// A packet with k, the address 10.0.1.7, the MAC 02:00:00:00:00:0a and a result.
fn bytes(k: &str, r: &str) -> String {
    format!("{k} 0a000107 02000000000a {r}")
}

/// If this fails, a lab's `s1-commands.txt` means something else here than on bmv2.
#[test]
fn entries_in_all_forms() {
    passes(&format!(
        "table_add exact_one I.set 10.0.1.7 => 0x11
packet 1 {}
expect 2 {} $
table_add route set 10.0.0.0/8 => 1
table_add route set 0x0a000100/24 => 2
table_add I.route set 0/0 => 3
packet 1 {}
expect 2 {} $
table_add acl set 02:00:00:00:00:0a&&&0xffffffffffff 0x20->0x2f => 0x21 20
table_add acl set 0&&&0 0->255 => 0x22 30
table_add acl set 0&&&0 0x20->0x20 => 0x23 10
packet 1 {}
expect 2 {} $
packet 1 {}
expect 2 {} $
packet 1 {}
expect 2 {} $
table_modify acl set 1 => 0x24
table_delete acl 2
table_delete route 1
packet 1 {}
expect 2 {} $
packet 1 {}
expect 2 {} $
table_set_default acl set 0x30
table_clear acl
packet 1 {}
expect 2 {} $
table_reset_default acl
packet 1 {}
expect 2 {} $",
        bytes("01", "00"),
        bytes("01", "11"),
        bytes("02", "00"),
        bytes("02", "02"),
        bytes("20", "00"),
        bytes("20", "23"),
        bytes("21", "00"),
        bytes("21", "21"),
        bytes("40", "00"),
        bytes("40", "22"),
        bytes("40", "00"),
        bytes("40", "24"),
        bytes("02", "00"),
        bytes("02", "01"),
        bytes("40", "00"),
        bytes("40", "30"),
        bytes("40", "00"),
        bytes("40", "00"),
    ));
}

/// If this fails, copies of a multicast packet leave through other ports than bmv2's.
#[test]
fn groups_nodes_and_lags() {
    let packet = bytes("09", "00");
    let out = |ports: &[u16]| -> String {
        let line = |port: &u16| format!("expect {port} {packet} $\n");
        format!(
            "packet 1 {packet}\n{}",
            ports.iter().map(line).collect::<String>()
        )
    };
    passes(&format!(
        "mc_mgrp_create 5
mc_node_create 1 4 3
mc_node_create 2 6 | 1
mc_set_lag_membership 1 7 8
mc_node_associate 5 1
mc_node_associate 5 0
{}mc_node_update 0 5
{}mc_node_dissociate 5 1
{}mc_node_destroy 1
mc_node_create 3 9
mc_node_associate 5 1
{}mc_mgrp_destroy 5
packet 1 {packet}
no_packet",
        out(&[6, 8, 3, 4]),
        out(&[6, 8, 5]),
        out(&[5]),
        out(&[5, 9]),
    ));
}

/// If this fails, a line that does nothing passes unnoticed, or its message helps nobody.
#[test]
fn lines_that_fail() {
    for (line, part) in [
        (
            "table_add nowhere set 1 => 1",
            "there is no table `nowhere`",
        ),
        ("table_add exact_one get 1 => 1", "there is no action get"),
        (
            "table_add exact_one set 1 2 => 1",
            "has 1 keys, but 2 values",
        ),
        ("table_add exact_one set 10.0.1 => 1", "no IPv4 address"),
        ("table_add exact_one set 1 => 0x133", "too large for 8 bits"),
        ("table_add exact_one set 1 => 1 2", "takes 1 values, not 2"),
        ("table_add route set 10.0.0.0 => 1", "`/`"),
        ("table_add acl set 1 1->2 => 1 5", "`&&&`"),
        (
            "table_add acl set 0&&&0 2->1 => 1 5",
            "ends before it begins",
        ),
        (
            "table_add acl set 0&&&0 1->2 => 1 high",
            "is not a priority",
        ),
        (
            "table_add acl set 1&&&1 1->2 => 5",
            "the priority is missing",
        ),
        ("table_delete route 0", "no entry with handle 0"),
        ("mc_node_associate 1 0", "there is no node 0"),
        ("mc_node_create 1 3 3", "port 3 is given twice"),
        ("mirroring_delete 3", "there is no clone session 3"),
        ("mirroring_add 40000 1", "not within 0 to 32767"),
        ("register_write cells 4 1", "there is no index 4"),
        (
            "register_write cells 0 4096",
            "13 bits, but the field has 12",
        ),
        ("meter_set_rates m 0 0.1:1 0.2:2", "there is no meter m"),
        ("meter_set_rates m 0 fast 0.2:2", "RATE:BURST"),
        (
            "set_crc32_parameters calc 1 0 0 true false",
            "no crc32_custom calculation calc",
        ),
        (
            "act_prof_create_member ap set 1",
            "there is no action profile ap",
        ),
        ("pvs_add s 1", "there is no value set `s`"),
        ("set_queue_rate many", "is not a number"),
        (
            "table_indirect_set_default route 0",
            "has no action profile",
        ),
    ] {
        let message = failure(line);
        assert!(message.contains(part), "{line}: {message}");
        let lax = report_of(line, Mode::Lax, false);
        assert!(lax.passed, "{line}: p4c's runner does not look at replies");
    }
}

/// If this fails, a record of the real switch passes although ours does something else.
#[test]
fn records_of_sessions() {
    let right = format!(
        "cli table_add I.exact_one set 1 => 1\n  | Adding entry to exact match table I.exact_one
cli table_add I.exact_one set 1 => 2\n  | Invalid table operation (DUPLICATE_ENTRY)
cli register_write I.cells 2 7
cli register_read I.cells 2\n  | I.cells[2]= 7
packet 1 {}
out 2 {}",
        bytes("01", "00"),
        bytes("01", "00")
    );
    passes(&right);
    let differs = |from: &str, to: &str, part: &str| {
        let report = report_of(&right.replace(from, to), Mode::Strict, false);
        assert!(
            report.failures().any(|f| f.message.contains(part)),
            "{}",
            report.render()
        );
    };
    differs(
        "  | Invalid table operation (DUPLICATE_ENTRY)\n",
        "",
        "was done there, but here",
    );
    differs("  | Adding", "  | Invalid", "done here, but there");
    differs("]= 7", "]= 8", "I.cells[2]= 8");
    differs("out 2", "out 3", "port 3");
    let died = format!(
        "packet 1 {}\nswitch died -6\npacket 1 01",
        bytes("ff", "00")
    );
    assert!(report_of(&died, Mode::Strict, true).passed);
    assert!(
        !report_of(&died, Mode::Strict, false).passed,
        "an assertion drops the packet only"
    );
}
