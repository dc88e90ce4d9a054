//! The symbols of a document, as a tree.

use crate::analysis::{Analysis, File};
use p4_syntax::ast::*;
use p4_syntax::Span;
use serde_json::{json, Value};

/// So many symbols are listed.
const MAX_SYMBOLS: usize = 5000;

/// Kinds of the protocol's `SymbolKind`.
mod kind {
    pub const CLASS: u32 = 5;
    pub const METHOD: u32 = 6;
    pub const PROPERTY: u32 = 7;
    pub const FIELD: u32 = 8;
    pub const ENUM: u32 = 10;
    pub const INTERFACE: u32 = 11;
    pub const FUNCTION: u32 = 12;
    pub const VARIABLE: u32 = 13;
    pub const CONSTANT: u32 = 14;
    pub const OBJECT: u32 = 19;
    pub const ENUM_MEMBER: u32 = 22;
    pub const STRUCT: u32 = 23;
    pub const EVENT: u32 = 24;
    pub const TYPE_PARAMETER: u32 = 26;
}

pub(crate) fn symbols(analysis: &Analysis, file: File) -> Vec<Value> {
    let mut outline = Outline {
        analysis,
        file,
        left: MAX_SYMBOLS,
    };
    outline.decls(&analysis.parsed.program.decls)
}

struct Outline<'a> {
    analysis: &'a Analysis,
    file: File<'a>,
    left: usize,
}

impl Outline<'_> {
    fn symbol(
        &mut self,
        name: &Ident,
        span: Span,
        kind: u32,
        detail: &str,
        children: Vec<Value>,
    ) -> Option<Value> {
        let range = self.analysis.range_in(self.file, span)?;
        let own = self.analysis.range_in(self.file, name.span)?;
        // What a macro wrote has no place of its own within the declaration.
        let fits = range.start <= own.start && own.end <= range.end;
        self.left = self.left.checked_sub(1)?;
        let label = match name.name.is_empty() {
            true => "(no name)",
            false => &name.name,
        };
        let lines = self.file.lines;
        let mut symbol = json!({
            "name": label,
            "kind": kind,
            "range": lines.range(self.file.text, if fits { range } else { own.clone() }),
            "selectionRange": lines.range(self.file.text, own),
        });
        if !detail.is_empty() {
            symbol["detail"] = detail.into();
        }
        if !children.is_empty() {
            symbol["children"] = children.into();
        }
        Some(symbol)
    }

    fn decls(&mut self, decls: &[Decl]) -> Vec<Value> {
        decls.iter().filter_map(|decl| self.decl(decl)).collect()
    }

    fn decl(&mut self, decl: &Decl) -> Option<Value> {
        // Nothing of another file is looked at.
        self.analysis.range_in(self.file, decl.span)?;
        let (kind, detail) = match &decl.kind {
            DeclKind::Const { ty, .. } => (kind::CONSTANT, self.analysis.snippet(ty.span)),
            DeclKind::Variable { ty, .. } => (kind::VARIABLE, self.analysis.snippet(ty.span)),
            DeclKind::Instance { ty, .. } => (kind::OBJECT, self.analysis.snippet(ty.span)),
            DeclKind::Error { .. } | DeclKind::MatchKind { .. } | DeclKind::Enum { .. } => {
                (kind::ENUM, String::new())
            }
            DeclKind::Header { .. } => (kind::STRUCT, "header".to_string()),
            DeclKind::HeaderUnion { .. } => (kind::STRUCT, "header_union".to_string()),
            DeclKind::Struct { .. } => (kind::STRUCT, "struct".to_string()),
            DeclKind::Typedef { ty, .. } => (kind::TYPE_PARAMETER, self.analysis.snippet(ty.span)),
            DeclKind::Action { .. } => (kind::FUNCTION, "action".to_string()),
            DeclKind::Function { .. } | DeclKind::ExternFunction(_) => {
                (kind::FUNCTION, String::new())
            }
            DeclKind::Method { .. } => (kind::METHOD, String::new()),
            DeclKind::ExternObject { .. } => (kind::CLASS, "extern".to_string()),
            DeclKind::Parser { .. } => (kind::CLASS, "parser".to_string()),
            DeclKind::Control { .. } => (kind::CLASS, "control".to_string()),
            DeclKind::ParserType(_) => (kind::INTERFACE, "parser".to_string()),
            DeclKind::ControlType(_) => (kind::INTERFACE, "control".to_string()),
            DeclKind::Package { .. } => (kind::INTERFACE, "package".to_string()),
            DeclKind::Table(_) => (kind::PROPERTY, "table".to_string()),
            DeclKind::ValueSet { .. } => (kind::PROPERTY, "value_set".to_string()),
        };
        let children = self.children(decl);
        self.symbol(&decl.name, decl.span, kind, &detail, children)
    }

    fn children(&mut self, decl: &Decl) -> Vec<Value> {
        match &decl.kind {
            DeclKind::Header { fields, .. }
            | DeclKind::HeaderUnion { fields, .. }
            | DeclKind::Struct { fields, .. } => fields
                .iter()
                .filter_map(|field| {
                    let detail = self.analysis.snippet(field.ty.span);
                    let span = field.ty.span.to(field.name.span);
                    self.symbol(&field.name, span, kind::FIELD, &detail, Vec::new())
                })
                .collect(),
            DeclKind::Enum { members, .. } => {
                let names: Vec<&Ident> = members.iter().map(|member| &member.name).collect();
                self.members(&names)
            }
            DeclKind::Error { members } | DeclKind::MatchKind { members } => {
                let names: Vec<&Ident> = members.iter().collect();
                self.members(&names)
            }
            DeclKind::ExternObject { methods, .. } => self.decls(methods),
            DeclKind::Instance {
                body: Some(body), ..
            } => self.decls(body),
            DeclKind::Control { locals, .. } => self.decls(locals),
            DeclKind::Parser { locals, states, .. } => {
                let mut children = self.decls(locals);
                children.extend(states.iter().filter_map(|state| {
                    self.symbol(&state.name, state.span, kind::EVENT, "state", Vec::new())
                }));
                children
            }
            _ => Vec::new(),
        }
    }

    fn members(&mut self, names: &[&Ident]) -> Vec<Value> {
        let all = names.iter();
        all.filter_map(|name| self.symbol(name, name.span, kind::ENUM_MEMBER, "", Vec::new()))
            .collect()
    }
}
