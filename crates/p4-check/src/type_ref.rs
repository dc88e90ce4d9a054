//! What types that are written down denote (specification 7).

use crate::hints::counted;
use crate::types::{Kind, Type};
use crate::{Checker, Def};
use num_traits::{Signed, ToPrimitive};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;

/// The widest `bit<W>` that is accepted; bmv2 and p4c have 2048.
pub(crate) const MAX_WIDTH: u32 = 2048;
/// The most values that a type can hold, counting each field of each element.
const MAX_VALUES: u64 = 1 << 17;
/// The deepest nesting of types.
const MAX_DEPTH: u32 = 128;

impl<'a> Checker<'a> {
    /// The type that `ty` denotes; noted by the `TypeRef`'s id.
    pub(crate) fn type_ref(&mut self, ty: &'a TypeRef) -> Type {
        let found = self.open_type_ref(ty);
        self.with_type_args(ty, found)
    }

    /// Reports a generic type that is used without its type arguments.
    fn with_type_args(&mut self, ty: &'a TypeRef, found: Type) -> Type {
        let Some((name, count)) = self.missing_type_args(&found) else {
            return found;
        };
        self.report(
            Diagnostic::error(
                "E0304",
                ty.span,
                format!(
                    "`{name}` is generic: it takes {}",
                    counted(count, "type argument")
                ),
            )
            .hint(format!("write them out, as in `{name}<bit<8>>`")),
        );
        self.note_type_ref(ty, Type::Unknown)
    }

    /// As [`Checker::type_ref`], where type arguments may be left out because they follow from
    /// the arguments of a constructor or from a literal.
    pub(crate) fn open_type_ref(&mut self, ty: &'a TypeRef) -> Type {
        let found = self.type_ref_inner(ty);
        self.note_type_ref(ty, found)
    }

    fn note_type_ref(&mut self, ty: &'a TypeRef, found: Type) -> Type {
        if let Some(place) = self.out.type_refs.get_mut(ty.id.0 as usize) {
            *place = Some(found.clone());
        }
        found
    }

    /// Name and number of type parameters of a generic type that is used without arguments.
    fn missing_type_args(&self, ty: &Type) -> Option<(Name, usize)> {
        let Type::Named(kind, id, name, args) = ty else {
            return None;
        };
        // Blocks fit into packages by their parameters; what is left out is inferred there.
        if !args.is_empty() || matches!(kind, Kind::Parser | Kind::Control | Kind::Package) {
            return None;
        }
        let count = type_param_count(self.out.decls.get(id)?);
        (count > 0).then(|| (name.clone(), count))
    }

    fn type_ref_inner(&mut self, ty: &'a TypeRef) -> Type {
        match &ty.kind {
            TypeKind::Bool => Type::Bool,
            TypeKind::Error => {
                self.errors_exist(ty.span);
                Type::Error
            }
            TypeKind::MatchKind => Type::MatchKind,
            TypeKind::String => Type::String,
            TypeKind::Void => Type::Void,
            TypeKind::Int => Type::Int,
            TypeKind::DontCare => Type::DontCare,
            TypeKind::Bit(None) => Type::Bit(1),
            TypeKind::Bit(Some(width)) => self.width(width, 0).map_or(Type::Unknown, Type::Bit),
            TypeKind::Signed(width) => self.width(width, 1).map_or(Type::Unknown, Type::Signed),
            TypeKind::Varbit(width) => self.width(width, 0).map_or(Type::Unknown, Type::Varbit),
            TypeKind::Name(path) => self.named_type(path, None, ty.span),
            TypeKind::Specialized(path, args) => {
                let args = args.iter().map(|arg| self.type_ref(arg)).collect();
                self.named_type(path, Some(args), ty.span)
            }
            TypeKind::Stack(element, size) => {
                let mut element_type = self.open_type_ref(element);
                // In an array of instances they follow from the constructor's arguments.
                if !element_type.is_kind(Kind::Extern) {
                    element_type = self.with_type_args(element, element_type);
                }
                if !self.element_allowed(&element_type) {
                    self.error(
                        "E0318",
                        element.span,
                        format!("there are no arrays of {element_type}"),
                    );
                }
                match self.positive(size, "the size of a stack") {
                    Some(count) => {
                        let ty = Type::Stack(Box::new(element_type), count);
                        if self.reasonable_size(&ty, size.span) {
                            ty
                        } else {
                            Type::Unknown
                        }
                    }
                    None => Type::Unknown,
                }
            }
            TypeKind::Tuple(items) => {
                let mut types = Vec::new();
                for item in items {
                    let ty = self.type_ref(item);
                    if !self.component_allowed(&ty) {
                        self.error(
                            "E0318",
                            item.span,
                            format!("{ty} cannot be a component of a tuple"),
                        );
                    }
                    types.push(ty);
                }
                let tuple = Type::Tuple(types);
                if self.reasonable_size(&tuple, ty.span) {
                    tuple
                } else {
                    Type::Unknown
                }
            }
            TypeKind::List(element) => Type::List(Box::new(self.type_ref(element))),
        }
    }

    /// Reports, once, the use of `error` in a program without errors.
    fn errors_exist(&mut self, at: Span) {
        if self.out.errors.is_empty() && !std::mem::replace(&mut self.missed_errors, true) {
            self.report(
                Diagnostic::error("E0201", at, "no member of `error` is declared here")
                    .hint("add `#include <core.p4>`, which declares the usual errors"),
            );
        }
    }

    fn width(&mut self, expr: &'a Expr, least: u32) -> Option<u32> {
        let width = self.positive(expr, "a width")?;
        if width > MAX_WIDTH {
            self.error(
                "E0319",
                expr.span,
                format!("a width of {width} bits is more than the {MAX_WIDTH} that are supported"),
            );
            return None;
        }
        if width < least {
            self.error(
                "E0319",
                expr.span,
                "`int<W>` needs at least one bit, for the sign",
            );
            return None;
        }
        Some(width)
    }

    /// A compile-time number that is not negative and fits in 31 bits.
    fn positive(&mut self, expr: &'a Expr, what: &str) -> Option<u32> {
        self.expr(expr);
        let Some(value) = self.const_value(expr) else {
            if *self.out.expr_type(expr.id) != Type::Unknown {
                let mut diagnostic = Diagnostic::error(
                    "E0509",
                    expr.span,
                    format!("{what} must be known at compile time"),
                );
                if self.depends_on_constructor(expr) {
                    diagnostic = diagnostic.hint("types cannot depend on constructor parameters: use a literal or a constant");
                } else {
                    diagnostic = diagnostic.hint("use literals and constants only");
                }
                self.report(diagnostic);
            }
            return None;
        };
        let Some(number) = value.as_int() else {
            self.error("E0509", expr.span, format!("{what} must be a number"));
            return None;
        };
        let limited = number.to_u32().filter(|v| *v < 1 << 31);
        if number.is_negative() {
            let message = format!("{what} must be a number that is not negative");
            self.error("E0320", expr.span, message);
        } else if limited.is_none() {
            let message = format!("{what} must be less than {}", 1_u32 << 31);
            self.report(
                Diagnostic::error("E0319", expr.span, message).hint("use a smaller number"),
            );
        }
        limited
    }

    fn named_type(&mut self, path: &'a Path, args: Option<Vec<Type>>, span: Span) -> Type {
        let decl = match self.resolve(path) {
            None => return Type::Unknown,
            Some(Def::TypeParam(owner, index)) => {
                if args.is_some() {
                    self.error(
                        "E0304",
                        span,
                        format!("`{}` takes no type arguments", path.ident.name),
                    );
                }
                return Type::Param(owner.id, index, path.ident.name.clone());
            }
            Some(Def::Type(decl)) => decl,
            Some(other) => {
                self.report(
                    Diagnostic::error(
                        "E0203",
                        path.ident.span,
                        format!("`{}` is not a type", path.ident.name),
                    )
                    .label(other.span(), "it is declared here"),
                );
                return Type::Unknown;
            }
        };
        let (kind, type_params): (Kind, &[Ident]) = match &decl.kind {
            DeclKind::Typedef {
                new_type: false,
                ty,
            } => {
                if args.is_some() {
                    self.report(
                        Diagnostic::error(
                            "E0304",
                            span,
                            format!(
                                "`{}` is another name for {}, which takes no type arguments",
                                path.ident.name,
                                self.out.type_ref(ty.id)
                            ),
                        )
                        .label(decl.name.span, "named here"),
                    );
                    return Type::Unknown;
                }
                return self.out.type_ref(ty.id).clone();
            }
            DeclKind::Typedef { .. } => (Kind::NewType, &[]),
            DeclKind::Enum {
                underlying: None, ..
            } => (Kind::Enum, &[]),
            DeclKind::Enum { .. } => (Kind::SerEnum, &[]),
            DeclKind::Header { type_params, .. } => (Kind::Header, type_params),
            DeclKind::HeaderUnion { type_params, .. } => (Kind::Union, type_params),
            DeclKind::Struct { type_params, .. } => (Kind::Struct, type_params),
            DeclKind::ExternObject { type_params, .. } => (Kind::Extern, type_params),
            DeclKind::ParserType(proto) => (Kind::ParserType, &proto.type_params),
            DeclKind::ControlType(proto) => (Kind::ControlType, &proto.type_params),
            DeclKind::Parser { proto, .. } => (Kind::Parser, &proto.type_params),
            DeclKind::Control { proto, .. } => (Kind::Control, &proto.type_params),
            DeclKind::Package { type_params, .. } => (Kind::Package, type_params),
            _ => return Type::Unknown,
        };
        let args = match args {
            Some(args) if args.len() != type_params.len() => {
                self.error(
                    "E0304",
                    span,
                    format!(
                        "`{}` takes {}, but got {}",
                        path.ident.name,
                        counted(type_params.len(), "type argument"),
                        args.len()
                    ),
                );
                return Type::Unknown;
            }
            Some(args) => args,
            None => Vec::new(),
        };
        if !args.is_empty() && !self.specialisation_allowed(decl, kind, &args, span) {
            return Type::Unknown;
        }
        let open = args.is_empty();
        let ty = Type::Named(kind, decl.id, decl.name.name.clone(), args);
        if self.oversized.contains(&decl.id) || !open && !self.reasonable_size(&ty, span) {
            return Type::Unknown;
        }
        ty
    }

    /// Reports a type that would need more memory for each packet than makes sense.
    pub(crate) fn reasonable_size(&mut self, ty: &Type, at: Span) -> bool {
        let (values, depth) = self.extent(ty);
        if values <= MAX_VALUES && depth <= MAX_DEPTH {
            return true;
        }
        if let (Type::Named(_, id, ..), true) = (ty, values > 0) {
            self.oversized.insert(*id);
        }
        let (message, hint) = if depth > MAX_DEPTH {
            (
                format!("types can be nested {MAX_DEPTH} levels deep, not {depth}"),
                "put some of its structs directly into the outer ones",
            )
        } else {
            (
                format!("a type can hold {MAX_VALUES} values, not {values}"),
                "use a smaller array, or a register, which holds more",
            )
        };
        self.report(Diagnostic::error("E0319", at, message).hint(hint));
        false
    }

    /// How many values a type holds, and how deep it is nested. Remembered, so that types made of
    /// types made of types take no longer than they are written.
    fn extent(&mut self, ty: &Type) -> (u64, u32) {
        if let Some(known) = self.sizes.get(ty) {
            return *known;
        }
        let parts: Vec<Type> = match ty {
            Type::Stack(element, count) => {
                let (values, depth) = self.extent(element);
                return (values.saturating_mul(u64::from(*count)), depth + 1);
            }
            Type::Tuple(items) => items.clone(),
            Type::Named(Kind::Header | Kind::Union | Kind::Struct, ..) => self
                .fields_of(ty)
                .unwrap_or_default()
                .into_iter()
                .map(|(_, ty, _)| ty)
                .collect(),
            _ => return (1, 0),
        };
        let mut total = (1_u64, 0);
        for part in &parts {
            let (values, depth) = self.extent(part);
            total = (total.0.saturating_add(values), total.1.max(depth + 1));
        }
        self.sizes.insert(ty.clone(), total);
        total
    }

    /// The type a path names, quietly.
    pub(crate) fn type_of_name(&mut self, path: &'a Path) -> Type {
        match self.resolve_quietly(path) {
            Some(Def::Type(decl)) => match &decl.kind {
                DeclKind::Typedef {
                    new_type: false,
                    ty,
                } => self.out.type_ref(ty.id).clone(),
                _ => match Kind::of(decl) {
                    Some(kind) => Type::Named(kind, decl.id, decl.name.name.clone(), Vec::new()),
                    None => Type::Unknown,
                },
            },
            _ => Type::Unknown,
        }
    }
}

/// How many type parameters a declared type has.
pub(crate) fn type_param_count(decl: &Decl) -> usize {
    match &decl.kind {
        DeclKind::Header { type_params, .. }
        | DeclKind::HeaderUnion { type_params, .. }
        | DeclKind::Struct { type_params, .. }
        | DeclKind::ExternObject { type_params, .. }
        | DeclKind::Package { type_params, .. } => type_params.len(),
        DeclKind::ParserType(proto)
        | DeclKind::ControlType(proto)
        | DeclKind::Parser { proto, .. }
        | DeclKind::Control { proto, .. } => proto.type_params.len(),
        _ => 0,
    }
}
