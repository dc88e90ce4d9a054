//! Reads of values that nobody has written (specification 8.25): variables and `out` parameters
//! before they get a value, fields of headers that are not valid. All ways through each parser,
//! control and function are followed, and actions from where they are used. What is written through
//! an index is not looked after: no warning is given where it may have been.

use super::facts::{join, Before, Facts, Known, Part, Shape, Shapes, Sort};
use super::Findings;
use crate::types::Type;
use crate::{Builtin, CallInfo, CallKind, Checked, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::HashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Warnings about a program that is otherwise right.
pub(super) fn lint(checked: &Checked<'_>, found: &mut Findings) {
    let mut walker = Walker {
        checked,
        shapes: Shapes::default(),
        variables: HashMap::default(),
        count: 0,
        reads: BTreeMap::new(),
        silent: 0,
        returns: None,
        leaves: Vec::new(),
        actions: 0,
        steps: MAX_STEPS,
    };
    for decl in &checked.program.decls {
        walker.root(decl);
    }
    if walker.steps == 0 {
        // Not everything was seen, so nothing is certain.
        return;
    }
    for (span, read) in walker.reads {
        read.report(span, found);
    }
}

/// So many statements are followed in all.
const MAX_STEPS: u32 = 200_000;
/// So many known parts cost as much as a statement.
const FACTS_PER_STEP: usize = 32;
/// Rounds of a loop after which nothing new is found out: each part changes at most once.
const MAX_ROUNDS: u32 = 600;
/// Actions that call actions
const MAX_ACTIONS: u32 = 16;

/// One place that reads, over all ways to it.
struct Read {
    what: What,
    name: String,
    declared: Span,
    known: Known,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Value,
    /// A field of a header, read or written
    Field,
    /// An `out` parameter at the end of its block
    Result,
}

impl Read {
    fn report(&self, span: Span, found: &mut Findings) {
        let name = &self.name;
        let (code, message, hint) = match (self.what, self.known) {
            (_, Known::Good) => return,
            (What::Value, Known::Bad) => (
                "W0511",
                format!("`{name}` has no value here: nothing has been written to it"),
                "assign to it first",
            ),
            (What::Value, Known::Either) => (
                "W0512",
                format!("`{name}` may have no value here: not every way to this place writes it"),
                "assign to it where it is declared",
            ),
            (What::Field, Known::Bad) => (
                "W0513",
                format!("the header of `{name}` is not valid here, so the field has no meaning"),
                "ask `isValid()` first, extract the header, or make it valid with `setValid()`",
            ),
            (What::Result, Known::Bad) => (
                "W0514",
                format!(
                    "the `out` parameter `{name}` is never written, so the caller gets no value"
                ),
                "assign to it, or make it `inout` to hand on the caller's value",
            ),
            (What::Field | What::Result, Known::Either) => return,
        };
        let mut diagnostic = Diagnostic::warning(code, span, message).hint(hint);
        if self.what != What::Result {
            diagnostic = diagnostic.label(self.declared, "declared here");
        }
        found.push(diagnostic);
    }
}

struct Walker<'c, 'a> {
    checked: &'c Checked<'a>,
    shapes: Shapes,
    /// The variables and parameters of the block or function being followed, each with the number of
    /// its first part
    variables: HashMap<NodeId, (usize, Rc<Shape>)>,
    /// Number of their parts
    count: usize,
    reads: BTreeMap<Span, Read>,
    /// In rounds that only find out what is known
    silent: u32,
    /// What is known at the `return`s of the body around
    returns: Before,
    /// What is known at the `break`s and `continue`s of the loops around
    leaves: Vec<Before>,
    actions: u32,
    steps: u32,
}

/// What an expression without an index names.
struct Place<'a> {
    /// The variable or parameter
    declared: &'a Ident,
    part: Part,
}

impl<'a> Walker<'_, 'a> {
    fn root(&mut self, decl: &'a Decl) {
        self.variables.clear();
        self.count = 0;
        match &decl.kind {
            DeclKind::Parser {
                proto,
                locals,
                states,
                ..
            } => {
                let mut before = Some(Facts::default());
                self.parameters(&proto.params, &mut before);
                for local in locals {
                    before = self.local(local, before);
                }
                self.states(states, before);
            }
            DeclKind::Control {
                proto,
                locals,
                apply,
                ..
            } => {
                let mut before = Some(Facts::default());
                self.parameters(&proto.params, &mut before);
                for local in locals {
                    before = self.local(local, before);
                }
                let after = self.body(apply, before);
                self.results(&proto.params, &after);
            }
            DeclKind::Function { params, body, .. } => {
                let mut before = Some(Facts::default());
                self.parameters(params, &mut before);
                let after = self.body(body, before);
                self.results(params, &after);
            }
            _ => {}
        }
    }

    fn parameters(&mut self, params: &'a [Param], before: &mut Before) {
        for param in params {
            let ty = self.checked.type_ref(param.ty.id);
            let known = |sort| match (param.direction, sort) {
                (Direction::Out, _) => Known::Bad,
                (_, Sort::Value) => Known::Good,
                (_, Sort::Header) => Known::Either,
            };
            self.declare(param.id, ty, before, &known);
        }
    }

    fn declare(
        &mut self,
        id: NodeId,
        ty: &Type,
        before: &mut Before,
        known: &dyn Fn(Sort) -> Known,
    ) {
        let Some(facts) = before else { return };
        let (first, shape) = self.variables.entry(id).or_insert_with(|| {
            let shape = self.shapes.of(self.checked, ty);
            let first = self.count;
            self.count += shape.parts.len();
            (first, shape)
        });
        for (part, sort) in (*first..).zip(&shape.parts) {
            facts.begin(part, known(*sort));
        }
    }

    /// `out` parameters that no way writes. Headers that are not valid are a result, too.
    fn results(&mut self, params: &'a [Param], after: &Before) {
        let Some(facts) = after else { return };
        for param in params.iter().filter(|p| p.direction == Direction::Out) {
            let Some((first, shape)) = self.variables.get(&param.id) else {
                continue;
            };
            let bad = |(part, sort): (usize, &Sort)| {
                *sort == Sort::Value && facts.get(part) == Some(Known::Bad)
            };
            if !shape.parts.is_empty() && (*first..).zip(&shape.parts).all(bad) {
                let name = || param.name.name.to_string();
                let span = param.name.span;
                self.note(span, What::Result, name, span, Known::Bad);
            }
        }
    }

    fn local(&mut self, decl: &'a Decl, mut before: Before) -> Before {
        let DeclKind::Variable { ty, init } = &decl.kind else {
            return before;
        };
        let ty = self.checked.type_ref(ty.id);
        match init {
            Some(init) => {
                before = self.read(init, before);
                let header = self.validity(init, &before);
                let known = |sort| match sort {
                    Sort::Value => Known::Good,
                    Sort::Header => header,
                };
                self.declare(decl.id, ty, &mut before, &known);
            }
            None => self.declare(decl.id, ty, &mut before, &|_| Known::Bad),
        }
        before
    }

    fn states(&mut self, states: &'a [State], start: Before) {
        let by_name: HashMap<&str, &'a State> = states
            .iter()
            .map(|state| (&*state.name.name, state))
            .collect();
        let mut known: HashMap<&str, Before> = [("start", start)].into_iter().collect();
        let mut waiting = vec!["start"];
        self.silent += 1;
        while let Some(name) = waiting.pop() {
            let (Some(state), Some(before)) = (by_name.get(name), known.get(name)) else {
                continue;
            };
            if self.steps == 0 {
                break;
            }
            let after = self.state(state, before.clone());
            for next in next_states(&state.transition) {
                let old = known.get(next);
                let new = match old {
                    Some(old) => join(old.clone(), after.clone()),
                    None => after.clone(),
                };
                if old != Some(&new) {
                    known.insert(next, new);
                    waiting.push(next);
                }
            }
        }
        self.silent -= 1;
        for state in states {
            if let Some(before) = known.get(&*state.name.name) {
                self.state(state, before.clone());
            }
        }
    }

    fn state(&mut self, state: &'a State, before: Before) -> Before {
        let mut before = self.statements(&state.body, before);
        if let Transition::Select { keys, .. } = &state.transition {
            for key in keys {
                before = self.read(key, before);
            }
        }
        before
    }

    /// A body, which may end at a `return`.
    fn body(&mut self, body: &'a Block, before: Before) -> Before {
        let outer = self.returns.take();
        let after = self.statements(&body.stmts, before);
        let returns = std::mem::replace(&mut self.returns, outer);
        join(after, returns)
    }

    fn statements(&mut self, stmts: &'a [Stmt], mut before: Before) -> Before {
        for stmt in stmts {
            before = self.statement(stmt, before);
        }
        before
    }

    fn statement(&mut self, stmt: &'a Stmt, before: Before) -> Before {
        let Some(facts) = &before else {
            return before;
        };
        if self.steps == 0 {
            return before;
        }
        // What is known is copied at each branch.
        let cost = 1 + (facts.size() / FACTS_PER_STEP) as u32;
        self.steps = self.steps.saturating_sub(cost);
        match &stmt.kind {
            StmtKind::Decl(decl) => self.local(decl, before),
            StmtKind::Call(call) => self.read(call, before),
            StmtKind::Assign { lhs, rhs } => {
                let before = self.indices(lhs, before);
                let before = self.read(rhs, before);
                let header = self.validity(rhs, &before);
                self.write(lhs, before, header)
            }
            StmtKind::AssignOp { lhs, rhs, .. } => {
                let before = self.read(lhs, before);
                let before = self.read(rhs, before);
                self.write(lhs, before, Known::Either)
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                let before = self.read(cond, before);
                let mut taken = before.clone();
                self.assume(cond, true, &mut taken);
                let mut other = before;
                self.assume(cond, false, &mut other);
                let taken = self.statement(then, taken);
                let other = match otherwise {
                    Some(otherwise) => self.statement(otherwise, other),
                    None => other,
                };
                join(taken, other)
            }
            StmtKind::Switch { value, cases } => self.switch(value, cases, before),
            StmtKind::For {
                init,
                cond,
                update,
                body,
            } => {
                let before = self.statements(init, before);
                self.repeat(before, &mut |walker, before| {
                    let before = walker.read(cond, before);
                    let after = walker.round(body, before.clone());
                    (before, walker.statements(update, after))
                })
            }
            StmtKind::ForIn { var, range, body } => {
                let mut before = self.read(range, before);
                if let ForVar::Decl(decl) = var {
                    if let DeclKind::Variable { ty, .. } = &decl.kind {
                        let ty = self.checked.type_ref(ty.id);
                        self.declare(decl.id, ty, &mut before, &|sort| match sort {
                            Sort::Value => Known::Good,
                            Sort::Header => Known::Either,
                        });
                    }
                }
                self.repeat(before, &mut |walker, mut before| {
                    let none = before.clone();
                    if let ForVar::Name(var) = var {
                        before = walker.write(var, before, Known::Either);
                    }
                    (none, walker.round(body, before))
                })
            }
            StmtKind::Break | StmtKind::Continue => {
                if let Some(leaves) = self.leaves.last_mut() {
                    *leaves = join(leaves.take(), before);
                }
                None
            }
            StmtKind::Return(value) => {
                let before = match value {
                    Some(value) => self.read(value, before),
                    None => before,
                };
                self.returns = join(self.returns.take(), before);
                None
            }
            StmtKind::Exit => None,
            StmtKind::Block(inner) => self.statements(&inner.stmts, before),
            StmtKind::Empty => before,
        }
    }

    fn switch(&mut self, value: &'a Expr, cases: &'a [SwitchCase], before: Before) -> Before {
        let before = self.read(value, before);
        let has_default = cases
            .iter()
            .any(|case| matches!(case.label, SwitchLabel::Default(_)));
        let mut after = match has_default {
            true => None,
            false => before.clone(),
        };
        for body in cases.iter().filter_map(|case| case.body.as_ref()) {
            let case = self.statements(&body.stmts, before.clone());
            after = join(after, case);
        }
        // The last labels may have no body.
        match cases.last() {
            Some(last) if last.body.is_none() => join(after, before),
            _ => after,
        }
    }

    /// One round of a loop; what leaves it early ends it, too.
    fn round(&mut self, body: &'a Stmt, before: Before) -> Before {
        self.leaves.push(None);
        let after = self.statement(body, before);
        join(after, self.leaves.pop().flatten())
    }

    /// A loop: `round` gives what is known where it may end and what is known behind a round.
    fn repeat(
        &mut self,
        mut before: Before,
        round: &mut dyn FnMut(&mut Self, Before) -> (Before, Before),
    ) -> Before {
        self.silent += 1;
        for _ in 0..MAX_ROUNDS {
            let (_, after) = round(self, before.clone());
            let new = join(before.clone(), after);
            if new == before {
                break;
            }
            before = new;
        }
        self.silent -= 1;
        let (end, after) = round(self, before);
        join(end, after)
    }

    /// What `isValid()` tells in the branches that depend on it.
    fn assume(&self, cond: &Expr, holds: bool, before: &mut Before) {
        match &cond.kind {
            ExprKind::Unary(UnOp::Not, inner) => self.assume(inner, !holds, before),
            ExprKind::Binary(BinOp::And, a, b) if holds => {
                self.assume(a, true, before);
                self.assume(b, true, before);
            }
            ExprKind::Binary(BinOp::Or, a, b) if !holds => {
                self.assume(a, false, before);
                self.assume(b, false, before);
            }
            ExprKind::Call { func, .. } => {
                let is_valid = matches!(
                    self.checked.calls.get(&cond.id).map(|call| call.kind),
                    Some(CallKind::Builtin(Builtin::IsValid))
                );
                if let (true, ExprKind::Member(header, _)) = (is_valid, &func.kind) {
                    let known = match holds {
                        true => Known::Good,
                        false => Known::Bad,
                    };
                    self.set_header(header, known, before);
                }
            }
            _ => {}
        }
    }

    fn set_header(&self, header: &Expr, known: Known, before: &mut Before) {
        if let (Some(place), Some(facts)) = (self.place(header), before) {
            if let Some(part) = place.part.single() {
                facts.change(part, known);
            }
        }
    }

    /// What an expression names, if no index is in it.
    fn place(&self, expr: &Expr) -> Option<Place<'a>> {
        match &expr.kind {
            ExprKind::Path(_) => {
                let (id, declared) = match self.checked.defs.get(&expr.id)? {
                    Def::Var(decl) => (decl.id, &decl.name),
                    Def::Param(param) => (param.id, &param.name),
                    _ => return None,
                };
                let part = match self.variables.get(&id) {
                    Some((first, shape)) => Part::Whole(*first, Rc::clone(shape)),
                    None => Part::Other,
                };
                Some(Place { declared, part })
            }
            ExprKind::Member(base, member) => {
                let base = self.place(base)?;
                Some(Place {
                    part: base.part.field(&member.name),
                    ..base
                })
            }
            _ => None,
        }
    }

    /// What is known of the validity of a header's value.
    fn validity(&self, expr: &Expr, before: &Before) -> Known {
        let known = || before.as_ref()?.get(self.place(expr)?.part.single()?);
        match expr.kind {
            ExprKind::Invalid => Known::Bad,
            ExprKind::List { .. } | ExprKind::Struct { .. } => Known::Good,
            _ => known().unwrap_or(Known::Either),
        }
    }

    /// Evaluates an expression: reports what it reads, and follows what it calls.
    fn read(&mut self, expr: &'a Expr, mut before: Before) -> Before {
        if before.is_none() {
            return before;
        }
        match &expr.kind {
            ExprKind::Path(_) | ExprKind::Member(..) => {
                if let Some(place) = self.place(expr) {
                    self.read_place(expr, &place, &before);
                    return before;
                }
                if let ExprKind::Member(base, _) = &expr.kind {
                    return self.read(base, before);
                }
                before
            }
            // The right side is evaluated only sometimes; its own conditions hold there.
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), a, b) => {
                before = self.read(a, before);
                let mut inner = before.clone();
                self.assume(a, *op == BinOp::And, &mut inner);
                let after = self.read(b, inner);
                join(after, before)
            }
            ExprKind::Conditional(cond, a, b) => {
                before = self.read(cond, before);
                let mut taken = before.clone();
                self.assume(cond, true, &mut taken);
                let taken = self.read(a, taken);
                let mut other = before.clone();
                self.assume(cond, false, &mut other);
                let other = self.read(b, other);
                join(taken, other)
            }
            _ => {
                if let Some(call) = self.checked.calls.get(&expr.id) {
                    return self.call(expr, call, before);
                }
                for child in expr.children() {
                    before = self.read(child, before);
                }
                before
            }
        }
    }

    fn read_place(&mut self, expr: &'a Expr, place: &Place<'a>, before: &Before) {
        let Some(facts) = before else { return };
        let (what, known) = match &place.part {
            Part::Other => return,
            Part::InHeader(header) => match facts.get(*header) {
                Some(known) => (What::Field, known),
                None => return,
            },
            Part::Whole(first, shape) => {
                if shape.parts.contains(&Sort::Header) {
                    return;
                }
                // Of a struct that is read, something must have a value.
                let parts = *first..first + shape.parts.len();
                let mut known = parts.filter_map(|part| facts.get(part));
                match (shape.as_single(), known.next()) {
                    (_, None) => return,
                    (Some(_), Some(known)) => (What::Value, known),
                    (None, Some(Known::Bad)) if known.all(|one| one == Known::Bad) => {
                        (What::Value, Known::Bad)
                    }
                    (None, Some(_)) => (What::Value, Known::Good),
                }
            }
        };
        let name = || written(expr, place);
        self.note(expr.span, what, name, place.declared.span, known);
    }

    fn note(
        &mut self,
        span: Span,
        what: What,
        name: impl FnOnce() -> String,
        declared: Span,
        known: Known,
    ) {
        if self.silent > 0 {
            return;
        }
        self.reads
            .entry(span)
            .and_modify(|read| read.known = read.known.join(known))
            .or_insert_with(|| Read {
                what,
                name: name(),
                declared,
                known,
            });
    }

    /// Indices and slice bounds on the left of an assignment are read.
    fn indices(&mut self, lhs: &'a Expr, mut before: Before) -> Before {
        match &lhs.kind {
            ExprKind::Index(base, index) => {
                before = self.indices(base, before);
                self.read(index, before)
            }
            ExprKind::Member(base, _) => {
                if let (Some(place), Some(facts)) = (self.place(lhs), &before) {
                    if let Part::InHeader(header) = place.part {
                        if let Some(known) = facts.get(header) {
                            let name = || written(lhs, &place);
                            self.note(lhs.span, What::Field, name, place.declared.span, known);
                        }
                    }
                }
                self.indices(base, before)
            }
            ExprKind::Slice(base, ..) | ExprKind::PlusSlice(base, ..) => self.indices(base, before),
            _ => before,
        }
    }

    /// Everything in the place has a value from here on; if it is a header, it is `header`.
    fn write(&mut self, lhs: &'a Expr, mut before: Before, header: Known) -> Before {
        if let ExprKind::Slice(base, ..) | ExprKind::PlusSlice(base, ..) = &lhs.kind {
            return self.write(base, before, header);
        }
        let (Some(place), Some(facts)) = (self.place(lhs), before.as_mut()) else {
            return before;
        };
        if let Part::Whole(first, shape) = place.part {
            for (part, sort) in (first..).zip(&shape.parts) {
                let new = match sort {
                    Sort::Value => Known::Good,
                    Sort::Header if shape.as_single().is_some() => header,
                    Sort::Header => Known::Either,
                };
                facts.change(part, new);
            }
        }
        before
    }

    fn call(&mut self, expr: &'a Expr, call: &CallInfo<'a>, mut before: Before) -> Before {
        let ExprKind::Call { func, args, .. } = &expr.kind else {
            return before;
        };
        if let (CallKind::Builtin(builtin), ExprKind::Member(base, _)) = (call.kind, &func.kind) {
            for arg in args {
                before = self.read(&arg.value, before);
            }
            match builtin {
                Builtin::SetValid => self.set_header(base, Known::Good, &mut before),
                Builtin::SetInvalid => self.set_header(base, Known::Bad, &mut before),
                _ => {}
            }
            return before;
        }
        let Some(params) = parameters_of(call.kind) else {
            if let CallKind::TableApply(table) = call.kind {
                return self.table(table, before);
            }
            return before;
        };
        let bound = |index: usize| -> Option<&'a Expr> {
            let arg = (*call.args.get(index)?)?;
            args.get(arg).map(|arg| &arg.value)
        };
        for (index, param) in params.iter().enumerate() {
            let Some(arg) = bound(index) else { continue };
            before = match param.direction {
                Direction::Out => self.indices(arg, before),
                _ => self.read(arg, before),
            };
        }
        if let CallKind::Action(action) = call.kind {
            before = self.action(action, before);
        }
        let extracts = is_extract(call.kind);
        for (index, param) in params.iter().enumerate() {
            let Some(arg) = bound(index) else { continue };
            if matches!(param.direction, Direction::Out | Direction::InOut) {
                let header = match extracts {
                    true => Known::Good,
                    false => Known::Either,
                };
                before = self.write(arg, before, header);
            }
        }
        before
    }

    fn action(&mut self, action: &'a Decl, mut before: Before) -> Before {
        let DeclKind::Action { params, body } = &action.kind else {
            return before;
        };
        if self.actions >= MAX_ACTIONS || self.steps == 0 {
            self.steps = 0;
            return before;
        }
        self.actions += 1;
        self.parameters(params, &mut before);
        let leaves = std::mem::take(&mut self.leaves);
        let after = self.body(body, before);
        self.leaves = leaves;
        self.actions -= 1;
        after
    }

    /// A table reads its key and executes one of its actions.
    fn table(&mut self, table: &'a Decl, mut before: Before) -> Before {
        let DeclKind::Table(properties) = &table.kind else {
            return before;
        };
        let mut after: Option<Before> = None;
        for property in properties {
            if let PropertyValue::Key(keys) = &property.value {
                for key in keys {
                    before = self.read(&key.expr, before);
                }
            }
        }
        for property in properties {
            let PropertyValue::Actions(actions) = &property.value else {
                continue;
            };
            for reference in actions {
                let one = self.listed_action(reference, before.clone());
                after = Some(match after {
                    Some(after) => join(after, one),
                    None => one,
                });
            }
        }
        after.unwrap_or(before)
    }

    fn listed_action(&mut self, reference: &'a ActionRef, mut before: Before) -> Before {
        let Some(action) = self.checked.action_refs.get(&reference.id).copied() else {
            return before;
        };
        let DeclKind::Action { params, .. } = &action.kind else {
            return before;
        };
        let args = reference.args.as_deref().unwrap_or_default();
        for arg in args {
            before = self.indices(&arg.value, before);
        }
        before = self.action(action, before);
        for (param, arg) in params.iter().zip(args) {
            if matches!(param.direction, Direction::Out | Direction::InOut) {
                before = self.write(&arg.value, before, Known::Either);
            }
        }
        before
    }
}

fn next_states(transition: &Transition) -> Vec<&str> {
    match transition {
        Transition::Missing(_) => Vec::new(),
        Transition::Direct(next) => vec![&*next.name],
        Transition::Select { cases, .. } => cases.iter().map(|c| &*c.next.name).collect(),
    }
}

fn parameters_of<'a>(kind: CallKind<'a>) -> Option<&'a [Param]> {
    let decl = match kind {
        CallKind::Action(decl)
        | CallKind::Function(decl)
        | CallKind::ExternFunction(decl)
        | CallKind::BlockApply(decl)
        | CallKind::TypeApply(decl)
        | CallKind::Method { method: decl, .. } => decl,
        CallKind::TableApply(_) | CallKind::Construct(_) | CallKind::Builtin(_) => return None,
    };
    match &decl.kind {
        DeclKind::Action { params, .. } | DeclKind::Function { params, .. } => Some(params),
        DeclKind::ExternFunction(proto) | DeclKind::Method { proto, .. } => Some(&proto.params),
        DeclKind::Parser { proto, .. }
        | DeclKind::Control { proto, .. }
        | DeclKind::ParserType(proto)
        | DeclKind::ControlType(proto) => Some(&proto.params),
        _ => None,
    }
}

fn is_extract(kind: CallKind<'_>) -> bool {
    matches!(kind, CallKind::Method { object, method }
        if &*object.name.name == "packet_in" && &*method.name.name == "extract")
}

fn written(expr: &Expr, place: &Place<'_>) -> String {
    match &expr.kind {
        ExprKind::Member(base, field) => format!("{}.{}", written(base, place), field.name),
        _ => place.declared.name.to_string(),
    }
}
