//! Reporting, and finding the way back after a mistake.

use super::{Failed, Parse, Parser};
use crate::diag::{Diagnostic, MAX_DIAGNOSTICS};
use crate::similar::edit_distance;
use crate::span::Span;
use crate::token::{TokenKind, KEYWORDS};

impl Parser {
    /// Reports, unless this would be the second report at the same place or is a mere attempt.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.quiet || self.given_up || self.last_error_at == Some(self.at) {
            return;
        }
        // A string without an end has swallowed what would follow; that is reported already.
        let broken = |at: usize| self.tokens[at].kind == TokenKind::OpenString;
        if broken(self.at) || self.at.checked_sub(1).is_some_and(broken) {
            return;
        }
        self.last_error_at = Some(self.at);
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    pub(super) fn fail(&mut self, diagnostic: Diagnostic) -> Failed {
        self.report(diagnostic);
        Failed
    }

    /// "I expected ..., but found ...", at the token found; behind the token before it when the
    /// line ends there.
    pub(super) fn unexpected(&mut self, code: &'static str, expected: &str) -> Failed {
        let found = match self.half {
            true => "`=`".to_string(),
            false => self.token().describe(),
        };
        let message = format!("I expected {expected}, but found {found}.");
        // What is wrong as a whole is shown; what lacks something is shown where that lacks. Behind
        // the end of something nothing does.
        let ended = matches!(self.previous_kind(), TokenKind::Semi | TokenKind::RBrace);
        let lacking = !matches!(code, "E0104" | "E0115") && !ended;
        let span = match lacking && self.token().line_start {
            true => self.behind(),
            false => self.span(),
        };
        let mut diagnostic = Diagnostic::error(code, span, message);
        if self.semicolon_of_macro() {
            diagnostic = diagnostic
                .hint("The macro here ends with a `;`: remove it at the end of its `#define`.");
        } else if let Some((word, sign)) = self.word_of_python() {
            diagnostic = diagnostic.hint(format!("Write `{sign}` in place of `{word}`."));
        }
        self.fail(diagnostic)
    }

    /// `and` and `or` where an operator may be, and `not` before that which it negates, with P4's own.
    fn word_of_python(&self) -> Option<(&'static str, &'static str)> {
        match &*self.token().text {
            "and" => return Some(("and", "&&")),
            "or" => return Some(("or", "||")),
            _ => {}
        }
        let before = self.tokens.get(self.at.checked_sub(1)?)?;
        (&*before.text == "not").then_some(("not", "!"))
    }

    /// The empty span just behind the previous token.
    pub(super) fn behind(&self) -> Span {
        let hi = match self.previous_span() {
            Span::NONE => self.span().lo,
            previous => previous.hi,
        };
        Span { lo: hi, hi }
    }

    /// The `;` that ends `what`. On a new line the author just forgot it, and parsing goes on.
    pub(super) fn semicolon(&mut self, what: &str) -> Parse<()> {
        if self.eat(TokenKind::Semi) {
            return Ok(());
        }
        let error = Diagnostic::error(
            "E0101",
            self.behind(),
            format!("I expected `;` after {what}."),
        );
        if self.token().line_start || self.is_at(TokenKind::RBrace) {
            self.report(error.hint("Add `;` here."));
            return Ok(());
        }
        let hint = format!("Add `;` here, or remove {}.", self.token().describe());
        Err(self.fail(error.hint(hint)))
    }

    /// Reports what belongs elsewhere; of several in a row in one list, the first.
    pub(super) fn report_misplaced(&mut self, span: Span, message: String, hint: &str) {
        let same = |last: &Diagnostic| last.code == "E0110" && last.message == message;
        if self.last_misplaced != Some(self.item.list) || !self.diagnostics.last().is_some_and(same)
        {
            self.report(Diagnostic::error("E0110", span, message).hint(hint));
        }
        self.last_misplaced = Some(self.item.list);
    }

    /// The `;` that ends one of a list; a comma instead is reported and taken for it.
    pub(super) fn list_semicolon(&mut self, what: &str) -> Parse<()> {
        if !self.is_at(TokenKind::Comma) {
            return self.semicolon(&format!("this {what}"));
        }
        let message = format!("I expected `;` after this {what}, but found `,`.");
        let hint = format!("Write `;` after each {what}.");
        self.report(Diagnostic::error("E0101", self.span(), message).hint(hint));
        self.bump();
        Ok(())
    }

    /// One error, and no more of this file is read.
    pub(super) fn too_deep(&mut self, span: Span) -> Failed {
        if self.quiet {
            self.hit_limit = true;
        } else {
            let error = Diagnostic::error("E0108", span, "This is nested too deeply for me.")
                .hint("Name some of the inner parts and use the names.");
            self.last_error_at = None;
            self.report(error);
            self.given_up = true;
            self.half = false;
            self.at = self.tokens.len() - 1;
        }
        Failed
    }

    /// The current token can only begin a declaration that encloses statements or fields.
    pub(super) fn begins_declaration(&self) -> bool {
        use TokenKind::*;
        let next = self.nth_kind(1);
        match self.kind() {
            Control | Parser | Header | HeaderUnion | Struct | Package | Extern | Enum => true,
            Typedef | Table | Action => true,
            MatchKind => next == LBrace,
            Apply => matches!(next, LBrace | At),
            State => next.is_name() && self.nth_kind(2) == LBrace,
            _ => false,
        }
    }

    fn begins_item(&self) -> bool {
        use TokenKind::*;
        match self.kind() {
            If | Switch | For | Return | Exit | Const | Transition | At => true,
            Bit | Bool | Varbit | Tuple => true,
            Key | Actions | Entries => self.nth_kind(1) == Assign,
            _ => self.begins_declaration(),
        }
    }

    /// Skips the rest of an item that began at token `start` and failed: up to its `;` or its
    /// whole `{...}`, not beyond the enclosing `}`, and not into what clearly begins something new.
    pub(super) fn skip_item(&mut self, start: usize, level: Level) {
        let failed_at = self.at;
        let mut open = self.open_braces(start);
        loop {
            let line_start = self.token().line_start;
            let after_string =
                self.at > 0 && self.tokens[self.at - 1].kind == TokenKind::OpenString;
            match self.kind() {
                TokenKind::Eof => return,
                TokenKind::RBrace if open == 0 && level == Level::Inner => return,
                TokenKind::RBrace => {
                    open = open.saturating_sub(1);
                    self.bump();
                    if open == 0 && self.braces_ended() {
                        return;
                    }
                    continue;
                }
                TokenKind::LBrace => {
                    self.skip_braces();
                    if open == 0 && self.braces_ended() {
                        return;
                    }
                    continue;
                }
                TokenKind::Semi if open == 0 => {
                    self.bump();
                    return;
                }
                _ if line_start && after_string => return,
                _ if (open == 0 || self.missing.close)
                    && line_start
                    && self.at > failed_at
                    && self.begins_item() =>
                {
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// How many `{` of the tokens from `start` to here are not closed.
    fn open_braces(&self, start: usize) -> usize {
        let tokens = &self.tokens[start..self.at.max(start)];
        tokens
            .iter()
            .fold(0, |open: usize, token| match token.kind {
                TokenKind::LBrace => open + 1,
                TokenKind::RBrace => open.saturating_sub(1),
                _ => open,
            })
    }

    /// Whether a `}` that was just passed ends its item: nothing more follows on the line.
    fn braces_ended(&mut self) -> bool {
        if self.is_at(TokenKind::Else) {
            return false;
        }
        self.eat(TokenKind::Semi) || self.token().line_start
    }
}

/// Where an item stands that is skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    TopLevel,
    /// Within braces; the closing one is left alone.
    Inner,
}

/// The keyword `word` was probably meant to be.
pub(super) fn similar_keyword(word: &str) -> Option<&'static str> {
    if word.len() < 3 || word.len() > 20 {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let limit = if word.len() < 6 { 1 } else { 2 };
    let candidates = KEYWORDS.iter().filter(|keyword| keyword.len() >= 3);
    candidates
        .map(|keyword| (edit_distance(&lower, keyword), *keyword))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, keyword)| keyword)
}
