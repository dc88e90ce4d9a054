//! Operators and casts (specification 8.5 to 8.11).

use crate::types::{Kind, Type};
use crate::value::Value;
use crate::Checker;
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;

/// The widest value that is put together from others, in bits.
const MAX_CONCAT: u32 = 1 << 16;

impl<'a> Checker<'a> {
    pub(crate) fn unary(&mut self, op: UnOp, operand: &'a Expr) -> Type {
        let ty = self.value_expr(operand);
        let shape = self.out.underlying(&ty);
        let ok = match op {
            UnOp::Not => ty == Type::Bool,
            UnOp::Complement => shape.fixed_width().is_some(),
            UnOp::Neg | UnOp::Plus => shape.is_numeric(),
        };
        if !ok && ty != Type::Unknown {
            let symbol = match op {
                UnOp::Not => "!",
                UnOp::Complement => "~",
                UnOp::Neg => "-",
                UnOp::Plus => "+",
            };
            let mut diagnostic = Diagnostic::error(
                "E0308",
                operand.span,
                format!(
                    "`{symbol}` does not work on {}",
                    crate::coerce::article(&ty)
                ),
            );
            if op == UnOp::Not && ty.fixed_width().is_some() {
                diagnostic = diagnostic.hint("`!` is for bool; `~` flips the bits of a number");
            } else if op == UnOp::Complement && ty == Type::Bool {
                diagnostic = diagnostic.hint("`~` is for numbers; `!` negates a bool");
            } else if op == UnOp::Complement && ty == Type::Int {
                diagnostic =
                    diagnostic.hint("the number needs a width to have bits: write `8w...`");
            }
            self.report(diagnostic);
            return Type::Unknown;
        }
        if shape != ty && op != UnOp::Not {
            self.coerce(operand, &shape);
            return shape;
        }
        ty
    }

    /// Gives both operands one type where one is a number without a width; returns that type.
    fn balance(&mut self, a: &'a Expr, b: &'a Expr) -> (Type, Type) {
        let (mut ta, mut tb) = (self.value_expr(a), self.value_expr(b));
        let number = |ty: &Type| matches!(ty, Type::Bit(_) | Type::Signed(_) | Type::Int);
        let stored = |ty: &Type, other: &Type| {
            ty.is_kind(Kind::SerEnum)
                && ty != other
                && (number(other) || other.is_kind(Kind::SerEnum))
        };
        let (enum_a, enum_b) = (stored(&ta, &tb), stored(&tb, &ta));
        if enum_a {
            ta = self.out.underlying(&ta);
            self.coerce(a, &ta.clone());
        }
        if enum_b {
            tb = self.out.underlying(&tb);
            self.coerce(b, &tb.clone());
        }
        match (&ta, &tb) {
            (Type::Int, Type::Bit(_) | Type::Signed(_)) => {
                self.coerce(a, &tb);
                (tb.clone(), tb)
            }
            (Type::Bit(_) | Type::Signed(_), Type::Int) => {
                self.coerce(b, &ta);
                (ta.clone(), ta)
            }
            _ => (ta, tb),
        }
    }

    pub(crate) fn binary(&mut self, expr: &'a Expr, op: BinOp, a: &'a Expr, b: &'a Expr) -> Type {
        match op {
            BinOp::And | BinOp::Or => {
                for side in [a, b] {
                    let ty = self.value_expr(side);
                    if ty == Type::DotsLit {
                        return self.bad_operands(expr, op, &ty, &Type::Bool);
                    }
                    self.coerce(side, &Type::Bool);
                }
                Type::Bool
            }
            BinOp::Shl | BinOp::Shr => self.shift(expr, op, a, b),
            BinOp::Concat => self.concat(a, b),
            BinOp::Eq | BinOp::Ne => self.equality(expr, a, b),
            _ => {
                let (mut ta, mut tb) = self.balance(a, b);
                if ta == tb && ta.is_kind(Kind::SerEnum) && !is_comparison(op) {
                    ta = self.out.underlying(&ta);
                    tb = ta.clone();
                    self.coerce(a, &ta);
                    self.coerce(b, &ta);
                }
                if ta == Type::Unknown || tb == Type::Unknown {
                    return if is_comparison(op) {
                        Type::Bool
                    } else {
                        Type::Unknown
                    };
                }
                let saturating = matches!(op, BinOp::AddSat | BinOp::SubSat);
                let fits = ta == tb && ta.is_numeric() && !(saturating && ta == Type::Int);
                if !fits {
                    return self.bad_operands(expr, op, &ta, &tb);
                }
                if matches!(op, BinOp::Div | BinOp::Mod) && matches!(ta, Type::Signed(_)) {
                    self.report(
                        Diagnostic::error(
                            "E0308",
                            expr.span,
                            "signed numbers cannot be divided in P4",
                        )
                        .hint("cast both to bit<W> if they are never negative"),
                    );
                    return Type::Unknown;
                }
                self.check_constant_operation(expr, op, a, b);
                if is_comparison(op) {
                    Type::Bool
                } else {
                    ta
                }
            }
        }
    }

    fn bad_operands(&mut self, expr: &'a Expr, op: BinOp, ta: &Type, tb: &Type) -> Type {
        let mut diagnostic = Diagnostic::error(
            "E0308",
            expr.span,
            format!(
                "`{}` does not work between {ta} and {tb}",
                operator_symbol(op)
            ),
        );
        diagnostic = match (ta.fixed_width(), tb.fixed_width()) {
            (Some(a), Some(b)) => {
                let wider = if a < b { tb } else { ta }.written();
                diagnostic.hint(format!(
                    "both sides need the same width and sign: cast one, as in `({wider}) x`"
                ))
            }
            _ if *ta == Type::Bool || *tb == Type::Bool => {
                diagnostic.hint("on bools use `&&`, `||` and `!`")
            }
            _ if ta == tb => {
                diagnostic.message = format!("`{}` does not work on {ta}", operator_symbol(op));
                diagnostic.hint(match (ta, op) {
                    (Type::Param(..), _) => {
                        "a type parameter may stand for any type, so its values can only be copied: write the type itself"
                    }
                    (_, BinOp::Eq | BinOp::Ne) => "compare their parts, one by one",
                    _ => "use numbers, such as the fields that it has",
                })
            }
            _ => diagnostic,
        };
        self.report(diagnostic);
        if is_comparison(op) {
            Type::Bool
        } else {
            Type::Unknown
        }
    }

    fn shift(&mut self, expr: &'a Expr, op: BinOp, a: &'a Expr, b: &'a Expr) -> Type {
        let mut ta = self.value_expr(a);
        let mut tb = self.value_expr(b);
        if tb.is_kind(Kind::SerEnum) {
            tb = self.out.underlying(&tb);
            self.coerce(b, &tb.clone());
        }
        if ta.is_kind(Kind::SerEnum) {
            ta = self.out.underlying(&ta);
            self.coerce(a, &ta.clone());
        }
        if ta == Type::Unknown || tb == Type::Unknown {
            return ta;
        }
        if !ta.is_numeric() || !tb.is_numeric() {
            return self.bad_operands(expr, op, &ta, &tb);
        }
        if matches!(tb, Type::Signed(_)) && self.const_value(b).is_none() {
            self.report(
                Diagnostic::error("E0503", b.span, "a shift amount must be unsigned")
                    .hint("cast it: `(bit<8>) n`"),
            );
            return ta;
        }
        if ta == Type::Int && tb != Type::Int && self.const_value(b).is_none() {
            self.error("E0308", a.span, "a number without a width cannot be shifted by an amount that is only known at run time");
            return Type::Unknown;
        }
        self.check_constant_operation(expr, op, a, b);
        ta
    }

    fn concat(&mut self, a: &'a Expr, b: &'a Expr) -> Type {
        let (ta, tb) = (self.value_expr(a), self.value_expr(b));
        let widths = (self.out.underlying(&ta), self.out.underlying(&tb));
        match &widths {
            (Type::Unknown, _) | (_, Type::Unknown) => Type::Unknown,
            (Type::String, Type::String) => Type::String,
            (Type::Bit(x) | Type::Signed(x), Type::Bit(y) | Type::Signed(y)) => {
                if x + y > MAX_CONCAT {
                    let message = format!("a concatenation can have {MAX_CONCAT} bits at most");
                    self.error("E0319", b.span, message);
                    return Type::Unknown;
                }
                for (side, ty, base) in [(a, &ta, &widths.0), (b, &tb, &widths.1)] {
                    if ty != base {
                        self.coerce(side, base);
                    }
                }
                if matches!(widths.0, Type::Signed(_)) {
                    Type::Signed(x + y)
                } else {
                    Type::Bit(x + y)
                }
            }
            _ => {
                let side = if widths.0.fixed_width().is_none() {
                    a
                } else {
                    b
                };
                self.report(
                    Diagnostic::error(
                        "E0308",
                        side.span,
                        "`++` joins values whose widths are known",
                    )
                    .hint("give the number a width, as in `8w1`"),
                );
                Type::Unknown
            }
        }
    }

    fn equality(&mut self, expr: &'a Expr, a: &'a Expr, b: &'a Expr) -> Type {
        let (ta, tb) = self.balance(a, b);
        if ta == Type::Unknown || tb == Type::Unknown {
            return Type::Bool;
        }
        let literal = |e: &Expr| {
            matches!(
                e.kind,
                ExprKind::List { .. }
                    | ExprKind::Struct { .. }
                    | ExprKind::Invalid
                    | ExprKind::Conditional(..)
            )
        };
        let ok = if literal(b) {
            self.try_coerce(b, &tb, &ta)
        } else if literal(a) {
            self.try_coerce(a, &ta, &tb)
        } else {
            ta == tb || self.unify(&ta, &tb)
        };
        let comparable = !matches!(
            ta,
            Type::Param(..)
                | Type::DotsLit
                | Type::Action(_)
                | Type::Table(_)
                | Type::Function(_)
                | Type::Set(_)
                | Type::Void
                | Type::TableResult(_)
                | Type::ActionRun(_)
        ) && !matches!(
            ta,
            Type::Named(
                Kind::Extern | Kind::Package | Kind::Parser | Kind::Control,
                ..
            )
        ) && !matches!(tb, Type::Set(_))
            && !matches!((&ta, &tb), (Type::StructLit(_), Type::StructLit(_)));
        if !ok || !comparable {
            return self.bad_operands(expr, BinOp::Eq, &ta, &tb);
        }
        Type::Bool
    }

    pub(crate) fn conditional(&mut self, cond: &'a Expr, yes: &'a Expr, no: &'a Expr) -> Type {
        self.value_expr(cond);
        self.coerce(cond, &Type::Bool);
        let (ty, tn) = self.balance(yes, no);
        if ty == Type::Unknown || tn == Type::Unknown {
            return Type::Unknown;
        }
        if ty == tn {
            if ty == Type::Int && self.const_value(cond).is_none() {
                self.report(
                    Diagnostic::error(
                        "E0302",
                        yes.span.to(no.span),
                        "one of these numbers needs a width: which of them it is, is decided for each packet",
                    )
                    .hint("write the width in front of one of them, as in `8w1`"),
                );
                return Type::Unknown;
            }
            return ty;
        }
        if self.try_coerce(no, &tn, &ty) {
            return ty;
        }
        if self.try_coerce(yes, &ty, &tn) {
            return tn;
        }
        self.error(
            "E0302",
            no.span,
            format!("the two results of `?:` differ: {ty} and {tn}"),
        );
        Type::Unknown
    }

    pub(crate) fn cast(&mut self, expr: &'a Expr, ty: &'a TypeRef, operand: &'a Expr) -> Type {
        let target = self.type_ref(ty);
        let from = self.value_expr(operand);
        if from == Type::Unknown || target == Type::Unknown {
            return target;
        }
        if self.cast_allowed(operand, &from, &target) {
            return target;
        }
        let mut diagnostic = Diagnostic::error(
            "E0323",
            expr.span,
            format!("{from} cannot be cast to {target}"),
        );
        let (f, t) = (self.out.underlying(&from), self.out.underlying(&target));
        if let (Some(width), Some(_)) = (f.fixed_width(), t.fixed_width()) {
            let between = match t {
                Type::Signed(_) => Type::Signed(width),
                _ => Type::Bit(width),
            };
            diagnostic = diagnostic.hint(format!(
                "change the sign first, then the width: `({})({}) x`",
                target.written(),
                between.written()
            ));
        } else if let Some(hint) = no_number(&f, &t) {
            diagnostic = diagnostic.hint(hint);
        }
        self.report(diagnostic);
        target
    }

    fn cast_allowed(&mut self, operand: &'a Expr, from: &Type, target: &Type) -> bool {
        let literal = matches!(
            operand.kind,
            ExprKind::List { .. } | ExprKind::Struct { .. } | ExprKind::Invalid | ExprKind::Dots
        );
        if literal {
            return self.try_coerce(operand, from, target);
        }
        if from == target {
            return true;
        }
        let (f, t) = (self.out.underlying(from), self.out.underlying(target));
        let renamed = f != *from || t != *target;
        // A type with a name of its own gives way to the type it is stored as, step by step.
        let new_type = from.is_kind(Kind::NewType) || target.is_kind(Kind::NewType);
        if new_type && f != t && f != Type::Int {
            return false;
        }
        match (&f, &t) {
            (Type::Bit(1), Type::Bool) | (Type::Bool, Type::Bit(1)) => true,
            (Type::Bit(_), Type::Bit(_)) | (Type::Signed(_), Type::Signed(_)) => true,
            (Type::Bit(x), Type::Signed(y)) | (Type::Signed(x), Type::Bit(y)) => x == y,
            (Type::Int, Type::Bit(_) | Type::Signed(_)) => {
                if from.is_kind(Kind::NewType) {
                    return false;
                }
                if target.is_kind(Kind::SerEnum) || target.is_kind(Kind::NewType) {
                    let base = t.clone();
                    return self.try_coerce(operand, from, &base);
                }
                true
            }
            (Type::Bit(_) | Type::Signed(_), Type::Int) => self.const_value(operand).is_some(),
            (Type::Int, Type::Bool) => matches!(
                self.const_value(operand)
                    .and_then(|v| v.as_int().and_then(BigInt::to_u8)),
                Some(0 | 1)
            ),
            (x, y) if renamed && x == y => true,
            (
                Type::Named(Kind::Struct | Kind::Header, ..),
                Type::Named(Kind::Struct | Kind::Header, ..),
            ) => false,
            (_, Type::Param(..)) | (Type::Param(..), _) => from == target,
            _ => self.unify(from, target),
        }
    }

    pub(crate) fn set_pair(&mut self, a: &'a Expr, b: &'a Expr, is_mask: bool) -> Type {
        let (ta, tb) = self.balance(a, b);
        if ta == Type::Unknown || tb == Type::Unknown {
            return Type::Set(Box::new(Type::Unknown));
        }
        if ta != tb || !(self.out.underlying(&ta).is_numeric() || ta == Type::Bool) {
            let what = if is_mask {
                "value and mask"
            } else {
                "the ends of a range"
            };
            self.error(
                "E0308",
                a.span.to(b.span),
                format!("{what} must be numbers of one type, but these are {ta} and {tb}"),
            );
            return Type::Set(Box::new(Type::Unknown));
        }
        if let (false, Some(Value::Int(lo) | Value::Bits { value: lo, .. }), Some(hi)) =
            (is_mask, self.const_value(a), self.const_value(b))
        {
            if hi.as_int().is_some_and(|hi| *hi < lo) {
                self.report(Diagnostic::warning(
                    "W0506",
                    a.span.to(b.span),
                    "this range is empty: its end is below its start",
                ));
            }
        }
        Type::Set(Box::new(ta))
    }
}

/// What to do about a cast from or to a type whose values are no numbers.
fn no_number(from: &Type, to: &Type) -> Option<String> {
    let hint = match (from, to) {
        (Type::Bool, _) | (_, Type::Bool) => return None,
        (Type::Named(Kind::Enum, _, name, _), _) | (_, Type::Named(Kind::Enum, _, name, _)) => {
            format!("the members of an enum are numbers only if it has a type: `enum bit<8> {name} {{ ... }}` with a value for each")
        }
        (Type::Error, _) | (_, Type::Error) => {
            "errors are not numbers: compare them, as in `if (e == error.NoError) { ... }`".into()
        }
        (Type::Named(Kind::Struct | Kind::Header, ..), _) => {
            "cast its fields one by one, or join them with `++`".into()
        }
        (_, Type::Named(Kind::Struct | Kind::Header, ..)) => {
            "give each field its value: `{ a, b }`".into()
        }
        _ => "only numbers, and enums with a type, can be cast to each other; bool casts to bit<1> and back".into(),
    };
    Some(hint)
}

fn is_comparison(op: BinOp) -> bool {
    matches!(
        op,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne
    )
}

/// How an operator is written.
pub fn operator_symbol(op: BinOp) -> &'static str {
    match op {
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Mod => "%",
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::AddSat => "|+|",
        BinOp::SubSat => "|-|",
        BinOp::Shl => "<<",
        BinOp::Shr => ">>",
        BinOp::Le => "<=",
        BinOp::Ge => ">=",
        BinOp::Lt => "<",
        BinOp::Gt => ">",
        BinOp::Eq => "==",
        BinOp::Ne => "!=",
        BinOp::BitAnd => "&",
        BinOp::BitXor => "^",
        BinOp::BitOr => "|",
        BinOp::Concat => "++",
        BinOp::And => "&&",
        BinOp::Or => "||",
    }
}
