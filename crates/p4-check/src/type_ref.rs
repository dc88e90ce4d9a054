//! What types that are written down denote (specification 7).

use crate::types::{Kind, Type};
use crate::{Checker, Def};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;

/// The widest `bit<W>` that is accepted; bmv2 and p4c have 2048.
const MAX_WIDTH: u32 = 2048;

impl<'a> Checker<'a> {
    /// The type that `ty` denotes; noted by the `TypeRef`'s id.
    pub(crate) fn type_ref(&mut self, ty: &'a TypeRef) -> Type {
        let found = self.type_ref_inner(ty);
        if let Some(place) = self.out.type_refs.get_mut(ty.id.0 as usize) {
            *place = Some(found.clone());
        }
        found
    }

    fn type_ref_inner(&mut self, ty: &'a TypeRef) -> Type {
        match &ty.kind {
            TypeKind::Bool => Type::Bool,
            TypeKind::Error => Type::Error,
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
                let element_type = self.type_ref(element);
                if matches!(
                    element_type,
                    Type::Void | Type::Int | Type::String | Type::MatchKind
                ) {
                    self.error(
                        "E0318",
                        element.span,
                        format!("there are no arrays of {element_type}"),
                    );
                }
                match self.positive(size, "the size of a stack") {
                    Some(size) => Type::Stack(Box::new(element_type), size),
                    None => Type::Unknown,
                }
            }
            TypeKind::Tuple(items) => Type::Tuple(items.iter().map(|t| self.type_ref(t)).collect()),
            TypeKind::List(element) => Type::List(Box::new(self.type_ref(element))),
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
                "int<W> needs at least one bit, for the sign",
            );
            return None;
        }
        Some(width)
    }

    /// A compile-time number that is not negative and fits in 31 bits.
    fn positive(&mut self, expr: &'a Expr, what: &str) -> Option<u32> {
        self.expr(expr);
        let value = match self.const_value(expr) {
            Some(value) => value,
            None => {
                self.require_constant(expr, what);
                return None;
            }
        };
        let number = value
            .as_int()
            .filter(|v| !v.is_negative())
            .and_then(BigInt::to_u32)
            .filter(|v| *v < 1 << 31);
        if number.is_none() {
            self.error(
                "E0320",
                expr.span,
                format!("{what} must be a number that is not negative"),
            );
        }
        number
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
                        "`{}` takes {} type argument(s), but {} are given",
                        path.ident.name,
                        type_params.len(),
                        args.len()
                    ),
                );
                return Type::Unknown;
            }
            Some(args) => args,
            None => Vec::new(),
        };
        Type::Named(kind, decl.id, decl.name.name.clone(), args)
    }

    /// The type a path names, quietly.
    pub(crate) fn type_of_name(&mut self, path: &'a Path) -> Type {
        match self.resolve_quietly(path) {
            Some(Def::Type(decl)) => match &decl.kind {
                DeclKind::Typedef {
                    new_type: false,
                    ty,
                } => self.out.type_ref(ty.id).clone(),
                kind => {
                    let kind = match kind {
                        DeclKind::Typedef { .. } => Kind::NewType,
                        DeclKind::Enum {
                            underlying: None, ..
                        } => Kind::Enum,
                        DeclKind::Enum { .. } => Kind::SerEnum,
                        DeclKind::Header { .. } => Kind::Header,
                        DeclKind::HeaderUnion { .. } => Kind::Union,
                        DeclKind::Struct { .. } => Kind::Struct,
                        DeclKind::ExternObject { .. } => Kind::Extern,
                        DeclKind::ParserType(_) => Kind::ParserType,
                        DeclKind::ControlType(_) => Kind::ControlType,
                        DeclKind::Parser { .. } => Kind::Parser,
                        DeclKind::Control { .. } => Kind::Control,
                        DeclKind::Package { .. } => Kind::Package,
                        _ => return Type::Unknown,
                    };
                    Type::Named(kind, decl.id, decl.name.name.clone(), Vec::new())
                }
            },
            _ => Type::Unknown,
        }
    }
}
