//! The preprocessor: files to one list of tokens.
//!
//! It works on tokens, never on text, so every token keeps the span it was written at. A token
//! that comes out of a macro's body carries the span of the macro's use; an argument keeps its own.

mod condition;
mod directives;
mod include;
mod macros;

use crate::ast::Name;
use crate::diag::{Diagnostic, MAX_DIAGNOSTICS};
use crate::lexer::Lexer;
use crate::options::{FileProvider, Options};
use crate::source::SourceMap;
use crate::span::Span;
use crate::token::{Interner, Token, TokenKind};
use crate::{HashMap, HashSet};
use directives::Condition;
use macros::{Context, Macro};
use std::rc::Rc;

pub(crate) struct Preprocessed {
    pub tokens: Vec<Token>,
    /// The end of the main file.
    pub end: Span,
    pub sources: SourceMap,
    pub diagnostics: Vec<Diagnostic>,
}

struct Preprocessor<'a> {
    provider: &'a dyn FileProvider,
    options: &'a Options,
    sources: SourceMap,
    names: Interner,
    diagnostics: Vec<Diagnostic>,
    macros: HashMap<Name, Rc<Macro>>,
    /// Files being read, the innermost last.
    files: Vec<OpenFile>,
    /// Source index of every file read, by path.
    known_files: HashMap<String, usize>,
    /// Files with a `#pragma once`.
    once: HashSet<usize>,
    includes: usize,
    /// Macro expansions being read, the innermost last.
    contexts: Vec<Context>,
    /// What the next `__COUNTER__` is.
    counter: usize,
    /// Arguments within arguments being expanded.
    argument_depth: u32,
    /// Tokens produced so far, by macros too.
    produced: usize,
    /// A limit was met; there is nothing more to read.
    stopped: bool,
}

struct OpenFile {
    source: usize,
    /// The `#include` by which it was opened.
    place: Span,
    lexer: Lexer,
    conditions: Vec<Condition>,
}

pub(crate) fn preprocess(
    main_file: &str,
    provider: &dyn FileProvider,
    options: &Options,
) -> Preprocessed {
    let mut preprocessor = Preprocessor {
        provider,
        options,
        sources: SourceMap::default(),
        names: Interner::default(),
        diagnostics: Vec::new(),
        macros: HashMap::default(),
        files: Vec::new(),
        known_files: HashMap::default(),
        once: HashSet::default(),
        includes: 0,
        contexts: Vec::new(),
        counter: 0,
        argument_depth: 0,
        produced: 0,
        stopped: false,
    };
    preprocessor.open_main(main_file);
    preprocessor.define_options();
    let tokens = preprocessor.run();
    let main_end = preprocessor.sources.base(0) + preprocessor.sources.text(0).len() as u32;
    Preprocessed {
        tokens,
        end: Span {
            lo: main_end,
            hi: main_end,
        },
        sources: preprocessor.sources,
        diagnostics: preprocessor.diagnostics,
    }
}

impl Preprocessor<'_> {
    fn run(&mut self) -> Vec<Token> {
        let mut tokens = Vec::new();
        while !self.files.is_empty() && !self.stopped {
            let token = self.next_expanded();
            if token.kind == TokenKind::Eof {
                self.close_file();
                continue;
            }
            self.count(1, token.span);
            tokens.push(token);
        }
        if self.stopped {
            // Half a program would only add errors that are not the author's.
            tokens.clear();
        }
        tokens
    }

    /// The next token before expansion: from the innermost macro or, failing that, from the file.
    /// [`TokenKind::Eof`] at the end of the file or of the argument that is being expanded.
    fn read(&mut self) -> Token {
        while let Some(context) = self.contexts.last_mut() {
            if let Some(token) = context.next() {
                return token;
            }
            if context.is_argument() {
                return self.end_token();
            }
            self.contexts.pop();
        }
        self.read_file()
    }

    /// The next token of the innermost file; directives are carried out on the way.
    fn read_file(&mut self) -> Token {
        loop {
            if self.stopped {
                return self.end_token();
            }
            let Some(file) = self.files.last_mut() else {
                return self.end_token();
            };
            file.lexer.left_out = file.conditions.last().is_some_and(|open| !open.active);
            let token = file.lexer.next(&mut self.names);
            match token.kind {
                TokenKind::Hash if token.line_start => self.directive(&token),
                TokenKind::Eof => return token,
                TokenKind::OpenComment => self.report(
                    Diagnostic::error("E0002", token.span, "This comment is never closed.")
                        .hint("Write `*/` where the comment ends."),
                ),
                _ if self.is_active() => return token,
                _ => {}
            }
        }
    }

    fn end_token(&mut self) -> Token {
        Token {
            kind: TokenKind::Eof,
            span: Span::NONE,
            text: self.names.nothing(),
            line_start: true,
            indent: 0,
            space: true,
            no_expand: false,
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if !self.stopped && self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Counts work done; beyond the limit everything stops with one error.
    fn count(&mut self, tokens: usize, place: Span) {
        self.produced = self.produced.saturating_add(tokens);
        if self.produced > self.options.limits.max_tokens {
            let limit = self.options.limits.max_tokens;
            self.stop(
                Diagnostic::error(
                    "E0026",
                    place,
                    format!("This program grows beyond {limit} tokens when its macros are expanded."),
                )
                .hint("Look for macros that use each other several times, or a file that includes itself."),
            );
        }
    }

    /// Reports the one error that ends all reading.
    fn stop(&mut self, diagnostic: Diagnostic) {
        if !self.stopped {
            self.diagnostics.push(diagnostic);
        }
        self.stopped = true;
    }
}

/// What is in the parentheses that `tokens` begin with, and what follows them.
fn in_parentheses(tokens: &[Token]) -> Option<(&[Token], &[Token])> {
    let mut open = 0;
    let close = tokens.iter().position(|token| {
        match token.kind {
            TokenKind::LParen => open += 1,
            TokenKind::RParen => open -= 1,
            _ => {}
        }
        open <= 0
    })?;
    (close > 0).then(|| (&tokens[1..close], &tokens[close + 1..]))
}
