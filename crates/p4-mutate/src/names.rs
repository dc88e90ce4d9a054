//! What can be named at a place: variables, parameters and their fields, with types.

use crate::walk::Walk;
use p4_check::types::{Kind, Type};
use p4_syntax::ast::*;

/// Something that an expression can name.
#[derive(Clone)]
pub(crate) struct Named {
    /// As it is written: `hdr.bier.ttl`
    pub text: String,
    pub ty: Type,
}

const MAX_DEPTH: u32 = 4;

impl<'a> Walk<'a> {
    pub(crate) fn declare_params(&mut self, params: &[Param]) {
        for param in params {
            let ty = self.checked.type_ref(param.ty.id).clone();
            self.declare(&param.name.name, ty, 0);
        }
    }

    pub(crate) fn declare_variable(&mut self, decl: &Decl) {
        if let DeclKind::Variable { ty, .. } = &decl.kind {
            let ty = self.checked.type_ref(ty.id).clone();
            self.declare(&decl.name.name, ty, 0);
        }
    }

    /// A name and the names of all its parts.
    fn declare(&mut self, text: &str, ty: Type, depth: u32) {
        let fields = self.checked.fields_of(&ty).unwrap_or_default();
        self.scope.push(Named {
            text: text.to_string(),
            ty,
        });
        if depth < MAX_DEPTH {
            for (name, ty, _) in fields {
                self.declare(&format!("{text}.{name}"), ty, depth + 1);
            }
        }
    }

    /// Other names of the type that `expr` has, the nearest first: those beside it in its header or
    /// struct, then those declared close to it.
    pub(crate) fn neighbours(&self, expr: &Expr, most: usize) -> Vec<String> {
        let own = self.edits.text(expr.span);
        let ty = self.checked.expr_type(expr.id);
        self.near(own, most, |named| named.ty == *ty)
    }

    /// Other headers than the one that `expr` names.
    pub(crate) fn other_headers(&self, expr: &Expr, most: usize) -> Vec<String> {
        let own = self.edits.text(expr.span);
        self.near(own, most, |named| named.ty.is_kind(Kind::Header))
    }

    fn near(&self, own: &str, most: usize, fits: impl Fn(&Named) -> bool) -> Vec<String> {
        let Some(place) = self.scope.iter().position(|named| named.text == own) else {
            return Vec::new();
        };
        let parent = |text: &str| text.rsplit_once('.').map(|(parent, _)| parent.to_string());
        let home = parent(own);
        let mut found: Vec<_> = (self.scope.iter().enumerate())
            .filter(|(_, named)| named.text != own && fits(named))
            .map(|(at, named)| {
                let is_elsewhere = parent(&named.text) != home;
                (is_elsewhere, at.abs_diff(place), &named.text)
            })
            .collect();
        found.sort();
        found.dedup_by(|a, b| a.2 == b.2);
        let nearest = found.into_iter().take(most);
        nearest.map(|(_, _, text)| text.clone()).collect()
    }

    /// The constants declared before and after the one named, among those of its type.
    pub(crate) fn constants_beside(&self, decl: &Decl) -> Vec<String> {
        let DeclKind::Const { ty, .. } = &decl.kind else {
            return Vec::new();
        };
        let ty = self.checked.type_ref(ty.id);
        let same: Vec<&str> = (self.constants.iter())
            .filter(|(_, other)| other == ty)
            .map(|(name, _)| &**name)
            .collect();
        beside(&same, &decl.name.name)
    }

    /// The members before and after one of an enum.
    pub(crate) fn members_beside(&self, ty: &Type, member: &str) -> Vec<String> {
        let Type::Named(Kind::Enum | Kind::SerEnum, id, ..) = ty else {
            return Vec::new();
        };
        match self.checked.decls.get(id).map(|decl| &decl.kind) {
            Some(DeclKind::Enum { members, .. }) => {
                let names: Vec<&str> = members.iter().map(|member| &*member.name.name).collect();
                beside(&names, member)
            }
            _ => Vec::new(),
        }
    }
}

fn beside(names: &[&str], own: &str) -> Vec<String> {
    let Some(at) = names.iter().position(|name| *name == own) else {
        return Vec::new();
    };
    let before = at.checked_sub(1).and_then(|at| names.get(at));
    let after = names.get(at + 1);
    let both = before.into_iter().chain(after);
    both.map(|name| name.to_string()).collect()
}
