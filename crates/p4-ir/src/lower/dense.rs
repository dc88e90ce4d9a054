//! Results written where they are wanted, rather than copied there.

use super::{Lowerer, CONSTANT, SCRATCH};
use crate::ir::*;

impl Lowerer<'_, '_> {
    /// Lets the last instruction put its result of `n` words to `d` instead of the scratch at `s`,
    /// which nothing else reads. False if it cannot.
    pub(super) fn redirect(&mut self, d: Slot, s: Slot, n: u32) -> bool {
        let chunk = &self.chunks[self.current];
        if !(SCRATCH..CONSTANT).contains(&s) || chunk.barrier == chunk.code.len() {
            return false;
        }
        let Some(last) = chunk.code.last().copied() else {
            return false;
        };
        let Some((op, found)) = self.with_destination(last, d) else {
            return false;
        };
        if found != (s, n) {
            return false;
        }
        if let Op::Wide { op } = op {
            self.program.wide[op as usize].d = d;
        }
        if let Some(last) = self.chunks[self.current].code.last_mut() {
            *last = op;
        }
        true
    }

    /// `op` with its result put to `d`, and where it has put it so far.
    fn with_destination(&self, op: Op, to: Slot) -> Option<(Op, (Slot, u32))> {
        let apart = |s: Slot, n: u32| to + n <= s || s + n <= to;
        Some(match op {
            Op::Mov { d, s } => (Op::Mov { d: to, s }, (d, 1)),
            Op::MovN { d, s, n } if apart(s, n) => (Op::MovN { d: to, s, n }, (d, n)),
            Op::Alu { op, w, d, a, b } => (Op::Alu { op, w, d: to, a, b }, (d, 1)),
            Op::Not { w, d, a } => (Op::Not { w, d: to, a }, (d, 1)),
            Op::Neg { w, d, a } => (Op::Neg { w, d: to, a }, (d, 1)),
            Op::NotBool { d, a } => (Op::NotBool { d: to, a }, (d, 1)),
            Op::Concat { w, d, a, b } => (Op::Concat { w, d: to, a, b }, (d, 1)),
            Op::Slice { lo, w, d, a } => (Op::Slice { lo, w, d: to, a }, (d, 1)),
            Op::SignExtend {
                from,
                to: width,
                d,
                a,
            } => (
                Op::SignExtend {
                    from,
                    to: width,
                    d: to,
                    a,
                },
                (d, 1),
            ),
            Op::LoadAt { r, d, idx } => {
                let n = self.program.dynamic.get(r as usize)?.n;
                (Op::LoadAt { r, d: to, idx }, (d, n))
            }
            Op::Lookahead { w, d } => (Op::Lookahead { w, d: to }, (d, words(w))),
            Op::PacketLength { d } => (Op::PacketLength { d: to }, (d, 1)),
            Op::StackLast { stack, d } => (Op::StackLast { stack, d: to }, (d, 1)),
            Op::InValueSet { set, d, key } => (Op::InValueSet { set, d: to, key }, (d, 1)),
            Op::Wide { op } => {
                let wide = self.program.wide.get(op as usize)?;
                let n = words(wide.dw);
                let free = |s: Slot, width: u32| {
                    let other = words(width);
                    s == to || to + n <= s || s + other <= to
                };
                if !free(wide.a, wide.aw) || !free(wide.b, wide.bw) {
                    return None;
                }
                // An insertion changes what is there.
                if let WideKind::Insert { .. } = wide.kind {
                    return None;
                }
                (Op::Wide { op }, (wide.d, n))
            }
            _ => return None,
        })
    }

    /// Marks the next instruction as one that jumps may lead to.
    pub(super) fn label(&mut self) -> usize {
        let chunk = &mut self.chunks[self.current];
        chunk.barrier = chunk.code.len();
        chunk.barrier
    }
}
