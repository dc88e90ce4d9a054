//! What the body of a RegisterAction reads. The unit of a register compares and computes with what
//! the cell held before; only what the body returns can be the new value.

use super::tna::first_name;
use super::tofino::written_path;
use super::{constant, Findings};
use crate::Checked;
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Reports reads of what the body has written to the cell (stateful_alu.cpp of p4c's Tofino back end).
pub(super) fn reads(checked: &Checked<'_>, method: &Decl, found: &mut Findings) {
    let DeclKind::Function { params, body, .. } = &method.kind else {
        return;
    };
    let Some(cell) = params.first() else {
        return;
    };
    let mut reader = Reader {
        checked,
        cell: &cell.name.name,
        own: params.iter().map(|param| &*param.name.name).collect(),
        old: Vec::new(),
        jumps: false,
    };
    reader.block(body, &mut State::default());
    if reader.jumps {
        return;
    }
    for (place, read, written) in reader.old {
        found.push(
            Diagnostic::warning(
                "W0744",
                read,
                format!("not portable to Tofino: this reads `{place}` as it was before the RegisterAction"),
            )
            .label(written, "it is written here")
            .hint("do this before the cell is written, with the old value in mind, or return the new value and look at it afterwards; the chip's compiler says nothing"),
        );
    }
}

#[derive(Clone, Default)]
struct State {
    /// The places of the cell that were written on some way here
    written: BTreeMap<String, Span>,
    /// What the compiler puts in the place of a read, and the places which that needs
    known: BTreeMap<String, (NodeId, BTreeSet<String>)>,
}

struct Reader<'c, 'a> {
    checked: &'c Checked<'a>,
    cell: &'c str,
    own: Vec<&'c str>,
    old: Vec<(String, Span, Span)>,
    /// The body has statements other than assignments and conditions, which are not followed.
    jumps: bool,
}

impl Reader<'_, '_> {
    fn block(&mut self, block: &Block, state: &mut State) {
        for stmt in &block.stmts {
            self.statement(stmt, state);
        }
    }

    fn statement(&mut self, stmt: &Stmt, state: &mut State) {
        match &stmt.kind {
            StmtKind::Block(inner) => self.block(inner, state),
            StmtKind::Decl(decl) => {
                if let DeclKind::Variable {
                    init: Some(init), ..
                } = &decl.kind
                {
                    self.assign(decl.name.name.to_string(), init, None, decl.span, state);
                }
            }
            StmtKind::Assign { lhs, rhs } => {
                if let Some(place) = written_path(lhs) {
                    self.assign(place, rhs, None, stmt.span, state);
                }
            }
            StmtKind::AssignOp { lhs, rhs, .. } => {
                if let Some(place) = written_path(lhs) {
                    self.assign(place, rhs, Some(lhs), stmt.span, state);
                }
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                self.operands(cond, state);
                let mut other = state.clone();
                self.statement(then, state);
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise, &mut other);
                }
                state.known.retain(|place, (id, _)| {
                    let there = other.known.get(place);
                    there.is_some_and(|(other, _)| other == id)
                });
                for (place, span) in other.written {
                    state.written.entry(place).or_insert(span);
                }
            }
            StmtKind::Empty | StmtKind::Call(_) => {}
            _ => self.jumps = true,
        }
    }

    fn assign(
        &mut self,
        place: String,
        rhs: &Expr,
        itself: Option<&Expr>,
        span: Span,
        state: &mut State,
    ) {
        let root = first_name(&place);
        let returns = self.own.contains(&root) && root != self.cell;
        if returns && itself.is_none() {
            self.returned(rhs, state);
        } else {
            self.operands(rhs, state);
        }
        if let Some(lhs) = itself {
            self.operands(lhs, state);
        }
        // What the compiler puts in for a later read, unless something in it changes before.
        let mut uses = BTreeSet::new();
        let plain = self.uses(rhs, state, &mut uses);
        state.known.retain(|known, (_, uses)| {
            !overlap(known, &place) && !uses.iter().any(|used| overlap(used, &place))
        });
        if root == self.cell {
            state.written.insert(place.clone(), span);
        }
        if plain && itself.is_none() && !uses.iter().any(|used| overlap(used, &place)) {
            state.known.insert(place, (rhs.id, uses));
        }
    }

    /// A value that is returned: the cell itself is the new one, what is computed from it is not.
    fn returned(&mut self, value: &Expr, state: &State) {
        match &value.kind {
            ExprKind::Path(_) | ExprKind::Member(..) => {}
            ExprKind::Cast(_, of) | ExprKind::Slice(of, ..) => self.returned(of, state),
            ExprKind::Unary(UnOp::Complement, of) => self.returned(of, state),
            ExprKind::Binary(BinOp::Concat, a, b) => {
                self.returned(a, state);
                self.returned(b, state);
            }
            ExprKind::Conditional(cond, a, b) => {
                self.operands(cond, state);
                self.returned(a, state);
                self.returned(b, state);
            }
            ExprKind::Call { .. } => {}
            _ => self.operands(value, state),
        }
    }

    fn operands(&mut self, expr: &Expr, state: &State) {
        if let Some(place) = written_path(expr) {
            let written = state.written.iter().find(|(own, _)| overlap(own, &place));
            // Parts of a cell that is written as a whole are copied one by one.
            let known = state.known.keys().any(|known| within(&place, known));
            if let (Some((_, span)), false) = (written, known) {
                self.old.push((place, expr.span, *span));
            }
            return;
        }
        for child in expr.children() {
            self.operands(child, state);
        }
    }

    /// Gathers the places that an expression needs; false if it calls something.
    fn uses(&self, expr: &Expr, state: &State, uses: &mut BTreeSet<String>) -> bool {
        if matches!(expr.kind, ExprKind::Call { .. }) {
            return false;
        }
        if constant(self.checked, expr).is_some() {
            return true;
        }
        if let Some(place) = written_path(expr) {
            match state.known.get(&place) {
                Some((_, inner)) => uses.extend(inner.iter().cloned()),
                None => drop(uses.insert(place)),
            }
            return true;
        }
        let children = expr.children();
        children.into_iter().all(|e| self.uses(e, state, uses))
    }
}

/// Whether a place is another one or a part of it.
fn within(place: &str, whole: &str) -> bool {
    let rest = place.strip_prefix(whole);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn overlap(a: &str, b: &str) -> bool {
    within(a, b) || within(b, a)
}
