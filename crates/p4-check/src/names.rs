//! Names by which the control plane knows actions and tables (specification 18.3.1).

use crate::{CallKind, Checker};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::HashMap;

/// Names of one sort of thing, and what each was given to first.
type Seen<'a> = HashMap<String, &'a Decl>;

impl<'a> Checker<'a> {
    /// Reports two actions, or two tables, that the control plane could not tell apart.
    pub(crate) fn control_plane_names(&mut self, decls: &'a [Decl]) {
        let (mut actions, mut tables) = (Seen::default(), Seen::default());
        for decl in decls {
            match &decl.kind {
                DeclKind::Action { .. } => self.control_plane_name(decl, "", &mut actions),
                DeclKind::Control {
                    locals,
                    ctor_params,
                    ..
                } => {
                    // Which of its tables an instance applies may depend on what it is made with:
                    // the lowering looks at the tables that are left.
                    let decided = ctor_params.is_empty();
                    let prefix = format!("{}.", name_of(decl));
                    let prefix = prefix.trim_start_matches('.');
                    for local in locals {
                        match &local.kind {
                            DeclKind::Action { .. } => {
                                self.control_plane_name(local, prefix, &mut actions)
                            }
                            DeclKind::Table(_) if decided => {
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

    /// Reports tables with a name of their own, as in `@name(".t")`, in controls of which there are
    /// several instances: the control plane would know all of them by that one name.
    pub(crate) fn shared_table_names(&mut self, decls: &'a [Decl]) {
        let mut instances: HashMap<NodeId, Vec<NodeId>> = HashMap::default();
        for (site, call) in &self.out.calls {
            if let CallKind::Construct(made) | CallKind::TypeApply(made) = call.kind {
                instances.entry(made.id).or_default().push(*site);
            }
        }
        for decl in decls {
            let DeclKind::Control { locals, .. } = &decl.kind else {
                continue;
            };
            let sites = instances.get(&decl.id).map_or(0, Vec::len);
            for table in locals {
                let fixed =
                    matches!(table.kind, DeclKind::Table(_)) && name_of(table).starts_with('.');
                if sites > 1 && fixed {
                    self.report(
                        Diagnostic::error(
                            "E0425",
                            table.name.span,
                            format!(
                                "each instance of `{}` has a table that the control plane knows as `{}`",
                                decl.name.name,
                                name_of(table).trim_start_matches('.')
                            ),
                        )
                        .label(decl.name.span, format!("there are {sites} instances of it"))
                        .hint("remove the dot at the start of its `@name`"),
                    );
                }
            }
        }
    }

    fn control_plane_name(&mut self, decl: &'a Decl, prefix: &str, seen: &mut Seen<'a>) {
        let own = name_of(decl);
        let full = match own.strip_prefix('.') {
            Some(absolute) => absolute.to_string(),
            None => format!("{prefix}{own}"),
        };
        let Some(first) = seen.get(&full).copied() else {
            seen.insert(full, decl);
            return;
        };
        if self.one_for_the_control_plane(first, decl) {
            return;
        }
        // Overlaps without an annotation are overlaps of names, and reported as such. Programs
        // bring their own NoAction next to the one of core.p4, which does the same.
        let is_named = |decl: &Decl| decl.annotations.iter().any(|a| &*a.name.name == "name");
        if full != "NoAction" && (is_named(decl) || is_named(first)) {
            self.report(
                Diagnostic::error(
                    "E0425",
                    decl.name.span,
                    format!("the control plane knows something else as `{full}` already"),
                )
                .label(first.name.span, "this one")
                .hint("change one of the `@name` annotations"),
            );
        }
    }

    /// Actions that all have one name of their own, as in `@name(".drop")`, and the same parameters
    /// are one action to the control plane. Programs translated from P4_14 have copies of an action
    /// in each control, and `drop_0` beside `drop` where one of them counts.
    fn one_for_the_control_plane(&self, first: &Decl, second: &Decl) -> bool {
        let (DeclKind::Action { params: left, .. }, DeclKind::Action { params: right, .. }) =
            (&first.kind, &second.kind)
        else {
            return false;
        };
        let given = |params: &[Param]| {
            let given = params.iter().filter(|p| p.direction == Direction::None);
            given
                .map(|p| (p.name.name.clone(), self.out.type_ref(p.ty.id).clone()))
                .collect::<Vec<_>>()
        };
        let copy = second.name.name.strip_prefix(&*first.name.name);
        let is_copy = |rest: &str| rest.chars().all(|c| c == '_' || c.is_ascii_digit());
        copy.is_some_and(is_copy)
            && name_of(first).starts_with('.')
            && name_of(second).starts_with('.')
            && given(left) == given(right)
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
