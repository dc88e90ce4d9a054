//! Scopes: which declaration a name means at a point of the program.

use crate::types::Type;
use crate::{Checker, Def};
use p4_syntax::ast::{Decl, DeclKind, Ident, Name, Param, Path};
use p4_syntax::diag::Diagnostic;
use p4_syntax::HashMap;

pub(crate) struct Scopes<'a> {
    stack: Vec<HashMap<Name, Def<'a>>>,
}

impl<'a> Scopes<'a> {
    pub fn new() -> Scopes<'a> {
        Scopes {
            stack: vec![HashMap::default()],
        }
    }

    pub fn push(&mut self) {
        self.stack.push(HashMap::default());
    }

    /// 1 at the top level.
    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    pub fn pop(&mut self) {
        self.stack.pop();
    }

    fn lookup(&self, path: &Path) -> Option<Def<'a>> {
        let scopes = if path.absolute {
            &self.stack[..1]
        } else {
            &self.stack[..]
        };
        scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(&path.ident.name))
            .copied()
    }

    /// What can be named here; what is hidden as well.
    pub fn visible(&self) -> impl Iterator<Item = (&Name, &Def<'a>)> {
        self.stack.iter().rev().flatten()
    }
}

impl<'a> Checker<'a> {
    /// Declares a name in the innermost scope; the same name twice in one scope is an error,
    /// unless both are functions that differ in their parameters.
    pub(crate) fn declare(&mut self, ident: &Ident, def: Def<'a>) {
        let Some(scope) = self.scopes.stack.last_mut() else {
            return;
        };
        if let Some(previous) = scope.get(&ident.name).copied() {
            if let (Def::Function(new), Def::Function(old)) = (def, previous) {
                self.overloads.insert(new.id, old);
                scope.insert(ident.name.clone(), def);
                if self.same_parameters(new, old) {
                    self.report(
                        Diagnostic::error(
                            "E0202",
                            ident.span,
                            format!(
                                "`{}` is declared twice with the same parameters",
                                ident.name
                            ),
                        )
                        .label(old.name.span, "first declared here"),
                    );
                }
                return;
            }
            if let (Def::Type(new), Def::Type(old)) = (def, previous) {
                if overloadable(new, old) {
                    self.overloads.insert(new.id, old);
                    scope.insert(ident.name.clone(), def);
                    return;
                }
            }
            self.report(
                Diagnostic::error(
                    "E0202",
                    ident.span,
                    format!(
                        "the name `{}` is declared twice in the same scope",
                        ident.name
                    ),
                )
                .label(previous.span(), "first declared here")
                .hint("give one of the two another name"),
            );
            return;
        }
        scope.insert(ident.name.clone(), def);
    }

    /// A variable in a body must not make a parameter unreachable.
    pub(crate) fn hides_parameter(&mut self, ident: &Ident) {
        let path = Path {
            absolute: false,
            ident: ident.clone(),
        };
        if let Some(Def::Param(param)) = self.scopes.lookup(&path) {
            self.report(
                Diagnostic::error(
                    "E0206",
                    ident.span,
                    format!(
                        "the variable `{}` hides the parameter of that name",
                        ident.name
                    ),
                )
                .label(param.name.span, "the parameter")
                .hint("give the variable another name"),
            );
        }
    }

    pub(crate) fn same_parameters(&self, a: &Decl, b: &Decl) -> bool {
        let names = |decl: &Decl| -> Option<Vec<(Name, Type)>> {
            let params = match &decl.kind {
                DeclKind::Function { params, .. } => params,
                DeclKind::ExternFunction(proto) | DeclKind::Method { proto, .. } => &proto.params,
                _ => return None,
            };
            let signature = |p: &Param| (p.name.name.clone(), self.out.type_ref(p.ty.id).clone());
            Some(params.iter().map(signature).collect())
        };
        match (names(a), names(b)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        }
    }

    /// What `path` means here; reports a name that nothing declares.
    pub(crate) fn resolve(&mut self, path: &Path) -> Option<Def<'a>> {
        let found = self.scopes.lookup(path);
        // Looking for a similar name takes a while; not for what is not reported any more.
        if found.is_none() && !self.full() {
            let name = &path.ident.name;
            if let Some(around) = self.unfinished.iter().rfind(|n| n.name == *name) {
                let around = around.span;
                self.report(
                    Diagnostic::error(
                        "E0207",
                        path.ident.span,
                        format!("`{name}` is used in its own declaration"),
                    )
                    .label(around, "which begins here")
                    .hint("P4 has no recursion: what a declaration uses is declared above it"),
                );
                return None;
            }
            let remedy = self.meant(name).unwrap_or_else(|| {
                "P4 reads from top to bottom: declare it above this line, or include the file that does"
                    .to_string()
            });
            let diagnostic = Diagnostic::error(
                "E0201",
                path.ident.span,
                format!("nothing named `{name}` is declared here"),
            );
            self.report(diagnostic.hint(remedy));
        }
        found
    }

    /// What `name` means here, without a report.
    pub(crate) fn resolve_quietly(&self, path: &Path) -> Option<Def<'a>> {
        self.scopes.lookup(path)
    }
}

/// Parsers, controls and packages of one name are told apart by their constructor parameters.
fn overloadable(a: &Decl, b: &Decl) -> bool {
    let names =
        |params: &[Param]| -> Vec<Name> { params.iter().map(|p| p.name.name.clone()).collect() };
    match (&a.kind, &b.kind) {
        (DeclKind::Parser { ctor_params: x, .. }, DeclKind::Parser { ctor_params: y, .. })
        | (DeclKind::Control { ctor_params: x, .. }, DeclKind::Control { ctor_params: y, .. })
        | (DeclKind::Package { params: x, .. }, DeclKind::Package { params: y, .. }) => {
            names(x) != names(y)
        }
        _ => false,
    }
}
