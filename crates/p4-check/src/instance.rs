//! Instances of externs, parsers, controls and packages (specification 11.3).

use crate::args::{accepts, Signature};
use crate::types::{Kind, Type};
use crate::{CallInfo, CallKind, Checker, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;

impl<'a> Checker<'a> {
    /// An instance of an extern, control, parser or package, or, where the type is a value type,
    /// a mistake.
    pub(crate) fn instance(
        &mut self,
        decl: &'a Decl,
        ty: &'a TypeRef,
        args: &'a [Arg],
        body: Option<&'a [Decl]>,
    ) {
        self.out.decls.insert(decl.id, decl);
        let declared = self.open_type_ref(ty);
        let instance_type = self.construct(decl.id, &declared, args, decl.span);
        if let Some(place) = self.out.types.get_mut(decl.id.0 as usize) {
            *place = Some(instance_type.clone());
        }
        match body {
            Some(body) => self.instance_body(decl, &instance_type, body),
            None => self.no_instance_body(decl, &instance_type),
        }
        self.instance_place(decl, &instance_type);
        self.declare(&decl.name, Def::Instance(decl));
    }

    /// What may be instantiated at the top level, and what `main` is.
    fn instance_place(&mut self, decl: &'a Decl, ty: &Type) {
        if self.scopes.depth() > 1 {
            return;
        }
        let name = &decl.name.name;
        match ty {
            Type::Named(Kind::Package, ..) if &**name == "main" => self.out.main = Some(decl),
            Type::Unknown => {}
            _ if &**name == "main" => self.report(
                Diagnostic::error(
                    "E0365",
                    decl.name.span,
                    format!("`main` must be an instance of a package, but this is {ty}"),
                )
                .hint("the architecture declares the package: for v1model write `V1Switch(...) main;`"),
            ),
            Type::Named(Kind::Parser | Kind::Control, ..) => self.report(
                Diagnostic::error(
                    "E0364",
                    decl.name.span,
                    format!("{ty} cannot be instantiated at the top level"),
                )
                .hint("instantiate it in the parser or control that applies it, or in the arguments of the package"),
            ),
            _ => {}
        }
    }

    /// Checks `T(args)` as an instance of `ty`; gives the instance's type with inferred arguments.
    pub(crate) fn construct(&mut self, id: NodeId, ty: &Type, args: &'a [Arg], span: Span) -> Type {
        let Type::Named(kind, decl_id, name, written) = ty else {
            self.args_only(args);
            if *ty != Type::Unknown {
                self.error(
                    "E0341",
                    span,
                    format!(
                        "{ty} has no instances: only externs, parsers, controls and packages do"
                    ),
                );
            }
            return Type::Unknown;
        };
        let Some(decl) = self.out.decls.get(decl_id).copied() else {
            return Type::Unknown;
        };
        let (params, type_count, owner): (&'a [Param], usize, NodeId) = match &decl.kind {
            DeclKind::ExternObject {
                type_params,
                methods,
            } => {
                let constructors: Vec<&'a [Param]> = methods
                    .iter()
                    .filter_map(|m| match &m.kind {
                        DeclKind::Method {
                            proto,
                            is_constructor: true,
                            ..
                        } => Some(proto.params.as_slice()),
                        _ => None,
                    })
                    .collect();
                let found = constructors
                    .iter()
                    .copied()
                    .find(|p| accepts(p, args))
                    .or(constructors.last().copied());
                if found.is_none() {
                    self.args_only(args);
                    self.error("E0342", span, format!("`{name}` has no constructor, so the program cannot make instances of it"));
                    return Type::Unknown;
                }
                (found.unwrap_or(&[]), type_params.len(), decl.id)
            }
            DeclKind::Parser {
                ctor_params, proto, ..
            }
            | DeclKind::Control {
                ctor_params, proto, ..
            } => (ctor_params, proto.type_params.len(), decl.id),
            DeclKind::Package {
                params,
                type_params,
            } => (params, type_params.len(), decl.id),
            _ => {
                self.args_only(args);
                self.error("E0341", span, format!("`{name}` has no instances: only externs, parsers, controls and packages do"));
                return Type::Unknown;
            }
        };
        let unnamed = self.out.decls.get(&id).is_none();
        if unnamed && !self.abstract_methods(decl.id).is_empty() {
            self.report(
                Diagnostic::error(
                    "E0355",
                    span,
                    format!("`{name}` has abstract methods, so an instance of it needs a declaration that implements them"),
                )
                .hint(format!("write `{name}(...) x = {{ ... }};` above and use `x` here")),
            );
        }
        if self.context.in_action || self.context.in_function {
            self.error(
                "E0343",
                span,
                "instances cannot be made inside actions and functions",
            );
        }
        let type_args: Vec<Type> = (0..type_count)
            .map(|i| match written.get(i) {
                Some(Type::DontCare) | None => self.fresh(),
                Some(ty) => ty.clone(),
            })
            .collect();
        let signature = Signature {
            name: name.clone(),
            params,
            generic: None,
            bound: vec![(owner, type_args.clone())],
            constructor: true,
            compile_time: false,
            span,
        };
        let order = self.match_args(&signature, args);
        self.check_args(&signature, &order, args);
        for (param, index) in params.iter().zip(&order) {
            let Some(arg) = index.and_then(|i| args.get(i)) else {
                continue;
            };
            let ty = self.out.type_ref(param.ty.id).clone();
            let is_value = !matches!(
                ty,
                Type::Named(
                    Kind::Extern
                        | Kind::Parser
                        | Kind::Control
                        | Kind::ParserType
                        | Kind::ControlType
                        | Kind::Package,
                    ..
                ) | Type::Param(..)
            );
            if is_value && self.const_value(&arg.value).is_none() {
                self.require_constant(&arg.value, "a constructor argument");
            }
        }
        let type_args: Vec<Type> = type_args.iter().map(|t| self.resolved(t)).collect();
        self.out.calls.insert(
            id,
            CallInfo {
                kind: CallKind::Construct(decl),
                type_args: type_args.clone(),
                args: order,
            },
        );
        // A parser, control or package whose type arguments stay open is generic in what it is
        // given; an extern's must be known.
        let open = type_args.iter().any(|t| matches!(t, Type::Infer(_)));
        if open && *kind == Kind::Extern {
            self.report(
                Diagnostic::error(
                    "E0337",
                    span,
                    format!("the type arguments of `{name}` are missing"),
                )
                .hint(format!("write them out, as in `{name}<bit<32>>(...)`")),
            );
            return Type::Unknown;
        }
        if open {
            return Type::Named(*kind, *decl_id, name.clone(), Vec::new());
        }
        Type::Named(*kind, *decl_id, name.clone(), type_args)
    }
}
