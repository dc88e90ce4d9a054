//! What parsers and deparsers can do in the language and not on the chip: they have no arithmetic,
//! no `verify`, and conditions only of what leaves beside the packet.

use super::program::{Blocks, Role};
use super::tna::extern_of;
use super::tofino::written_path;
use super::walk::{self, Node, Place};
use super::{constant, Findings};
use crate::{CallKind, Checked, Def};
use p4_syntax::ast::*;

pub(super) fn lint<'a>(checked: &Checked<'a>, blocks: &Blocks<'a>, found: &mut Findings) {
    let mut lints = Parde { checked, found };
    walk::program(&checked.program.decls, blocks, &mut |node, place| {
        if place.role == Role::Parser {
            match node {
                Node::Stmt(stmt) => lints.assignment(stmt),
                Node::Expr(expr) => lints.verify(expr, place),
                Node::Decl(_) | Node::State(_) => {}
            }
        }
    });
    for (role, block) in &blocks.top {
        if *role == Role::Deparser {
            lints.deparser(block, false, 0);
        }
    }
}

struct Parde<'c, 'a> {
    checked: &'c Checked<'a>,
    found: &'c mut Findings,
}

impl<'a> Parde<'_, 'a> {
    fn verify(&mut self, expr: &Expr, place: Place<'_>) {
        let called = self.checked.calls.get(&expr.id).map(|call| call.kind);
        let Some(CallKind::ExternFunction(function)) = called else {
            return;
        };
        if &*function.name.name == "verify" && place.routine.is_none() {
            self.found.warn(
                "W0740",
                expr.span,
                "not portable to Tofino: its parsers have no `verify`, so the packet goes on there",
                "look at the value in ingress, and drop the packet there; the chip's compiler warns `Parser \"verify\" is currently unsupported`, and leaves the call out",
            );
        }
    }

    /// A parser can copy what it has read, bits of it, and constants. Variables of the parser are the
    /// compiler's, which may need no place for them.
    fn assignment(&mut self, stmt: &Stmt) {
        let (lhs, computed) = match &stmt.kind {
            StmtKind::Assign { lhs, rhs } => (lhs, self.computes(rhs).then_some(rhs.span)),
            StmtKind::AssignOp { op, lhs, .. } => (lhs, no_operation(*op).then_some(stmt.span)),
            _ => return,
        };
        let is_field = matches!(lhs.kind, ExprKind::Member(..)) && written_path(lhs).is_some();
        if let (true, Some(span)) = (is_field, computed) {
            self.found.warn(
                "W0742",
                span,
                "not portable to Tofino: its parsers do not compute, they copy fields, bits of fields and constants",
                "compute it in ingress or egress; the chip's compiler says `Assignment source cannot be evaluated in the parser`",
            );
        }
    }

    fn computes(&self, rhs: &Expr) -> bool {
        let known = constant(self.checked, rhs).is_some();
        match &rhs.kind {
            ExprKind::Binary(op, ..) => !known && no_operation(*op),
            ExprKind::Unary(UnOp::Neg | UnOp::Complement, _) => !known,
            ExprKind::Cast(_, inner) => self.computes(inner),
            _ => false,
        }
    }

    fn deparser(&mut self, block: &'a Decl, in_if: bool, depth: u32) {
        const DEEPEST: u32 = 16;
        if let (DeclKind::Control { apply, .. }, true) = (&block.kind, depth < DEEPEST) {
            self.block(apply, in_if, depth);
        }
    }

    fn block(&mut self, block: &'a Block, in_if: bool, depth: u32) {
        for stmt in &block.stmts {
            self.statement(stmt, in_if, depth);
        }
    }

    fn statement(&mut self, stmt: &'a Stmt, in_if: bool, depth: u32) {
        match &stmt.kind {
            StmtKind::Block(inner) => self.block(inner, in_if, depth),
            StmtKind::If {
                then, otherwise, ..
            } => {
                self.statement(then, true, depth);
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise, true, depth);
                }
            }
            StmtKind::Call(call) => match self.checked.calls.get(&call.id).map(|c| c.kind) {
                Some(CallKind::BlockApply(inner) | CallKind::TypeApply(inner)) => {
                    self.deparser(inner, in_if, depth + 1)
                }
                Some(CallKind::Method { object, method }) => {
                    self.sent(call, &object.name.name, &method.name.name, in_if)
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn sent(&mut self, call: &Expr, object: &str, method: &str, in_if: bool) {
        match (object, method, in_if) {
            ("packet_out", "emit", true) => self.found.warn(
                "W0737",
                call.span,
                "not portable to Tofino: its deparsers emit without conditions",
                "call `setInvalid()` in the control: `emit` leaves out headers that are not valid; the chip's compiler says `Conditional emit ... not supported`",
            ),
            ("Mirror" | "Resubmit", "emit", false) | ("Digest", "pack", false) => {
                self.always(call, object, method)
            }
            _ => {}
        }
    }

    /// Without a number of its own, such an extern needs the `if` that says which type it is for.
    fn always(&mut self, call: &Expr, object: &str, method: &str) {
        if self.has_type(call, object) {
            return;
        }
        let field = format!("{}_type", object.to_lowercase());
        self.found.warn(
            "W0741",
            call.span,
            format!("not portable to Tofino: `{object}.{method}` needs an `if` around it there"),
            format!("write `if (dprsr.{field} == 1) {{ ... }}`, and set the type in the control; the chip's compiler says `Unsupported unconditional`"),
        );
    }

    /// Whether the instance was made with the type that it is for.
    fn has_type(&self, call: &Expr, object: &str) -> bool {
        let ExprKind::Call { func, .. } = &call.kind else {
            return true;
        };
        let ExprKind::Member(base, _) = &func.kind else {
            return true;
        };
        let Some(Def::Instance(instance)) = self.checked.defs.get(&base.id) else {
            return true;
        };
        let DeclKind::Instance { args, .. } = &instance.kind else {
            return true;
        };
        extern_of(self.checked, instance.id) != Some(object) || !args.is_empty()
    }
}

/// Operations that a parser never has. Shifts by constants are bits of a field, and `|` adds to it.
fn no_operation(op: BinOp) -> bool {
    matches!(
        op,
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::AddSat | BinOp::SubSat | BinOp::BitXor
    )
}
