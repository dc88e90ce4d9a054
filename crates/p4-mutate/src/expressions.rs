//! Mistakes in expressions: numbers, operators, slices, and what is named.

use crate::edits::Operator;
use crate::walk::Walk;
use num_bigint::BigInt;
use p4_check::types::Type;
use p4_check::{operator_symbol, Builtin, CallKind, Def};
use p4_syntax::ast::*;
use p4_syntax::Span;

/// How many other sources and targets are tried at a place.
const SOURCES: usize = 4;
const TARGETS: usize = 2;

impl<'a> Walk<'a> {
    /// An expression whose value is copied: another source may stand in its place.
    pub(crate) fn value(&mut self, expr: &'a Expr) {
        self.sources(expr);
        self.expression(expr);
    }

    pub(crate) fn expression(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Int { value, width } => self.number(expr, value, *width),
            ExprKind::Bool(value) => {
                let other = if *value { "false" } else { "true" };
                self.edits.becomes(Operator::Constant, expr.span, other);
            }
            ExprKind::Path(_) => return self.named_constant(expr),
            ExprKind::Member(base, member) => {
                if let Type::TypeName(_) = self.checked.expr_type(base.id) {
                    return self.member(expr, base, member);
                }
            }
            ExprKind::Slice(_, hi, lo) => return self.slice(expr, hi, lo),
            ExprKind::Unary(op, inner) => self.unary(expr, *op, inner),
            ExprKind::Binary(op, a, b) => self.binary(expr, *op, a, b),
            ExprKind::Conditional(cond, a, b) => {
                self.condition(cond);
                self.value(a);
                self.value(b);
                return;
            }
            ExprKind::Call { func, args, .. } => return self.call(expr, func, args),
            _ => {}
        }
        for child in expr.children() {
            self.expression(child);
        }
    }

    // ---- Values -------------------------------------------------------------------------------

    fn number(&mut self, expr: &Expr, value: &BigInt, width: Option<(u32, bool)>) {
        let bits = match self.checked.coercions.get(&expr.id) {
            Some(ty) => ty.fixed_width(),
            None => self.checked.expr_type(expr.id).fixed_width(),
        };
        let one = BigInt::from(1);
        let top = bits.map(|bits| (&one << bits) - 1);
        let mut others = vec![value + 1, value - 1, BigInt::ZERO];
        others.extend(top.clone());
        let prefix = match width {
            Some((width, is_signed)) => format!("{width}{}", if is_signed { 's' } else { 'w' }),
            None => String::new(),
        };
        let is_hex = self.edits.text(expr.span).contains("0x");
        for other in others {
            let fits = top.as_ref().is_none_or(|top| other <= *top);
            if fits && other >= BigInt::ZERO {
                let digits = match is_hex {
                    true => format!("0x{}", other.to_str_radix(16).to_uppercase()),
                    false => other.to_string(),
                };
                let text = format!("{prefix}{digits}");
                self.edits.becomes(Operator::Constant, expr.span, &text);
            }
        }
    }

    fn named_constant(&mut self, expr: &Expr) {
        if let Some(Def::Const(decl)) = self.checked.defs.get(&expr.id) {
            for other in self.constants_beside(decl) {
                self.edits.becomes(Operator::Name, expr.span, &other);
            }
        }
    }

    fn member(&mut self, expr: &Expr, base: &Expr, member: &Ident) {
        let ty = self.checked.expr_type(expr.id);
        for other in self.members_beside(ty, &member.name) {
            let text = format!("{}.{other}", self.edits.text(base.span));
            self.edits.becomes(Operator::Name, expr.span, &text);
        }
    }

    /// The value as a variable would have it that is one bit too narrow.
    pub(crate) fn narrowed(&mut self, expr: &Expr) {
        let Type::Bit(width) = self.checked.expr_type(expr.id) else {
            return;
        };
        if *width < 2 || self.checked.values.contains_key(&expr.id) {
            return;
        }
        let text = self.edits.text(expr.span);
        let title = format!("`{}` loses its highest bit", self.edits.shown(expr.span));
        let text = format!("(bit<{width}>)(bit<{}>)({text})", width - 1);
        self.edits.replace(Operator::Width, expr.span, &text, title);
    }

    /// Other names of the same type in place of one that is read.
    pub(crate) fn sources(&mut self, expr: &Expr) {
        if matches!(expr.kind, ExprKind::Path(_) | ExprKind::Member(..)) {
            for other in self.neighbours(expr, SOURCES) {
                self.edits.becomes(Operator::Source, expr.span, &other);
            }
        }
    }

    /// Other names of the same type in place of one that is written.
    pub(crate) fn targets(&mut self, expr: &Expr) {
        for other in self.neighbours(expr, TARGETS) {
            self.edits.becomes(Operator::Target, expr.span, &other);
        }
    }

    /// Both ends one bit up, one bit down; and what can be read instead of what is sliced.
    fn slice(&mut self, expr: &'a Expr, hi: &Expr, lo: &Expr) {
        let known = |expr: &Expr| self.checked.values.get(&expr.id).and_then(|v| v.as_int());
        let ends = (known(hi).cloned(), known(lo).cloned());
        let ExprKind::Slice(base, ..) = &expr.kind else {
            return;
        };
        if let (Some(top), Some(low)) = ends {
            for by in [1, -1] {
                let (top, low) = (&top + by, &low + by);
                if low >= BigInt::ZERO {
                    let text = format!("{top}:{low}");
                    self.edits
                        .becomes(Operator::Slice, hi.span.to(lo.span), &text);
                }
            }
        }
        self.value(base);
    }

    // ---- Operators ----------------------------------------------------------------------------

    /// The condition of a branch.
    pub(crate) fn condition(&mut self, cond: &'a Expr) {
        let text = self.edits.text(cond.span);
        let negated = match &cond.kind {
            ExprKind::Unary(UnOp::Not, inner) => self.edits.text(inner.span).to_string(),
            _ => format!("!({text})"),
        };
        for other in [&*negated, "true", "false"] {
            self.edits.becomes(Operator::Condition, cond.span, other);
        }
        self.expression(cond);
    }

    fn unary(&mut self, expr: &Expr, op: UnOp, inner: &Expr) {
        if op != UnOp::Plus {
            let without = self.edits.text(inner.span);
            self.edits.becomes(Operator::Operand, expr.span, without);
        }
    }

    fn binary(&mut self, expr: &Expr, op: BinOp, a: &'a Expr, b: &'a Expr) {
        if a.span.hi > b.span.lo {
            return; // both are made by one macro
        }
        let symbol = operator_symbol(op);
        let between = self.between(a.span, b.span);
        let texts = [a, b].map(|side| self.edits.text(side.span));
        for other in instead(op) {
            let middle = between.replacen(symbol, operator_symbol(*other), 1);
            let text = format!("{}{middle}{}", texts[0], texts[1]);
            let kind = match op {
                BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => {
                    Operator::Relation
                }
                _ => Operator::Arithmetic,
            };
            self.edits.becomes(kind, expr.span, &text);
        }
        let gives_operand = self.checked.expr_type(expr.id);
        for side in [a, b] {
            if self.checked.expr_type(side.id) == gives_operand {
                let text = self.edits.text(side.span);
                self.edits.becomes(Operator::Operand, expr.span, text);
            }
            self.sources(side);
        }
        if matches!(op, BinOp::Sub | BinOp::SubSat | BinOp::Concat) {
            let text = format!("{}{between}{}", texts[1], texts[0]);
            self.edits.becomes(Operator::Operand, expr.span, &text);
        }
    }

    // ---- Calls --------------------------------------------------------------------------------

    fn call(&mut self, expr: &'a Expr, func: &'a Expr, args: &'a [Arg]) {
        let kind = self.checked.calls.get(&expr.id).map(|call| call.kind);
        if let (Some(CallKind::Builtin(builtin)), ExprKind::Member(header, _)) = (kind, &func.kind)
        {
            let validity = [Builtin::IsValid, Builtin::SetValid, Builtin::SetInvalid];
            if validity.contains(&builtin) {
                for other in self.other_headers(header, TARGETS) {
                    self.edits.becomes(Operator::Header, header.span, &other);
                }
                if builtin == Builtin::IsValid {
                    let negated = format!("!{}", self.edits.text(expr.span));
                    self.edits.becomes(Operator::Condition, expr.span, &negated);
                }
                return;
            }
        }
        if let ExprKind::Member(base, _) = &func.kind {
            self.expression(base); // `t.apply().hit`
        }
        for arg in args {
            self.value(&arg.value);
        }
        for pair in args.windows(2) {
            self.exchange_arguments(&pair[0].value, &pair[1].value);
        }
    }

    fn exchange_arguments(&mut self, first: &Expr, second: &Expr) {
        let types = [first, second].map(|arg| self.checked.expr_type(arg.id));
        if types[0] != types[1] || first.span.hi > second.span.lo {
            return;
        }
        let between = self.between(first.span, second.span);
        let [one, two] = [first, second].map(|arg| self.edits.text(arg.span));
        let whole: Span = first.span.to(second.span);
        let text = format!("{two}{between}{one}");
        self.edits.becomes(Operator::Arguments, whole, &text);
    }
}

/// The operators that stand where another should.
fn instead(op: BinOp) -> &'static [BinOp] {
    match op {
        BinOp::Lt => &[BinOp::Le, BinOp::Ge, BinOp::Ne],
        BinOp::Le => &[BinOp::Lt, BinOp::Gt, BinOp::Eq],
        BinOp::Gt => &[BinOp::Ge, BinOp::Le, BinOp::Ne],
        BinOp::Ge => &[BinOp::Gt, BinOp::Lt, BinOp::Eq],
        BinOp::Eq => &[BinOp::Ne, BinOp::Le, BinOp::Ge],
        BinOp::Ne => &[BinOp::Eq, BinOp::Lt, BinOp::Gt],
        BinOp::Add => &[BinOp::Sub, BinOp::AddSat, BinOp::BitOr],
        BinOp::Sub => &[BinOp::Add, BinOp::SubSat, BinOp::BitXor],
        BinOp::AddSat => &[BinOp::Add, BinOp::SubSat],
        BinOp::SubSat => &[BinOp::Sub, BinOp::AddSat],
        BinOp::BitAnd => &[BinOp::BitOr, BinOp::BitXor],
        BinOp::BitOr => &[BinOp::BitAnd, BinOp::BitXor, BinOp::Add],
        BinOp::BitXor => &[BinOp::BitOr, BinOp::BitAnd],
        BinOp::Shl => &[BinOp::Shr],
        BinOp::Shr => &[BinOp::Shl],
        BinOp::Mul => &[BinOp::Add, BinOp::Div],
        BinOp::Div => &[BinOp::Mul, BinOp::Mod],
        BinOp::Mod => &[BinOp::Div],
        BinOp::And => &[BinOp::Or],
        BinOp::Or => &[BinOp::And],
        BinOp::Concat => &[],
    }
}
