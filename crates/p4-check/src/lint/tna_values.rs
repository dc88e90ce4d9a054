//! Values that the compiler for Tofino cannot make, or lays out in another way: port metadata, and
//! truth values that are computed outside of conditions.

use super::program::{Blocks, Role};
use super::walk::{self, Node, Place};
use super::Findings;
use crate::types::Type;
use crate::{CallKind, Checked};
use p4_syntax::ast::*;

const PORT_METADATA_BITS: u64 = 64;

pub(super) fn lint<'a>(checked: &Checked<'a>, blocks: &Blocks<'a>, found: &mut Findings) {
    let mut lints = Values { checked, found };
    walk::program(
        &checked.program.decls,
        blocks,
        &mut |node, place| match node {
            Node::Expr(expr) => lints.port_metadata(expr),
            Node::Stmt(stmt) => lints.truth(stmt, place),
            Node::Decl(_) | Node::State(_) => {}
        },
    );
}

struct Values<'c, 'a> {
    checked: &'c Checked<'a>,
    found: &'c mut Findings,
}

impl Values<'_, '_> {
    /// The compiler gives each field whole bytes; those that are `@padding` fill up what is left.
    fn port_metadata(&mut self, expr: &Expr) {
        let Some(call) = self.checked.calls.get(&expr.id) else {
            return;
        };
        let CallKind::ExternFunction(function) = call.kind else {
            return;
        };
        let Some(ty @ Type::Named(_, _, name, _)) = call.type_args.first() else {
            return;
        };
        if &*function.name.name != "port_metadata_unpack" {
            return;
        }
        let fields = self.checked.fields_of(ty).unwrap_or_default();
        let own = fields.iter().filter(|(_, _, annotations)| {
            !annotations.iter().any(|one| &*one.name.name == "padding")
        });
        let size = |field: &Type| self.checked.size_in_bits(field).map_or(0, |(_, most)| most);
        let bits: u64 = own.map(|(_, field, _)| size(field).div_ceil(8) * 8).sum();
        if bits > PORT_METADATA_BITS {
            self.found.warn(
                "W0734",
                expr.span,
                format!("not portable to Tofino: the fields of `{name}` take {bits} bits there, each in whole bytes, and port metadata have {PORT_METADATA_BITS}"),
                "write `@padding` before fields that only fill up; the chip's compiler says `Wrong port metadata field packing size`",
            );
        }
    }

    /// An action has no operation that gives a truth value.
    fn truth(&mut self, stmt: &Stmt, place: Place<'_>) {
        let StmtKind::Assign { rhs, .. } = &stmt.kind else {
            return;
        };
        if !matches!(place.role, Role::Ingress | Role::Egress) || place.in_method {
            return;
        }
        let computed = match &rhs.kind {
            ExprKind::Unary(UnOp::Not, _) => true,
            ExprKind::Binary(op, ..) => matches!(
                op,
                BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge
            ),
            _ => false,
        };
        if computed && matches!(self.checked.expr_type(rhs.id), Type::Bool) {
            self.found.warn(
                "W0735",
                rhs.span,
                "not portable to Tofino: a truth value can only be computed in a condition there",
                "assign constants in the branches of an `if`; the chip's compiler says `source of modify_field invalid`",
            );
        }
    }
}
