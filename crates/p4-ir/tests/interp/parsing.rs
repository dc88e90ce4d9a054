//! Extraction, stacks, lookahead and emission.

use crate::build::{run, Builder};
use p4_ir::interp::{errors, Machine, Outcome, Prepared};
use p4_ir::ir::*;
use proptest::prelude::*;

fn load(prepared: &Prepared, data: &[u8]) -> Machine {
    let mut machine = Machine::new(prepared);
    machine.packet.load(data);
    machine
}

// If this fails, ordinary headers are misread, or sent with wrong bits.
#[test]
fn extracts_and_emits_odd_fields() {
    let mut builder = Builder::new(40);
    // The first word of an MPLS label, and half a byte each of version and length
    let layout = builder.layout(&[
        ("label", 20),
        ("tc", 3),
        ("s", 1),
        ("ttl", 8),
        ("v", 4),
        ("ihl", 4),
        ("dst", 128),
    ]);
    let h = builder.header(layout);
    let one = builder.constant(1);
    builder.op(Op::Extract { layout, base: h });
    builder.op(Op::Alu {
        op: Alu::Sub,
        w: 8,
        d: h + 4,
        a: h + 4,
        b: one,
    });
    builder.op(Op::Emit { layout, base: h });
    builder.op(Op::Ret);
    let prepared = builder.prepare();
    let mut data = vec![0xab, 0xcd, 0xe7, 64, 0x45];
    data.extend(1..=16);
    data.extend([9, 9, 9]);
    let mut machine = load(&prepared, &data);
    assert_eq!(run(&prepared, &mut machine), Outcome::Done);
    let expected = [
        1,
        0xabcde,
        3,
        1,
        63,
        4,
        5,
        0x090a0b0c0d0e0f10,
        0x0102030405060708,
    ];
    assert_eq!(machine.frame[h as usize..][..9], expected);
    machine.packet.append_payload();
    data[3] = 63;
    assert_eq!(machine.packet.output(), data);
}

// If this fails, a truncated packet is read beyond its end, or loses bytes.
#[test]
fn short_packets_are_rejected_untouched() {
    let mut builder = Builder::new(8);
    let layout = builder.layout(&[("a", 16), ("b", 16)]);
    let h = builder.header(layout);
    builder.op(Op::Extract { layout, base: h });
    builder.op(Op::Ret);
    let prepared = builder.prepare();
    for n in 0..4u8 {
        let data: Vec<u8> = (1..=n).collect();
        let mut machine = load(&prepared, &data);
        let rejected = Outcome::Rejected {
            error: errors::PACKET_TOO_SHORT,
        };
        assert_eq!(run(&prepared, &mut machine), rejected);
        assert_eq!(machine.frame[h as usize], 0);
        assert_eq!(machine.packet.payload(), data);
    }
}

// If this fails, label stacks and segment lists parse wrongly.
#[test]
fn stacks_fill_and_shift() {
    let mut builder = Builder::new(16);
    let layout = builder.layout(&[("x", 8)]);
    let next = builder.slots(1 + 3 * 2);
    let last = builder.slots(1);
    builder.program.stacks.push(Stack {
        name: "s".into(),
        next,
        count: 3,
        stride: 2,
        layout: Some(layout),
    });
    builder.op(Op::ExtractNext { stack: 0 });
    builder.op(Op::StackLast { stack: 0, d: last });
    builder.op(Op::ExtractNext { stack: 0 });
    builder.op(Op::StackShift { stack: 0, by: 2 });
    builder.op(Op::Ret);
    let prepared = builder.prepare();
    let mut machine = load(&prepared, &[7, 8, 9, 10]);
    machine.frame[last as usize] = 99;
    assert_eq!(run(&prepared, &mut machine), Outcome::Done);
    assert_eq!(machine.frame[next as usize..][..7], [3, 0, 0, 0, 0, 1, 7]);
    assert_eq!(machine.frame[last as usize], 0);

    let mut builder = Builder::new(16);
    let layout = builder.layout(&[("x", 8)]);
    let next = builder.slots(1 + 2 * 2);
    builder.program.stacks.push(Stack {
        name: "s".into(),
        next,
        count: 2,
        stride: 2,
        layout: Some(layout),
    });
    for _ in 0..2 {
        builder.op(Op::ExtractNext { stack: 0 });
    }
    builder.op(Op::StackShift { stack: 0, by: -1 });
    builder.op(Op::ExtractNext { stack: 0 });
    builder.op(Op::ExtractNext { stack: 0 });
    let prepared = builder.prepare();
    let mut machine = load(&prepared, &[7, 8, 9, 10]);
    let full = Outcome::Rejected {
        error: errors::STACK_OUT_OF_BOUNDS,
    };
    assert_eq!(run(&prepared, &mut machine), full);
    assert_eq!(machine.frame[next as usize..][..5], [2, 1, 8, 1, 9]);
}

// If this fails, packet_length in egress is wrong after encapsulation.
#[test]
fn validity_moves_the_length() {
    let mut builder = Builder::new(16);
    let layout = builder.layout(&[("x", 24), ("y", 8)]);
    let h = builder.header(layout);
    for _ in 0..2 {
        builder.op(Op::SetValid { layout, base: h });
    }
    builder.op(Op::Ret);
    builder.op(Op::SetInvalid { layout, base: h });
    builder.op(Op::Ret);
    let prepared = builder.prepare();
    let mut machine = load(&prepared, &[]);
    assert_eq!(run(&prepared, &mut machine), Outcome::Done);
    assert_eq!((machine.length_delta, machine.frame[h as usize]), (4, 1));
    machine.frame[h as usize + 1] = 5;
    let outcome = p4_ir::interp::run(
        &prepared,
        3,
        &mut machine,
        &mut crate::build::Bare,
        &mut p4_ir::trace::NoTrace,
    );
    assert_eq!(outcome, Outcome::Done);
    assert_eq!(machine.length_delta, 0);
    assert_eq!(machine.frame[h as usize..][..3], [0, 0, 0]);
}

proptest! {
    // If this fails, some packet can crash a switch, or lookahead reads what is not there.
    #[test]
    fn any_packet_is_taken(
        data in prop::collection::vec(any::<u8>(), 0..80),
        widths in prop::collection::vec(0u32..130, 1..6),
        looks in prop::collection::vec((0u32..200, 0u64..300), 1..8),
        varbit in any::<u64>(),
    ) {
        let mut builder = Builder::new(200);
        let fields: Vec<(&str, u32)> = widths.iter().map(|w| ("f", *w)).collect();
        let layout = builder.layout(&fields);
        let h = builder.header(layout);
        let options = builder.layout(&[("before", 8), ("options", 320), ("after", 4)]);
        // The varbit needs one more word for its length.
        let program = &mut builder.program.layouts[options as usize];
        program.fields[1].varbit = true;
        program.fields[2].offset += 1;
        program.words += 1;
        program.fixed_bits = 12;
        let o = builder.header(options);
        let d = builder.slots(4);
        for (w, bits) in &looks {
            builder.op(Op::Lookahead { w: *w, d });
            let bits = builder.constant(*bits);
            builder.op(Op::Extract { layout, base: h });
            builder.op(Op::Emit { layout, base: h });
            builder.op(Op::Advance { bits });
        }
        let huge = builder.constant(varbit);
        let fits = builder.constant(varbit % 320);
        let end = builder.op(Op::Ret);
        for bits in [fits, huge] {
            builder.op(Op::ExtractVar { layout: options, base: o, bits });
            builder.op(Op::Emit { layout: options, base: o });
        }
        builder.op(Op::Ret);
        let prepared = builder.prepare();
        let mut machine = load(&prepared, &data);
        for entry in [0, end + 1] {
            let outcome = p4_ir::interp::run(&prepared, entry, &mut machine, &mut crate::build::Bare, &mut p4_ir::trace::NoTrace);
            prop_assert!(matches!(outcome, Outcome::Done | Outcome::Rejected { .. }), "{:?}", outcome);
            prop_assert!(machine.packet.cursor() <= data.len() * 8);
        }
        machine.packet.append_payload();
        machine.packet.recirculate();
    }
}
