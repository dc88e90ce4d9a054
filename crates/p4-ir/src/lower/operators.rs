//! Operators and casts, narrow and wide.

use super::Lowerer;
use crate::ir::*;
use p4_check::types::Type;
use p4_syntax::ast::{BinOp, Expr, UnOp};

impl<'a> Lowerer<'a, '_> {
    pub(super) fn unary(&mut self, op: UnOp, operand: &'a Expr, ty: &Type) -> Slot {
        let a = self.value(operand);
        let width = self.width_of(ty);
        let d = self.scratch(words(width));
        match op {
            UnOp::Plus => return a,
            UnOp::Not => {
                self.emit(Op::NotBool { d, a });
            }
            UnOp::Complement | UnOp::Neg if width > 64 => {
                let kind = if op == UnOp::Neg {
                    WideKind::Neg
                } else {
                    WideKind::Not
                };
                self.wide(WideOp {
                    kind,
                    d,
                    dw: width,
                    a,
                    aw: width,
                    b: a,
                    bw: width,
                });
            }
            UnOp::Complement => {
                self.emit(Op::Not {
                    w: width as u8,
                    d,
                    a,
                });
            }
            UnOp::Neg => {
                self.emit(Op::Neg {
                    w: width as u8,
                    d,
                    a,
                });
            }
        }
        d
    }

    pub(super) fn binary(&mut self, op: BinOp, a: &'a Expr, b: &'a Expr, ty: &Type) -> Slot {
        if matches!(op, BinOp::And | BinOp::Or) {
            return self.logical(op, a, b);
        }
        if let Some(compared) = self.exact_comparison(op, a, b) {
            return compared;
        }
        let left_type = self.target_type(a);
        let right_type = self.target_type(b);
        // The left operand is read before the right one runs.
        let left = if self.has_side_effects(b) {
            self.value_copy(a)
        } else {
            self.value(a)
        };
        let right = self.value(b);
        self.binary_op(op, left, &left_type, right, &right_type, ty)
    }

    /// `left op right` for values of the given types.
    pub(super) fn binary_op(
        &mut self,
        op: BinOp,
        left: Slot,
        left_type: &Type,
        right: Slot,
        right_type: &Type,
        ty: &Type,
    ) -> Slot {
        if matches!(op, BinOp::Eq | BinOp::Ne) {
            return self.equality(op, left, left_type, right, right_type);
        }
        let signed = matches!(self.checked.underlying(left_type), Type::Signed(_));
        let width = self.width_of(left_type);
        if op == BinOp::Concat {
            let right_width = self.width_of(right_type);
            let total = width + right_width;
            let d = self.scratch(words(total));
            if total <= 64 {
                self.emit(Op::Concat {
                    w: right_width as u8,
                    d,
                    a: left,
                    b: right,
                });
            } else {
                self.wide(WideOp {
                    kind: WideKind::Concat,
                    d,
                    dw: total,
                    a: left,
                    aw: width,
                    b: right,
                    bw: right_width,
                });
            }
            return d;
        }
        let result_width = self.width_of(ty);
        let d = self.scratch(words(result_width));
        let (alu, swap) = alu_of(op, signed);
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            let amount_width = if *right_type == Type::Int {
                64
            } else {
                self.width_of(right_type)
            };
            self.shift_op(alu, width, d, left, right, amount_width);
        } else if swap {
            self.alu(alu, width, d, right, left);
        } else {
            self.alu(alu, width, d, left, right);
        }
        d
    }

    /// `d = a op b` in `width` bits, narrow or wide.
    pub(super) fn alu(&mut self, op: Alu, width: u32, d: Slot, a: Slot, b: Slot) {
        if width <= 64 {
            self.emit(Op::Alu {
                op,
                w: width as u8,
                d,
                a,
                b,
            });
        } else {
            let compares = matches!(
                op,
                Alu::Eq | Alu::Ne | Alu::Lt | Alu::Le | Alu::LtS | Alu::LeS
            );
            let dw = if compares { 1 } else { width };
            self.wide(WideOp {
                kind: WideKind::Alu(op),
                d,
                dw,
                a,
                aw: width,
                b,
                bw: width,
            });
        }
    }

    pub(super) fn shift_op(
        &mut self,
        op: Alu,
        width: u32,
        d: Slot,
        a: Slot,
        b: Slot,
        amount_width: u32,
    ) {
        if width <= 64 && amount_width <= 64 {
            self.emit(Op::Alu {
                op,
                w: width as u8,
                d,
                a,
                b,
            });
        } else {
            self.wide(WideOp {
                kind: WideKind::Alu(op),
                d,
                dw: width,
                a,
                aw: width,
                b,
                bw: amount_width,
            });
        }
    }

    pub(super) fn slice_op(&mut self, d: Slot, a: Slot, from_width: u32, lo: u32, width: u32) {
        if from_width <= 64 && width <= 64 {
            self.emit(Op::Slice {
                lo: lo as u8,
                w: width as u8,
                d,
                a,
            });
        } else {
            self.wide(WideOp {
                kind: WideKind::Slice { lo },
                d,
                dw: width,
                a,
                aw: from_width,
                b: a,
                bw: from_width,
            });
        }
    }

    pub(super) fn wide(&mut self, op: WideOp) {
        let index = self.program.wide.len() as u32;
        self.program.wide.push(op);
        self.wide_chunks.push(self.current);
        self.emit(Op::Wide { op: index });
    }

    fn logical(&mut self, op: BinOp, a: &'a Expr, b: &'a Expr) -> Slot {
        let d = self.scratch(1);
        if self.has_side_effects(b) {
            let s = self.value(a);
            self.emit(Op::Mov { d, s });
            let skip = match op {
                BinOp::And => self.emit(Op::JmpIfNot { c: d, t: 0 }),
                _ => self.emit(Op::JmpIf { c: d, t: 0 }),
            };
            let s = self.value(b);
            self.emit(Op::Mov { d, s });
            self.patch(skip);
        } else {
            let left = self.value(a);
            let right = self.value(b);
            let alu = if op == BinOp::And { Alu::And } else { Alu::Or };
            self.emit(Op::Alu {
                op: alu,
                w: 1,
                d,
                a: left,
                b: right,
            });
        }
        d
    }

    /// Equality of anything: invalid headers have zero fields, so headers are equal if all their
    /// words are; the next index of a stack does not count.
    pub(super) fn equality(
        &mut self,
        op: BinOp,
        left: Slot,
        left_type: &Type,
        right: Slot,
        right_type: &Type,
    ) -> Slot {
        let ty = if *left_type == Type::InvalidLit {
            right_type
        } else {
            left_type
        };
        let leaves = self.leaves(ty);
        if let [only] = leaves.as_slice() {
            if only.kind != ValueKind::Varbit {
                let alu = if op == BinOp::Eq { Alu::Eq } else { Alu::Ne };
                let d = self.scratch(1);
                self.alu(alu, only.width.max(1), d, left, right);
                return d;
            }
        }
        let (left, right) = match leaves.iter().any(|leaf| leaf.kind == ValueKind::Valid) {
            // Copies of invalid headers are compared by their words, which is not a read of a field.
            true => (self.copied(left, ty), self.copied(right, ty)),
            false => (left, right),
        };
        let mut result = None;
        for leaf in leaves.iter().filter(|l| l.kind != ValueKind::NextIndex) {
            let d = self.scratch(1);
            let (mut l, mut r) = (left + leaf.offset, right + leaf.offset);
            if leaf.kind == ValueKind::Varbit {
                self.emit(Op::Alu {
                    op: Alu::Eq,
                    w: 64,
                    d,
                    a: l,
                    b: r,
                });
                result = Some(self.and(result, d));
                (l, r) = (l + 1, r + 1);
            }
            let d = self.scratch(1);
            self.alu(Alu::Eq, leaf.width.max(1), d, l, r);
            result = Some(self.and(result, d));
        }
        let mut equal = result.unwrap_or_else(|| self.number(1));
        if self.binding.as_bmv2() && ty.is_kind(p4_check::types::Kind::Header) {
            // There the fields of invalid headers hold something, so they do not count.
            let (some, none, same) = (self.scratch(1), self.scratch(1), self.scratch(1));
            self.alu(Alu::Or, 1, some, left, right);
            self.emit(Op::NotBool { d: none, a: some });
            self.alu(Alu::Or, 1, same, none, equal);
            equal = same;
        }
        if op == BinOp::Eq {
            return equal;
        }
        let d = self.scratch(1);
        self.emit(Op::NotBool { d, a: equal });
        d
    }

    pub(super) fn copied(&mut self, slot: Slot, ty: &Type) -> Slot {
        let n = self.words_of(ty);
        let d = self.scratch(n);
        self.emit(Op::MovN { d, s: slot, n });
        d
    }

    pub(super) fn and(&mut self, left: Option<Slot>, right: Slot) -> Slot {
        let Some(left) = left else { return right };
        let d = self.scratch(1);
        self.emit(Op::Alu {
            op: Alu::And,
            w: 1,
            d,
            a: left,
            b: right,
        });
        d
    }

    /// The value at `a` of type `from`, cast to `to`.
    pub(super) fn cast(&mut self, a: Slot, from: &Type, to: &Type) -> Slot {
        let (from, to) = (self.checked.underlying(from), self.checked.underlying(to));
        let (Some((from_width, _)), Some((to_width, _))) = (self.scalar(&from), self.scalar(&to))
        else {
            return a;
        };
        if from_width == to_width {
            return a;
        }
        let d = self.scratch(words(to_width));
        if to_width < from_width {
            self.slice_op(d, a, from_width, 0, to_width);
        } else if matches!(from, Type::Signed(_)) {
            if to_width <= 64 {
                self.emit(Op::SignExtend {
                    from: from_width as u8,
                    to: to_width as u8,
                    d,
                    a,
                });
            } else {
                self.wide(WideOp {
                    kind: WideKind::SignExtend,
                    d,
                    dw: to_width,
                    a,
                    aw: from_width,
                    b: a,
                    bw: from_width,
                });
            }
        } else {
            let n = words(from_width);
            self.move_words(d, a, n);
            if words(to_width) > n {
                self.emit(Op::Zero {
                    d: d + n,
                    n: words(to_width) - n,
                });
            }
        }
        d
    }
}

/// The machine operation, and whether the operands change places.
fn alu_of(op: BinOp, signed: bool) -> (Alu, bool) {
    let pick = |unsigned, with_sign| if signed { with_sign } else { unsigned };
    match op {
        BinOp::Mul => (Alu::Mul, false),
        BinOp::Div => (Alu::Div, false),
        BinOp::Mod => (Alu::Mod, false),
        BinOp::Add => (Alu::Add, false),
        BinOp::Sub => (Alu::Sub, false),
        BinOp::AddSat => (pick(Alu::AddSat, Alu::AddSatS), false),
        BinOp::SubSat => (pick(Alu::SubSat, Alu::SubSatS), false),
        BinOp::Shl => (Alu::Shl, false),
        BinOp::Shr => (pick(Alu::Shr, Alu::ShrS), false),
        BinOp::Lt => (pick(Alu::Lt, Alu::LtS), false),
        BinOp::Gt => (pick(Alu::Lt, Alu::LtS), true),
        BinOp::Le => (pick(Alu::Le, Alu::LeS), false),
        BinOp::Ge => (pick(Alu::Le, Alu::LeS), true),
        BinOp::BitAnd | BinOp::And => (Alu::And, false),
        BinOp::BitXor => (Alu::Xor, false),
        BinOp::BitOr | BinOp::Or => (Alu::Or, false),
        BinOp::Eq => (Alu::Eq, false),
        BinOp::Ne => (Alu::Ne, false),
        BinOp::Concat => (Alu::Or, false),
    }
}
