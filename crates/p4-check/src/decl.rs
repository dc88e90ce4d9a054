//! Declarations at the top level and the types they introduce.

use crate::types::{Kind, Type};
use crate::value::{fits, Value};
use crate::wellformed::{what_holds, Owner};
use crate::{CallKind, Checker, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::{Diagnostic, Severity};
use p4_syntax::span::Span;
use p4_syntax::{HashMap, HashSet};

/// How many constants of a program can depend on constructor parameters.
const MAX_DEPENDENT: u32 = 500;

impl<'a> Checker<'a> {
    pub(crate) fn declaration(&mut self, decl: &'a Decl) {
        self.out.decls.insert(decl.id, decl);
        self.annotations(&decl.annotations);
        self.name_main(decl);
        self.unfinished.push(&decl.name);
        self.declared(decl);
        self.unfinished.pop();
    }

    fn declared(&mut self, decl: &'a Decl) {
        match &decl.kind {
            DeclKind::Const { ty, value } => self.const_decl(decl, ty, value),
            // Out of place, as the parser has said; its name is known, so that uses are not errors.
            DeclKind::Variable { .. } => self.local(decl),
            DeclKind::Instance { ty, args, body } => self.instance(decl, ty, args, body.as_deref()),
            DeclKind::Error { members } => self.error_decl(members),
            DeclKind::MatchKind { members } => {
                for member in members {
                    if self.match_kinds.contains(&member.name) {
                        let message = format!("the match kind `{}` exists already", member.name);
                        self.error("E0202", member.span, message);
                    } else {
                        self.match_kinds.push(member.name.clone());
                    }
                }
            }
            DeclKind::Enum {
                underlying,
                members,
            } => self.enum_decl(decl, underlying.as_ref(), members),
            DeclKind::Header {
                type_params,
                fields,
            } => self.fields_decl(decl, type_params, fields, Kind::Header),
            DeclKind::HeaderUnion {
                type_params,
                fields,
            } => self.fields_decl(decl, type_params, fields, Kind::Union),
            DeclKind::Struct {
                type_params,
                fields,
            } => self.fields_decl(decl, type_params, fields, Kind::Struct),
            DeclKind::Typedef { new_type, ty } => {
                let target = self.type_ref(ty);
                if *new_type
                    && !matches!(
                        target,
                        Type::Bool
                            | Type::Bit(_)
                            | Type::Signed(_)
                            | Type::Named(Kind::NewType | Kind::SerEnum, ..)
                            | Type::Unknown
                            | Type::Int
                    )
                {
                    self.error("E0309", ty.span, format!("`type` can only give a new name to `bit<W>`, `int<W>`, bool and such types, not to {target}"));
                }
                self.declare(&decl.name, Def::Type(decl));
            }
            DeclKind::Action { params, body } => {
                self.action_body(params, body);
                self.declare(&decl.name, Def::Action(decl));
            }
            DeclKind::Function {
                ret,
                type_params,
                params,
                body,
            } => self.function(decl, ret, type_params, params, body),
            DeclKind::ExternFunction(proto) => {
                self.with_type_params(decl, &proto.type_params, |c| {
                    c.return_type(&proto.ret);
                    c.params(&proto.params, Owner::Extern);
                });
                self.declare(&decl.name, Def::Function(decl));
            }
            DeclKind::ExternObject {
                type_params,
                methods,
            } => {
                self.declare(&decl.name, Def::Type(decl));
                self.with_type_params(decl, type_params, |c| {
                    for method in methods {
                        c.out.decls.insert(method.id, method);
                        let DeclKind::Method {
                            proto,
                            is_constructor,
                            ..
                        } = &method.kind
                        else {
                            continue;
                        };
                        c.method_name(decl, method, *is_constructor);
                        c.with_type_params(method, &proto.type_params, |c| {
                            c.return_type(&proto.ret);
                            c.params(&proto.params, Owner::Extern);
                        });
                    }
                    c.repeated_methods(methods);
                    c.own_instances(decl, methods);
                });
            }
            DeclKind::Method { .. } => {}
            DeclKind::ParserType(proto) | DeclKind::ControlType(proto) => {
                self.declare(&decl.name, Def::Type(decl));
                self.with_type_params(decl, &proto.type_params, |c| {
                    c.params(&proto.params, Owner::Block)
                });
            }
            DeclKind::Parser {
                proto,
                ctor_params,
                locals,
                states,
            } => self.parser(decl, proto, ctor_params, locals, states),
            DeclKind::Control {
                proto,
                ctor_params,
                locals,
                apply,
            } => self.control(decl, proto, ctor_params, locals, apply),
            DeclKind::Package {
                type_params,
                params,
            } => {
                self.declare(&decl.name, Def::Type(decl));
                self.with_type_params(decl, type_params, |c| c.params(params, Owner::Package));
            }
            DeclKind::Table(_) | DeclKind::ValueSet { .. } => {}
        }
    }

    fn method_name(&mut self, decl: &'a Decl, method: &'a Decl, is_constructor: bool) {
        let (name, owner) = (&method.name.name, &decl.name.name);
        if is_constructor && name != owner {
            self.report(
                Diagnostic::error(
                    "E0303",
                    method.name.span,
                    format!("`{name}` has no return type, so it would be a constructor, but those are named like the extern, `{owner}`"),
                )
                .hint("write `void` in front of it, or give it the extern's name"),
            );
        } else if !is_constructor && name == owner {
            self.report(
                Diagnostic::error(
                    "E0303",
                    method.name.span,
                    format!("`{name}` is named like the extern, so it is its constructor, which has no return type"),
                )
                .hint("remove the type in front of it, or give the method another name"),
            );
        }
    }

    /// Overloads are told apart by number and names of their parameters.
    fn repeated_methods(&mut self, methods: &'a [Decl]) {
        for (i, method) in methods.iter().enumerate() {
            let twin = methods[..i]
                .iter()
                .find(|m| m.name.name == method.name.name && self.same_parameters(m, method));
            if let Some(twin) = twin {
                self.report(
                    Diagnostic::error(
                        "E0202",
                        method.name.span,
                        format!(
                            "`{}` is declared twice with the same parameters",
                            method.name.name
                        ),
                    )
                    .label(twin.name.span, "first declared here"),
                );
            }
        }
    }

    /// `@length(expression)` on a varbit field speaks of fields before it and of constants.
    fn length_annotation(&mut self, annotations: &'a [Annotation], fields: &HashMap<&Name, Span>) {
        let length = annotations.iter().find(|a| &*a.name.name == "length");
        let Some(AnnotationBody::Unstructured { tokens, .. }) = length.map(|a| &a.body) else {
            return;
        };
        for token in tokens.iter().filter(|t| is_identifier(&t.text)) {
            let path = Path {
                absolute: false,
                ident: Ident {
                    name: token.text.clone(),
                    span: token.span,
                },
            };
            if !fields.contains_key(&token.text) && self.resolve_quietly(&path).is_none() {
                self.report(
                    Diagnostic::error(
                        "E0201",
                        token.span,
                        format!(
                            "nothing named `{}` is declared before this field",
                            token.text
                        ),
                    )
                    .hint("the length must be known when the parser comes to the field"),
                );
            }
        }
    }

    /// p4c knows no extern whose methods take instances of itself.
    fn own_instances(&mut self, decl: &'a Decl, methods: &'a [Decl]) {
        for method in methods {
            let DeclKind::Method { proto, .. } = &method.kind else {
                continue;
            };
            for param in &proto.params {
                let ty = self.out.type_ref(param.ty.id);
                if matches!(ty, Type::Named(_, id, ..) if *id == decl.id) {
                    self.error(
                        "E0312",
                        param.span,
                        format!("a method of `{}` cannot take another `{0}`", decl.name.name),
                    );
                }
            }
        }
    }

    /// `main` is what the target loads, so nothing else can have that name.
    fn name_main(&mut self, decl: &'a Decl) {
        let is_instance = matches!(
            decl.kind,
            DeclKind::Instance { .. } | DeclKind::Function { .. }
        );
        if &*decl.name.name == "main" && !is_instance && self.scopes.depth() == 1 {
            self.error(
                "E0365",
                decl.name.span,
                "`main` must be an instance of a package",
            );
        }
    }

    /// Runs `f` in a scope with the type parameters of `owner`.
    pub(crate) fn with_type_params<R>(
        &mut self,
        owner: &'a Decl,
        type_params: &'a [Ident],
        f: impl FnOnce(&mut Self) -> R,
    ) -> R {
        self.scopes.push();
        for (index, param) in type_params.iter().enumerate() {
            self.declare(param, Def::TypeParam(owner, index as u32));
        }
        let result = f(self);
        self.scopes.pop();
        result
    }

    fn const_decl(&mut self, decl: &'a Decl, ty: &'a TypeRef, value: &'a Expr) {
        let declared = self.type_ref(ty);
        self.expr(value);
        self.coerce(value, &declared);
        if self.const_value(value).is_none() {
            self.require_constant(value, "the value of a constant");
            // Looked for again and again otherwise, at every use of every constant that uses it.
            self.dependent_consts += 1;
            if !self.depends_on_constructor(value) || self.dependent_consts > MAX_DEPENDENT {
                self.out.unknown_consts.insert(decl.id);
            }
        }
        self.declare(&decl.name, Def::Const(decl));
    }

    fn error_decl(&mut self, members: &'a [Ident]) {
        let mut known: HashSet<_> = self.out.errors.iter().cloned().collect();
        for member in members {
            if !known.insert(member.name.clone()) {
                let message = format!("the error `{}` exists already", member.name);
                self.error("E0202", member.span, message);
            } else {
                self.out.errors.push(member.name.clone());
            }
        }
    }

    fn enum_decl(
        &mut self,
        decl: &'a Decl,
        underlying: Option<&'a TypeRef>,
        members: &'a [EnumMember],
    ) {
        // The type behind comes first, so that it cannot be the enum itself.
        let base = underlying.map(|ty| (ty, self.type_ref(ty)));
        self.declare(&decl.name, Def::Type(decl));
        if let Some((ty, base)) = &base {
            if base.fixed_width().is_none() && *base != Type::Unknown {
                self.error(
                    "E0313",
                    ty.span,
                    format!("an enum can be stored as `bit<W>` or `int<W>`, not as {base}"),
                );
            }
        }
        let mut seen: HashMap<&Name, Span> = HashMap::default();
        for member in members {
            if let Some(first) = seen.insert(&member.name.name, member.name.span) {
                self.report(
                    Diagnostic::error(
                        "E0202",
                        member.name.span,
                        format!("the member `{}` is declared twice", member.name.name),
                    )
                    .label(first, "first declared here"),
                );
            }
            match (&base, &member.value) {
                (Some((_, base)), Some(value)) => {
                    self.expr(value);
                    if self.outside(value, base) {
                        continue;
                    }
                    self.coerce(value, base);
                    if self.const_value(value).is_none() {
                        self.require_constant(value, "the value of an enum member");
                    }
                }
                (Some(_), None) => self.error("E0314", member.name.span, format!("the member `{}` needs a value, since the enum has an underlying type", member.name.name)),
                (None, Some(value)) => self.error("E0314", value.span, "members have values only when the enum has an underlying type, as in `enum bit<8> E`"),
                (None, None) => {}
            }
        }
    }

    /// Whether the value of an enum's member is known and has no place in the type behind it, which
    /// is reported.
    fn outside(&mut self, value: &'a Expr, base: &Type) -> bool {
        let Some((width, signed)) = self.out.underlying(base).width_and_sign() else {
            return false;
        };
        let Some(Value::Int(number)) = self.const_value(value) else {
            return false;
        };
        let outside = !fits(&number, width, signed);
        if outside {
            let message = format!("the value of this member does not fit in {base}: {number}");
            let error = Diagnostic::error("E0314", value.span, message);
            self.report(error.hint("write a wider type, or a value that fits"));
        }
        outside
    }

    fn fields_decl(
        &mut self,
        decl: &'a Decl,
        type_params: &'a [Ident],
        fields: &'a [Field],
        kind: Kind,
    ) {
        // Declared after its fields: a type cannot contain itself.
        self.with_type_params(decl, type_params, |c| {
            let mut seen: HashMap<&Name, Span> = HashMap::default();
            for field in fields {
                let ty = c.type_ref(&field.ty);
                c.annotations(&field.annotations);
                if kind == Kind::Header {
                    c.length_annotation(&field.annotations, &seen);
                }
                if let Some(first) = seen.insert(&field.name.name, field.name.span) {
                    c.report(
                        Diagnostic::error(
                            "E0202",
                            field.name.span,
                            format!("the field `{}` is declared twice", field.name.name),
                        )
                        .label(first, "first declared here"),
                    );
                }
                if !c.field_allowed(&ty, kind) {
                    let (what, may) = what_holds(kind);
                    c.report(
                        Diagnostic::error(
                            "E0315",
                            field.ty.span,
                            format!("{ty} cannot be a field of {what}"),
                        )
                        .hint(format!("{what} holds {may}")),
                    );
                }
            }
        });
        self.declare(&decl.name, Def::Type(decl));
        if type_params.is_empty() {
            let ty = Type::Named(kind, decl.id, decl.name.name.clone(), Vec::new());
            self.reasonable_size(&ty, decl.name.span);
        }
    }

    fn function(
        &mut self,
        decl: &'a Decl,
        ret: &'a TypeRef,
        type_params: &'a [Ident],
        params: &'a [Param],
        body: &'a Block,
    ) {
        self.with_type_params(decl, type_params, |c| {
            let return_type = c.return_type(ret);
            c.params(params, Owner::Function);
            let outer = std::mem::take(&mut c.context);
            c.context.return_type = Some(return_type.clone());
            c.context.in_function = true;
            c.context.this = outer.this.clone();
            c.block(body);
            c.context = outer;
            if !matches!(return_type, Type::Void | Type::Unknown)
                && !crate::stmt::always_returns(&body.stmts)
            {
                c.report(
                    Diagnostic::error(
                        "E0316",
                        decl.name.span,
                        format!(
                            "the function `{}` can end without returning a value",
                            decl.name.name
                        ),
                    )
                    .hint("every way through the function must end in `return value;`"),
                );
            }
        });
        self.declare(&decl.name, Def::Function(decl));
    }

    pub(crate) fn action_body(&mut self, params: &'a [Param], body: &'a Block) {
        self.scopes.push();
        self.params(params, Owner::Action);
        let mut data_seen = None;
        for param in params {
            match (param.direction, data_seen) {
                (Direction::None, _) => data_seen = Some(param.name.span),
                (_, Some(first)) => {
                    self.report(Diagnostic::error("E0317", param.span, "parameters with a direction must come before those that the control plane gives").label(first, "this one comes from the control plane"));
                }
                _ => {}
            }
        }
        let outer = self.context.clone();
        self.context.return_type = Some(Type::Void);
        self.context.in_action = true;
        self.context.loops = 0;
        self.block(body);
        self.context = outer;
        self.scopes.pop();
    }

    /// Fields of a struct, header or union with type arguments put in: name, type, annotations.
    pub(crate) fn fields_of(&self, ty: &Type) -> Option<Vec<(Name, Type, &'a [Annotation])>> {
        self.out.fields_of(ty)
    }

    /// A call of an extern function marked `@pure`, which a target can evaluate beforehand.
    fn is_pure_call(&self, expr: &Expr) -> bool {
        matches!(
            self.out.calls.get(&expr.id).map(|c| c.kind),
            Some(CallKind::ExternFunction(decl)) if has_annotation(&decl.annotations, "pure")
        )
    }

    /// Reports that `expr` should be known at compile time, unless something else is wrong with it.
    pub(crate) fn require_constant(&mut self, expr: &'a Expr, what: &str) {
        self.require("E0501", expr, what);
    }

    /// The same for what decides how much room something takes.
    pub(crate) fn require_constant_size(&mut self, expr: &'a Expr, what: &str) {
        self.require("E0509", expr, what);
    }

    /// Whether a mistake inside of `span` has been reported, of which others may follow.
    fn has_error_within(&self, span: Span) -> bool {
        self.out
            .diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error && span.lo <= d.span.lo && d.span.hi <= span.hi)
    }

    fn require(&mut self, code: &'static str, expr: &'a Expr, what: &str) {
        if *self.out.expr_type(expr.id) == Type::Unknown
            || self.depends_on_constructor(expr)
            || self.is_pure_call(expr)
            || self.has_error_within(expr.span)
        {
            return;
        }
        self.report(
            Diagnostic::error(
                code,
                expr.span,
                format!("{what} must be known at compile time"),
            )
            .hint("use literals, constants and constructor parameters only"),
        );
    }
}

pub(crate) fn has_annotation(annotations: &[Annotation], name: &str) -> bool {
    annotations.iter().any(|a| &*a.name.name == name)
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !matches!(text, "bit" | "int" | "bool")
}
