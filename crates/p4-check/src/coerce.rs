//! Type inference and implicit conversion (specification 8.11, 8.26).

use crate::args::contains;
use crate::hints::counted;
use crate::types::{Kind, Type};
use crate::Checker;
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;

/// A hint gives so many members of an enum as examples.
const MOST_MEMBERS: usize = 2;

impl<'a> Checker<'a> {
    pub(crate) fn fresh(&mut self) -> Type {
        self.inferred.push(None);
        Type::Infer(self.inferred.len() as u32 - 1)
    }

    /// `ty` with everything put in that has been inferred so far.
    pub(crate) fn resolved(&self, ty: &Type) -> Type {
        match ty {
            Type::Infer(n) => match &self.inferred[*n as usize] {
                Some(found) => self.resolved(found),
                None => ty.clone(),
            },
            Type::Named(kind, decl, name, args) => Type::Named(
                *kind,
                *decl,
                name.clone(),
                args.iter().map(|t| self.resolved(t)).collect(),
            ),
            Type::Stack(element, size) => Type::Stack(Box::new(self.resolved(element)), *size),
            Type::Tuple(items) => Type::Tuple(items.iter().map(|t| self.resolved(t)).collect()),
            Type::List(element) => Type::List(Box::new(self.resolved(element))),
            Type::Set(element) => Type::Set(Box::new(self.resolved(element))),
            Type::StructLit(fields) => Type::StructLit(
                fields
                    .iter()
                    .map(|(name, ty)| (name.clone(), self.resolved(ty)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// Makes two types equal by inference; false if they cannot be.
    pub(crate) fn unify(&mut self, a: &Type, b: &Type) -> bool {
        let (a, b) = (self.resolved(a), self.resolved(b));
        match (&a, &b) {
            (Type::Unknown, _) | (_, Type::Unknown) => true,
            (Type::DontCare, _) | (_, Type::DontCare) => true,
            (Type::Infer(n), Type::Infer(m)) if n == m => true,
            // A type cannot be part of itself.
            (Type::Infer(_), other) | (other, Type::Infer(_))
                if contains(other, if matches!(a, Type::Infer(_)) { &a } else { &b }) =>
            {
                false
            }
            (Type::Infer(n), other) | (other, Type::Infer(n)) => {
                self.inferred[*n as usize] = Some(other.clone());
                true
            }
            (
                Type::Named(Kind::ParserType | Kind::ControlType, ..),
                Type::Named(Kind::Parser | Kind::Control, ..),
            ) => self.fit_block(&a, &b).is_ok(),
            (
                Type::Named(Kind::Parser | Kind::Control, ..),
                Type::Named(Kind::ParserType | Kind::ControlType, ..),
            ) => self.fit_block(&b, &a).is_ok(),
            (Type::Named(_, da, _, xs), Type::Named(_, db, _, ys)) => {
                da == db && xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| self.unify(x, y))
            }
            (Type::Stack(x, n), Type::Stack(y, m)) => n == m && self.unify(x, y),
            (Type::Tuple(xs), Type::Tuple(ys)) => {
                xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| self.unify(x, y))
            }
            (Type::List(x), Type::List(y)) | (Type::Set(x), Type::Set(y)) => self.unify(x, y),
            _ => a == b,
        }
    }

    /// Converts the checked expression `expr` to `target` where the language does so by itself,
    /// and notes it; otherwise reports the mismatch. Returns whether it fits.
    pub(crate) fn coerce(&mut self, expr: &'a Expr, target: &Type) -> bool {
        let from = self.resolved(&self.out.expr_type(expr.id).clone());
        let target = match (&from, self.resolved(target)) {
            // A number needs some width.
            (Type::Int, Type::DontCare) => Type::Bit(32),
            (_, target) => target,
        };
        if self.try_coerce(expr, &from, &target) {
            return true;
        }
        let (from, target) = (self.resolved(&from), self.resolved(&target));
        if is_block_type(&target) && is_block(&from) {
            if let Err(why) = self.fit_block(&target, &from) {
                let target = self.resolved(&target);
                self.report_misfit(expr.span, &target, &from, why);
            }
            return false;
        }
        if let Some(diagnostic) = self.other_count(expr, &target) {
            self.report(diagnostic);
            return false;
        }
        let mut diagnostic = Diagnostic::error(
            "E0302",
            expr.span,
            format!(
                "this is {}, but {} is needed here",
                article(&from),
                article(&target)
            ),
        );
        if let (Some(_), Some(width)) = (from.fixed_width(), target.fixed_width()) {
            let written = if matches!(target, Type::Bit(_)) {
                format!("bit<{width}>")
            } else {
                format!("int<{width}>")
            };
            diagnostic = diagnostic.hint(format!("P4 does not convert widths or signs by itself: write `({written})` in front if that is meant"));
        } else if from == Type::Bool && target.is_numeric() {
            diagnostic = diagnostic.hint("a bool becomes a bit<1> by a cast: `(bit<1>) value`");
        } else if from.is_numeric() && target == Type::Bool {
            diagnostic = diagnostic
                .hint("a number is not a condition in P4: compare it, as in `value != 0`");
        } else if matches!(from, Type::Named(Kind::Header | Kind::Union, ..))
            && target == Type::Bool
        {
            diagnostic = diagnostic.hint("whether a header is there is asked by `isValid()`");
        } else if let (Some(members), Type::Named(_, _, name, _)) =
            (self.members_of(&target), &target)
        {
            let some: Vec<String> = members
                .iter()
                .take(MOST_MEMBERS)
                .map(|m| format!("`{name}.{m}`"))
                .collect();
            diagnostic = diagnostic.hint(format!(
                "write one of its members, such as {}",
                some.join(" or ")
            ));
        }
        self.report(diagnostic);
        false
    }

    /// The members of an enum.
    pub(crate) fn members_of(&self, ty: &Type) -> Option<Vec<Name>> {
        let Type::Named(Kind::Enum | Kind::SerEnum, id, ..) = ty else {
            return None;
        };
        match &self.out.decls.get(id)?.kind {
            DeclKind::Enum { members, .. } => {
                Some(members.iter().map(|m| m.name.name.clone()).collect())
            }
            _ => None,
        }
    }

    /// What is wrong with a list of another number of values than a struct or header has fields.
    fn other_count(&self, expr: &Expr, target: &Type) -> Option<Diagnostic> {
        let ExprKind::List { items, rest } = &expr.kind else {
            return None;
        };
        let Type::Named(Kind::Struct | Kind::Header, ..) = target else {
            return None;
        };
        let fields = self.fields_of(target)?;
        if items.len() == fields.len() {
            return None;
        }
        let message = format!(
            "{target} has {}, but this gives {}",
            counted(fields.len(), "field"),
            counted(items.len(), "value")
        );
        let names: Vec<&str> = fields.iter().map(|(name, ..)| &**name).collect();
        let hint = match names.len() {
            _ if items.len() < names.len() && !rest => {
                let missing = names[items.len()..].join(", ");
                format!("give a value for {missing}, too, or end the list with `...`")
            }
            0 => "write `{}`".to_string(),
            _ => format!("it has {}, in this order", names.join(", ")),
        };
        Some(Diagnostic::error("E0302", expr.span, message).hint(hint))
    }

    pub(crate) fn try_coerce(&mut self, expr: &'a Expr, from: &Type, target: &Type) -> bool {
        if *from == Type::Unknown || *target == Type::Unknown {
            return true;
        }
        match (&expr.kind, target) {
            (ExprKind::Conditional(_, yes, no), _) if from != target => {
                let (y, n) = (
                    self.out.expr_type(yes.id).clone(),
                    self.out.expr_type(no.id).clone(),
                );
                let ok = self.try_coerce(yes, &y, target) && self.try_coerce(no, &n, target);
                if ok {
                    let target = self.resolved(target);
                    self.set_type(expr.id, target);
                    self.out.values.remove(&expr.id);
                }
                return ok;
            }
            (ExprKind::List { items, rest }, _) => {
                if let Some(ok) = self.coerce_list(expr, items, *rest, target) {
                    return ok;
                }
            }
            (ExprKind::Struct { fields, rest }, Type::Named(Kind::Struct | Kind::Header, ..)) => {
                return self.coerce_struct(expr, fields, *rest, target);
            }
            (ExprKind::Dots, _) => {
                self.note_coercion(expr, target);
                return true;
            }
            _ => {}
        }
        match (from, target) {
            (Type::Int, Type::Bit(_) | Type::Signed(_)) => {
                self.note_coercion(expr, target);
                self.check_fits(expr, target);
                true
            }
            // A strict reading of the specification (7.2.8) asks for a cast here; p4c does not, and
            // programs in the field, such as those of PINS, are written that way.
            (Type::Int, Type::Named(Kind::NewType, ..)) => {
                let stored = self.out.underlying(target);
                if !matches!(stored, Type::Bit(_) | Type::Signed(_)) {
                    return false;
                }
                self.note_coercion(expr, target);
                self.check_fits(expr, &stored);
                true
            }
            (Type::Bit(_) | Type::Signed(_), Type::Int) if self.const_value(expr).is_some() => {
                self.note_coercion(expr, target);
                true
            }
            (Type::InvalidLit, Type::Named(Kind::Header | Kind::Union, ..)) => {
                self.note_coercion(expr, target);
                true
            }
            (Type::Named(Kind::SerEnum, ..), Type::Bit(_) | Type::Signed(_)) => {
                if self.out.underlying(from) == *target {
                    self.note_coercion(expr, target);
                    return true;
                }
                false
            }
            (element, Type::Set(inner)) if !matches!(element, Type::Set(_)) => {
                self.try_coerce(expr, element, inner)
            }
            _ => self.unify(target, from),
        }
    }

    fn note_coercion(&mut self, expr: &'a Expr, target: &Type) {
        self.out.values.remove(&expr.id);
        self.out.coercions.insert(expr.id, target.clone());
    }

    /// `{a, b}` to a tuple, struct, header, stack or list; `None` if `target` is none of these.
    fn coerce_list(
        &mut self,
        expr: &'a Expr,
        items: &'a [Expr],
        rest: bool,
        target: &Type,
    ) -> Option<bool> {
        let wanted: Vec<Type> = match target {
            Type::Tuple(types) => types.clone(),
            Type::Named(Kind::Struct | Kind::Header, ..) => self
                .fields_of(target)?
                .into_iter()
                .map(|(_, ty, _)| ty)
                .collect(),
            Type::Stack(element, size) => {
                vec![(**element).clone(); *size as usize]
            }
            Type::List(element) => vec![(**element).clone(); items.len()],
            _ => return None,
        };
        let enough = if rest {
            items.len() <= wanted.len()
        } else {
            items.len() == wanted.len()
        };
        if !enough {
            return Some(false);
        }
        let mut ok = true;
        for (item, ty) in items.iter().zip(&wanted) {
            ok &= self.coerce(item, ty);
        }
        self.note_coercion(expr, &self.resolved(target));
        // Mismatches of items are reported at the items.
        let _ = ok;
        Some(true)
    }

    fn coerce_struct(
        &mut self,
        expr: &'a Expr,
        fields: &'a [(Ident, Expr)],
        rest: bool,
        target: &Type,
    ) -> bool {
        let Some(wanted) = self.fields_of(target) else {
            return false;
        };
        for (name, value) in fields {
            match wanted.iter().find(|(field, ..)| *field == name.name) {
                Some((_, ty, _)) => {
                    self.coerce(value, ty);
                }
                None => self.error(
                    "E0321",
                    name.span,
                    format!("{target} has no field `{}`", name.name),
                ),
            }
        }
        let missing: Vec<String> = wanted
            .iter()
            .filter(|(field, ..)| !fields.iter().any(|(n, _)| n.name == *field))
            .map(|(field, ..)| format!("`{field}`"))
            .collect();
        if !rest && !missing.is_empty() {
            self.report(
                Diagnostic::error(
                    "E0321",
                    expr.span,
                    format!("no value is given for {} of {target}", missing.join(", ")),
                )
                .hint("name every field, or end with `...` to leave the rest at their defaults"),
            );
        }
        self.note_coercion(expr, target);
        true
    }
}

fn is_block_type(ty: &Type) -> bool {
    matches!(ty, Type::Named(Kind::ParserType | Kind::ControlType, ..))
}

fn is_block(ty: &Type) -> bool {
    matches!(ty, Type::Named(Kind::Parser | Kind::Control, ..))
}

/// `bit<8>` as "a value of type bit<8>", and the like, for sentences.
pub(crate) fn article(ty: &Type) -> String {
    match ty {
        Type::Int => "a number without a width".into(),
        Type::Bool => "a bool".into(),
        Type::Action(_)
        | Type::Function(_)
        | Type::Table(_)
        | Type::TableResult(_)
        | Type::ActionRun(_)
        | Type::TypeName(_)
        | Type::Set(_)
        | Type::InvalidLit
        | Type::Unknown
        | Type::Infer(_) => ty.to_string(),
        Type::DotsLit => "`...`".into(),
        Type::Tuple(_) => format!("a list of type {ty}"),
        Type::Named(Kind::Parser | Kind::Control | Kind::Extern | Kind::Package, ..) => {
            format!("an instance of {ty}")
        }
        Type::Named(Kind::ParserType, ..) => format!("a parser of type {ty}"),
        Type::Named(Kind::ControlType, ..) => format!("a control of type {ty}"),
        Type::Named(Kind::Header, ..) => format!("a header of type {ty}"),
        _ => format!("a value of type {ty}"),
    }
}
