//! Jumps, calls, loops, stores with conditions, run-time indices, and what a bad program is told.

use crate::build::{run, Bare, Builder};
use p4_ir::interp::{errors, Machine, Outcome, Prepared};
use p4_ir::ir::*;
use p4_ir::trace::{Event, Recorder};
use std::sync::Arc;

// If this fails, a parser that loops for ever hangs the switch.
#[test]
fn endless_loops_end() {
    let mut builder = Builder::new(1);
    builder.op(Op::Mov { d: 0, s: 0 });
    builder.op(Op::Jmp { t: 0 });
    let prepared = builder.prepare();
    assert_eq!(
        run(&prepared, &mut Machine::new(&prepared)),
        Outcome::OutOfFuel
    );

    let mut builder = Builder::new(1);
    builder.op(Op::Call { t: 0 });
    let prepared = builder.prepare();
    assert_eq!(
        run(&prepared, &mut Machine::new(&prepared)),
        Outcome::OutOfFuel
    );
}

// If this fails, loops, calls or value switches go the wrong way.
#[test]
fn counts_in_a_loop_with_a_call() {
    let mut builder = Builder::new(4);
    let (ten, one, three) = (
        builder.constant(10),
        builder.constant(1),
        builder.constant(3),
    );
    let (i, sum, go, threes) = (
        builder.slots(1),
        builder.slots(1),
        builder.slots(1),
        builder.slots(1),
    );
    // 0: go = i < 10; 1: if !go return; 2: call 6; 3: switch i {3: 5}; 4: loop; 5: threes++, loop
    builder.op(Op::Alu {
        op: Alu::Lt,
        w: 8,
        d: go,
        a: i,
        b: ten,
    });
    builder.op(Op::JmpIfNot { c: go, t: 9 });
    builder.op(Op::Call { t: 7 });
    builder.program.switches.push(SwitchTable {
        cases: vec![(3, 5), (200, 9)],
        default: 4,
    });
    builder.op(Op::Switch { v: i, table: 0 });
    builder.op(Op::Jmp { t: 0 });
    builder.op(Op::Alu {
        op: Alu::Add,
        w: 8,
        d: threes,
        a: threes,
        b: three,
    });
    builder.op(Op::Jmp { t: 0 });
    builder.op(Op::Alu {
        op: Alu::Add,
        w: 8,
        d: i,
        a: i,
        b: one,
    });
    builder.op(Op::Ret);
    builder.op(Op::MovIf {
        d: sum,
        s: i,
        c: threes,
    });
    builder.op(Op::Ret);
    let prepared = builder.prepare();
    let mut machine = Machine::new(&prepared);
    assert_eq!(run(&prepared, &mut machine), Outcome::Done);
    assert_eq!(machine.frame[..4], [10, 10, 0, 3]);
}

// If this fails, an index out of range reads or overwrites a neighbour.
#[test]
fn run_time_indices_stay_inside() {
    for index in [0u64, 2, 3, u64::MAX] {
        let mut builder = Builder::new(12);
        let idx = builder.constant(index);
        let value = builder.constant(77);
        // Three elements of [valid, field]; the last one is invalid.
        let base = builder.slots(6);
        let fence = builder.slots(1);
        let d = builder.slots(1);
        builder.program.dynamic.push(DynamicRef {
            base: base + 1,
            stride: 2,
            count: 3,
            n: 1,
            valid: Some(base),
        });
        builder.op(Op::StoreAt {
            r: 0,
            s: value,
            idx,
        });
        builder.op(Op::LoadAt { r: 0, d, idx });
        builder.op(Op::Ret);
        let prepared = builder.prepare();
        let mut machine = Machine::new(&prepared);
        machine.frame[base as usize] = 1;
        machine.frame[base as usize + 2] = 1;
        machine.frame[fence as usize] = 5;
        assert_eq!(run(&prepared, &mut machine), Outcome::Done);
        let stored = if index == 0 { 77 } else { 0 };
        assert_eq!(machine.frame[base as usize + 1], stored);
        assert_eq!(machine.frame[d as usize], stored);
        assert_eq!(machine.frame[fence as usize], 5);
    }
}

// If this fails, a broken program is executed, or the switch dies of it.
#[test]
fn broken_programs_are_refused_or_trapped() {
    type Mistake = fn(&mut Builder);
    let broken: [(&str, Mistake); 6] = [
        ("beyond", |b| {
            b.op(Op::Mov { d: 900, s: 0 });
        }),
        ("beyond", |b| {
            let c = b.constant(1);
            b.op(Op::Mov { d: c, s: 0 });
        }),
        ("jumps", |b| {
            b.op(Op::Jmp { t: 7 });
        }),
        ("no such table", |b| {
            b.op(Op::Apply { table: 0 });
        }),
        ("no such layout", |b| {
            b.op(Op::Extract { layout: 3, base: 0 });
        }),
        ("wider", |b| {
            b.op(Op::Slice {
                lo: 60,
                w: 5,
                d: 0,
                a: 0,
            });
        }),
    ];
    for (what, breaks) in broken {
        let mut builder = Builder::new(4);
        breaks(&mut builder);
        let error = Prepared::new(Arc::new(builder.program)).expect_err("must be refused");
        assert!(error.to_string().contains(what), "{error}");
    }
    let mut builder = Builder::new(4);
    builder.op(Op::Mov { d: 0, s: 1 });
    let prepared = builder.prepare();
    assert!(matches!(
        run(&prepared, &mut Machine::new(&prepared)),
        Outcome::Halted(_)
    ));
}

// If this fails, a trace hides which line changed a field, or invents changes.
#[test]
fn changes_are_traced_with_their_instruction() {
    let mut builder = Builder::new(4);
    let (a, b) = (builder.slots(2), builder.slots(1));
    let five = builder.constant(5);
    let wide = builder.var("meta.wide", a, 100);
    builder.var("meta.b", b, 8);
    builder.op(Op::Mov { d: a + 1, s: five });
    builder.op(Op::Mov { d: b, s: b });
    builder.op(Op::Reject { err: five });
    let prepared = builder.prepare();
    let mut machine = Machine::new(&prepared);
    let mut recorder = Recorder::default();
    let outcome = p4_ir::interp::run(&prepared, 0, &mut machine, &mut Bare, &mut recorder);
    assert_eq!(outcome, Outcome::Rejected { error: 5 });
    let steps = recorder.take();
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0].pc, Some(0));
    assert_eq!(
        steps[0].event,
        Event::Change {
            var: wide,
            before: vec![0, 0],
            after: vec![0, 5]
        }
    );
    assert_eq!(steps[1].event, Event::Reject { error: 5 });
    assert_ne!(errors::NO_ERROR, 5);
}
