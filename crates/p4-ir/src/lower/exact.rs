//! Comparisons of sums whose carry is not lost.
//!
//! The stateful ALU of a Tofino subtracts one side of a comparison from the other with more bits than
//! either has, and looks at the sign. So `a - b > c` of `bit<W>` compares the numbers themselves there,
//! and is false if `a` is less than `b`; P4 wraps first. With a cast to `int<W>` the chip wraps, too.

use super::Lowerer;
use crate::ir::*;
use p4_check::types::Type;
use p4_syntax::ast::{BinOp, Expr, ExprKind};

/// Numbers of this width and a few sums of them fit into a signed word.
const WIDEST: u32 = 32;
const WORD: u32 = 64;

impl<'a> Lowerer<'a, '_> {
    /// `a op b` in exact numbers, where the architecture compares so and that differs from P4.
    pub(super) fn exact_comparison(&mut self, op: BinOp, a: &'a Expr, b: &'a Expr) -> Option<Slot> {
        let this = self.env.this?;
        let extern_type = &*self.program.instances.get(this as usize)?.extern_type;
        if !self.binding.compares_exactly().contains(&extern_type) {
            return None;
        }
        let (alu, swapped) = match op {
            BinOp::Lt => (Alu::LtS, false),
            BinOp::Gt => (Alu::LtS, true),
            BinOp::Le => (Alu::LeS, false),
            BinOp::Ge => (Alu::LeS, true),
            BinOp::Eq => (Alu::Eq, false),
            BinOp::Ne => (Alu::Ne, false),
            _ => return None,
        };
        if !self.is_sum(a) && !self.is_sum(b) {
            return None;
        }
        let (left, right) = (self.exact(a), self.exact(b));
        let (left, right) = if swapped {
            (right, left)
        } else {
            (left, right)
        };
        let d = self.scratch(1);
        self.alu(alu, WORD, d, left, right);
        Some(d)
    }

    /// Whether an expression is a sum or difference of unsigned numbers.
    fn is_sum(&self, expr: &Expr) -> bool {
        let narrow = |ty: &Type| matches!(self.checked.underlying(ty), Type::Bit(w) if w <= WIDEST);
        matches!(expr.kind, ExprKind::Binary(BinOp::Add | BinOp::Sub, ..))
            && narrow(&self.target_type(expr))
    }

    /// The value of an expression, its sums and differences in a whole signed word.
    fn exact(&mut self, expr: &'a Expr) -> Slot {
        match &expr.kind {
            ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) if self.is_sum(expr) => {
                let (left, right) = (self.exact(a), self.exact(b));
                let alu = if *op == BinOp::Add {
                    Alu::Add
                } else {
                    Alu::Sub
                };
                let d = self.scratch(1);
                self.alu(alu, WORD, d, left, right);
                d
            }
            _ => self.value(expr),
        }
    }
}
