//! Parsers with their states, controls, packages and externs.

use super::items::{Head, Place};
use super::{Failed, Parse, Parser};
use crate::ast::{
    Decl, DeclKind, MethodProto, ParserProto, SelectCase, State, Stmt, StmtKind, Transition,
    TypeKind, TypeRef,
};
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::TokenKind;

impl Parser {
    pub(super) fn parser_decl(&mut self, head: Head) -> Parse<Decl> {
        self.bump();
        let name = self.name("the name of the parser")?;
        self.scopes.declare_type(&name.name);
        let kind = self.scoped(|parser| {
            let proto = parser.proto()?;
            if parser.ends_type() {
                parser.semicolon("this parser type")?;
                return Ok(DeclKind::ParserType(proto));
            }
            let ctor_params = parser.constructor_params()?;
            let (mut locals, mut states) = (Vec::new(), Vec::new());
            let before = parser.diagnostics.len();
            for item in parser.braced("and the states of the parser", Self::parser_item)? {
                match item {
                    ParserItem::Local(decl) => locals.push(decl),
                    ParserItem::State(state) => states.push(state),
                }
            }
            if states.is_empty() && parser.diagnostics.len() == before {
                let error = Diagnostic::error("E0113", name.span, "This parser has no state.");
                parser
                    .report(error.hint("It needs at least `state start { transition accept; }`."));
            }
            Ok(DeclKind::Parser {
                proto,
                ctor_params,
                locals,
                states,
            })
        })?;
        Ok(self.decl(head, name, kind))
    }

    pub(super) fn control_decl(&mut self, head: Head) -> Parse<Decl> {
        self.bump();
        let name = self.name("the name of the control")?;
        self.scopes.declare_type(&name.name);
        let kind = self.scoped(|parser| {
            let proto = parser.proto()?;
            if parser.ends_type() {
                parser.semicolon("this control type")?;
                return Ok(DeclKind::ControlType(proto));
            }
            let ctor_params = parser.constructor_params()?;
            let mut locals = Vec::new();
            let mut apply = None;
            let before = parser.diagnostics.len();
            for item in parser.braced("and the body of the control", Self::control_item)? {
                match item {
                    ControlItem::Local(decl) => locals.push(decl),
                    ControlItem::Apply(block, span) if apply.is_some() => {
                        let error = Diagnostic::error(
                            "E0114",
                            span,
                            "This control has a second `apply` block.",
                        );
                        parser.report(error.hint("Put all statements into one `apply { }`."));
                        drop(block);
                    }
                    ControlItem::Apply(block, _) => apply = Some(block),
                }
            }
            let apply = match apply {
                Some(block) => block,
                None => {
                    if parser.diagnostics.len() == before {
                        let error = Diagnostic::error(
                            "E0114",
                            name.span,
                            "This control has no `apply` block.",
                        );
                        parser.report(error.hint("Write `apply { }` after its declarations."));
                    }
                    let span = parser.behind();
                    crate::ast::Block {
                        span,
                        annotations: Vec::new(),
                        stmts: Vec::new(),
                    }
                }
            };
            Ok(DeclKind::Control {
                proto,
                ctor_params,
                locals,
                apply,
            })
        })?;
        Ok(self.decl(head, name, kind))
    }

    /// Type parameters and parameters.
    fn proto(&mut self) -> Parse<ParserProto> {
        let type_params = self.type_params()?;
        Ok(ParserProto {
            type_params,
            params: self.params()?,
        })
    }

    /// No body follows: this declares a type.
    fn ends_type(&self) -> bool {
        let has_body = matches!(self.kind(), TokenKind::LBrace | TokenKind::LParen);
        self.is_at(TokenKind::Semi)
            || (!has_body && self.token().line_start && !self.body_follows())
    }

    fn constructor_params(&mut self) -> Parse<Vec<crate::ast::Param>> {
        match self.is_at(TokenKind::LParen) {
            true => self.params(),
            false => Ok(Vec::new()),
        }
    }

    pub(super) fn package(&mut self, head: Head) -> Parse<Decl> {
        self.bump();
        let name = self.name("the name of the package")?;
        self.scopes.declare_type(&name.name);
        let proto = self.scoped(Self::proto)?;
        self.semicolon("this package")?;
        let ParserProto {
            type_params,
            params,
        } = proto;
        Ok(self.decl(
            head,
            name,
            DeclKind::Package {
                type_params,
                params,
            },
        ))
    }

    fn parser_item(&mut self) -> Parse<ParserItem> {
        use TokenKind::*;
        if self.is_at(Semi) {
            return Err(self.stray_semicolon());
        }
        let head = self.head()?;
        match self.kind() {
            State if self.nth_kind(1).is_name() => self.state(head).map(ParserItem::State),
            Const => self.constant(head).map(ParserItem::Local),
            ValueSet => self.value_set(head).map(ParserItem::Local),
            Apply if matches!(self.nth_kind(1), LBrace | At) => Err(self.misplaced(head)),
            Transition => Err(self.lost_transition()),
            _ if self.begins_declaration() => Err(self.misplaced_and_skipped(head)),
            If | Switch | For | Return | Exit => Err(self.misplaced(head)),
            _ => self
                .typed_declaration(head, Place::Local)
                .map(ParserItem::Local),
        }
    }

    fn lost_transition(&mut self) -> Failed {
        let error = Diagnostic::error("E0120", self.span(), "This `transition` is in no state.");
        self.fail(
            error.hint("It is the last statement of a `state`; look for a `}` too many above."),
        )
    }

    fn stray_semicolon(&mut self) -> Failed {
        let error = Diagnostic::error("E0121", self.span(), "This `;` ends nothing.");
        self.fail(error.hint("Remove it; nothing follows a `}` here."))
    }

    /// Reports and reads over a declaration that cannot stand here, so that what is in it gives no
    /// further errors of place.
    pub(super) fn misplaced_and_skipped(&mut self, head: Head) -> Failed {
        let failed = self.misplaced(head);
        while !matches!(
            self.kind(),
            TokenKind::LBrace | TokenKind::Semi | TokenKind::RBrace | TokenKind::Eof
        ) {
            self.bump();
        }
        failed
    }

    fn value_set(&mut self, head: Head) -> Parse<Decl> {
        self.bump();
        let start = self.at;
        let mut args = self.type_args()?;
        let element = match (args.pop(), args.is_empty()) {
            (Some(element), true) => element,
            _ => {
                let span = self.tokens[start].span;
                let error =
                    Diagnostic::error("E0106", span, "A value set has one type of element.");
                return Err(
                    self.fail(error.hint("Write `value_set<bit<16>>(4) name;`, for example."))
                );
            }
        };
        self.expect(TokenKind::LParen, "and the size of the value set")?;
        let size = self.expression()?;
        self.expect(TokenKind::RParen, "after the size of the value set")?;
        let name = self.name("the name of the value set")?;
        self.scopes.declare_object(&name.name);
        self.semicolon("this value set")?;
        Ok(self.decl(head, name, DeclKind::ValueSet { element, size }))
    }

    fn state(&mut self, head: Head) -> Parse<State> {
        self.bump();
        let name = self.name("the name of the state")?;
        let (body, transition) = self.scoped(|parser| {
            let mut transition: Option<Transition> = None;
            let mut body: Vec<Stmt> = Vec::new();
            parser.braced("and the body of the state", |parser| {
                if parser.is_at(TokenKind::Transition) {
                    let found = parser.transition()?;
                    parser.check_only_transition(transition.is_some(), &found);
                    transition = Some(found);
                    return Ok(());
                }
                let stmt = parser.statement()?;
                parser.check_state_statement(&stmt, transition.is_some());
                body.push(stmt);
                Ok(())
            })?;
            Ok((
                body,
                transition.unwrap_or_else(|| Transition::Missing(parser.previous_span())),
            ))
        })?;
        let span = self.span_from(head.start);
        let annotations = head.annotations;
        Ok(State {
            id: self.id(),
            span,
            annotations,
            name,
            body,
            transition,
        })
    }

    fn check_only_transition(&mut self, seen: bool, found: &Transition) {
        if seen {
            let span = match found {
                Transition::Missing(span) | Transition::Select { span, .. } => *span,
                Transition::Direct(next) => next.span,
            };
            let error = Diagnostic::error("E0120", span, "This state has a second `transition`.");
            self.report(
                error.hint("A state has one; `select` chooses between several next states."),
            );
        }
    }

    fn check_state_statement(&mut self, stmt: &Stmt, after_transition: bool) {
        if after_transition {
            let error = Diagnostic::error(
                "E0120",
                stmt.span,
                "This statement comes after `transition`.",
            );
            self.report(error.hint("`transition` is the last statement of a state; move it down."));
            return;
        }
        let what = match stmt.kind {
            StmtKind::Switch { .. } => "`switch`",
            StmtKind::For { .. } | StmtKind::ForIn { .. } => "`for`",
            StmtKind::Return(_) => "`return`",
            StmtKind::Exit => "`exit`",
            StmtKind::Break => "`break`",
            StmtKind::Continue => "`continue`",
            _ => return,
        };
        let message = format!("There is no {what} in a parser state.");
        let error = Diagnostic::error("E0119", stmt.span, message);
        self.report(error.hint(
            "States choose with `transition select` and repeat by going to an earlier state.",
        ));
    }

    fn transition(&mut self) -> Parse<Transition> {
        let start = self.bump();
        if self.is_at(TokenKind::Select) {
            return self.select(start);
        }
        let next = self.name("the name of the next state, or `select`")?;
        self.semicolon("this transition")?;
        Ok(Transition::Direct(next))
    }

    fn select(&mut self, start: Span) -> Parse<Transition> {
        self.bump();
        self.expect(TokenKind::LParen, "and what to select by")?;
        let keys = self.comma_list(TokenKind::RParen, "after what to select by", |parser| {
            parser.with_greater(Self::expression)
        })?;
        let cases = self.braced("and the cases of `select`", Self::select_case)?;
        // p4c allows no `;` here, so neither do we; but it is no reason to lose the state.
        if self.is_at(TokenKind::Semi) {
            let error = Diagnostic::error("E0121", self.span(), "This `;` ends nothing.");
            self.report(error.hint("Remove it; nothing follows the `}` of `select`."));
            self.bump();
        }
        Ok(Transition::Select {
            span: self.span_from(start),
            keys,
            cases,
        })
    }

    fn select_case(&mut self) -> Parse<SelectCase> {
        self.skip_case("Write the value alone: `1: next;`.");
        let start = self.span();
        let keyset = self.keyset()?;
        if !self.is_at(TokenKind::Colon) {
            return Err(self.unexpected("E0111", "`:` and the next state after this value"));
        }
        self.bump();
        let next = self.name("the name of the next state")?;
        self.list_semicolon("case")?;
        Ok(SelectCase {
            span: self.span_from(start),
            keyset,
            next,
        })
    }

    fn control_item(&mut self) -> Parse<ControlItem> {
        use TokenKind::*;
        if self.is_at(Semi) {
            return Err(self.stray_semicolon());
        }
        let head = self.head()?;
        match self.kind() {
            Apply if matches!(self.nth_kind(1), LBrace | At) || self.apply_lacks_brace() => {
                let keyword = self.bump();
                let mut annotations = head.annotations;
                annotations.extend(self.annotations()?);
                let block = self.block_with(annotations)?;
                Ok(ControlItem::Apply(block, keyword))
            }
            Apply if self.nth_kind(1) == LParen && self.nth_kind(2) == RParen => {
                let keyword = self.bump();
                let span = self.bump().to(self.bump());
                let message = "The `apply` of a control has no parentheses.";
                let error = Diagnostic::error("E0100", span, message);
                self.report(error.hint("Write `apply { ... }`."));
                let block = self.block_with(head.annotations)?;
                Ok(ControlItem::Apply(block, keyword))
            }
            Const => self.constant(head).map(ControlItem::Local),
            Action => self.action(head).map(ControlItem::Local),
            Table => self.table(head).map(ControlItem::Local),
            ValueSet => Err(self.misplaced(head)),
            _ if self.begins_declaration() => Err(self.misplaced_and_skipped(head)),
            If | Switch | For | Return | Exit => Err(self.misplaced(head)),
            _ if self.is_bare_statement() => Err(self.misplaced_statement()),
            _ => self
                .typed_declaration(head, Place::Local)
                .map(ControlItem::Local),
        }
    }

    /// `apply` alone on its line, or before a `}`, in a file that lacks a `{`.
    fn apply_lacks_brace(&self) -> bool {
        let next = self.nth(1);
        self.missing.open && (next.line_start || next.kind == TokenKind::RBrace)
    }

    /// `name.` or `name =`: a statement where declarations belong.
    fn is_bare_statement(&self) -> bool {
        self.kind().is_name() && matches!(self.nth_kind(1), TokenKind::Dot | TokenKind::Assign)
    }

    fn misplaced_statement(&mut self) -> Failed {
        let message = "A statement cannot be here.".to_string();
        let hint = "Move it into the `apply { }` of this control, or into an action.";
        self.report_misplaced(self.span(), message, hint);
        Failed
    }

    /// `extern`: an object, a function, or (`None`) the forward declaration of an object.
    pub(super) fn extern_decl(&mut self, head: Head) -> Parse<Option<Decl>> {
        self.bump();
        if self.kind().is_name() && self.nth_kind(1) == TokenKind::Semi {
            let name = self.take_ident();
            self.scopes.declare_type(&name.name);
            self.bump();
            return Ok(None);
        }
        if self.is_extern_object() {
            return self.extern_object(head).map(Some);
        }
        let ret = self.type_or_void()?;
        let name = self.name("the name of the function")?;
        self.scopes.declare_object(&name.name);
        let proto = self.method_proto(ret)?;
        self.semicolon("this extern function")?;
        Ok(Some(self.decl(head, name, DeclKind::ExternFunction(proto))))
    }

    /// `Name {` or `Name<T, U> {`.
    fn is_extern_object(&self) -> bool {
        use TokenKind::*;
        if !self.kind().is_name() {
            return false;
        }
        if self.nth_kind(1) != Lt {
            return self.nth_kind(1) == LBrace;
        }
        let mut ahead = 2;
        while self.nth_kind(ahead).is_name() || self.nth_kind(ahead) == Comma {
            ahead += 1;
        }
        self.nth_kind(ahead) == Gt && self.nth_kind(ahead + 1) == LBrace
    }

    fn extern_object(&mut self, head: Head) -> Parse<Decl> {
        let name = self.take_ident();
        self.scopes.declare_type(&name.name);
        let (type_params, methods) = self.scoped(|parser| {
            let type_params = parser.type_params()?;
            Ok((
                type_params,
                parser.braced("and the methods of the extern", Self::method)?,
            ))
        })?;
        Ok(self.decl(
            head,
            name,
            DeclKind::ExternObject {
                type_params,
                methods,
            },
        ))
    }

    fn method(&mut self) -> Parse<Decl> {
        let head = self.head()?;
        let is_abstract = self.eat(TokenKind::Abstract);
        let is_constructor = self.kind().is_name() && self.nth_kind(1) == TokenKind::LParen;
        let ret = match is_constructor {
            true => TypeRef {
                id: self.id(),
                span: self.span(),
                kind: TypeKind::Void,
            },
            false => self.type_or_void()?,
        };
        let name = self.name("the name of the method")?;
        let proto = self.method_proto(ret)?;
        self.semicolon("this method")?;
        Ok(self.decl(
            head,
            name,
            DeclKind::Method {
                proto,
                is_abstract,
                is_constructor,
            },
        ))
    }

    fn method_proto(&mut self, ret: TypeRef) -> Parse<MethodProto> {
        self.scoped(|parser| {
            let ParserProto {
                type_params,
                params,
            } = parser.proto()?;
            Ok(MethodProto {
                ret,
                type_params,
                params,
            })
        })
    }
}

enum ParserItem {
    Local(Decl),
    State(State),
}

enum ControlItem {
    Local(Decl),
    Apply(crate::ast::Block, Span),
}
