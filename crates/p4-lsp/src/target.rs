//! What a name means: the declaration that a reader wants to see.

use crate::members::{self, Member};
use crate::scope;
use crate::tree::Site;
use p4_check::types::Type;
use p4_check::{CallKind, Checked, Def};
use p4_syntax::ast::*;
use p4_syntax::Span;

#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    Decl(&'a Decl),
    Param(&'a Param),
    /// With the header, struct or union it belongs to
    Field(&'a Decl, &'a Field),
    /// A member of an enum, of `error` or of `match_kind`
    Member(&'a Decl, &'a Ident),
    TypeParam(&'a Decl, &'a Ident),
    State(&'a Decl, &'a State),
    /// What the language itself provides, with a sentence on it
    BuiltIn(&'static str, &'static str),
    Number(&'a Expr),
}

impl<'a> Target<'a> {
    /// Where its name is declared.
    pub(crate) fn span(&self) -> Option<Span> {
        match self {
            Target::Decl(decl) => Some(decl.name.span),
            Target::Param(param) => Some(param.name.span),
            Target::Field(_, field) => Some(field.name.span),
            Target::Member(_, name) | Target::TypeParam(_, name) => Some(name.span),
            Target::State(_, state) => Some(state.name.span),
            Target::BuiltIn(..) | Target::Number(_) => None,
        }
    }

    pub(crate) fn of_def(def: Def<'a>) -> Target<'a> {
        match def {
            Def::Param(param) => Target::Param(param),
            Def::TypeParam(decl, index) => match scope::type_params(decl).get(index as usize) {
                Some(name) => Target::TypeParam(decl, name),
                None => Target::Decl(decl),
            },
            Def::Const(decl)
            | Def::Var(decl)
            | Def::Instance(decl)
            | Def::Type(decl)
            | Def::Action(decl)
            | Def::Function(decl)
            | Def::Table(decl)
            | Def::ValueSet(decl) => Target::Decl(decl),
        }
    }
}

/// What the name at a site means, if it means anything.
pub(crate) fn of_site<'a>(checked: &Checked<'a>, site: Site<'a>, pos: u32) -> Option<Target<'a>> {
    match site {
        Site::Decl(decl) => Some(Target::Decl(decl)),
        Site::Param(param) => Some(Target::Param(param)),
        Site::Field(owner, field) => Some(Target::Field(owner, field)),
        Site::Member(owner, member) => Some(Target::Member(owner, member)),
        Site::TypeParam(owner, name) => Some(Target::TypeParam(owner, name)),
        Site::State(parser, state) => Some(Target::State(parser, state)),
        Site::StateRef(parser, name) => state(parser, &name.name),
        Site::Path(expr, ident) => match checked.defs.get(&expr.id) {
            Some(def) => Some(called(checked, expr).unwrap_or(Target::of_def(*def))),
            None => {
                scope::find(checked, pos, &ident.name).or_else(|| match_kind(checked, &ident.name))
            }
        },
        Site::MemberOf { base, member, call } => {
            let method = call
                .and_then(|id| checked.calls.get(&id))
                .map(|call| call.kind);
            if let Some(CallKind::Method { method, .. }) = method {
                return Some(Target::Decl(method));
            }
            member_of(checked, checked.expr_type(base.id), &member.name)
        }
        Site::TypeMember(ty, member) => {
            let ty = Type::TypeName(Box::new(checked.type_ref(ty.id).clone()));
            member_of(checked, &ty, &member.name)
        }
        Site::Type(ident) => scope::find_type(checked, pos, &ident.name),
        Site::Action(action) => match checked.action_refs.get(&action.id) {
            Some(decl) => Some(Target::Decl(decl)),
            None => scope::find(checked, pos, &action.path.ident.name),
        },
        Site::MatchKind(ident) => match_kind(checked, &ident.name),
        Site::Number(expr) => Some(Target::Number(expr)),
    }
}

/// Of several functions with one name, the one that is called.
fn called<'a>(checked: &Checked<'a>, func: &Expr) -> Option<Target<'a>> {
    let Type::Function(id) = checked.expr_type(func.id) else {
        return None;
    };
    checked.decls.get(id).map(|decl| Target::Decl(decl))
}

pub(crate) fn state<'a>(parser: &'a Decl, name: &str) -> Option<Target<'a>> {
    if let DeclKind::Parser { states, .. } = &parser.kind {
        if let Some(state) = states.iter().find(|state| &*state.name.name == name) {
            return Some(Target::State(parser, state));
        }
    }
    members::FINAL_STATES
        .iter()
        .find(|(state, _)| *state == name)
        .map(|(state, words)| Target::BuiltIn(state, words))
}

fn match_kind<'a>(checked: &Checked<'a>, name: &str) -> Option<Target<'a>> {
    checked
        .program
        .decls
        .iter()
        .find_map(|decl| match &decl.kind {
            DeclKind::MatchKind { members } => {
                let member = members.iter().find(|member| &*member.name == name)?;
                Some(Target::Member(decl, member))
            }
            _ => None,
        })
}

fn member_of<'a>(checked: &Checked<'a>, ty: &Type, name: &str) -> Option<Target<'a>> {
    let all: Vec<Member<'a>> = members::members(checked, ty);
    all.into_iter()
        .find(|member| member.name == name)
        .map(|member| member.target)
}
