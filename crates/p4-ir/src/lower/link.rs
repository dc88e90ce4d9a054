//! Linking: chunks to one program, scratch and constants to their final slots.

use super::{Chunk, Lowerer, CONSTANT, SCRATCH};
use crate::ir::*;

impl Lowerer<'_, '_> {
    pub(super) fn link(mut self) -> Program {
        self.straighten();
        let chunks = std::mem::take(&mut self.chunks);
        let mut starts = Vec::new();
        let mut scratch = Vec::new();
        let (mut pc, mut top) = (0, self.program.frame_words);
        for chunk in &chunks {
            starts.push(pc as Pc);
            scratch.push(top);
            pc += chunk.code.len();
            top += chunk.scratch;
        }
        let program = &mut self.program;
        program.constant_base = top;
        program.frame_words = top + program.constants.len() as u32;
        let slot = |chunk: usize| {
            let scratch = scratch[chunk];
            move |slot: Slot| match slot {
                s if s >= CONSTANT => top + (s - CONSTANT),
                s if s >= SCRATCH => scratch + (s - SCRATCH),
                s => s,
            }
        };
        for (index, Chunk { code, spans, .. }) in chunks.into_iter().enumerate() {
            let (start, map) = (starts[index], slot(index));
            program.code.extend(
                code.into_iter()
                    .map(|op| relocate(op, start, &starts, &map)),
            );
            program.spans.extend(spans);
        }
        for (wide, chunk) in program.wide.iter_mut().zip(&self.wide_chunks) {
            let map = slot(*chunk);
            (wide.d, wide.a, wide.b) = (map(wide.d), map(wide.a), map(wide.b));
        }
        for (call, chunk) in program.calls.iter_mut().zip(&self.call_chunks) {
            let map = slot(*chunk);
            for place in &mut call.result {
                place.slot = map(place.slot);
            }
            for arg in &mut call.args {
                match &mut arg.value {
                    ArgValue::Scalar(place) => place.slot = map(place.slot),
                    ArgValue::List(places) => {
                        for (place, valid) in places {
                            place.slot = map(place.slot);
                            *valid = valid.map(&map);
                        }
                    }
                    _ => {}
                }
            }
        }
        for (table, chunk) in program.switches.iter_mut().zip(&self.switch_chunks) {
            let start = starts[*chunk];
            table.default += start;
            for (_, t) in &mut table.cases {
                *t += start;
            }
        }
        tail_calls(&mut program.code);
        for action in &mut program.actions {
            action.entry = starts[action.entry as usize];
        }
        for instance in &mut program.instances {
            for method in &mut instance.methods {
                method.entry = starts[method.entry as usize];
            }
        }
        for block in &mut program.blocks {
            block.entry = starts[block.entry as usize];
        }
        self.program
    }
}

/// A routine that ends with a call lets the other return in its place.
fn tail_calls(code: &mut [Op]) {
    for at in 1..code.len() {
        if let (Op::Call { t }, Op::Ret) = (code[at - 1], code[at]) {
            code[at - 1] = Op::Jmp { t };
        }
    }
}

/// The instruction with its slots mapped and its jump targets absolute.
fn relocate(op: Op, start: Pc, routines: &[Pc], m: &impl Fn(Slot) -> Slot) -> Op {
    match op {
        Op::Mov { d, s } => Op::Mov { d: m(d), s: m(s) },
        Op::MovN { d, s, n } => Op::MovN {
            d: m(d),
            s: m(s),
            n,
        },
        Op::MovIf { d, s, c } => Op::MovIf {
            d: m(d),
            s: m(s),
            c: m(c),
        },
        Op::MovNIf { d, s, c, n } => Op::MovNIf {
            d: m(d),
            s: m(s),
            c: m(c),
            n,
        },
        Op::Zero { d, n } => Op::Zero { d: m(d), n },
        Op::Undefine { d, n } => Op::Undefine { d: m(d), n },
        Op::Alu { op, w, d, a, b } => Op::Alu {
            op,
            w,
            d: m(d),
            a: m(a),
            b: m(b),
        },
        Op::Not { w, d, a } => Op::Not {
            w,
            d: m(d),
            a: m(a),
        },
        Op::Neg { w, d, a } => Op::Neg {
            w,
            d: m(d),
            a: m(a),
        },
        Op::NotBool { d, a } => Op::NotBool { d: m(d), a: m(a) },
        Op::Concat { w, d, a, b } => Op::Concat {
            w,
            d: m(d),
            a: m(a),
            b: m(b),
        },
        Op::Slice { lo, w, d, a } => Op::Slice {
            lo,
            w,
            d: m(d),
            a: m(a),
        },
        Op::Insert { lo, w, d, s } => Op::Insert {
            lo,
            w,
            d: m(d),
            s: m(s),
        },
        Op::SignExtend { from, to, d, a } => Op::SignExtend {
            from,
            to,
            d: m(d),
            a: m(a),
        },
        Op::LoadAt { r, d, idx } => Op::LoadAt {
            r,
            d: m(d),
            idx: m(idx),
        },
        Op::StoreAt { r, s, idx } => Op::StoreAt {
            r,
            s: m(s),
            idx: m(idx),
        },
        Op::Jmp { t } => Op::Jmp { t: t + start },
        Op::JmpIf { c, t } => Op::JmpIf {
            c: m(c),
            t: t + start,
        },
        Op::JmpIfNot { c, t } => Op::JmpIfNot {
            c: m(c),
            t: t + start,
        },
        Op::Switch { v, table } => Op::Switch { v: m(v), table },
        Op::Call { t } => Op::Call {
            t: routines[t as usize],
        },
        Op::SetValid { layout, base } => Op::SetValid {
            layout,
            base: m(base),
        },
        Op::SetInvalid { layout, base } => Op::SetInvalid {
            layout,
            base: m(base),
        },
        Op::Extract { layout, base } => Op::Extract {
            layout,
            base: m(base),
        },
        Op::ExtractVar { layout, base, bits } => Op::ExtractVar {
            layout,
            base: m(base),
            bits: m(bits),
        },
        Op::ExtractNextVar { stack, bits } => Op::ExtractNextVar {
            stack,
            bits: m(bits),
        },
        Op::Lookahead { w, d } => Op::Lookahead { w, d: m(d) },
        Op::Advance { bits } => Op::Advance { bits: m(bits) },
        Op::PacketLength { d } => Op::PacketLength { d: m(d) },
        Op::Reject { err } => Op::Reject { err: m(err) },
        Op::StackLast { stack, d } => Op::StackLast { stack, d: m(d) },
        Op::InValueSet { set, d, key } => Op::InValueSet {
            set,
            d: m(d),
            key: m(key),
        },
        Op::Emit { layout, base } => Op::Emit {
            layout,
            base: m(base),
        },
        Op::Wide { .. }
        | Op::Ret
        | Op::StackShift { .. }
        | Op::State { .. }
        | Op::ExtractNext { .. }
        | Op::Apply { .. }
        | Op::Extern { .. }
        | Op::Trap => op,
    }
}
