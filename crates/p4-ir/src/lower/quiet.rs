//! Places that can be named without running anything, so that callers and tables can work on them
//! directly instead of on copies.

use super::lvalue::Loc;
use super::Lowerer;
use crate::ir::Slot;
use p4_check::types::Type;
use p4_check::Def;
use p4_syntax::ast::{Expr, ExprKind};

/// Words of the frame, from the first to behind the last.
pub(super) type Words = (Slot, Slot);

impl<'a> Lowerer<'a, '_> {
    /// The fixed place that `expr` denotes, if no code is needed to find it.
    pub(super) fn fixed_place(&mut self, expr: &'a Expr) -> Option<Loc> {
        let found = match &expr.kind {
            ExprKind::Path(_) => match self.checked.defs.get(&expr.id)? {
                Def::Var(decl) => self.env.places.get(&decl.id).cloned(),
                Def::Param(param) => self.env.places.get(&param.id).cloned(),
                _ => None,
            },
            ExprKind::Member(base, member) => {
                if let Type::Stack(..) = self.type_of(base) {
                    return None;
                }
                let base = self.fixed_place(base)?;
                self.field(base, &member.name)
            }
            ExprKind::Index(base, index) => {
                let number = self.eval(index)?.as_int()?.clone();
                let place = self.fixed_place(base)?;
                match (self.type_of(base), place) {
                    (Type::Tuple(_), place) => self.field(place, &number.to_string()),
                    (_, Loc::Static { slot, ty, .. }) => {
                        self.element(slot, &ty, number.try_into().ok()?)
                    }
                    _ => None,
                }
            }
            _ => None,
        }?;
        matches!(found, Loc::Static { .. }).then_some(found)
    }

    /// The words of the value that `expr` denotes, if it is at a fixed place and of the type that
    /// is wanted.
    pub(super) fn fixed_words(&mut self, expr: &'a Expr) -> Option<Words> {
        let place = self.fixed_place(expr)?;
        let Loc::Static { slot, ty, .. } = place else {
            return None;
        };
        let n = self.words_of(&ty);
        Some((slot, slot + n))
    }

    /// Whether evaluating `expr` may read or change any of `words`.
    pub(super) fn touches(&mut self, expr: &'a Expr, words: Words) -> bool {
        if let Some((from, to)) = self.fixed_words(expr) {
            return from < words.1 && words.0 < to;
        }
        if self.eval(expr).is_some() {
            return false;
        }
        match &expr.kind {
            ExprKind::Slice(a, ..) | ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => {
                self.touches(a, words)
            }
            ExprKind::Binary(_, a, b) => self.touches(a, words) || self.touches(b, words),
            ExprKind::List { items, .. } => items.iter().any(|item| self.touches(item, words)),
            ExprKind::Struct { fields, .. } => {
                fields.iter().any(|(_, item)| self.touches(item, words))
            }
            ExprKind::DontCare | ExprKind::Invalid => false,
            _ => true,
        }
    }
}
