//! Statements.

use super::layout::ShapeKind;
use super::lvalue::Loc;
use super::{LoopJumps, Lowerer};
use crate::ir::*;
use p4_check::types::{Kind, Type};
use p4_check::value::Value;
use p4_syntax::ast::{BinOp, Block, Decl, DeclKind, Expr, ExprKind, ForVar, Stmt, StmtKind};

impl<'a> Lowerer<'a, '_> {
    pub(super) fn block(&mut self, block: &'a Block) {
        self.statements(&block.stmts);
    }

    pub(super) fn statements(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            self.statement(stmt);
        }
    }

    /// One statement; its scratch is free again afterwards.
    fn statement(&mut self, stmt: &'a Stmt) {
        if self.overgrown {
            return;
        }
        let mark = self.chunks[self.current].scratch_top;
        let outer = std::mem::replace(&mut self.span, stmt.span);
        self.statement_inner(stmt);
        self.span = outer;
        self.chunks[self.current].scratch_top = mark;
    }

    fn statement_inner(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Empty => {}
            StmtKind::Decl(decl) => self.local(decl),
            StmtKind::Call(call) => {
                self.call_statement(call);
            }
            StmtKind::Assign { lhs, rhs } => self.assign(lhs, rhs),
            StmtKind::AssignOp { op, lhs, rhs } => self.assign_op(*op, lhs, rhs),
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => self.if_stmt(cond, then, otherwise.as_deref()),
            StmtKind::Switch { value, cases } => self.switch(value, cases),
            StmtKind::For {
                init,
                cond,
                update,
                body,
            } => self.for_loop(init, cond, update, body),
            StmtKind::ForIn { var, range, body } => self.for_in(var, range, body),
            StmtKind::Break => {
                let at = self.emit(Op::Jmp { t: 0 });
                if let Some(jumps) = self.chunks[self.current].loops.last_mut() {
                    jumps.breaks.push(at);
                }
            }
            StmtKind::Continue => {
                let at = self.emit(Op::Jmp { t: 0 });
                if let Some(jumps) = self.chunks[self.current].loops.last_mut() {
                    jumps.continues.push(at);
                }
            }
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    let s = self.value(value);
                    if let Some((d, ty)) = self.env.result.clone() {
                        let n = self.words_of(&ty);
                        self.move_words(d, s, n);
                    }
                }
                self.jump_to_end();
            }
            StmtKind::Exit => {
                let one = self.number(1);
                self.emit(Op::Mov {
                    d: self.exit_flag,
                    s: one,
                });
                self.chunks[self.current].may_exit = true;
                self.jump_to_end();
            }
            StmtKind::Block(block) => self.block(block),
        }
    }

    /// A declaration among statements, or at the top of a parser or control.
    pub(super) fn local(&mut self, decl: &'a Decl) {
        match &decl.kind {
            DeclKind::Variable { ty, init } => {
                let ty = self.type_ref(ty);
                let n = self.words_of(&ty);
                let slot = self.alloc(n);
                self.name_vars(&decl.name.name, &ty, slot, decl.name.span);
                self.env.places.insert(decl.id, Loc::at(slot, ty));
                match init {
                    Some(init) => {
                        let s = self.value(init);
                        self.move_words(slot, s, n);
                    }
                    None if n > 0 => {
                        self.emit(Op::Undefine { d: slot, n });
                    }
                    None => {}
                }
            }
            DeclKind::Const { .. } => {}
            DeclKind::Instance { args, body, .. } => {
                self.local_instance(decl, args, body.as_deref())
            }
            DeclKind::Table(properties) => self.table(decl, properties),
            DeclKind::ValueSet { element, size } => self.value_set(decl, element, size),
            // Lowered where they are used
            DeclKind::Action { .. } | DeclKind::Function { .. } => {}
            _ => self.refuse(
                "E0603",
                decl.span,
                "this declaration cannot be executed here",
            ),
        }
    }

    fn assign(&mut self, lhs: &'a Expr, rhs: &'a Expr) {
        if self.index_comes_late(lhs, rhs) {
            let s = self.value(rhs);
            if let Some(place) = self.place(lhs) {
                return self.write(&place, s);
            }
        }
        // The left side's indices come first, then the right side.
        let Some(place) = self.place(lhs) else {
            return self.refuse(
                "E0603",
                lhs.span,
                "this place cannot be written at run time",
            );
        };
        if let (ExprKind::List { .. } | ExprKind::Struct { .. }, Loc::Static { slot, ty, .. }) =
            (&rhs.kind, &place)
        {
            // Writing a list to an invalid header makes it valid, which an architecture may count.
            if ty.is_kind(Kind::Header) {
                let s = self.value(rhs);
                let layout = self.header_layout(ty);
                self.emit(Op::SetValid {
                    layout,
                    base: *slot,
                });
                if self.literal_is_lost(lhs, rhs) {
                    let (d, s) = (*slot, self.number(0));
                    self.emit(Op::Mov { d, s });
                    return;
                }
                self.write(&place, s);
                return;
            }
        }
        let s = self.value(rhs);
        if let (true, Loc::Static { slot, ty, .. }) = (self.binding.as_bmv2(), &place) {
            if ty.is_kind(Kind::Header) {
                // The fields of an invalid header are not copied by bmv2.
                let n = self.words_of(ty) as u16;
                let (d, c) = (*slot, s);
                self.emit(Op::MovNIf { d, s, c, n });
                self.emit(Op::Mov { d, s });
                return;
            }
        }
        self.write(&place, s);
    }

    fn assign_op(&mut self, op: BinOp, lhs: &'a Expr, rhs: &'a Expr) {
        let early = self.index_comes_late(lhs, rhs).then(|| self.value(rhs));
        let Some(place) = self.place(lhs) else {
            return self.refuse(
                "E0603",
                lhs.span,
                "this place cannot be written at run time",
            );
        };
        let ty = place.ty();
        let right_type = self.target_type(rhs);
        let (left, right) = if self.binding.as_bmv2() {
            // p4c evaluates what may have side effects first.
            let right = early.unwrap_or_else(|| self.value(rhs));
            (self.read(&place), right)
        } else {
            let old = self.read(&place);
            let n = self.words_of(&ty);
            let left = self.scratch(n);
            self.move_words(left, old, n);
            (left, self.value(rhs))
        };
        let result = self.binary_op(op, left, &ty, right, &right_type, &ty);
        self.write(&place, result);
    }

    fn if_stmt(&mut self, cond: &'a Expr, then: &'a Stmt, otherwise: Option<&'a Stmt>) {
        if let Some(p4_check::value::Value::Bool(known)) = self.eval(cond) {
            match (known, otherwise) {
                (true, _) => self.statement(then),
                (false, Some(otherwise)) => self.statement(otherwise),
                (false, None) => {}
            }
            return;
        }
        let skips = self.branch(cond, false);
        self.statement(then);
        let done = otherwise.map(|_| self.emit(Op::Jmp { t: 0 }));
        for skip in skips {
            self.patch(skip);
        }
        if let (Some(otherwise), Some(done)) = (otherwise, done) {
            self.statement(otherwise);
            self.patch(done);
        }
    }

    fn for_loop(&mut self, init: &'a [Stmt], cond: &'a Expr, update: &'a [Stmt], body: &'a Stmt) {
        if self.binding.as_bmv2() {
            return self.body_alone(init, body);
        }
        self.statements(init);
        let top = self.label();
        let out = self.branch(cond, false);
        let jumps = self.loop_body(body);
        let next = self.label();
        for at in jumps.continues {
            self.patch_to(at, next);
        }
        self.statements(update);
        self.emit(Op::Jmp { t: top as Pc });
        for at in out.into_iter().chain(jumps.breaks) {
            self.patch(at);
        }
    }

    /// p4c for bmv2 emits the body of a loop once, without initialisation, test and step.
    fn body_alone(&mut self, init: &'a [Stmt], body: &'a Stmt) {
        for stmt in init {
            let StmtKind::Decl(decl) = &stmt.kind else {
                continue;
            };
            self.local(decl);
            if let Some(Loc::Static { slot, ty, .. }) = self.env.places.get(&decl.id).cloned() {
                let n = self.words_of(&ty);
                self.emit(Op::Zero { d: slot, n });
            }
        }
        let jumps = self.loop_body(body);
        for at in jumps.continues.into_iter().chain(jumps.breaks) {
            self.patch(at);
        }
    }

    fn loop_body(&mut self, body: &'a Stmt) -> LoopJumps {
        self.chunks[self.current].loops.push(LoopJumps::default());
        self.statement(body);
        self.chunks[self.current].loops.pop().unwrap_or_default()
    }

    fn for_in(&mut self, var: &'a ForVar, range: &'a Expr, body: &'a Stmt) {
        let place = match var {
            ForVar::Decl(decl) => {
                self.local(decl);
                self.env.places.get(&decl.id).cloned()
            }
            ForVar::Name(name) => self.place(name),
        };
        let Some(place) = place else { return };
        let ty = place.ty();
        if let ExprKind::Range(lo, hi) = &range.kind {
            let (lo, hi) = (self.value_copy(lo), self.value_copy(hi));
            return self.count(&place, &ty, lo, hi, body);
        }
        let mut breaks = Vec::new();
        for element in self.elements(range) {
            if self.overgrown {
                break;
            }
            self.write(&place, element);
            let jumps = self.loop_body(body);
            for at in jumps.continues {
                self.patch(at);
            }
            breaks.extend(jumps.breaks);
        }
        for at in breaks {
            self.patch(at);
        }
    }

    /// The slots of what a loop runs over, in copies that its body does not change.
    fn elements(&mut self, range: &'a Expr) -> Vec<Slot> {
        let ty = self.target_type(range);
        if let Type::List(element) = &ty {
            return self.listed(range, element);
        }
        let slot = self.value_copy(range);
        let shape = self.shape(&ty);
        match &shape.kind {
            ShapeKind::Stack {
                count,
                first,
                stride,
                ..
            } => (0..*count).map(|i| slot + first + i * stride).collect(),
            ShapeKind::Struct(fields) => fields.iter().map(|(_, at, _)| slot + at).collect(),
            _ => Vec::new(),
        }
    }

    /// The items of a list: a constant, a parameter of a constructor, or written in place.
    fn listed(&mut self, list: &'a Expr, element: &Type) -> Vec<Slot> {
        if let Some(Value::List(items)) = self.eval(list) {
            let slots = items.iter().map(|item| self.materialize(item, element));
            if let Some(slots) = slots.collect() {
                return slots;
            }
        }
        let mut written = list;
        while let ExprKind::Cast(_, inner) = &written.kind {
            written = inner;
        }
        let ExprKind::List { items, .. } = &written.kind else {
            self.refuse("E0603", list.span, "this list is not known at compile time");
            return Vec::new();
        };
        items.iter().map(|item| self.value_copy(item)).collect()
    }

    /// `for (x in lo .. hi)`, both ends included; ends before the counter could wrap.
    fn count(&mut self, place: &Loc, ty: &Type, lo: Slot, hi: Slot, body: &'a Stmt) {
        let width = self.width_of(ty);
        let signed = matches!(self.checked.underlying(ty), Type::Signed(_));
        let n = words(width);
        let counter = self.scratch(n);
        self.move_words(counter, lo, n);
        let c = self.scratch(1);
        self.alu(
            if signed { Alu::LeS } else { Alu::Le },
            width,
            c,
            counter,
            hi,
        );
        let none = self.emit(Op::JmpIfNot { c, t: 0 });
        let top = self.label();
        self.write(place, counter);
        let jumps = self.loop_body(body);
        for at in jumps.continues {
            self.patch(at);
        }
        let last = self.scratch(1);
        self.alu(Alu::Eq, width, last, counter, hi);
        let done = self.emit(Op::JmpIf { c: last, t: 0 });
        let mut unit = vec![0; n as usize];
        unit[0] = 1;
        let one = self.constant(&unit);
        self.alu(Alu::Add, width, counter, counter, one);
        self.emit(Op::Jmp { t: top as Pc });
        self.patch(none);
        self.patch(done);
        for at in jumps.breaks {
            self.patch(at);
        }
    }
}
