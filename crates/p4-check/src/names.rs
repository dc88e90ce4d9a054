//! Names by which the control plane knows actions and tables (specification 18.3.1).

use crate::Checker;
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use std::collections::HashMap;

/// Names of one sort of thing, and where each was given.
type Seen = HashMap<String, Span>;

impl<'a> Checker<'a> {
    /// Reports two actions, or two tables, that the control plane could not tell apart.
    pub(crate) fn control_plane_names(&mut self, decls: &'a [Decl]) {
        let (mut actions, mut tables) = (Seen::new(), Seen::new());
        for decl in decls {
            match &decl.kind {
                DeclKind::Action { .. } => self.control_plane_name(decl, "", &mut actions),
                DeclKind::Control { locals, .. } => {
                    let prefix = format!("{}.", name_of(decl));
                    let prefix = prefix.trim_start_matches('.');
                    for local in locals {
                        match &local.kind {
                            DeclKind::Action { .. } => {
                                self.control_plane_name(local, prefix, &mut actions)
                            }
                            DeclKind::Table(_) => {
                                self.control_plane_name(local, prefix, &mut tables)
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn control_plane_name(&mut self, decl: &'a Decl, prefix: &str, seen: &mut Seen) {
        let own = name_of(decl);
        let full = match own.strip_prefix('.') {
            Some(absolute) => absolute.to_string(),
            None => format!("{prefix}{own}"),
        };
        let Some(first) = seen.get(&full).copied() else {
            seen.insert(full, decl.name.span);
            return;
        };
        // Overlaps without an annotation are overlaps of names, and reported as such. Programs
        // bring their own NoAction next to the one of core.p4, which does the same.
        if full != "NoAction" && decl.annotations.iter().any(|a| &*a.name.name == "name") {
            self.report(
                Diagnostic::error(
                    "E0425",
                    decl.name.span,
                    format!("the control plane knows something else as `{full}` already"),
                )
                .label(first, "this one")
                .hint("change one of the `@name` annotations"),
            );
        }
    }
}

/// The text of `@name`, or the declared name.
fn name_of(decl: &Decl) -> &str {
    let annotation = decl.annotations.iter().find(|a| &*a.name.name == "name");
    match annotation.map(|a| &a.body) {
        Some(AnnotationBody::Unstructured { tokens, .. }) => match tokens.as_slice() {
            [only] => &only.text,
            _ => &decl.name.name,
        },
        _ => &decl.name.name,
    }
}
