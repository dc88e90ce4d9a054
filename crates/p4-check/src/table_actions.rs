//! The actions of a table and the arguments that the program gives them (specification 14.2.1.2,
//! 14.2.1.3).

use crate::decl::has_annotation;
use crate::types::{Kind, Type};
use crate::{Checker, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::HashMap;

/// An action in the `actions` of a table.
pub(crate) struct Listed<'a> {
    action: &'a ActionRef,
    decl: &'a Decl,
}

/// An action's name where a table uses it.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    id: NodeId,
    span: Span,
    path: &'a Path,
}

impl<'a> Named<'a> {
    pub(crate) fn of(action: &'a ActionRef) -> Named<'a> {
        Named {
            id: action.id,
            span: action.span,
            path: &action.path,
        }
    }
}

impl<'a> Checker<'a> {
    pub(crate) fn action_list(&mut self, actions: &'a [ActionRef]) {
        let mut seen: HashMap<NodeId, Span> = HashMap::default();
        for action in actions {
            let Some(decl) = self.action_named(action) else {
                continue;
            };
            if let Some(first) = seen.insert(decl.id, action.span) {
                self.report(
                    Diagnostic::error(
                        "E0411",
                        action.span,
                        format!("the action `{}` is listed twice", action.path.ident.name),
                    )
                    .label(first, "first listed here"),
                );
            }
            let DeclKind::Action { params, .. } = &decl.kind else {
                continue;
            };
            let directed: Vec<&'a Param> = params
                .iter()
                .filter(|p| p.direction != Direction::None)
                .collect();
            let args = action.args.as_deref().unwrap_or(&[]);
            self.annotations(&action.annotations);
            self.bind_action_args(Named::of(action), params, &directed, args, false);
            for param in params.iter().filter(|p| p.direction == Direction::None) {
                self.control_plane_type(action.span, param);
            }
        }
    }

    /// The control plane can give numbers only, not structs or headers.
    fn control_plane_type(&mut self, at: Span, param: &'a Param) {
        let ty = self.out.type_ref(param.ty.id).clone();
        let given = matches!(
            self.out.underlying(&ty),
            Type::Named(Kind::Struct | Kind::Header | Kind::Union, ..)
                | Type::Stack(..)
                | Type::Tuple(_)
                | Type::Varbit(_)
        );
        if given {
            self.report(
                Diagnostic::warning(
                    "W0423",
                    param.span,
                    format!(
                        "the control plane cannot give `{}`, which is of type {ty}",
                        param.name.name
                    ),
                )
                .label(at, "the action is used in this table")
                .hint("use parameters of type bit<W>, int<W> or bool"),
            );
        }
    }

    pub(crate) fn action_named(&mut self, action: &'a ActionRef) -> Option<&'a Decl> {
        match self.resolve(&action.path)? {
            Def::Action(decl) => {
                self.out.action_refs.insert(action.id, decl);
                Some(decl)
            }
            other => {
                self.report(
                    Diagnostic::error(
                        "E0412",
                        action.path.ident.span,
                        format!("`{}` is not an action", action.path.ident.name),
                    )
                    .label(other.span(), "declared here"),
                );
                None
            }
        }
    }

    /// Binds the arguments that the program gives to an action in a table; `wanted` are the
    /// parameters that must get one.
    fn bind_action_args(
        &mut self,
        named: Named<'a>,
        params: &'a [Param],
        wanted: &[&'a Param],
        args: &'a [Arg],
        constant: bool,
    ) {
        let Named { id, span, path } = named;
        let mut order: Vec<Option<usize>> = vec![None; params.len()];
        self.context.in_action_args = true;
        for arg in args {
            self.value_expr(&arg.value);
        }
        self.context.in_action_args = false;
        for (i, arg) in args.iter().enumerate() {
            let param = match &arg.name {
                Some(name) => wanted.iter().find(|p| p.name.name == name.name).copied(),
                None => wanted.get(i).copied(),
            };
            let Some(param) = param else {
                self.error(
                    "E0332",
                    arg.span,
                    format!("`{}` has no parameter for this argument", path.ident.name),
                );
                continue;
            };
            if let Some(position) = params.iter().position(|p| p.id == param.id) {
                order[position] = Some(i);
            }
            let ty = self.out.type_ref(param.ty.id).clone();
            if matches!(param.direction, Direction::Out | Direction::InOut) {
                let given = self.out.expr_type(arg.value.id).clone();
                if self.lvalue(&arg.value) && !self.unify(&ty, &given) {
                    self.error(
                        "E0302",
                        arg.value.span,
                        format!("`{}` gives back {ty}, but this is {given}", param.name.name),
                    );
                }
            } else if self.coerce(&arg.value, &ty)
                && constant
                && param.direction == Direction::None
                && self.const_value(&arg.value).is_none()
            {
                self.require_constant(&arg.value, "the data of an action in a table");
            }
        }
        let missing: Vec<String> = wanted
            .iter()
            .filter(|p| {
                p.default.is_none()
                    && params
                        .iter()
                        .position(|q| q.id == p.id)
                        .is_some_and(|i| order[i].is_none())
            })
            .map(|p| format!("`{}`", p.name.name))
            .collect();
        if !missing.is_empty() {
            self.error(
                "E0332",
                span,
                format!(
                    "`{}` needs a value for {}",
                    path.ident.name,
                    missing.join(", ")
                ),
            );
        }
        self.out.action_args.insert(id, order);
    }

    /// An action with data, in `default_action` or an entry. All arguments may be given, or only
    /// those without direction.
    pub(crate) fn action_with_data(
        &mut self,
        named: Named<'a>,
        decl: &'a Decl,
        args: &'a [Arg],
        listed: &[Listed<'a>],
    ) {
        let Some(entry) = listed.iter().find(|l| l.decl.id == decl.id) else {
            return self.report(
                Diagnostic::error(
                    "E0413",
                    named.span,
                    format!(
                        "`{}` is not in the `actions` of this table",
                        named.path.ident.name
                    ),
                )
                .hint("add it there"),
            );
        };
        let DeclKind::Action { params, .. } = &decl.kind else {
            return;
        };
        let all: Vec<&'a Param> = params.iter().collect();
        let data: Vec<&'a Param> = params
            .iter()
            .filter(|p| p.direction == Direction::None)
            .collect();
        let whole = args.len() == all.len();
        let wanted = if whole { all } else { data };
        self.bind_action_args(named, params, &wanted, args, true);
        if whole {
            self.same_bound_args(params, entry.action, args);
        }
    }

    /// Arguments that the `actions` list has bound can be repeated, but not changed.
    fn same_bound_args(&mut self, params: &'a [Param], listed: &'a ActionRef, args: &'a [Arg]) {
        let bound = listed.args.as_deref().unwrap_or_default();
        let directed = params
            .iter()
            .zip(args)
            .filter(|(p, _)| p.direction != Direction::None);
        for (first, (_, second)) in bound.iter().zip(directed) {
            if !self.out.same_expr(&first.value, &second.value) {
                self.report(
                    Diagnostic::error(
                        "E0422",
                        second.span,
                        "this differs from what the `actions` list gives the action",
                    )
                    .label(first.span, "given here")
                    .hint("repeat it unchanged, or leave it out"),
                );
            }
        }
    }

    pub(crate) fn default_action(&mut self, value: &'a Expr, listed: &[Listed<'a>]) {
        let (path, args): (&'a Path, &'a [Arg]) = match &value.kind {
            ExprKind::Path(path) => (path, &[]),
            ExprKind::Call { func, args, .. } => match &func.kind {
                ExprKind::Path(path) => (path, args),
                _ => {
                    return self.error("E0412", value.span, "`default_action` must name an action")
                }
            },
            _ => return self.error("E0412", value.span, "`default_action` must name an action"),
        };
        match self.resolve(path) {
            Some(Def::Action(decl)) => {
                self.out.action_refs.insert(value.id, decl);
                self.action_place(value.span, decl, listed, "tableonly", "default action");
                let Expr { id, span, .. } = *value;
                self.action_with_data(Named { id, span, path }, decl, args, listed);
            }
            Some(other) => {
                self.report(
                    Diagnostic::error(
                        "E0412",
                        path.ident.span,
                        format!("`{}` is not an action", path.ident.name),
                    )
                    .label(other.span(), "declared here"),
                );
            }
            None => {}
        }
    }

    /// `@tableonly` keeps an action out of `default_action`, `@defaultonly` out of entries.
    pub(crate) fn action_place(
        &mut self,
        at: Span,
        decl: &'a Decl,
        listed: &[Listed<'a>],
        annotation: &str,
        role: &str,
    ) {
        let Some(entry) = listed.iter().find(|l| l.decl.id == decl.id) else {
            return;
        };
        if has_annotation(&entry.action.annotations, annotation) {
            self.report(
                Diagnostic::error(
                    "E0415",
                    at,
                    format!(
                        "`{}` is marked `@{annotation}`, so it cannot be the {role}",
                        decl.name.name
                    ),
                )
                .label(entry.action.span, "marked here"),
            );
        }
    }

    pub(crate) fn actions_in(&self, properties: &'a [TableProperty]) -> Vec<Listed<'a>> {
        properties
            .iter()
            .filter_map(|p| match &p.value {
                PropertyValue::Actions(actions) => Some(actions),
                _ => None,
            })
            .flatten()
            .filter_map(|action| {
                Some(Listed {
                    action,
                    decl: self.out.action_refs.get(&action.id)?,
                })
            })
            .collect()
    }

    /// Names of the actions of a declared table, with their declarations.
    pub(crate) fn table_actions(&self, table: NodeId) -> Vec<(Name, &'a Decl)> {
        match self.out.decls.get(&table).map(|d| &d.kind) {
            Some(DeclKind::Table(properties)) => {
                let listed = self.actions_in(properties).into_iter();
                listed
                    .map(|l| (l.action.path.ident.name.clone(), l.decl))
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}
