//! Instances of externs, parsers, controls and packages (specification 11.3).

use crate::args::{accepts, contains, Signature};
use crate::type_ref::type_param_count;
use crate::types::{Kind, Type};
use crate::wellformed::is_value;
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

    /// The parser, control or package of this name whose constructor takes these arguments.
    fn pick_constructor(&self, latest: &'a Decl, args: &[Arg]) -> &'a Decl {
        let mut candidate = Some(latest);
        while let Some(decl) = candidate {
            let params = match &decl.kind {
                DeclKind::Parser { ctor_params, .. } | DeclKind::Control { ctor_params, .. } => {
                    ctor_params
                }
                DeclKind::Package { params, .. } => params,
                _ => break,
            };
            if accepts(params, args) {
                return decl;
            }
            candidate = self.overloads.get(&decl.id).copied();
        }
        latest
    }

    /// Fits the blocks that parameters without an argument have as their defaults; whether there
    /// are any.
    fn default_blocks(&mut self, signature: &Signature<'a>, order: &[Option<usize>]) -> bool {
        let mut any = false;
        for (param, given) in signature.params.iter().zip(order) {
            let Some(default) = param.default.as_ref().filter(|_| given.is_none()) else {
                continue;
            };
            let mut wanted = self.out.type_ref(param.ty.id).clone();
            let mut from = self.out.expr_type(default.id).clone();
            for (owner, types) in &signature.bound {
                wanted = wanted.substitute(*owner, types);
                from = from.substitute(*owner, types);
            }
            if let Type::Named(Kind::ParserType | Kind::ControlType, ..) = wanted {
                any = true;
                if let Err(why) = self.fit_block(&wanted, &from) {
                    self.report_misfit(signature.span, &wanted, &from, why);
                }
            }
        }
        any
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
        // An array of externs: `Register<bit<32>>(16) r[4];`
        if let Type::Stack(element, size) = ty {
            if element.is_kind(Kind::Extern) {
                let element = self.construct(id, element, args, span);
                return Type::Stack(Box::new(element), *size);
            }
        }
        let decl = match ty {
            Type::Named(_, decl_id, ..) => self.out.decls.get(decl_id).copied(),
            Type::Unknown => None,
            _ => {
                self.no_instances(ty, span);
                None
            }
        };
        let found = decl.map(|decl| self.pick_constructor(decl, args));
        let Some((decl, params)) = found.and_then(|d| self.constructor_params(d, ty, args, span))
        else {
            self.args_only(args);
            return Type::Unknown;
        };
        self.instance_allowed(id, decl, span);
        self.finish_construct(id, ty, decl, params, args, span)
    }

    fn no_instances(&mut self, ty: &Type, span: Span) {
        self.error(
            "E0341",
            span,
            format!("{ty} has no instances: only externs, parsers, controls and packages do"),
        );
    }

    /// The parameters of the constructor that takes `args`.
    fn constructor_params(
        &mut self,
        decl: &'a Decl,
        ty: &Type,
        args: &[Arg],
        span: Span,
    ) -> Option<(&'a Decl, &'a [Param])> {
        let params: &'a [Param] = match &decl.kind {
            DeclKind::ExternObject { methods, .. } => {
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
                let fitting = constructors.iter().copied().find(|p| accepts(p, args));
                let Some(params) = fitting.or(constructors.last().copied()) else {
                    self.error(
                        "E0342",
                        span,
                        format!(
                            "`{}` has no constructor, so the program cannot make instances of it",
                            decl.name.name
                        ),
                    );
                    return None;
                };
                params
            }
            DeclKind::Parser { ctor_params, .. } | DeclKind::Control { ctor_params, .. } => {
                ctor_params
            }
            DeclKind::Package { params, .. } => params,
            _ => {
                self.no_instances(ty, span);
                return None;
            }
        };
        Some((decl, params))
    }

    /// Where instances can be made, and which ones need a declaration of their own.
    fn instance_allowed(&mut self, id: NodeId, decl: &'a Decl, span: Span) {
        let name = &decl.name.name;
        let unnamed = !self.out.decls.contains_key(&id);
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
        let foreign = match &decl.kind {
            DeclKind::Parser { .. } if self.context.in_control => Some(("parser", "control")),
            DeclKind::Control { .. } if self.context.in_parser => Some(("control", "parser")),
            _ => None,
        };
        if let Some((what, around)) = foreign {
            self.report(
                Diagnostic::error(
                    "E0343",
                    span,
                    format!("a {around} cannot have an instance of a {what}, and `{name}` is one"),
                )
                .hint("parsers apply parsers, and controls apply controls"),
            );
        }
        if self.context.in_action || self.context.in_function {
            self.error(
                "E0343",
                span,
                "instances cannot be made inside actions and functions",
            );
        }
    }

    fn finish_construct(
        &mut self,
        id: NodeId,
        ty: &Type,
        decl: &'a Decl,
        params: &'a [Param],
        args: &'a [Arg],
        span: Span,
    ) -> Type {
        let Type::Named(kind, _, name, written) = ty else {
            return Type::Unknown;
        };
        let type_args: Vec<Type> = (0..type_param_count(decl))
            .map(|i| match written.get(i) {
                Some(Type::DontCare) | None => self.fresh(),
                Some(ty) => ty.clone(),
            })
            .collect();
        let signature = Signature {
            name: name.clone(),
            params,
            generic: None,
            bound: vec![(decl.id, type_args.clone())],
            constructor: true,
            compile_time: false,
            span,
        };
        let order = self.match_args(&signature, args);
        self.check_args(&signature, &order, args);
        let defaulted = self.default_blocks(&signature, &order);
        self.constructor_constants(params, &order, args);
        let type_args: Vec<Type> = type_args.iter().map(|t| self.resolved(t)).collect();
        let returned = self.returned_types(decl, &type_args);
        let type_args: Vec<Type> = type_args
            .iter()
            .enumerate()
            .map(|(i, ty)| match (ty, written.get(i)) {
                // What is left open on purpose is whatever the methods are given. What they give
                // back must be known.
                (Type::Infer(_), Some(Type::DontCare))
                    if *kind == Kind::Extern && !returned.iter().any(|own| contains(own, ty)) =>
                {
                    Type::DontCare
                }
                _ => ty.clone(),
            })
            .collect();
        self.out.calls.insert(
            id,
            CallInfo {
                kind: CallKind::Construct(decl),
                type_args: type_args.clone(),
                args: order,
            },
        );
        if !type_args.iter().any(|t| matches!(t, Type::Infer(_))) {
            return Type::Named(*kind, decl.id, name.clone(), type_args);
        }
        // A parser or control whose type arguments stay open is generic in what it is given; an
        // extern's must be known, and so must those that the defaults of a package leave open.
        if *kind != Kind::Extern && !defaulted {
            return Type::Named(*kind, decl.id, name.clone(), Vec::new());
        }
        self.report(
            Diagnostic::error(
                "E0337",
                span,
                format!("the type arguments of `{name}` are missing"),
            )
            .hint(format!("write them out, as in `{name}<bit<32>>(...)`")),
        );
        Type::Unknown
    }

    /// What the methods of an extern with these type arguments give back.
    fn returned_types(&self, decl: &'a Decl, type_args: &[Type]) -> Vec<Type> {
        let DeclKind::ExternObject { methods, .. } = &decl.kind else {
            return Vec::new();
        };
        let returned = methods.iter().filter_map(|method| match &method.kind {
            DeclKind::Method { proto, .. } => Some(self.out.type_ref(proto.ret.id)),
            _ => None,
        });
        returned
            .map(|ty| ty.substitute(decl.id, type_args))
            .collect()
    }

    /// Values for constructors must be known at compile time.
    fn constructor_constants(
        &mut self,
        params: &'a [Param],
        order: &[Option<usize>],
        args: &'a [Arg],
    ) {
        for (param, index) in params.iter().zip(order) {
            let Some(arg) = index.and_then(|i| args.get(i)) else {
                continue;
            };
            let ty = self.out.type_ref(param.ty.id).clone();
            let checked = is_value(&ty) && !matches!(ty, Type::Param(..));
            if checked && self.const_value(&arg.value).is_none() {
                self.require_constant(&arg.value, "a constructor argument");
            }
        }
    }
}
