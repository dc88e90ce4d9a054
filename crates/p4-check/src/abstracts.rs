//! Instances that implement the abstract methods of their extern (specification 11.3.2).

use crate::decl::has_annotation;
use crate::hints::counted;
use crate::types::{Kind, Type};
use crate::wellformed::direction_word;
use crate::{Checker, Context};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;

impl<'a> Checker<'a> {
    /// Checks `= { ... }` after an instance: exactly the abstract methods of the extern, with the
    /// signatures that it declares.
    pub(crate) fn instance_body(&mut self, decl: &'a Decl, ty: &Type, body: &'a [Decl]) {
        self.method_bodies(ty, body);
        let Type::Named(kind, id, name, args) = ty else {
            return;
        };
        let wanted = self.abstract_methods(*id);
        if *kind != Kind::Extern || wanted.is_empty() {
            return self.report(
                Diagnostic::error(
                    "E0353",
                    decl.name.span,
                    format!("`{name}` has no abstract methods, so nothing can be given in braces"),
                )
                .hint("end the declaration with `;` after the name"),
            );
        }
        for method in body {
            if !matches!(method.kind, DeclKind::Function { .. }) {
                continue;
            }
            match wanted.iter().find(|w| w.name.name == method.name.name) {
                Some(declared) => self.same_signature(declared, method, *id, args),
                None => self.report(
                    Diagnostic::error(
                        "E0354",
                        method.name.span,
                        format!("`{name}` has no abstract method `{}`", method.name.name),
                    )
                    .hint(format!("it has {}", method_names(&wanted))),
                ),
            }
        }
        let missing: Vec<&'a Decl> = wanted
            .into_iter()
            .filter(|w| !body.iter().any(|m| m.name.name == w.name.name))
            .filter(|w| !has_annotation(&w.annotations, "optional"))
            .collect();
        self.missing_methods(decl, &missing, name);
    }

    /// An instance without braces must belong to an extern without abstract methods.
    pub(crate) fn no_instance_body(&mut self, decl: &'a Decl, ty: &Type) {
        if let Type::Named(Kind::Extern, id, name, _) = ty {
            let wanted = self.abstract_methods(*id);
            self.missing_methods(decl, &wanted, &name.clone());
        }
    }

    fn missing_methods(&mut self, decl: &'a Decl, missing: &[&'a Decl], name: &Name) {
        let Some(first) = missing.first() else {
            return;
        };
        self.report(
            Diagnostic::error(
                "E0355",
                decl.name.span,
                format!(
                    "`{}` must implement {} of `{name}`",
                    decl.name.name,
                    method_names(missing)
                ),
            )
            .label(first.name.span, "declared abstract here")
            .hint("give the method after the name: `... = { void method() { ... } };`"),
        );
    }

    fn method_bodies(&mut self, ty: &Type, body: &'a [Decl]) {
        self.scopes.push();
        let outer = self.context.clone();
        self.context = Context {
            this: Some(ty.clone()),
            ..Context::default()
        };
        for method in body {
            self.local(method);
        }
        self.context = outer;
        self.scopes.pop();
    }

    pub(crate) fn abstract_methods(&self, extern_id: NodeId) -> Vec<&'a Decl> {
        let Some(DeclKind::ExternObject { methods, .. }) =
            self.out.decls.get(&extern_id).map(|d| &d.kind)
        else {
            return Vec::new();
        };
        let is_abstract = |m: &&'a Decl| {
            matches!(
                m.kind,
                DeclKind::Method {
                    is_abstract: true,
                    ..
                }
            )
        };
        methods.iter().filter(is_abstract).collect()
    }

    fn same_signature(
        &mut self,
        declared: &'a Decl,
        given: &'a Decl,
        owner: NodeId,
        args: &[Type],
    ) {
        let DeclKind::Method { proto, .. } = &declared.kind else {
            return;
        };
        let DeclKind::Function { ret, params, .. } = &given.kind else {
            return;
        };
        let wanted = |c: &Self, ty: &TypeRef| c.out.type_ref(ty.id).substitute(owner, args);
        // `_` leaves the type to the method's implementation.
        let differ = |want: &Type, got: &Type| {
            let open = |ty: &Type| matches!(ty, Type::Unknown | Type::DontCare);
            want != got && !open(want) && !open(got)
        };
        let left_out = proto.params.get(params.len()..).unwrap_or_default();
        let optional = |p: &Param| has_annotation(&p.annotations, "optional");
        let too_many = params.len() > proto.params.len();
        let difference = if too_many || !left_out.iter().all(optional) {
            Some((
                given.name.span,
                format!(
                    "has {}, but it is declared with {}",
                    counted(params.len(), "parameter"),
                    proto.params.len()
                ),
            ))
        } else {
            let mut pairs = proto.params.iter().zip(params);
            pairs.find_map(|(w, g)| {
                let (want, got) = (wanted(self, &w.ty), self.out.type_ref(g.ty.id).clone());
                if w.direction != g.direction {
                    let message = format!(
                        "has its parameter `{}` {}, but it is declared {}",
                        g.name.name,
                        quoted(g.direction),
                        quoted(w.direction)
                    );
                    Some((g.span, message))
                } else if differ(&want, &got) {
                    let message = format!(
                        "has the parameter `{}` of type {got}, but it is declared as {want}",
                        g.name.name
                    );
                    Some((g.ty.span, message))
                } else {
                    None
                }
            })
        };
        let (want, got) = (wanted(self, &proto.ret), self.out.type_ref(ret.id).clone());
        let difference = difference.or_else(|| {
            differ(&want, &got).then(|| {
                let message = format!("returns {got}, but it is declared to return {want}");
                (ret.span, message)
            })
        });
        if let Some((span, what)) = difference {
            self.report(
                Diagnostic::error(
                    "E0356",
                    span,
                    format!("the method `{}` {what}", given.name.name),
                )
                .label(declared.name.span, "declared abstract here"),
            );
        }
    }
}

fn quoted(direction: Direction) -> String {
    match direction {
        Direction::None => "without direction".into(),
        _ => format!("`{}`", direction_word(direction)),
    }
}

fn method_names(methods: &[&Decl]) -> String {
    let names: Vec<String> = methods
        .iter()
        .map(|m| format!("`{}`", m.name.name))
        .collect();
    names.join(", ")
}
