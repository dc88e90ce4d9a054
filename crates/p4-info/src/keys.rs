//! Names of keys without `@name`, as p4c derives them from the expressions.

use crate::program::{Env, Program};
use num_bigint::BigInt;
use p4_check::types::Type;
use p4_check::Def;
use p4_syntax::ast::*;

impl<'a> Program<'a, '_> {
    /// The name of a part of a key; `None` for an expression that cannot serve as a name.
    pub fn key_name(&self, env: &Env<'a>, expr: &'a Expr) -> Option<String> {
        Some(match &expr.kind {
            ExprKind::Path(path) => match self.checked.defs.get(&expr.id) {
                // Constants stand for their values.
                Some(Def::Const(_)) => match self.eval(env, expr) {
                    Some(value) => value.as_int()?.to_string(),
                    None => path.ident.name.to_string(),
                },
                _ => path.ident.name.to_string(),
            },
            ExprKind::Int { value, .. } => {
                in_base_of(self.sources.snippet(expr.span)).map_or(value.to_string(), |f| f(value))
            }
            ExprKind::This => "this".into(),
            ExprKind::Member(base, member) => {
                let field = self.field_name(base, member);
                match field.strip_prefix('.') {
                    Some(absolute) => absolute.to_string(),
                    None => format!("{}.{field}", self.key_name(env, base)?),
                }
            }
            ExprKind::Index(base, index) => format!(
                "{}[{}]",
                self.key_name(env, base)?,
                self.key_name(env, index)?
            ),
            ExprKind::Slice(base, hi, lo) => format!(
                "{}[{}:{}]",
                self.key_name(env, base)?,
                self.key_name(env, hi)?,
                self.key_name(env, lo)?
            ),
            ExprKind::Binary(BinOp::BitAnd, a, b) => {
                format!("{} & {}", self.key_name(env, a)?, self.key_name(env, b)?)
            }
            ExprKind::Call { func, args, .. } if args.is_empty() => match &func.kind {
                ExprKind::Member(base, method) if &*method.name == "isValid" => {
                    format!("{}.$valid$", self.key_name(env, base)?)
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The `@name` of a field, or its own.
    fn field_name(&self, base: &Expr, member: &Ident) -> String {
        let ty: &Type = self.checked.expr_type(base.id);
        let fields = self.checked.fields_of(ty).unwrap_or_default();
        let field = fields.iter().find(|(name, ..)| *name == member.name);
        field
            .and_then(|(.., list)| crate::notes::text_of(self.checked, list, "name"))
            .unwrap_or_else(|| member.name.to_string())
    }
}

/// How to write a number in the base of the literal `text`; `None` for decimal ones.
fn in_base_of(text: &str) -> Option<fn(&BigInt) -> String> {
    let digits = text.find(['w', 's']).map_or(text, |at| &text[at + 1..]);
    match digits.get(..2)? {
        "0x" | "0X" => Some(|value| format!("0x{}", value.to_str_radix(16))),
        "0b" | "0B" => Some(|value| format!("0b{}", value.to_str_radix(2))),
        "0o" | "0O" => Some(|value| format!("0o{}", value.to_str_radix(8))),
        _ => None,
    }
}
