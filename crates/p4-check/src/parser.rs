//! Parsers: their states, transitions and keysets (specification 12.4 to 12.7, 13).

use crate::hints::counted;
use crate::types::{Kind, Type};
use crate::wellformed::Owner;
use crate::{Checker, Context, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::{HashMap, HashSet};

impl<'a> Checker<'a> {
    pub(crate) fn parser(
        &mut self,
        decl: &'a Decl,
        proto: &'a ParserProto,
        ctor_params: &'a [Param],
        locals: &'a [Decl],
        states: &'a [State],
    ) {
        // Known inside, for states that apply another instance of the same type.
        self.with_type_params(decl, &proto.type_params, |c| {
            c.params(&proto.params, Owner::Block);
            c.ctor_params(ctor_params, Kind::ControlType);
            c.scopes.push();
            let outer = std::mem::replace(
                &mut c.context,
                Context {
                    in_parser: true,
                    ..Context::default()
                },
            );
            for local in locals {
                c.local(local);
            }
            c.states(decl, locals, states);
            c.parser_ends(decl, states);
            c.context = outer;
            c.scopes.pop();
        });
        self.declare(&decl.name, Def::Type(decl));
    }

    /// `foreign` is what cannot be applied inside: parsers in a control, controls in a parser.
    pub(crate) fn ctor_params(&mut self, params: &'a [Param], foreign: Kind) {
        self.params(params, Owner::Constructor);
        for param in params {
            let ty = self.out.type_ref(param.ty.id);
            if ty.is_kind(foreign) {
                let message = format!("`{}` could not be applied here", param.name.name);
                self.report(
                    Diagnostic::error("E0343", param.span, message)
                        .hint("parsers apply parsers, and controls apply controls"),
                );
            }
            if param.direction != Direction::None {
                self.error(
                    "E0310",
                    param.span,
                    format!(
                        "the constructor parameter `{}` cannot have a direction",
                        param.name.name
                    ),
                );
            }
        }
    }

    fn states(&mut self, decl: &'a Decl, locals: &'a [Decl], states: &'a [State]) {
        let locals = locals
            .iter()
            .map(|local| (&local.name.name, local.name.span));
        let mut known: HashMap<&Name, Span> = locals.collect();
        for state in states {
            if matches!(&*state.name.name, "accept" | "reject") {
                self.error(
                    "E0401",
                    state.name.span,
                    format!(
                        "the state `{}` exists in every parser and cannot be declared",
                        state.name.name
                    ),
                );
            }
            if let Some(first) = known.insert(&state.name.name, state.name.span) {
                self.report(
                    Diagnostic::error(
                        "E0202",
                        state.name.span,
                        format!(
                            "the parser has something named `{}` already",
                            state.name.name
                        ),
                    )
                    .label(first, "first declared here"),
                );
            }
        }
        // Of a parser without any state the grammar has spoken.
        if !states.is_empty() && !states.iter().any(|s| &*s.name.name == "start") {
            self.report(
                Diagnostic::error(
                    "E0402",
                    decl.name.span,
                    format!("the parser `{}` has no state `start`", decl.name.name),
                )
                .hint("parsing begins in the state named `start`: add one"),
            );
        }
        for state in states {
            self.scopes.push();
            for stmt in &state.body {
                // What states cannot do at all the parser has reported.
                if !is_control_flow(&stmt.kind) {
                    self.statement(stmt);
                }
            }
            match &state.transition {
                Transition::Missing(_) => self.report(
                    Diagnostic::warning(
                        "W0403",
                        state.name.span,
                        format!(
                            "the state `{}` has no transition, so it rejects the packet",
                            state.name.name
                        ),
                    )
                    .hint("write `transition accept;`, or `transition reject;` if that is meant"),
                ),
                Transition::Direct(next) => self.next_state(next, states),
                Transition::Select { keys, cases, .. } => self.select(keys, cases, states),
            }
            self.scopes.pop();
        }
    }

    /// Warns of states that are never reached; a parser that can never end is an error.
    fn parser_ends(&mut self, decl: &'a Decl, states: &'a [State]) {
        let mut reached: HashSet<&str> = HashSet::default();
        let mut waiting = vec!["start"];
        while let Some(name) = waiting.pop() {
            if reached.insert(name) {
                if let Some(state) = states.iter().find(|s| &*s.name.name == name) {
                    waiting.extend(successors(state));
                }
            }
        }
        if !states.iter().any(|s| &*s.name.name == "start") {
            return;
        }
        for state in states {
            if !reached.contains(&*state.name.name) {
                self.report(Diagnostic::warning(
                    "W0404",
                    state.name.span,
                    format!("the state `{}` is never reached", state.name.name),
                ));
            }
        }
        let known = |name: &str| states.iter().any(|s| &*s.name.name == name);
        let ends = reached.iter().any(|name| !known(name));
        if !ends {
            self.report(
                Diagnostic::error(
                    "E0420",
                    decl.name.span,
                    format!(
                        "the parser `{}` never reaches `accept` or `reject`",
                        decl.name.name
                    ),
                )
                .hint("its states only lead to one another: let one of them go to `accept`"),
            );
        }
    }

    fn next_state(&mut self, next: &'a Ident, states: &'a [State]) {
        let name = &*next.name;
        if matches!(name, "accept" | "reject") || states.iter().any(|s| s.name.name == next.name) {
            return;
        }
        let mut diagnostic = Diagnostic::error(
            "E0403",
            next.span,
            format!("the parser has no state `{name}`"),
        );
        let names = states
            .iter()
            .map(|s| &*s.name.name)
            .chain(["accept", "reject"]);
        if let Some(near) = names.min_by_key(|n| p4_syntax::edit_distance(n, name)) {
            if p4_syntax::edit_distance(near, name) <= name.len() / 2 {
                diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
            }
        }
        self.report(diagnostic);
    }

    fn select(&mut self, keys: &'a [Expr], cases: &'a [SelectCase], states: &'a [State]) {
        let mut types = Vec::new();
        for key in keys {
            let mut ty = self.value_expr(key);
            if ty == Type::DotsLit {
                self.dots_not_last(key);
                ty = Type::Unknown;
            } else if ty == Type::Int {
                self.report(
                    Diagnostic::error("E0404", key.span, "the value to select on needs a width")
                        .hint("write it with a width, as in `8w1`"),
                );
                ty = Type::Unknown;
            } else if !self.selectable(&ty) {
                self.report(
                    Diagnostic::error(
                        "E0404",
                        key.span,
                        format!("`select` cannot compare {}", crate::coerce::article(&ty)),
                    )
                    .hint(
                        "select on numbers, bools and enums: name the fields of a header or struct",
                    ),
                );
                ty = Type::Unknown;
            }
            types.push(ty);
        }
        for case in cases {
            self.keyset(&case.keyset, &types, case.span);
            self.next_state(&case.next, states);
        }
        self.cases_behind_default(cases);
    }

    /// The first case that fits counts, so nothing comes to those behind one that always fits.
    fn cases_behind_default(&mut self, cases: &'a [SelectCase]) {
        let Some(first) = cases.iter().position(always_fits) else {
            return;
        };
        for case in &cases[first + 1..] {
            self.report(
                Diagnostic::warning("W0426", case.span, "this case never matches")
                    .label(cases[first].span, "this one always does, and comes first"),
            );
        }
    }

    fn selectable(&self, ty: &Type) -> bool {
        match self.out.underlying(ty) {
            Type::Bit(_)
            | Type::Signed(_)
            | Type::Bool
            | Type::Error
            | Type::Unknown
            | Type::Param(..)
            | Type::Named(Kind::Enum, ..) => true,
            Type::Tuple(items) => items.iter().all(|t| self.selectable(t)),
            _ => false,
        }
    }

    /// Checks one keyset of a select case or table entry against the types of the key.
    pub(crate) fn keyset(&mut self, keyset: &'a [Expr], types: &[Type], span: Span) {
        if let [single] = keyset {
            if matches!(single.kind, ExprKind::DontCare) {
                self.expr(single);
                return;
            }
            // `(a, b)` for one key that is a pair, or a value of a type with that many parts
            if let ExprKind::List { items, .. } = &single.kind {
                self.keyset(items, types, span);
                self.set_type(single.id, Type::Tuple(types.to_vec()));
                return;
            }
            if let (ExprKind::Tuple(items), true) = (&single.kind, types.len() > 1) {
                self.keyset(items, types, span);
                self.set_type(single.id, Type::Tuple(types.to_vec()));
                return;
            }
            if types.len() > 1 {
                let ty = self.value_expr(single);
                let wanted = Type::Tuple(types.to_vec());
                let inner = match ty {
                    Type::Set(inner) => *inner,
                    other => other,
                };
                let mut leaves = Vec::new();
                self.leaves(&inner, &mut leaves);
                let fields = Some(Type::Tuple(leaves));
                if inner == wanted || fields == Some(wanted) || inner == Type::Unknown {
                    return;
                }
                self.error(
                    "E0405",
                    span,
                    format!("the key has {} parts, but this gives 1", types.len()),
                );
                return;
            }
        }
        if keyset.len() != types.len() {
            self.error(
                "E0405",
                span,
                format!(
                    "the key has {}, but this gives {}",
                    counted(types.len(), "part"),
                    keyset.len()
                ),
            );
            for item in keyset {
                self.expr(item);
            }
            return;
        }
        for (item, ty) in keyset.iter().zip(types) {
            self.keyset_item(item, ty);
        }
    }

    /// The types of the fields of a struct, with those of structs inside in their place.
    fn leaves(&self, ty: &Type, out: &mut Vec<Type>) {
        match self.fields_of(ty) {
            Some(fields) => fields.iter().for_each(|(_, t, _)| self.leaves(t, out)),
            None => out.push(ty.clone()),
        }
    }

    fn keyset_item(&mut self, item: &'a Expr, key: &Type) {
        let given = self.value_expr(item);
        if matches!(given, Type::DontCare | Type::Unknown) || *key == Type::Unknown {
            return;
        }
        let base = self.out.underlying(key);
        match &item.kind {
            ExprKind::Mask(a, b) | ExprKind::Range(a, b) => {
                let renamed = base != *key;
                for side in [a, b] {
                    let side_type = self.out.expr_type(side.id).clone();
                    let wanted = if renamed && side_type == base {
                        &base
                    } else {
                        key
                    };
                    let wanted = if side_type == Type::Int {
                        &base
                    } else {
                        wanted
                    };
                    if self.coerce(side, wanted) && self.const_value(side).is_none() {
                        self.require_constant(side, "a bound or mask of a keyset");
                    }
                }
                self.set_type(item.id, Type::Set(Box::new(key.clone())));
            }
            _ => match given {
                Type::Set(inner) => {
                    let single = self
                        .fields_of(&inner)
                        .and_then(|f| (f.len() == 1).then(|| f[0].1.clone()));
                    if !self.unify(&inner, key) && single.as_ref() != Some(key) {
                        self.error(
                            "E0302",
                            item.span,
                            format!("this is a set of {inner}, but the key is {key}"),
                        );
                    }
                }
                other => {
                    // A serialisable enum's member may stand for its value and the other way round.
                    if other == base && base != *key && key.is_kind(Kind::SerEnum) {
                        return;
                    }
                    if self.coerce(item, key) && matches!(item.kind, ExprKind::Call { .. }) {
                        self.require_constant(item, "a value to compare the key with");
                    }
                }
            },
        }
    }
}

fn is_control_flow(kind: &StmtKind) -> bool {
    matches!(
        kind,
        StmtKind::Switch { .. }
            | StmtKind::For { .. }
            | StmtKind::ForIn { .. }
            | StmtKind::Return(_)
            | StmtKind::Exit
            | StmtKind::Break
            | StmtKind::Continue
    )
}

/// Whether the case is `default` or `_`, for each part of the key.
fn always_fits(case: &SelectCase) -> bool {
    let mut parts = case.keyset.iter();
    parts.all(|part| matches!(part.kind, ExprKind::DontCare))
}

/// Names of the states that `state` can go to.
fn successors(state: &State) -> Vec<&str> {
    match &state.transition {
        Transition::Missing(_) => vec!["reject"],
        Transition::Direct(next) => vec![&next.name],
        // A key that no case matches ends the parser with an error.
        Transition::Select { cases, .. } => {
            let mut names: Vec<&str> = cases.iter().map(|c| &*c.next.name).collect();
            if !cases.iter().any(always_fits) {
                names.push("reject");
            }
            names
        }
    }
}
