//! Types of expressions (specification 8).

use crate::type_ref::MAX_WIDTH;
use crate::types::{Kind, Type};
use crate::value::Value;
use crate::{Checker, Def};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;

/// A hint names so many members.
const MOST_LISTED: usize = 12;

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
                "E0105",
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
                if *width > MAX_WIDTH {
                    let message = format!(
                        "a width of {width} bits is more than the {MAX_WIDTH} that are supported"
                    );
                    self.error("E0319", expr.span, message);
                    return Type::Unknown;
                }
                if *signed && *width == 0 {
                    self.error(
                        "E0319",
                        expr.span,
                        "`int<W>` needs at least one bit, for the sign",
                    );
                    return Type::Unknown;
                }
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
                let ty = self.open_type_ref(ty);
                self.construct(expr.id, &ty, args, expr.span)
            }
            ExprKind::List { items, .. } => {
                let mut types = Vec::new();
                for item in items {
                    types.push(self.value_expr(item));
                }
                if let Some(dots) = items.iter().find(|i| matches!(i.kind, ExprKind::Dots)) {
                    self.dots_not_last(dots);
                    return Type::Unknown;
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

    pub(crate) fn dots_not_last(&mut self, dots: &'a Expr) {
        self.report(
            Diagnostic::error("E0325", dots.span, "`...` must come last")
                .hint("it stands for all that follows: put it at the end, once"),
        );
    }

    fn path(&mut self, expr: &'a Expr, path: &'a Path) -> Type {
        if self.resolve_quietly(path).is_none() && self.match_kinds.contains(&path.ident.name) {
            let value = Value::MatchKind(path.ident.name.clone());
            self.out.values.insert(expr.id, value);
            return Type::MatchKind;
        }
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
                match self.out.field_type(&base_type, &member.name) {
                    Some(ty) => ty,
                    None => {
                        let fields = self.fields_of(&base_type).into_iter().flatten();
                        let names: Vec<Name> = fields.map(|(n, ..)| n).collect();
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
                "next" | "last" | "lastIndex" if !self.holds_headers(element) => {
                    self.not_a_header_stack(member, element);
                    (**element).clone()
                }
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
            Type::Table(_) if matches!(name, "hit" | "miss" | "action_run") => {
                let message = format!("a table has no `{name}` before it is applied");
                self.report(
                    Diagnostic::error("E0305", member.span, message)
                        .hint(format!("write `.apply().{name}`")),
                );
                Type::Unknown
            }
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

    /// Whether an array of these is a header stack; what a type parameter stands for may be a header.
    pub(crate) fn holds_headers(&self, element: &Type) -> bool {
        matches!(
            element,
            Type::Named(Kind::Header | Kind::Union, ..) | Type::Param(..) | Type::Unknown
        )
    }

    pub(crate) fn not_a_header_stack(&mut self, member: &Ident, element: &Type) {
        let message = format!(
            "only stacks of headers have `{}`, but the elements of this array are {element}",
            member.name
        );
        let hint = match &*member.name {
            "push_front" | "pop_front" => "assign the elements one by one: `array[1] = array[0];`",
            _ => "write an index, as in `array[0]`",
        };
        self.report(Diagnostic::error("E0322", member.span, message).hint(hint));
    }

    fn no_member(&mut self, ty: &Type, member: &Ident, names: &[Name]) -> Type {
        let mut diagnostic = Diagnostic::error(
            "E0305",
            member.span,
            format!("{ty} has no member `{}`", member.name),
        );
        let nearest = names
            .iter()
            .min_by_key(|n| p4_syntax::edit_distance(n, &member.name));
        let may_be_invalid = matches!(ty, Type::Named(Kind::Header | Kind::Union, ..));
        if may_be_invalid && member.name.to_lowercase().contains("valid") {
            diagnostic = diagnostic.hint(
                "these are methods, with parentheses: `isValid()`, `setValid()`, `setInvalid()`",
            );
        } else if let Some(near) = nearest {
            let list: Vec<&str> = names.iter().map(|n| &**n).take(MOST_LISTED).collect();
            diagnostic = if p4_syntax::edit_distance(near, &member.name) <= member.name.len() / 2 {
                diagnostic.hint(format!("did you mean `{near}`?"))
            } else {
                let more = match names.len() - list.len() {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                diagnostic.hint(format!("it has {}{more}", list.join(", ")))
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
            Type::Named(Kind::Enum | Kind::SerEnum, ..) => {
                let members = self.members_of(ty).unwrap_or_default();
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

    fn index_outside(&mut self, span: Span, value: &BigInt, size: usize, base: &Type) {
        let what = match base {
            Type::Tuple(_) => "tuple",
            _ => "stack",
        };
        let (message, hint) = match (size, what) {
            (0, "tuple") => (
                "this tuple has no components, so no index fits".to_string(),
                "give the tuple a component, as in `tuple<bit<8>>`",
            ),
            (0, _) => (
                "this stack has no elements, so no index fits".to_string(),
                "declare it with a size of at least 1",
            ),
            (_, "tuple") => (
                format!("the index {value} is outside of 0 .. {}", size - 1),
                "a tuple of N components has the indices 0 to N-1",
            ),
            _ => (
                format!("the index {value} is outside of 0 .. {}", size - 1),
                "a stack of N elements has the indices 0 to N-1",
            ),
        };
        self.report(Diagnostic::error("E0306", span, message).hint(hint));
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
                let message = format!(
                    "only stacks, tuples and lists have an index, but this is {}",
                    crate::coerce::article(other)
                );
                let mut diagnostic = Diagnostic::error("E0306", base.span, message);
                diagnostic = diagnostic.hint(match other.fixed_width() {
                    Some(_) => "bits are written from the highest to the lowest: one is `x[15:15]`",
                    None => "leave the index out",
                });
                self.report(diagnostic);
                return Type::Unknown;
            }
        };
        if let Some(value) = &constant {
            if value.is_negative() || *value >= BigInt::from(size) {
                self.index_outside(index.span, value, size, &base_type);
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
                        "bits can be taken from `bit<W>` and `int<W>` only, but this is {}",
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
        if hi - lo >= MAX_WIDTH {
            let message = format!("a slice can have {MAX_WIDTH} bits at most");
            self.error("E0307", expr.span, message);
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
        let bound_span = width.span;
        let width = self.slice_bound(width);
        let (Some((_, of)), Some(width)) = (shape, width) else {
            return Type::Unknown;
        };
        if width == 0 || width > MAX_WIDTH {
            let message = format!("a slice has 1 to {MAX_WIDTH} bits");
            self.error("E0307", bound_span, message);
            return Type::Unknown;
        }
        let low = self.const_value(lo).and_then(|v| v.as_int().cloned());
        let beyond = |low: &BigInt| of.is_some_and(|of| low + width > BigInt::from(of));
        if let Some(low) = low.filter(|low| low.is_negative() || beyond(low)) {
            self.error(
                "E0307",
                lo.span,
                format!("{width} bits from bit {low} on are not all within this value"),
            );
            return Type::Unknown;
        }
        Type::Bit(width)
    }

    fn slice_bound(&mut self, bound: &'a Expr) -> Option<u32> {
        let ty = self.value_expr(bound);
        match self.const_value(bound) {
            Some(value) => match value.as_int().and_then(BigInt::to_u32) {
                Some(number) => Some(number),
                None => {
                    self.error(
                        "E0327",
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
