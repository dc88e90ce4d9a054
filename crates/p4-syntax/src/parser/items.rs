//! Top-level declarations, and those that may stand in several places: constants, types,
//! functions, actions, instances, parameters.

use super::braces::ItemStart;
use super::recovery::{similar_keyword, Level};
use super::{Failed, Parse, Parser};
use crate::ast::{
    Annotation, Decl, DeclKind, Direction, EnumMember, Field, Ident, Param, TypeKind, TypeRef,
};
use crate::diag::Diagnostic;
use crate::similar::edit_distance;
use crate::span::Span;
use crate::token::TokenKind;

/// What stands before the keyword of every declaration.
pub(super) struct Head {
    pub start: Span,
    pub annotations: Vec<Annotation>,
}

impl Parser {
    pub(super) fn program(&mut self) -> Vec<Decl> {
        let mut decls = Vec::new();
        // Index of the diagnostic after the last declaration that was whole.
        let mut reported = 0;
        while !self.is_at(TokenKind::Eof) {
            if self.eat(TokenKind::Semi) {
                continue;
            }
            if self.is_at(TokenKind::RBrace) {
                // Not worth a word when it is what is left of an earlier mistake.
                match self.diagnostics.len() == reported {
                    true => self.stray_brace(),
                    false => drop(self.bump()),
                }
                continue;
            }
            let before = self.at;
            self.item = ItemStart {
                indent: self.token().indent,
                top_level: true,
                list: 0,
            };
            self.scopes.truncate(1);
            self.depth = 0;
            self.no_greater = false;
            match self.declaration(&mut decls) {
                Ok(()) => reported = self.diagnostics.len(),
                Err(Failed) => self.skip_item(before, Level::TopLevel),
            }
            if self.at == before {
                self.bump();
            }
        }
        decls
    }

    pub(super) fn head(&mut self) -> Parse<Head> {
        let start = self.span();
        Ok(Head {
            start,
            annotations: self.annotations()?,
        })
    }

    pub(super) fn decl(&mut self, head: Head, name: Ident, kind: DeclKind) -> Decl {
        let span = self.span_from(head.start);
        Decl {
            id: self.id(),
            span,
            annotations: head.annotations,
            name,
            kind,
        }
    }

    /// One declaration of the top level; `typedef struct S {...} T;` gives two, and the forward
    /// declaration `extern E;` none.
    fn declaration(&mut self, decls: &mut Vec<Decl>) -> Parse<()> {
        use TokenKind::*;
        let head = self.head()?;
        let decl = match self.kind() {
            Const => self.constant(head)?,
            Extern => match self.extern_decl(head)? {
                Some(decl) => decl,
                None => return Ok(()),
            },
            Action => self.action(head)?,
            Parser => self.parser_decl(head)?,
            Control => self.control_decl(head)?,
            Package => self.package(head)?,
            Header | HeaderUnion | Struct | Enum => self.derived_type(head)?,
            Typedef => return self.typedef(head, decls),
            Type if self.nth_kind(1) != LParen => self.newtype(head)?,
            Error if self.nth_kind(1) == LBrace => self.error_decl(head)?,
            MatchKind if self.nth_kind(1) == LBrace => self.match_kind_decl(head)?,
            Table | ValueSet => return Err(self.misplaced(head)),
            State if self.nth_kind(1).is_name() && self.nth_kind(2) == LBrace => {
                return Err(self.misplaced(head));
            }
            Apply if matches!(self.nth_kind(1), LBrace | At) => return Err(self.misplaced(head)),
            If | Switch | For | Return | Exit => return Err(self.misplaced(head)),
            Void => self.typed_declaration(head, Place::TopLevel)?,
            kind if kind.is_name() || self.begins_type() => {
                self.typed_declaration(head, Place::TopLevel)?
            }
            _ => return Err(self.unexpected("E0104", "a declaration")),
        };
        decls.push(decl);
        Ok(())
    }

    /// Reports a declaration or statement that belongs somewhere else, and skips it.
    pub(super) fn misplaced(&mut self, head: Head) -> Failed {
        use TokenKind::*;
        let (what, hint) = match self.kind() {
            Table => ("A table", "Declare it in a `control`, before its `apply`."),
            ValueSet => (
                "A value set",
                "Declare it in a `parser`, before its states.",
            ),
            State => (
                "A state",
                "States belong in a `parser`, after its other declarations.",
            ),
            Apply => (
                "An `apply` block",
                "It belongs in a `control`, after its declarations.",
            ),
            Action => (
                "An action",
                "Declare it at the top level, or in a `control` before its `apply`.",
            ),
            If | Switch | For | Return | Exit => (
                "A statement",
                "Statements belong in an `apply` block, an action, a function or a state.",
            ),
            _ => (
                "This declaration",
                "Declare it at the top level of the file.",
            ),
        };
        let span = head.start.to(self.span());
        self.report_misplaced(span, format!("{what} cannot be here."), hint);
        Failed
    }

    pub(super) fn constant(&mut self, head: Head) -> Parse<Decl> {
        self.bump();
        let ty = self.type_ref()?;
        let (ty, name) = self.declarator(ty, "the name of the constant")?;
        if !self.is_at(TokenKind::Assign) {
            return Err(self.unexpected("E0100", "`=` and the value of the constant"));
        }
        self.bump();
        let value = self.expression()?;
        self.scopes.declare_object(&name.name);
        self.semicolon("this constant")?;
        Ok(self.decl(head, name, DeclKind::Const { ty, value }))
    }

    pub(super) fn action(&mut self, head: Head) -> Parse<Decl> {
        self.bump();
        let name = self.name("the name of the action")?;
        self.scopes.declare_object(&name.name);
        let (params, body) = self.scoped(|parser| {
            let params = parser.params()?;
            Ok((params, parser.block()?))
        })?;
        Ok(self.decl(head, name, DeclKind::Action { params, body }))
    }

    /// `(in T a, out U b = 3)`; declares the names as objects.
    pub(super) fn params(&mut self) -> Parse<Vec<Param>> {
        self.expect(TokenKind::LParen, "and parameters")?;
        let params = self.comma_list(TokenKind::RParen, "after a parameter", Self::param)?;
        for param in &params {
            self.scopes.declare_object(&param.name.name);
        }
        Ok(params)
    }

    fn param(&mut self) -> Parse<Param> {
        let start = self.span();
        let annotations = self.annotations()?;
        let direction = match self.kind() {
            TokenKind::In => Direction::In,
            TokenKind::Out => Direction::Out,
            TokenKind::InOut => Direction::InOut,
            _ => Direction::None,
        };
        if direction != Direction::None {
            self.bump();
        }
        let ty = self.type_ref()?;
        if self.begins_type() && !self.kind().is_name() {
            if let TypeKind::Name(path) = &ty.kind {
                return Err(self.no_direction(&path.ident));
            }
        }
        let (ty, name) = self.declarator(ty, "the name of the parameter")?;
        let default = match self.eat(TokenKind::Assign) {
            true => Some(self.expression()?),
            false => None,
        };
        let span = self.span_from(start);
        Ok(Param {
            id: self.id(),
            annotations,
            direction,
            ty,
            name,
            default,
            span,
        })
    }

    /// `inn bit<8> x`
    fn no_direction(&mut self, name: &Ident) -> Failed {
        let message = format!("`{}` is not a direction.", name.name);
        let near = ["in", "out", "inout"]
            .map(|word| (edit_distance(&name.name, word), word))
            .into_iter()
            .min()
            .filter(|(distance, _)| *distance <= 2);
        let hint = match near {
            Some((_, word)) => format!("Did you mean `{word}`?"),
            None => "The directions are `in`, `out` and `inout`.".to_string(),
        };
        let error = Diagnostic::error("E0109", name.span, message);
        self.fail(error.hint(hint))
    }

    /// `header`, `header_union`, `struct` or `enum`.
    fn derived_type(&mut self, head: Head) -> Parse<Decl> {
        let keyword = self.kind();
        if keyword == TokenKind::Enum {
            return self.enum_decl(head);
        }
        self.bump();
        let name = self.name("the name of the type")?;
        self.scopes.declare_type(&name.name);
        let (type_params, fields) = self.scoped(|parser| {
            let type_params = parser.type_params()?;
            Ok((type_params, parser.braced("and the fields", Self::field)?))
        })?;
        let kind = match keyword {
            TokenKind::Header => DeclKind::Header {
                type_params,
                fields,
            },
            TokenKind::HeaderUnion => DeclKind::HeaderUnion {
                type_params,
                fields,
            },
            _ => DeclKind::Struct {
                type_params,
                fields,
            },
        };
        Ok(self.decl(head, name, kind))
    }

    fn field(&mut self) -> Parse<Field> {
        let annotations = self.annotations()?;
        let ty = self.type_ref()?;
        let (ty, name) = self.declarator(ty, "the name of the field")?;
        if self.is_at(TokenKind::Assign) {
            let error = Diagnostic::error(
                "E0117",
                self.span(),
                "A field cannot have a value of its own.",
            );
            return Err(self.fail(error.hint("Assign it where a variable of this type is used.")));
        }
        self.semicolon("this field")?;
        Ok(Field {
            annotations,
            ty,
            name,
        })
    }

    fn enum_decl(&mut self, head: Head) -> Parse<Decl> {
        self.bump();
        let plain = self.kind().is_name() && self.nth_kind(1) == TokenKind::LBrace;
        let underlying = match plain {
            true => None,
            false => Some(self.type_ref()?),
        };
        let name = self.name("the name of the enum")?;
        self.scopes.declare_type(&name.name);
        self.expect(TokenKind::LBrace, "and the members")?;
        let members = self.comma_list(TokenKind::RBrace, "after a member", |parser| {
            let name = parser.name("the name of a member")?;
            let value = match parser.eat(TokenKind::Assign) {
                true => Some(parser.expression()?),
                false => None,
            };
            Ok(EnumMember { name, value })
        })?;
        Ok(self.decl(
            head,
            name,
            DeclKind::Enum {
                underlying,
                members,
            },
        ))
    }

    fn error_decl(&mut self, head: Head) -> Parse<Decl> {
        let (name, members) = self.keyword_members()?;
        Ok(self.decl(head, name, DeclKind::Error { members }))
    }

    fn match_kind_decl(&mut self, head: Head) -> Parse<Decl> {
        let (name, members) = self.keyword_members()?;
        Ok(self.decl(head, name, DeclKind::MatchKind { members }))
    }

    /// `error {a, b}` and `match_kind {a, b}`.
    fn keyword_members(&mut self) -> Parse<(Ident, Vec<Ident>)> {
        let keyword = self.take_ident();
        self.bump();
        let members = self.comma_list(TokenKind::RBrace, "after a name", |parser| {
            parser.name("a name")
        })?;
        Ok((keyword, members))
    }

    fn typedef(&mut self, head: Head, decls: &mut Vec<Decl>) -> Parse<()> {
        use TokenKind::*;
        self.bump();
        let ty = if matches!(self.kind(), Header | HeaderUnion | Struct | Enum) {
            let start = self.span();
            let inner = self.derived_type(Head {
                start,
                annotations: Vec::new(),
            })?;
            let path = crate::ast::Path {
                absolute: false,
                ident: inner.name.clone(),
            };
            let ty = TypeRef {
                id: self.id(),
                span: inner.name.span,
                kind: TypeKind::Name(path),
            };
            decls.push(inner);
            ty
        } else {
            self.type_ref()?
        };
        let decl = self.type_alias(head, ty, false)?;
        decls.push(decl);
        Ok(())
    }

    fn newtype(&mut self, head: Head) -> Parse<Decl> {
        self.bump();
        let ty = self.type_ref()?;
        self.type_alias(head, ty, true)
    }

    fn type_alias(&mut self, head: Head, ty: TypeRef, new_type: bool) -> Parse<Decl> {
        let (ty, name) = self.declarator(ty, "the new name of the type")?;
        self.scopes.declare_type(&name.name);
        self.semicolon("this type")?;
        Ok(self.decl(head, name, DeclKind::Typedef { new_type, ty }))
    }

    /// What begins with a type: a function, an instance or a variable.
    pub(super) fn typed_declaration(&mut self, head: Head, place: Place) -> Parse<Decl> {
        self.reject_misspelled_keyword()?;
        let ty = self.type_or_void()?;
        if self.is_at(TokenKind::LParen) {
            return self.instance(head, ty);
        }
        let (ty, name) = self.declarator(ty, "a name after this type")?;
        if matches!(self.kind(), TokenKind::Lt | TokenKind::LParen) {
            return self.function(head, ty, name, place);
        }
        let init = match self.eat(TokenKind::Assign) {
            true => Some(self.expression()?),
            false => None,
        };
        self.scopes.declare_object(&name.name);
        if place == Place::TopLevel && matches!(self.kind(), TokenKind::Semi) {
            let span = self.span_from(head.start);
            let error = Diagnostic::error("E0110", span, "A variable cannot be at the top level.");
            self.report(
                error.hint(
                    "Make it a `const`, or declare it in the parser or control that uses it.",
                ),
            );
        }
        self.semicolon("this declaration")?;
        Ok(self.decl(head, name, DeclKind::Variable { ty, init }))
    }

    /// `heder h {`, `contrl c(...)`: two names in a row, the first of which is nearly a keyword.
    fn reject_misspelled_keyword(&mut self) -> Parse<()> {
        let token = self.token();
        let looks_like_one = token.kind == TokenKind::Ident
            && self.nth_kind(1).is_name()
            // `T f<T>(...)` declares its type only later.
            && self.nth_kind(2) != TokenKind::Lt
            && !self.scopes.is_declared(&token.text);
        if !looks_like_one {
            return Ok(());
        }
        let Some(keyword) = similar_keyword(&token.text) else {
            return Ok(());
        };
        let message = format!("There is no `{}` in P4.", token.text);
        let error = Diagnostic::error("E0109", self.span(), message);
        Err(self.fail(error.hint(format!("Did you mean `{keyword}`?"))))
    }

    /// `T f<X>(params) { ... }`; the caller has read type and name.
    fn function(&mut self, head: Head, ret: TypeRef, name: Ident, place: Place) -> Parse<Decl> {
        if place == Place::Local {
            let span = self.span_from(head.start);
            let error = Diagnostic::error("E0110", span, "A function cannot be declared here.");
            return Err(self.fail(error.hint("Declare it at the top level of the file.")));
        }
        self.scopes.declare_object(&name.name);
        let (type_params, params, body) = self.scoped(|parser| {
            let type_params = parser.type_params()?;
            let params = parser.params()?;
            if parser.is_at(TokenKind::Semi) {
                let error = Diagnostic::error("E0100", parser.span(), "This function has no body.");
                return Err(parser.fail(error.hint(
                    "Write its statements in `{ }`, or `extern` before it if the target provides it.",
                )));
            }
            Ok((type_params, params, parser.block()?))
        })?;
        Ok(self.decl(
            head,
            name,
            DeclKind::Function {
                ret,
                type_params,
                params,
                body,
            },
        ))
    }

    /// `T(args) name;`, or with `= { ... }` the bodies of abstract methods.
    fn instance(&mut self, head: Head, ty: TypeRef) -> Parse<Decl> {
        let args = self.arguments()?;
        if self.is_at(TokenKind::Semi) {
            let error = Diagnostic::error("E0107", self.behind(), "This instance has no name.");
            let failed = self.fail(error.hint("Write `Type(arguments) name;`."));
            return Err(failed);
        }
        let (ty, name) = self.declarator(ty, "the name of the instance")?;
        self.scopes.declare_object(&name.name);
        let body = match self.eat(TokenKind::Assign) {
            true => Some(self.instance_body()?),
            false => None,
        };
        self.semicolon("this instance")?;
        Ok(self.decl(head, name, DeclKind::Instance { ty, args, body }))
    }

    fn instance_body(&mut self) -> Parse<Vec<Decl>> {
        self.nested(|parser| {
            parser.scoped(|parser| {
                parser.braced("and the methods of the instance", |parser| {
                    let head = parser.head()?;
                    parser.typed_declaration(head, Place::InstanceBody)
                })
            })
        })
    }
}

/// Where a declaration stands, as far as it matters to what may be declared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    TopLevel,
    InstanceBody,
    /// In a parser, control or block.
    Local,
}
