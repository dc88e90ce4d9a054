//! Tokens to tree: recursive descent, one function per grammar rule (specification, appendix H).
//!
//! A rule that cannot go on reports once and returns [`Failed`]; lists of declarations, statements,
//! fields and so on catch that, skip to where the next item seems to begin and go on. So a
//! mistake costs one item, and five mistakes give five diagnostics.

mod annotations;
mod braces;
mod containers;
mod expressions;
mod items;
mod postfix;
mod prepare;
mod recovery;
mod scopes;
mod statements;
mod tables;
mod types;

use crate::ast::{Ident, Name, NodeId, Program};
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::{Token, TokenKind};
use braces::{ItemStart, Missing};
use scopes::Scopes;

use crate::{HashMap, HashSet};
pub(crate) use prepare::prepare;

/// A rule gave up; why is already reported.
pub(crate) struct Failed;

type Parse<T> = Result<T, Failed>;

/// How many times deeper than it is nested a tree may be: `a + b + c` is a deep tree, yet flat text.
const HEIGHT_PER_NESTING: u32 = 4;

pub(crate) struct Parser {
    /// Ends in [`TokenKind::Eof`].
    tokens: Vec<Token>,
    at: usize,
    /// For each `(` the place of its `)`.
    closers: HashMap<usize, usize>,
    missing: Missing,
    item: ItemStart,
    /// The `>` of the `>=` at this place was used to close type arguments; `=` is left of it.
    half: bool,
    diagnostics: Vec<Diagnostic>,
    next_id: u32,
    scopes: Scopes,
    depth: u32,
    max_depth: u32,
    /// Height of the expression parsed last.
    height: u32,
    /// In `bit<...>`, where `>` closes and does not compare.
    no_greater: bool,
    /// Trying something out: nothing is reported.
    quiet: bool,
    /// A trial failed only because it was nested too deeply.
    hit_limit: bool,
    /// Places of `<` known not to begin type arguments.
    not_type_args: HashSet<usize>,
    /// Places of `(` known not to begin a cast.
    not_casts: HashSet<usize>,
    /// Where the last error was reported; a second one there would be a consequence.
    last_error_at: Option<usize>,
    /// The list in which something was last out of place.
    last_misplaced: Option<usize>,
    /// A limit was met; the rest is skipped in silence.
    given_up: bool,
}

/// Parses tokens as [`prepare`] leaves them.
pub(crate) fn parse(tokens: Vec<Token>, max_nesting: u32) -> (Program, Vec<Diagnostic>) {
    let mut parser = Parser {
        closers: annotations::closers(&tokens),
        missing: braces::missing_braces(&tokens),
        item: ItemStart {
            indent: 0,
            top_level: true,
            list: 0,
        },
        tokens,
        at: 0,
        half: false,
        diagnostics: Vec::new(),
        next_id: 0,
        scopes: Scopes::new(),
        depth: 0,
        max_depth: max_nesting,
        height: 0,
        no_greater: false,
        quiet: false,
        hit_limit: false,
        not_type_args: HashSet::default(),
        not_casts: HashSet::default(),
        last_error_at: None,
        last_misplaced: None,
        given_up: false,
    };
    let decls = parser.program();
    let node_count = parser.next_id;
    (Program { decls, node_count }, parser.diagnostics)
}

/// A place to go back to.
struct Checkpoint {
    at: usize,
    half: bool,
    next_id: u32,
    depth: u32,
    no_greater: bool,
}

impl Parser {
    fn token(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn kind(&self) -> TokenKind {
        match self.half {
            true => TokenKind::Assign,
            false => self.token().kind,
        }
    }

    fn nth(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn nth_kind(&self, ahead: usize) -> TokenKind {
        self.nth(ahead).kind
    }

    fn is_at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn span(&self) -> Span {
        let span = self.token().span;
        Span {
            lo: span.lo + u32::from(self.half),
            hi: span.hi,
        }
    }

    /// The span of the token before this one.
    fn previous_span(&self) -> Span {
        if self.half {
            let lo = self.token().span.lo;
            return Span { lo, hi: lo + 1 };
        }
        self.at
            .checked_sub(1)
            .map_or(Span::NONE, |before| self.tokens[before].span)
    }

    fn previous_kind(&self) -> TokenKind {
        let before = self.at.checked_sub(1);
        before.map_or(TokenKind::Eof, |before| self.tokens[before].kind)
    }

    /// Whether a macro brought this `;`: all that it stands for has the place of its use.
    fn semicolon_of_macro(&self) -> bool {
        let same_place = |at: usize| self.tokens[at].span == self.token().span;
        self.is_at(TokenKind::Semi) && self.at.checked_sub(1).is_some_and(same_place)
    }

    fn span_from(&self, start: Span) -> Span {
        start.to(self.previous_span())
    }

    /// Goes on to the next token; the end stays the end.
    fn bump(&mut self) -> Span {
        let span = self.span();
        self.half = false;
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        span
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.is_at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind, context: &str) -> Parse<Span> {
        if self.is_at(kind) {
            return Ok(self.bump());
        }
        let text = kind.text().unwrap_or_default();
        Err(self.unexpected("E0100", &format!("`{text}` {context}")))
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            at: self.at,
            half: self.half,
            next_id: self.next_id,
            depth: self.depth,
            no_greater: self.no_greater,
        }
    }

    fn go_back(&mut self, to: Checkpoint) {
        self.at = to.at;
        self.half = to.half;
        self.next_id = to.next_id;
        self.depth = to.depth;
        self.no_greater = to.no_greater;
    }

    /// Tries a rule without reporting; on failure everything is as before.
    fn attempt<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Option<T> {
        let start = self.checkpoint();
        let outer = std::mem::replace(&mut self.quiet, true);
        let result = rule(self);
        self.quiet = outer;
        match result {
            Ok(value) => Some(value),
            Err(Failed) => {
                self.go_back(start);
                if self.hit_limit && !self.quiet {
                    self.too_deep(self.span());
                }
                None
            }
        }
    }

    /// Runs a rule one level of nesting deeper.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= self.max_depth {
            return Err(self.too_deep(self.span()));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// Runs a rule in a scope of its own.
    fn scoped<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let depth = self.scopes.depth();
        self.scopes.push();
        let result = rule(self);
        self.scopes.truncate(depth);
        result
    }

    fn id(&mut self) -> NodeId {
        let id = NodeId(self.next_id);
        self.next_id += 1;
        id
    }

    fn text(&self) -> Name {
        self.token().text.clone()
    }

    /// Takes the current token as a name, whatever it is.
    fn take_ident(&mut self) -> Ident {
        let name = self.text();
        Ident {
            name,
            span: self.bump(),
        }
    }

    /// A name that is being declared or used as a member.
    fn name(&mut self, what: &str) -> Parse<Ident> {
        if self.kind().is_name() {
            return Ok(self.take_ident());
        }
        if self.kind().is_keyword()
            && !self.is_at(TokenKind::Underscore)
            && !self.token().line_start
        {
            let message = format!(
                "`{}` is a keyword, so it cannot be {what}.",
                self.token().text
            );
            let error = Diagnostic::error("E0107", self.span(), message);
            return Err(self.fail(error.hint("Choose another name.")));
        }
        Err(self.unexpected("E0107", what))
    }

    /// Items separated by commas up to `close`, which is consumed. A trailing comma is allowed.
    fn comma_list<T>(
        &mut self,
        close: TokenKind,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let mut items = Vec::new();
        while !self.is_at(close) {
            items.push(item(self)?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(close, &format!("or `,` {what}"))?;
        Ok(items)
    }
}
