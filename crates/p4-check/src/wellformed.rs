//! Which types may stand where: parameters, fields, elements, type arguments (specification 6.8,
//! 7.2).

use crate::decl::has_annotation;
use crate::types::{Kind, Type};
use crate::{Checker, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;

/// Whose parameters they are; decides what may be passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// An action
    Action,
    /// A function with a body
    Function,
    /// An extern function, or a method or constructor of an extern
    Extern,
    /// A parser or control (its run-time parameters), or such a type
    Block,
    /// The constructor of a parser or control
    Constructor,
    Package,
}

impl<'a> Checker<'a> {
    /// Resolves the types and default values of parameters and declares their names.
    pub(crate) fn params(&mut self, params: &'a [Param], owner: Owner) {
        for param in params {
            let ty = self.type_ref(&param.ty);
            self.param_type(param, &ty, owner);
            if has_annotation(&param.annotations, "optional")
                && matches!(owner, Owner::Action | Owner::Function | Owner::Constructor)
            {
                self.report(
                    Diagnostic::error(
                        "E0311",
                        param.span,
                        format!("the parameter `{}` cannot be `@optional`", param.name.name),
                    )
                    .hint("only externs and packages know what to do without an argument: give it a default value"),
                );
            }
            if let Some(default) = &param.default {
                self.default_value_of(param, default, &ty);
            }
            self.declare(&param.name, Def::Param(param));
        }
    }

    fn default_value_of(&mut self, param: &'a Param, default: &'a Expr, ty: &Type) {
        self.expr(default);
        // A block for a generic type is fitted where the package is instantiated.
        if let Type::Named(Kind::ParserType | Kind::ControlType, _, _, args) = ty {
            if args.iter().any(|t| matches!(t, Type::Param(..))) {
                return;
            }
        }
        let fits = self.coerce(default, ty);
        if matches!(param.direction, Direction::Out | Direction::InOut) {
            self.error(
                "E0311",
                param.span,
                format!(
                    "the parameter `{}` gives a value back, so it cannot have a default",
                    param.name.name
                ),
            );
        } else if fits && is_value(ty) && self.const_value(default).is_none() {
            self.require_constant(default, "a default value");
        }
    }

    fn param_type(&mut self, param: &'a Param, ty: &Type, owner: Owner) {
        let name = &param.name.name;
        if matches!(ty, Type::Void) {
            let message = format!("the parameter `{name}` cannot be of type void");
            return self.error("E0302", param.ty.span, message);
        }
        if param.direction != Direction::None && !directed_allowed(ty) {
            let hint = match ty {
                Type::Int => "leave the direction out, or give the number a width, as in `bit<32>`",
                _ => "leave the direction out: such parameters are bound once, at compile time",
            };
            return self.report(
                Diagnostic::error(
                    "E0310",
                    param.span,
                    format!(
                        "the parameter `{name}` of type {ty} cannot be `{}`",
                        direction_word(param.direction)
                    ),
                )
                .hint(hint),
            );
        }
        let is_block = match ty {
            Type::Named(Kind::ParserType | Kind::ControlType, ..) => {
                !matches!(owner, Owner::Package | Owner::Constructor)
            }
            Type::Named(Kind::Parser | Kind::Control | Kind::Package, ..) => {
                owner != Owner::Package
            }
            _ => false,
        };
        if is_block {
            self.report(
                Diagnostic::error(
                    "E0310",
                    param.span,
                    format!("the parameter `{name}` cannot be of type {ty}"),
                )
                .hint("a parser or control is given to a constructor or package, whose parameter has a parser or control type"),
            );
        } else if owner == Owner::Action && matches!(ty, Type::Int | Type::Named(Kind::Extern, ..))
        {
            self.report(
                Diagnostic::error(
                    "E0310",
                    param.span,
                    format!("an action cannot have a parameter of type {ty}"),
                )
                .hint("the control plane gives values of fixed widths: use bit<W>"),
            );
        }
    }

    /// Whether a value of the type can be returned; says why not at `ret`.
    pub(crate) fn return_type(&mut self, ret: &'a TypeRef) -> Type {
        let ty = self.type_ref(ret);
        if matches!(ty, Type::Int | Type::DontCare) || is_block(&ty) {
            let mut diagnostic = Diagnostic::error(
                "E0310",
                ret.span,
                format!("a value of type {ty} cannot be returned"),
            );
            if ty == Type::Int {
                diagnostic = diagnostic.hint("give the result a width, as in `bit<32>`");
            }
            self.report(diagnostic);
        }
        ty
    }

    pub(crate) fn field_allowed(&self, ty: &Type, kind: Kind) -> bool {
        match kind {
            Kind::Header => match ty {
                Type::Bit(_)
                | Type::Signed(_)
                | Type::Varbit(_)
                | Type::Bool
                | Type::Param(..)
                | Type::Unknown => true,
                Type::Named(Kind::SerEnum | Kind::NewType, ..) => true,
                Type::Stack(element, _) => {
                    !matches!(**element, Type::Varbit(_)) && self.field_allowed(element, kind)
                }
                Type::Named(Kind::Struct, ..) => self
                    .fields_of(ty)
                    .unwrap_or_default()
                    .iter()
                    .all(|(_, t, _)| self.field_allowed(t, kind)),
                _ => false,
            },
            Kind::Union => matches!(
                ty,
                Type::Named(Kind::Header, ..) | Type::Param(..) | Type::Unknown
            ),
            _ => self.component_allowed(ty) && !matches!(ty, Type::Int | Type::String),
        }
    }

    /// Whether a struct or tuple can hold it.
    pub(crate) fn component_allowed(&self, ty: &Type) -> bool {
        is_value(ty) && !matches!(ty, Type::Void | Type::DontCare)
    }

    /// Whether there are arrays of it; instances can be declared as arrays, too.
    pub(crate) fn element_allowed(&self, ty: &Type) -> bool {
        matches!(ty, Type::Named(Kind::Extern, ..))
            || (self.component_allowed(ty)
                && !matches!(ty, Type::Int | Type::String | Type::MatchKind))
    }

    /// Whether the control plane can fill a value set with it.
    pub(crate) fn set_element_allowed(&self, ty: &Type) -> bool {
        self.component_allowed(ty) && !matches!(ty, Type::Int | Type::String | Type::MatchKind)
    }

    /// Whether a generic type makes sense with these type arguments; reports why not.
    pub(crate) fn specialisation_allowed(
        &mut self,
        decl: &'a Decl,
        kind: Kind,
        args: &[Type],
        span: Span,
    ) -> bool {
        let name = &decl.name.name;
        for arg in args {
            if is_block(arg) {
                self.error(
                    "E0304",
                    span,
                    format!("{arg} cannot be a type argument of `{name}`"),
                );
                return false;
            }
            if mentions(arg, decl.id) {
                self.error(
                    "E0304",
                    span,
                    format!("`{name}` cannot be part of its own type argument"),
                );
                return false;
            }
        }
        match kind {
            Kind::Header | Kind::Union | Kind::Struct => {
                self.specialised_fields_allowed(decl, kind, args, span)
            }
            Kind::Extern => self.specialised_methods_allowed(decl, args, span),
            _ => true,
        }
    }

    fn specialised_fields_allowed(
        &mut self,
        decl: &'a Decl,
        kind: Kind,
        args: &[Type],
        span: Span,
    ) -> bool {
        let ty = Type::Named(kind, decl.id, decl.name.name.clone(), args.to_vec());
        let bad = self
            .fields_of(&ty)
            .unwrap_or_default()
            .into_iter()
            .find(|(_, field, _)| !self.field_allowed(field, kind) || holds_nothing(field));
        let Some((field, field_type, _)) = bad else {
            return true;
        };
        self.report(
            Diagnostic::error(
                "E0315",
                span,
                format!("in {ty} the field `{field}` would be {field_type}, which cannot be a field of {}", what_holds(kind).0),
            )
            .label(decl.name.span, "declared here"),
        );
        false
    }

    fn specialised_methods_allowed(&mut self, decl: &'a Decl, args: &[Type], span: Span) -> bool {
        let DeclKind::ExternObject { methods, .. } = &decl.kind else {
            return true;
        };
        for method in methods {
            let DeclKind::Method { proto, .. } = &method.kind else {
                continue;
            };
            for param in &proto.params {
                let declared = self.out.type_ref(param.ty.id).clone();
                let ty = declared.substitute(decl.id, args);
                // TNA's `RegisterAction<T, I, void>`: an action of it has nothing to give back.
                if ty == Type::Void && has_annotation(&param.annotations, "optional") {
                    continue;
                }
                if param.direction != Direction::None && declared != ty && !directed_allowed(&ty) {
                    self.report(
                        Diagnostic::error(
                            "E0310",
                            span,
                            format!(
                                "with this type argument the parameter `{}` of `{}` would be {ty}, which cannot be `{}`",
                                param.name.name,
                                method.name.name,
                                direction_word(param.direction)
                            ),
                        )
                        .label(param.span, "the parameter"),
                    );
                    return false;
                }
            }
        }
        true
    }
}

/// "a header" and what such a thing may hold.
pub(crate) fn what_holds(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Header => ("a header", "bit<W>, int<W>, varbit<W>, bool, enums with an underlying type, and structs and arrays of those"),
        Kind::Union => ("a header_union", "headers"),
        _ => ("a struct", "values of a fixed width, enums, errors, headers, and structs, tuples and arrays of those"),
    }
}

pub(crate) fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::None => "without direction",
        Direction::In => "in",
        Direction::Out => "out",
        Direction::InOut => "inout",
    }
}

/// Whether run-time values of the type exist, so that a parameter can have a direction.
pub(crate) fn directed_allowed(ty: &Type) -> bool {
    is_value(ty) && !matches!(ty, Type::Int | Type::String | Type::Void)
}

/// Not an instance, a table, an action or the like.
pub(crate) fn is_value(ty: &Type) -> bool {
    let called = matches!(
        ty,
        Type::Action(_)
            | Type::Function(_)
            | Type::Table(_)
            | Type::TableResult(_)
            | Type::ActionRun(_)
            | Type::TypeName(_)
    );
    !called && !is_instance(ty)
}

/// Whether constructors make it.
pub(crate) fn is_instance(ty: &Type) -> bool {
    matches!(ty, Type::Named(Kind::Extern, ..)) || is_block(ty)
}

/// Parsers, controls and packages, and the types of the first two.
fn is_block(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Named(
            Kind::Parser | Kind::Control | Kind::ParserType | Kind::ControlType | Kind::Package,
            ..
        )
    )
}

/// Whether a tuple with a `_` or `void` inside is in the type.
fn holds_nothing(ty: &Type) -> bool {
    match ty {
        Type::DontCare | Type::Void => true,
        Type::Tuple(items) => items.iter().any(holds_nothing),
        Type::Stack(element, _) | Type::List(element) => holds_nothing(element),
        _ => false,
    }
}

/// Whether the declared type `id` occurs in `ty`.
fn mentions(ty: &Type, id: NodeId) -> bool {
    match ty {
        Type::Named(_, decl, _, args) => *decl == id || args.iter().any(|t| mentions(t, id)),
        Type::Tuple(items) => items.iter().any(|t| mentions(t, id)),
        Type::Stack(element, _) | Type::List(element) | Type::Set(element) => mentions(element, id),
        _ => false,
    }
}
