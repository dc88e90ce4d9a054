//! Which names can be used at a place.

use crate::target::Target;
use p4_check::types::{Kind, Type};
use p4_check::Checked;
use p4_syntax::ast::*;
use p4_syntax::Span;

/// What is around a place of the program.
#[derive(Clone, Copy, Default)]
pub(crate) struct Around<'a> {
    /// The parser, control, extern, table-less action or function
    pub container: Option<&'a Decl>,
    /// The action, function or method in it
    pub local: Option<&'a Decl>,
    pub state: Option<&'a State>,
}

/// What is around `pos`, by the places of the declarations.
pub(crate) fn around<'a>(checked: &Checked<'a>, pos: u32) -> Around<'a> {
    let contains = |span: Span| span.lo <= pos && pos <= span.hi;
    let container = checked
        .program
        .decls
        .iter()
        .find(|decl| contains(decl.span));
    let local = container.and_then(|c| locals(c).iter().find(|local| contains(local.span)));
    let state = container.and_then(|c| states(c).iter().find(|state| contains(state.span)));
    Around {
        container,
        local,
        state,
    }
}

/// Declarations directly within a parser, control, extern or instance.
pub(crate) fn locals(decl: &Decl) -> &[Decl] {
    match &decl.kind {
        DeclKind::Parser { locals, .. } | DeclKind::Control { locals, .. } => locals,
        DeclKind::ExternObject { methods, .. } => methods,
        DeclKind::Instance {
            body: Some(body), ..
        } => body,
        _ => &[],
    }
}

pub(crate) fn states(decl: &Decl) -> &[State] {
    match &decl.kind {
        DeclKind::Parser { states, .. } => states,
        _ => &[],
    }
}

/// Parameters, then constructor parameters.
pub(crate) fn params(decl: &Decl) -> (&[Param], &[Param]) {
    match &decl.kind {
        DeclKind::Parser {
            proto, ctor_params, ..
        }
        | DeclKind::Control {
            proto, ctor_params, ..
        } => (&proto.params, ctor_params),
        DeclKind::ParserType(proto) | DeclKind::ControlType(proto) => (&proto.params, &[]),
        DeclKind::Action { params, .. }
        | DeclKind::Function { params, .. }
        | DeclKind::Package { params, .. } => (params, &[]),
        DeclKind::ExternFunction(proto) | DeclKind::Method { proto, .. } => (&proto.params, &[]),
        _ => (&[], &[]),
    }
}

pub(crate) fn type_params(decl: &Decl) -> &[Ident] {
    match &decl.kind {
        DeclKind::Header { type_params, .. }
        | DeclKind::HeaderUnion { type_params, .. }
        | DeclKind::Struct { type_params, .. }
        | DeclKind::Function { type_params, .. }
        | DeclKind::ExternObject { type_params, .. }
        | DeclKind::Package { type_params, .. } => type_params,
        DeclKind::ExternFunction(proto) | DeclKind::Method { proto, .. } => &proto.type_params,
        DeclKind::ParserType(proto)
        | DeclKind::ControlType(proto)
        | DeclKind::Parser { proto, .. }
        | DeclKind::Control { proto, .. } => &proto.type_params,
        _ => &[],
    }
}

/// Every value, action, table and function that has a name at `pos`, the innermost first; the same
/// name may come again further out. Types are not among them.
pub(crate) fn values<'a>(checked: &Checked<'a>, around: Around<'a>, pos: u32) -> Vec<Target<'a>> {
    let mut found = Vec::new();
    let mut variables = |stmts: &'a [Stmt], end: u32| {
        let mut decls = Vec::new();
        declared(stmts, end, pos, &mut decls);
        found.extend(decls.into_iter().rev().map(Target::Decl));
    };
    if let Some(state) = around.state {
        variables(&state.body, state.span.hi);
    }
    let bodies = around.local.into_iter().chain(around.container);
    for block in bodies.clone().filter_map(block_of) {
        variables(&block.stmts, block.span.hi);
    }
    for decl in bodies {
        let (run_time, constructor) = params(decl);
        let before = |local: &&Decl| local.name.span.lo < pos;
        let inner = locals(decl)
            .iter()
            .filter(before)
            .filter(|d| !is_type(d))
            .rev();
        found.extend(inner.map(Target::Decl));
        found.extend(run_time.iter().chain(constructor).map(Target::Param));
    }
    let top = checked.program.decls.iter().rev();
    let usable = top.filter(|decl| !is_type(decl) && has_name(decl));
    found.extend(usable.map(Target::Decl));
    found
}

/// The names of types at the top level, and the type parameters around.
pub(crate) fn types<'a>(checked: &Checked<'a>, around: Around<'a>) -> Vec<Target<'a>> {
    let owners = around.local.into_iter().chain(around.container);
    let params = owners.flat_map(|decl| {
        let names = type_params(decl).iter();
        names.map(move |name| Target::TypeParam(decl, name))
    });
    let decls = checked.program.decls.iter().rev();
    let named = decls.filter(|decl| is_type(decl) && has_name(decl));
    params.chain(named.map(Target::Decl)).collect()
}

fn has_name(decl: &Decl) -> bool {
    !matches!(
        decl.kind,
        DeclKind::Error { .. } | DeclKind::MatchKind { .. }
    ) && !decl.name.name.is_empty()
}

/// Whether the declaration's name names a type.
pub(crate) fn is_type(decl: &Decl) -> bool {
    matches!(
        decl.kind,
        DeclKind::Enum { .. }
            | DeclKind::Header { .. }
            | DeclKind::HeaderUnion { .. }
            | DeclKind::Struct { .. }
            | DeclKind::Typedef { .. }
            | DeclKind::ExternObject { .. }
            | DeclKind::ParserType(_)
            | DeclKind::ControlType(_)
            | DeclKind::Parser { .. }
            | DeclKind::Control { .. }
            | DeclKind::Package { .. }
    )
}

pub(crate) fn name<'a>(target: Target<'a>) -> &'a str {
    match target {
        Target::Decl(decl) => &decl.name.name,
        Target::Param(param) => &param.name.name,
        Target::Field(_, field) => &field.name.name,
        Target::Member(_, name) | Target::TypeParam(_, name) => &name.name,
        Target::State(_, state) => &state.name.name,
        Target::BuiltIn(name, _) => name,
        Target::Number(_) => "",
    }
}

/// What a name means at `pos`, without the checker's help.
pub(crate) fn find<'a>(checked: &Checked<'a>, pos: u32, wanted: &str) -> Option<Target<'a>> {
    let values = values(checked, around(checked, pos), pos);
    let found = values.into_iter().find(|target| name(*target) == wanted);
    found.or_else(|| find_type(checked, pos, wanted))
}

/// The type of a name at `pos`.
pub(crate) fn find_type<'a>(checked: &Checked<'a>, pos: u32, wanted: &str) -> Option<Target<'a>> {
    let types = types(checked, around(checked, pos));
    types.into_iter().find(|target| name(*target) == wanted)
}

/// The type of what a name means; of the name of a type, [`Type::TypeName`].
pub(crate) fn type_of(checked: &Checked, target: Target) -> Type {
    match target {
        Target::Param(param) => checked.type_ref(param.ty.id).clone(),
        Target::Field(_, field) => checked.type_ref(field.ty.id).clone(),
        Target::Decl(decl) => match &decl.kind {
            DeclKind::Const { ty, .. } | DeclKind::Variable { ty, .. } => {
                checked.type_ref(ty.id).clone()
            }
            DeclKind::Instance { ty, .. } => match checked.expr_type(decl.id) {
                Type::Unknown => checked.type_ref(ty.id).clone(),
                known => known.clone(),
            },
            DeclKind::Table(_) => Type::Table(decl.id),
            DeclKind::Typedef {
                new_type: false,
                ty,
            } => Type::TypeName(Box::new(checked.type_ref(ty.id).clone())),
            _ => match Kind::of(decl) {
                Some(kind) => Type::TypeName(Box::new(named(kind, decl))),
                None => Type::Unknown,
            },
        },
        _ => Type::Unknown,
    }
}

/// The type that a declaration declares.
pub(crate) fn named(kind: Kind, decl: &Decl) -> Type {
    Type::Named(kind, decl.id, decl.name.name.clone(), Vec::new())
}

fn block_of(decl: &Decl) -> Option<&Block> {
    match &decl.kind {
        DeclKind::Action { body, .. } | DeclKind::Function { body, .. } => Some(body),
        DeclKind::Control { apply, .. } => Some(apply),
        _ => None,
    }
}

/// Variables declared before `pos` in statements that end at `end`, without those of blocks that are
/// closed before it.
fn declared<'a>(stmts: &'a [Stmt], end: u32, pos: u32, found: &mut Vec<&'a Decl>) {
    let before = |stmt: &&Stmt| stmt.span.lo < pos;
    for stmt in stmts.iter().filter(before) {
        // A block whose `}` is still to be typed ends where what is around it ends.
        let hi = stmt.span.hi;
        if let StmtKind::Decl(decl) = &stmt.kind {
            if decl.name.span.lo < pos {
                found.push(decl);
            }
        }
        if pos > hi && hi != end {
            continue;
        }
        match &stmt.kind {
            StmtKind::Block(block) => declared(&block.stmts, hi, pos, found),
            StmtKind::If {
                then, otherwise, ..
            } => {
                for branch in std::iter::once(then).chain(otherwise) {
                    declared(std::slice::from_ref(branch), hi, pos, found);
                }
            }
            StmtKind::Switch { cases, .. } => {
                let bodies = cases.iter().filter_map(|case| case.body.as_ref());
                for body in
                    bodies.filter(|b| b.span.lo < pos && (pos <= b.span.hi || b.span.hi == hi))
                {
                    declared(&body.stmts, body.span.hi, pos, found);
                }
            }
            StmtKind::For { init, body, .. } => {
                declared(init, hi, pos, found);
                declared(std::slice::from_ref(body), hi, pos, found);
            }
            StmtKind::ForIn { var, body, .. } => {
                if let ForVar::Decl(decl) = var {
                    found.push(decl);
                }
                declared(std::slice::from_ref(body), hi, pos, found);
            }
            _ => {}
        }
    }
}
