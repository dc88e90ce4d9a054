//! What parsers of a TNA switch leave behind when they find no case, or when the packet ends too early.

use crate::support;

use p4_arch::tna::{Config, Switch};
use std::sync::Arc;
use support::*;

/// The states of the egress parser in [`support::text`], from its first to its last.
const STATES: (&str, &str) = (
    "state start {\n                 m.again = 0; m.tag = 0;\n                 p.extract(eg);",
    "state rest { p.extract(h.eth); p.extract(h.h); transition accept; }\n         }\n         control E(",
);

/// A switch with other states in its egress parser.
fn with_states(states: &str, egress: &str) -> Switch {
    let text = text(&Parts { egress, ..PLAIN });
    let text = text.replace(
        "struct headers { tag_t tag;",
        "header big_t { bit<512> x; } struct headers { big_t big; big_t more; tag_t tag;",
    );
    let (first, last) = STATES;
    let from = text.find(first).expect("the first state");
    let to = text.find(last).expect("the last state") + last.len();
    let text = format!("{}{states} }} control E({}", &text[..from], &text[to..]);
    let image = image_of(&text).expect("a program for TNA");
    Switch::new(Arc::new(image), Config::default()).expect("a switch")
}

/// The bytes of the only packet that `switch` makes of `data`.
fn sent(switch: &mut Switch, data: &[u8]) -> Vec<u8> {
    let [(2, bytes)] = &send(switch, data)[..] else {
        panic!("one packet from port 2");
    };
    bytes.clone()
}

const ALL_IN_ONE: &str = "state start {
    p.extract(eg); p.extract(h.eth); p.extract(h.h);
    transition select(h.h.op) { 1: accept; }
}";

// The row `egress_parser` of tests/recorded/tna: valid headers full of zeros in front, and all of the
// packet after them. If this fails, an egress parser that forgets a case looks right here and sends
// garbage from the chip.
#[test]
fn egress_without_a_case_repeats_the_packet_behind_zeros() {
    let mut switch = with_states(ALL_IN_ONE, "apply { }");
    let plain = frame(1, 2, 3, 4);
    assert_eq!(sent(&mut switch, &plain), plain);
    let lost = frame(5, 2, 3, 4);
    let expected = [&[0; 22][..], &lost].concat();
    assert_eq!(sent(&mut switch, &lost), expected);
    // The next packet is not affected.
    assert_eq!(sent(&mut switch, &plain), plain);
}

// If this fails, egress cannot find out that its parser had no case, or where the packet goes.
#[test]
fn egress_learns_that_there_was_no_case() {
    let mut switch = with_states(
        ALL_IN_ONE,
        "apply { h.h.b = pr.parser_err; h.h.a = (bit<8>)eg.egress_port; }",
    );
    let bytes = sent(&mut switch, &frame(5, 2, 3, 4));
    assert_eq!(bytes[14..18], [0, 2, 0, 1]);
    let bytes = sent(&mut switch, &frame(1, 2, 3, 4));
    assert_eq!(bytes[14..18], [1, 2, 0, 0]);
}

// If this fails, headers that earlier states have extracted are lost with the last one.
#[test]
fn only_the_state_without_a_case_is_undone() {
    let states = "state start { p.extract(eg); m.tag = 1; transition first; }
        state first { p.extract(h.eth); m.tag = 2; transition second; }
        state second { m.tag = 3; p.extract(h.h); transition select(h.h.op) { 1: accept; } }";
    let mut switch = with_states(states, "apply { h.h.a = m.tag; }");
    let lost = frame(5, 9, 3, 4);
    let header = [0, 2, 0, 0, 0, 0, 0, 0];
    let expected = [&lost[..14], &header, &lost[14..]].concat();
    assert_eq!(sent(&mut switch, &lost), expected);
}

// If this fails, a traced packet differs from one that nobody watches.
#[test]
fn a_trace_shows_the_same() {
    let mut switch = with_states(ALL_IN_ONE, "apply { }");
    let lost = frame(5, 2, 3, 4);
    let mut out = Vec::new();
    let mut sink = |port: p4_arch::Port, data: &[u8]| out.push((port, data.to_vec()));
    switch.process_traced(p4_arch::Time::ZERO, 1, &lost, &mut sink);
    assert_eq!(out, [(2, [&[0; 22][..], &lost].concat())]);
}

// If this fails, what a state extracts after the end of a packet is missing, or parsing goes on after
// it: the chip ends there, but ends the state.
#[test]
fn a_packet_that_ends_in_a_state_ends_parsing_after_it() {
    let states = "state start { p.extract(eg); m.tag = 1; transition first; }
        state first { p.extract(h.eth); p.extract(h.h); transition large; }
        state large { p.extract(h.big); p.extract(h.more); m.tag = 2; transition late; }
        state late { m.tag = 3; transition accept; }";
    let egress = "apply {
        h.h.a = m.tag; h.h.b = pr.parser_err;
        if (h.more.isValid()) { h.h.c = 7; }
        h.big.setInvalid(); h.more.setInvalid();
    }";
    let mut switch = with_states(states, egress);
    let bytes = sent(&mut switch, &frame(1, 9, 9, 9));
    // What is sent ends in a checksum, for which the last four bytes of the headers are taken: there
    // is not a payload.
    let header = [1, 2, 0, 0x22];
    assert_eq!(bytes, [&frame(0, 0, 0, 0)[..14], &header].concat());
    // Long enough: nothing is wrong.
    let long = [&frame(1, 9, 9, 9)[..], &[0x55; 100]].concat();
    let bytes = sent(&mut switch, &long);
    let header = [1, 3, 0, 0, 0, 0, 0, 7];
    let expected = [&long[..14], &header, &long[22 + 128..]].concat();
    assert_eq!(bytes, expected);
}
