//! What p4c for bmv2 makes of tables and assignments where that is not what they say; docs/bmv2.md
//! lists it. Only for bindings with [`Binding::as_bmv2`](super::Binding::as_bmv2).

use super::layout::to_words;
use super::lvalue::Loc;
use super::Lowerer;
use crate::ir::*;
use num_bigint::BigInt;
use p4_check::types::Kind;
use p4_syntax::ast::{BinOp, Expr, ExprKind, Name};

/// Slots from the first up to before the second
type Words = (Slot, Slot);

impl<'a> Lowerer<'a, '_> {
    /// What the switch compares of a key: prefixes count the zero bits that fill its first byte up,
    /// and of `field & constant` the other bits of the entries do not matter.
    pub(super) fn compared(&mut self, key: &'a Expr, kind: &Name, width: u32) -> Compared {
        if !self.binding.as_bmv2() {
            return Compared::default();
        }
        let padding = match &**kind {
            "lpm" => (8 - width % 8) % 8,
            _ => 0,
        };
        let mask = self.field_and_mask(key).and_then(|(_, mask)| mask);
        let mask = mask.map(|mask| to_words(&mask, width));
        Compared { padding, mask }
    }

    /// The valid word of the header of which a key is a field: without it bmv2 takes 0 for the key,
    /// whatever the field holds.
    pub(super) fn zero_unless(&mut self, key: &'a Expr) -> Option<Slot> {
        if !self.binding.as_bmv2() {
            return None;
        }
        let (field, _) = self.field_and_mask(key)?;
        match self.fixed_place(field)? {
            Loc::Static { valid, .. } => valid,
            _ => None,
        }
    }

    /// The key as bmv2 gets it, a field and perhaps a mask. p4c computes everything else first,
    /// `field & 0` and fields of elements of stacks too, and hands the result on.
    fn field_and_mask(&self, key: &'a Expr) -> Option<(&'a Expr, Option<BigInt>)> {
        if is_field(key) {
            return Some((key, None));
        }
        let ExprKind::Binary(BinOp::BitAnd, a, b) = &key.kind else {
            return None;
        };
        let pairs = [(&**a, &**b), (&**b, &**a)];
        let (field, mask) = pairs
            .into_iter()
            .find(|(field, mask)| is_field(field) && self.eval(mask).is_some())?;
        let mask = self.eval(mask)?.as_int()?.clone();
        (mask != BigInt::ZERO).then_some((field, Some(mask)))
    }

    /// p4c computes the end of `_` among ranges in 32 bits, and prefix lengths from the last 64
    /// bits of their masks.
    pub(super) fn entry_key(&self, key: &Key, given: ConstMatch) -> ConstMatch {
        let width = key.place.width;
        match (&*key.match_kind, given) {
            ("range", ConstMatch::Any) if self.binding.as_bmv2() && width >= 32 => {
                let n = words(width) as usize;
                let mut high = vec![0; n];
                high[0] = (1 << (width % 32)) - 1;
                ConstMatch::Range {
                    low: vec![0; n],
                    high,
                }
            }
            ("lpm", ConstMatch::Masked { mask, .. })
                if self.binding.as_bmv2() && width > 64 && mask.first() == Some(&0) =>
            {
                ConstMatch::Any
            }
            (_, given) => given,
        }
    }

    /// Whether `header = { ... }` goes by way of a temporary header, which p4c never makes valid:
    /// where the list reads the header that it is assigned to.
    pub(super) fn literal_is_lost(&mut self, header: &'a Expr, literal: &'a Expr) -> bool {
        if !self.binding.as_bmv2() || !self.type_of(header).is_kind(Kind::Header) {
            return false;
        }
        let Some(words) = self.words_around(header) else {
            return false;
        };
        let items: Vec<&'a Expr> = match &literal.kind {
            ExprKind::List { items, .. } => items.iter().collect(),
            ExprKind::Struct { fields, .. } => fields.iter().map(|(_, item)| item).collect(),
            _ => return false,
        };
        // With a call among them, all are read into temporaries of their own first.
        let calls = items.iter().any(|item| self.has_side_effects(item));
        !calls && items.iter().any(|item| self.reads(item, words))
    }

    /// Whether the index of an element that is assigned to is read after what is assigned has been
    /// evaluated: p4c takes calls out of that first, and leaves the index where it is.
    pub(super) fn index_comes_late(&mut self, place: &'a Expr, assigned: &'a Expr) -> bool {
        self.binding.as_bmv2()
            && self.has_side_effects(assigned)
            && !self.has_side_effects(place)
            && self.fixed_words(place).is_none()
    }

    /// The words of a place; with an index known at run time only, those of the whole stack.
    fn words_around(&mut self, place: &'a Expr) -> Option<Words> {
        self.fixed_words(place).or_else(|| match &place.kind {
            ExprKind::Index(stack, _) | ExprKind::Member(stack, _) => self.words_around(stack),
            _ => None,
        })
    }

    /// Whether `expr`, in which nothing is called, reads any of `words`.
    fn reads(&mut self, expr: &'a Expr, words: Words) -> bool {
        if let (true, Some((from, to))) = (is_place(expr), self.words_around(expr)) {
            return from < words.1 && words.0 < to;
        }
        match &expr.kind {
            ExprKind::Slice(a, ..)
            | ExprKind::PlusSlice(a, ..)
            | ExprKind::Unary(_, a)
            | ExprKind::Cast(_, a) => self.reads(a, words),
            ExprKind::Binary(_, a, b) => self.reads(a, words) || self.reads(b, words),
            ExprKind::List { items, .. } => items.iter().any(|item| self.reads(item, words)),
            ExprKind::Struct { fields, .. } => {
                fields.iter().any(|(_, item)| self.reads(item, words))
            }
            // p4c puts `a ? b : c` into a temporary first.
            _ => false,
        }
    }
}

/// What p4c takes for an l-value: names, members and indices.
fn is_place(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Path(_) => true,
        ExprKind::Member(base, _) | ExprKind::Index(base, _) => is_place(base),
        _ => false,
    }
}

/// Names and members alone
fn is_field(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Path(_) => true,
        ExprKind::Member(base, _) => is_field(base),
        _ => false,
    }
}
