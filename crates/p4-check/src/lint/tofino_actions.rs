//! Bodies of actions on Tofino, where all statements of an action happen at the same time.

use super::tofino::written_path;
use super::walk::{expressions_in, nodes_of, Node};
use super::{constant, Findings};
use crate::{Checked, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::HashSet;
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

/// Reports conditions in a table's action that look at more than the action's data. What an action
/// does is chosen by the entry; the chip has no other `if` there than one over the entry's data.
pub(super) fn conditions<'a>(checked: &Checked<'a>, action: &'a Decl, found: &mut Findings) {
    let DeclKind::Action { params, .. } = &action.kind else {
        return;
    };
    let data = params.iter().filter(|p| p.direction == Direction::None);
    let mut own: HashSet<NodeId> = data.map(|param| param.id).collect();
    nodes_of(action, &mut |node| {
        let cond = match node {
            Node::Decl(decl) => {
                own.insert(decl.id);
                return;
            }
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::If {
                    cond,
                    then,
                    otherwise,
                } if !chooses_a_side(checked, cond, then, otherwise.as_deref()) => cond,
                _ => return,
            },
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Conditional(cond, yes, no) if !is_min_or_max(checked, cond, yes, no) => {
                    cond
                }
                _ => return,
            },
            _ => return,
        };
        if constant(checked, cond).is_none() && reads_more(checked, cond, &own) {
            found.warn(
                "W0738",
                cond.span,
                "not portable to Tofino: a condition in a table's action can only look at the action's data",
                "test it with an `if` in `apply`, or make it part of the table's key; the chip's compiler says `Conditions in an action must be simple comparisons of an action data parameter`",
            );
        }
    });
}

/// Whether an expression reads anything beside the action's data and variables.
fn reads_more(checked: &Checked<'_>, expr: &Expr, own: &HashSet<NodeId>) -> bool {
    if let ExprKind::Path(_) = &expr.kind {
        return match checked.defs.get(&expr.id) {
            Some(Def::Param(param)) => !own.contains(&param.id),
            Some(Def::Var(variable)) => !own.contains(&variable.id),
            _ => false,
        };
    }
    let children = expr.children();
    children.into_iter().any(|e| reads_more(checked, e, own))
}

/// `if (a < b) x = a; else x = b;`, or `if (a < b) a = b;`: the chip has an instruction for the smaller
/// and the larger of two values.
fn chooses_a_side(checked: &Checked<'_>, cond: &Expr, then: &Stmt, other: Option<&Stmt>) -> bool {
    let Some((to, yes)) = only_assignment(then) else {
        return false;
    };
    match other.map(only_assignment) {
        Some(Some((also, no))) => {
            checked.same_expr(to, also) && is_min_or_max(checked, cond, yes, no)
        }
        Some(None) => false,
        None => is_min_or_max(checked, cond, yes, to),
    }
}

fn only_assignment(stmt: &Stmt) -> Option<(&Expr, &Expr)> {
    match &stmt.kind {
        StmtKind::Assign { lhs, rhs } => Some((lhs, rhs)),
        StmtKind::Block(block) => match &block.stmts[..] {
            [only] => only_assignment(only),
            _ => None,
        },
        _ => None,
    }
}

fn is_min_or_max(checked: &Checked<'_>, cond: &Expr, yes: &Expr, no: &Expr) -> bool {
    let ExprKind::Binary(BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge, a, b) = &cond.kind else {
        return false;
    };
    let same = |x: &Expr, y: &Expr| checked.same_expr(x, y);
    (same(a, yes) && same(b, no)) || (same(a, no) && same(b, yes))
}
