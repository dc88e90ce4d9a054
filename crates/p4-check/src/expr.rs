//! Types of expressions (specification 8).

use crate::types::{Kind, Type};
use crate::value::Value;
use crate::{Checker, Def};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;

impl<'a> Checker<'a> {
    /// Finds the type of `expr`, notes it and returns it.
    pub(crate) fn expr(&mut self, expr: &'a Expr) -> Type {
        let ty = self.expr_inner(expr);
        let ty = self.resolved(&ty);
        self.set_type(expr.id, ty)
    }

    /// The type of an expression that must be a value, not the name of a type.
    pub(crate) fn value_expr(&mut self, expr: &'a Expr) -> Type {
        let ty = self.expr(expr);
        if let Type::TypeName(named) = &ty {
            self.error(
                "E0204",
                expr.span,
                format!("{named} is a type, but a value is needed here"),
            );
            return self.set_type(expr.id, Type::Unknown);
        }
        ty
    }

    fn expr_inner(&mut self, expr: &'a Expr) -> Type {
        match &expr.kind {
            ExprKind::Int { width: None, .. } => Type::Int,
            ExprKind::Int {
                value,
                width: Some((width, signed)),
            } => {
                let ty = if *signed {
                    Type::Signed(*width)
                } else {
                    Type::Bit(*width)
                };
                if !crate::value::fits(value, *width, *signed)
                    && !crate::value::fits_either(value, *width)
                {
                    self.report(Diagnostic::warning(
                        "W0505",
                        expr.span,
                        format!("{value} does not fit in {ty}"),
                    ));
                }
                ty
            }
            ExprKind::Bool(_) => Type::Bool,
            ExprKind::String(_) => Type::String,
            ExprKind::Path(path) => self.path(expr, path),
            ExprKind::This => match self.context.this.clone() {
                Some(ty) => ty,
                None => {
                    self.error(
                        "E0205",
                        expr.span,
                        "`this` has a meaning only inside the methods of an extern instance",
                    );
                    Type::Unknown
                }
            },
            ExprKind::DontCare => Type::DontCare,
            ExprKind::Dots => Type::DotsLit,
            ExprKind::Member(base, member) => self.member(base, member),
            ExprKind::TypeMember(ty, member) => {
                let ty = self.type_ref(ty);
                self.type_member(&ty, member)
            }
            ExprKind::Index(base, index) => self.index(base, index),
            ExprKind::Slice(base, hi, lo) => self.slice(expr, base, hi, lo),
            ExprKind::PlusSlice(base, lo, width) => self.plus_slice(base, lo, width),
            ExprKind::Unary(op, operand) => self.unary(*op, operand),
            ExprKind::Binary(op, a, b) => self.binary(expr, *op, a, b),
            ExprKind::Conditional(cond, yes, no) => self.conditional(cond, yes, no),
            ExprKind::Cast(ty, operand) => self.cast(expr, ty, operand),
            ExprKind::Call {
                func,
                type_args,
                args,
            } => self.call(expr, func, type_args, args),
            ExprKind::Construct { ty, args } => {
                let ty = self.type_ref(ty);
                self.construct(expr.id, &ty, args, expr.span)
            }
            ExprKind::List { items, .. } => {
                let mut types = Vec::new();
                for item in items {
                    types.push(self.value_expr(item));
                }
                Type::Tuple(types)
            }
            ExprKind::Struct { fields, .. } => {
                let mut types: Vec<(Name, Type)> = Vec::new();
                for (name, value) in fields {
                    let ty = self.value_expr(value);
                    if types.iter().any(|(n, _)| *n == name.name) {
                        self.error(
                            "E0202",
                            name.span,
                            format!("`{}` is given twice", name.name),
                        );
                    }
                    types.push((name.name.clone(), ty));
                }
                Type::StructLit(types)
            }
            ExprKind::Invalid => Type::InvalidLit,
            ExprKind::Mask(value, mask) => self.set_pair(value, mask, true),
            ExprKind::Range(lo, hi) => self.set_pair(lo, hi, false),
            ExprKind::Tuple(items) => {
                let mut types = Vec::new();
                for item in items {
                    types.push(self.value_expr(item));
                }
                Type::Tuple(types)
            }
            ExprKind::Error => Type::Unknown,
        }
    }

    fn path(&mut self, expr: &'a Expr, path: &'a Path) -> Type {
        let Some(def) = self.resolve(path) else {
            return Type::Unknown;
        };
        self.out.defs.insert(expr.id, def);
        match def {
            Def::Const(decl) | Def::Var(decl) => match &decl.kind {
                DeclKind::Const { ty, .. } | DeclKind::Variable { ty, .. } => {
                    self.out.type_ref(ty.id).clone()
                }
                _ => Type::Unknown,
            },
            Def::Param(param) => self.out.type_ref(param.ty.id).clone(),
            Def::Instance(decl) => self.out.expr_type(decl.id).clone(),
            Def::Type(_) => Type::TypeName(Box::new(self.type_of_name(path))),
            Def::TypeParam(owner, index) => Type::TypeName(Box::new(Type::Param(
                owner.id,
                index,
                path.ident.name.clone(),
            ))),
            Def::Action(decl) => Type::Action(decl.id),
            Def::Function(decl) => Type::Function(decl.id),
            Def::Table(decl) => Type::Table(decl.id),
            Def::ValueSet(decl) => match &decl.kind {
                DeclKind::ValueSet { element, .. } => {
                    Type::Set(Box::new(self.out.type_ref(element.id).clone()))
                }
                _ => Type::Unknown,
            },
        }
    }

    fn member(&mut self, base: &'a Expr, member: &'a Ident) -> Type {
        let base_type = self.expr(base);
        let name = &*member.name;
        match &base_type {
            Type::Unknown => Type::Unknown,
            Type::TypeName(ty) => {
                let ty = (**ty).clone();
                self.type_member(&ty, member)
            }
            Type::Named(Kind::Struct | Kind::Header | Kind::Union, ..) => {
                let fields = self.fields_of(&base_type).unwrap_or_default();
                match fields.iter().find(|(field, ..)| *field == member.name) {
                    Some((_, ty, _)) => ty.clone(),
                    None => {
                        let names: Vec<Name> = fields.into_iter().map(|(n, ..)| n).collect();
                        self.no_member(&base_type, member, &names)
                    }
                }
            }
            Type::StructLit(fields) => match fields.iter().find(|(n, _)| *n == member.name) {
                Some((_, ty)) => ty.clone(),
                None => {
                    let names: Vec<Name> = fields.iter().map(|(n, _)| n.clone()).collect();
                    self.no_member(&base_type, member, &names)
                }
            },
            Type::Stack(element, _) => match name {
                "next" | "last" => {
                    if !self.context.in_parser {
                        self.report(
                            Diagnostic::error(
                                "E0322",
                                member.span,
                                format!("`.{name}` of a stack can be used in parsers only"),
                            )
                            .hint("use an index here, as in `stack[0]`"),
                        );
                    }
                    (**element).clone()
                }
                "lastIndex" | "size" => {
                    if name == "lastIndex" && !self.context.in_parser {
                        self.error(
                            "E0322",
                            member.span,
                            "`.lastIndex` of a stack can be used in parsers only",
                        );
                    }
                    Type::Bit(32)
                }
                _ => self.no_member(
                    &base_type,
                    member,
                    &[
                        "next".into(),
                        "last".into(),
                        "lastIndex".into(),
                        "size".into(),
                    ],
                ),
            },
            Type::TableResult(table) => match name {
                "hit" | "miss" => Type::Bool,
                "action_run" => Type::ActionRun(*table),
                _ => self.no_member(
                    &base_type,
                    member,
                    &["hit".into(), "miss".into(), "action_run".into()],
                ),
            },
            _ => {
                self.error(
                    "E0305",
                    member.span,
                    format!("{} has no member `{name}`", subject(&base_type)),
                );
                Type::Unknown
            }
        }
    }

    fn no_member(&mut self, ty: &Type, member: &Ident, names: &[Name]) -> Type {
        let mut diagnostic = Diagnostic::error(
            "E0305",
            member.span,
            format!("{ty} has no member `{}`", member.name),
        );
        let nearest = names
            .iter()
            .min_by_key(|n| crate::scope::edit_distance(n, &member.name));
        if let Some(near) = nearest {
            let list: Vec<&str> = names.iter().map(|n| &**n).take(12).collect();
            diagnostic = if crate::scope::edit_distance(near, &member.name) <= member.name.len() / 2
            {
                diagnostic.hint(format!("did you mean `{near}`?"))
            } else {
                diagnostic.hint(format!("it has {}", list.join(", ")))
            };
        }
        self.report(diagnostic);
        Type::Unknown
    }

    fn type_member(&mut self, ty: &Type, member: &'a Ident) -> Type {
        match ty {
            Type::Unknown => Type::Unknown,
            Type::Error => {
                if !self.out.errors.contains(&member.name) {
                    let names = self.out.errors.clone();
                    return self.no_member(ty, member, &names);
                }
                Type::Error
            }
            Type::MatchKind => Type::MatchKind,
            Type::Named(Kind::Enum | Kind::SerEnum, id, ..) => {
                let members: Vec<Name> = match self.out.decls.get(id).map(|d| &d.kind) {
                    Some(DeclKind::Enum { members, .. }) => {
                        members.iter().map(|m| m.name.name.clone()).collect()
                    }
                    _ => Vec::new(),
                };
                if members.contains(&member.name) {
                    ty.clone()
                } else {
                    self.no_member(ty, member, &members)
                }
            }
            _ => {
                self.error(
                    "E0305",
                    member.span,
                    format!("the type {ty} has no member `{}`", member.name),
                );
                Type::Unknown
            }
        }
    }

    fn index(&mut self, base: &'a Expr, index: &'a Expr) -> Type {
        let base_type = self.value_expr(base);
        let index_type = self.value_expr(index);
        let numeric = index_type.is_numeric()
            || index_type == Type::Unknown
            || index_type.is_kind(Kind::SerEnum);
        if !numeric {
            self.error(
                "E0306",
                index.span,
                format!(
                    "an index must be a number, but this is {}",
                    crate::coerce::article(&index_type)
                ),
            );
        }
        let constant = self.const_value(index).and_then(|v| v.as_int().cloned());
        let size = match &base_type {
            Type::Stack(_, size) => *size as usize,
            Type::Tuple(items) => items.len(),
            Type::List(_) => usize::MAX,
            Type::Unknown => return Type::Unknown,
            other => {
                self.error(
                    "E0306",
                    base.span,
                    format!(
                        "only stacks, tuples and lists have an index, but this is {}",
                        crate::coerce::article(other)
                    ),
                );
                return Type::Unknown;
            }
        };
        if let Some(value) = &constant {
            if value.is_negative() || *value >= BigInt::from(size) {
                self.error(
                    "E0306",
                    index.span,
                    format!(
                        "the index {value} is outside of 0 .. {}",
                        size.saturating_sub(1)
                    ),
                );
                return Type::Unknown;
            }
        }
        match base_type {
            Type::Stack(element, _) | Type::List(element) => *element,
            Type::Tuple(items) => match constant.as_ref().and_then(BigInt::to_usize) {
                Some(i) => items.get(i).cloned().unwrap_or(Type::Unknown),
                None => {
                    self.error(
                        "E0501",
                        index.span,
                        "the index of a tuple must be known at compile time",
                    );
                    Type::Unknown
                }
            },
            _ => Type::Unknown,
        }
    }

    fn slice_base(&mut self, base: &'a Expr) -> Option<(Type, Option<u32>)> {
        let ty = self.value_expr(base);
        let shape = self.out.underlying(&ty);
        match shape {
            Type::Bit(w) | Type::Signed(w) => Some((ty, Some(w))),
            Type::Int => Some((ty, None)),
            Type::Unknown => None,
            _ => {
                self.error(
                    "E0307",
                    base.span,
                    format!(
                        "bits can be taken from bit<W> and int<W> only, but this is {}",
                        crate::coerce::article(&ty)
                    ),
                );
                None
            }
        }
    }

    fn slice(&mut self, expr: &'a Expr, base: &'a Expr, hi: &'a Expr, lo: &'a Expr) -> Type {
        let shape = self.slice_base(base);
        let hi = self.slice_bound(hi);
        let lo_value = self.slice_bound(lo);
        let (Some((_, width)), Some(hi), Some(lo)) = (shape, hi, lo_value) else {
            return Type::Unknown;
        };
        if hi < lo {
            self.report(
                Diagnostic::error(
                    "E0307",
                    expr.span,
                    format!("the slice [{hi}:{lo}] has its bounds the wrong way round"),
                )
                .hint("the higher bit comes first: [high:low]"),
            );
            return Type::Unknown;
        }
        if width.is_some_and(|w| hi >= w) {
            self.error(
                "E0307",
                expr.span,
                format!(
                    "bit {hi} is outside of the {} bits of this value",
                    width.unwrap_or(0)
                ),
            );
            return Type::Unknown;
        }
        Type::Bit(hi - lo + 1)
    }

    fn plus_slice(&mut self, base: &'a Expr, lo: &'a Expr, width: &'a Expr) -> Type {
        let shape = self.slice_base(base);
        let lo_type = self.value_expr(lo);
        if !lo_type.is_numeric() && lo_type != Type::Unknown {
            self.error(
                "E0307",
                lo.span,
                "the lowest bit of a slice must be a number",
            );
        }
        let width = self.slice_bound(width);
        match (shape, width) {
            (Some(_), Some(width)) if width > 0 => Type::Bit(width),
            _ => Type::Unknown,
        }
    }

    fn slice_bound(&mut self, bound: &'a Expr) -> Option<u32> {
        let ty = self.value_expr(bound);
        match self.const_value(bound) {
            Some(value) => match value.as_int().and_then(BigInt::to_u32) {
                Some(number) => Some(number),
                None => {
                    self.error(
                        "E0307",
                        bound.span,
                        "the bound of a slice must be a number that is not negative",
                    );
                    None
                }
            },
            None if ty == Type::Unknown => None,
            None => {
                self.report(Diagnostic::error("E0501", bound.span, "the bounds of a slice must be known at compile time").hint("for a position that is only known at run time, shift first: `(x >> n)[7:0]`, or use `x[n +: 8]`"));
                None
            }
        }
    }

    fn unary(&mut self, op: UnOp, operand: &'a Expr) -> Type {
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

    fn binary(&mut self, expr: &'a Expr, op: BinOp, a: &'a Expr, b: &'a Expr) -> Type {
        match op {
            BinOp::And | BinOp::Or => {
                for side in [a, b] {
                    self.value_expr(side);
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
            (Some(_), Some(_)) => diagnostic
                .hint("both sides need the same width and sign: cast one, as in `(bit<32>) x`"),
            _ if *ta == Type::Bool || *tb == Type::Bool => {
                diagnostic.hint("on bools use `&&`, `||` and `!`")
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
        if matches!(tb, Type::Signed(_)) {
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
            Type::Action(_)
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
        ) && !matches!(tb, Type::Set(_));
        if !ok || !comparable {
            return self.bad_operands(expr, BinOp::Eq, &ta, &tb);
        }
        Type::Bool
    }

    fn conditional(&mut self, cond: &'a Expr, yes: &'a Expr, no: &'a Expr) -> Type {
        self.value_expr(cond);
        self.coerce(cond, &Type::Bool);
        let (ty, tn) = self.balance(yes, no);
        if ty == Type::Unknown || tn == Type::Unknown {
            return Type::Unknown;
        }
        if ty == tn {
            if ty == Type::Int && self.const_value(cond).is_none() {
                return Type::Int;
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

    fn cast(&mut self, expr: &'a Expr, ty: &'a TypeRef, operand: &'a Expr) -> Type {
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
        if f.fixed_width().is_some() && t.fixed_width().is_some() {
            diagnostic =
                diagnostic.hint("change width and sign in two steps: `(int<16>)(bit<16>) x`");
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

    fn set_pair(&mut self, a: &'a Expr, b: &'a Expr, is_mask: bool) -> Type {
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
                    let how = if param.direction == Direction::In {
                        "is `in`"
                    } else {
                        "has no direction"
                    };
                    self.report(
                        Diagnostic::error(
                            "E0324",
                            expr.span,
                            format!(
                                "`{}` cannot be changed: the parameter {how}",
                                path.ident.name
                            ),
                        )
                        .label(param.name.span, "declared here")
                        .hint("declare it `inout`, or copy it to a variable first"),
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

fn is_comparison(op: BinOp) -> bool {
    matches!(
        op,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne
    )
}

fn subject(ty: &Type) -> String {
    match ty {
        Type::Bit(_)
        | Type::Signed(_)
        | Type::Varbit(_)
        | Type::Bool
        | Type::Int
        | Type::String
        | Type::Error => format!("a value of type {ty}"),
        other => other.to_string(),
    }
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
