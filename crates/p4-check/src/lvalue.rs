//! Places that can be written (specification 6.7).

use crate::types::Type;
use crate::{Checker, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;

impl<'a> Checker<'a> {
    /// Whether `expr` denotes a place that can be written, by its form and the directions of
    /// parameters; says why not otherwise.
    pub(crate) fn lvalue(&mut self, expr: &'a Expr) -> bool {
        match &expr.kind {
            ExprKind::Path(path) => match self.out.defs.get(&expr.id).copied() {
                Some(Def::Var(_)) => true,
                Some(Def::Param(param))
                    if matches!(param.direction, Direction::Out | Direction::InOut) =>
                {
                    true
                }
                Some(Def::Param(param)) => {
                    // What has no direction is an action's data or a constructor parameter, for which
                    // `inout` is no way out: no entry and no constructor could give it.
                    let name = &path.ident.name;
                    let (how, hint) = if param.direction == Direction::In {
                        let hint = "declare it `inout`, or copy it to a variable first";
                        ("is `in`", hint.to_string())
                    } else {
                        let ty = self.out.type_ref(param.ty.id).written();
                        let hint =
                            format!("copy it to a variable and change that: `{ty} copy = {name};`");
                        ("has no direction", hint)
                    };
                    self.report(
                        Diagnostic::error(
                            "E0324",
                            expr.span,
                            format!("`{name}` cannot be changed: the parameter {how}"),
                        )
                        .label(param.name.span, "declared here")
                        .hint(hint),
                    );
                    false
                }
                Some(Def::Const(decl)) => {
                    self.report(
                        Diagnostic::error(
                            "E0324",
                            expr.span,
                            format!("`{}` is a constant and cannot be changed", path.ident.name),
                        )
                        .label(decl.name.span, "declared here"),
                    );
                    false
                }
                None => false,
                Some(other) => {
                    self.report(
                        Diagnostic::error(
                            "E0324",
                            expr.span,
                            format!("`{}` cannot be assigned to", path.ident.name),
                        )
                        .label(other.span(), "declared here"),
                    );
                    false
                }
            },
            ExprKind::Member(base, member) => {
                let base_type = self.out.expr_type(base.id).clone();
                match base_type {
                    Type::Unknown => false,
                    Type::Stack(..) if matches!(&*member.name, "lastIndex" | "size") => {
                        self.error(
                            "E0324",
                            expr.span,
                            format!("`.{}` of a stack cannot be assigned to", member.name),
                        );
                        false
                    }
                    Type::TypeName(_) | Type::TableResult(_) => {
                        self.error(
                            "E0324",
                            expr.span,
                            "this is not a place that can be written",
                        );
                        false
                    }
                    _ => self.lvalue(base),
                }
            }
            ExprKind::Index(base, _)
            | ExprKind::Slice(base, ..)
            | ExprKind::PlusSlice(base, ..) => self.lvalue(base),
            _ => {
                if *self.out.expr_type(expr.id) != Type::Unknown {
                    self.error(
                        "E0324",
                        expr.span,
                        "this is a value, not a place that can be written",
                    );
                }
                false
            }
        }
    }
}
