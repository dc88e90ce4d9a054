//! The way through the tree, and what is in scope on it.

use crate::edits::Edits;
use crate::names::Named;
use p4_check::types::Type;
use p4_check::Checked;
use p4_syntax::ast::*;
use p4_syntax::SourceMap;

pub(crate) struct Walk<'a> {
    pub checked: &'a Checked<'a>,
    pub edits: Edits<'a>,
    /// Variables, parameters and their fields, in the order of their declaration
    pub scope: Vec<Named>,
    /// Constants of the top level, with their types
    pub constants: Vec<(Name, Type)>,
}

impl<'a> Walk<'a> {
    pub fn new(checked: &'a Checked<'a>, sources: &'a SourceMap, only: &'a [String]) -> Walk<'a> {
        let constants = checked.program.decls.iter().filter_map(|decl| {
            let DeclKind::Const { ty, .. } = &decl.kind else {
                return None;
            };
            let ty = checked.type_ref(ty.id).clone();
            Some((decl.name.name.clone(), ty))
        });
        Walk {
            checked,
            edits: Edits::new(sources, only),
            scope: Vec::new(),
            constants: constants.collect(),
        }
    }

    pub fn program(&mut self) {
        for decl in &self.checked.program.decls {
            if self.edits.is_ours(decl.span) {
                self.declaration(decl);
            }
        }
    }

    /// What is declared inside is forgotten at the end, but for what the declaration declares.
    pub fn declaration(&mut self, decl: &'a Decl) {
        let depth = self.scope.len();
        match &decl.kind {
            DeclKind::Const { value, .. } => self.expression(value),
            DeclKind::Variable { init, .. } => {
                if let Some(init) = init {
                    self.value(init);
                }
                return self.declare_variable(decl);
            }
            DeclKind::Instance { body, .. } => {
                for method in body.iter().flatten() {
                    self.declaration(method);
                }
            }
            DeclKind::Action { params, body } | DeclKind::Function { params, body, .. } => {
                self.declare_params(params);
                self.block(body);
            }
            DeclKind::Parser {
                proto,
                locals,
                states,
                ..
            } => {
                self.declare_params(&proto.params);
                locals.iter().for_each(|local| self.declaration(local));
                states.iter().for_each(|state| self.state(state));
            }
            DeclKind::Control {
                proto,
                locals,
                apply,
                ..
            } => {
                self.declare_params(&proto.params);
                locals.iter().for_each(|local| self.declaration(local));
                self.block(apply);
            }
            DeclKind::Table(properties) => self.table(properties),
            _ => {}
        }
        self.scope.truncate(depth);
    }
}
