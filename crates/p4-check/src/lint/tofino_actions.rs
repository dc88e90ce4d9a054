//! Bodies of actions on Tofino, where all statements of an action happen at the same time.

use super::tofino::written_path;
use super::walk::expressions_in;
use super::{constant, Findings};
use crate::Checked;
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use std::collections::BTreeMap;

/// Reports places that an action writes and then reads or writes again.
pub(super) fn action_body(checked: &Checked<'_>, body: &Block, found: &mut Findings) {
    let mut written: BTreeMap<String, Written> = BTreeMap::new();
    for stmt in &body.stmts {
        let (lhs, rhs, reads_itself) = match &stmt.kind {
            StmtKind::Assign { lhs, rhs } => (lhs, rhs, false),
            StmtKind::AssignOp { lhs, rhs, .. } => (lhs, rhs, true),
            _ => continue,
        };
        let Some(place) = written_path(lhs) else {
            continue;
        };
        reads(stmt, lhs, &written, found);
        let mut own = Vec::new();
        expressions_in(stmt, &mut |e| {
            if e.id != lhs.id {
                own.extend(written_path(e));
            }
        });
        let from_itself = reads_itself || own.contains(&place);
        if let (Some(first), true) = (written.get(&place), from_itself) {
            found.push(
                Diagnostic::warning(
                    "W0711",
                    stmt.span,
                    format!("not portable to Tofino: the action computes `{place}` in two steps"),
                )
                .label(first.span, "the first step")
                .hint("write one expression, or two tables one after the other; the chip's compiler says `action spanning multiple stages`"),
            );
        }
        let constant = constant(checked, rhs).is_some();
        written.insert(
            place,
            Written {
                span: stmt.span,
                lasting: constant,
            },
        );
    }
}

struct Written {
    span: Span,
    /// What was written is a constant, which a later read can be replaced by.
    lasting: bool,
}

fn reads(stmt: &Stmt, lhs: &Expr, written: &BTreeMap<String, Written>, found: &mut Findings) {
    let target = written_path(lhs);
    let mut seen: Vec<(String, Span)> = Vec::new();
    let mut see = |e: &Expr| {
        if e.id != lhs.id {
            if let Some(name) = written_path(e) {
                seen.push((name, e.span));
            }
        }
    };
    expressions_in(stmt, &mut see);
    for (name, span) in seen {
        let Some(first) = written.get(&name) else {
            continue;
        };
        if first.lasting || target.as_ref() == Some(&name) {
            continue;
        }
        found.push(
            Diagnostic::warning(
                "W0710",
                span,
                format!("not portable to Tofino: this may read `{name}` as it was before the action"),
            )
            .label(first.span, "it is written here")
            .hint("use the expression again in place of the field, or do this in a table after this one; the chip's compiler says nothing and may read the old value"),
        );
    }
}
