//! Tables (specification 14.2).

use crate::types::{Kind, Type};
use crate::{Checker, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use std::collections::HashMap;

impl<'a> Checker<'a> {
    pub(crate) fn table(&mut self, decl: &'a Decl, properties: &'a [TableProperty]) {
        self.out.decls.insert(decl.id, decl);
        let mut seen: HashMap<&Name, Span> = HashMap::new();
        for property in properties {
            if let Some(first) = seen.insert(&property.name.name, property.name.span) {
                self.report(
                    Diagnostic::error(
                        "E0406",
                        property.name.span,
                        format!("the property `{}` is given twice", property.name.name),
                    )
                    .label(first, "first given here"),
                );
            }
        }
        let mut key_types = Vec::new();
        for property in properties {
            if let PropertyValue::Key(elements) = &property.value {
                for element in elements {
                    key_types.push(self.key_element(element));
                }
            }
        }
        let mut has_actions = false;
        for property in properties {
            if let PropertyValue::Actions(actions) = &property.value {
                has_actions = true;
                self.action_list(actions);
            }
        }
        if !has_actions {
            self.report(
                Diagnostic::error(
                    "E0407",
                    decl.name.span,
                    format!("the table `{}` has no `actions`", decl.name.name),
                )
                .hint("list what the table can do, as in `actions = { forward; drop; }`"),
            );
        }
        let listed = self.actions_in(properties);
        for property in properties {
            match &property.value {
                PropertyValue::Entries(entries) => {
                    if key_types.is_empty() && !entries.is_empty() {
                        self.error(
                            "E0408",
                            property.span,
                            "a table without a key has no entries",
                        );
                    }
                    for entry in entries {
                        self.entry(entry, &key_types, &listed);
                    }
                }
                PropertyValue::Expr(value) if &*property.name.name == "default_action" => {
                    self.default_action(value, &listed);
                }
                PropertyValue::Expr(value) => {
                    let ty = self.value_expr(value);
                    if &*property.name.name == "size" && !ty.is_numeric() && ty != Type::Unknown {
                        self.error(
                            "E0302",
                            value.span,
                            format!("the size of a table is a number, not {ty}"),
                        );
                    }
                    if self.const_value(value).is_none() && ty.is_numeric() {
                        self.require_constant(value, "the value of a table property");
                    }
                }
                _ => {}
            }
        }
        self.declare(&decl.name, Def::Table(decl));
    }

    fn key_element(&mut self, element: &'a KeyElement) -> Type {
        let ty = self.value_expr(&element.expr);
        let base = self.out.underlying(&ty);
        let plain = matches!(
            base,
            Type::Bit(_)
                | Type::Signed(_)
                | Type::Bool
                | Type::Error
                | Type::Unknown
                | Type::Varbit(_)
                | Type::Param(..)
                | Type::Named(Kind::Enum, ..)
        );
        if !plain {
            let mut diagnostic = Diagnostic::error(
                "E0409",
                element.expr.span,
                format!("a table cannot match on {}", crate::coerce::article(&ty)),
            );
            if base == Type::Int {
                diagnostic = diagnostic.hint("give the number a width, as in `8w1`");
            } else if matches!(base, Type::Named(Kind::Header | Kind::Struct, ..)) {
                diagnostic = diagnostic.hint("match on its fields, one by one");
            }
            self.report(diagnostic);
        }
        if !self.match_kinds.contains(&element.match_kind.name) {
            let name = &element.match_kind.name;
            let mut diagnostic = Diagnostic::error(
                "E0410",
                element.match_kind.span,
                format!("there is no match kind `{name}`"),
            );
            let near = self
                .match_kinds
                .iter()
                .min_by_key(|k| crate::scope::edit_distance(k, name))
                .cloned();
            let kinds: Vec<String> = self.match_kinds.iter().map(|k| k.to_string()).collect();
            diagnostic = match near {
                Some(near) if crate::scope::edit_distance(&near, name) <= 2 => {
                    diagnostic.hint(format!("did you mean `{near}`?"))
                }
                _ if kinds.is_empty() => {
                    diagnostic.hint("match kinds are declared in core.p4: add `#include <core.p4>`")
                }
                _ => diagnostic.hint(format!("there are {}", kinds.join(", "))),
            };
            self.report(diagnostic);
        }
        ty
    }

    fn action_list(&mut self, actions: &'a [ActionRef]) {
        let mut seen: HashMap<NodeId, Span> = HashMap::new();
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
            self.bind_action_args(action.span, &action.path, params, &directed, args, false);
        }
    }

    fn action_named(&mut self, action: &'a ActionRef) -> Option<&'a Decl> {
        match self.resolve(&action.path)? {
            Def::Action(decl) => {
                self.out.action_refs.insert(action.span, decl);
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
        at: Span,
        path: &Path,
        params: &'a [Param],
        wanted: &[&'a Param],
        args: &'a [Arg],
        constant: bool,
    ) {
        let mut order: Vec<Option<usize>> = vec![None; params.len()];
        for arg in args {
            self.value_expr(&arg.value);
        }
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
                at,
                format!(
                    "`{}` needs a value for {}",
                    path.ident.name,
                    missing.join(", ")
                ),
            );
        }
        self.out.action_args.insert(at, order);
    }

    /// An action with data, in `default_action` or an entry. All arguments may be given, or only
    /// those without direction.
    fn action_with_data(
        &mut self,
        at: Span,
        path: &'a Path,
        decl: &'a Decl,
        args: &'a [Arg],
        listed: &[(Name, &'a Decl)],
    ) {
        if !listed.iter().any(|(_, d)| d.id == decl.id) {
            self.report(
                Diagnostic::error(
                    "E0413",
                    at,
                    format!(
                        "`{}` is not in the `actions` of this table",
                        path.ident.name
                    ),
                )
                .hint("add it there"),
            );
            return;
        }
        let DeclKind::Action { params, .. } = &decl.kind else {
            return;
        };
        let all: Vec<&'a Param> = params.iter().collect();
        let data: Vec<&'a Param> = params
            .iter()
            .filter(|p| p.direction == Direction::None)
            .collect();
        let wanted = if args.len() == all.len() { all } else { data };
        self.bind_action_args(at, path, params, &wanted, args, true);
    }

    fn default_action(&mut self, value: &'a Expr, listed: &[(Name, &'a Decl)]) {
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
                self.out.action_refs.insert(value.span, decl);
                self.action_with_data(value.span, path, decl, args, listed);
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

    fn entry(&mut self, entry: &'a Entry, key_types: &[Type], listed: &[(Name, &'a Decl)]) {
        if let Some(priority) = &entry.priority {
            self.value_expr(priority);
            if self.const_value(priority).is_none() {
                self.require_constant(priority, "the priority of an entry");
            }
        }
        self.keyset(&entry.keyset, key_types, entry.span);
        if let Some(decl) = self.action_named(&entry.action) {
            let args = entry.action.args.as_deref().unwrap_or(&[]);
            self.action_with_data(entry.action.span, &entry.action.path, decl, args, listed);
        }
    }

    fn actions_in(&self, properties: &'a [TableProperty]) -> Vec<(Name, &'a Decl)> {
        properties
            .iter()
            .filter_map(|p| match &p.value {
                PropertyValue::Actions(actions) => Some(actions),
                _ => None,
            })
            .flatten()
            .filter_map(|a| {
                Some((
                    a.path.ident.name.clone(),
                    *self.out.action_refs.get(&a.span)?,
                ))
            })
            .collect()
    }

    /// Names of the actions of a declared table, with their declarations.
    pub(crate) fn table_actions(&self, table: NodeId) -> Vec<(Name, &'a Decl)> {
        match self.out.decls.get(&table).map(|d| &d.kind) {
            Some(DeclKind::Table(properties)) => self.actions_in(properties),
            _ => Vec::new(),
        }
    }
}
