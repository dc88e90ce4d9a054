//! Entries and default actions written in the program.

use super::layout::to_words;
use super::Lowerer;
use crate::ir::*;
use p4_syntax::ast::{Arg, DeclKind, Direction, Entry, Expr, ExprKind, NodeId};
use p4_syntax::span::Span;

impl<'a> Lowerer<'a, '_> {
    /// The action that is named at a place with its data, as words.
    pub(super) fn action_call(
        &mut self,
        positions: &[NodeId],
        (id, span): (NodeId, Span),
        args: &'a [Arg],
    ) -> Option<ActionCall> {
        let decl = self.checked.action_refs.get(&id).copied()?;
        let position = positions.iter().position(|p| *p == decl.id)?;
        let order = self
            .checked
            .action_args
            .get(&id)
            .cloned()
            .unwrap_or_default();
        let DeclKind::Action { params, .. } = &decl.kind else {
            return None;
        };
        let mut data = Vec::new();
        for (i, param) in params.iter().enumerate() {
            if param.direction != Direction::None {
                continue;
            }
            let ty = self.type_ref(&param.ty);
            let expr = match order.get(i).copied().flatten().and_then(|a| args.get(a)) {
                Some(arg) => Some(&arg.value),
                None => param.default.as_ref(),
            };
            match expr
                .and_then(|e| self.eval(e))
                .and_then(|v| self.value_words(&v, &ty))
            {
                Some(words) => data.extend(words),
                None => {
                    self.refuse(
                        "E0501",
                        span,
                        format!(
                            "the value of `{}` must be known at compile time",
                            param.name.name
                        ),
                    );
                    return None;
                }
            }
        }
        Some(ActionCall {
            action: position as u32,
            data,
        })
    }

    pub(super) fn entry(&mut self, table: &mut Table, positions: &[NodeId], entry: &'a Entry) {
        let args = entry.action.args.as_deref().unwrap_or(&[]);
        let Some(call) = self.action_call(positions, (entry.action.id, entry.action.span), args)
        else {
            return;
        };
        let priority = entry
            .priority
            .as_ref()
            .and_then(|p| self.eval(p))
            .and_then(|v| v.as_int().and_then(|v| u64::try_from(v).ok()));
        let keyset: &[Expr] = match entry.keyset.as_slice() {
            [Expr {
                kind: ExprKind::List { items, .. },
                ..
            }] => items,
            [Expr {
                kind: ExprKind::Tuple(items),
                ..
            }] if table.keys.len() > 1 => items,
            items => items,
        };
        let mut matches = Vec::new();
        for (i, key) in table.keys.iter().enumerate() {
            let item = match keyset {
                [only] if matches!(only.kind, ExprKind::DontCare) => only,
                items => match items.get(i) {
                    Some(item) => item,
                    None => return,
                },
            };
            match self.const_match(item, key.place) {
                Some(found) => matches.push(self.entry_key(key, found)),
                None => {
                    return self.refuse(
                        "E0501",
                        item.span,
                        "the key of an entry must be known at compile time",
                    )
                }
            }
        }
        table.entries.push(ConstEntry {
            span: entry.span,
            is_const: entry.is_const,
            matches,
            call,
            priority,
        });
    }

    fn const_match(&mut self, item: &'a Expr, place: Place) -> Option<ConstMatch> {
        let words_of = |this: &mut Self, e: &'a Expr| -> Option<Vec<u64>> {
            let value = this.eval(e)?;
            let own = this.target_type(e);
            match value.as_int() {
                Some(number) => Some(to_words(number, place.width)),
                None => this.value_words(&value, &own),
            }
        };
        Some(match &item.kind {
            ExprKind::DontCare | ExprKind::Dots => ConstMatch::Any,
            ExprKind::Mask(value, mask) => {
                let (value, mask) = (words_of(self, value)?, words_of(self, mask)?);
                ConstMatch::Masked {
                    value: value.iter().zip(&mask).map(|(v, m)| v & m).collect(),
                    mask,
                }
            }
            ExprKind::Range(low, high) => ConstMatch::Range {
                low: words_of(self, low)?,
                high: words_of(self, high)?,
            },
            _ => ConstMatch::Exact(words_of(self, item)?),
        })
    }
}
