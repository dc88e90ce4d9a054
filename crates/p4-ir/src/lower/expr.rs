//! Expressions.

use super::layout::{to_words, ShapeKind};
use super::lvalue::Loc;
use super::Lowerer;
use crate::ir::*;
use p4_check::types::{Kind, Type};
use p4_check::value::Value;
use p4_check::{Builtin, CallKind};
use p4_syntax::ast::{BinOp, Expr, ExprKind};

impl<'a> Lowerer<'a, '_> {
    /// Evaluates `expr`, converted as the checker noted; gives the slot of the result. That may be
    /// the slot of a variable: copy it if something can change it before it is used.
    pub(super) fn value(&mut self, expr: &'a Expr) -> Slot {
        let target = self.target_type(expr);
        if let Some(value) = self.eval(expr) {
            if let Some(slot) = self.materialize(&value, &target) {
                return slot;
            }
        }
        let from = self.type_of(expr);
        match &expr.kind {
            ExprKind::List { items, .. } => {
                return self.build(&target, &items.iter().collect::<Vec<_>>())
            }
            ExprKind::Tuple(items) => {
                return self.build(&target, &items.iter().collect::<Vec<_>>())
            }
            ExprKind::Struct { fields, .. } => return self.build_named(&target, fields),
            ExprKind::Invalid | ExprKind::Dots => {
                let size = self.words_of(&target);
                let d = self.scratch(size.max(1));
                self.emit(Op::Zero { d, n: size.max(1) });
                return d;
            }
            _ => {}
        }
        if from == Type::Int && self.eval(expr).is_none() {
            self.refuse_number(expr);
        }
        let slot = self.raw_value(expr, &from);
        debug_assert!(
            !matches!(from, Type::Unknown),
            "lowering an expression without a type"
        );
        slot
    }

    /// Nothing holds a number without a width at run time.
    pub(super) fn refuse_number(&mut self, expr: &Expr) {
        let message = "a number without a width must be known at compile time here";
        self.refuse("E0603", expr.span, message);
    }

    /// The type of `expr` after its conversion.
    pub(super) fn target_type(&self, expr: &Expr) -> Type {
        match self.checked.coercions.get(&expr.id) {
            Some(target) => self.concrete(target),
            None => self.type_of(expr),
        }
    }

    /// Evaluates `expr` into scratch of its own, so that nothing changes it later.
    pub(super) fn value_copy(&mut self, expr: &'a Expr) -> Slot {
        let slot = self.value(expr);
        let ty = self.target_type(expr);
        let size = self.words_of(&ty);
        let d = self.scratch(size);
        self.move_words(d, slot, size);
        d
    }

    fn raw_value(&mut self, expr: &'a Expr, ty: &Type) -> Slot {
        match &expr.kind {
            ExprKind::Path(_) | ExprKind::Index(..) => self.read_place(expr),
            ExprKind::Member(base, member) => self.member_value(expr, base, &member.name),
            ExprKind::Slice(base, hi, lo) => {
                let bound = |this: &Self, e| {
                    this.eval(e)
                        .and_then(|v| v.as_int().and_then(|v| u32::try_from(v).ok()))
                        .unwrap_or(0)
                };
                let (hi, lo) = (bound(self, hi), bound(self, lo));
                let base_type = self.target_type(base);
                let base_width = self.width_of(&base_type);
                let a = self.value(base);
                let width = (hi + 1).saturating_sub(lo);
                let d = self.scratch(words(width));
                self.slice_op(d, a, base_width, lo, width);
                d
            }
            ExprKind::PlusSlice(base, lo, _) => {
                let base_type = self.target_type(base);
                let base_width = self.width_of(&base_type);
                let a = self.value_copy(base);
                let amount_type = self.target_type(lo);
                let b = self.value(lo);
                let amount_width = if amount_type == Type::Int {
                    64
                } else {
                    self.width_of(&amount_type)
                };
                let shifted = self.scratch(words(base_width));
                self.shift_op(Alu::Shr, base_width, shifted, a, b, amount_width);
                let width = self.width_of(ty);
                let d = self.scratch(words(width));
                self.slice_op(d, shifted, base_width, 0, width);
                d
            }
            ExprKind::Unary(op, operand) => self.unary(*op, operand, ty),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, ty),
            ExprKind::Conditional(cond, yes, no) => {
                let size = self.words_of(ty);
                let d = self.scratch(size);
                let otherwise = self.branch(cond, false);
                let s = self.value(yes);
                self.move_words(d, s, size);
                let done = self.emit(Op::Jmp { t: 0 });
                for at in otherwise {
                    self.patch(at);
                }
                let s = self.value(no);
                self.move_words(d, s, size);
                self.patch(done);
                d
            }
            ExprKind::Cast(_, operand) => {
                let from = self.target_type(operand);
                let a = self.value(operand);
                self.cast(a, &from, ty)
            }
            ExprKind::Call { .. } | ExprKind::Construct { .. } => self.call_value(expr),
            _ => {
                self.refuse("E0603", expr.span, "this expression cannot be executed");
                self.number(0)
            }
        }
    }

    fn read_place(&mut self, expr: &'a Expr) -> Slot {
        match self.place(expr) {
            Some(place) => self.read(&place),
            None => {
                if let ExprKind::Index(base, index) = &expr.kind {
                    if let Some(place) = self.element_of_value(base, index) {
                        return self.read(&place);
                    }
                }
                self.refuse("E0603", expr.span, "this value cannot be used at run time");
                self.number(0)
            }
        }
    }

    /// An element of what is not a variable: of a constant tuple, of what a function returns.
    fn element_of_value(&mut self, base: &'a Expr, index: &'a Expr) -> Option<Loc> {
        let ty = self.target_type(base);
        let slot = self.value(base);
        if let Type::Stack(..) = ty {
            let n = self.words_of(&ty);
            let copy = self.alloc(n); // stacks are at fixed slots
            self.move_words(copy, slot, n);
            return self.picked(copy, &ty, index);
        }
        let number = self.eval(index)?.as_int()?.to_string();
        self.field(Loc::at(slot, ty), &number)
    }

    fn member_value(&mut self, expr: &'a Expr, base: &'a Expr, name: &str) -> Slot {
        let base_type = self.type_of(base);
        match (&base_type, name) {
            (Type::TableResult(table), _) => {
                let table = *table;
                self.value(base);
                let Some(id) = self.env.tables.get(&table).copied() else {
                    return self.number(0);
                };
                let info = &self.program.tables[id as usize];
                let (hit, chosen) = (info.hit, info.chosen);
                match name {
                    "hit" => hit,
                    "miss" => {
                        let d = self.scratch(1);
                        self.emit(Op::NotBool { d, a: hit });
                        d
                    }
                    _ => chosen,
                }
            }
            (Type::Stack(..), "lastIndex") => {
                let Some(place) = self.place(base) else {
                    self.refuse("E0603", base.span, "this value cannot be used at run time");
                    return self.number(0);
                };
                let slot = self.looked_at(&place);
                let one = self.number(1);
                let d = self.scratch(1);
                self.emit(Op::Alu {
                    op: Alu::Sub,
                    w: 32,
                    d,
                    a: slot,
                    b: one,
                });
                d
            }
            _ => {
                if let Some(place) = self.place(expr) {
                    return self.read(&place);
                }
                let slot = self.value(base);
                let ty = self.target_type(base);
                match self.field(Loc::at(slot, ty), name) {
                    Some(place) => self.read(&place),
                    None => {
                        self.refuse("E0603", expr.span, "this value cannot be used at run time");
                        self.number(0)
                    }
                }
            }
        }
    }

    /// A constant of type `ty` in constant slots; `None` if it is not a run-time value.
    pub(super) fn materialize(&mut self, value: &Value, ty: &Type) -> Option<Slot> {
        let words = self.value_words(value, ty)?;
        Some(self.constant(&words))
    }

    /// A compile-time value as frame words.
    pub(super) fn value_words(&mut self, value: &Value, ty: &Type) -> Option<Vec<u64>> {
        let shape = self.shape(ty);
        Some(match (&shape.kind, value) {
            (ShapeKind::Scalar { width, .. }, Value::Int(v) | Value::Bits { value: v, .. }) => {
                to_words(v, *width)
            }
            (ShapeKind::Scalar { .. }, Value::Bool(b)) => vec![u64::from(*b)],
            (ShapeKind::Scalar { .. }, Value::Error(name)) => {
                vec![self.program.errors.iter().position(|e| e == name)? as u64]
            }
            (
                ShapeKind::Scalar {
                    kind: ValueKind::Enum(info),
                    ..
                },
                Value::Enum { member, .. },
            ) => {
                let members = &self.program.enums[*info as usize].members;
                vec![members.iter().position(|(name, _)| name == member)? as u64]
            }
            (ShapeKind::Struct(fields) | ShapeKind::Header(fields), Value::List(items)) => {
                if items.len() > fields.len() {
                    return None;
                }
                let mut out = vec![0; shape.words as usize];
                if matches!(shape.kind, ShapeKind::Header(_)) {
                    out[0] = 1;
                }
                for ((_, at, ty), item) in fields.iter().zip(items) {
                    let part = self.value_words(item, ty)?;
                    let at = *at as usize;
                    out.get_mut(at..at + part.len())?.copy_from_slice(&part);
                }
                out
            }
            (
                ShapeKind::Stack {
                    element,
                    first,
                    stride,
                    ..
                },
                Value::List(items),
            ) => {
                let mut out = vec![0; shape.words as usize];
                for (i, item) in items.iter().enumerate() {
                    let part = self.value_words(item, element)?;
                    let at = *first as usize + i * *stride as usize;
                    out.get_mut(at..at + part.len())?.copy_from_slice(&part);
                }
                out
            }
            (_, Value::InvalidHeader) => vec![0; shape.words.max(1) as usize],
            // An `int` whose width nothing fixed: an index or a shift amount
            (ShapeKind::Nothing, Value::Int(v)) if *ty == Type::Int => to_words(v, 64),
            _ => return None,
        })
    }

    /// `{a, b}` as a value of type `ty`.
    fn build(&mut self, ty: &Type, items: &[&'a Expr]) -> Slot {
        let shape = self.shape(ty);
        let size = shape.words.max(1);
        let d = self.scratch(size);
        self.emit(Op::Zero { d, n: size });
        let parts: Vec<(u32, Type)> = match &shape.kind {
            ShapeKind::Struct(fields) | ShapeKind::Header(fields) => {
                fields.iter().map(|(_, at, ty)| (*at, ty.clone())).collect()
            }
            ShapeKind::Stack {
                element,
                first,
                stride,
                count,
            } => (0..*count)
                .map(|i| (first + i * stride, element.clone()))
                .collect(),
            _ => Vec::new(),
        };
        for ((at, ty), item) in parts.iter().zip(items) {
            let s = self.value(item);
            let n = self.words_of(ty);
            self.move_words(d + at, s, n);
        }
        self.mark_valid(&shape.kind, d);
        d
    }

    fn build_named(&mut self, ty: &Type, given: &'a [(p4_syntax::ast::Ident, Expr)]) -> Slot {
        let shape = self.shape(ty);
        let size = shape.words.max(1);
        let d = self.scratch(size);
        self.emit(Op::Zero { d, n: size });
        if let ShapeKind::Struct(fields) | ShapeKind::Header(fields) = &shape.kind {
            for (name, item) in given {
                let s = self.value(item);
                if let Some((_, at, ty)) = fields.iter().find(|(field, ..)| *field == name.name) {
                    let n = self.words_of(ty);
                    self.move_words(d + at, s, n);
                }
            }
        }
        self.mark_valid(&shape.kind, d);
        d
    }

    fn mark_valid(&mut self, kind: &ShapeKind, slot: Slot) {
        if matches!(kind, ShapeKind::Header(_)) {
            let s = self.number(1);
            self.emit(Op::Mov { d: slot, s });
        }
    }

    /// Whether evaluating `expr` may change something or depends on when it runs.
    pub(super) fn has_side_effects(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Call { func, .. } => {
                let pure = matches!(
                    self.checked.calls.get(&expr.id).map(|c| c.kind),
                    Some(CallKind::Builtin(Builtin::IsValid | Builtin::Size(_)))
                );
                let base = match &func.kind {
                    ExprKind::Member(base, _) => self.has_side_effects(base),
                    _ => false,
                };
                !pure || base
            }
            ExprKind::Member(base, member) => {
                // `.last` may end the parser
                &*member.name == "last" || self.has_side_effects(base)
            }
            ExprKind::Index(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Mask(a, b)
            | ExprKind::Range(a, b) => self.has_side_effects(a) || self.has_side_effects(b),
            ExprKind::Slice(a, ..) | ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => {
                self.has_side_effects(a)
            }
            ExprKind::PlusSlice(a, b, _) => self.has_side_effects(a) || self.has_side_effects(b),
            ExprKind::Conditional(a, b, c) => [a, b, c].iter().any(|e| self.has_side_effects(e)),
            ExprKind::List { items, .. } | ExprKind::Tuple(items) => {
                items.iter().any(|e| self.has_side_effects(e))
            }
            ExprKind::Struct { fields, .. } => fields.iter().any(|(_, e)| self.has_side_effects(e)),
            _ => false,
        }
    }

    /// `1` if the key at `key` of type `ty` is in the set that `item` denotes; `None` for "always".
    pub(super) fn matches(&mut self, item: &'a Expr, key: Slot, ty: &Type) -> Option<Slot> {
        let width = self.width_of(ty);
        match &item.kind {
            ExprKind::DontCare | ExprKind::Dots => None,
            ExprKind::Mask(value, mask) => {
                let mask_slot = self.value(mask);
                let value_slot = self.value(value);
                let (a, b) = (self.scratch(words(width)), self.scratch(words(width)));
                self.alu(Alu::And, width, a, key, mask_slot);
                self.alu(Alu::And, width, b, value_slot, mask_slot);
                let d = self.scratch(1);
                self.alu(Alu::Eq, width, d, a, b);
                Some(d)
            }
            ExprKind::Range(lo, hi) => {
                let signed = matches!(self.checked.underlying(ty), Type::Signed(_));
                let le = if signed { Alu::LeS } else { Alu::Le };
                let (lo, hi) = (self.value(lo), self.value(hi));
                let (above, below) = (self.scratch(1), self.scratch(1));
                self.alu(le, width, above, lo, key);
                self.alu(le, width, below, key, hi);
                Some(self.and(Some(above), below))
            }
            _ => {
                if let Some(p4_check::Def::ValueSet(decl)) = self.checked.defs.get(&item.id) {
                    let set = self.env.value_sets.get(&decl.id).copied().unwrap_or(0);
                    let d = self.scratch(1);
                    self.emit(Op::InValueSet { set, d, key });
                    return Some(d);
                }
                let value = self.value(item);
                let item_type = self.target_type(item);
                let item_type = if item_type == Type::Int {
                    ty.clone()
                } else {
                    item_type
                };
                Some(self.equality(BinOp::Eq, key, ty, value, &item_type))
            }
        }
    }

    /// `isValid()` of a header or union at a place.
    pub(super) fn is_valid(&mut self, place: &Loc) -> Slot {
        let ty = place.ty();
        let slot = match place {
            Loc::Static { slot, .. } => *slot,
            other => self.read(other),
        };
        if !ty.is_kind(Kind::Union) {
            return slot;
        }
        let shape = self.shape(&ty);
        let ShapeKind::Union(fields) = &shape.kind else {
            return slot;
        };
        let d = self.scratch(1);
        self.emit(Op::Zero { d, n: 1 });
        for (_, at, _) in fields {
            self.emit(Op::Alu {
                op: Alu::Or,
                w: 1,
                d,
                a: d,
                b: slot + at,
            });
        }
        d
    }
}
