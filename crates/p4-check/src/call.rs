//! Calls: actions, functions, methods, `apply`, and instances without a name.

use crate::args::{accepts, Signature};
use crate::types::{Kind, Type};
use crate::value::Value;
use crate::{Builtin, CallKind, Checker, Def};
use num_bigint::BigInt;
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;

impl<'a> Checker<'a> {
    pub(crate) fn call(
        &mut self,
        call: &'a Expr,
        func: &'a Expr,
        type_args: &'a [TypeRef],
        args: &'a [Arg],
    ) -> Type {
        match &func.kind {
            ExprKind::Path(path) => self.call_path(call, func, path, type_args, args),
            ExprKind::Member(base, member) => self.call_member(call, base, member, type_args, args),
            ExprKind::TypeMember(ty, member) => {
                let ty = self.type_ref(ty);
                self.call_on_type(call, &ty, member, args)
            }
            _ => {
                let ty = self.expr(func);
                if let Type::TypeName(named) = ty {
                    return self.construct(call.id, &named, args, call.span);
                }
                self.args_only(args);
                self.error("E0330", func.span, "this cannot be called");
                Type::Unknown
            }
        }
    }

    /// Checks the arguments of a call that is wrong anyway.
    pub(crate) fn args_only(&mut self, args: &'a [Arg]) {
        for arg in args {
            self.expr(&arg.value);
        }
    }

    fn call_path(
        &mut self,
        call: &'a Expr,
        func: &'a Expr,
        path: &'a Path,
        type_args: &'a [TypeRef],
        args: &'a [Arg],
    ) -> Type {
        let Some(def) = self.resolve(path) else {
            self.args_only(args);
            return Type::Unknown;
        };
        self.out.defs.insert(func.id, def);
        match def {
            Def::Action(decl) => {
                let DeclKind::Action { params, .. } = &decl.kind else {
                    return Type::Unknown;
                };
                if self.context.in_parser {
                    self.error("E0331", call.span, "an action cannot be called in a parser");
                }
                let signature = Signature {
                    name: decl.name.name.clone(),
                    params,
                    generic: None,
                    bound: Vec::new(),
                    span: call.span,
                };
                self.finish_call(
                    call,
                    CallKind::Action(decl),
                    signature,
                    &Type::Void,
                    type_args,
                    args,
                )
            }
            Def::Function(decl) => {
                let decl = self.pick_overload(decl, args);
                let (ret, type_params, params, kind) = match &decl.kind {
                    DeclKind::Function {
                        ret,
                        type_params,
                        params,
                        ..
                    } => (ret, type_params, params, CallKind::Function(decl)),
                    DeclKind::ExternFunction(proto) => (
                        &proto.ret,
                        &proto.type_params,
                        &proto.params,
                        CallKind::ExternFunction(decl),
                    ),
                    _ => return Type::Unknown,
                };
                let signature = Signature {
                    name: decl.name.name.clone(),
                    params,
                    generic: Some((decl.id, type_params.len())),
                    bound: Vec::new(),
                    span: call.span,
                };
                let ret = self.out.type_ref(ret.id).clone();
                self.finish_call(call, kind, signature, &ret, type_args, args)
            }
            Def::Type(_) => {
                let ty = self.type_of_name(path);
                let ty = match (ty, type_args.is_empty()) {
                    (Type::Named(kind, id, name, _), false) => {
                        let args = type_args.iter().map(|t| self.type_ref(t)).collect();
                        Type::Named(kind, id, name, args)
                    }
                    (ty, _) => ty,
                };
                self.construct(call.id, &ty, args, call.span)
            }
            other => {
                self.args_only(args);
                let hint = match other {
                    Def::Table(_) => "a table is run by `.apply()`",
                    Def::Instance(_) => "an instance is run by `.apply(...)` or one of its methods",
                    _ => "only actions, functions and methods can be called",
                };
                self.report(
                    Diagnostic::error(
                        "E0330",
                        func.span,
                        format!("`{}` cannot be called", path.ident.name),
                    )
                    .label(other.span(), "declared here")
                    .hint(hint),
                );
                Type::Unknown
            }
        }
    }

    /// The overload whose parameters take these arguments, else the latest.
    fn pick_overload(&self, latest: &'a Decl, args: &[Arg]) -> &'a Decl {
        let mut candidate = Some(latest);
        while let Some(decl) = candidate {
            let params = match &decl.kind {
                DeclKind::Function { params, .. } => params,
                DeclKind::ExternFunction(proto) => &proto.params,
                _ => break,
            };
            if accepts(params, args) {
                return decl;
            }
            candidate = self.overloads.get(&decl.id).copied();
        }
        latest
    }

    fn call_member(
        &mut self,
        call: &'a Expr,
        base: &'a Expr,
        member: &'a Ident,
        type_args: &'a [TypeRef],
        args: &'a [Arg],
    ) -> Type {
        let base_type = self.expr(base);
        let name = &*member.name;
        match &base_type {
            Type::Unknown => {
                self.args_only(args);
                Type::Unknown
            }
            Type::TypeName(ty) => {
                let ty = (**ty).clone();
                self.call_on_type(call, &ty, member, args)
            }
            Type::Named(Kind::Extern, id, _, bound) => {
                let (id, bound) = (*id, bound.clone());
                self.call_method(call, id, &bound, member, type_args, args)
            }
            Type::Table(id) if name == "apply" => self.table_apply(call, *id, args),
            Type::Named(
                Kind::Parser | Kind::Control | Kind::ParserType | Kind::ControlType,
                id,
                _,
                bound,
            ) if name == "apply" => {
                let (id, bound) = (*id, bound.clone());
                self.block_apply(call, id, &bound, args, false)
            }
            Type::Named(Kind::Header, ..) | Type::Named(Kind::Union, ..) | Type::Stack(..) => {
                if let Some(ty) = self.builtin(call, base, &base_type, member, args) {
                    return ty;
                }
                self.size_method(call, &base_type, member, args)
            }
            _ => self.size_method(call, &base_type, member, args),
        }
    }

    fn builtin(
        &mut self,
        call: &'a Expr,
        base: &'a Expr,
        base_type: &Type,
        member: &'a Ident,
        args: &'a [Arg],
    ) -> Option<Type> {
        let (builtin, ret, writes) = match (&*member.name, base_type) {
            ("isValid", Type::Named(..)) => (Builtin::IsValid, Type::Bool, false),
            ("setValid", Type::Named(Kind::Header, ..)) => (Builtin::SetValid, Type::Void, true),
            ("setInvalid", Type::Named(Kind::Header, ..)) => {
                (Builtin::SetInvalid, Type::Void, true)
            }
            ("push_front", Type::Stack(..)) => (Builtin::PushFront, Type::Void, true),
            ("pop_front", Type::Stack(..)) => (Builtin::PopFront, Type::Void, true),
            _ => return None,
        };
        let wanted = usize::from(matches!(builtin, Builtin::PushFront | Builtin::PopFront));
        self.args_only(args);
        if args.len() != wanted {
            self.error(
                "E0332",
                call.span,
                format!(
                    "`{}` takes {wanted} argument(s), but {} are given",
                    member.name,
                    args.len()
                ),
            );
        } else if let Some(arg) = args.first() {
            match self.const_value(&arg.value) {
                Some(value)
                    if value
                        .as_int()
                        .is_some_and(|v| v.sign() != num_bigint::Sign::Minus) => {}
                _ => self.error(
                    "E0501",
                    arg.value.span,
                    format!(
                        "the argument of `{}` must be a number known at compile time",
                        member.name
                    ),
                ),
            }
        }
        if writes {
            self.lvalue(base);
        }
        self.note_call(
            call,
            CallKind::Builtin(builtin),
            Vec::new(),
            vec![Some(0); wanted],
        );
        Some(ret)
    }

    /// `minSizeInBits()` and its three sisters.
    fn size_method(
        &mut self,
        call: &'a Expr,
        ty: &Type,
        member: &'a Ident,
        args: &'a [Arg],
    ) -> Type {
        self.args_only(args);
        let pick = |(min, max): (u64, u64)| match &*member.name {
            "minSizeInBits" => Some(min),
            "minSizeInBytes" => Some(min.div_ceil(8)),
            "maxSizeInBits" => Some(max),
            "maxSizeInBytes" => Some(max.div_ceil(8)),
            _ => None,
        };
        match self.out.size_in_bits(ty).and_then(pick) {
            Some(size) if args.is_empty() => {
                self.note_call(
                    call,
                    CallKind::Builtin(Builtin::Size),
                    Vec::new(),
                    Vec::new(),
                );
                self.out
                    .values
                    .insert(call.id, Value::Int(BigInt::from(size)));
                Type::Int
            }
            _ => {
                self.error(
                    "E0333",
                    member.span,
                    format!("{ty} has no method `{}`", member.name),
                );
                Type::Unknown
            }
        }
    }

    fn call_on_type(
        &mut self,
        call: &'a Expr,
        ty: &Type,
        member: &'a Ident,
        args: &'a [Arg],
    ) -> Type {
        match ty {
            Type::Named(Kind::Parser | Kind::Control, id, _, bound) if &*member.name == "apply" => {
                let (id, bound) = (*id, bound.clone());
                self.block_apply(call, id, &bound, args, true)
            }
            _ => self.size_method(call, &ty.clone(), member, args),
        }
    }

    fn call_method(
        &mut self,
        call: &'a Expr,
        object_id: NodeId,
        bound: &[Type],
        member: &'a Ident,
        type_args: &'a [TypeRef],
        args: &'a [Arg],
    ) -> Type {
        let Some(object) = self.out.decls.get(&object_id).copied() else {
            return Type::Unknown;
        };
        let DeclKind::ExternObject {
            methods,
            type_params,
        } = &object.kind
        else {
            return Type::Unknown;
        };
        let named: Vec<&'a Decl> = methods
            .iter()
            .filter(|m| {
                m.name.name == member.name
                    && !matches!(
                        m.kind,
                        DeclKind::Method {
                            is_constructor: true,
                            ..
                        }
                    )
            })
            .collect();
        let params_of = |decl: &'a Decl| match &decl.kind {
            DeclKind::Method { proto, .. } => proto.params.as_slice(),
            _ => &[],
        };
        let Some(method) = named
            .iter()
            .copied()
            .find(|m| accepts(params_of(m), args))
            .or(named.last().copied())
        else {
            self.args_only(args);
            let names: Vec<&str> = methods
                .iter()
                .filter(|m| m.name.name != object.name.name)
                .map(|m| &*m.name.name)
                .collect();
            let mut diagnostic = Diagnostic::error(
                "E0333",
                member.span,
                format!("`{}` has no method `{}`", object.name.name, member.name),
            );
            if !names.is_empty() {
                diagnostic = diagnostic.hint(format!("it has {}", names.join(", ")));
            }
            self.report(diagnostic);
            return Type::Unknown;
        };
        let DeclKind::Method { proto, .. } = &method.kind else {
            return Type::Unknown;
        };
        if &*object.name.name == "packet_in" && !self.context.in_parser && !self.context.in_function
        {
            self.error("E0334", call.span, "packet_in can be read in parsers only");
        }
        let bound = if bound.is_empty() && !type_params.is_empty() {
            type_params
                .iter()
                .enumerate()
                .map(|(i, p)| Type::Param(object_id, i as u32, p.name.clone()))
                .collect()
        } else {
            bound.to_vec()
        };
        let signature = Signature {
            name: member.name.clone(),
            params: &proto.params,
            generic: Some((method.id, proto.type_params.len())),
            bound: vec![(object_id, bound.clone())],
            span: call.span,
        };
        let ret = self
            .out
            .type_ref(proto.ret.id)
            .substitute(object_id, &bound);
        self.finish_call(
            call,
            CallKind::Method { object, method },
            signature,
            &ret,
            type_args,
            args,
        )
    }

    fn table_apply(&mut self, call: &'a Expr, id: NodeId, args: &'a [Arg]) -> Type {
        let Some(table) = self.out.decls.get(&id).copied() else {
            return Type::Unknown;
        };
        self.args_only(args);
        if !args.is_empty() {
            self.error(
                "E0332",
                call.span,
                "`apply` of a table takes no arguments: its key is in the table",
            );
        }
        if self.context.in_action || self.context.in_function {
            self.report(Diagnostic::error("E0335", call.span, "a table can be applied in the `apply` block of a control only, not in an action or function"));
        } else if self.context.in_parser {
            self.error("E0335", call.span, "a table cannot be applied in a parser");
        }
        self.note_call(call, CallKind::TableApply(table), Vec::new(), Vec::new());
        Type::TableResult(id)
    }

    fn block_apply(
        &mut self,
        call: &'a Expr,
        id: NodeId,
        bound: &[Type],
        args: &'a [Arg],
        on_type: bool,
    ) -> Type {
        let Some(decl) = self.out.decls.get(&id).copied() else {
            return Type::Unknown;
        };
        let (proto, is_parser) = match &decl.kind {
            DeclKind::Parser { proto, .. } | DeclKind::ParserType(proto) => (proto, true),
            DeclKind::Control { proto, .. } | DeclKind::ControlType(proto) => (proto, false),
            _ => return Type::Unknown,
        };
        if self.context.in_action || self.context.in_function || self.context.in_parser != is_parser
        {
            let what = if is_parser {
                "a parser can be applied in the states of a parser only"
            } else {
                "a control can be applied in the `apply` block of a control only"
            };
            self.error("E0335", call.span, what);
        }
        if on_type {
            let needs = match &decl.kind {
                DeclKind::Parser { ctor_params, .. } | DeclKind::Control { ctor_params, .. } => {
                    !ctor_params.is_empty()
                }
                _ => false,
            };
            if needs {
                self.report(
                    Diagnostic::error(
                        "E0336",
                        call.span,
                        format!(
                            "`{}` needs constructor arguments, so it must be instantiated first",
                            decl.name.name
                        ),
                    )
                    .hint(format!(
                        "declare `{}(...) name;` above and call `name.apply(...)`",
                        decl.name.name
                    )),
                );
            }
        }
        let signature = Signature {
            name: decl.name.name.clone(),
            params: &proto.params,
            generic: if bound.is_empty() {
                Some((id, proto.type_params.len()))
            } else {
                None
            },
            bound: vec![(id, bound.to_vec())],
            span: call.span,
        };
        let kind = if on_type {
            CallKind::TypeApply(decl)
        } else {
            CallKind::BlockApply(decl)
        };
        self.finish_call(call, kind, signature, &Type::Void, &[], args)
    }
}
