//! Calls: actions, functions, methods, `apply`, and instances without a name.

use crate::args::{accepts, Signature};
use crate::hints::counted;
use crate::types::{Kind, Type};
use crate::value::Value;
use crate::{Builtin, CallKind, Checker, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;

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
                } else if self.context.in_function {
                    self.report(
                        Diagnostic::error("E0331", call.span, "a function cannot call an action")
                            .hint("make it a function too, or make this one an action"),
                    );
                }
                if let Some(first) = type_args.first() {
                    self.error("E0304", first.span, "an action takes no type arguments");
                }
                let signature = Signature {
                    name: decl.name.name.clone(),
                    params,
                    generic: None,
                    bound: Vec::new(),
                    constructor: false,
                    compile_time: false,
                    span: call.span,
                };
                self.finish_call(
                    call,
                    CallKind::Action(decl),
                    signature,
                    &Type::Void,
                    &[],
                    args,
                )
            }
            Def::Function(decl) => {
                let decl = self.pick_overload(decl, args, call.span);
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
                    constructor: false,
                    compile_time: true,
                    span: call.span,
                };
                if let CallKind::ExternFunction(decl) = kind {
                    self.core_function(call, decl);
                }
                let ret = self.out.type_ref(ret.id).clone();
                let result = self.finish_call(call, kind, signature, &ret, type_args, args);
                if let CallKind::ExternFunction(decl) = kind {
                    self.static_assert(call, decl, args);
                }
                result
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

    /// Where functions of core.p4 can be called.
    fn core_function(&mut self, call: &'a Expr, decl: &'a Decl) {
        if &*decl.name.name == "verify" && !self.context.in_parser {
            self.report(
                Diagnostic::error("E0334", call.span, "`verify` can be called in parsers only")
                    .hint("in a control use `if`, and set a flag or drop the packet"),
            );
        }
    }

    /// `static_assert(condition, message)` of core.p4 is decided here.
    fn static_assert(&mut self, call: &'a Expr, decl: &'a Decl, args: &'a [Arg]) {
        let Some(condition) = args.first().filter(|_| &*decl.name.name == "static_assert") else {
            return;
        };
        let text = args.get(1).and_then(|a| self.const_value(&a.value));
        match self.const_value(&condition.value) {
            Some(Value::Bool(true)) => {}
            Some(_) => {
                let why = match text {
                    Some(Value::String(text)) if !text.is_empty() => format!(": {text}"),
                    _ => String::new(),
                };
                self.error(
                    "E0506",
                    call.span,
                    format!("this assertion does not hold{why}"),
                );
            }
            None => self.require_constant(&condition.value, "the condition of `static_assert`"),
        }
    }

    /// The overload whose parameters take these arguments, else the latest.
    fn pick_overload(&mut self, latest: &'a Decl, args: &[Arg], at: Span) -> &'a Decl {
        let mut all = vec![latest];
        while let Some(earlier) = all.last().and_then(|d| self.overloads.get(&d.id)) {
            all.push(earlier);
        }
        let fitting: Vec<&'a Decl> = all
            .into_iter()
            .filter(|decl| accepts(params_of(decl), args))
            .collect();
        self.one_overload(&fitting, at);
        fitting.first().copied().unwrap_or(latest)
    }

    /// Reports a call that several declarations fit equally well.
    fn one_overload(&mut self, fitting: &[&'a Decl], at: Span) {
        if let [first, second, ..] = fitting {
            self.report(
                Diagnostic::error(
                    "E0357",
                    at,
                    format!("`{}` with these arguments can mean two declarations", first.name.name),
                )
                .label(first.name.span, "one")
                .label(second.name.span, "the other")
                .hint("P4 tells overloads apart by the names of parameters, not by their types: name the arguments, as in `f(a = 1)`"),
            );
        }
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
        if let Type::Stack(element, _) = base_type {
            if !self.holds_headers(element) {
                self.not_a_header_stack(member, element);
                return Some(Type::Unknown);
            }
        }
        let wanted = usize::from(matches!(builtin, Builtin::PushFront | Builtin::PopFront));
        self.args_only(args);
        if args.len() != wanted {
            self.error(
                "E0332",
                call.span,
                format!(
                    "`{}` takes {}, but got {}",
                    member.name,
                    counted(wanted, "argument"),
                    args.len()
                ),
            );
        } else if let Some(arg) = args.first() {
            let value = self.const_value(&arg.value);
            match value.as_ref().and_then(|value| value.as_int()) {
                Some(count) if count.sign() == num_bigint::Sign::Minus => {
                    let message = format!(
                        "`{}` moves by a number that is not negative, but this is {count}",
                        member.name
                    );
                    let other = match builtin {
                        Builtin::PushFront => "pop_front",
                        _ => "push_front",
                    };
                    self.report(
                        Diagnostic::error("E0320", arg.value.span, message)
                            .hint(format!("`{other}` moves the other way")),
                    );
                }
                Some(_) => {}
                None => self.error(
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
                    CallKind::Builtin(Builtin::Size(size)),
                    Vec::new(),
                    Vec::new(),
                );
                Type::Int
            }
            Some(_) => {
                self.error(
                    "E0332",
                    call.span,
                    format!("`{}` takes no arguments", member.name),
                );
                Type::Unknown
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
            Type::Named(Kind::Extern, id, ..) if self.has_method(*id, &member.name) => {
                self.args_only(args);
                let message = format!(
                    "{ty} is a type, and `{}` a method of its values",
                    member.name
                );
                self.report(
                    Diagnostic::error("E0333", member.span, message)
                        .hint("call it by the name of the parameter or the instance"),
                );
                Type::Unknown
            }
            _ => self.size_method(call, &ty.clone(), member, args),
        }
    }

    /// Whether an extern has a method of this name.
    pub(crate) fn has_method(&self, object: NodeId, name: &str) -> bool {
        let decl = self.out.decls.get(&object).map(|decl| &decl.kind);
        matches!(decl, Some(DeclKind::ExternObject { methods, .. })
            if methods.iter().any(|method| &*method.name.name == name))
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
        let fitting: Vec<&'a Decl> = named
            .iter()
            .copied()
            .filter(|m| accepts(params_of(m), args))
            .collect();
        self.one_overload(&fitting, call.span);
        let Some(method) = fitting.first().or(named.last()).copied() else {
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
            self.error(
                "E0334",
                call.span,
                "`packet_in` can be read in parsers only",
            );
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
            constructor: false,
            compile_time: true,
            span: call.span,
        };
        let ret = self
            .out
            .type_ref(proto.ret.id)
            .substitute(object_id, &bound);
        let kind = CallKind::Method { object, method };
        let result = self.finish_call(call, kind, signature, &ret, type_args, args);
        self.packet_method(call, args);
        result
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
        } else if self.context.in_action_args {
            let message = "a table cannot be applied in the arguments of another table's action";
            self.error("E0335", call.span, message);
        } else if self.context.in_table == Some(id) {
            self.error("E0335", call.span, "a table cannot apply itself");
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
            constructor: false,
            compile_time: true,
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

fn params_of(decl: &Decl) -> &[Param] {
    match &decl.kind {
        DeclKind::Function { params, .. } => params,
        DeclKind::ExternFunction(proto) | DeclKind::Method { proto, .. } => &proto.params,
        _ => &[],
    }
}
