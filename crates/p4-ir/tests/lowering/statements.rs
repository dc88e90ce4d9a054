//! Statements, calls and tables. If these fail, a packet takes the wrong branch or keeps a value
//! that was changed.

use crate::bench::{control, Bench};

/// Runs `body` with `meta.x` set; gives the leaves asked for.
fn outcome(locals: &str, body: &str, x: u64, leaves: &[&str]) -> Vec<u64> {
    let meta = "bit<8> x; bit<8> y; bit<8> z; bit<32> w; bool b;";
    let mut bench = Bench::new(&control("", meta, locals, body));
    bench.set("meta.x", &[x]);
    bench.control();
    leaves
        .iter()
        .map(|leaf| bench.get(&format!("meta.{leaf}")))
        .collect()
}

#[test]
fn conditions_choose_branches() {
    let body = "
        if (meta.x == 1 || meta.x > 6 && !(meta.x == 8)) { meta.y = 1; } else { meta.y = 2; }
        if (!meta.b) { meta.z = 3; }
        if (meta.x != 4) { } else { meta.w = 9; }";
    let table = [(1, 1), (2, 2), (4, 2), (6, 2), (7, 1), (8, 2), (9, 1)];
    for (x, y) in table {
        let w = if x == 4 { 9 } else { 0 };
        assert_eq!(outcome("", body, x, &["y", "z", "w"]), [y, 3, w], "x = {x}");
    }
}

#[test]
fn the_right_side_of_and_and_or_runs_only_when_needed() {
    let declarations = "bool seen(inout bit<8> n) { n = n + 1; return true; }";
    let meta = "bit<8> x; bit<8> y;";
    let body = "
        if (meta.x == 1 && seen(meta.y)) { }
        bool b = meta.x == 1 || seen(meta.y);
        if (!(meta.x == 1) && seen(meta.y) || seen(meta.y)) { }";
    for (x, calls) in [(1, 2), (2, 2)] {
        let mut bench = Bench::new(&control(declarations, meta, "", body));
        bench.set("meta.x", &[x]);
        bench.control();
        assert_eq!(bench.get("meta.y"), calls, "x = {x}");
    }
}

#[test]
fn switches_on_values_fall_through_empty_labels() {
    let body = "
        switch (meta.x) {
            1: 2: { meta.y = 12; }
            0x30: { meta.y = 30; }
            4: { }
            default: { meta.y = 99; }
        }";
    for (x, y) in [(1, 12), (2, 12), (0x30, 30), (4, 0), (5, 99), (0, 99)] {
        assert_eq!(outcome("", body, x, &["y"]), [y], "x = {x}");
    }
}

#[test]
fn loops_count_break_and_continue() {
    let body = "
        for (bit<8> i in 1 .. 10) {
            if (i == 3) { continue; }
            if (i == 7) { break; }
            meta.y = meta.y + i;
        }
        for (bit<8> i = 0; i < meta.x; i = i + 1) { meta.z = meta.z + 2; }";
    assert_eq!(outcome("", body, 5, &["y", "z"]), [1 + 2 + 4 + 5 + 6, 10]);
}

#[test]
fn tables_run_actions_with_their_data() {
    let locals = "
        action set(bit<8> value, bit<32> w) { meta.y = value; meta.w = w; }
        action add(inout bit<8> place, bit<8> by) { place = place + by; }
        table one {
            key = { meta.x : exact; }
            actions = { set; add(meta.z); NoAction; }
            const entries = {
                1 : set(5, 70000);
                2 : add(meta.z, 9);
                3 : NoAction();
            }
            default_action = set(77, 1);
        }
        table pair {
            key = { meta.x & 0xf0 : ternary @name(\"high\"); meta.x[3:0] : range; }
            actions = { set; NoAction; }
            const entries = {
                (0x10 &&& 0xf0, 2 .. 4) : set(24, 0);
                (0x10 &&& 0xf0, _) : set(10, 0);
            }
        }";
    let body = "
        if (!pair.apply().hit) {
            switch (one.apply().action_run) {
                set: { meta.b = true; }
                add: { meta.w = 2; }
                default: { meta.w = 3; }
            }
        }";
    let leaves = ["y", "z", "w", "b"];
    for (x, want) in [
        (1, [5, 0, 70000, 1]),
        (2, [0, 9, 2, 0]),
        (3, [0, 0, 3, 0]),
        (9, [77, 0, 1, 1]),
        (0x13, [24, 0, 0, 0]),
        (0x19, [10, 0, 0, 0]),
    ] {
        assert_eq!(outcome(locals, body, x, &leaves), want, "x = {x:#x}");
    }
}

#[test]
fn exit_leaves_everything_but_copies_out() {
    let locals = "
        action stop(inout bit<8> place) {
            place = place + 1;
            if (place > 5) { exit; }
            place = 100;
        }
        action outer(inout bit<8> place) { stop(place); place = place + 50; }";
    let body = "outer(meta.x); meta.y = 7;";
    assert_eq!(outcome(locals, body, 1, &["x", "y"]), [150, 7]);
    assert_eq!(outcome(locals, body, 5, &["x", "y"]), [6, 0]);
}

#[test]
fn return_ends_the_action_only() {
    let locals = "
        action early() {
            if (meta.x == 1) { return; }
            meta.y = 1;
        }";
    assert_eq!(
        outcome(locals, "early(); meta.z = 2;", 1, &["y", "z"]),
        [0, 2]
    );
    assert_eq!(
        outcome(locals, "early(); meta.z = 2;", 2, &["y", "z"]),
        [1, 2]
    );
}

#[test]
fn arguments_are_evaluated_from_left_to_right_and_copied() {
    let declarations = "
        bit<8> bump(inout bit<8> n) { n = n + 1; return n; }
        void both(inout bit<8> a, in bit<8> b, out bit<8> c) { a = a + 10; c = a + b; }";
    let meta = "bit<8> x; bit<8> y; bit<8> z;";
    let body = "
        meta.y = bump(meta.x) - bump(meta.x);
        both(meta.x, meta.x, meta.z);";
    let mut bench = Bench::new(&control(declarations, meta, "", body));
    bench.set("meta.x", &[4]);
    bench.control();
    // 5 - 6, then x = 6: a = 16, c = 16 + 6
    assert_eq!(
        [
            bench.get("meta.y"),
            bench.get("meta.x"),
            bench.get("meta.z")
        ],
        [255, 16, 22]
    );
}

// If this fails, an `out` parameter begins with what an inner call of the same function left in it.
#[test]
fn a_call_within_its_own_arguments_leaves_no_value_behind() {
    let declarations = "
        bit<8> kept(out bit<8> p, in bit<8> v) { if (v != 0) { p = v; } return p; }
        bit<8> through(in bit<8> v) { bit<8> own; return kept(own, v); }";
    let body = "
        meta.x = kept(meta.y, kept(meta.z, 5) & 0);
        kept(meta.w, through(7) & 0);";
    let meta = "bit<8> x; bit<8> y; bit<8> z; bit<8> w;";
    let mut bench = Bench::new(&control(declarations, meta, "", body));
    bench.set("meta.w", &[9]);
    bench.control();
    let leaves = ["x", "y", "z", "w"].map(|leaf| bench.get(&format!("meta.{leaf}")));
    assert_eq!(leaves, [0, 0, 5, 0]);
}

#[test]
fn an_assignment_may_read_what_it_writes() {
    let declarations = "struct pair_t { bit<8> a; bit<8> b; }";
    let meta = "bit<8> x; pair_t p; bit<100> wide; bit<8>[4] cells;";
    let body = "
        meta.p = { a = meta.p.b, b = meta.p.a };
        meta.x[7:4] = meta.x[3:0];
        meta.wide = meta.wide ++ meta.wide == 0 ? 100w7 : meta.wide + meta.wide;
        meta.cells[meta.x[1:0]] = meta.cells[meta.x[1:0]] + 1;";
    let mut bench = Bench::new(&control(declarations, meta, "", body));
    for (leaf, words) in [
        ("x", vec![0x52]),
        ("p.a", vec![1]),
        ("p.b", vec![2]),
        ("wide", vec![u64::MAX, 3]),
    ] {
        bench.set(&format!("meta.{leaf}"), &words);
    }
    bench.control();
    assert_eq!([bench.get("meta.p.a"), bench.get("meta.p.b")], [2, 1]);
    assert_eq!(bench.get("meta.x"), 0x22);
    assert_eq!(bench.words("meta.wide"), [u64::MAX - 1, 7]);
    let cells: Vec<u64> = (0..4)
        .map(|i| bench.get(&format!("meta.cells[{i}]")))
        .collect();
    assert_eq!(cells, [0, 0, 1, 0]);
}
