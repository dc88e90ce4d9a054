//! Evaluation of what is known at compile time (specification 18.1).

use crate::type_ref::MAX_WIDTH;
use crate::types::{Kind, Type};
use crate::value::{arith, compare, fits, limits, wrap, ArithError, Value};
use crate::{Builtin, CallKind, Checked, Checker, Def};
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;

/// The longest string that is put together at compile time, in bytes.
const MAX_STRING: usize = 1 << 16;

/// Gives the values of constructor parameters, for bodies that are being specialised.
pub type ParamValues<'e> = dyn Fn(&Param) -> Option<Value> + 'e;

impl<'a> Checked<'a> {
    /// The value of `expr` after its conversion, if it is known given the values of constructor
    /// parameters.
    pub fn eval(&self, expr: &Expr, params: &ParamValues<'_>) -> Option<Value> {
        if let Some(value) = self.values.get(&expr.id) {
            return Some(value.clone());
        }
        if let (ExprKind::Dots, Some(target)) = (&expr.kind, self.coercions.get(&expr.id)) {
            return self.default_value(target);
        }
        let value = self.eval_raw(expr, params)?;
        match self.coercions.get(&expr.id) {
            Some(target) => self.convert(value, target),
            None => Some(value),
        }
    }

    /// `value` as a value of type `target`.
    pub fn convert(&self, value: Value, target: &Type) -> Option<Value> {
        let bits = |value: Value, width: u32, signed: bool| match value {
            Value::Int(v) | Value::Bits { value: v, .. } => Some(Value::Bits {
                width,
                signed,
                value: wrap(&v, width, signed),
            }),
            Value::Bool(b) => Some(Value::Bits {
                width,
                signed,
                value: BigInt::from(u8::from(b)),
            }),
            _ => None,
        };
        match self.underlying(target) {
            Type::Bit(width) => bits(value, width, false),
            Type::Signed(width) => bits(value, width, true),
            Type::Int => Some(Value::Int(value.as_int()?.clone())),
            Type::Bool => Some(match value {
                Value::Bool(b) => Value::Bool(b),
                other => Value::Bool(*other.as_int()? == BigInt::one()),
            }),
            _ => Some(value),
        }
    }

    fn eval_raw(&self, expr: &Expr, params: &ParamValues<'_>) -> Option<Value> {
        match &expr.kind {
            ExprKind::Int { value, width: None } => Some(Value::Int(value.clone())),
            ExprKind::Int {
                value,
                width: Some((width, signed)),
            } => Some(Value::Bits {
                width: *width,
                signed: *signed,
                value: wrap(value, *width, *signed),
            }),
            ExprKind::Bool(value) => Some(Value::Bool(*value)),
            ExprKind::String(value) => Some(Value::String(value.clone())),
            ExprKind::Path(_) => match self.defs.get(&expr.id)? {
                Def::Const(decl) => match &decl.kind {
                    DeclKind::Const { value, .. } if !self.unknown_consts.contains(&decl.id) => {
                        self.eval(value, params)
                    }
                    _ => None,
                },
                Def::Param(param) => params(param),
                _ => None,
            },
            ExprKind::Member(base, member) => self.eval_member(base, member, params),
            ExprKind::TypeMember(ty, member) => self.eval_type_member(self.type_ref(ty.id), member),
            ExprKind::Index(base, index) => {
                let Value::List(items) = self.eval(base, params)? else {
                    return None;
                };
                items
                    .into_iter()
                    .nth(self.eval(index, params)?.as_int()?.to_usize()?)
            }
            ExprKind::Slice(base, hi, lo) => {
                let base = self.eval(base, params)?;
                let hi = self.eval(hi, params)?.as_int()?.to_u32()?;
                let lo = self.eval(lo, params)?.as_int()?.to_u32()?;
                slice(base.as_int()?, lo, hi.checked_sub(lo)?.checked_add(1)?)
            }
            ExprKind::PlusSlice(base, lo, width) => {
                let base = self.eval(base, params)?;
                let lo = self.eval(lo, params)?.as_int()?.to_u32()?;
                let width = self.eval(width, params)?.as_int()?.to_u32()?;
                slice(base.as_int()?, lo, width)
            }
            ExprKind::Unary(op, operand) => self.eval_unary(*op, self.eval(operand, params)?),
            ExprKind::Binary(op, a, b) => {
                let left = self.eval(a, params)?;
                match (op, &left) {
                    (BinOp::And, Value::Bool(false)) => return Some(Value::Bool(false)),
                    (BinOp::Or, Value::Bool(true)) => return Some(Value::Bool(true)),
                    _ => {}
                }
                self.eval_binary(*op, left, self.eval(b, params)?)
                    .ok()
                    .flatten()
            }
            ExprKind::Conditional(cond, yes, no) => match self.eval(cond, params)? {
                Value::Bool(true) => self.eval(yes, params),
                Value::Bool(false) => self.eval(no, params),
                _ => None,
            },
            ExprKind::Cast(ty, operand) => {
                self.convert(self.eval(operand, params)?, self.type_ref(ty.id))
            }
            ExprKind::List { items, rest } => {
                let values: Option<Vec<_>> = items.iter().map(|i| self.eval(i, params)).collect();
                let mut values = values?;
                if *rest {
                    let types = self.part_types(self.coercions.get(&expr.id)?)?;
                    for ty in types.iter().skip(values.len()) {
                        values.push(self.default_value(ty)?);
                    }
                }
                Some(Value::List(values))
            }
            ExprKind::Tuple(items) => {
                let items: Option<Vec<_>> = items.iter().map(|i| self.eval(i, params)).collect();
                Some(Value::List(items?))
            }
            ExprKind::Struct { fields, .. } => self.eval_struct(expr, fields, params),
            ExprKind::Invalid => Some(Value::InvalidHeader),
            ExprKind::Call { args, .. } => match self.calls.get(&expr.id)?.kind {
                CallKind::Builtin(Builtin::Size(size)) => Some(Value::Int(size.into())),
                // A failed assertion has been reported.
                CallKind::ExternFunction(decl) if &*decl.name.name == "static_assert" => {
                    Some(Value::Bool(true))
                }
                CallKind::ExternFunction(decl) => self.eval_size(&decl.name.name, args),
                _ => None,
            },
            _ => None,
        }
    }

    /// `sizeInBits(header)` and `sizeInBytes(header)` of tofino.p4, of what always has one size.
    fn eval_size(&self, name: &str, args: &[Arg]) -> Option<Value> {
        let per_unit = match name {
            "sizeInBits" => 1,
            "sizeInBytes" => 8,
            _ => return None,
        };
        let (least, most) = self.size_in_bits(self.expr_type(args.first()?.value.id))?;
        (least == most).then(|| Value::Bits {
            width: 32,
            signed: false,
            value: most.div_ceil(per_unit).into(),
        })
    }

    /// Fields in the order of the type that the literal becomes.
    fn eval_struct(
        &self,
        expr: &Expr,
        fields: &[(Ident, Expr)],
        params: &ParamValues<'_>,
    ) -> Option<Value> {
        let target = self
            .coercions
            .get(&expr.id)
            .unwrap_or(self.expr_type(expr.id));
        let order: Vec<(Name, Type)> = match target {
            Type::StructLit(fields) => fields.clone(),
            named => self
                .fields_of(named)?
                .into_iter()
                .map(|(name, ty, _)| (name, ty))
                .collect(),
        };
        let values: Option<Vec<Value>> = order
            .iter()
            .map(
                |(name, ty)| match fields.iter().find(|(field, _)| field.name == *name) {
                    Some((_, value)) => self.eval(value, params),
                    None => self.default_value(ty),
                },
            )
            .collect();
        Some(Value::List(values?))
    }

    /// Types of the fields or items of a type.
    fn part_types(&self, ty: &Type) -> Option<Vec<Type>> {
        Some(match ty {
            Type::Tuple(items) => items.clone(),
            Type::Stack(element, size) => vec![(**element).clone(); *size as usize],
            named => self
                .fields_of(named)?
                .into_iter()
                .map(|(_, ty, _)| ty)
                .collect(),
        })
    }

    /// What `...` stands for (specification 8.13): zero, false, NoError, the first member of an
    /// enum, an invalid header, and so on inwards.
    fn default_value(&self, ty: &Type) -> Option<Value> {
        Some(match ty {
            Type::Int => Value::Int(BigInt::from(0)),
            Type::Bit(width) => Value::Bits {
                width: *width,
                signed: false,
                value: BigInt::from(0),
            },
            Type::Signed(width) => Value::Bits {
                width: *width,
                signed: true,
                value: BigInt::from(0),
            },
            Type::Bool => Value::Bool(false),
            Type::String => Value::String("".into()),
            Type::Error => Value::Error("NoError".into()),
            Type::Named(Kind::Header | Kind::Union, ..) => Value::InvalidHeader,
            Type::Named(Kind::Enum, decl, ..) => match &self.decls.get(decl)?.kind {
                DeclKind::Enum { members, .. } => Value::Enum {
                    decl: *decl,
                    member: members.first()?.name.name.clone(),
                },
                _ => return None,
            },
            Type::Named(Kind::NewType | Kind::SerEnum, ..) => {
                self.default_value(&self.underlying(ty))?
            }
            Type::Named(Kind::Struct, ..) | Type::Tuple(_) | Type::Stack(..) => {
                let parts = self.part_types(ty)?;
                Value::List(
                    parts
                        .iter()
                        .map(|t| self.default_value(t))
                        .collect::<Option<_>>()?,
                )
            }
            _ => return None,
        })
    }

    fn eval_member(&self, base: &Expr, member: &Ident, params: &ParamValues<'_>) -> Option<Value> {
        match self.expr_type(base.id) {
            Type::TypeName(ty) => self.eval_type_member(ty, member),
            Type::Stack(_, size) if &*member.name == "size" => Some(Value::Bits {
                width: 32,
                signed: false,
                value: BigInt::from(*size),
            }),
            ty => {
                let Value::List(items) = self.eval(base, params)? else {
                    return None;
                };
                let index = match ty {
                    Type::StructLit(fields) => {
                        fields.iter().position(|(name, _)| *name == member.name)
                    }
                    named => self
                        .fields_of(named)?
                        .iter()
                        .position(|(name, ..)| *name == member.name),
                }?;
                items.into_iter().nth(index)
            }
        }
    }

    fn eval_type_member(&self, ty: &Type, member: &Ident) -> Option<Value> {
        match ty {
            Type::Error => Some(Value::Error(member.name.clone())),
            Type::Named(Kind::Enum, decl, ..) => Some(Value::Enum {
                decl: *decl,
                member: member.name.clone(),
            }),
            Type::Named(Kind::SerEnum, decl, ..) => {
                self.enum_member_value(self.decls.get(decl)?, &member.name)
            }
            _ => None,
        }
    }

    pub(crate) fn eval_unary(&self, op: UnOp, operand: Value) -> Option<Value> {
        Some(match (op, operand) {
            (UnOp::Not, Value::Bool(b)) => Value::Bool(!b),
            (UnOp::Plus, value) => value,
            (UnOp::Neg, Value::Int(v)) => Value::Int(-v),
            (
                UnOp::Neg,
                Value::Bits {
                    width,
                    signed,
                    value,
                },
            ) => Value::Bits {
                width,
                signed,
                value: wrap(&-value, width, signed),
            },
            (
                UnOp::Complement,
                Value::Bits {
                    width,
                    signed,
                    value,
                },
            ) => Value::Bits {
                width,
                signed,
                value: wrap(&(-value - 1), width, signed),
            },
            _ => return None,
        })
    }

    pub(crate) fn eval_binary(
        &self,
        op: BinOp,
        a: Value,
        b: Value,
    ) -> Result<Option<Value>, ArithError> {
        if let (BinOp::Eq | BinOp::Ne, false) = (op, a.as_int().is_some() && b.as_int().is_some()) {
            return Ok(Some(Value::Bool((a == b) == (op == BinOp::Eq))));
        }
        if let (BinOp::And | BinOp::Or, Value::Bool(x), Value::Bool(y)) = (op, &a, &b) {
            return Ok(Some(Value::Bool(if op == BinOp::And {
                *x && *y
            } else {
                *x || *y
            })));
        }
        if let (Value::String(x), BinOp::Concat, Value::String(y)) = (&a, op, &b) {
            if x.len() + y.len() > MAX_STRING {
                return Err(ArithError::TooLarge);
            }
            return Ok(Some(Value::String(format!("{x}{y}").into())));
        }
        let (Some(x), Some(y)) = (a.as_int(), b.as_int()) else {
            return Ok(None);
        };
        if let Some(result) = compare(op, x, y) {
            return Ok(Some(Value::Bool(result)));
        }
        if op == BinOp::Concat {
            let (
                Value::Bits {
                    width: wa, signed, ..
                },
                Value::Bits { width: wb, .. },
            ) = (&a, &b)
            else {
                return Ok(None);
            };
            let joined = (wrap(x, *wa, false) << *wb) + wrap(y, *wb, false);
            let width = wa + wb;
            let value = wrap(&joined, width, *signed);
            return Ok(Some(Value::Bits {
                width,
                signed: *signed,
                value,
            }));
        }
        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
        let shape = match (&a, &b) {
            (Value::Bits { width, signed, .. }, _) => Some((*width, *signed)),
            (_, Value::Bits { width, signed, .. }) if !shift => Some((*width, *signed)),
            _ => None,
        };
        Ok(Some(match shape {
            None => Value::Int(arith(op, x, y, None)?),
            Some((width, _)) if shift && !y.is_negative() && *y >= BigInt::from(width) => {
                let all_sign = op == BinOp::Shr && x.is_negative();
                let signed = matches!(a, Value::Bits { signed: true, .. });
                Value::Bits {
                    width,
                    signed,
                    value: BigInt::from(if all_sign { -1 } else { 0 }),
                }
            }
            Some((width, signed)) => {
                let value = arith(op, x, y, Some(limits(width, signed)))?;
                Value::Bits {
                    width,
                    signed,
                    value: wrap(&value, width, signed),
                }
            }
        }))
    }
}

fn slice(value: &BigInt, lo: u32, width: u32) -> Option<Value> {
    if width > MAX_WIDTH {
        return None;
    }
    let value = wrap(&(value >> lo), width, false);
    Some(Value::Bits {
        width,
        signed: false,
        value,
    })
}

impl<'a> Checker<'a> {
    /// The value of `expr` after conversion, if it is known now; remembered.
    pub(crate) fn const_value(&mut self, expr: &'a Expr) -> Option<Value> {
        let value = self.out.eval(expr, &|_| None)?;
        self.out.values.insert(expr.id, value.clone());
        Some(value)
    }

    /// Whether `expr` will be known once constructor parameters are: only literals, constants and
    /// parameters of parsers, controls and packages in it.
    pub(crate) fn depends_on_constructor(&self, expr: &Expr) -> bool {
        self.out
            .eval(expr, &|param| match self.out.type_ref(param.ty.id) {
                _ if param.direction != Direction::None => None,
                Type::Bit(width) => Some(one(*width, false)),
                Type::Signed(width) => Some(one(*width, true)),
                Type::Int => Some(Value::Int(BigInt::one())),
                Type::Bool => Some(Value::Bool(true)),
                Type::String => Some(Value::String("".into())),
                _ => Some(Value::InvalidHeader),
            })
            .is_some()
    }

    /// Reports what is wrong with a constant operation: division by zero, overflow of a literal.
    pub(crate) fn check_constant_operation(
        &mut self,
        expr: &'a Expr,
        op: BinOp,
        a: &'a Expr,
        b: &'a Expr,
    ) {
        let right = self.const_value(b);
        let negative_right = right
            .as_ref()
            .and_then(Value::as_int)
            .is_some_and(|v| v.is_negative());
        if matches!(op, BinOp::Shl | BinOp::Shr) && negative_right {
            self.error("E0503", b.span, "a shift amount cannot be negative");
            return;
        }
        let zero_right = right
            .as_ref()
            .and_then(Value::as_int)
            .is_some_and(|v| v.sign() == num_bigint::Sign::NoSign);
        if matches!(op, BinOp::Div | BinOp::Mod) && zero_right {
            self.error("E0502", b.span, "division by zero");
            return;
        }
        let negative = |c: &Self, e: &Expr| {
            let value = c.out.eval_before_conversion(e);
            value.is_some_and(|v| v.as_int().is_some_and(|v| v.is_negative()))
        };
        if matches!(op, BinOp::Div | BinOp::Mod) && (negative(self, a) || negative(self, b)) {
            return self.error(
                "E0504",
                expr.span,
                "division is defined for numbers that are not negative",
            );
        }
        let left = self.const_value(a);
        let known = left.is_some() || self.depends_on_constructor(a);
        if matches!(op, BinOp::Div | BinOp::Mod) && !known {
            self.division_at_run_time(expr.span, right.as_ref());
        }
        let (Some(left), Some(right)) = (left, right) else {
            return;
        };
        match self.out.eval_binary(op, left, right) {
            Err(ArithError::NegativeOperand) => self.error(
                "E0504",
                expr.span,
                "division is defined for numbers that are not negative",
            ),
            Err(ArithError::TooLarge) => {
                self.error("E0507", expr.span, "this number is too large to compute")
            }
            _ => {}
        }
    }

    /// P4 divides when compiling only (specification 8.6 has no division of `bit<W>`); by a power
    /// of two it is a shift, which p4c takes, too.
    pub(crate) fn division_at_run_time(&mut self, at: Span, divisor: Option<&Value>) {
        let power_of_two = divisor
            .and_then(Value::as_int)
            .is_some_and(|n| n.is_positive() && n.trailing_zeros() == Some(n.bits() - 1));
        if !power_of_two {
            self.report(
                Diagnostic::error("E0508", at, "at run time P4 divides by powers of two only")
                    .hint("shift instead, as in `x >> 3`, or look the result up in a table"),
            );
        }
    }

    /// Warns when a literal loses bits in a conversion.
    pub(crate) fn check_fits(&mut self, expr: &'a Expr, target: &Type) {
        let Some((width, signed)) = self.out.underlying(target).width_and_sign() else {
            return;
        };
        let Some(Value::Int(value)) = self.out.eval_before_conversion(expr) else {
            return;
        };
        if !fits(&value, width, signed) {
            let kept = wrap(&value, width, signed);
            self.report(
                Diagnostic::warning(
                    "W0505",
                    expr.span,
                    format!("{value} does not fit in {target}: it becomes {kept}"),
                )
                .hint("write a wider type, or a value that fits"),
            );
        }
    }
}

impl Checked<'_> {
    fn eval_before_conversion(&self, expr: &Expr) -> Option<Value> {
        self.eval_raw(expr, &|_| None)
    }

    /// Whether two expressions are written alike or have the same constant value.
    pub(crate) fn same_expr(&self, a: &Expr, b: &Expr) -> bool {
        let value = |e: &Expr| self.eval(e, &|_| None);
        if let (Some(x), Some(y)) = (value(a), value(b)) {
            return x == y;
        }
        match (&a.kind, &b.kind) {
            (ExprKind::Path(x), ExprKind::Path(y)) => x.ident.name == y.ident.name,
            (ExprKind::Member(x, m), ExprKind::Member(y, n)) => {
                m.name == n.name && self.same_expr(x, y)
            }
            (ExprKind::Index(x, i), ExprKind::Index(y, j)) => {
                self.same_expr(x, y) && self.same_expr(i, j)
            }
            (ExprKind::Slice(x, h, l), ExprKind::Slice(y, i, m)) => {
                self.same_expr(x, y) && self.same_expr(h, i) && self.same_expr(l, m)
            }
            (ExprKind::Unary(o, x), ExprKind::Unary(p, y)) => o == p && self.same_expr(x, y),
            (ExprKind::Cast(_, x), ExprKind::Cast(_, y)) => {
                self.expr_type(a.id) == self.expr_type(b.id) && self.same_expr(x, y)
            }
            (ExprKind::Binary(o, x1, x2), ExprKind::Binary(p, y1, y2)) => {
                o == p && self.same_expr(x1, y1) && self.same_expr(x2, y2)
            }
            (ExprKind::Conditional(c, x1, x2), ExprKind::Conditional(d, y1, y2)) => {
                self.same_expr(c, d) && self.same_expr(x1, y1) && self.same_expr(x2, y2)
            }
            (ExprKind::List { items: x, .. }, ExprKind::List { items: y, .. }) => {
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| self.same_expr(x, y))
            }
            (ExprKind::Struct { fields: x, .. }, ExprKind::Struct { fields: y, .. }) => {
                let same = |(m, x): &(Ident, Expr)| {
                    let twin = y.iter().find(|(n, _)| m.name == n.name);
                    twin.is_some_and(|(_, y)| self.same_expr(x, y))
                };
                x.len() == y.len() && x.iter().all(same)
            }
            (
                ExprKind::Call {
                    func: f, args: x, ..
                },
                ExprKind::Call {
                    func: g, args: y, ..
                },
            ) => {
                let same = |(x, y): (&Arg, &Arg)| self.same_expr(&x.value, &y.value);
                self.same_expr(f, g) && x.len() == y.len() && x.iter().zip(y).all(same)
            }
            _ => false,
        }
    }
}

fn one(width: u32, signed: bool) -> Value {
    Value::Bits {
        width,
        signed,
        value: wrap(&BigInt::one(), width, signed),
    }
}
