//! What hashes are of, which clients of a Tofino may change.

use crate::build::Builder;
use crate::model::{HashField, Hashed};
use crate::program::FunctionCall;
use num_traits::ToPrimitive;
use p4_syntax::ast::{BinOp, Expr, ExprKind};
use std::collections::BTreeMap;

impl<'a> Builder<'a, '_> {
    /// Notes the fields of hashes that the program asks for in one place; bf-p4c shows its clients no
    /// others.
    pub fn hashes(&mut self, methods: &[FunctionCall<'a>]) {
        let mut calls: BTreeMap<String, Vec<&FunctionCall<'a>>> = BTreeMap::new();
        for call in methods.iter().filter(|call| &*call.decl.name.name == "get") {
            let ExprKind::Call { func, .. } = &call.expr.kind else {
                continue;
            };
            let ExprKind::Member(base, _) = &func.kind else {
                continue;
            };
            let item = self.program.extern_named(&call.env, base);
            let Some(item) = item.filter(|own| &*own.extern_type.name.name == "Hash") else {
                continue;
            };
            let known = calls.entry(item.name.clone()).or_default();
            if !known.iter().any(|own| own.expr.id == call.expr.id) {
                known.push(call);
            }
        }
        for (name, calls) in calls {
            let [call] = calls.as_slice() else { continue };
            let fields = self.hashed(call);
            let upper = call
                .upper
                .and_then(|expr| self.program.eval(&call.env, expr));
            let upper = upper.and_then(|value| value.as_int()?.to_u32());
            let width = upper.map(|upper| upper + 1);
            let mut externs = self.info.externs.iter_mut();
            if let Some(own) = externs.find(|own| own.extern_type == "Hash" && own.name == name) {
                own.hashed = Some(Hashed { fields, width });
            }
        }
    }

    fn hashed(&mut self, call: &FunctionCall<'a>) -> Vec<HashField> {
        let ExprKind::Call { args, .. } = &call.expr.kind else {
            return Vec::new();
        };
        let mut parts: Vec<&'a Expr> = Vec::new();
        match args.first().map(|arg| &arg.value.kind) {
            Some(ExprKind::List { items, .. } | ExprKind::Tuple(items)) => {
                items.iter().for_each(|item| joined(item, &mut parts));
            }
            Some(ExprKind::Struct { fields, .. }) => {
                fields.iter().for_each(|(_, item)| joined(item, &mut parts));
            }
            _ => {}
        }
        let field = |expr: &&'a Expr| {
            let value = self.program.eval(&call.env, expr);
            let number = value.and_then(|value| value.as_int().cloned());
            let ty = self.program.checked.expr_type(expr.id);
            let ty = self.program.concrete(&call.env, ty);
            Some(HashField {
                is_constant: number.is_some(),
                name: match number {
                    Some(number) => number.to_string(),
                    None => self.program.key_name(&call.env, expr)?,
                },
                data: self.types.describe(&ty, expr.span),
            })
        };
        parts.iter().filter_map(field).collect()
    }
}

/// The parts of `a ++ b`.
fn joined<'a>(expr: &'a Expr, parts: &mut Vec<&'a Expr>) {
    match &expr.kind {
        ExprKind::Binary(BinOp::Concat, first, second) => {
            joined(first, parts);
            joined(second, parts);
        }
        _ => parts.push(expr),
    }
}
