//! Entries written in a table (specification 14.2.1.4): what each match kind takes, priorities,
//! entries that can never match.

use crate::value::Value;
use crate::Checker;
use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::HashMap;
use std::collections::hash_map::Entry as Slot;

/// The entries of a table and what it says about them.
pub(crate) struct EntryList<'a> {
    pub table: &'a Decl,
    pub entries: &'a [Entry],
    pub keys: &'a [KeyElement],
    pub properties: &'a [TableProperty],
    pub is_const: bool,
    pub span: Span,
}

/// One component of a keyset, as far as it is known.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Match {
    Any,
    Exact(Value),
    Masked(BigInt, BigInt),
    Range(BigInt, BigInt),
    Unknown,
}

impl<'a> Checker<'a> {
    pub(crate) fn entry_list(&mut self, list: &EntryList<'a>) {
        let kinds: Vec<&str> = list.keys.iter().map(|k| &*k.match_kind.name).collect();
        let mut earlier = HashMap::default();
        for entry in list.entries {
            let items = keyset_items(entry, kinds.len());
            let mut matches = Vec::new();
            for (item, kind) in items.iter().zip(&kinds) {
                let found = self.match_of(item);
                self.match_suits(item, &found, kind);
                matches.push(found);
            }
            if matches.len() == kinds.len() && !matches.contains(&Match::Unknown) {
                self.repeated_entry(list, &kinds, entry, matches, &mut earlier);
            }
        }
        self.entry_priorities(list, &kinds);
    }

    fn match_of(&mut self, item: &'a Expr) -> Match {
        let number = |c: &mut Self, e: &'a Expr| c.const_value(e)?.as_int().cloned();
        let pair = |c: &mut Self, a, b| Some((number(c, a)?, number(c, b)?));
        match &item.kind {
            ExprKind::DontCare => Match::Any,
            ExprKind::Mask(value, mask) => match pair(self, value, mask) {
                Some((value, mask)) => Match::Masked(value & &mask, mask),
                None => Match::Unknown,
            },
            ExprKind::Range(low, high) => match pair(self, low, high) {
                Some((low, high)) => Match::Range(low, high),
                None => Match::Unknown,
            },
            _ => match self.const_value(item) {
                Some(value) => Match::Exact(value),
                None => {
                    self.require_constant(item, "a key of an entry");
                    Match::Unknown
                }
            },
        }
    }

    fn match_suits(&mut self, item: &'a Expr, found: &Match, kind: &str) {
        let message = match (kind, found) {
            ("exact" | "optional", Match::Masked(..)) => {
                format!("a key matched as `{kind}` takes a single value, not a mask")
            }
            ("exact", Match::Any) => {
                "a key matched as `exact` takes a single value, not `_`".to_string()
            }
            ("exact" | "optional" | "lpm" | "ternary", Match::Range(..)) => {
                format!("a key matched as `{kind}` cannot take a range")
            }
            ("range", Match::Masked(..)) => {
                "a key matched as `range` takes a value or a range, not a mask".to_string()
            }
            ("lpm", Match::Masked(_, mask)) if !is_prefix(mask, self.width_of(item)) => {
                "the mask of an lpm key must be a prefix: ones first, then zeros".to_string()
            }
            _ => return,
        };
        let hint = match (kind, found) {
            (_, Match::Range(..)) => "declare the key as `range`",
            ("range", _) => "write the lowest and the highest value, `low .. high`, or declare the key as `ternary`",
            ("lpm", _) => "write a prefix mask such as `0xF0`, or declare the key as `ternary`",
            _ => "declare the key as `ternary`",
        };
        self.report(Diagnostic::error("E0421", item.span, message).hint(hint));
    }

    fn width_of(&self, item: &Expr) -> u32 {
        let ExprKind::Mask(value, mask) = &item.kind else {
            return 0;
        };
        let width = |e: &Expr| {
            let ty = self
                .out
                .coercions
                .get(&e.id)
                .unwrap_or(self.out.expr_type(e.id));
            self.out.underlying(ty).fixed_width()
        };
        width(value).or(width(mask)).unwrap_or(0)
    }

    fn repeated_entry(
        &mut self,
        list: &EntryList<'a>,
        kinds: &[&str],
        entry: &'a Entry,
        matches: Vec<Match>,
        earlier: &mut HashMap<Vec<Match>, Span>,
    ) {
        let span = entry_keys_span(entry);
        let first = match earlier.entry(matches) {
            Slot::Occupied(taken) => *taken.get(),
            Slot::Vacant(free) => {
                free.insert(span);
                return;
            }
        };
        let ordered = kinds.iter().any(|k| has_priority(k));
        let diagnostic = if ordered {
            let message = "this entry never matches: an earlier one has the same keys";
            Diagnostic::warning("W0419", span, message)
        } else {
            let message = format!(
                "two entries of `{}` have the same keys",
                list.table.name.name
            );
            Diagnostic::error("E0419", span, message)
        };
        self.report(diagnostic.label(first, "the first is here"));
    }

    fn entry_priorities(&mut self, list: &EntryList<'a>, kinds: &[&str]) {
        let Some(first) = list.entries.iter().find_map(|e| e.priority.as_ref()) else {
            return;
        };
        if !kinds.iter().any(|k| has_priority(k)) {
            return self.report(
                Diagnostic::error(
                    "E0417",
                    list.keys.first().map_or(list.span, |k| k.span),
                    "the entries of this table cannot have priorities: at most one of them can match a packet",
                )
                .label(first.span, "a priority is given here")
                .hint("priorities decide between ternary, range and optional matches only"),
            );
        }
        if list.is_const {
            return self.report(
                Diagnostic::error(
                    "E0417",
                    first.span,
                    "entries that are `const` cannot have priorities: of those that match, the first wins",
                )
                .label(list.span, "these entries")
                .hint("write them in the order you want, without priorities, or leave `const` out"),
            );
        }
        if let Some(entry) = list.entries.first().filter(|e| e.priority.is_none()) {
            return self.report(
                Diagnostic::error("E0417", entry.span, "this entry needs a priority")
                    .label(first.span, "since another entry has one")
                    .hint("write `priority = 10 :` in front of the first entry; later ones follow from it"),
            );
        }
        self.implied_priorities(list);
    }

    /// Entries without a priority follow the one above by `priority_delta`; the result must not
    /// fall below zero.
    fn implied_priorities(&mut self, list: &EntryList<'a>) {
        let property = |name: &str| {
            let found = list.properties.iter().find(|p| &*p.name.name == name);
            found.and_then(|p| match &p.value {
                PropertyValue::Expr(value) => Some(value),
                _ => None,
            })
        };
        let delta = match property("priority_delta").map(|e| self.const_value(e)) {
            Some(value) => value.and_then(|v| v.as_int().cloned()),
            None => Some(BigInt::from(1)),
        };
        let largest = property("largest_priority_wins").map(|e| self.const_value(e));
        let falls = largest != Some(Some(Value::Bool(false)));
        let Some(delta) = delta else { return };
        let mut current = BigInt::zero();
        for entry in list.entries {
            match &entry.priority {
                Some(given) => match self.const_value(given).as_ref().and_then(Value::as_int) {
                    Some(value) => current = value.clone(),
                    None => return,
                },
                None if falls => current -= &delta,
                None => current += &delta,
            }
            if current.is_negative() {
                return self.report(
                    Diagnostic::error(
                        "E0417",
                        entry.span,
                        format!("the priority of this entry would be {current}"),
                    )
                    .label(list.table.name.span, "in this table")
                    .hint("start with a larger priority, or make `priority_delta` smaller"),
                );
            }
        }
    }
}

/// The components of the keyset; a single `_` stands for all of them.
fn keyset_items(entry: &Entry, wanted: usize) -> Vec<&Expr> {
    match entry.keyset.as_slice() {
        [single] => match &single.kind {
            ExprKind::DontCare => vec![single; wanted],
            ExprKind::List { items, .. } => items.iter().collect(),
            ExprKind::Tuple(items) if wanted > 1 => items.iter().collect(),
            _ => vec![single],
        },
        items => items.iter().collect(),
    }
}

fn entry_keys_span(entry: &Entry) -> Span {
    let spans = entry.keyset.iter().map(|e| e.span);
    spans.reduce(Span::to).unwrap_or(entry.span)
}

/// Whether several entries can match a packet, so that a priority must decide.
fn has_priority(kind: &str) -> bool {
    !matches!(kind, "exact" | "lpm")
}

/// Whether the low `width` bits of `mask` are ones followed by zeros.
fn is_prefix(mask: &BigInt, width: u32) -> bool {
    let zeros = mask.trailing_zeros().unwrap_or(u64::from(width));
    mask.is_zero()
        || (mask >> zeros) + 1 == BigInt::from(1) << u64::from(width).saturating_sub(zeros)
}
