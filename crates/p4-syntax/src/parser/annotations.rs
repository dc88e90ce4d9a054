//! Annotations: `@name`, `@name(anything)`, `@name[expressions]`, `@name[k = e]`, `@pragma`.

use super::{Parse, Parser};
use crate::ast::{Annotation, AnnotationBody, AnnotationToken, Expr, Ident};
use crate::diag::Diagnostic;
use crate::token::{Token, TokenKind};
use crate::HashMap;

impl Parser {
    pub(super) fn annotations(&mut self) -> Parse<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while self.is_at(TokenKind::At) {
            annotations.push(self.annotation()?);
        }
        Ok(annotations)
    }

    fn annotation(&mut self) -> Parse<Annotation> {
        let start = self.bump();
        if self.token().is_ident("pragma") {
            self.bump();
            return self.pragma(start);
        }
        let name = self.annotation_name()?;
        let body = match self.kind() {
            TokenKind::LParen => self.unstructured_body()?,
            TokenKind::LBracket => {
                self.bump();
                self.structured_body()?
            }
            _ => AnnotationBody::None,
        };
        Ok(Annotation {
            name,
            body,
            span: self.span_from(start),
        })
    }

    /// Any word will do, keywords too.
    fn annotation_name(&mut self) -> Parse<Ident> {
        if self.is_at(TokenKind::Ident) || self.kind().is_keyword() {
            return Ok(self.take_ident());
        }
        Err(self.unexpected("E0116", "the name of an annotation after `@`"))
    }

    /// `@pragma name tokens`, which ends with its line.
    fn pragma(&mut self, start: crate::span::Span) -> Parse<Annotation> {
        let name = self.annotation_name()?;
        let first = self.at;
        while !self.token().line_start {
            self.bump();
        }
        let body = AnnotationBody::Unstructured {
            tokens: self.annotation_tokens(first, self.at),
            exprs: Vec::new(),
        };
        Ok(Annotation {
            name,
            body,
            span: self.span_from(start),
        })
    }

    fn annotation_tokens(&self, from: usize, to: usize) -> Vec<AnnotationToken> {
        let tokens = self.tokens[from..to].iter();
        tokens
            .map(|token| AnnotationToken {
                text: match token.kind.text() {
                    Some(text) if !token.kind.is_keyword() => text.into(),
                    _ => token.text.clone(),
                },
                is_string: token.kind == TokenKind::Str,
                span: token.span,
            })
            .collect()
    }

    /// `(...)` with parentheses balanced; also read as expressions where that works. One that is
    /// not closed ends with its line.
    fn unstructured_body(&mut self) -> Parse<AnnotationBody> {
        let place = self.at;
        let open = self.bump();
        let first = self.at;
        let Some(&close) = self.closers.get(&place) else {
            let line = self.tokens[first..]
                .iter()
                .take_while(|token| !token.line_start);
            // A string without an end may have swallowed the `)`; that is reported already.
            if !line
                .clone()
                .any(|token| token.kind == TokenKind::OpenString)
            {
                let message = "This annotation's `(` is never closed.";
                let error = Diagnostic::error("E0116", open, message);
                self.report(error.hint("Add the missing `)`."));
            }
            while !self.token().line_start {
                self.bump();
            }
            self.last_error_at = Some(self.at);
            let tokens = self.annotation_tokens(first, self.at);
            return Ok(AnnotationBody::Unstructured {
                tokens,
                exprs: Vec::new(),
            });
        };
        let exprs = self
            .attempt(|parser| parser.annotation_exprs(close))
            .unwrap_or_default();
        self.at = close;
        self.bump();
        Ok(AnnotationBody::Unstructured {
            tokens: self.annotation_tokens(first, close),
            exprs,
        })
    }

    fn annotation_exprs(&mut self, close: usize) -> Parse<Vec<Expr>> {
        let exprs = self.comma_list(TokenKind::RParen, "", Self::expression)?;
        match self.at == close + 1 {
            true => Ok(exprs),
            false => Err(super::Failed),
        }
    }

    fn structured_body(&mut self) -> Parse<AnnotationBody> {
        let pairs = self.kind().is_name() && self.nth_kind(1) == TokenKind::Assign;
        if !pairs {
            let exprs =
                self.comma_list(TokenKind::RBracket, "in this annotation", Self::expression)?;
            return Ok(AnnotationBody::Exprs(exprs));
        }
        let pairs = self.comma_list(TokenKind::RBracket, "in this annotation", |parser| {
            let key = parser.name("the key of an annotation")?;
            parser.expect(TokenKind::Assign, "after the key of an annotation")?;
            Ok((key, parser.expression()?))
        })?;
        Ok(AnnotationBody::Pairs(pairs))
    }
}

/// The `)` of every `(` of an annotation, in one pass: looking for each alone would take quadratic
/// time.
pub(super) fn closers(tokens: &[Token]) -> HashMap<usize, usize> {
    let mut closers = HashMap::default();
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::LParen => open.push(at),
            TokenKind::RParen => {
                let begin = open.pop();
                let of_annotation =
                    begin.filter(|&begin| begin >= 2 && tokens[begin - 2].kind == TokenKind::At);
                closers.extend(of_annotation.map(|begin| (begin, at)));
            }
            _ => {}
        }
    }
    closers
}
