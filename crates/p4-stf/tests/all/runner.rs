//! Judging: what passes, what fails, and how a failure reads.

use crate::common;

use common::{run_text, Bench};
use num_bigint::BigUint;
use p4_state::{ActionSpec, Args, CloneSession, Entry, EntryKey, Match, Replica, Update};
use p4_stf::*;
use proptest::prelude::*;

fn failures(report: &Report) -> Vec<String> {
    report
        .failures()
        .map(|finding| finding.message.clone())
        .collect()
}

fn passes(text: &str) -> (bool, bool) {
    (
        run_text(text, Mode::Strict).passed,
        run_text(text, Mode::Lax).passed,
    )
}

/// The laxness of p4c's runner that hides bugs: each line is (script, strict, lax).
#[test]
fn strict_sees_what_p4cs_runner_does_not() {
    let cases = [
        ("packet 1 0102\nexpect 2 0102", true, true),
        ("packet 1 0102\nexpect 2 0102 $", true, true),
        // What the parser did not read follows unchanged; 02 here, which the packet ends in.
        ("packet 1 0102\nexpect 2 01", true, true),
        ("packet 1 01020304\nexpect 2 01", true, true),
        // A packet that follows must not be taken for the data of the one expected.
        (
            "packet 1 01\npacket 1 0102\nexpect 2 01\nexpect 2 01",
            true,
            true,
        ),
        ("packet 1 0102\nexpect 2 01 $", false, false),
        ("packet 1 0102\nexpect 2 *1 0*", true, true),
        ("packet 1 0102\nexpect 2 010203", false, false),
        ("packet 1 0102\nexpect 2 0103", false, false),
        ("packet 1 0102", false, true),
        ("packet 1 01\npacket 2 01\nexpect 3 01", false, false),
        (
            "packet 1 01\npacket 1 02\nexpect 2 02\nexpect 2 01",
            false,
            false,
        ),
        ("packet 1 01\npacket 1 02\nexpect 2", false, true),
        ("packet 1 01\nexpect 2", true, true),
        ("expect 2", false, true),
        (
            "mirroring_add 1 99999\npacket 1 01\nexpect 2 01",
            false,
            true,
        ),
        (
            "register_reed last 0\npacket 1 01\nexpect 2 01",
            false,
            true,
        ),
        ("pakcet 1 01\npacket 1 01\nexpect 2 01", false, false),
        (
            "check_counter seen(0) packets == 3\npacket 1 01\nexpect 2 01",
            false,
            true,
        ),
        // Without any `expect` the script is about the counter; with `no_packet` about packets too.
        (
            "packet 1 01\ncheck_counter seen(0) packets == 2",
            true,
            true,
        ),
        (
            "packet 1 01\ncheck_counter seen(0) packets == 2\nno_packet",
            false,
            true,
        ),
        ("packet 1 01\nno_packet\nexpect 2 01", false, true),
        ("add nowhere drop()\npacket 1 01\nexpect 2 01", false, false),
    ];
    for (text, strict, lax) in cases {
        assert_eq!(passes(text), (strict, lax), "{text}");
    }
}

/// A test that was not read whole must not be called passed, nor half carried out.
#[test]
fn an_unreadable_line_ends_the_run_before_a_packet_is_sent() {
    let report = run_text("packet 1 01\nexpect 2 01\nexpekt 2 01", Mode::Strict);
    assert_eq!((report.passed, report.packets_sent), (false, 0));
    assert_eq!(
        failures(&report),
        ["unknown command `expekt`; did you mean `expect`?"]
    );
}

/// One lost packet must read as one lost packet, not as a difference of all that follow.
#[test]
fn a_missing_packet_does_not_shift_the_others() {
    let text = "packet 1 01\npacket 1 02\npacket 1 03\nexpect 2 01\nexpect 2 02\nexpect 2 03";
    let mut lossy = Bench::new(|port, data| match data {
        [2] => vec![],
        _ => vec![(port + 1, data.to_vec())],
    });
    let report = run(&parse("t.stf", text), &mut lossy, Mode::Strict);
    assert_eq!(
        failures(&report),
        ["expected one packet more on port 2 than the 2 that came out"]
    );
    let lines: Vec<u32> = report
        .failures()
        .map(|finding| finding.place.line)
        .collect();
    assert_eq!(lines, [5]);
}

#[test]
fn a_difference_shows_the_bytes_and_the_cause() {
    let text = "packet 1 00112233 44556677 8899aabb ccddeeff 01\n\
                expect 2 00112233 44556677 8899aabb ccddeeff 0*\npacket 1 aabb\nexpect 2 a*cc dd";
    let report = run_text(text, Mode::Strict);
    assert_eq!(
        report.render(),
        "t.stf:4:1: packet 2 on port 2 (from line 3) is not the expected one: \
         it has 2 bytes, expected 3; byte 1 differs\n    \
         expected 0000   a* cc dd\n    received 0000   aa bb\n                       ^^ ^^\n\
         FAIL t.stf: 1 as expected, 1 not; 2 packets sent, 2 received\n"
    );
}

#[test]
fn groups_sessions_and_checks_reach_the_switch() {
    let text = "mc_mgrp_create 3\nmc_node_create 7 1 2\nmc_node_create 8 4\nmc_node_associate 3 0\n\
                mc_node_associate 3 1\nmirroring_add 5 6\nmirroring_add_mc 6 3\nmirroring_delete 5\n\
                setdefault lpm forward(mac:0x1, port:2)\nwait\nregister_write last 0 9\n\
                check_register last(0) == 9\ncheck_counter seen(0) bytes >= 128\nregister_read last 0\n\
                add MyIngress.acl 4 drop() = e\ncheck_counter direct($e) packets == 5\nremove all\n";
    let mut bench = Bench::next_port();
    let report = run(&parse("t.stf", text), &mut bench, Mode::Strict);
    assert_eq!(failures(&report), Vec::<String>::new());
    let replica = |(port, rid)| Replica { port, rid };
    let group = |ports: &[(u16, u16)]| Update::SetGroup {
        group: 3,
        replicas: Some(ports.iter().copied().map(replica).collect()),
    };
    let session = |session, to: Option<(Option<u16>, Option<u32>)>| Update::SetSession {
        session,
        to: to.map(|(port, group)| CloneSession {
            group,
            port,
            truncate: None,
        }),
    };
    let entry = EntryKey {
        table: "MyIngress.acl".into(),
        matches: vec![exact("hdr.mpls[1].ttl", 0)],
        priority: 5,
    };
    assert_eq!(
        bench.updates,
        [
            group(&[]),
            group(&[(1, 7), (2, 7)]),
            group(&[(1, 7), (2, 7), (4, 8)]),
            session(5, Some((Some(6), None))),
            session(6, Some((None, Some(3)))),
            session(5, None),
            Update::SetDefault {
                table: "lpm".into(),
                action: Some(named("forward", &[("mac", 1), ("port", 2)])),
            },
            Update::SetRegister {
                register: "last".into(),
                index: Some(0),
                value: big(9)
            },
            Update::Insert(Entry {
                key: entry.clone(),
                target: p4_state::Target::Action(named("drop", &[]))
            }),
            Update::Delete(entry),
        ]
    );
    assert_eq!(
        (
            bench.waited,
            report.notes.last().map(|note| note.message.as_str())
        ),
        (1000, Some("last[0]= 9"))
    );
}

fn named(action: &str, args: &[(&str, u32)]) -> ActionSpec {
    let args = args
        .iter()
        .map(|(name, value)| (name.to_string(), big(*value)))
        .collect();
    ActionSpec {
        name: action.into(),
        args: Args::Named(args),
    }
}

fn exact(key: &str, value: u32) -> (String, Match) {
    (key.into(), Match::Exact(big(value)))
}

/// What an `add` line became, or its error.
fn entry(line: &str, mode: Mode) -> Result<EntryKey, String> {
    let mut bench = Bench::next_port();
    let report = run(&parse("t.stf", line), &mut bench, mode);
    match (failures(&report).pop(), bench.updates.pop()) {
        (None, Some(Update::Insert(entry))) => Ok(entry.key),
        (message, _) => Err(message.unwrap_or_default()),
    }
}

fn big(value: u32) -> BigUint {
    value.into()
}

#[test]
fn names_are_found_by_suffix_and_left_out_exact_keys_are_zero() {
    let e = entry("add exact h.$valid$:1 MyIngress.drop()", Mode::Strict).unwrap();
    assert_eq!((e.table.as_str(), e.priority), ("MyIngress.exact", 0));
    assert_eq!(e.matches, [exact("hdr.h.isValid()", 1), exact("hdr.a", 0)]);
    let e = entry("add ports drop()", Mode::Strict).unwrap();
    assert_eq!((e.matches, e.priority), (vec![], 1));
    let e = entry("add MyIngress.acl 9 mpls$1.ttl:3 drop()", Mode::Strict).unwrap();
    assert_eq!(
        (e.matches, e.priority),
        (vec![exact("hdr.mpls[1].ttl", 3)], 10)
    );
}

/// In strict mode digits that are not written are zero; p4c's runner lets them be anything.
#[test]
fn wildcards_become_masks_and_prefixes() {
    let first = |line: &str, mode| entry(line, mode).unwrap().matches[0].1.clone();
    let ternary = |text: &str, mode| first(&format!("add MyEgress.acl b:{text} drop()"), mode);
    let masked = |value, mask| Match::Ternary {
        value: big(value),
        mask: big(mask),
    };
    assert_eq!(ternary("0x1*", Mode::Strict), masked(0x10, 0xfff0));
    assert_eq!(ternary("0x1*", Mode::Lax), masked(0x10, 0x00f0));
    assert_eq!(ternary("0x**1*", Mode::Strict), masked(0x10, 0x00f0));
    assert_eq!(ternary("0b*", Mode::Strict), masked(0, 0xfffe));
    assert_eq!(ternary("0x12", Mode::Strict), masked(0x12, 0xffff));
    assert_eq!(ternary("0xff&&&0x0f", Mode::Strict), masked(0x0f, 0x0f));
    assert_eq!(ternary("0x1234/8", Mode::Strict), masked(0x1200, 0xff00));
    let lpm = |text: &str| first(&format!("add lpm dst:{text} drop()"), Mode::Strict);
    let prefix = |value, length| Match::Lpm {
        value: big(value),
        length,
    };
    assert_eq!(lpm("0x0a00****"), prefix(0x0a00_0000, 16));
    assert_eq!(lpm("0x0a000001/8"), prefix(0x0a00_0000, 8));
    assert_eq!(lpm("0x0a000001"), prefix(0x0a00_0001, 32));
    // Bits that are too many stay, so that the entry is refused.
    let value = (big(0x77) << 32) + big(0x0a00_0000);
    assert_eq!(lpm("0x770a000001/8"), Match::Lpm { value, length: 8 });
    let range = |text: &str| first(&format!("add ports port:{text} drop()"), Mode::Strict);
    let between = |low, high| Match::Range {
        low: big(low),
        high: big(high),
    };
    assert_eq!((range("5..9"), range("7")), (between(5, 9), between(7, 7)));
}

#[test]
fn entries_that_make_no_sense_are_refused_with_a_sentence() {
    let cases = [
        (
            "add axl drop()",
            "there is no table `axl`; known: MyIngress.exact, MyIngress.lpm, MyIngress.acl, \
             MyIngress.ports, MyEgress.acl",
        ),
        (
            "add acl drop()",
            "`acl` could be any table of MyIngress.acl, MyEgress.acl; write more of the name",
        ),
        (
            "add lpm dst:5&&&3 drop()",
            "key hdr.dst is matched by longest prefix; write VALUE/LENGTH, or * for the last digits",
        ),
        (
            "add lpm dst:0x*1 drop()",
            "key hdr.dst is matched by longest prefix; only the last digits may be *",
        ),
        ("add exact a:0x1* drop()", "key hdr.a takes a whole number here, without *"),
        (
            "add exact b:1 drop()",
            "there is no key of table MyIngress.exact `b`; known: hdr.a, hdr.h.isValid()",
        ),
        (
            "add MyEgress.acl b:5 drop()",
            "key hdr.b is matched by mask; write its value in hexadecimal or binary",
        ),
        ("remove e", "no entry is labelled `e`; label one with `add ... = e`"),
    ];
    for (line, message) in cases {
        assert_eq!(entry(line, Mode::Strict).unwrap_err(), message);
    }
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn packets() -> impl Strategy<Value = Vec<(Port, Vec<u8>)>> {
    prop::collection::vec((0u16..3, prop::collection::vec(0u8..4, 1..6)), 1..12)
}

/// A script that sends the packets and expects what [`Bench::next_port`] does with them.
fn script_of(packets: &[(Port, Vec<u8>)]) -> Vec<String> {
    let sends = packets
        .iter()
        .map(|(port, data)| format!("packet {port} {}", hex(data)));
    let expects = packets
        .iter()
        .map(|(port, data)| format!("expect {} {}", port + 1, hex(data)));
    sends.chain(expects).collect()
}

proptest! {
    #[test]
    fn what_a_switch_does_passes(packets in packets()) {
        let report = run_text(&script_of(&packets).join("\n"), Mode::Strict);
        prop_assert!(report.passed, "{}", report.render());
    }

    /// In strict mode no single change of what is expected goes unnoticed.
    #[test]
    fn one_wrong_expectation_fails(packets in packets(), pick: prop::sample::Index, bit in 0u8..2, change in 0..3) {
        let mut lines = script_of(&packets);
        let index = pick.index(packets.len());
        let (port, mut data) = packets[index].clone();
        let at = packets.len() + index;
        match change {
            0 => { data[0] ^= 0x40 << bit; lines[at] = format!("expect {} {}", port + 1, hex(&data)) }
            1 => { data.push(0); lines[at] = format!("expect {} {}", port + 1, hex(&data)) }
            _ => { lines.remove(at); }
        }
        let report = run_text(&lines.join("\n"), Mode::Strict);
        prop_assert!(!report.passed);
        prop_assert!(report.failures().count() <= 2, "{}", report.render());
    }
}

/// p4testgen writes `0b*` for an optional key that an entry does not ask for.
#[test]
fn an_optional_key_of_stars_is_left_out() {
    let mut bench = Bench::next_port();
    let script = parse(
        "t.stf",
        "add ports hdr.port:1..2 \"hdr.opt\":0b* a()\nadd ports hdr.port:3 hdr.opt:0x** a()\n\
         add ports hdr.port:4 hdr.opt:7 a()",
    );
    assert_eq!(script.errors, []);
    let report = run(&script, &mut bench, Mode::Strict);
    assert!(report.passed, "{}", report.render());
    let asked: Vec<Vec<&str>> = bench
        .updates
        .iter()
        .filter_map(|update| match update {
            Update::Insert(entry) => {
                Some(entry.key.matches.iter().map(|(key, _)| &**key).collect())
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        asked,
        [
            vec!["hdr.port"],
            vec!["hdr.port"],
            vec!["hdr.port", "hdr.opt"]
        ]
    );
    assert!(failures(&common::run_text(
        "add ports hdr.opt:0x1* a()",
        Mode::Strict
    ))[0]
        .contains("without *"));
}
